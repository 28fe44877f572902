"""`pip install maskpredict` translates without PyTorch, exactly as it does with it; other verbs name their extra."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

import maskpredict
from maskpredict.extras import EXTRAS
from maskpredict.runtime.find_model import DEFAULTS, SHIPPED

if TYPE_CHECKING:
    from tests.packaging.conftest import Installation

SOURCES = {
    "de": [
        "Guten Morgen!",
        "Der Zug nach Hamburg fährt heute von einem anderen Gleis ab.",
        "Meine Großmutter hat uns zum Geburtstag einen Kuchen gebacken.",
        "Weil es seit Tagen regnet, ist der kleine Bach hinter unserem Haus über die Ufer getreten.",
    ],
    "en": [
        "Good morning!",
        "The train to Hamburg leaves from another platform today.",
        "My grandmother baked us a cake for our birthday.",
        "Because it has been raining for days, the little brook behind our house has burst its banks.",
    ],
}
TEMPLATES = {"en": "___ train ___ today.", "de": "Der Zug ___ heute ___."}


def lines(model: str) -> str:
    """Sentences in the source language of a model, one in each line."""
    return "\n".join(SOURCES[model[:2]]) + "\n"


def test_nothing_of_an_extra_is_installed(runtime: Installation) -> None:
    optional = sorted({module.partition(".")[0] for modules in EXTRAS.values() for module in modules})
    code = f"from importlib.util import find_spec; print([name for name in {optional} if find_spec(name)])"
    assert runtime.run("-c", code).stdout == "[]\n"


def test_it_is_installed_from_the_wheel(runtime: Installation) -> None:
    done = runtime.run("-c", "import maskpredict; print(maskpredict.__file__, maskpredict.__version__)")
    file, version = done.stdout.split()
    assert Path(file).is_relative_to(runtime.python.parents[1])
    assert version == maskpredict.__version__


def test_the_wheel_has_the_default_models_alone(runtime: Installation) -> None:
    package = Path(runtime.run("-c", "import maskpredict; print(maskpredict.__file__)").stdout.strip()).parent
    assert {folder.name for folder in (package / "models").iterdir()} == set(DEFAULTS)


def test_a_model_of_the_repository_alone_is_named_in_one_sentence(runtime: Installation) -> None:
    (name, *_) = sorted(folder.name for folder in SHIPPED.iterdir() if folder.name not in DEFAULTS)
    done = runtime.run("-m", "maskpredict.cli", "translate", "-m", name, input="Guten Morgen!\n")
    sentence = (
        f"error: there is no model folder {name}; models known by name here are {', '.join(DEFAULTS)}, a checkout of "
        "the repository may have more, and hf:owner/name is one of the Hugging Face hub.\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


def test_models_of_the_hub_name_their_extra(runtime: Installation) -> None:
    done = runtime.run("-m", "maskpredict.cli", "translate", "-m", "hf:somebody/xx-yy", input="Guten Morgen!\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("needs huggingface_hub: pip install 'maskpredict[hub]'.\n")


def test_help_lists_every_verb_and_each_has_its_own(runtime: Installation, with_pytorch: Installation) -> None:
    text = runtime.maskpredict("--help")
    assert text == with_pytorch.maskpredict("--help")
    verbs = re.findall(r"^[│ ]+([a-z]+) {2,}", text, re.MULTILINE)
    assert {"translate", "train", "serve"} <= set(verbs)
    code = "from maskpredict.cli import app\nfor verb in {}:\n    app([verb, '--help'], standalone_mode=False)"
    done = runtime.run("-c", code.format(verbs))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ") == len(verbs)


@pytest.mark.parametrize("model", DEFAULTS)
def test_translations_are_those_of_an_installation_with_pytorch(
    runtime: Installation, with_pytorch: Installation, model: str
) -> None:
    expected = with_pytorch.maskpredict("translate", "-m", model, input=lines(model))
    assert len(set(expected.splitlines())) == len(SOURCES[model[:2]])
    assert runtime.maskpredict("translate", "-m", model, input=lines(model)) == expected
    one_by_one = ("--batch-tokens", "1")
    assert runtime.maskpredict("translate", "-m", model, *one_by_one, input=lines(model)) == expected


@pytest.mark.parametrize("model", DEFAULTS)
def test_scores_are_those_of_an_installation_with_pytorch(
    runtime: Installation, with_pytorch: Installation, model: str
) -> None:
    source, target = model[:2], model[3:5]
    pairs = "".join(f"{left}\t{right}\n" for left, right in zip(SOURCES[source], SOURCES[target], strict=True))
    expected = [float(line) for line in with_pytorch.maskpredict("score", "-m", model, input=pairs).splitlines()]
    assert len(expected) == len(SOURCES[source])
    for options in ([], ["--batch-tokens", "1"]):
        scores = [float(line) for line in runtime.maskpredict("score", "-m", model, *options, input=pairs).splitlines()]
        assert scores == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("model", DEFAULTS)
def test_gaps_are_filled_as_in_an_installation_with_pytorch(
    runtime: Installation, with_pytorch: Installation, model: str
) -> None:
    pair = f"{SOURCES[model[:2]][1]}\t{TEMPLATES[model[3:5]]}\n"
    expected = with_pytorch.maskpredict("fill", "-m", model, input=pair)
    assert expected.strip()
    assert "___" not in expected
    assert runtime.maskpredict("fill", "-m", model, input=pair) == expected


@pytest.mark.parametrize("verb", ["translate", "score"])
def test_an_autoregressive_model_names_the_extra(runtime: Installation, autoregressive_folder: Path, verb: str) -> None:
    done = runtime.run("-m", "maskpredict.cli", verb, "-m", str(autoregressive_folder), input="bane.\tENAB.\n")
    sentence = (
        "error: to run models of the system autoregressive, the engine torch needs PyTorch: "
        "pip install 'maskpredict[train]'.\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


@pytest.mark.parametrize("options", [("--engine", "torch"), ("--compute-type", "bfloat16")])
def test_an_engine_that_is_not_installed_names_the_extra(runtime: Installation, options: tuple[str, str]) -> None:
    done = runtime.run("-m", "maskpredict.cli", "translate", "-m", "de-en-shallow", *options, input="Guten Morgen!\n")
    sentence = (
        "error: to run models of the system cmlm, the engine torch needs PyTorch: pip install 'maskpredict[train]'.\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


def test_the_demonstration_plays(runtime: Installation, with_pytorch: Installation) -> None:
    assert runtime.maskpredict("demo") == with_pytorch.maskpredict("demo")


def test_a_shipped_model_can_be_inspected(runtime: Installation) -> None:
    assert "cmlm" in runtime.maskpredict("inspect", "de-en-shallow")


def test_inspecting_a_foreign_model_names_the_extra_that_it_needs(runtime: Installation, tmp_path: Path) -> None:
    (tmp_path / "checkpoint_best.pt").touch()
    done = runtime.run("-m", "maskpredict.cli", "inspect", str(tmp_path))
    sentence = (
        "`maskpredict inspect` of an exported or foreign folder needs PyTorch: pip install 'maskpredict[export]'."
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {sentence}\n")


def test_data_can_be_prepared_and_packed(runtime: Installation, tmp_path: Path) -> None:
    pairs = [f"{one} {two} {three}" for one in "abcdefgh" for two in "ijklmnop" for three in "qrstuvwx"]
    (tmp_path / "train.tsv").write_text("".join(f"{pair}\t{pair.upper()}\n" for pair in pairs), encoding="utf-8")
    corpora = ["--train", str(tmp_path / "train.tsv"), "--valid", str(tmp_path / "train.tsv")]
    runtime.maskpredict("prepare", str(tmp_path / "data"), "-s", "de", "-t", "en", *corpora, "--vocab-size", "70")
    runtime.maskpredict("pack", str(tmp_path / "data"), str(tmp_path / "parts"))
    runtime.maskpredict("unpack", str(tmp_path / "parts"), str(tmp_path / "again"))
    files = [sorted(path.name for path in (tmp_path / name).rglob("*")) for name in ("data", "again")]
    assert files[0] == files[1] != []


@pytest.mark.parametrize(
    ("arguments", "needs", "extra"),
    [
        ("train toy-cmlm", "`maskpredict train` needs PyTorch, TensorBoard and sacreBLEU", "train"),
        ("distill toy-distill", "`maskpredict distill` needs PyTorch and sacreBLEU", "train"),
        ("average run mean", "`maskpredict average` needs PyTorch", "train"),
        ("import fairseq-cmlm folder model", "`maskpredict import` needs PyTorch", "train"),
        ("demo --toy", "`maskpredict demo --toy` needs PyTorch, TensorBoard and sacreBLEU", "train"),
        ("reproduce toy", "`maskpredict reproduce` needs PyTorch, TensorBoard, sacreBLEU and Matplotlib", "train"),
        ("analyze de-en out --data data", "`maskpredict analyze` needs PyTorch, sacreBLEU and Matplotlib", "train"),
        ("evaluate --hypotheses a --reference b", "`maskpredict evaluate` needs sacreBLEU", "evaluate"),
        ("bench --quick", "`maskpredict bench` needs PyTorch, sacreBLEU and Matplotlib", "bench"),
        ("export onnx de-en graphs", "`maskpredict export` needs PyTorch", "export"),
        (
            "serve",
            "`maskpredict serve` needs FastAPI, uvicorn, prometheus-client, python-multipart, py3langid, lxml and "
            "polib",
            "serve",
        ),
    ],
)
def test_a_verb_names_the_extra_that_it_needs(runtime: Installation, arguments: str, needs: str, extra: str) -> None:
    done = runtime.run("-m", "maskpredict.cli", *arguments.split())
    sentence = f"error: {needs}: pip install 'maskpredict[{extra}]'.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


def test_the_service_translates(runtime_and_serve: Installation, with_pytorch: Installation, tmp_path: Path) -> None:
    expected = with_pytorch.maskpredict("translate", "-m", "de-en-shallow", input=lines("de-en-shallow")).splitlines()
    command = [str(runtime_and_serve.python), "-m", "maskpredict.cli", "serve", "-m", "de-en-shallow", "--port", "0"]
    log = tmp_path / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(command, cwd=tmp_path, env=runtime_and_serve.environment, stderr=stream)
    try:
        question = {"q": SOURCES["de"], "source": "de", "target": "en"}
        answer = httpx.post(f"{_address(process, log)}/translate", json=question, timeout=60)
        assert answer.json()["translatedText"] == expected
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where a server listens, once it is ready."""
    for _ in range(600):
        said = log.read_text(encoding="utf-8")
        assert process.poll() is None, said
        found = re.search(r"http://[\d.]+:\d+", said)
        with suppress(httpx.TransportError):  # the address is known before the model is loaded
            if found and httpx.get(f"{found[0]}/readyz").status_code == 200:
                return found[0]
        time.sleep(0.1)
    raise AssertionError(f"the server is not ready: {said}")
