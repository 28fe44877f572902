"""Small models on disk, trained for some seconds on an invented language, for every test that needs one.

Each word of `xx` has one translation in `yy`, its letters reversed and capitalised, in the same order.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict.corpus.reading import Pair
from maskpredict.corpus.vocabulary import VocabularyConfig, learn_tokenizers
from maskpredict.decoding.decoder import Decoder
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.languages import Languages
from maskpredict.model.batch import Batch, pad
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.model.transformer import Transformer
from maskpredict.special_ids import SpecialIds
from maskpredict.systems import Vocabulary, find_decoder, find_system, vocabulary_of
from maskpredict.systems.base import System
from maskpredict.tokenizer import Tokenizers

# A shell starts background jobs with Ctrl-C ignored, and programs that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Without a GPU its kernels are interpreted. Triton decides that when it is imported, by whichever test comes first.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

LONGEST = (
    "integration/test_toy_task.py",
    "docs/test_snippets.py",
    "training/test_distributed.py",
    "reproduce/test_paper_recipes.py",
    "distill/test_ray.py",
    "kernels/test_whole_translation.py",
    "integration/test_insertion_passes.py",
    "packaging/test_without_pytorch.py",
    "packaging/test_conformance_without_pytorch.py",
    "reproduce/test_reproduce.py",
    "reproduce/test_outside_teacher.py",
    "training/test_resume.py",
    "packaging/test_constraints.py",
    "kernels/test_compilation.py",
    "torture/test_kill_verbs.py",
    "training/test_two_hosts.py",
    "packaging/test_release.py",
)
"""Files of few tests that take long."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, then those with most tests: no worker is left alone with a long one at the end."""
    root, counts = Path(__file__).parent, Counter(item.path for item in items)

    def order(item: pytest.Item) -> tuple[int, int, Path]:
        name = Path(os.path.relpath(item.path, root)).as_posix()
        return LONGEST.index(name) if name in LONGEST else len(LONGEST), -counts[item.path], item.path

    items.sort(key=order)


WORDS = [a + b for a in ("ba", "ko", "ti", "lu") for b in ("ne", "sa", "mo", "ri", "ke", "fu")]
CONFIG = ModelConfig(
    width=32, hidden=64, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0, norm="pre", max_positions=64
)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """The matrices of the tests are so small that threads would spend their time waiting for each other."""
    torch.set_num_threads(1)


def toy_sentences(count: int, seed: int, longest: int = 9) -> list[str]:
    """Sentences of `xx`, each ending in a full stop."""
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, longest))) + "." for _ in range(count)]


def toy_translation(sentence: str) -> str:
    """The sentence in `yy`."""
    return " ".join(word[::-1].upper() for word in sentence.removesuffix(".").split()) + "."


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Unseen sentences of `xx`: the first 40 of up to three words, the others of up to sixteen."""
    return toy_sentences(40, seed=7, longest=3) + toy_sentences(40, seed=100_000, longest=16)


@pytest.fixture(scope="session")
def expected() -> Callable[[str], str]:
    """The one right translation of a sentence."""
    return toy_translation


@pytest.fixture(scope="session")
def toy_tokenizers() -> Tokenizers:
    """One vocabulary for both languages, in which most words are two or three subwords."""
    pairs = [Pair(sentence, toy_translation(sentence)) for sentence in toy_sentences(500, seed=1)]
    return learn_tokenizers(pairs, VocabularyConfig(size=90))


MakeOnce = Callable[[str, Callable[[Path], object]], Path]
"""Returns the folder of a name, made by the first of pytest's workers that asks for it; the others wait."""


