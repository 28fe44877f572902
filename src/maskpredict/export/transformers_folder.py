"""A model as a folder that Hugging Face's transformers can open, and that stays a model folder of ours.

The two agree on the names of the weights file and of config.json, so all that is needed is what transformers looks for
in config.json, and the special ids and decoding settings, which it would not find in the tokenizer and generation.json.
`import maskpredict.export.transformers_model` teaches transformers the rest.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from safetensors.torch import load_file, save_file

from maskpredict.export.opening import Exported, Format, leaving
from maskpredict.export.passes import refuse_other_systems
from maskpredict.model.checksum import CHECKSUM_KEY, checksum_of
from maskpredict.model.folder import CONFIG_FILE, WEIGHTS_FILE, ModelFolder
from maskpredict.model.stored_weights import Precision

MODEL_TYPE = "maskpredict"
ARCHITECTURE = "MaskPredictForTranslation"
FORMAT = Format("transformers", ("float32", "float16", "bfloat16"), marker=CONFIG_FILE)


def export_transformers(
    model: str | Path | ModelFolder, out: Path, *, precision: str = "float32", overwrite: bool = False
) -> Exported:
    """Write a model as a folder for `AutoModel.from_pretrained`."""
    with leaving(FORMAT, model, out, precision=precision, overwrite=overwrite) as (contents, partial):
        refuse_other_systems(contents.system)
        contents.write(partial, precision=cast(Precision, precision))
        # Without this note, other programs do not know whose tensors they are.
        save_file(load_file(partial / WEIGHTS_FILE), partial / WEIGHTS_FILE, metadata={"format": "pt"})
        config = partial / CONFIG_FILE
        ours = json.loads(config.read_text(encoding="utf-8")) | {CHECKSUM_KEY: checksum_of(partial / WEIGHTS_FILE)}
        both = json.dumps({**ours, **_additions(contents, precision)}, indent=2, ensure_ascii=False)
        config.write_text(both + "\n", encoding="utf-8")
    return Exported.of(out)


def _additions(contents: ModelFolder, precision: str) -> dict[str, Any]:
    special = contents.tokenizers.target.special
    return {
        "model_type": MODEL_TYPE,
        "architectures": [ARCHITECTURE],
        "dtype": precision,
        "is_encoder_decoder": True,
        "tie_word_embeddings": contents.config.embeddings != "separate",
        "special": asdict(special),
        "pad_token_id": special.pad,
        "bos_token_id": special.bos,
        "eos_token_id": special.eos,
        "decoder_start_token_id": special.bos,
        "generation": dict(contents.generation),
    }
