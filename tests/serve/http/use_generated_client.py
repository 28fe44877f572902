"""Generates a client from the description of a running server, and translates with it; prints what it got as JSON.

It runs in an environment of its own, which has openapi-python-client:  python use_generated_client.py URL FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from typing import Any


def main(url: str, folder: str) -> None:
    """Print the answers to a translation, a list of texts and a wrong glossary."""
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--url", f"{url}/openapi.json"]
    subprocess.run([*command, "--meta", "none", "--output-path", f"{folder}/generated"], check=True, stdout=sys.stderr)
    sys.path.insert(0, folder)
    models: Any = import_module("generated.models")
    client = import_module("generated").Client(base_url=url)

    def post(route: str, body: Any) -> Any:
        return import_module(f"generated.api.{route}").sync(client=client, body=body).to_dict()

    source, target = models.V1TranslateRequestSource("xx"), models.V1TranslateRequestTarget("yy")
    text = models.V1TranslateRequest(q="luri tisa kone.", source=source, target=target, iterations=2)
    texts = models.TextsRequest(texts=["bane."], src_lang="xx", tgt_lang="yy")
    dictionary = models.DictionaryBody(source_lang="xx", target_lang="yy", entries="bane\t")
    glossary = models.MultilingualGlossaryRequest(name="terms", dictionaries=[dictionary])
    answers = {
        "text": post("maskpredict.translate_v1_translate_post", text),
        "texts": post("libre_translate.translate_translate_post", texts),
        "glossary": post("deep_l.create_multilingual_v3_glossaries_post", glossary),
    }
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