@pytest.fixture(scope="session")
def make_once(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> MakeOnce:
    """Makes folders that all workers share: training a model in each of them would take twice the time."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent

    def make_once(name: str, make: Callable[[Path], object]) -> Path:
        folder, finished = shared / name, shared / f"{name}.finished"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
            if not finished.exists():
                shutil.rmtree(folder, ignore_errors=True)
                make(folder)
                finished.touch()
        return folder

    return make_once


@pytest.fixture(scope="session")
def cmlm_folder(toy_tokenizers: Tokenizers, make_once: MakeOnce) -> Path:
    """A CMLM that has learned most of the words."""
    return make_once("cmlm", partial(_train, "cmlm", toy_tokenizers))


@pytest.fixture(scope="session")
def autoregressive_folder(toy_tokenizers: Tokenizers, make_once: MakeOnce) -> Path:
    """An autoregressive model that has learned most of the words."""
    return make_once("autoregressive", partial(_train, "autoregressive", toy_tokenizers))


@pytest.fixture(scope="session")
def ctc_folder(toy_tokenizers: Tokenizers, make_once: MakeOnce) -> Path:
    """A CTC model that has learned most of the words."""
    return make_once("ctc", partial(_train, "ctc", toy_tokenizers, steps=300))


@pytest.fixture(scope="session")
def alignment_folder(toy_tokenizers: Tokenizers, make_once: MakeOnce) -> Path:
    """An alignment model that has learned most of the words, and to revise them."""
    return make_once("alignment", partial(_train, "alignment", toy_tokenizers))


@pytest.fixture(scope="session")
def insertion_folder(toy_tokenizers: Tokenizers, make_once: MakeOnce) -> Path:
    """An insertion model that has learned when to end, and little else."""
    return make_once("insertion", partial(_train, "insertion", toy_tokenizers, steps=150))


@pytest.fixture(scope="session")
def decoder_of() -> Callable[[System], Decoder]:
    """Gives the decoder of a system, on the plain engine."""

    def make(system: System) -> Decoder:
        return find_decoder(system.name)(system.name, TorchEngine(system))

    return make


def _train(name: str, tokenizers: Tokenizers, folder: Path, steps: int = 400) -> None:
    torch.manual_seed(1)
    system = find_system(name)(CONFIG, vocabulary_of(tokenizers))
    optimizer = torch.optim.AdamW(system.parameters(), lr=5e-3)
    for step in range(steps):
        system.set_progress(step / steps)
        loss = system.loss(_batch(system, tokenizers, seed=step))
        (loss.total / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()
    special = tokenizers.target.special
    suppressed = [special.pad, special.bos, special.mask]
    generation = {"suppress_tokens": suppressed}
    ModelFolder(name, CONFIG, Languages("xx", "yy"), tokenizers, weights_of(system), generation).write(folder)


def _batch(system: System, tokenizers: Tokenizers, seed: int) -> Batch:
    sources = toy_sentences(32, seed)
    eos, fill, device = system.special.eos, system.special.pad, system.device
    rows = [[*tokenizers.source.encode(text), eos] for text in sources]
    targets = [[*tokenizers.target.encode(toy_translation(text)), eos] for text in sources]
    return Batch(pad(rows, fill, device, slot=system.reserves_slot), pad(targets, fill, device))


VOCABULARY = Vocabulary(source_size=20, target_size=20, special=SpecialIds())
SMALL: dict[str, Any] = {
    "width": 16,
    "hidden": 32,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "dropout": 0.0,
    "norm": "pre",
    "max_positions": 32,
}


@pytest.fixture
def make_system() -> Callable[..., System]:
    """Builds a system by name; keywords change the model's config."""

    def make(name: str, *, seed: int = 1, **changes: Any) -> System:
        torch.manual_seed(seed)
        system = find_system(name)(ModelConfig(**{**SMALL, **changes}), VOCABULARY)
        for parameter in system.parameters():
            torch.nn.init.normal_(parameter, std=0.35)
        return system.eval()

    return make


@pytest.fixture
def sources() -> list[tuple[int, ...]]:
    """Twenty sources of at most seven positions, so that all have one padded width, with a slot or without."""
    chance = random.Random(3)
    return [(*(chance.randrange(5, 20) for _ in range(chance.randint(1, 6))), 2) for _ in range(20)]


@pytest.fixture
def make_transformer() -> Callable[..., Transformer]:
    """Builds a transformer of 13 source and 13 target ids; keywords change its config."""

    def make(**changes: Any) -> Transformer:
        torch.manual_seed(1)
        transformer = Transformer(ModelConfig(**{**SMALL, "encoder_layers": 2, "norm": "post", **changes}), 13, 13)
        for parameter in transformer.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        return transformer.eval()

    return make


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder in which nobody can make files, root included."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)
        return
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", folder], capture_output=True)
    yield folder if mounted.returncode == 0 else Path("/sys")
    if mounted.returncode == 0:
        subprocess.run(["umount", folder], check=True)
