"""Models from the Hugging Face hub, by references such as `hf:owner/name` or `hf:owner/name@revision`.

A model is downloaded once, into a folder of the cache that appears whole or not at all. After that it needs neither the
hub nor its library. A reference without a revision stays at the commit that it was first downloaded at.
"""

from __future__ import annotations

import fnmatch
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from maskpredict.errors import UserError
from maskpredict.extras import require
from maskpredict.model.folder import CONFIG_FILE, WEIGHTS_FILE, ModelFolder, is_model_folder, read_description
from maskpredict.model.shortlist import SHORTLIST_FILE
from maskpredict.new_folder import new_folder

PREFIX = "hf:"
DEFAULT_REVISION = "main"
ORIGIN_FILE = "hub.json"
"""Reference and commit, in a downloaded model folder."""
_REFERENCE = re.compile(r"hf:([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@([\w./-]+))?")
_FILES = ("config.json", "generation.json", "README.md", "*.model", "*.dict.json", WEIGHTS_FILE, SHORTLIST_FILE)
"""What a model folder consists of; nothing else is downloaded."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class HubReference:
    """A model repository on the hub, at a revision."""

    repository: str
    """OWNER/NAME."""
    revision: str = DEFAULT_REVISION
    """Branch, tag or commit."""

    @classmethod
    def parse(cls, text: str) -> HubReference:
        """Read `hf:owner/name` or `hf:owner/name@revision`."""
        match = _REFERENCE.fullmatch(text)
        if not match:
            raise UserError(f"{text} is no model of the hub; write hf:owner/name or hf:owner/name@revision.")
        return cls(match[1], match[2] or DEFAULT_REVISION)

    @property
    def folder(self) -> Path:
        """Folder of the downloaded model."""
        return cache_folder() / self.repository / quote(self.revision, safe="")

    def __str__(self) -> str:
        at = "" if self.revision == DEFAULT_REVISION else f"@{self.revision}"
        return f"{PREFIX}{self.repository}{at}"


@dataclass(frozen=True)
class Origin:
    """Origin of a downloaded model."""

    reference: str
    commit: str


def cache_folder() -> Path:
    """Folder of downloaded models: `$MASKPREDICT_CACHE`, else `maskpredict` in the user's cache."""
    if folder := os.environ.get("MASKPREDICT_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "maskpredict"


def downloaded_models() -> Iterator[tuple[Origin, Path]]:
    """Origin and folder of each model in the cache."""
    for file in sorted(cache_folder().glob(f"*/*/*/{ORIGIN_FILE}")):
        if is_model_folder(file.parent):
            yield Origin(**json.loads(file.read_text(encoding="utf-8"))), file.parent


def fetch(text: str) -> Path:
    """Return the folder of a model of the hub, downloaded at the first call."""
    reference = HubReference.parse(text)
    if not is_model_folder(reference.folder):
        require("hub", f"{reference} is not in {cache_folder()} yet; downloading it")
        with new_folder(reference.folder, overwrite=False, marker=CONFIG_FILE, first_wins=True) as partial:
            _download(reference, partial)
    return reference.folder


def _download(reference: HubReference, partial: Path) -> None:
    """Fill a folder with the files of a model and check them; its description comes first, before large weights."""
    commit, files = _listing(reference)
    if CONFIG_FILE not in files:
        raise UserError(f"{reference} has no {CONFIG_FILE}, so it is not a maskpredict model; check the name.")
    logger.warning("Downloading %s to %s.", reference, reference.folder)
    for file in sorted(files, key=lambda file: file != CONFIG_FILE):
        _download_file(reference, commit, file, partial)
        if file == CONFIG_FILE:
            _check(reference, partial, read_description)
    _check(reference, partial, ModelFolder.read)
    shutil.rmtree(partial / ".cache", ignore_errors=True)  # the library's notes on the download
    origin = asdict(Origin(str(reference), commit))
    (partial / ORIGIN_FILE).write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8")


def _listing(reference: HubReference) -> tuple[str, list[str]]:
    """Commit of the revision, and those of its files that belong to a model folder."""
    from huggingface_hub import HfApi, constants

    timeout = constants.HF_HUB_DOWNLOAD_TIMEOUT  # for ever by default
    with _explained(reference):
        info = HfApi().model_info(reference.repository, revision=reference.revision, timeout=timeout)
    names = [file.rfilename for file in info.siblings or ()]
    wanted = [name for name in names if "/" not in name and any(fnmatch.fnmatch(name, kind) for kind in _FILES)]
    return info.sha or reference.revision, wanted


def _download_file(reference: HubReference, commit: str, file: str, folder: Path) -> None:
    from huggingface_hub import hf_hub_download

    with _explained(reference):
        hf_hub_download(reference.repository, file, revision=commit, local_dir=folder)


def _check(reference: HubReference, folder: Path, read: Callable[[Path], object]) -> None:
    """Refuse what is not a whole model; paths in the error are relative to the folder, which is about to be removed."""
    try:
        read(folder)
    except UserError as error:
        reason = str(error).replace(f"{folder}{os.sep}", "")
        raise UserError(f"{reference} cannot be used: {reason}") from error


@contextmanager
def _explained(reference: HubReference) -> Iterator[None]:
    """Turn every error of the library, of its HTTP client and of its transfer engine into one sentence."""
    from huggingface_hub import constants
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except RevisionNotFoundError as error:
        raise UserError(f"{reference.repository} has no revision {reference.revision}; check its name.") from error
    except RepositoryNotFoundError as error:
        raise UserError(
            f"{constants.ENDPOINT} has no model {reference.repository} for you: "
            "check the name, or log in with `hf auth login` if it is private."
        ) from error
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise UserError(
            f"{reference} cannot be downloaded from {constants.ENDPOINT} ({reason}); "
            "try again, or give the path of a copy of the model folder."
        ) from error
