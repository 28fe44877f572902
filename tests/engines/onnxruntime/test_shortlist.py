"""With a shortlist, onnxruntime predicts as if its candidates were the whole vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from maskpredict import Translator
from maskpredict.decoding.engine import Query
from maskpredict.engines.onnxruntime.engine import OnnxruntimeEngine
from maskpredict.model.folder import ModelFolder
from maskpredict.model.shortlist import Shortlist

MakeFolder = Callable[..., ModelFolder]
Numbers = npt.NDArray[Any]

EOS, MASK = 2, 4
SOURCE = (5, 6, 7, 8, EOS)
SYSTEMS: dict[str, dict[str, Any]] = {"cmlm": {}, "alignment": {"ctc_positions": 2}}


def with_candidates(folder: ModelFolder, candidates: Sequence[int]) -> ModelFolder:
    """The folder with a shortlist that has the same candidates for every source."""
    frequent = np.array([EOS, MASK], np.uint16)
    rows = np.tile(np.array(candidates, np.uint16), (folder.tokenizers.source.vocab_size, 1))
    return replace(folder, shortlist=Shortlist(rows, frequent))


def renormalised(log_probs_TV: Numbers, candidates: Sequence[int]) -> Numbers:
    """Log-probabilities among the candidates alone."""
    chosen_TC = log_probs_TV[:, candidates]
    return chosen_TC - np.log(np.exp(chosen_TC).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("allowed", [[30, 9, 7, 31], range(80)], ids=["few", "many"])
def test_a_pass_predicts_the_likeliest_candidate(
    random_folder: MakeFolder, system: str, compute_type: str, allowed: Sequence[int]
) -> None:
    folder = with_candidates(random_folder(system, **SYSTEMS[system]), allowed)
    passes = OnnxruntimeEngine(folder, compute_type, 1).encode([SOURCE]).passes([0], [10])
    draft_BT = passes.array([[MASK, 9, *[MASK] * 8]], 0)
    suppressed, given = 9, 50
    query = Query((suppressed,), given_BT=np.full_like(draft_BT, given), shortlist=True)
    prediction = passes.predict(draft_BT, draft_BT == MASK, query)

    candidates = sorted({*allowed, EOS, MASK, given})
    everything_TV = passes.log_probs(draft_BT, Query((suppressed,)))
    log_probs_TC = renormalised(everything_TV, candidates)
    hidden_T = draft_BT[0] == MASK
    best_T = np.array(candidates)[log_probs_TC.argmax(axis=1)]
    assert prediction.tokens_BT[0][hidden_T].tolist() == best_T[hidden_T].tolist()
    np.testing.assert_allclose(prediction.log_probs_BT[0][hidden_T], log_probs_TC.max(axis=1)[hidden_T], atol=1e-4)
    assert prediction.given_log_probs_BT is not None
    of_given_T = log_probs_TC[:, candidates.index(given)]
    np.testing.assert_allclose(prediction.given_log_probs_BT[0][hidden_T], of_given_T[hidden_T], atol=1e-4)


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
def test_translations_consist_of_candidates_and_score_repeats_their_scores(
    random_folder: MakeFolder, compute_type: str
) -> None:
    translator = Translator(with_candidates(random_folder(), range(10, 40)), compute_type=compute_type)
    assert translator.engine.name == "onnxruntime"
    texts = ["tiba runek", "mola sepi tiba runek", "sepi"]
    options: dict[str, Any] = {"iterations": 3, "shortlist": True, "suppress_tokens": [0, 1, MASK], "raw": True}
    translations = translator.translate(texts, **options)
    allowed = set(translator.tokenizers.target.pieces([EOS, *range(10, 40)]))
    assert {token for translation in translations for token in translation.tokens} <= allowed
    alone = [translator.translate([text], **options)[0] for text in texts]
    assert [(one.tokens, one.score) for one in alone] == [(one.tokens, one.score) for one in translations]
    del options["raw"]
    tokenizer = translator.tokenizers.source
    targets = [" ".join(translation.tokens) for translation in translations]
    sources = [" ".join(tokenizer.pieces(tokenizer.encode(text))) for text in texts]
    scored = translator.score(sources, targets, pretokenized=True, **options)
    assert [one.score for one in scored] == pytest.approx([one.score for one in translations], abs=1e-5)


def test_without_a_shortlist_all_words_are_scored(random_folder: MakeFolder) -> None:
    translator = Translator(random_folder(), compute_type="float32")
    asked, plain = (translator.translate(["tiba runek"], shortlist=chosen) for chosen in (True, False))
    assert asked[0].score == plain[0].score
    assert not translator.has_shortlist
