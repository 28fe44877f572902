"""Stage `ship`: writes the final model folder with its model card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from maskpredict.model.folder import ModelFolder
from maskpredict.model.stored_weights import parameter_count
from maskpredict.reproduce.evaluation import SplitScore, read_scores
from maskpredict.reproduce.recipe import ShipConfig
from maskpredict.training.checkpoint import RunState, checkpoints


def ship(config: ShipConfig, runs: dict[str, Path], results: Path, out: Path, sections: Sequence[str] = ()) -> None:
    """Write the model folder `out` from the last run folder, with a model card on all runs and their scores.

    `sections` are further ones of the card.
    """
    model = ModelFolder.read(list(runs.values())[-1] / "model")
    card = model_card(config, model, read_scores(results), runs, sections)
    # An existing folder is from an earlier call that was killed before it wrote the record.
    generation = {**model.generation, **config.decoding}
    replace(model, card=card, generation=generation).write(out, precision=config.precision, overwrite=True)


def model_card(
    config: ShipConfig, model: ModelFolder, scores: list[SplitScore], runs: dict[str, Path], more: Sequence[str] = ()
) -> str:
    """Model card in Markdown: data, scores with signatures, training time and licence."""
    millions = parameter_count(model.weights) / 1e6
    parts = [
        f"# {model.languages.source} to {model.languages.target}",
        f"A {model.system} translation model with {millions:.1f} M parameters, stored in {config.precision}.",
        config.card.strip(),
        _scores(scores),
        *more,
        _cost(runs),
        f"## Licence\n\n{config.licence.strip()}" if config.licence else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _scores(scores: list[SplitScore]) -> str:
    if not scores:
        return ""
    splits = list(dict.fromkeys(score.split for score in scores))
    by_system: dict[str, dict[str, float]] = {}
    for score in scores:
        by_system.setdefault(f"{score.system}, {_words(score.settings)}", {})[score.split] = score.bleu
    lines = {score.split: score.sentences for score in scores}
    tests = [f"{split.removeprefix('test.')} ({lines[split]:,})" for split in splits]
    head = [["system", *tests], ["---", *["---:"] * len(splits)]]
    rows = [
        [name, *(f"{bleu[split]:.1f}" if split in bleu else "" for split in splits)] for name, bleu in by_system.items()
    ]
    signatures = " and ".join(f"`{signature}`" for signature in dict.fromkeys(score.signature for score in scores))
    return f"## Scores\n\n{_table(head + rows)}\n\nsacreBLEU on raw text, with its lines in brackets: {signatures}."


def _cost(runs: dict[str, Path]) -> str:
    rows = []
    for name, run in runs.items():
        if state := last_state(run):
            rows.append([name, f"{state.update:,}", f"{state.seconds:,.0f}"])
    if not rows:
        return ""
    return "## Training\n\n" + _table([["run", "updates", "seconds"], ["---", "---:", "---:"], *rows])


def last_state(run: Path) -> RunState | None:
    """State of the last checkpoint of a run; None without checkpoints."""
    saved = checkpoints(run / "checkpoints")
    return RunState.read(saved[-1]) if saved else None


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "as the model folder says"


def _table(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
