"""The Translator's promises: right text, the same in any batch, and clear answers to impossible wishes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict import Translator, UserError
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.model.folder import ModelFolder


@pytest.fixture(scope="session")
def cmlm(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder, device="cpu")


@pytest.fixture(scope="session")
def autoregressive(autoregressive_folder: Path) -> Translator:
    return Translator(autoregressive_folder, device="cpu")


@pytest.fixture(params=["cmlm", "autoregressive"])
def translator(request: pytest.FixtureRequest) -> Translator:
    translator: Translator = request.getfixturevalue(request.param)
    return translator


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_a_trained_model_translates(
    autoregressive: Translator, sentences: list[str], expected: Callable[[str], str]
) -> None:
    sentences = [sentence for sentence in sentences if len(sentence.split()) < 10]  # as long as those it learned
    translations = autoregressive.translate(sentences)
    right = sum(t.text == expected(s) for t, s in zip(translations, sentences, strict=True))
    assert right > len(sentences) / 2


@pytest.mark.parametrize(("batch_size", "thread_count"), [(1, 1), (7, 1), (64, 1), (1, 2), (7, 2), (64, 2)])
def test_results_do_not_depend_on_batch_order_or_threads(
    translator: Translator,
    sentences: list[str],
    threads: Callable[[int], None],
    batch_size: int,
    thread_count: int,
) -> None:
    sentences = sentences[:60]
    together = translator.translate(sentences)
    threads(thread_count)
    order = random.Random(batch_size).sample(range(len(sentences)), len(sentences))
    shuffled = translator.translate([sentences[i] for i in order], max_batch_size=batch_size, batch_type="examples")
    assert shuffled == [together[i] for i in order]  # text, tokens, score, log-probabilities and all


def test_a_token_budget_does_not_change_results(translator: Translator, sentences: list[str]) -> None:
    assert translator.translate(sentences, max_batch_size=100) == translator.translate(sentences)


def test_a_stream_gives_the_same_in_the_same_order(translator: Translator, sentences: list[str]) -> None:
    assert list(translator.translate_stream(iter(sentences), window=7)) == translator.translate(sentences)


def test_a_stream_reads_no_further_than_its_window(cmlm: Translator, sentences: list[str]) -> None:
    source = iter(sentences)
    next(cmlm.translate_stream(source, window=5))
    assert len(list(source)) == len(sentences) - 5


def test_a_translation_says_how_it_came_about(cmlm: Translator, sentences: list[str]) -> None:
    (translation,) = cmlm.translate(sentences[:1], iterations=3, length_candidates=2, trace=True)
    assert len(translation.tokens) == len(translation.log_probs) == translation.lengths[translation.trace.chosen]  # type: ignore[union-attr]
    assert translation.score == pytest.approx(sum(translation.log_probs) / len(translation.tokens))
    assert translation.passes == 3
    assert [step.tokens for step in translation.trace.passes][-1] == translation.tokens  # type: ignore[union-attr]


def test_n_best_lists_begin_with_the_translation_itself(translator: Translator, sentences: list[str]) -> None:
    (translation,) = translator.translate(sentences[:1], num_hypotheses=3)
    assert len(translation.hypotheses) == 3
    assert translation.hypotheses[0].text == translation.text
    scores = [hypothesis.score for hypothesis in translation.hypotheses]
    assert scores == sorted(scores, reverse=True)


def test_empty_lines_stay_empty(translator: Translator) -> None:
    translations = translator.translate(["", "  \t ", "luri.", "\x00"])
    assert [bool(translation.text) for translation in translations] == [False, False, True, False]
    assert translations[0].tokens == []


@pytest.mark.parametrize(
    "text", ["🙂 luri 🙃", "שלום luri", "مرحبا", "luri\x00tisa", "luri\ud800", "ＬＵＲＩ", "<mask> </s>", "\u2028"]
)
def test_any_text_can_be_translated(translator: Translator, text: str) -> None:
    (translation,) = translator.translate([text])
    assert "\n" not in translation.text


def test_nul_is_a_space(cmlm: Translator) -> None:
    nul, space = cmlm.translate(["luri\x00tisa.", "luri tisa."])
    assert nul == space


def test_a_long_line_is_translated_sentence_by_sentence(translator: Translator, sentences: list[str]) -> None:
    assert len(translator.tokenizers.source.encode(" ".join(sentences))) > translator.max_input_length
    (whole,) = translator.translate([" ".join(sentences)])
    alone = translator.translate(sentences)
    assert whole.text == " ".join(translation.text for translation in alone)
    assert list(whole.parts) == alone


def test_a_hundred_thousand_characters_are_one_translation(translator: Translator) -> None:
    text = "luri" * 25_000
    (translation,) = translator.translate([text], max_batch_size=20_000, **_fast(translator))
    assert sum(len(part.tokens) for part in translation.parts) == len(translation.tokens) > 1_000


def test_max_input_length_lowers_the_limit(cmlm_folder: Path) -> None:
    (translation,) = Translator(cmlm_folder, max_input_length=4).translate(["luri tisa, koke luri bane."])
    assert len(translation.parts) > 1


def test_collapsing_repeats_drops_a_subword_equal_to_its_left_neighbour(cmlm: Translator, sentences: list[str]) -> None:
    settings: dict[str, Any] = {"iterations": 1, "length_candidates": 1, "pretokenized": True}
    sources = [" ".join(cmlm.tokenizers.source.pieces(cmlm.tokenizers.source.encode(s))) for s in sentences]
    raw = [t.text.split() for t in cmlm.translate(sources, **settings)]
    collapsed = [t.text.split() for t in cmlm.translate(sources, collapse_repeats=True, **settings)]
    assert any(len(after) < len(before) for after, before in zip(collapsed, raw, strict=True))
    assert not any(a == b for words in collapsed for a, b in pairwise(words))


def test_pretokenized_text_gives_the_same_translation(translator: Translator, sentences: list[str]) -> None:
    source, target = translator.tokenizers.source, translator.tokenizers.target
    pieces = [" ".join(source.pieces(source.encode(sentence))) for sentence in sentences[:10]]
    ready = translator.translate(pieces, pretokenized=True)
    assert [target.decode(target.ids(t.text.split())) for t in ready] == [
        t.text for t in translator.translate(sentences[:10])
    ]


def test_pins_are_kept(cmlm: Translator) -> None:
    (anywhere,) = cmlm.translate(["luri tisa bane."], pins=[["IROK"]])
    assert "IROK" in anywhere.text
    (placed,) = cmlm.translate(["luri tisa bane."], pins=[[("IROK", 0)]])
    assert placed.text.startswith("IROK")


@pytest.mark.parametrize(
    ("pins", "sentence"),
    [
        ([("IROK", 0), ("OMUL", 0)], "overlap"),
        ([""], "has no text"),
        ([("IROK", 500)], "too long for the model"),
        ([("IROK", -1)], "does not fit"),
    ],
)
def test_an_impossible_pin_is_explained(cmlm: Translator, pins: list[Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        cmlm.translate(["luri."], pins=[pins])


def test_a_pin_on_a_line_that_must_be_split_is_refused(cmlm: Translator, sentences: list[str]) -> None:
    with pytest.raises(UserError, match=r"line 2: .*too long"):
        cmlm.translate(["luri.", " ".join(sentences)], pins=[[], ["IROK"]])


def test_references_set_the_length(cmlm: Translator, sentences: list[str], expected: Callable[[str], str]) -> None:
    references = [expected(sentence) for sentence in sentences]
    translations = cmlm.translate(sentences, references=references)
    lengths = [len(cmlm.tokenizers.target.encode(reference)) + 1 for reference in references]
    assert [len(translation.tokens) for translation in translations] == lengths


def test_given_words_are_never_cut_off(cmlm: Translator, sentences: list[str]) -> None:
    pinned = cmlm.translate(sentences, pins=[["IROK"]] * len(sentences))
    assert all("IROK" in translation.text for translation in pinned)
    filled = cmlm.fill(sentences[:10], ["___{9} IROK"] * 10)
    assert all(translation.text.endswith("IROK") for translation in filled)


def test_gaps_are_filled_and_the_rest_is_kept(cmlm: Translator) -> None:
    three, some = cmlm.fill(["luri tisa.", "luri tisa."], ["IRUL ___{3} ENAB", "IRUL ___."])
    assert three.text.startswith("IRUL")
    assert three.text.endswith("ENAB")
    target = cmlm.tokenizers.target
    assert len(three.tokens) == len(target.encode("IRUL")) + 3 + len(target.encode("ENAB")) + 1
    assert some.text.startswith("IRUL")
    assert some.text.endswith(".")


def test_score_agrees_with_translate_to_the_last_bit(cmlm: Translator, sentences: list[str]) -> None:
    source = cmlm.tokenizers.source
    pieces = [" ".join(source.pieces(source.encode(sentence))) for sentence in sentences]
    for settings in ({}, {"iterations": 4, "stop_when_stable": True}, {"strategy": "easy_first"}):
        translations = cmlm.translate(pieces, pretokenized=True, **settings)
        scored = cmlm.score(pieces, [" ".join(t.tokens) for t in translations], pretokenized=True, **settings)
        assert [t.score for t in scored] == [t.score for t in translations]
        assert [t.log_probs for t in scored] == [t.log_probs for t in translations]


def test_score_of_an_autoregressive_model_is_that_of_its_beam(autoregressive: Translator, sentences: list[str]) -> None:
    translations = autoregressive.translate(sentences)
    scored = autoregressive.score(sentences, [translation.text for translation in translations])
    assert [t.score for t in scored] == pytest.approx([t.score for t in translations], abs=1e-4)


def test_the_right_translation_scores_higher_than_a_wrong_one(
    translator: Translator, expected: Callable[[str], str]
) -> None:
    right, wrong = translator.score(["luri tisa."] * 2, [expected("luri tisa."), expected("koke bane.")])
    assert right.score > wrong.score


def test_keywords_win_over_the_model_folder_which_wins_over_defaults(cmlm_folder: Path) -> None:
    contents = ModelFolder.read(cmlm_folder)
    changed = ModelFolder(
        contents.system,
        contents.config,
        contents.languages,
        contents.tokenizers,
        contents.weights,
        {**contents.generation, "iterations": 3},
    )
    translator = Translator(changed)
    assert translator.translate(["luri tisa."])[0].passes == 3
    assert translator.translate(["luri tisa."], iterations=2)[0].passes == 2


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"beam_size": 4}, r"beam_size is not a setting of cmlm models; they have iterations, .*length_candidates"),
        ({"iterations": "many"}, "'iterations' must be a whole number"),
        ({"length_candidates": 0}, "length_candidates is 0"),
        ({"strategy": "left_to_right", "threshold": 0.5}, "threshold is for mask_predict"),
        ({"max_batch_size": 0}, "max_batch_size is 0"),
        ({"batch_type": "words"}, "batch_type is 'words'"),
        ({"references": []}, "1 texts and 0 entries of references"),
    ],
)
def test_an_impossible_setting_is_explained(cmlm: Translator, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        cmlm.translate(["luri."], **settings)


def test_settings_that_compare_equal_are_not_taken_for_each_other(cmlm: Translator) -> None:
    assert cmlm.translate(["luri."], iterations=1)[0].passes == 1
    for odd in (True, 1.0):
        with pytest.raises(UserError, match="'iterations' must be a whole number"):
            cmlm.translate(["luri."], iterations=odd)


def test_a_single_string_is_not_taken_for_a_list_of_letters(cmlm: Translator) -> None:
    with pytest.raises(UserError, match="put the one text into a list"):
        cmlm.translate("luri tisa.")


def test_an_autoregressive_model_cannot_pin(autoregressive: Translator) -> None:
    with pytest.raises(UserError, match="use a CMLM"):
        autoregressive.translate(["luri."], pins=[["IROK"]])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"device": "abacus"}, "'abacus' cannot be used"),
        ({"intra_threads": 0}, "intra_threads is 0"),
        ({"max_input_length": 0}, "max_input_length is 0"),
        ({"compute_type": "int3"}, "compute_type is 'int3'"),
    ],
)
def test_an_impossible_translator_is_explained(cmlm_folder: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Translator(cmlm_folder, **options)


def test_half_precision_translates_alike(cmlm: Translator, cmlm_folder: Path) -> None:
    (half,) = Translator(cmlm_folder, device="cpu", compute_type="bfloat16").translate(["luri tisa."])
    (full,) = cmlm.translate(["luri tisa."])
    assert half.text == full.text
    assert half.score == pytest.approx(full.score, abs=0.05)


def test_the_next_batch_starts_before_the_previous_one_is_waited_for(
    cmlm_folder: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator(cmlm_folder, device="cpu")
    expected = translator.translate(sentences[:6], iterations=2, max_batch_size=2, batch_type="examples")
    start, events = translator.decoder.start, list[str]()

    def watched(requests: Sequence[Request], settings: Any) -> Callable[[], list[list[Hypothesis]]]:
        events.append("begin")
        finish = start(requests, settings)

        def finished() -> list[list[Hypothesis]]:
            events.append("end")
            return finish()

        return finished

    monkeypatch.setattr(translator.decoder, "start", watched)
    assert translator.translate(sentences[:6], iterations=2, max_batch_size=2, batch_type="examples") == expected
    batches = events.count("begin")
    assert batches > 2
    assert events == ["begin", *["begin", "end"] * (batches - 1), "end"]


def test_a_run_folder_stands_for_its_model(cmlm_folder: Path, cmlm: Translator, tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to(cmlm_folder)
    assert Translator(tmp_path).translate(["luri."]) == cmlm.translate(["luri."])


def _fast(translator: Translator) -> dict[str, Any]:
    if translator.system == "cmlm":
        return {"iterations": 1, "length_candidates": 1}
    return {"beam_size": 1}
