"""The shipped models, loaded once."""

from __future__ import annotations

import pytest

from maskpredict import Translator


@pytest.fixture(scope="session")
def german() -> Translator:
    """Translates German into English."""
    return Translator("de-en-shallow", device="cpu", intra_threads=1)


@pytest.fixture(scope="session")
def english() -> Translator:
    """Translates English into German."""
    return Translator("en-de", device="cpu", intra_threads=1)
