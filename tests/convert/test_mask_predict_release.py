"""The authors' released models: our answers are those of their own program, from Python and from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from maskpredict import Translator, UserError
from maskpredict.cli import app
from maskpredict.convert.importing import import_model
from maskpredict.decoding.engine import Query
from maskpredict.decoding.hypothesis import Request
from maskpredict.engines import load_engine
from maskpredict.engines.torch.loading import load_system
from maskpredict.model.batch import pad
from maskpredict.model.folder import ModelFolder
from maskpredict.systems.cmlm import CMLM
from maskpredict.tokenizer import SpecialIds

CPU = torch.device("cpu")
PAD = 1


@pytest.fixture(scope="module")
def expected(release: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((release / "expected.json").read_text())
    return content


@pytest.fixture(scope="module")
def translator(imported: Path) -> Translator:
    return Translator(imported, device="cpu")


@pytest.fixture(scope="module")
def sources(expected: dict[str, Any], translator: Translator) -> list[str]:
    """The fixture's sources as subwords between spaces; the end mark is ours to add."""
    assert all(source[-1] == translator.tokenizers.source.special.eos for source in expected["sources"])
    return [" ".join(translator.tokenizers.source.pieces(source[:-1])) for source in expected["sources"]]


def without_final_pads(ids: list[int]) -> list[int]:
    while ids and ids[-1] == PAD:
        ids = ids[:-1]
    return ids


@pytest.mark.parametrize("engine", ["torch", "onnxruntime"])
def test_all_answers_are_those_of_the_authors_program(
    expected: dict[str, Any], imported: Path, sources: list[str], engine: str
) -> None:
    translator, compared = Translator(imported, device="cpu", compute_type="float32", engine=engine), 0
    assert translator.engine.name == engine
    for case in expected["cases"]:
        settings = {name: case[name] for name in ("iterations", "length_candidates")}
        found = translator.translate(sources, pretokenized=True, **settings)
        ids = [without_final_pads(translator.tokenizers.target.ids(one.tokens)) for one in found]
        assert ids == case["hypotheses"], settings
        compared += len(ids)
    assert compared == 144


@pytest.mark.parametrize("number", range(12))
def test_the_command_line_gives_the_same(
    expected: dict[str, Any], imported: Path, translator: Translator, sources: list[str], number: int
) -> None:
    case = expected["cases"][number]
    arguments = ["translate", "-m", str(imported), "--pretokenized", "--format", "jsonl", "--device", "cpu"]
    arguments += ["--iterations", str(case["iterations"]), "--length-candidates", str(case["length_candidates"])]
    result = CliRunner().invoke(app, arguments, input="\n".join(sources) + "\n", catch_exceptions=False)
    tokens = [json.loads(line)["tokens"] for line in result.stdout.splitlines()]
    assert [without_final_pads(translator.tokenizers.target.ids(row)) for row in tokens] == case["hypotheses"]


@torch.inference_mode()
def test_a_decoder_pass_and_the_length_head_compute_the_same_numbers(expected: dict[str, Any], imported: Path) -> None:
    cmlm, probe = load_system(ModelFolder.read(imported)), expected["probe"]
    encoding = cmlm.encode(pad([probe["source"]], PAD, CPU, slot=True))
    assert encoding.length_log_probs_BL is not None
    assert probe["length_log_probs"][0] is None
    lengths = torch.tensor(probe["length_log_probs"][1:])
    torch.testing.assert_close(encoding.length_log_probs_BL[0, 1:], lengths, atol=1e-4, rtol=0)
    target = pad([probe["decoder_input"]], PAD, CPU)
    hidden = cmlm.transformer.decode(target.ids, target.layout, encoding.memory, encoding.layout, causal=False)
    logits = cmlm.transformer.output(hidden[0, : len(probe["decoder_input"])])
    torch.testing.assert_close(logits, torch.tensor(probe["logits"]), atol=1e-4, rtol=0)


@pytest.mark.parametrize("engine", ["torch", "onnxruntime"])
def test_an_engine_computes_the_same_numbers(expected: dict[str, Any], imported: Path, engine: str) -> None:
    probe = expected["probe"]
    encoded = load_engine(ModelFolder.read(imported), device="cpu", compute_type="float32", engine=engine).encode(
        [probe["source"]]
    )
    lengths = torch.tensor(probe["length_log_probs"][1:])
    torch.testing.assert_close(torch.tensor(encoded.length_log_probs_BL[0, 1:]), lengths, atol=1e-4, rtol=0)
    passes = encoded.passes([0], [len(probe["decoder_input"])])
    log_probs_TV = torch.as_tensor(passes.log_probs(passes.array([probe["decoder_input"]], PAD), Query()))
    torch.testing.assert_close(log_probs_TV, torch.tensor(probe["logits"]).log_softmax(-1), atol=1e-4, rtol=0)


