"""What holds for all systems that the paper compares with, and what those with one pass cannot do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from maskpredict.decoding.hypothesis import Pin, Request
from maskpredict.errors import UserError
from maskpredict.systems import System
from maskpredict.systems.one_pass import OnePassSettings

SOURCE = (5, 6, 2)


@pytest.mark.parametrize("name", ["fertility", "ctc", "refinement"])
@torch.inference_mode()
def test_a_translation_does_not_depend_on_its_company(
    make_system: Callable[..., System], sources: list[tuple[int, ...]], name: str
) -> None:
    system = make_system(name)
    settings = system.settings_type()
    requests = [Request(source) for source in sources]
    together = [own[0] for own in system.translate(requests, settings)]
    assert together == [system.translate([request], settings)[0][0] for request in requests]
    targets = [best.ids for best in together]
    scored = system.score(requests, targets, settings)
    assert scored == [
        system.score([request], [ids], settings)[0] for request, ids in zip(requests, targets, strict=True)
    ]


@pytest.mark.parametrize("name", ["fertility", "ctc", "autoregressive"])
@pytest.mark.parametrize(
    "request_", [Request(SOURCE, length=4), Request(SOURCE, pins=(Pin((5,)),)), Request(SOURCE, template=((5,),))]
)
def test_nothing_can_be_imposed(make_system: Callable[..., System], name: str, request_: Request) -> None:
    system = make_system(name)
    with pytest.raises(UserError, match=f"{name} cannot pin words, fill gaps or keep to a length"):
        system.translate([request_], system.settings_type())


def test_there_is_one_translation() -> None:
    with pytest.raises(UserError, match="one translation of a sentence"):
        OnePassSettings(num_hypotheses=2)
