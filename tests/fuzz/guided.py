"""Changes the inputs of one reader, and keeps in a folder what reaches new lines of this package; needs atheris.

python -m tests.fuzz.guided READER INPUTS SEED CORPUS FINDINGS
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

from tests.fuzz.damage import PAYLOADS
from tests.fuzz.limits import HANG_SECONDS, MAX_BYTES, limit_memory
from tests.fuzz.mutation import mutate

with atheris.instrument_imports(include=["maskpredict"]):
    from tests.fuzz.guard import check_sentence
    from tests.fuzz.readers import make_readers


def main(name: str, inputs: str, seed: str, corpus: str, findings: str) -> None:
    """Fuzz until an input goes wrong, or there were so many."""
    with TemporaryDirectory(prefix="fuzz-") as home:
        folder = Path(home)
        (reader,) = (one for one in make_readers(folder) if one.name == name)
        words = folder / "words"
        for number, content in enumerate(reader.seeds):
            Path(corpus, str(number)).write_bytes(content)
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in PAYLOADS))
        limit_memory()
        options = [f"-runs={inputs}", f"-seed={seed}", f"-timeout={HANG_SECONDS}", f"-dict={words}"]
        options += [f"-max_len={MAX_BYTES}", "-len_control=0", "-rss_limit_mb=0", "-report_slow_units=9999"]
        options.append(f"-artifact_prefix={Path(findings).resolve()}/{name}-")

        def change(content: bytes, max_bytes: int, number: int) -> bytes:
            return mutate(content, max_bytes, number, atheris.Mutate)

        atheris.Setup(
            [sys.argv[0], *options, corpus],
            lambda content: check_sentence(reader.read, content, folder),
            custom_mutator=change,
        )
        atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    main(*sys.argv[1:])
