"""Builds the racers: each given model in every requested engine, decoding setting and compute type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from maskpredict.bench.config import BenchConfig
from maskpredict.bench.racers.base import ComputeSettings, RacedModel, Racer
from maskpredict.bench.racers.ctranslate2_engine import ctranslate2_racers
from maskpredict.bench.racers.ours import alignment_racers, beam_search_racers, mask_predict_racers, one_pass_racers
from maskpredict.bench.racers.outside_teacher import outside_teacher_racers
from maskpredict.bench.racers.transformers_engine import transformers_racers
from maskpredict.decoding.settings import AlignmentSettings, BeamSettings, MaskPredictSettings, OnePassSettings
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.find_model import find_model
from maskpredict.systems import find_decoder

ToCTranslate2 = Callable[[Path, Path], object]
"""Writes a model folder (the first path) as a CTranslate2 folder (the second) in float32."""
WANTED = {
    MaskPredictSettings: "one that decodes with mask-predict",
    AlignmentSettings: "an alignment one",
    OnePassSettings: "one that makes a single pass, such as ctc",
    BeamSettings: "an autoregressive one",
}
"""Description of the expected model, by the type of its decoding settings."""


@dataclass(frozen=True)
class RacersAndModels:
    """Racers, not loaded yet, and their models."""

    racers: list[Racer]
    models: list[RacedModel]


def build_racers(
    config: BenchConfig, compute: ComputeSettings, to_ctranslate2: ToCTranslate2, scratch: Path
) -> RacersAndModels:
    """All racers of a config; exports for CTranslate2 are written to `scratch` when those racers are loaded."""
    racers: list[Racer] = []
    models: list[RacedModel] = []

    def exporter(model: RacedModel, name: str) -> Callable[[], Path]:
        def export() -> Path:
            to_ctranslate2(model.path, scratch / name)
            return scratch / name

        return export

    if config.model:
        models.append(model := _read(config.model, "model", MaskPredictSettings))
        racers += mask_predict_racers(model, compute, config.passes, config.speeds)
    if config.shallow:
        models.append(model := _read(config.shallow, "shallow model", MaskPredictSettings))
        racers += mask_predict_racers(model, compute, config.passes, config.speeds, shallow=True)
    if config.one_pass:
        models.append(model := _read(config.one_pass, "one-pass model", OnePassSettings))
        racers += one_pass_racers(model, compute)
    if config.alignment:
        models.append(model := _read(config.alignment, "alignment model", AlignmentSettings))
        racers += alignment_racers(model, compute, config.alignment_passes)
    if config.teacher:
        models.append(model := _read(config.teacher, "teacher", BeamSettings))
        racers += beam_search_racers(model, compute, config.beams)
        if "ctranslate2" in config.peers:
            racers += ctranslate2_racers(model, compute, config.beams, exporter(model, "teacher"))
        if "transformers" in config.peers:
            racers += transformers_racers(model, compute, config.beams)
    if config.rival:
        models.append(model := _read(config.rival, "rival", BeamSettings))
        racers += ctranslate2_racers(model, compute, config.beams, exporter(model, "rival"), rival=True)
    if config.outside:
        racers += outside_teacher_racers(config.outside, compute, config.beams)
    _refuse_mixed_languages(models)
    return RacersAndModels(racers, models)


def _read(name: str, role: str, settings: type) -> RacedModel:
    """Read a model; raises `UserError` if it is not decoded with this type of settings."""
    path = find_model(name)
    contents = ModelFolder.read(path)
    if find_decoder(contents.system).settings_type is not settings:
        raise UserError(f"the {role} {name} is a {contents.system} model; give {WANTED[settings]}.")
    return RacedModel(path, contents)


def _refuse_mixed_languages(models: Sequence[RacedModel]) -> None:
    first, *others = (model.contents.languages for model in models)
    for other in others:
        if other != first:
            raise UserError(
                f"one model translates {first.source} to {first.target} and another {other.source} to {other.target}; "
                "give models of the same languages."
            )
