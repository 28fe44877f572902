"""Export of a model as a folder for Hugging Face transformers, which is also a model folder of ours.

Both have the same names of the weights file and of config.json. The export adds the keys that transformers reads to
config.json, with the special ids and decoding settings. `import maskpredict.export.transformers_model` registers the
model class with transformers.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from safetensors.torch import load_file, save_file

from maskpredict.checksums import checksum_of
from maskpredict.export.passes import refuse_other_systems
from maskpredict.export.writing import Exported, FolderFormat, export_folder
from maskpredict.json_file import json_text
from maskpredict.model.checksum import CHECKSUM_KEY
from maskpredict.model.folder import CONFIG_FILE, WEIGHTS_FILE, ModelFolder
from maskpredict.model.safetensors_file import Precision

MODEL_TYPE = "maskpredict"
ARCHITECTURE = "MaskPredictForTranslation"
FORMAT = FolderFormat("transformers", ("float32", "float16", "bfloat16"), marker=CONFIG_FILE)
SYSTEMS = ("cmlm", "autoregressive")


def export_transformers(
    model: str | Path | ModelFolder, out: Path, *, precision: str = "float32", overwrite: bool = False
) -> Exported:
    """Write a model as a folder for `AutoModel.from_pretrained`."""
    with export_folder(FORMAT, model, out, precision=precision, overwrite=overwrite) as (contents, partial):
        refuse_other_systems(contents.system, SYSTEMS)
        contents.write(partial, precision=cast(Precision, precision))
        # transformers expects this metadata.
        save_file(load_file(partial / WEIGHTS_FILE), partial / WEIGHTS_FILE, metadata={"format": "pt"})
        config = partial / CONFIG_FILE
        ours = json.loads(config.read_text(encoding="utf-8")) | {CHECKSUM_KEY: checksum_of(partial / WEIGHTS_FILE)}
        config.write_text(json_text({**ours, **_additions(contents, precision)}), encoding="utf-8")
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
