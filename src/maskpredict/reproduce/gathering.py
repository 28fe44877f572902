"""The stage `gather`: text of one language alone, for the stage `enlarge`, which may be made where no corpora are."""

from __future__ import annotations

import shutil
from pathlib import Path

from maskpredict.corpus.monolingual import write_monolingual
from maskpredict.corpus.rearrange import reverse_dataset
from maskpredict.reproduce.preparation import corpora_folder, corpus_file
from maskpredict.reproduce.recipe import Recipe


def gather(recipe: Recipe, data: Path | None, work: Path) -> None:
    """Make WORK/gathered: for each language that the recipe has text of, a data folder to translate it from."""
    assert recipe.enlarge is not None
    home = corpora_folder(recipe, data)
    for language in dict.fromkeys(text.language for text in recipe.enlarge.text):
        out = work / "gathered" / language
        if out.exists():  # it appears whole: whoever made it was killed before making the next
            continue
        own = [text for text in recipe.enlarge.text if text.language == language]
        paths = {text.name: corpus_file(recipe, home, text.stem, language) for text in own}
        like = work / "data"
        if language == recipe.target_language:
            like = work / "gathered" / "turned"
            shutil.rmtree(like, ignore_errors=True)
            reverse_dataset(work / "data", like)
        write_monolingual(like, paths, recipe.cleaning.max_tokens, out)
    shutil.rmtree(work / "gathered" / "turned", ignore_errors=True)
