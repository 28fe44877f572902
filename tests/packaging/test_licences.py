"""What is installed with the package may be used as freely as the package itself.

Licences are those that the installed packages declare: as an expression, else as classifiers, else as text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PERMISSIVE = re.compile(
    r"MIT(-CMU)?|(0|[23]-Clause )?BSD([- ][23]-Clause)?|Apache([- ]Software|[- ]2\.0)?|PSF-2\.0"
    r"|Python Software Foundation|ISC( \(ISCL\))?|Zlib|CC0-1\.0|BSL-1\.0|CNRI-Python|LLVM-exception"
)
PER_FILE = {"MPL-2.0", "Mozilla Public 2.0 (MPL 2.0)"}
"""Copyleft that ends at the file: of libraries in extras, used as they are."""


def requirements(extra: str | None) -> Iterator[Requirement]:
    """What the package asks for, directly, alone or with an extra."""
    for line in EXTRAS[extra] if extra else PROJECT["dependencies"]:
        requirement = Requirement(line)
        if requirement.name == "maskpredict":
            for other in requirement.extras:
                yield from requirements(other)
        else:
            yield requirement


def installed_by(wanted: Iterable[Requirement], seen: set[tuple[str, frozenset[str]]]) -> set[str]:
    """Names of all distributions that these requirements install here."""
    names = set[str]()
    for requirement in wanted:
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        own = [Requirement(line) for line in distribution(key[0]).requires or ()]
        for each in own:  # an extra that was asked for makes its marker true
            if each.marker and any(each.marker.evaluate({"extra": extra}) for extra in requirement.extras):
                each.marker = None
        names |= {key[0]} | installed_by(own, seen)
    return names


def licences(name: str) -> set[str]:
    """The parts of a distribution's licence."""
    metadata = distribution(name).metadata
    classifiers = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or () if "License ::" in line]
    expression, text = (next(iter(metadata.get_all(key) or ()), "") for key in ("License-Expression", "License"))
    declared = expression or " AND ".join(classifiers) or text or "none"
    parts = re.split(r" (?:AND|OR|WITH) |[()]{2,}", declared.replace("OSI Approved", "none"))
    return {" ".join(re.sub(r"\bLicense\b|[\n,].*", "", part).split()) or "none" for part in parts}


def test_the_runtime_has_no_copyleft() -> None:
    names = installed_by(requirements(None), set())
    assert {"numpy", "onnxruntime", "protobuf", "sentencepiece", "pygments"} <= names
    assert {name: found for name in names if not all(map(PERMISSIVE.fullmatch, found := licences(name)))} == {}


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"dev"}))
def test_extras_have_none_that_reaches_beyond_a_file(extra: str) -> None:
    names = installed_by(requirements(extra), set())
    strange = {name: licences(name) - PER_FILE for name in names}
    assert {name: found for name, found in strange.items() if not all(map(PERMISSIVE.fullmatch, found))} == {}


@pytest.mark.parametrize("licence", ["GPL-3.0-or-later", "LGPL-2.1-only", "AGPL-3.0", "MPL-2.0", "none", "Proprietary"])
def test_others_would_be_noticed(licence: str) -> None:
    assert not PERMISSIVE.fullmatch(licence)
