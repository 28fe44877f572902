"""BLEU of sacreBLEU on raw text, with the tokenizer of the target language."""

from __future__ import annotations

import re

from sacrebleu.metrics.bleu import BLEU

from maskpredict.errors import UserError
from maskpredict.evaluate.metrics.base import CorpusMetric

# sacreBLEU knows the languages whose words are not between spaces by their two-letter codes alone.
_TWO_LETTERS = {"zho": "zh", "chi": "zh", "cmn": "zh", "jpn": "ja", "kor": "ko"}


def build_bleu(target_language: str) -> BLEU:
    """BLEU with sacreBLEU's own choice of tokenizer: zh, ja-mecab or ko-mecab, and 13a for all other languages."""
    code = re.split("[-_]", target_language.lower())[0]
    try:
        return BLEU(trg_lang=_TWO_LETTERS.get(code, code))
    except RuntimeError as error:
        raise UserError(
            f"BLEU for {target_language} needs a tokenizer that is not installed; `pip install sacrebleu[{code}]`, "
            "or choose other metrics."
        ) from error


METRIC = CorpusMetric("bleu", "BLEU", build_bleu)
