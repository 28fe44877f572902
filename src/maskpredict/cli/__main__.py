"""Entry point of `python -m maskpredict.cli`."""

from maskpredict.cli import main

main()
