"""Models of the hub, downloaded by real processes from a local server that speaks the hub's API."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.runtime.hub import HubReference
from maskpredict.systems import vocabulary_of
from maskpredict.systems.cmlm import CMLM
from maskpredict.tokenizer import Tokenizers
from tests.runtime.hub_server import Hub, commit_of, running

REPOSITORY = "somebody/xx-yy"
NOBODY = "http://127.0.0.1:1"
LINE = "luri bane.\n"


@pytest.fixture
def repository(toy_tokenizers: Tokenizers, tmp_path: Path) -> Path:
    """A model folder as somebody uploaded it, untrained, with files that do not belong to it."""
    folder = tmp_path / "repository"
    torch.manual_seed(1)
    config = ModelConfig(width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=1, max_positions=32)
    weights = weights_of(CMLM(config, vocabulary_of(toy_tokenizers)))
    ModelFolder("cmlm", config, Languages("xx", "yy"), toy_tokenizers, weights).write(folder)
    (folder / "training.pt").write_bytes(b"a pickle")
    (folder / ".gitattributes").write_text("*.safetensors filter=lfs\n", encoding="utf-8")
    return folder


@pytest.fixture
def hub(repository: Path) -> Iterator[Hub]:
    """A hub with one model."""
    with running(Hub({REPOSITORY: {"main": repository}})) as hub:
        yield hub


@pytest.fixture
def environment(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """The environment of a user with an empty cache, given the address of the hub."""

    def at(url: str) -> dict[str, str]:
        own = {"HF_ENDPOINT": url, "MASKPREDICT_CACHE": str(tmp_path / "cache"), "HF_HUB_DOWNLOAD_TIMEOUT": "2"}
        return {**os.environ, **own, "HF_HOME": str(tmp_path / "library")}

    return at


Environment = Callable[[str], dict[str, str]]


def command(verb: str, model: str) -> list[str]:
    return [sys.executable, "-m", "maskpredict.cli", verb, "-m", model]


def translate(model: str | Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("translate", str(model)), input=LINE, env=environment, capture_output=True, text=True, timeout=120
    )


def models_in_cache(environment: dict[str, str]) -> list[dict[str, object]]:
    arguments = [sys.executable, "-m", "maskpredict.cli", "models", "--json"]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return [model for model in json.loads(done.stdout) if model["place"] == "hub"]


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_model_is_downloaded_once_and_then_needs_no_hub(
    hub: Hub, environment: Environment, repository: Path, tmp_path: Path
) -> None:
    online = translate(f"hf:{REPOSITORY}", environment(hub.url))
    assert online.returncode == 0, online.stderr
    assert online.stdout == translate(repository, environment(NOBODY)).stdout
    offline = translate(f"hf:{REPOSITORY}", environment(NOBODY))
    assert (offline.returncode, offline.stdout, offline.stderr) == (0, online.stdout, "")
    # Nothing but the model, and no second copy in the library's own cache.
    own = {file.name for file in repository.iterdir()} - {"training.pt", ".gitattributes"}
    assert files_below(tmp_path / "cache") == sorted(f"{REPOSITORY}/main/{name}" for name in own | {"hub.json"})
    assert not [file for file in files_below(tmp_path) if file.startswith("library") and "safetensors" in file]
    (listed,) = models_in_cache(environment(NOBODY))
    assert (listed["name"], listed["commit"]) == (f"hf:{REPOSITORY}", commit_of(repository))


def test_a_revision_is_a_model_of_its_own(hub: Hub, environment: Environment, repository: Path, tmp_path: Path) -> None:
    other = shutil.copytree(repository, tmp_path / "other")
    (other / "generation.json").write_text('{"iterations": 2}', encoding="utf-8")
    hub.repositories = {REPOSITORY: {"main": repository, "refs/pr/1": other}}
    for reference in (f"hf:{REPOSITORY}@refs/pr/1", f"hf:{REPOSITORY}"):
        assert translate(reference, environment(hub.url)).returncode == 0
    listed = {str(model["name"]): model for model in models_in_cache(environment(NOBODY))}
    assert listed.keys() == {f"hf:{REPOSITORY}", f"hf:{REPOSITORY}@refs/pr/1"}
    for name, folder in ((f"hf:{REPOSITORY}", repository), (f"hf:{REPOSITORY}@refs/pr/1", other)):
        downloaded = Path(str(listed[name]["folder"])) / "generation.json"
        assert downloaded.read_bytes() == (folder / "generation.json").read_bytes()


def spoil_weights(folder: Path) -> None:
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-100] ^= 1
    (folder / "model.safetensors").write_bytes(content)


def not_ours(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "marian"}', encoding="utf-8")


def without_description(folder: Path) -> None:
    (folder / "config.json").unlink()


def without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoil_weights, f"hf:{REPOSITORY} cannot be used: model.safetensors is damaged: its checksum is crc32:"),
        (not_ours, f"hf:{REPOSITORY} cannot be used: config.json has no format_version, so it is not a maskpredict"),
        (without_description, f"hf:{REPOSITORY} has no config.json, so it is not a maskpredict model; check the name."),
        (without_weights, f"hf:{REPOSITORY} cannot be used: "),
    ],
)
def test_what_is_no_whole_model_of_ours_is_refused_in_one_sentence(
    hub: Hub,
    environment: Environment,
    repository: Path,
    tmp_path: Path,
    spoil: Callable[[Path], None],
    sentence: str,
) -> None:
    spoil(repository)
    assert_refused(f"hf:{REPOSITORY}", environment(hub.url), sentence, tmp_path)
    if spoil is not_ours:
        assert not any("safetensors" in request for request in hub.requests)  # known before large files are asked for


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("hf:somebody/else", " has no model somebody/else for you: check the name, or log in with `hf auth login`"),
        (f"hf:{REPOSITORY}@v9", f"{REPOSITORY} has no revision v9; check its name."),
        ("hf:xx-yy", "hf:xx-yy is no model of the hub; write hf:owner/name or hf:owner/name@revision."),
    ],
)
def test_what_the_hub_does_not_have_is_named(
    hub: Hub, environment: Environment, tmp_path: Path, model: str, sentence: str
) -> None:
    assert_refused(model, environment(hub.url), sentence, tmp_path)


@pytest.mark.parametrize("fault", ["silent", "truncated"])
def test_a_hub_that_fails_leaves_nothing_half_written(
    hub: Hub, environment: Environment, tmp_path: Path, fault: str
) -> None:
    hub.fault = fault
    sentence = f"hf:{REPOSITORY} cannot be downloaded from {hub.url} ("
    assert_refused(f"hf:{REPOSITORY}", environment(hub.url), sentence, tmp_path)
    hub.fault = ""
    assert translate(f"hf:{REPOSITORY}", environment(hub.url)).returncode == 0


def test_a_hub_that_is_not_there_is_one_sentence(environment: Environment, tmp_path: Path) -> None:
    sentence = f"hf:{REPOSITORY} cannot be downloaded from {NOBODY} ("
    assert_refused(f"hf:{REPOSITORY}", environment(NOBODY), sentence, tmp_path)


def test_what_a_killed_process_leaves_is_no_model_and_the_next_one_removes_it(
    hub: Hub, environment: Environment, tmp_path: Path
) -> None:
    hub.fault = "held"
    first = subprocess.Popen(
        command("translate", f"hf:{REPOSITORY}"), env=environment(hub.url), stderr=subprocess.DEVNULL
    )
    assert hub.sending.wait(60)
    first.send_signal(signal.SIGKILL)
    first.wait(60)
    assert files_below(tmp_path / "cache")
    assert models_in_cache(environment(NOBODY)) == []
    hub.fault = ""
    assert translate(f"hf:{REPOSITORY}", environment(hub.url)).returncode == 0
    assert [path.name for path in (tmp_path / "cache" / REPOSITORY).iterdir()] == ["main"]


def test_processes_that_download_the_same_model_at_once_do_not_disturb_each_other(
    hub: Hub, environment: Environment, tmp_path: Path
) -> None:
    processes = [
        subprocess.Popen(
            command("translate", f"hf:{REPOSITORY}"),
            env=environment(hub.url),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    answers = [process.communicate(LINE, timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(set(answers)) == 1
    assert [path.name for path in (tmp_path / "cache" / REPOSITORY).iterdir()] == ["main"]


@pytest.mark.parametrize("text", ["hf:", "hf:a", "hf:../a", "hf:a/..", "hf:a/b/c", "hf:a/b@", "hf:a/b@c d", "hf:a b/c"])
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is no model of the hub"):
        HubReference.parse(text)


def assert_refused(model: str, environment: dict[str, str], sentence: str, folder: Path) -> None:
    """One sentence and exit code 2, no partial path in it, and nothing in the cache."""
    done = translate(model, environment)
    assert (done.returncode, done.stdout) == (2, "")
    (error,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert done.stderr.endswith(error + "\n")
    assert "Traceback" not in done.stderr
    assert sentence in error
    assert ".partial-" not in error
    assert files_below(folder / "cache") == []
