"""An imported autoregressive model as the teacher of a distilled corpus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from maskpredict import Translator
from maskpredict.convert.importing import import_model
from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.distill import DistillConfig, distill

SOURCES = ["bane sa tu", "ko ko risa", "tu", "sa mone bane ko"]
CODES = "#version: 0.2\nb a\nn e</w>\nk o</w>\nr i\ns a</w>\nt u</w>\nm o\n"


def test_a_corpus_prepared_with_its_vocabulary_can_be_distilled_with_it(
    make_folder: Callable[..., Path], table: Callable[[int, int], Tensor], tmp_path: Path
) -> None:
    tokens = table(11, 1) * 0.6
    tables = {f"{side}.embed_tokens.weight": tokens for side in ("encoder", "decoder")}
    folder, codes, text = make_folder("transformer", tables), tmp_path / "codes", tmp_path / "text.tsv"
    codes.write_text(CODES)
    text.write_text("".join(f"{source}\t{source} ko\n" for source in SOURCES))
    import_model("fairseq-transformer", folder, tmp_path / "teacher", bpe_codes=codes)
    corpora = (CorpusConfig(tsv=text),)
    data = PrepareConfig(
        source_language="xx",
        target_language="yy",
        out=tmp_path / "data",
        train=corpora,
        valid=corpora,
        vocabulary=VocabularyConfig(reuse=tmp_path / "teacher"),
    )
    prepare(data)
    distill(DistillConfig(data.out, tmp_path / "teacher", tmp_path / "distilled", beam_size=2), quiet=True)
    distilled = Dataset(tmp_path / "distilled")
    split = distilled.split("train")
    # UNK plays the part of MASK, and a training target may not contain that.
    said = Translator(tmp_path / "teacher").translate(SOURCES, beam_size=2, suppress_tokens=[0, 1, 3], raw=True)
    written = {
        distilled.tokenizers.source.decode(split.source[n].tolist()): split.target[n].tolist()
        for n in range(len(split))
    }
    assert written.keys() == set(SOURCES)
    for source, translation in zip(SOURCES, said, strict=True):
        assert distilled.tokenizers.target.pieces(written[source]) == translation.tokens[:-1]
