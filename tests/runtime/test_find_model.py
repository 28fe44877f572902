"""Models by name, by path and in run folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskpredict.errors import UserError
from maskpredict.runtime.find_model import CHECKOUT, SHIPPED, find_model, shipped_models


def test_a_name_finds_models_of_the_package_and_of_the_checkout() -> None:
    assert find_model("de-en") == SHIPPED / "de-en"
    assert find_model("de-en-teacher") == CHECKOUT / "de-en-teacher"
    assert "de-en-teacher" not in shipped_models()


def test_a_folder_of_the_same_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "de-en").mkdir()
    assert find_model("de-en") == Path("de-en")


def test_an_unknown_name_is_refused_with_all_known_ones() -> None:
    with pytest.raises(UserError, match=r"no model folder fr-en; .* de-en, .*de-en-teacher, .* hf:owner/name"):
        find_model("fr-en")
