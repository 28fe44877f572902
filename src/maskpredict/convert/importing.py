"""Foreign checkpoints become model folders: `maskpredict import`."""

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
from maskpredict.model.folder import ModelFolder, load_weights
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.tokenizer import SpecialIds

FAMILIES = {family.name: family for family in (RELEASE, FAIRSEQ_CMLM, FAIRSEQ_TRANSFORMER)}
"""What can be imported, by name."""


def import_model(
    family: str, folder: Path, out: Path, *, bpe_codes: Path | None = None, overwrite: bool = False
) -> ModelFolder:
    """Make a model folder of a foreign one, which holds a checkpoint and `dict.LANG.txt` of both languages.

    With `bpe_codes`, a file of subword-nmt, the model takes text; otherwise it takes ready-made subwords only.
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
    """The family that a checkpoint belongs to, if it can be imported."""
    matching = (f for f in FAMILIES.values() if f.architectures.fullmatch(checkpoint.architecture))
    return next(matching, None)


def convert(checkpoint: Checkpoint, family: Family, bpe_codes: Path | None = None) -> ModelFolder:
    """A checkpoint as the content of a model folder, complete and checked; dictionaries are read beside it."""
    _refuse_other_family(checkpoint, family)
    refuse_unsupported(checkpoint)
    languages = Languages(*languages_setting(checkpoint.settings, checkpoint.path))
    merges = None if bpe_codes is None else BytePairs.read(bpe_codes)
    tensors = Tensors(checkpoint)
    lengths = None if family.length_table is None else tensors.take(family.length_table)
    classes = None if lengths is None else len(lengths)
    config, weights = convert_transformer(checkpoint, tensors, family.flavour, classes)
    if lengths is not None:
        weights["length.table.weight"] = lengths
    if family.begins_with_eos:
        _let_bos_mean_eos(weights, config, family.special)
    tensors.refuse_rest()
    rows = (len(weights["transformer.source.tokens.weight"]), len(weights["transformer.target.tokens.weight"]))
    tokenizers = read_tokenizers(checkpoint.path.parent, languages, family.symbols, family.special, rows, merges)
    system = find_system(family.system(checkpoint))(config, vocabulary_of(tokenizers))
    own = {name: weights[name] for name, _ in system.named_parameters() if name in weights}
    load_weights(system, own)
    generation = {"suppress_tokens": list(family.suppressed)}
    return ModelFolder(system.name, config, languages, tokenizers, own, generation, _card(checkpoint, family, own))


def _refuse_other_family(checkpoint: Checkpoint, family: Family) -> None:
    actual = family_of(checkpoint)
    if actual is None:
        raise UserError(
            f"{checkpoint.path} has the architecture '{checkpoint.architecture}', which cannot be imported; "
            "docs/interchange.md lists what can."
        )
    if actual is not family:
        raise UserError(f"{checkpoint.path} is {actual.what}, not {family.what}; import it as {actual.name}.")


def _let_bos_mean_eos(weights: dict[str, Tensor], config: ModelConfig, special: SpecialIds) -> None:
    """Give BOS the vector of the end mark, so that our decoder, fed BOS, sees what theirs saw.

    BOS itself is nothing that such a model says or reads; where tables are tied, it must be suppressed.
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
        f"# {source} to {target}\n\nImported from {family.what} (`{checkpoint.architecture}`, "
        f"{checkpoint.path.name}), {size:.1f} M parameters. Data, scores and licence are those of its authors.\n"
    )
