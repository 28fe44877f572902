"""`import_model`: converts a foreign checkpoint to a model folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from maskpredict.bpe import BytePairs
from maskpredict.convert.checkpoint import Checkpoint, find_checkpoint, read_checkpoint
from maskpredict.convert.dictionaries import read_tokenizers
from maskpredict.convert.fairseq_cmlm import FAIRSEQ_CMLM
from maskpredict.convert.fairseq_transformer import FAIRSEQ_TRANSFORMER
from maskpredict.convert.family import Family
from maskpredict.convert.layers import Tensors, convert_transformer, languages_setting, refuse_unsupported
from maskpredict.convert.mask_predict_release import RELEASE
from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import load_weights, weights_of
from maskpredict.model.parameter_shapes import check_weights, parameter_shapes
from maskpredict.special_ids import SpecialIds
from maskpredict.systems import find_system, vocabulary_of

FAMILIES = {family.name: family for family in (RELEASE, FAIRSEQ_CMLM, FAIRSEQ_TRANSFORMER)}
"""Supported families by name."""


def import_model(
    family: str, folder: Path, out: Path, *, bpe_codes: Path | None = None, overwrite: bool = False
) -> ModelFolder:
    """Convert a folder with a checkpoint and `dict.LANG.txt` of both languages to a model folder.

    With `bpe_codes`, a file of subword-nmt, the model takes plain text; without it, text split into subwords.
    """
    if family not in FAMILIES:
        raise UserError(f"there is no format '{family}' to import; choose one of {', '.join(FAMILIES)}.")
    path = find_checkpoint(folder)
    if path is None:
        raise UserError(f"{folder} has no checkpoint, a file whose name ends in .pt; check the path.")
    contents = convert(read_checkpoint(path), FAMILIES[family], bpe_codes)
    contents.write(out, overwrite=overwrite)
    return contents


def family_of(checkpoint: Checkpoint) -> Family | None:
    """Family of a checkpoint; None if it cannot be imported."""
    matching = (f for f in FAMILIES.values() if f.architectures.fullmatch(checkpoint.architecture))
    return next(matching, None)


def convert(checkpoint: Checkpoint, family: Family, bpe_codes: Path | None = None) -> ModelFolder:
    """Convert a checkpoint to the content of a model folder; the dictionaries are in the folder of the checkpoint.

    Raises `UserError` if it cannot be used, whatever its settings and tensors are.
    """
    try:
        return _converted(checkpoint, family, bpe_codes)
    except (AttributeError, IndexError, KeyError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UserError(f"{checkpoint.path} is damaged or of another kind ({reason}); copy it again.") from error


def _converted(checkpoint: Checkpoint, family: Family, bpe_codes: Path | None) -> ModelFolder:
    _refuse_other_family(checkpoint, family)
    refuse_unsupported(checkpoint)
    languages = Languages(*languages_setting(checkpoint.settings, checkpoint.path))
    languages.check()  # they are part of file names
    merges = None if bpe_codes is None else BytePairs.read(bpe_codes)
    tensors = Tensors(checkpoint)
    lengths = None if family.length_table is None else tensors.take(family.length_table)
    classes = None if lengths is None else len(lengths)
    config, weights = convert_transformer(checkpoint, tensors, family.defaults, classes)
    if lengths is not None:
        weights["length.table.weight"] = lengths
    if family.begins_with_eos:
        _copy_eos_to_bos(weights, config, family.special)
    tensors.refuse_unused()
    rows = (len(weights["transformer.source.tokens.weight"]), len(weights["transformer.target.tokens.weight"]))
    tokenizers = read_tokenizers(checkpoint.path.parent, languages, family.symbols, family.special, rows, merges)
    name = family.system(checkpoint)
    expected = parameter_shapes(name, config, *rows)  # before memory is taken for what the settings say
    check_weights({part: weights[part] for part in expected if part in weights}, expected)
    system = find_system(name)(config, vocabulary_of(tokenizers))
    parameters = {name: weights[name] for name, _ in system.named_parameters() if name in weights}
    load_weights(system, parameters)
    generation = {"suppress_tokens": list(family.suppressed)}
    card = _card(checkpoint, family, parameters)
    return ModelFolder(system.name, config, languages, tokenizers, weights_of(system), generation, card)


def _refuse_other_family(checkpoint: Checkpoint, family: Family) -> None:
    actual = family_of(checkpoint)
    if actual is None:
        raise UserError(
            f"{checkpoint.path} has the architecture '{checkpoint.architecture}', which cannot be imported; "
            "docs/interchange.md lists what can."
        )
    if actual is not family:
        raise UserError(
            f"{checkpoint.path} is {actual.description}, not {family.description}; import it as {actual.name}."
        )


def _copy_eos_to_bos(weights: dict[str, Tensor], config: ModelConfig, special: SpecialIds) -> None:
    """Copy the embedding of the end mark to BOS, since our decoders start from BOS.

    Such models never use BOS otherwise. With tied tables it must be suppressed in the output.
    """
    tables = {"shared": ("source.tokens", "target.tokens", "output"), "target": ("target.tokens", "output")}
    for table in tables.get(config.embeddings, ("target.tokens",)):
        changed = weights[f"transformer.{table}.weight"].clone()
        changed[special.bos] = changed[special.eos]
        weights[f"transformer.{table}.weight"] = changed


def _card(checkpoint: Checkpoint, family: Family, weights: Mapping[str, Tensor]) -> str:
    size = sum(tensor.numel() for tensor in weights.values()) / 1e6
    source, target = languages_setting(checkpoint.settings, checkpoint.path)
    return (
        f"# {source} to {target}\n\nImported from {family.description} (`{checkpoint.architecture}`, "
        f"{checkpoint.path.name}), {size:.1f} M parameters. Data, scores and licence are those of its authors.\n"
    )
