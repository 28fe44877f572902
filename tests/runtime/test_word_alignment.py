"""A translation's words are aligned with those of its source, by every kind of model that can predict single words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.runtime.translator import Translator
from maskpredict.runtime.word_alignment import MAX_UNITS


def aligned(translator: Translator, text: str, **settings: Any) -> Translation:
    (translation,) = translator.translate_lines([Line(text, align=True)], **settings)
    return translation


def partners(translation: Translation, source: str) -> dict[str, str]:
    """For each word of a translation, the word of the source that its subwords depend on most."""
    alignment = translation.alignment
    assert alignment is not None
    words = translation.text.split()
    word_of_subword = np.searchsorted(np.cumsum([len(word) for word in words]), np.cumsum(alignment.target))
    weights = np.array(alignment.weights)
    strongest = [weights[word_of_subword == number].max(axis=0).argmax() for number in range(len(words))]
    return {word.strip("."): source.split()[number] for word, number in zip(words, strongest, strict=True)}


@pytest.mark.parametrize(
    ("model", "engine"), [("de-en-shallow", "onnxruntime"), ("de-en-shallow", "torch"), ("de-en-ar", "auto")]
)
def test_words_are_aligned_with_those_that_they_translate(model: str, engine: str) -> None:
    source = "Morgen schläft der schwarze Hund in unserem Garten ."
    found = partners(aligned(Translator(model, engine=engine), source), source)
    assert {found["black"], found["dog"], found["garden"]} == {"schwarze", "Hund", "Garten"}
    assert (found["dog"], found["garden"]) == ("Hund", "Garten")


def test_an_alignment_covers_the_source_and_the_translation(cmlm_folder: Path, sentences: list[str]) -> None:
    translator = Translator(cmlm_folder)
    for text in sentences[:4]:
        translation = aligned(translator, text)
        assert translation.alignment is not None
        assert sum(translation.alignment.source) == len(text.replace(" ", ""))
        assert sum(translation.alignment.target) == len(translation.text.replace(" ", ""))


def test_a_line_that_is_translated_in_pieces_has_no_alignment(cmlm_folder: Path, sentences: list[str]) -> None:
    translation = aligned(Translator(cmlm_folder, max_input_length=12), " ".join(sentences[:4]))
    assert len(translation.parts) > 1
    assert translation.alignment is None


def test_the_work_for_a_long_sentence_is_bounded(cmlm_folder: Path) -> None:
    translation = aligned(Translator(cmlm_folder), "ba " * (MAX_UNITS + 8), iterations=1)
    assert translation.alignment is not None
    assert len(translation.alignment.source) <= MAX_UNITS


def test_alternatives_are_aligned_too(cmlm_folder: Path, sentences: list[str]) -> None:
    translation = aligned(Translator(cmlm_folder), sentences[0], length_candidates=2, num_hypotheses=2)
    assert [one.alignment is not None for one in translation.hypotheses] == [True, True]
    assert translation.alignment == translation.hypotheses[0].alignment


def test_only_lines_that_ask_for_it_are_aligned(cmlm_folder: Path, sentences: list[str]) -> None:
    lines = [Line(sentences[0]), Line(sentences[0], align=True)]
    plain, with_alignment = Translator(cmlm_folder).translate_lines(lines)
    assert plain.alignment is None
    assert (plain.text, plain.score) == (with_alignment.text, with_alignment.score)


def test_a_ctc_model_has_no_alignment(ctc_folder: Path, sentences: list[str]) -> None:
    assert aligned(Translator(ctc_folder), sentences[0]).alignment is None


def test_a_line_without_words_has_none(cmlm_folder: Path) -> None:
    assert aligned(Translator(cmlm_folder), "  ").text == ""
