"""A teacher in CTranslate2: a converted model, with its SentencePiece files beside it.

CTranslate2 takes tokens and returns tokens. Which tokens belong around a sentence depends on the model it was converted
from, and is told from the vocabulary: OPUS-MT, NLLB-200, M2M100, mBART-50, T5 and MADLAD, or our own export.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece

from maskpredict.distill.teachers.base import ScoredText, TeacherConfig, Translations
from maskpredict.distill.teachers.language_codes import FORMS, language_token
from maskpredict.distill.teachers.token_batches import token_batches
from maskpredict.errors import UserError

SENTENCEPIECE_FILES = (
    *(("source.spm", "target.spm"), ("source.model", "target.model")),
    *((name, name) for name in ("sentencepiece.bpe.model", "spiece.model", "sentencepiece.model", "tokenizer.model")),
)
"""Names of the files of both sides, as Hugging Face and we write them."""
SPACE = "\u2581"
"""SentencePiece's sign of a space."""
SPECIAL = re.compile(r"</?s>|<unk>|<pad>|<mask>|<extra_id_\d+>")
"""Tokens that are no text."""
BATCH_TOKENS = {"cpu": 2_000, "cuda": 20_000}
CHUNK_BATCHES = 4
"""Batches in a call, for each that is computed at a time."""


@dataclass(frozen=True)
class SentenceFrame:
    """Tokens around a source, and those a translation begins with."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    codes: frozenset[str] = frozenset()
    """Tokens of all languages, which are no text."""


class CTranslate2Teacher:
    """A folder of CTranslate2."""

    def __init__(self, config: TeacherConfig) -> None:
        """Load the model."""
        import ctranslate2

        self.config, folder = config, Path(config.model)
        if not (folder / "model.bin").is_file():
            raise UserError(f"{folder} has no model.bin, so it is no CTranslate2 folder; convert the teacher first.")
        self.source, self.target = _sentencepiece(folder)
        self.frame = _frame(folder, config)
        device = _device(config.device)
        threads = config.threads or os.cpu_count() or 1
        # Whole batches in parallel, each on a thread, are faster than a batch on all threads.
        parallel = config.parallel_batches or threads if device == "cpu" else 1
        self.budget = (config.batch_tokens or BATCH_TOKENS[device] * config.beam_size) // config.beam_size
        self.chunk = CHUNK_BATCHES * parallel
        try:
            self.engine = ctranslate2.Translator(
                str(folder),
                device=device,
                device_index=int(os.environ.get("LOCAL_RANK", "0")) if device == "cuda" else 0,
                compute_type="default" if config.compute_type == "auto" else config.compute_type,
                inter_threads=parallel,
                intra_threads=max(1, threads // parallel),
            )
        except (RuntimeError, ValueError) as error:
            raise UserError(f"the teacher {folder} cannot be loaded: {str(error).rstrip('.')}.") from error

    def translate(self, lines: Sequence[str]) -> Iterator[Translations]:
        """As in `TextTeacher`."""
        import ctranslate2

        ctranslate2.set_random_seed(self.config.seed)
        sources = self._sources(lines)
        readable = [index for index, tokens in enumerate(sources) if len(tokens) <= self.config.max_tokens]
        batches = list(token_batches([len(sources[index]) for index in readable], self.budget))
        for first in range(0, len(batches), self.chunk):
            indices = [readable[place] for batch in batches[first : first + self.chunk] for place in batch]
            results = self.engine.translate_batch(
                [sources[index] for index in indices],
                target_prefix=[list(self.frame.target)] * len(indices) if self.frame.target else None,
                max_batch_size=self.budget,
                batch_type="tokens",
                max_input_length=0,
                max_decoding_length=self.config.max_tokens,
                num_hypotheses=self.config.hypotheses,
                length_penalty=self.config.length_penalty,
                return_scores=True,
                **self._search(),
            )
            yield {index: self._texts(result) for index, result in zip(indices, results, strict=True)}

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """As in `TextTeacher`."""
        pieces = [[*self.frame.target, *tokens] for tokens in self.target.encode(list(targets), out_type=str)]
        results = self.engine.score_batch(
            self._sources(sources), pieces, max_batch_size=self.budget, batch_type="tokens", max_input_length=0
        )
        log_probs = [result.log_probs[len(self.frame.target) :] for result in results]
        return [sum(row) / len(row) for row in log_probs]

    def _sources(self, lines: Sequence[str]) -> list[list[str]]:
        texts = [self.config.prefix + line for line in lines]
        return [[*self.frame.before, *tokens, *self.frame.after] for tokens in self.source.encode(texts, out_type=str)]

    def _search(self) -> dict[str, Any]:
        if self.config.temperature is None:
            return {"beam_size": self.config.beam_size}
        return {"beam_size": 1, "sampling_temperature": self.config.temperature, "sampling_topk": self.config.top_k}

    def _texts(self, result: Any) -> list[ScoredText]:
        skipped = len(self.frame.target)
        return [
            ScoredText(self._text(tokens[skipped:]), score)
            for tokens, score in zip(result.hypotheses, result.scores, strict=True)
        ]

    def _text(self, tokens: Sequence[str]) -> str:
        words = [token for token in tokens if not SPECIAL.fullmatch(token) and token not in self.frame.codes]
        # The target's SentencePiece model leaves the sign in subwords that only the source's language has.
        text: str = self.target.decode(words)
        return text.replace(SPACE, " ").strip()


def _sentencepiece(folder: Path) -> tuple[Any, Any]:
    for source, target in SENTENCEPIECE_FILES:
        if (folder / source).is_file() and (folder / target).is_file():
            load = sentencepiece.SentencePieceProcessor
            return load(str(folder / source)), load(str(folder / target))
    raise UserError(
        f"{folder} has no SentencePiece files; copy those of the model there, such as source.spm and target.spm "
        "(ct2-transformers-converter --copy_files)."
    )


def _frame(folder: Path, config: TeacherConfig) -> SentenceFrame:
    """The tokens around a sentence, by the names of languages in the vocabulary."""
    vocabulary, settings = _vocabulary(folder), json.loads((folder / "config.json").read_text(encoding="utf-8"))
    end = () if settings.get("add_source_eos") else (settings.get("eos_token", "</s>"),)

    if config.prefix:
        return SentenceFrame(after=end)
    for form in FORMS:
        if tokens := form.codes(vocabulary):
            codes = frozenset(tokens.values())
            target = language_token(form, vocabulary, config.target_code, config.target_language, "target_code")
            if form.on_both_sides:
                source = language_token(form, vocabulary, config.source_code, config.source_language, "source_code")
                return SentenceFrame((source,), end, (target,), codes)
            return SentenceFrame((target,), end, codes=codes)
    return SentenceFrame(after=end)


def _vocabulary(folder: Path) -> list[str]:
    for name in ("shared_vocabulary", "source_vocabulary"):
        if (folder / f"{name}.json").is_file():
            return list(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
        if (folder / f"{name}.txt").is_file():
            return (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    raise UserError(f"{folder} has no vocabulary file, so it is no complete CTranslate2 folder; convert it again.")


def _device(name: str) -> str:
    import ctranslate2

    if name == "auto":
        return "cuda" if ctranslate2.get_cuda_device_count() else "cpu"
    if name not in BATCH_TOKENS:
        raise UserError(f"the device {name!r} cannot be used by a CTranslate2 teacher; choose cpu, cuda or auto.")
    return name
