"""onnxruntime-web, which runs ONNX graphs in a browser: two files of its npm package.

They are some 14 MB and not ours, so they are no part of this package: npm fetches them, or whoever exports hands them
over.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from maskpredict.errors import UserError

PACKAGE, VERSION = "onnxruntime-web", "1.30.0"
"""What npm is asked for: the version that the tests run with."""
SCRIPT_FILE, PROGRAM_FILE = "onnxruntime.js", "onnxruntime.wasm"

_PARTS = {
    # WebAssembly alone, on the processor; the builds with WebGPU are twice as large. Not every web server knows what an
    # .mjs file is, hence the new name.
    "dist/ort.wasm.bundle.min.mjs": SCRIPT_FILE,
    "dist/ort-wasm-simd-threaded.wasm": PROGRAM_FILE,
}
_BY_HAND = f"`npm pack {PACKAGE}` makes a file of it, to be named with --runtime"


def copy_runtime(given: Path | None, folder: Path) -> str:
    """Put the runtime's files into `folder` and return its version.

    `given` is the npm package, packed or unpacked, or a folder with `node_modules` that has it; else npm fetches it.
    """
    if given is not None:
        return _copy(given, folder)
    npm = shutil.which("npm")
    if npm is None:
        raise UserError(f"the page needs {PACKAGE}, and there is no npm here to fetch it; elsewhere {_BY_HAND}.")
    with tempfile.TemporaryDirectory() as place:
        command = [npm, "pack", f"{PACKAGE}@{VERSION}", "--silent", "--pack-destination", place]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        packed = list(Path(place).glob("*.tgz"))
        if done.returncode != 0 or not packed:
            raise UserError(f"npm could not fetch {PACKAGE} (exit code {done.returncode}); elsewhere {_BY_HAND}.")
        return _copy(packed[0], folder)


def _copy(given: Path, folder: Path) -> str:
    try:
        description = json.loads(_content(given, "package.json"))
        if description["name"] != PACKAGE:
            raise UserError(f"{given} is the npm package {description['name']}, not {PACKAGE}; {_BY_HAND}.")
        for part, name in _PARTS.items():
            (folder / name).write_bytes(_content(given, part))
        return str(description["version"])
    except (OSError, EOFError, KeyError, ValueError, tarfile.TarError) as error:
        raise UserError(f"{given} is not the npm package {PACKAGE}; {_BY_HAND}.") from error


def _content(given: Path, part: str) -> bytes:
    """A file of the package; npm's archives have everything in a folder called `package`."""
    if given.is_dir():
        places = (given, given / "package", given / "node_modules" / PACKAGE)
        return next((place for place in places if (place / "package.json").exists()), given).joinpath(part).read_bytes()
    with tarfile.open(given) as archive:
        file = archive.extractfile(f"package/{part}")
        if file is None:
            raise KeyError(part)
        return file.read()
