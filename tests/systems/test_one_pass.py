"""What holds for all systems that the paper compares with, and what those with one pass cannot do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Pin, Request
from maskpredict.decoding.settings import OnePassSettings
from maskpredict.errors import UserError
from maskpredict.systems.base import System

SOURCE = (5, 6, 2)


@pytest.mark.parametrize("name", ["fertility", "ctc", "refinement", "insertion"])
def test_a_translation_does_not_depend_on_its_batch(
    make_system: Callable[..., System],
    decoder_of: Callable[[System], Decoder],
    sources: list[tuple[int, ...]],
    name: str,
) -> None:
    decoder = decoder_of(make_system(name))
    settings = decoder.settings_type()
    requests = [Request(source) for source in sources]
    together = [own[0] for own in decoder.translate(requests, settings)]
    assert together == [decoder.translate([request], settings)[0][0] for request in requests]
    targets = [best.ids for best in together]
    scored = decoder.score(requests, targets, settings)
    assert scored == [
        decoder.score([request], [ids], settings)[0] for request, ids in zip(requests, targets, strict=True)
    ]


@pytest.mark.parametrize("name", ["fertility", "ctc", "autoregressive", "insertion"])
@pytest.mark.parametrize(
    "request_", [Request(SOURCE, length=4), Request(SOURCE, pins=(Pin((5,)),)), Request(SOURCE, template=((5,),))]
)
def test_constraints_are_refused(
    make_system: Callable[..., System], decoder_of: Callable[[System], Decoder], name: str, request_: Request
) -> None:
    decoder = decoder_of(make_system(name))
    with pytest.raises(UserError, match=f"{name} cannot pin words, fill gaps or keep to a length"):
        decoder.translate([request_], decoder.settings_type())


def test_there_is_one_translation() -> None:
    with pytest.raises(UserError, match="one translation of a sentence"):
        OnePassSettings(num_hypotheses=2)
