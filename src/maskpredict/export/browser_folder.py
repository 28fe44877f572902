"""Export of a CMLM or an alignment model as a web page that translates in the browser.

It is a folder of static files for any web server:

index.html    the page
page/         its modules and styles, some of them shared with the page of `maskpredict serve`
model/        an ONNX export (onnx_graphs.py)
vocabulary/   its vocabularies as JSON
runtime/      onnxruntime-web
browser.json  description that the page reads first: languages, presets, and sizes of the downloads
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import maskpredict
from maskpredict.errors import UserError
from maskpredict.export import onnx_graphs
from maskpredict.export.browser_runtime import PROGRAM_FILE, copy_runtime
from maskpredict.export.browser_vocabulary import vocabulary
from maskpredict.export.onnx_graphs import DECODER_FILE, ENCODER_FILE, export_onnx
from maskpredict.export.writing import Exported, FolderFormat, export_folder
from maskpredict.json_file import json_text
from maskpredict.model.folder import CARD_FILE, ModelFolder
from maskpredict.runtime.presets import ALIGNMENT_PRESETS, PRESETS
from maskpredict.systems.alignment import Alignment
from maskpredict.systems.cmlm import CMLM
from maskpredict.tokenizer import SentencePieceTokenizer, Tokenizers

DESCRIPTION_FILE, INDEX_FILE, LICENCE_FILE = "browser.json", "index.html", "onnxruntime-LICENSE.txt"
FORMAT = FolderFormat("browser", ("int8", "float32"), marker=DESCRIPTION_FILE, packages=onnx_graphs.FORMAT.packages)
FORMAT_VERSION = 1
SPEEDS = {CMLM.name: PRESETS, Alignment.name: ALIGNMENT_PRESETS}
"""Presets of the systems that the page runs."""

_OWN_PAGE = Path(__file__).parent / "browser_page"
_SERVICE_PAGE = Path(maskpredict.__file__).parent / "serve" / "page"
_NAMED_FILE = re.compile(r'(?:"page/|"\./|URL\(")([\w-]+\.(?:js|css|svg))')
"""References to files in index.html and in modules."""


def export_browser(
    model: str | Path | ModelFolder,
    out: Path,
    *,
    precision: str = "int8",
    overwrite: bool = False,
    runtime: Path | None = None,
) -> Exported:
    """Write a model as a web page; `runtime` is the npm package onnxruntime-web, by default downloaded by npm."""
    with export_folder(FORMAT, model, out, precision=precision, overwrite=overwrite) as (contents, partial):
        _validate(contents)
        vocabularies = _write_vocabularies(contents.tokenizers, partial / "vocabulary")
        version = _write_runtime(runtime, partial / "runtime")
        _write_page(partial)
        export_onnx(contents, partial / "model", precision=precision)  # last, since it takes longest
        (partial / CARD_FILE).write_text(contents.card, encoding="utf-8")
        graphs = [f"model/{ENCODER_FILE}", f"model/{DECODER_FILE}"]
        downloads = [*graphs, *dict.fromkeys(vocabularies.values()), f"runtime/{PROGRAM_FILE}"]
        description = {
            "format_version": FORMAT_VERSION,
            "languages": asdict(contents.languages),
            "vocabularies": vocabularies,
            "downloads": {name: (partial / name).stat().st_size for name in downloads},
            "speeds": SPEEDS[contents.system],
            "runtime": version,
        }
        (partial / DESCRIPTION_FILE).write_text(json_text(description), encoding="utf-8")
    return Exported.of(out)


def page_files() -> list[Path]:
    """Modules, styles and images that index.html needs, directly or indirectly."""
    files: dict[str, Path] = {}
    unread = [_OWN_PAGE / INDEX_FILE]
    while unread:
        for name in _NAMED_FILE.findall(unread.pop().read_text(encoding="utf-8")):
            if name not in files:
                files[name] = next(path for path in (_OWN_PAGE / name, _SERVICE_PAGE / name) if path.exists())
                unread.append(files[name])
    return sorted(files.values(), key=lambda path: path.name)


def _validate(contents: ModelFolder) -> None:
    if contents.system not in SPEEDS:
        raise UserError(
            f"the page runs mask-predict, so it takes {' and '.join(SPEEDS)} models, not {contents.system} ones."
        )
    for tokenizer in (contents.tokenizers.source, contents.tokenizers.target):
        if not isinstance(tokenizer, SentencePieceTokenizer):
            raise UserError("the page reads SentencePiece vocabularies, and this imported model has a dictionary.")


def _write_vocabularies(tokenizers: Tokenizers, folder: Path) -> dict[str, str]:
    """Write the vocabularies; returns their paths by side."""
    folder.mkdir()
    names = []
    for path in tokenizers.save(folder):
        written = path.with_suffix(".json")
        written.write_text(json.dumps(vocabulary(path), ensure_ascii=False), encoding="utf-8")
        path.unlink()
        names.append(f"{folder.name}/{written.name}")
    return {"source": names[0], "target": names[-1]}


def _write_runtime(given: Path | None, folder: Path) -> str:
    folder.mkdir()
    shutil.copyfile(_OWN_PAGE / LICENCE_FILE, folder / "LICENSE.txt")
    return copy_runtime(given, folder)


def _write_page(folder: Path) -> None:
    shutil.copyfile(_OWN_PAGE / INDEX_FILE, folder / INDEX_FILE)
    (folder / "page").mkdir()
    for path in page_files():
        shutil.copyfile(path, folder / "page" / path.name)
