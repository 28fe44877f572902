"""A teacher of ours: an autoregressive model with beam search. The student may have another vocabulary."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import torch

from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.distill.teacher import teacher_of
from maskpredict.distill.teachers.base import ScoredText, TeacherConfig, Translations
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.batching import batches
from maskpredict.runtime.find_model import find_model
from maskpredict.runtime.out_of_memory import start_splitting


class OurTeacher:
    """A model folder of ours."""

    def __init__(self, config: TeacherConfig) -> None:
        """Load the model."""
        if config.temperature is not None:
            raise UserError("our beam search does not sample; leave temperature out.")
        if config.compute_type == "int8":
            raise UserError("our teachers compute in float32, bfloat16 or float16; choose one of them.")
        if config.threads:
            torch.set_num_threads(config.threads)
        folder = find_model(config.model)
        contents = ModelFolder.read(folder)
        self.source, self.target = contents.tokenizers.source, contents.tokenizers.target
        _check_languages(config, contents)
        search = {
            "beam_size": config.beam_size,
            "length_penalty": config.length_penalty,
            "num_hypotheses": config.hypotheses,
        }
        compute_type = "float32" if config.compute_type == "auto" else config.compute_type
        self.teacher = teacher_of(folder, contents, search, config.device, compute_type)
        self.budget = config.batch_tokens or self.teacher.batch_tokens
        self.longest = min(self.teacher.longest_source, config.max_tokens + 1)
        self.eos = self.teacher.decoder.engine.special.eos

    def translate(self, lines: Sequence[str]) -> Iterator[Translations]:
        """As in `TextTeacher`."""
        rows = self.source.encode_many(list(lines), threads=os.cpu_count() or 1)
        readable = [index for index, ids in enumerate(rows) if len(ids) < self.longest]
        requests = [Request((*rows[index], self.eos)) for index in readable]
        decoder, settings = self.teacher.decoder, self.teacher.settings
        for batch in batches(requests, settings, decoder, self.budget, "tokens"):
            together = [requests[place] for place in batch]
            results = start_splitting(self._start, together, decoder.engine, self._make_smaller_batches)()
            yield {
                readable[place]: [self._text(hypothesis) for hypothesis in hypotheses]
                for place, hypotheses in zip(batch, results, strict=True)
            }

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """As in `TextTeacher`."""
        requests = [Request((*self.source.encode(text), self.eos)[: self.longest]) for text in sources]
        rows = [[*self.target.encode(text), self.eos][: self.longest] for text in targets]
        decoder, settings = self.teacher.decoder, self.teacher.settings
        scores: dict[int, float] = {}
        for batch in batches(requests, settings, decoder, self.budget, "tokens"):
            hypotheses = decoder.score([requests[i] for i in batch], [rows[i] for i in batch], settings)
            for place, hypothesis in zip(batch, hypotheses, strict=True):
                scores[place] = sum(hypothesis.log_probs) / len(hypothesis.log_probs)
        return [scores[place] for place in range(len(requests))]

    def _start(self, requests: list[Request]) -> Callable[[], list[list[Hypothesis]]]:
        return self.teacher.decoder.start(requests, self.teacher.settings)

    def _make_smaller_batches(self) -> None:
        self.budget = max(1, self.budget // 2)  # from the next lines on

    def _text(self, hypothesis: Hypothesis) -> ScoredText:
        return ScoredText(self.target.decode(hypothesis.ids[:-1]), hypothesis.score)


def _check_languages(config: TeacherConfig, contents: ModelFolder) -> None:
    languages, wanted = contents.languages, (config.source_language, config.target_language)
    if (languages.source, languages.target) != wanted:
        raise UserError(
            f"the teacher {config.model} translates {languages}, not {wanted[0]} to {wanted[1]}; use another teacher."
        )
