"""Model class for transformers; import this module before `AutoConfig`, `AutoModel` or `AutoModelForSeq2SeqLM`.

The model is the system that the Translator runs. `forward` is one pass of encoder and decoder; `generate` is
mask-predict, or beam search for an autoregressive model, with the settings of `MaskPredictSettings` or `BeamSettings`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import Seq2SeqLMOutput

from maskpredict.config import from_dict
from maskpredict.decoding.hypothesis import Request
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.errors import UserError
from maskpredict.export.passes import decode, encode
from maskpredict.export.transformers_folder import MODEL_TYPE
from maskpredict.model.config import ModelConfig
from maskpredict.model.padding import padded_width
from maskpredict.runtime.batching import batches
from maskpredict.runtime.settings import resolve_settings
from maskpredict.special_ids import SpecialIds
from maskpredict.systems import Vocabulary, find_decoder, find_system
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM


class MaskPredictConfig(PreTrainedConfig):
    """config.json of an exported folder, with our own keys unchanged."""

    model_type: ClassVar[str] = MODEL_TYPE
    system: str = CMLM.name
    architecture: dict[str, Any] | None = None
    vocab_size: dict[str, int] | int | None = None
    source_vocab_size: int | None = None
    special: dict[str, int] | None = None
    generation: dict[str, Any] | None = None
    tie_word_embeddings: bool = True
    is_encoder_decoder: bool = True

    def __post_init__(self, **others: Any) -> None:
        if isinstance(self.vocab_size, dict):  # as in our folders; transformers wants a number, the decoder's
            self.source_vocab_size, self.vocab_size = self.vocab_size["source"], self.vocab_size["target"]
        super().__post_init__(**others)


class MaskPredictForTranslation(PreTrainedModel):
    """Our translation model with the interface of transformers."""

    config_class = MaskPredictConfig
    main_input_name = "input_ids"

    def __init__(self, config: MaskPredictConfig) -> None:
        super().__init__(config)
        architecture = from_dict(ModelConfig, config.architecture or {})
        special = SpecialIds(**(config.special or {}))
        assert isinstance(config.vocab_size, int)
        vocabulary = Vocabulary(config.source_vocab_size or config.vocab_size, config.vocab_size, special)
        system = find_system(config.system)(architecture, vocabulary)
        # Its parts are registered here under their own names, those of the weights file; the whole is only kept.
        object.__setattr__(self, "_system", system)
        for name, part in system.named_children():
            self.add_module(name, part)
        self._tied_weights_keys = _tied(architecture)
        self.post_init()

    @property
    def system(self) -> System:
        """The system that the Translator runs."""
        system: System = self.__dict__["_system"]
        return system

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        **_: Any,
    ) -> Seq2SeqLMOutput:
        """Logits of one decoder pass as in `export.passes`; padding is on the right."""
        if decoder_input_ids is None:
            raise UserError("forward needs decoder_input_ids: a target with masks, or the target so far.")
        sources, targets = (
            self._lengths(input_ids, attention_mask),
            self._lengths(decoder_input_ids, decoder_attention_mask),
        )
        memory = encode(self.system, input_ids, sources).memory_BSD
        logits = decode(self.system, decoder_input_ids, targets, memory, sources)
        outputs: dict[str, Any] = {"logits": logits, "encoder_last_hidden_state": memory}
        return Seq2SeqLMOutput(**outputs)

    @torch.inference_mode()
    def generate(self, input_ids: Tensor, attention_mask: Tensor | None = None, **settings: Any) -> Tensor:
        """Ids [B, T] of the best translations, each up to its first end mark and padded with PAD.

        Sources end with the end mark. `settings` are those of `Translator.translate` for this system.
        """
        resolved = resolve_settings(self.system.name, self.config.generation or {}, settings)
        lengths = self._lengths(input_ids, attention_mask).tolist()
        requests = [Request(tuple(row[:length])) for row, length in zip(input_ids.tolist(), lengths, strict=True)]
        self._refuse_length(max(lengths))
        engine = TorchEngine(self.system, str(self.device), str(self.dtype).removeprefix("torch."))
        decoder = find_decoder(self.system.name)(self.system.name, engine)
        ids_by_index: dict[int, list[int]] = {}
        for batch in batches(requests, resolved, decoder):
            best = decoder.translate([requests[index] for index in batch], resolved)
            ids_by_index.update(
                (index, self._ended(hypotheses[0].ids)) for index, hypotheses in zip(batch, best, strict=True)
            )
        rows = [torch.tensor(ids_by_index[index]) for index in range(len(requests))]
        return pad_sequence(rows, batch_first=True, padding_value=self.system.special.pad).to(input_ids.device)

    def _ended(self, ids: list[int]) -> list[int]:
        eos = self.system.special.eos
        return ids[: ids.index(eos) + 1] if eos in ids else ids

    def _lengths(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        return (ids != self.system.special.pad if mask is None else mask).long().sum(1)

    def _refuse_length(self, longest: int) -> None:
        most = self.system.config.max_positions
        if padded_width(longest, slot=self.system.reserves_slot) > most:
            raise UserError(f"a source of {longest} subwords is too long for the model, which has {most} positions.")


def _tied(architecture: ModelConfig) -> dict[str, str]:
    """Tied parameters, for transformers."""
    source, target, output = (f"transformer.{name}.weight" for name in ("source.tokens", "target.tokens", "output"))
    match architecture.embeddings:
        case "shared":
            return {target: source, output: source}
        case "target":
            return {output: target}
        case "separate":
            return {}


AutoConfig.register(MODEL_TYPE, MaskPredictConfig)
AutoModel.register(MaskPredictConfig, MaskPredictForTranslation)
AutoModelForSeq2SeqLM.register(MaskPredictConfig, MaskPredictForTranslation)
