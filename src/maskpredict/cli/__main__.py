"""`python -m maskpredict.cli` is the command line, also where nothing is installed."""

from maskpredict.cli import main

main()
