"""The tokenizer of imported models, through the protocol that everything else uses."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskpredict.bpe import BytePairs
from maskpredict.dictionary import DictionaryTokenizer
from maskpredict.errors import UserError
from maskpredict.tokenizer import SpecialIds, Tokenizer, Tokenizers

SPECIAL = SpecialIds(bos=0, pad=1, eos=2, unk=3, mask=4)
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "ha@@", "y", "h@@", "a@@", "a", "h", "hay", "<@@", "/@@", "s@@"]
MERGES = BytePairs([("h", "a"), ("ha", "y</w>"), ("<", "/"), ("</", "s"), ("</s", "></w>")])


@pytest.fixture
def tokenizer() -> Tokenizer:
    return DictionaryTokenizer(SYMBOLS, SPECIAL, MERGES)


def test_text_becomes_marked_subwords_and_text_again(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("hay  haah y")
    assert tokenizer.pieces(ids) == ["hay", "ha@@", "a@@", "h", "y"]
    assert tokenizer.decode(ids) == "hay haah y"
    assert tokenizer.encode_many(["hay  haah y", ""]) == [ids, []]


@given(text=st.text(alphabet="hay ", max_size=20))
def test_known_letters_survive_the_round_trip(text: str) -> None:
    known = DictionaryTokenizer([*SYMBOLS, "y@@", "hay@@"], SPECIAL, MERGES)
    assert known.decode(known.encode(text)) == " ".join(text.split())


def test_text_never_becomes_a_special_symbol(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("</s>") == [SPECIAL.unk]  # its merges lead to the very symbol
    assert tokenizer.ids(["</s>", "<mask>", "nowhere"]) == [SPECIAL.eos, SPECIAL.mask, SPECIAL.unk]


def test_decoding_drops_special_symbols_but_shows_what_is_unknown(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([0, 11, 4, 5, 3, 11, 5, 2, 1]) == "hay ha⁇ hay ha"
    without_mask = DictionaryTokenizer(SYMBOLS, SpecialIds(bos=0, pad=1, eos=2, unk=3, mask=3))
    assert without_mask.decode([11, 3]) == "hay ⁇"


def test_without_merges_only_subwords_are_taken() -> None:
    bare = DictionaryTokenizer(SYMBOLS, SPECIAL)
    assert bare.ids(["ha@@", "y"]) == [5, 6]
    assert bare.decode([5, 6]) == "hay"
    with pytest.raises(UserError, match="without its BPE codes"):
        bare.encode("hay")


@pytest.mark.parametrize("joint", [True, False])
def test_a_folder_carries_it(tokenizer: Tokenizer, tmp_path: Path, joint: bool) -> None:
    target = tokenizer if joint else DictionaryTokenizer([*SYMBOLS, "more"], SPECIAL)
    names = [path.name for path in Tokenizers(tokenizer, target).save(tmp_path)]
    assert names == (["tokenizer.dict.json"] if joint else ["source.dict.json", "target.dict.json"])
    loaded = Tokenizers.load(tmp_path)
    assert loaded.joint == joint
    assert loaded.target.vocab_size == target.vocab_size
    assert (loaded.source.special, loaded.source.encode("hay haah")) == (SPECIAL, tokenizer.encode("hay haah"))
    assert pickle.loads(pickle.dumps(loaded)).source.encode("hay haah") == tokenizer.encode("hay haah")


@pytest.mark.parametrize("content", ["", "[]", '{"symbols": []}', '{"symbols": [], "special": {"x": 1}, "bpe": null}'])
def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.dict.json").write_text(content)
    with pytest.raises(UserError, match=r"tokenizer\.dict\.json is damaged"):
        Tokenizers.load(tmp_path)
