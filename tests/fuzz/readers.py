"""Everything that reads what strangers wrote, as functions of bytes, with valid examples to start from."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from maskpredict.bpe import BytePairs
from maskpredict.config import dump_config, load_config
from maskpredict.convert.checkpoint import Checkpoint, read_checkpoint
from maskpredict.convert.dictionaries import read_tokenizers
from maskpredict.convert.importing import FAMILIES, convert
from maskpredict.corpus.reading import CorpusConfig, Pair, read_pairs
from maskpredict.corpus.vocabulary import VocabularyConfig, learn_tokenizers
from maskpredict.dictionary import DictionaryTokenizer
from maskpredict.documents.document import SegmentedDocument
from maskpredict.documents.formats import read_document
from maskpredict.documents.html import HtmlMarkup
from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.model.shortlist import Shortlist
from maskpredict.packing.manifest import Manifest
from maskpredict.packing.pack import pack
from maskpredict.packing.unpack import unpack
from maskpredict.runtime.glossary.reading import parse_glossary
from maskpredict.runtime.translation import Translation
from maskpredict.runtime.translator import Translator
from maskpredict.special_ids import SpecialIds
from maskpredict.systems import vocabulary_of
from maskpredict.systems.cmlm import CMLM
from maskpredict.tokenizer import SentencePieceTokenizer, Tokenizer, Tokenizers
from maskpredict.training.config import TrainConfig
from tests.conftest import toy_sentences, toy_translation
from tests.convert.conftest import HEADS, HIDDEN, LAYERS, POSITIONS, WIDTH, random_table, random_tensors
from tests.documents.office_files import archive, odt_file, presentation, word_file, workbook

SENTENCE = "bane kosa luri."
PAIRS = [Pair(sentence, toy_translation(sentence)) for sentence in toy_sentences(500, seed=1)]


NAMES = (
    "config", "override", "corpus", "corpus-gz", "sentencepiece", "dictionary", "bpe", "model-config",
    "model-generation", "model-tokenizer", "model-shortlist", "model-weights", "model-header", "checkpoint",
    "checkpoint-settings", "checkpoint-dictionary", "html", "document-md", "document-srt", "document-vtt",
    "document-po", "document-json", "document-yaml", "document-html", "document-xliff", "document-docx",
    "document-docx-xml", "document-pptx-xml", "document-xlsx-xml", "document-odt-xml", "document-epub",
    "glossary-tsv", "glossary-csv", "glossary-tbx", "pack",
)  # fmt: skip
"""Names of all readers."""


@dataclass(frozen=True)
class Reader:
    """A function that reads untrusted bytes, and bytes that it reads without complaint."""

    name: str
    seeds: Sequence[bytes]
    read: Callable[[bytes], object]


def make_readers(folder: Path) -> list[Reader]:
    """Return all readers; they keep their files in the folder."""
    toy = learn_tokenizers(PAIRS, VocabularyConfig(size=90, normalization="identity"))  # else it has 240 kB of rules
    makers = (_config, _corpus, partial(_tokenizers, toy=toy), partial(_models, toy=toy), _checkpoints, _markup)
    found = [reader for maker in (*makers, _documents, _glossaries, _packs) for reader in maker(folder)]
    assert sorted(NAMES) == sorted(reader.name for reader in found)
    for reader in found:  # loads the libraries that it needs, which open files of the system
        with suppress(UserError):
            reader.read(reader.seeds[0])
    return found


def _file_reader(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """A function that writes the bytes to a file and reads that."""
    path.parent.mkdir(parents=True, exist_ok=True)

    def read_content(content: bytes) -> object:
        path.write_bytes(content)
        return read(path)

    return read_content


def _config(folder: Path) -> list[Reader]:
    overrides = (b"steps=5", b"model.width=64", b"optimizer.beta1=0.5", b"model={norm: pre, dropout: 1e-1}")
    needed = {"data": "data", "run": "run"}
    return [
        Reader(
            "config",
            [dump_config(TrainConfig(data="data", run="run")).encode(), b"data: d\nrun: r\nmodel: {width: 8}\n"],
            _file_reader(folder / "train.yaml", lambda path: load_config(TrainConfig, path)),
        ),
        Reader(
            "override", overrides, lambda text: load_config(TrainConfig, None, [text.decode(errors="replace")], needed)
        ),
    ]


def _corpus(folder: Path) -> list[Reader]:
    text = "".join(f"{pair.source}\t{pair.target}\n" for pair in PAIRS[:20]).encode()

    def read(path: Path) -> None:
        for _ in read_pairs(CorpusConfig(tsv=path)):
            pass

    return [
        Reader("corpus", [text, b"\xef\xbb\xbfa\tb\r\n"], _file_reader(folder / "corpus.tsv", read)),
        Reader("corpus-gz", [gzip.compress(text)], _file_reader(folder / "corpus.tsv.gz", read)),
    ]


def _use(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(SENTENCE)
    tokenizer.decode(ids)
    tokenizer.pieces(range(min(1_000, tokenizer.vocab_size)))


def _tokenizers(folder: Path, toy: Tokenizers) -> list[Reader]:
    toy.source.save(folder / "toy.model")
    merges = BytePairs([("b", "a"), ("ba", "n"), ("ban", "e</w>")])
    symbols = ["<pad>", "<s>", "</s>", "<unk>", "<mask>", "ba@@", "ne", "bane"]
    DictionaryTokenizer(symbols, SpecialIds(), merges).save(folder / "toy.dict.json")
    codes = b"#version: 0.2\nb a\nba n\nban e</w>\n"
    return [
        Reader(
            "sentencepiece",
            [(folder / "toy.model").read_bytes()],
            _file_reader(folder / "tokenizer.model", lambda path: _use(SentencePieceTokenizer.load(path))),
        ),
        Reader(
            "dictionary",
            [(folder / "toy.dict.json").read_bytes()],
            _file_reader(folder / "tokenizer.dict.json", lambda path: _use(DictionaryTokenizer.load(path))),
        ),
        Reader("bpe", [codes], _file_reader(folder / "codes", lambda path: BytePairs.read(path).cut("banebane"))),
    ]


def _models(folder: Path, toy: Tokenizers) -> list[Reader]:
    home = folder / "model"
    config = ModelConfig(width=8, hidden=8, heads=2, encoder_layers=1, decoder_layers=1, max_positions=16)
    torch.manual_seed(1)
    weights = weights_of(CMLM(config, vocabulary_of(toy)))
    shortlist = Shortlist(np.tile(np.arange(5, 15), (toy.source.vocab_size, 1)), np.array([toy.target.special.eos]))
    generation = {"iterations": 2, "shortlist": True}
    ModelFolder("cmlm", config, Languages("xx", "yy"), toy, weights, generation, shortlist=shortlist).write(home)
    description = json.loads((home / "config.json").read_text())
    del description["weights_checksum"]  # or no changed weights would be looked at
    (home / "config.json").write_text(json.dumps(description, indent=1))

    def reader(name: str, file: str) -> Reader:
        own = folder / f"model-{name}"
        shutil.copytree(home, own)

        def read(path: Path) -> None:
            Translator(path.parent, intra_threads=1).translate([SENTENCE])

        return Reader(f"model-{name}", [(home / file).read_bytes()], _file_reader(own / file, read))

    whole = reader("weights", "model.safetensors")
    (content,) = whole.seeds
    size = int.from_bytes(content[:8], "little")
    header, numbers = content[8 : 8 + size], content[8 + size :]

    def read_header(changed: bytes) -> None:
        whole.read(len(changed).to_bytes(8, "little") + changed + numbers)

    return [
        reader("config", "config.json"),
        reader("generation", "generation.json"),
        reader("tokenizer", "tokenizer.model"),
        reader("shortlist", "shortlist.safetensors"),
        whole,
        Reader("model-header", [header], read_header),
    ]


def _checkpoints(folder: Path) -> list[Reader]:
    tensors = random_tensors(fused=True, old_norms=False, pre=False)
    tensors |= {f"{side}.embed_tokens.weight": random_table(16, 1) for side in ("encoder", "decoder")}
    tensors |= {f"{side}.embed_positions.weight": random_table(POSITIONS + 2, 2) for side in ("encoder", "decoder")}
    settings: dict[str, Any] = {"arch": "transformer", "source_lang": "xx", "target_lang": "yy", "dropout": 0.1}
    for side in ("encoder", "decoder"):
        sizes = {"embed_dim": WIDTH, "ffn_embed_dim": HIDDEN, "attention_heads": HEADS, "layers": LAYERS}
        settings |= {f"{side}_{name}": size for name, size in sizes.items()} | {f"{side}_normalize_before": False}
    settings |= {"max_source_positions": POSITIONS, "max_target_positions": POSITIONS}
    family, home = FAMILIES["fairseq-transformer"], folder / "foreign"
    home.mkdir()
    for language in ("xx", "yy"):
        (home / f"dict.{language}.txt").write_text("".join(f"w{number} 1\n" for number in range(12)))
    few = {name: tensor for name, tensor in tensors.items() if "layers" not in name}
    pickles = []
    for zipped in (False, True):
        stream = io.BytesIO()
        content = {"args": argparse.Namespace(**settings), "model": few}
        torch.save(content, stream, _use_new_zipfile_serialization=zipped)
        pickles.append(stream.getvalue())

    def read_settings(text: bytes) -> None:
        try:
            changed = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(changed, dict):
            convert(Checkpoint(home / "checkpoint.pt", changed, dict(tensors)), family)

    special = SpecialIds(bos=0, pad=1, eos=2, unk=3, mask=3)
    languages, first = Languages("xx", "zz"), ("<s>", "<pad>", "</s>", "<unk>")
    dictionary = _file_reader(
        folder / "dictionaries" / "dict.zz.txt",
        lambda path: read_tokenizers(path.parent, languages, first, special, (16, 16), None),
    )
    shutil.copy(home / "dict.xx.txt", folder / "dictionaries")
    return [
        Reader("checkpoint", pickles, _file_reader(folder / "checkpoint.pt", read_checkpoint)),
        Reader("checkpoint-settings", [json.dumps(settings).encode()], read_settings),
        Reader("checkpoint-dictionary", [(home / "dict.xx.txt").read_bytes()], dictionary),
    ]


def _translate(document: SegmentedDocument[Any]) -> None:
    texts = [sentence.text.upper() for sentence in document.sentences]
    document.replace([Translation(text, [], 0.0, [], 0) for text in texts])


def _markup(folder: Path) -> list[Reader]:
    page = (
        "<!doctype html><title>Ein Titel</title><p class=a>Der <b>alte</b> Hund &amp; die Katze.<br>"
        "<script>x = '<p>';</script><!-- nein --><img alt='Ein Bild'><pre>so</pre><a href=\"x\">Hier</a>"
    )

    def read(content: bytes) -> None:
        markup = HtmlMarkup(content.decode(errors="replace"), attributes=True)
        _translate(SegmentedDocument.split(markup, "de"))

    return [Reader("html", [page.encode()], read)]


TEXT_DOCUMENTS = {
    "a.md": b"# Ein Titel\n\nDer *alte* Hund [bellt](x).\n\n- `code`\n- eins\n\n| a | b |\n|---|---|\n| c | d |\n",
    "a.srt": b"1\n00:00:01,000 --> 00:00:02,000\nDer <i>Hund</i> bellt.\n\n2\n00:00:03,000 --> 00:00:04,000\nJa.\n",
    "a.vtt": b"WEBVTT\n\n00:01.000 --> 00:02.000 align:left\nDer <b>Hund</b> bellt.\n",
    "a.po": b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Hund"\nmsgstr ""\n\n'
    b'msgid "%d Hund"\nmsgid_plural "%d Hunde"\nmsgstr[0] ""\nmsgstr[1] ""\n',
    "a.json": b'{"a": "Der Hund", "b": ["eins", {"c": "zwei\\n\\u00e4"}], "d": 1.5e3, "e": null}',
    "a.yaml": b"a: Der Hund\nb:\n  - eins\n  - 'zwei'\nc: &x |\n  drei\nd: *x\n",
    "a.html": b"<meta charset=utf-8><p>Der <b>Hund</b>.",
    "a.xliff": b'<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body><trans-unit id="1">'
    b'<source>Der <g id="1">Hund</g>.</source><target/></trans-unit></body></file></xliff>',
}


def _documents(folder: Path) -> list[Reader]:
    def reader(name: str, seeds: Sequence[bytes]) -> Reader:
        return Reader(
            f"document-{name[2:]}",
            seeds,
            lambda content: _translate(SegmentedDocument.split(read_document(name, content), "de")),
        )

    def inner(name: str, whole: bytes, part: str) -> Reader:
        """The XML of one file inside an archive."""
        outer = reader(name, [whole])
        with zipfile.ZipFile(io.BytesIO(whole)) as package:
            files = {info.filename: package.read(info) for info in package.infolist()}
        return Reader(f"{outer.name}-xml", [files[part]], lambda content: outer.read(archive({**files, part: content})))

    epub = archive({"mimetype": b"application/epub+zip", "a.xhtml": TEXT_DOCUMENTS["a.html"]})
    return [
        *(reader(name, [content]) for name, content in TEXT_DOCUMENTS.items()),
        reader("a.docx", [word_file()]),
        inner("a.docx", word_file(), "word/document.xml"),
        inner("a.pptx", presentation(), "ppt/slides/slide1.xml"),
        inner("a.xlsx", workbook(), "xl/worksheets/sheet1.xml"),
        inner("a.odt", odt_file(), "content.xml"),
        reader("a.epub", [epub]),
    ]


def _glossaries(folder: Path) -> list[Reader]:
    languages = Languages("de", "en")
    tbx = (
        b'<?xml version="1.0"?><martif><text><body><termEntry id="1"><langSet xml:lang="de"><tig><term>Hund</term>'
        b'</tig></langSet><langSet xml:lang="en-GB"><tig><term>dog</term></tig></langSet></termEntry>'
        b"</body></text></martif>"
    )
    table = {"tsv": b"Hund\tdog\nKatze\tcat\tsoft\n", "csv": b'Hund,dog\n"Katze","cat",soft\n', "tbx": tbx}

    def read(kind: str, content: bytes) -> None:
        glossary = parse_glossary(content, kind, languages)
        glossary.find("Der Hund und die Katze.")

    return [Reader(f"glossary-{kind}", [content], partial(read, kind)) for kind, content in table.items()]


def _packs(folder: Path) -> list[Reader]:
    whole, parts = folder / "whole", folder / "parts"
    whole.mkdir()
    (whole / "a.txt").write_text("Der Hund.\n" * 50)
    pack(whole, parts)
    (manifest,) = parts.glob("*.manifest.json")

    def read(path: Path) -> None:
        Manifest.read(path)
        shutil.rmtree(folder / "unpacked", ignore_errors=True)
        unpack(path, folder / "unpacked")

    return [Reader("pack", [manifest.read_bytes()], _file_reader(manifest, read))]
