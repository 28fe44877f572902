"""Extras: the modules that are looked for are those that pyproject.toml installs."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from maskpredict.errors import UserError
from maskpredict.extras import EXTRAS, require

OPTIONAL = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


def distributions(extra: str) -> set[str]:
    """Names of the distributions that an extra asks for itself or through another extra."""
    names: set[str] = set()
    for requirement in OPTIONAL[extra]:
        own = re.fullmatch(r"maskpredict\[(.+)\]", requirement)
        if own:
            names.update(*(distributions(other) for other in own[1].split(",")))
        else:
            names.add(re.split(r"[^\w.-]", requirement)[0].lower())
    return names


@pytest.mark.parametrize("extra", sorted(OPTIONAL.keys() - {"dev"}))
def test_the_modules_of_an_extra_are_those_it_installs(extra: str) -> None:
    home = packages_distributions()
    # Several distributions share the namespace package opentelemetry; each is called like its module there.
    owners = {home.get(module, [module.replace(".", "-")])[0] for module in EXTRAS[extra]}
    assert {name.lower().replace("_", "-") for name in owners} == distributions(extra)


def test_every_extra_has_its_modules_listed() -> None:
    assert EXTRAS.keys() == OPTIONAL.keys() - {"dev"}


def test_nothing_is_said_where_nothing_is_missing() -> None:
    for extra in EXTRAS:
        require(extra, "a test")


@pytest.mark.parametrize(
    ("modules", "names"),
    [
        (["json", "no_such_module"], "no_such_module"),
        (["no_such_module", "nor_this", "torch"], "no_such_module and nor_this"),
        (["one_missing", "two_missing", "three_missing"], "one_missing, two_missing and three_missing"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(modules: list[str], names: str) -> None:
    with pytest.raises(UserError) as refused:
        require("train", "`maskpredict train`", modules)
    assert str(refused.value) == f"`maskpredict train` needs {names}: pip install 'maskpredict[train]'."
