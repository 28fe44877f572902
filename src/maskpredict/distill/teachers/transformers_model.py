"""A teacher in transformers: MarianMT (OPUS-MT), NLLB-200, M2M100, mBART-50, T5 or MADLAD.

The families differ in how a source says its language and its translation's, and in how a translation begins:

MarianMT         `>>deu<<` in front of the source, if the model has several target languages
NLLB, M2M100     the source's language is its first token; the target's is forced as the first token of the translation
mBART-50         the same
T5               text in front of the source, which says the task
MADLAD           `<2de>` in front of the source
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from maskpredict.distill.teachers.base import ScoredText, TeacherConfig, Translations
from maskpredict.distill.teachers.language_codes import M2M100, MADLAD, MARIAN, MBART50, NLLB, CodeForm, language_token
from maskpredict.distill.teachers.token_batches import token_batches
from maskpredict.errors import UserError
from maskpredict.training.distributed import local_device

FORMS: dict[str, tuple[CodeForm, ...]] = {
    "marian": (MARIAN,),
    "m2m_100": (M2M100, NLLB),
    "nllb-moe": (NLLB,),
    "mbart": (MBART50,),
    "t5": (MADLAD,),
    "mt5": (MADLAD,),
    "umt5": (MADLAD,),
}
"""Language tokens by the `model_type` of config.json."""
KNOWN = "MarianMT, NLLB-200, M2M100, mBART-50, T5 and MADLAD"
BATCH_TOKENS = {"cpu": 2_000, "cuda": 50_000}


@dataclass(frozen=True)
class Prompt:
    """Text in front of every source, and the token that a translation is forced to begin with."""

    text: str = ""
    first_token: int | None = None
    codes: frozenset[int] = frozenset()
    """Ids of the tokens of all languages, which are no text."""


class TransformersTeacher:
    """A model of transformers, by folder or name."""

    def __init__(self, config: TeacherConfig) -> None:
        """Load the model."""
        import transformers

        transformers.utils.logging.disable_progress_bar()
        if config.threads:
            torch.set_num_threads(config.threads)
        self.config, self.device = config, local_device(config.device)
        family = _family(config.model)
        with _loading(config.model):
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(config.model)
            self.model: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained(
                config.model, dtype=_dtype(config.compute_type, family, self.device)
            )
        self.model = self.model.to(self.device).eval()
        self.prompt = _prompt(self.tokenizer, family, config)
        positions = getattr(self.model.config, "max_position_embeddings", None) or config.max_tokens
        self.longest = min(config.max_tokens, positions)
        self.budget = (config.batch_tokens or BATCH_TOKENS[self.device.type] * config.beam_size) // config.beam_size

    @torch.inference_mode()
    def translate(self, lines: Sequence[str]) -> Iterator[Translations]:
        """As in `TextTeacher`."""
        torch.manual_seed(self.config.seed)  # so that samples do not depend on what was translated before
        rows = self._encode(lines)
        readable = [index for index, ids in enumerate(rows) if len(ids) <= self.longest]
        for batch in token_batches([len(rows[index]) for index in readable], self.budget):
            indices = [readable[place] for place in batch]
            translations = self._generate_in_memory([rows[index] for index in indices])
            yield dict(zip(indices, translations, strict=True))

    @torch.inference_mode()
    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """As in `TextTeacher`."""
        rows = self._encode(sources)
        labels = self.tokenizer(text_target=list(targets), truncation=True, max_length=self.longest)["input_ids"]
        scores: dict[int, float] = {}
        for batch in token_batches([max(len(rows[i]), len(labels[i])) for i in range(len(rows))], self.budget):
            for index, score in zip(
                batch, self._score([rows[i] for i in batch], [labels[i] for i in batch]), strict=True
            ):
                scores[index] = score
        return [scores[index] for index in range(len(rows))]

    def _encode(self, lines: Sequence[str]) -> list[list[int]]:
        texts = [self.prompt.text + line for line in lines]
        rows: list[list[int]] = self.tokenizer(texts, padding=False, truncation=False, verbose=False)["input_ids"]
        return rows

    def _padded(self, rows: Sequence[Sequence[int]], filling: int) -> torch.Tensor:
        longest = max(map(len, rows))
        return torch.tensor([[*row, *[filling] * (longest - len(row))] for row in rows], device=self.device)

    def _generate_in_memory(self, rows: list[list[int]]) -> list[list[ScoredText]]:
        """As `_generate`, in halves if a batch does not fit in the GPU's memory."""
        try:
            return self._generate(rows)
        except torch.OutOfMemoryError:
            if len(rows) == 1:
                raise
        torch.cuda.empty_cache()  # outside of `except`, where the memory of the failed attempt is still held
        self.budget = max(1, self.budget // 2)  # from the next lines on
        half = len(rows) // 2
        return self._generate_in_memory(rows[:half]) + self._generate_in_memory(rows[half:])

    def _generate(self, rows: list[list[int]]) -> list[list[ScoredText]]:
        pad = self.tokenizer.pad_token_id
        ids, count = self._padded(rows, pad), self.config.hypotheses
        forced = {} if self.prompt.first_token is None else {"forced_bos_token_id": self.prompt.first_token}
        generated = self.model.generate(
            input_ids=ids,
            attention_mask=self._padded([[1] * len(row) for row in rows], 0),
            max_length=None,
            max_new_tokens=self.config.max_tokens,
            forced_eos_token_id=None,  # would end a translation that is too long as if it were complete
            num_return_sequences=count,
            return_dict_in_generate=True,
            output_scores=True,
            **forced,
            **self._search(),
        )
        written = [[i for i in row if i not in self.prompt.codes] for row in generated.sequences.tolist()]
        texts = self.tokenizer.batch_decode(written, skip_special_tokens=True)
        scores = self._scores(generated)
        scored = [ScoredText(text.strip(), score) for text, score in zip(texts, scores, strict=True)]
        return [scored[first : first + count] for first in range(0, len(scored), count)]

    def _search(self) -> dict[str, Any]:
        if self.config.temperature is not None:
            return {
                "do_sample": True,
                "num_beams": 1,
                "temperature": self.config.temperature,
                "top_k": self.config.top_k,
                "top_p": 1.0,
            }
        # As in CTranslate2 and in our search, which end when they have as many translations as beams.
        beams = {"length_penalty": self.config.length_penalty, "early_stopping": True}
        return {"do_sample": False, "num_beams": self.config.beam_size, **(beams if self.config.beam_size > 1 else {})}

    def _scores(self, generated: Any) -> list[float]:
        """Log-probability by the power `length_penalty` of the length, of every translation."""
        if generated.get("sequences_scores") is not None:
            return list(generated.sequences_scores.tolist())
        steps = self.model.compute_transition_scores(generated.sequences, generated.scores, normalize_logits=True)
        written = generated.sequences[:, -steps.shape[1] :] != self.tokenizer.pad_token_id
        lengths = written.sum(1).clamp(min=1) ** self.config.length_penalty
        return list((steps.masked_fill(~written, 0).sum(1) / lengths).tolist())

    def _score(self, rows: list[list[int]], labels: list[list[int]]) -> list[float]:
        ignored = -100
        targets = self._padded(labels, ignored)
        logits = self.model(
            input_ids=self._padded(rows, self.tokenizer.pad_token_id),
            attention_mask=self._padded([[1] * len(row) for row in rows], 0),
            labels=targets,
        ).logits
        if self.prompt.first_token is not None:  # the code of the language is given, not predicted
            targets[:, 0] = ignored
        losses = torch.nn.functional.cross_entropy(
            logits.float().transpose(1, 2), targets, ignore_index=ignored, reduction="none"
        )
        return list((-losses.sum(1) / (targets != ignored).sum(1)).tolist())


@contextmanager
def _loading(model: str) -> Iterator[None]:
    """Turns errors of loading a model into one sentence."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")  # for Moses' own text
            yield
    except (OSError, ValueError, ImportError, KeyError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise UserError(f"the teacher {model} cannot be loaded: {reason}.") from error


def _family(model: str) -> str:
    """`model_type` of a model; one of an unknown family is refused."""
    import transformers

    local = model.startswith((".", "/", "~")) or model.count("/") != 1
    if local and not Path(model).is_dir():
        raise UserError(
            f"there is no folder {model} with a teacher; give a folder, or a name such as ORGANIZATION/MODEL."
        )
    weights = (path for pattern in ("*.safetensors", "pytorch_model*.bin") for path in Path(model).glob(pattern))
    if (Path(model) / "model.bin").is_file() and not any(weights):
        raise UserError(f"{model} is a folder of CTranslate2; write ctranslate2:{model}.")
    if Path(model).is_dir() and not (Path(model) / "config.json").is_file():
        raise UserError(f"{model} has no config.json, so it is no folder of transformers; give another teacher.")
    with _loading(model):
        family: str = transformers.AutoConfig.from_pretrained(model).model_type
    if family not in FORMS:
        raise UserError(f"the teacher {model} is a {family} model; teachers of transformers are {KNOWN}.")
    return family


def _dtype(compute_type: str, family: str, device: torch.device) -> torch.dtype:
    if compute_type == "int8":
        raise UserError("transformers does not compute in int8 here; convert the teacher to CTranslate2 for that.")
    if compute_type != "auto":
        chosen: torch.dtype = getattr(torch, compute_type)
        return chosen
    if device.type == "cpu":
        return torch.float32
    return torch.bfloat16 if "t5" in family else torch.float16  # T5 overflows in float16


def _prompt(tokenizer: Any, family: str, config: TeacherConfig) -> Prompt:
    """The prompt of a language pair, and the source's language set in the tokenizer."""
    if config.prefix:
        return Prompt(config.prefix)
    vocabulary = tokenizer.get_vocab()
    form = next((form for form in FORMS[family] if form.codes(vocabulary)), None)
    if form is None:
        if family in ("t5", "mt5", "umt5"):
            raise UserError(
                f"the teacher {config.model} is a T5 model and wants its task in front of every source; set prefix, "
                "such as 'translate German to English: '."
            )
        if family != "marian":
            raise UserError(f"the teacher {config.model} has no language codes; teachers of transformers are {KNOWN}.")
        return Prompt()
    target = language_token(form, vocabulary, config.target_code, config.target_language, "target_code")
    tokens = form.codes(vocabulary)
    ids = frozenset(tokenizer.convert_tokens_to_ids(list(tokens.values())))
    if not form.on_both_sides:
        return Prompt(f"{target} ", codes=ids)
    source = language_token(form, vocabulary, config.source_code, config.source_language, "source_code")
    codes = {token: code for code, token in tokens.items()}
    tokenizer.src_lang, tokenizer.tgt_lang = codes[source], codes[target]
    return Prompt(first_token=tokenizer.convert_tokens_to_ids(target), codes=ids)
