"""SentencePiece vocabulary as JSON, for the tokenizer in the browser (browser_page/sentencepiece.js)."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from maskpredict.errors import UserError

_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
"""Types of pieces in a SentencePiece file."""
_BPE = 2
"""Type of SentencePiece models that use BPE."""


def vocabulary(path: Path) -> dict[str, Any]:
    """JSON content of a SentencePiece file for the tokenizer in the browser."""
    # Imported here because it needs protobuf, which only the packages for exports bring.
    from sentencepiece import sentencepiece_model_pb2 as schema

    model: Any = schema.ModelProto.FromString(path.read_bytes())  # type: ignore[attr-defined]  # made at import time
    kinds = [piece.type for piece in model.pieces]
    rules = model.normalizer_spec
    supported = rules.add_dummy_prefix and rules.remove_extra_whitespaces and rules.escape_whitespaces
    if model.trainer_spec.model_type != _BPE or not supported or set(kinds) - {_NORMAL, _UNKNOWN, _CONTROL, _BYTE}:
        raise UserError(
            f"the page cannot read the vocabulary {path.name}; it supports SentencePiece BPE as `prepare` trains it."
        )
    return {
        "pieces": [piece.piece for piece in model.pieces],
        "scores": [piece.score for piece in model.pieces],
        "control": [place for place, kind in enumerate(kinds) if kind == _CONTROL],
        "unknown": kinds.index(_UNKNOWN),
        "unknown_surface": model.trainer_spec.unk_surface,
        "bytes": [place for place, kind in enumerate(kinds) if kind == _BYTE],
        "normalization": base64.b64encode(rules.precompiled_charsmap).decode("ascii"),
    }
