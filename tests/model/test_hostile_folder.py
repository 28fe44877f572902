"""A model folder made to do harm is refused within a second, in one sentence, and without much memory."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.special_ids import SpecialIds
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.tokenizer import Tokenizers

Harm = Callable[[Path], object]
HUGE = 10**9
CONFIG = ModelConfig(width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=1, max_positions=32)
SECONDS, MEGABYTES = 1.0, 50

# Opens each folder, and measures the time and the largest memory meanwhile beyond what the process had before.
PROGRAM = """
import json, sys, time
from pathlib import Path
from maskpredict import Translator, UserError

def kilobytes(name):
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])

for folder in sys.argv[1:3]:
    Translator(folder)  # loads the libraries
answers = {}
for folder in sys.argv[3:]:
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before, begin = kilobytes("VmRSS"), time.process_time()
    try:
        Translator(folder)
        answer = "was loaded"
    except UserError as error:
        answer = str(error)
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"
    seconds = time.process_time() - begin
    answers[Path(folder).name] = (answer, seconds, (kilobytes("VmHWM") - before) / 1_000)
json.dump(answers, sys.stdout)
"""


def _edit(file: str, **changes: Any) -> Harm:
    def harm(folder: Path) -> None:
        content = json.loads((folder / file).read_text())
        (folder / file).write_text(json.dumps({**content, **changes}))

    return harm


def _architecture(**changes: Any) -> Harm:
    def harm(folder: Path) -> None:
        content = json.loads((folder / "config.json").read_text())
        content["architecture"] |= changes
        (folder / "config.json").write_text(json.dumps(content))

    return harm


def _header(change: Callable[[dict[str, Any]], object]) -> Harm:
    """Change the header of the weights file, and leave the numbers as they are."""

    def harm(folder: Path) -> None:
        path = folder / "model.safetensors"
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        change(header)
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])

    return harm


def _first(header: dict[str, Any]) -> Any:
    return header[min(header, key=lambda name: tuple(header[name]["data_offsets"]))]


def _overlapping(header: dict[str, Any]) -> None:
    place = {key: _first(header)[key] for key in ("data_offsets", "shape")}
    for entry in header.values():
        entry.update(place)


def _empty(header: dict[str, Any], names: list[str], shape: list[int]) -> None:
    header.update({name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name in names})


def _all_of_type(dtype: str) -> Harm:
    return _header(lambda header: [entry.update(dtype=dtype) for entry in header.values()])


def _write(file: str, content: bytes) -> Harm:
    return lambda folder: (folder / file).write_bytes(content)


def _link(file: str, target: str) -> Harm:
    def harm(folder: Path) -> None:
        (folder / file).unlink(missing_ok=True)
        (folder / file).symlink_to(target)

    return harm


def _pipe(file: str) -> Harm:
    def harm(folder: Path) -> None:
        (folder / file).unlink()
        os.mkfifo(folder / file)

    return harm


def _grow(file: str, size: int) -> Harm:
    """Make a file as large as this, without using the disk."""
    return lambda folder: os.truncate(folder / file, size)


def _number(place: str, value: float) -> Harm:
    def harm(folder: Path) -> None:
        contents = ModelFolder.read(folder)
        weights = {name: array.copy() for name, array in contents.weights.items()}
        weights[place].flat[3] = np.float32(value)
        shutil.rmtree(folder)
        ModelFolder("cmlm", contents.config, contents.languages, contents.tokenizers, weights).write(folder)

    return harm


def _dictionary(**changes: Any) -> Harm:
    def harm(folder: Path) -> None:
        symbols = ["<pad>", "<s>", "</s>", "<unk>", "<mask>", "bane"]
        content = {"special": SpecialIds().__dict__, "symbols": symbols, "bpe": None, **changes}
        (folder / "tokenizer.model").unlink()
        (folder / "tokenizer.dict.json").write_text(json.dumps(content))

    return harm


HARMS: dict[str, tuple[Harm, str]] = {
    "positions": (_architecture(max_positions=8 * HUGE), "do not fit"),
    "length classes": (_architecture(length_classes=HUGE), "do not fit"),
    "width": (_architecture(width=HUGE), "do not fit"),
    "hidden": (_architecture(hidden=HUGE), "do not fit"),
    "heads": (_architecture(heads=HUGE), "must be a multiple"),
    "encoder layers": (_architecture(encoder_layers=HUGE), "1000000001 layers, but only"),
    "decoder layers": (_architecture(decoder_layers=HUGE), "layers, but only"),
    "negative width": (_architecture(width=-16), "at least 1"),
    "width of words": (_architecture(width="16" * 5_000), "whole number"),
    "not a number": (_architecture(norm_epsilon=math.nan), "norm_epsilon"),
    "another system": (_edit("config.json", system="ctc"), "do not fit"),
    "no system": (_edit("config.json", system={"a": 1}), "there is no system"),
    "language that leads out": (_edit("config.json", languages={"source": "../x", "target": "y"}), "of file names"),
    "language that is none": (_edit("config.json", languages={"source": 5, "target": None}), "malformed"),
    "deep config": (_write("config.json", b"[" * 100_000), "nested too deeply"),
    "deep settings": (_write("generation.json", b'{"a":' * 100_000), "nested too deeply"),
    "long number": (_write("config.json", b'{"format_version": ' + b"9" * 100_000 + b"}"), "cannot be read as JSON"),
    "huge config": (_grow("config.json", HUGE), "more than the"),
    "huge card": (_grow("README.md", HUGE), "more than the"),
    "huge weights": (_grow("model.safetensors", 10**13), "more than the"),
    "endless passes": (_write("generation.json", b'{"iterations": 1000000000}'), "at most 512"),
    "candidates": (_write("generation.json", b'{"length_candidates": 1000000000}'), "use 1 to 128"),
    "unknown token": (_write("generation.json", b'{"suppress_tokens": [1000000000]}'), "suppress_tokens"),
    "negative token": (_write("generation.json", b'{"suppress_tokens": [-1000]}'), "suppress_tokens"),
    "header length": (_write("model.safetensors", b"\xff" * 64), "damaged"),
    "header beyond the end": (_write("model.safetensors", (10**6).to_bytes(8, "little") + b"{}"), "damaged"),
    "header that is none": (_write("model.safetensors", (8).to_bytes(8, "little") + b"notjson!"), "damaged"),
    "deep header": (_write("model.safetensors", (9_000).to_bytes(8, "little") + b'{"a":' * 1_800), "damaged"),
    "overlapping": (_header(_overlapping), "damaged"),
    "beyond the end": (_header(lambda header: _first(header).update(data_offsets=[0, 10**15])), "damaged"),
    "backwards": (_header(lambda header: _first(header).update(data_offsets=[64, 0])), "damaged"),
    "negative place": (_header(lambda header: _first(header).update(data_offsets=[-8, 0])), "damaged"),
    "huge shape": (_header(lambda header: _first(header).update(shape=[HUGE, HUGE])), "damaged"),
    "overflowing shape": (_header(lambda header: _first(header).update(shape=[2**40, 2**40])), "damaged"),
    "empty and huge": (_header(lambda header: _empty(header, ["x"], [0, 10**18])), "unknown x"),
    "many tensors": (_header(lambda header: _empty(header, list(map(str, range(100_000))), [0])), "damaged"),
    "whole numbers": (_all_of_type("I32"), "is of the type I32"),
    "made-up type": (_all_of_type("X32"), "damaged"),
    "nan": (_number("transformer.encoder.0.attention.qkv.weight", math.nan), "not finite"),
    "infinite": (_number("transformer.decoder.0.feed_forward.outer.bias", math.inf), "not finite"),
    "link to a secret": (_link("README.md", "/etc/passwd"), "outside of the model folder"),
    "link as config": (_link("config.json", "/etc/passwd"), "outside of the model folder"),
    "link to a device": (_link("model.safetensors", "/dev/zero"), "outside of the model folder"),
    "link to a link": (_link("tokenizer.model", "../whole/tokenizer.model"), "outside of the model folder"),
    "pipe": (_pipe("tokenizer.model"), "not a plain file"),
    "pipe as weights": (_pipe("model.safetensors"), "not a plain file"),
    "tokenizer of zeros": (_write("tokenizer.model", bytes(1_000_000)), "tokenizer"),
    "tokenizer of JSON": (_write("tokenizer.model", b'{"model": {"type": "BPE"}}'), "tokenizer"),
    "tokenizer of a program": (_write("tokenizer.model", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 20), "tokenizer"),
    "no tokenizer": (_write("tokenizer.model", b""), "tokenizer"),
    "special symbol beyond": (_dictionary(special={**SpecialIds().__dict__, "mask": HUGE}), "special symbol"),
    "special symbol of words": (_dictionary(special={**SpecialIds().__dict__, "pad": "<pad>"}), "special symbol"),
    "half a character": (_dictionary(symbols=["<pad>", "<s>", "</s>", "<unk>", "<mask>", "\ud800"]), "surrogates"),
    "deep dictionary": (
        lambda folder: [_dictionary()(folder), _write("tokenizer.dict.json", b"[" * 100_000)(folder)],
        "too deeply",
    ),
    "small dictionary": (_dictionary(), "do not fit"),
}  # fmt: skip
"""What is done to a folder, and a part of the sentence that must follow."""
FERTILITY = ("encoder_layers", "max_positions", "width")
"""What is made huge in a model of a system that has more weights than its transformer."""


@dataclass(frozen=True)
class Answer:
    """What came of opening a folder."""

    sentence: str
    seconds: float
    megabytes: float


@pytest.fixture(scope="module")
def answers(toy_tokenizers: Tokenizers, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """What came of each folder."""
    home = tmp_path_factory.mktemp("folders")
    for name in ("cmlm", "fertility"):
        system = find_system(name)(CONFIG, vocabulary_of(toy_tokenizers))
        contents = ModelFolder(name, CONFIG, Languages("xx", "yy"), toy_tokenizers, weights_of(system))
        contents.write(home / f"whole-{name}")
        description = json.loads((home / f"whole-{name}" / "config.json").read_text())
        del description["weights_checksum"]  # who changes the weights can change that, too
        (home / f"whole-{name}" / "config.json").write_text(json.dumps(description))
    shutil.copytree(home / "whole-cmlm", home / "whole")
    for name, (harm, _) in HARMS.items():
        shutil.copytree(home / "whole", home / name)
        harm(home / name)
    for key in FERTILITY:
        shutil.copytree(home / "whole-fertility", home / f"fertility {key}")
        _architecture(**{key: 8 * HUGE})(home / f"fertility {key}")
    folders = [
        home / name for name in (*HARMS, "fertility encoder_layers", "fertility max_positions", "fertility width")
    ]
    arguments = [*map(str, (home / "whole-cmlm", home / "whole-fertility", *folders))]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return {name: Answer(*values) for name, values in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", HARMS)
def test_a_crafted_folder_is_refused_within_a_second(answers: dict[str, Answer], name: str) -> None:
    answer = answers[name]
    assert HARMS[name][1] in answer.sentence
    assert "\n" not in answer.sentence
    assert len(answer.sentence) < 500
    assert answer.seconds < SECONDS
    assert answer.megabytes < MEGABYTES


@pytest.mark.parametrize("key", FERTILITY)
def test_so_is_that_of_a_system_whose_shapes_pytorch_knows(answers: dict[str, Answer], key: str) -> None:
    answer = answers[f"fertility {key}"]
    assert "do not fit" in answer.sentence
    assert answer.seconds < SECONDS
    assert answer.megabytes < MEGABYTES


def test_the_links_of_a_hugging_face_cache_are_followed(toy_tokenizers: Tokenizers, tmp_path: Path) -> None:
    system = find_system("cmlm")(CONFIG, vocabulary_of(toy_tokenizers))
    snapshot, blobs = tmp_path / "snapshots" / "0a1b", tmp_path / "blobs"
    ModelFolder("cmlm", CONFIG, Languages("xx", "yy"), toy_tokenizers, weights_of(system)).write(snapshot)
    blobs.mkdir()
    for number, file in enumerate(sorted(snapshot.iterdir())):
        file.rename(blobs / str(number))
        file.symlink_to(f"../../blobs/{number}")
    assert ModelFolder.read(snapshot).system == "cmlm"
