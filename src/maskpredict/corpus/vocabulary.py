"""Subword vocabularies: learned with SentencePiece BPE on a sample of the training text, or reused."""

from __future__ import annotations

import io
import os
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import sentencepiece

from maskpredict.bounds import Bounds, NonNegativeInt, PositiveInt
from maskpredict.config import check_bounds
from maskpredict.corpus.reading import Pair
from maskpredict.errors import UserError
from maskpredict.json_file import read_json
from maskpredict.special_ids import SpecialIds
from maskpredict.tokenizer import SentencePieceTokenizer, Tokenizers


@dataclass(frozen=True)
class VocabularyConfig:
    """Subword vocabulary."""

    size: PositiveInt = 16_000
    """Number of subwords, special symbols included; of each side, if the vocabulary is not joint."""
    joint: bool = True
    """One vocabulary for both languages (one embedding table), or one for each."""
    reuse: Path | None = None
    """Reuse the tokenizer of this file, or of this data or model folder, instead of learning one."""
    sample_lines: PositiveInt = 1_000_000
    """Lines of training text to learn from, both sides together, sampled uniformly."""
    seed: NonNegativeInt = 1
    """Seed of the sample."""
    normalization: Literal["nmt_nfkc", "identity"] = "nmt_nfkc"
    """Unicode normalization before segmentation: NFKC with normalized spaces, or none."""
    character_coverage: Annotated[float, Bounds(above=0, at_most=1)] = 1.0
    """Share of the characters of the sample that the vocabulary covers; 0.9995 suits Chinese and Japanese."""
    byte_fallback: bool = False
    """Encode characters outside the vocabulary as bytes; takes 256 subwords."""
    split_digits: bool = True
    """Every digit is a subword of its own, so that numbers never seen before are copied digit by digit."""

    def __post_init__(self) -> None:
        check_bounds(self)


def sample_pairs(pairs: Iterable[Pair], size: int, seed: int) -> list[Pair]:
    """A uniform sample of a stream of unknown length (reservoir sampling), the same for the same seed."""
    rng = random.Random(seed)
    sample: list[Pair] = []
    for seen, pair in enumerate(pairs):
        if seen < size:
            sample.append(pair)
        elif (place := int(rng.random() * (seen + 1))) < size:
            sample[place] = pair
    return sample


def learn_tokenizers(sample: list[Pair], config: VocabularyConfig) -> Tokenizers:
    """Learn a joint vocabulary, or one for each side."""
    if config.joint:
        tokenizer = _learn((side for pair in sample for side in pair), config, "joint")
        return Tokenizers(tokenizer, tokenizer)
    source = _learn((pair.source for pair in sample), config, "source")
    return Tokenizers(source, _learn((pair.target for pair in sample), config, "target"))


def _learn(lines: Iterable[str], config: VocabularyConfig, which: str) -> SentencePieceTokenizer:
    special = SpecialIds()
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="bpe",
            vocab_size=config.size,
            character_coverage=config.character_coverage,
            normalization_rule_name=config.normalization,
            byte_fallback=config.byte_fallback,
            split_digits=config.split_digits,
            pad_id=special.pad,
            bos_id=special.bos,
            eos_id=special.eos,
            unk_id=special.unk,
            pad_piece="<pad>",
            # A control symbol, unlike a user-defined one, never comes out of text. It gets the next id, 4.
            control_symbols=["<mask>"],
            max_sentence_length=100_000,  # bytes; the default silently leaves out lines beyond 4,192
            num_threads=os.cpu_count() or 1,
            minloglevel=2,
        )
    except RuntimeError as error:
        explained = _explained(str(error), config, which)
        if explained is None:
            raise
        raise explained from error
    return SentencePieceTokenizer(model.getvalue())


def _explained(message: str, config: VocabularyConfig, which: str) -> UserError | None:
    """A UserError for an error of SentencePiece about the vocabulary size; None for other errors."""
    if match := re.search(r"too high .*<= (\d+)", message):
        return UserError(
            f"The text supports a {which} vocabulary of at most {match[1]} subwords, not {config.size}; "
            "ask for less, or give more text."
        )
    if match := re.search(r"smaller than required_chars.* vs (\d+)", message):
        return UserError(
            f"A {which} vocabulary of {config.size} is too small for the characters of the text; "
            f"ask for at least {match[1]}, or lower `character_coverage`."
        )
    return None


def reuse_tokenizers(path: Path, source_language: str, target_language: str) -> Tokenizers:
    """The tokenizers of a file (joint), or of a data or model folder of either direction."""
    if path.is_file():
        tokenizer = SentencePieceTokenizer.load(path)
        return Tokenizers(tokenizer, tokenizer)
    if not path.is_dir():
        raise UserError(f"There is no vocabulary to reuse at {path}.")
    tokenizers = Tokenizers.load(path)
    if not tokenizers.joint and _languages(path) == (target_language, source_language):
        return Tokenizers(tokenizers.target, tokenizers.source)
    return tokenizers


def _languages(folder: Path) -> tuple[str, str] | None:
    """Source and target language of a data folder (dataset.json) or model folder (config.json)."""
    for path in (folder / "dataset.json", folder / "config.json"):
        try:
            languages = read_json(path)["languages"]
            return languages["source"], languages["target"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
