"""The heads of model cards."""

from __future__ import annotations

import pytest
import yaml

from maskpredict.languages import Languages
from maskpredict.model.card import card_head, scores_of

HEAD = card_head("xx-yy", Languages("xx", "yy"), {"news": 28.26, "talks": 30.0})


def test_the_head_gives_its_scores_back() -> None:
    assert scores_of(HEAD + "\n# A card\n\n---\nlanguage: [no, head]\n---\n") == {"news": 28.3, "talks": 30.0}


def test_the_head_has_what_the_hub_reads() -> None:
    _, head, _ = HEAD.split("---\n")
    content = yaml.safe_load(head)
    assert content["language"] == ["xx", "yy"]
    assert content["pipeline_tag"] == "translation"
    (model,) = content["model-index"]
    assert model["name"] == "xx-yy"
    assert [result["task"]["type"] for result in model["results"]] == ["translation", "translation"]
    assert all(result["dataset"].keys() == {"type", "name"} for result in model["results"])


@pytest.mark.parametrize(
    "card",
    [
        "",
        "# A card without a head\n",
        "---\nlanguage: de\n---\n",
        "---\n[1, 2\n---\n",
        "---\njust text\n---\n",
        "---\nmodel-index: 3\n---\n",
        "---\nmodel-index: [{results: [{dataset: {name: news}, metrics: [{type: bleu, value: many}]}]}]\n---\n",
        "---\nmodel-index: [{results: [{dataset: {name: news}, metrics: [{type: chrf, value: 50}]}]}]\n---\n",
    ],
)
def test_cards_without_scores_of_this_form_have_none(card: str) -> None:
    assert scores_of(card) == {}
