"""A second model that chooses: in the order that both find likeliest, whatever the batch, and not for everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from maskpredict import Translation, Translator, UserError
from maskpredict.corpus.reading import Pair
from maskpredict.corpus.vocabulary import VocabularyConfig, learn_tokenizers
from maskpredict.languages import Languages
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.runtime.lines import Line
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.tokenizer import Tokenizers


@pytest.fixture(scope="module")
def judged(cmlm_folder: Path, autoregressive_folder: Path) -> Translator:
    return Translator(cmlm_folder, device="cpu", judge=autoregressive_folder)


@pytest.fixture(scope="module")
def plain(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder, device="cpu")


def test_translations_come_in_the_order_of_both_scores_together(
    judged: Translator, plain: Translator, autoregressive_folder: Path, sentences: list[str]
) -> None:
    teacher = Translator(autoregressive_folder, device="cpu")
    changed = 0
    for sentence in sentences[40:60]:
        own = plain.translate([sentence], iterations=3, num_hypotheses=5)[0].hypotheses
        source = " ".join(teacher.tokenizers.source.pieces(teacher.tokenizers.source.encode(sentence)))
        targets = [" ".join(one.tokens).split(" </s>")[0] + " </s>" for one in own]
        scores = teacher.score([source] * len(own), targets, pretokenized=True)
        both = zip(own, (one.score + other.score for one, other in zip(own, scores, strict=True)), strict=True)
        in_order = [one for one, merit in sorted(both, key=lambda pair: -pair[1])]
        assert list(judged.translate([sentence], iterations=3, num_hypotheses=5)[0].hypotheses) == in_order
        changed += in_order[0] != own[0]
    assert changed


def test_more_translations_are_right(
    judged: Translator, plain: Translator, sentences: list[str], expected: Callable[[str], str]
) -> None:
    def right(translator: Translator) -> int:
        actual = translator.translate(sentences, iterations=4)
        return sum(one.text == expected(sentence) for one, sentence in zip(actual, sentences, strict=True))

    assert right(judged) > right(plain)


def test_the_batch_does_not_matter(judged: Translator, sentences: list[str]) -> None:
    together = judged.translate(sentences, iterations=2)
    assert [judged.translate([sentence], iterations=2)[0] for sentence in sentences] == together


def test_what_is_imposed_stays(judged: Translator, sentences: list[str]) -> None:
    assert all("UFIT" in one.text for one in judged.translate(sentences[:10], iterations=2, pins=[["UFIT"]] * 10))
    (filled,) = judged.fill(["luri tisa."], ["___ ASIT."], iterations=2)
    assert filled.text.endswith("ASIT.")
    assert judged.translate([""])[0].text == ""


def test_beams_can_be_judged_too(autoregressive_folder: Path, sentences: list[str]) -> None:
    """By the same model, which likes what it has found best."""
    alone = Translator(autoregressive_folder, device="cpu")
    judged = Translator(autoregressive_folder, device="cpu", judge=autoregressive_folder)
    assert [t.text for t in judged.translate(sentences[:20])] == [t.text for t in alone.translate(sentences[:20])]


def test_in_eight_bits(
    cmlm_folder: Path, autoregressive_folder: Path, judged: Translator, sentences: list[str]
) -> None:
    quick = Translator(cmlm_folder, device="cpu", compute_type="int8", judge=autoregressive_folder)
    assert quick.judge is not None
    pairs = zip(quick.translate(sentences), judged.translate(sentences), strict=True)
    assert sum(one.text == other.text for one, other in pairs) > 0.8 * len(sentences)


def test_several_targets_of_one_source_are_scored_as_if_alone(judged: Translator, sentences: list[str]) -> None:
    assert judged.judge is not None
    codec = judged._codec(pretokenized=False)
    requests = [own[0] for own in codec.requests([Line(sentence) for sentence in sentences[:8]])]
    targets = [list(request.source) for request in requests]
    decoder, settings = judged.judge.decoder, judged.judge.settings
    twice = decoder.score([*requests, *requests[::-1]], [*targets, *targets], settings)
    for request, target, actual in zip([*requests, *requests[::-1]], [*targets, *targets], twice, strict=True):
        (alone,) = decoder.score([request], [target], settings)
        assert actual.log_probs == pytest.approx(alone.log_probs, abs=1e-5)


def test_one_candidate_leaves_nothing_to_choose(judged: Translator) -> None:
    with pytest.raises(UserError, match="needs several translations"):
        judged.translate(["luri."], length_candidates=1)
    judged.translate(["luri."], length_candidates=3, prune_candidates=2)


def test_a_cmlm_is_no_judge(cmlm_folder: Path) -> None:
    with pytest.raises(UserError, match="use an autoregressive one"):
        Translator(cmlm_folder, device="cpu", judge=cmlm_folder)


def test_a_judge_of_other_languages_is_refused(cmlm_folder: Path, autoregressive_folder: Path) -> None:
    judge = replace(ModelFolder.read(autoregressive_folder), languages=Languages("yy", "xx"))
    with pytest.raises(UserError, match="translates yy to xx"):
        Translator(cmlm_folder, device="cpu", judge=judge)


def test_a_judge_of_other_subwords_or_shorter_sentences_is_refused(
    cmlm_folder: Path, autoregressive_folder: Path, sentences: list[str]
) -> None:
    judge = ModelFolder.read(autoregressive_folder)
    others = learn_tokenizers([Pair(text[::-1], text[::-1]) for text in sentences], VocabularyConfig(size=90))
    with pytest.raises(UserError, match="other subwords"):
        Translator(cmlm_folder, device="cpu", judge=replace(judge, tokenizers=others))
    shorter = replace(judge.config, max_positions=32)
    weights = {
        name: tensor[:32] if len(tensor) == 64 and "position" in name else tensor
        for name, tensor in judge.weights.items()
    }
    with pytest.raises(UserError, match="32 positions"):
        Translator(cmlm_folder, device="cpu", judge=replace(judge, config=shorter, weights=weights))


def scores_of(judge: Translator, sentence: str, translation: Translation) -> list[float]:
    """The judge's score of each hypothesis, as the subwords that it has."""
    source = " ".join(judge.tokenizers.source.pieces(judge.tokenizers.source.encode(sentence)))
    targets = [" ".join(one.tokens).split(" </s>")[0] + " </s>" for one in translation.hypotheses]
    scored = judge.score([source] * len(targets), [target.strip() for target in targets], pretokenized=True)
    return [one.score for one in scored]


