"""Translates texts by NeMo Curator's own stages, with a running server as their backend; prints JSON.

It runs in an environment of its own, which has nemo-curator:  python use_nemo_curator.py URL TEXT...
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any


def main(url: str, *texts: str) -> None:
    """Print the translations, and what went wrong with each."""
    stages: Any = import_module("nemo_curator.stages.text.experimental.translation")
    batch: Any = import_module("nemo_curator.tasks").DocumentBatch(
        dataset_name="texts", data=import_module("pandas").DataFrame({"text": texts})
    )
    translation = stages.TranslationStage(
        source_lang="xx", target_lang="yy", backend_type="nmt", output_mode="both",
        backend_config={"server_url": url, "batch_size": 2},
    )  # fmt: skip
    for stage in translation.decompose():
        stage.setup()
        batch = stage.process(batch)
    table = batch.to_pandas()
    print(json.dumps({"translations": list(table["translated_text"]), "errors": list(table["translation_errors"])}))


if __name__ == "__main__":
    main(*sys.argv[1:])
