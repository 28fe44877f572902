"""A vocabulary shortlist (`model/shortlist.py`), learned from the text a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from maskpredict.corpus.dataset import Dataset, ParallelIds
from maskpredict.corpus.translation_table import FLOOR, translation_table
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.model.parameter_shapes import ALIGNMENT_SYSTEMS
from maskpredict.model.shortlist import SHORTLIST_FILE, Shortlist
from maskpredict.new_file import new_file
from maskpredict.progress import Progress
from maskpredict.tokenizer import Tokenizer, Tokenizers

TRANSLATIONS, FREQUENT = 200, 100
MAX_CHECKED = 2_000
"""Validation sentences to measure a shortlist on."""


@dataclass(frozen=True)
class ShortlistReport:
    """How narrow a shortlist is, and what it leaves out, on validation text."""

    candidates: float
    """Mean number for a sentence."""
    vocabulary: int
    coverage: float
    """Share of the target subwords that are candidates."""


def add_shortlist(
    folder: Path,
    data: Path,
    progress: Progress,
    *,
    translations: int = TRANSLATIONS,
    frequent: int = FREQUENT,
) -> ShortlistReport:
    """Learn a shortlist for a model folder, and write it there.

    The data folder may be that of the opposite direction. `translations` are kept of each source subword, and
    `frequent` target subwords are candidates for every sentence.
    """
    model, dataset = ModelFolder.read(folder), Dataset(data)
    pairs = _in_direction(model, dataset, "train")
    sizes = model.tokenizers.source.vocab_size, model.tokenizers.target.vocab_size
    if not 1 <= translations <= sizes[1] or not 1 <= frequent <= sizes[1]:
        raise UserError(f"a shortlist takes from 1 to {sizes[1]} subwords of this model; choose other numbers.")
    table_VW = translation_table(pairs, *sizes, progress)
    always = [model.tokenizers.target.special.eos]
    if model.system in ALIGNMENT_SYSTEMS:
        always.append(model.tokenizers.target.special.mask)  # the blank
    counts_W = np.bincount(pairs.target.flat, minlength=sizes[1])
    most_frequent = np.argsort(-counts_W, kind="stable")[:frequent]
    shortlist = Shortlist(_likeliest(table_VW, translations, model.tokenizers), np.union1d(most_frequent, always))
    with new_file(folder / SHORTLIST_FILE) as stream:
        stream.write(shortlist.to_bytes(sizes[1]))
    return _measured(shortlist, model, _in_direction(model, dataset, "valid"))


def _in_direction(model: ModelFolder, dataset: Dataset, split: str) -> ParallelIds:
    """Return a split with the model's source as source, and refuse data in other subwords."""
    pairs, tokenizers = dataset.split(split), dataset.tokenizers
    if (dataset.languages.source, dataset.languages.target) == (model.languages.target, model.languages.source):
        pairs = ParallelIds(pairs.target, pairs.source, pairs.corpora, None)
        tokenizers = Tokenizers(tokenizers.target, tokenizers.source)
    sides = ((tokenizers.source, model.tokenizers.source), (tokenizers.target, model.tokenizers.target))
    if any(_all_pieces(one) != _all_pieces(other) for one, other in sides):
        raise UserError(
            f"{dataset.folder} has other subwords than the model; prepare the data with vocabulary.reuse=MODEL."
        )
    return pairs


def _all_pieces(tokenizer: Tokenizer) -> Sequence[str]:
    return tokenizer.pieces(range(tokenizer.vocab_size))


def _likeliest(table_VW: npt.NDArray[np.float32], count: int, tokenizers: Tokenizers) -> npt.NDArray[np.int64]:
    """Return the likeliest target subwords [V, K] of each source subword; names and numbers also stay as they are."""
    places = {piece: place for place, piece in enumerate(_all_pieces(tokenizers.target))}
    filler = tokenizers.target.special.eos  # a candidate of every sentence anyway
    same_V = np.array([places.get(piece, filler) for piece in _all_pieces(tokenizers.source)])
    rows = []
    for row_W, same in zip(table_VW, same_V, strict=True):
        best_K = np.argpartition(-row_W, count - 1)[:count]
        rows.append(np.sort(np.append(np.where(row_W[best_K] > FLOOR, best_K, same), same)))
    return np.stack(rows)


def _measured(shortlist: Shortlist, model: ModelFolder, pairs: ParallelIds) -> ShortlistReport:
    rows = range(0, len(pairs), max(1, len(pairs) // MAX_CHECKED))
    candidates = [shortlist.candidates(pairs.source[row].tolist()) for row in rows]
    covered = [np.isin(pairs.target[row], allowed) for row, allowed in zip(rows, candidates, strict=True)]
    return ShortlistReport(
        candidates=float(np.mean([len(allowed) for allowed in candidates])),
        vocabulary=model.tokenizers.target.vocab_size,
        coverage=float(np.concatenate(covered).mean()),
    )
