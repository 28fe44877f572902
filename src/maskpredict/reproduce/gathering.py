"""Stage `gather`: encodes monolingual text for the stage `enlarge`, which may run on a machine without the corpora."""

from __future__ import annotations

import shutil
from pathlib import Path

from maskpredict.corpus.monolingual import write_monolingual
from maskpredict.corpus.rearrange import reverse_dataset
from maskpredict.reproduce.preparation import corpora_folder, corpus_file
from maskpredict.reproduce.recipe import Recipe


def gather(recipe: Recipe, data: Path | None, work: Path) -> None:
    """Make WORK/gathered: a data folder for each language of which the recipe has monolingual text."""
    assert recipe.enlarge is not None
    corpora = corpora_folder(recipe, data)
    for language in dict.fromkeys(text.language for text in recipe.enlarge.text):
        out = work / "gathered" / language
        if out.exists():  # complete, but the process was killed before the next one
            continue
        texts = [text for text in recipe.enlarge.text if text.language == language]
        paths = {text.name: corpus_file(recipe, corpora, text.stem, language) for text in texts}
        like = work / "data"
        if language == recipe.target_language:
            like = work / "gathered" / "turned"
            shutil.rmtree(like, ignore_errors=True)
            reverse_dataset(work / "data", like)
        write_monolingual(like, paths, recipe.cleaning.max_tokens, out)
    shutil.rmtree(work / "gathered" / "turned", ignore_errors=True)
