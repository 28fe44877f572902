"""`TextTeacher`: the interface of a teacher that translates text, and `TeacherConfig`, its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from maskpredict.bounds import FiniteFloat, NonNegativeInt, PositiveFloat, PositiveInt
from maskpredict.config import check_bounds
from maskpredict.errors import UserError


@dataclass(frozen=True)
class ScoredText:
    """A translation with its score."""

    text: str
    score: float | None
    """Log-probability by the power `length_penalty` of the length; None if the teacher has no scores."""


Translations = Mapping[int, list[ScoredText]]
"""Translations of some lines, best first, by the index of the line."""


class TextTeacher(Protocol):
    """A translator of lines of text."""

    def translate(self, lines: Sequence[str]) -> Iterator[Translations]:
        """Translate lines in batches, in any order; a line that is too long for the teacher is in none of them."""

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """Mean log-probability of the subwords of each target; `UserError` if the teacher has no scores."""


def best_translations(teacher: TextTeacher, lines: Sequence[str]) -> list[str]:
    """The best translation of each line; empty for one that is too long for the teacher."""
    translations = {index: texts for batch in teacher.translate(lines) for index, texts in batch.items()}
    return [next((text.text for text in translations.get(index, [])), "") for index in range(len(lines))]


@dataclass(frozen=True, kw_only=True)
class TeacherConfig:
    """A teacher with its languages, search and arithmetic."""

    teacher: str
    """transformers:FOLDER_OR_NAME, ctranslate2:FOLDER, command:COMMAND, or one of our autoregressive models."""
    source_language: str = ""
    """Code of the language to translate from, e.g. de; part of file names."""
    target_language: str = ""
    """Code of the language to translate into, e.g. en; part of file names."""
    source_code: str = ""
    """The teacher's code of the source language, such as deu_Latn; empty: `source_language`."""
    target_code: str = ""
    """The teacher's code of the target language, such as eng_Latn; empty: `target_language`."""
    prefix: str = ""
    """Text in front of every source, such as `translate German to English: ` for T5."""
    beam_size: PositiveInt = 5
    """Hypotheses the teacher keeps at each step."""
    length_penalty: FiniteFloat = 1.0
    """Power of the length by which scores are divided; higher values favour longer translations."""
    n: PositiveInt | None = None
    """Translations of each source."""
    temperature: PositiveFloat | None = None
    """Sample words at this temperature instead of searching for the likeliest; none searches."""
    top_k: NonNegativeInt = 0
    """Sample among this many of the likeliest words only; 0 samples among all."""
    seed: NonNegativeInt = 1
    """Seed of sampling."""
    max_tokens: PositiveInt = 256
    """Longest source and longest translation, in subwords of the teacher."""
    batch_tokens: PositiveInt | None = None
    """Subwords of the sources times beams per batch; none suits the device."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda where there is one."""
    compute_type: Literal["auto", "float32", "bfloat16", "float16", "int8"] = "auto"
    """Arithmetic of the teacher; auto is half precision on a GPU, and what a CTranslate2 folder is stored in."""
    threads: PositiveInt | None = None
    """CPU threads; none leaves the choice to the teacher's library."""
    parallel_batches: PositiveInt | None = None
    """Batches that CTranslate2 computes at a time on a CPU, each with its share of the threads; none: one a thread."""
    command_lines: PositiveInt = 1_000
    """Lines that a command gets at once."""
    command_seconds: PositiveFloat = 600.0
    """Time in which a command must have translated them."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.temperature is None and self.top_k:
            raise UserError("top_k is for sampling; give a temperature, too, such as 1.0.")
        if self.temperature is None and self.n is not None and self.n > self.beam_size:
            raise UserError(f"n is {self.n}; it must be between 1 and beam_size ({self.beam_size}).")

    @property
    def hypotheses(self) -> int:
        """Translations of each source."""
        return self.n or 1

    @property
    def kind(self) -> str:
        """transformers, ctranslate2, command, or empty for one of our models."""
        kind, colon, _ = self.teacher.partition(":")
        return kind if colon and kind in KINDS else ""

    @property
    def model(self) -> str:
        """Folder, name or command."""
        return self.teacher.removeprefix(f"{self.kind}:") if self.kind else self.teacher


KINDS = ("transformers", "ctranslate2", "command")
"""Kinds of teachers from outside."""
