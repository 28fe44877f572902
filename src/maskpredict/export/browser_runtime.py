"""onnxruntime-web, which runs ONNX graphs in a browser: two files of its npm package.

They have about 14 MB and are not part of this package; npm downloads them, or the caller provides them.
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
"""npm package, in the version that the tests use."""
SCRIPT_FILE, PROGRAM_FILE = "onnxruntime.js", "onnxruntime.wasm"

_PARTS = {
    # The build for WebAssembly on the CPU; those with WebGPU are twice as large. The script is renamed because some web
    # servers do not know the type of .mjs files.
    "dist/ort.wasm.bundle.min.mjs": SCRIPT_FILE,
    "dist/ort-wasm-simd-threaded.wasm": PROGRAM_FILE,
}
_BY_HAND = f"run `npm pack {PACKAGE}` and give the file with --runtime"


def copy_runtime(given: Path | None, folder: Path) -> str:
    """Copy the files of the runtime into `folder`; returns its version.

    `given` is the npm package, packed or unpacked, or a folder whose `node_modules` contains it. If it is None, npm
    downloads the package.
    """
    if given is not None:
        return _copy(given, folder)
    npm = shutil.which("npm")
    if npm is None:
        raise UserError(f"the page needs {PACKAGE}, and npm is not installed; elsewhere, {_BY_HAND}.")
    with tempfile.TemporaryDirectory() as place:
        command = [npm, "pack", f"{PACKAGE}@{VERSION}", "--silent", "--pack-destination", place]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        packed = list(Path(place).glob("*.tgz"))
        if done.returncode != 0 or not packed:
            raise UserError(f"npm could not download {PACKAGE} (exit code {done.returncode}); elsewhere, {_BY_HAND}.")
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
    """Content of a file of the package; archives of npm have a top folder `package`."""
    if given.is_dir():
        places = (given, given / "package", given / "node_modules" / PACKAGE)
        return next((place for place in places if (place / "package.json").exists()), given).joinpath(part).read_bytes()
    with tarfile.open(given) as archive:
        file = archive.extractfile(f"package/{part}")
        if file is None:
            raise KeyError(part)
        return file.read()
