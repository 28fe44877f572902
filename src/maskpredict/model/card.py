"""The head of a model card: YAML between two lines of `---`, as the Hugging Face hub reads it.

---
language: [de, en]
library_name: maskpredict
pipeline_tag: translation
model-index:
- name: de-en
  results:
  - {task: {type: translation}, dataset: {type: flores, name: flores}, metrics: [{type: bleu, value: 27.3}]}
---
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from maskpredict.languages import Languages

_HEAD = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)
_METRIC = "bleu"


def card_head(name: str, languages: Languages, bleu: Mapping[str, float]) -> str:
    """Return the head of a card, with BLEU by test set."""
    lines = [
        f"language: [{languages.source}, {languages.target}]",
        "library_name: maskpredict",
        "pipeline_tag: translation",
    ]
    if bleu:
        lines += ["model-index:", f"- name: {name}", "  results:"]
    for test_set, value in bleu.items():
        dataset = f"{{type: {test_set}, name: {test_set}}}"
        metrics = f"[{{type: {_METRIC}, value: {value:.1f}}}]"
        lines.append(f"  - {{task: {{type: translation}}, dataset: {dataset}, metrics: {metrics}}}")
    return "\n".join(["---", *lines, "---", ""])


def scores_of(card: str) -> dict[str, float]:
    """Return BLEU by test set, as the head of a card says; empty without one, or if it is of another form."""
    match = _HEAD.match(card)
    try:
        head = yaml.safe_load(match[1]) if match else None
        results = [result for model in head["model-index"] for result in model["results"]] if head else []
        return {
            str(result["dataset"]["name"]): float(metric["value"])
            for result in results
            for metric in result["metrics"]
            if metric["type"] == _METRIC
        }
    except (yaml.YAMLError, KeyError, TypeError, ValueError):
        return {}
