"""The SentencePiece tokenizer, through the protocol that everything else uses."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from maskpredict.corpus.reading import Pair
from maskpredict.corpus.vocabulary import VocabularyConfig, learn_tokenizers
from maskpredict.errors import UserError
from maskpredict.tokenizer import SentencePieceTokenizer, SpecialIds, Tokenizer, Tokenizers

TEXT = "the old boat <mask> drifts </s> slowly <pad> past <s> the <unk> quiet mill"


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    return learn_tokenizers([Pair(TEXT, TEXT.upper())] * 3, VocabularyConfig(size=80))


@pytest.fixture(scope="module")
def tokenizer(tokenizers: Tokenizers) -> Tokenizer:
    return tokenizers.source


def test_special_symbols_have_the_first_five_ids(tokenizer: Tokenizer) -> None:
    assert tokenizer.special == SpecialIds(pad=0, bos=1, eos=2, unk=3, mask=4)
    assert tokenizer.pieces(range(5)) == ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]


@given(parts=st.lists(st.sampled_from(["<mask>", "</s>", "<s>", "<pad>", "the", "<", " ", "😀", "▁", "k>"])))
def test_text_never_becomes_a_special_symbol(tokenizer: Tokenizer, parts: list[str]) -> None:
    special = tokenizer.special
    assert not {special.pad, special.bos, special.eos, special.mask} & set(tokenizer.encode("".join(parts)))


def test_decoding_drops_special_symbols_but_shows_what_is_unknown(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("the old mill")
    special = tokenizer.special
    wrapped = [special.bos, *ids[:2], special.mask, *ids[2:], special.eos, special.pad, special.pad]
    assert tokenizer.decode(wrapped) == "the old mill"
    assert tokenizer.decode([special.unk]).strip() == "⁇"
    assert tokenizer.decode([]) == ""


def test_pieces_and_ids_are_inverse(tokenizer: Tokenizer) -> None:
    every_id = list(range(tokenizer.vocab_size))
    assert tokenizer.ids(tokenizer.pieces(every_id)) == every_id
    assert tokenizer.ids(["no such piece"]) == [tokenizer.special.unk]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_block_is_encoded_like_its_lines(tokenizer: Tokenizer, threads: int) -> None:
    lines = ["the old boat", "", "quiet mill"] * 10
    assert tokenizer.encode_many(lines, threads) == [tokenizer.encode(line) for line in lines]


def test_a_tokenizer_survives_its_file_and_pickling(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "t.model")
    for copy in (SentencePieceTokenizer.load(tmp_path / "t.model"), pickle.loads(pickle.dumps(tokenizer))):
        assert copy.encode(TEXT) == tokenizer.encode(TEXT)
        assert copy.vocab_size == tokenizer.vocab_size


def test_a_folder_keeps_a_joint_tokenizer_once_and_separate_ones_apart(tokenizers: Tokenizers, tmp_path: Path) -> None:
    other = learn_tokenizers([Pair(TEXT, TEXT)] * 3, VocabularyConfig(size=60)).source
    joint, separate = tmp_path / "joint", tmp_path / "separate"
    for folder, kept in ((joint, tokenizers), (separate, Tokenizers(tokenizers.source, other))):
        folder.mkdir()
        assert sorted(kept.save(folder)) == sorted(folder.iterdir())
    assert Tokenizers.load(joint).joint
    loaded = Tokenizers.load(separate)
    assert not loaded.joint
    assert (loaded.source.vocab_size, loaded.target.vocab_size) == (80, 60)


def test_files_that_are_no_tokenizer_of_ours_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        SentencePieceTokenizer.load(tmp_path / "missing.model")
    (tmp_path / "text.model").write_text("not a model")
    with pytest.raises(UserError, match="is not a SentencePiece model"):
        SentencePieceTokenizer.load(tmp_path / "text.model")
    foreign = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([TEXT]), model_writer=foreign, vocab_size=40, model_type="bpe", minloglevel=2
    )
    (tmp_path / "foreign.model").write_bytes(foreign.getvalue())
    with pytest.raises(UserError, match="lacks one of <pad>, <s>, </s> and <mask>"):
        SentencePieceTokenizer.load(tmp_path / "foreign.model")


def test_a_piece_that_is_not_utf_8_is_refused_when_the_file_is_read(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.model")
    content = (tmp_path / "tokenizer.model").read_bytes()
    (tmp_path / "tokenizer.model").write_bytes(content.replace("▁".encode(), b"\xff\x96\x81", 1))
    with pytest.raises(UserError, match="cannot be used: 'utf-8' codec"):
        SentencePieceTokenizer.load(tmp_path / "tokenizer.model")