def test_alone_the_judge_chooses_by_its_own_score(
    cmlm_folder: Path, autoregressive_folder: Path, judged: Translator, sentences: list[str]
) -> None:
    alone = Translator(cmlm_folder, device="cpu", judge=autoregressive_folder, judge_alone=True)
    judge = Translator(autoregressive_folder, device="cpu")
    ranked = alone.translate(sentences, iterations=1, num_hypotheses=5)
    for sentence, one in zip(sentences, ranked, strict=True):
        scores = scores_of(judge, sentence, one)
        assert all(first >= second - 1e-5 for first, second in pairwise(scores))
    assert [one.text for one in ranked] != [one.text for one in judged.translate(sentences, iterations=1)]


def test_a_judge_chooses_among_fertilities_that_are_drawn(
    toy_tokenizers: Tokenizers, autoregressive_folder: Path, sentences: list[str]
) -> None:
    teacher = ModelFolder.read(autoregressive_folder)
    torch.manual_seed(1)
    system = find_system("fertility")(teacher.config, vocabulary_of(toy_tokenizers))
    torch.nn.init.normal_(system.get_parameter("fertility.weight"), std=0.5)
    suppressed = {"suppress_tokens": teacher.generation["suppress_tokens"]}
    model = ModelFolder("fertility", teacher.config, teacher.languages, toy_tokenizers, weights_of(system), suppressed)
    alone = Translator(model, device="cpu", judge=teacher, judge_alone=True)
    judge = Translator(teacher, device="cpu")
    for sentence in sentences[:8]:
        (best,) = alone.translate([sentence], fertilities="sample", samples=6, raw=True)
        drawn = Translator(model, device="cpu").translate(
            [sentence], fertilities="sample", samples=6, num_hypotheses=6, raw=True
        )
        scores = scores_of(judge, sentence, drawn[0])
        chosen = [one.tokens for one in drawn[0].hypotheses].index(best.tokens)
        assert scores[chosen] == pytest.approx(max(scores), abs=1e-5)
    with pytest.raises(UserError, match="a judge needs several translations"):
        alone.translate(["luri."])
