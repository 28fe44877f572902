"""Changes inputs of one reader at random, starting with those that `guided.py` has kept.

    python -m tests.fuzz.plain READER INPUTS SEED CORPUS FINDINGS

Says on stderr how many inputs it has tried, and in how much computing time, and ends with the first that goes wrong.
"""

from __future__ import annotations

import mmap
import os
import random
import signal
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.guard import check_sentence
from tests.fuzz.limits import HANG_SECONDS, MAX_BYTES, limit_memory
from tests.fuzz.mutation import mutate, mutate_bytes
from tests.fuzz.readers import Reader, make_readers


def main(name: str, inputs: str, seed: str, corpus: str, findings: str) -> None:
    """Let a child try the inputs; this process keeps the one at which the child has ended."""
    with TemporaryDirectory(prefix="fuzz-") as home:
        (reader,) = (one for one in make_readers(Path(home)) if one.name == name)
        starts = sorted({*(path.read_bytes() for path in Path(corpus).iterdir()), *reader.seeds})
        current = mmap.mmap(-1, MAX_BYTES + 16)
        child = os.fork()
        if child == 0:
            _try_all(reader, Path(home), starts, int(inputs), int(seed), current)
        _, status, usage = os.wait4(child, 0)
        code, seconds = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        number, size = (int.from_bytes(current[at : at + 8], "little") for at in (0, 8))
        print(f"#{number} tried in {seconds:.3f} s", file=sys.stderr)
        if code:
            Path(findings, f"{name}-plain-{seed}-{number}").write_bytes(current[16 : 16 + size])
    sys.exit(int(code != 0))


def _try_all(reader: Reader, folder: Path, starts: list[bytes], inputs: int, seed: int, current: mmap.mmap) -> None:
    """Try all inputs, each of which is left in `current` with its number and length; then end the process."""
    try:
        limit_memory()
        chance = random.Random(seed)
        for number in range(1, inputs + 1):
            content = _changed(chance.choice(starts), chance)
            current[:16] = number.to_bytes(8, "little") + len(content).to_bytes(8, "little")
            current[16 : 16 + len(content)] = content
            signal.alarm(HANG_SECONDS)
            check_sentence(reader.read, content, folder)
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)


def _changed(content: bytes, chance: random.Random) -> bytes:
    return mutate(
        content, MAX_BYTES, chance.getrandbits(32), lambda plain, max_bytes: mutate_bytes(plain, max_bytes, chance)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