def test_the_vocabulary_is_that_of_the_dictionary_behind_five_special_symbols(
    expected: dict[str, Any], translator: Translator, release: Path
) -> None:
    tokenizer = translator.tokenizers.target
    assert tokenizer.vocab_size == expected["dictionary_size"]
    assert tokenizer.special == SpecialIds(**expected["special"])
    listed = [line.split(" ")[0] for line in (release / "dict.yy.txt").read_text().splitlines()]
    assert tokenizer.pieces(range(48)) == ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *listed]
    assert translator.generation["suppress_tokens"] == []


def test_without_codes_text_is_refused_with_what_to_do(translator: Translator) -> None:
    with pytest.raises(UserError, match=r"without its BPE codes.*pretokenized.*--bpe-codes"):
        translator.translate(["w1 w2"])


def test_with_codes_text_goes_in_and_comes_out(release: Path, translator: Translator, tmp_path: Path) -> None:
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\nw 0\nw 1</w>\n2 </w>\n")
    import_model("mask-predict-release", release, tmp_path / "out", bpe_codes=codes)
    with_codes = Translator(tmp_path / "out", device="cpu")
    (text,) = with_codes.translate(["w0w1 w1"], raw=True, iterations=2)
    (subwords,) = translator.translate(["w0@@ w1 w1"], pretokenized=True, iterations=2)
    assert text.tokens == subwords.tokens
    assert text.text == subwords.text.replace("<unk>", "⁇").replace("@@ ", "").removesuffix("@@")
    assert "@@" not in text.text


@pytest.mark.parametrize("pre", [False, True], ids=["post-norm", "pre-norm"])
@pytest.mark.parametrize("embeddings", ["shared", "target", "separate"])
def test_variants_of_the_release_are_told_apart_by_their_tensors(
    make_folder: Callable[..., Path],
    table: Callable[[int, int], Tensor],
    tmp_path: Path,
    pre: bool,
    embeddings: str,
) -> None:
    source, target, output = table(16, 1), table(16, 2), table(16, 3)
    tables = {
        "encoder.embed_tokens.weight": target if embeddings == "shared" else source,
        "decoder.embed_tokens.weight": target,
        "encoder.embed_positions.weight": table(34, 4),
        "decoder.embed_positions.weight": table(34, 5),
        "encoder.embed_lengths.weight": table(32, 6),
    }
    if embeddings == "separate":
        tables["decoder.embed_out"] = output
    folder = make_folder("bert_transformer_seq2seq", tables, fused=True, old_norms=True, pre=pre)
    contents = import_model("mask-predict-release", folder, tmp_path / "out")
    assert (contents.config.embeddings, contents.config.norm) == (embeddings, "pre" if pre else "post")
    cmlm = load_system(ModelFolder.read(tmp_path / "out"))
    assert torch.equal(cmlm.transformer.output.weight, output if embeddings == "separate" else target)
    assert torch.equal(cmlm.transformer.source.tokens.weight, tables["encoder.embed_tokens.weight"])
    # The dictionary has 5 + 7 symbols, the tables are filled up to 16 rows.
    assert contents.tokenizers.target.pieces([11, 12, 15]) == ["mo@@", "madeupword0000", "madeupword0003"]


def test_tables_of_odd_sizes_lose_no_length_class_and_gain_no_position(
    make_folder: Callable[..., Path], table: Callable[[int, int], Tensor], tmp_path: Path
) -> None:
    tokens = table(12, 1)
    tables = {
        "encoder.embed_tokens.weight": tokens,
        "decoder.embed_tokens.weight": tokens,
        "encoder.embed_positions.weight": table(32, 4),
        "decoder.embed_positions.weight": table(31, 5),
        "encoder.embed_lengths.weight": table(29, 6),
    }
    folder = make_folder("bert_transformer_seq2seq", tables, fused=True, old_norms=True)
    import_model("mask-predict-release", folder, tmp_path / "out")
    cmlm = load_system(ModelFolder.read(tmp_path / "out"))
    assert isinstance(cmlm, CMLM)
    assert (cmlm.config.max_positions, cmlm.config.length_classes) == (24, 29)
    assert torch.equal(cmlm.length.table.weight, tables["encoder.embed_lengths.weight"])
    assert torch.equal(cmlm.transformer.target.positions.weight, tables["decoder.embed_positions.weight"][2:26])
    decoder = Translator(tmp_path / "out", device="cpu").decoder
    (hypothesis,) = decoder.translate([Request((5, 6, 2), length=23)], decoder.settings_type(iterations=1))[0]
    assert len(hypothesis.ids) == 23
