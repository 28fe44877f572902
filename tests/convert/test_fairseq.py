"""fairseq's own models. No trained file of theirs is at hand: checkpoints are made with the key names fairseq writes,
and what the imported model says is compared with a second, plain reading of fairseq's forward pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from maskpredict import Translator, UserError
from maskpredict.cli import app
from maskpredict.convert.checkpoint import read_checkpoint
from maskpredict.convert.importing import import_model
from maskpredict.engines.torch.loading import load_system
from maskpredict.model.batch import Batch, pad
from maskpredict.model.folder import ModelFolder
from maskpredict.systems.fairseq_cmlm import FairseqCMLM

BOS, PAD, EOS, UNK = range(4)
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>", "ba@@", "ne", "ko", "ri@@", "sa", "tu", "mo@@"]
WIDTH, HEADS, LAYERS, POSITIONS = 16, 4, 2, 32
SENTENCES = ["ba@@ ne sa", "tu", "ko ri@@ sa tu mo@@ ne ko ko ba@@ ne sa"]

MakeFolder = Callable[..., Path]
MakeTable = Callable[[int, int], Tensor]


class Reference:
    """One sentence at a time, without padding, position by position where that is plainest."""

    def __init__(self, folder: Path) -> None:
        checkpoint = read_checkpoint(folder / "checkpoint_best.pt")
        self.w, self.settings = checkpoint.tensors, checkpoint.settings
        self.pre = self.settings["encoder_normalize_before"]

    def linear(self, x: Tensor, name: str) -> Tensor:
        return x @ self.w[f"{name}.weight"].T + self.w[f"{name}.bias"]

    def norm(self, x: Tensor, name: str) -> Tensor:
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
        return (x - mean) / (variance + 1e-5).sqrt() * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def attention(self, x: Tensor, y: Tensor, name: str, causal: bool = False) -> Tensor:
        q, k, v = (self.linear(z, f"{name}.{part}_proj") for z, part in ((x, "q"), (y, "k"), (y, "v")))
        size, heads = WIDTH // HEADS, []
        for start in range(0, WIDTH, size):
            part = slice(start, start + size)
            scores = q[:, part] @ k[:, part].T / math.sqrt(size)
            if causal:
                scores = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -math.inf)
            heads.append(scores.softmax(-1) @ v[:, part])
        return self.linear(torch.cat(heads, -1), f"{name}.out_proj")

    def residual(self, x: Tensor, norm: str, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + sublayer(self.norm(x, norm)) if self.pre else self.norm(x + sublayer(x), norm)

    def feed_forward(self, x: Tensor, name: str) -> Tensor:
        inner = self.linear(x, f"{name}.fc1")
        if self.settings.get("activation_fn") == "gelu":
            return self.linear(inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2))), f"{name}.fc2")
        return self.linear(inner.clamp(min=0), f"{name}.fc2")

    def position(self, side: str, place: int) -> Tensor:
        row = place + PAD + 1
        if f"{side}.embed_positions.weight" in self.w:
            return self.w[f"{side}.embed_positions.weight"][row]
        half = WIDTH // 2
        angles = [row * math.exp(-i * math.log(10000) / (half - 1)) for i in range(half)]
        return torch.tensor([*map(math.sin, angles), *map(math.cos, angles)])

    def layer(self, x: Tensor, name: str, memory: Tensor | None, causal: bool) -> Tensor:
        own, cross = f"{name}.self_attn", f"{name}.encoder_attn"
        x = self.residual(x, f"{own}_layer_norm", lambda h: self.attention(h, h, own, causal))
        if memory is not None:
            x = self.residual(x, f"{cross}_layer_norm", lambda h: self.attention(h, memory, cross))
        return self.residual(x, f"{name}.final_layer_norm", lambda h: self.feed_forward(h, name))

    def run(self, side: str, ids: list[int], memory: Tensor | None = None, causal: bool = False) -> Tensor:
        table = self.w[f"{side}.embed_tokens.weight"]
        scale = 1.0 if self.settings.get("no_scale_embedding") else math.sqrt(WIDTH)
        x = torch.stack([table[token] * scale + self.position(side, place) for place, token in enumerate(ids)])
        for number in range(LAYERS):
            x = self.layer(x, f"{side}.layers.{number}", memory, causal)
        return self.norm(x, f"{side}.layer_norm") if self.pre else x

    def log_probs(self, target: list[int], memory: Tensor, impossible: list[int], causal: bool = False) -> Tensor:
        output = self.w.get("decoder.output_projection.weight", self.w["decoder.embed_tokens.weight"])
        logits = self.run("decoder", target, memory, causal) @ output.T
        logits[:, impossible] = -math.inf
        return logits.log_softmax(-1)

    def lengths(self, memory: Tensor) -> dict[int, float]:
        """Log-probability of each target length, BOS and end mark counted."""
        classes = (memory.mean(0) @ self.w["decoder.embed_length.weight"].T).log_softmax(-1).tolist()
        first = len(memory) - 128 if self.settings.get("pred_length_offset") else 0
        return {first + number: value for number, value in enumerate(classes) if 1 <= first + number <= POSITIONS}

    def mask_predict(self, length: int, memory: Tensor, passes: int) -> tuple[list[int], list[float]]:
        target, sure = [BOS, *[UNK] * (length - 2), EOS], [0.0] * length
        masked = list(range(1, length - 1))
        for t in range(passes):
            if t > 0:
                count = max(1, (length - 2) * (passes - t) // passes)
                masked = sorted(range(1, length - 1), key=lambda place: sure[place])[:count]
            given = [UNK if place in masked else token for place, token in enumerate(target)]
            best = self.log_probs(given, memory, [EOS]).max(-1)
            for place in masked:
                target[place], sure[place] = int(best.indices[place]), float(best.values[place])
        return target, sure


def ids_of(sentence: str) -> list[int]:
    return [SYMBOLS.index(piece) for piece in sentence.split()]


def cmlm_tables(table: MakeTable, *, learned: bool) -> dict[str, Tensor]:
    tokens = table(len(SYMBOLS), 1) * 0.2  # so small that a mask does not simply predict itself
    tables = {"encoder.embed_tokens.weight": tokens, "decoder.embed_tokens.weight": tokens}
    tables["decoder.output_projection.weight"] = tokens
    tables["decoder.embed_length.weight"] = table(256, 9) * 0.5
    for seed, side in enumerate(("encoder", "decoder"), 4):
        name = "weight" if learned else "_float_tensor"
        tables[f"{side}.embed_positions.{name}"] = table(POSITIONS + 2, seed) if learned else torch.zeros(1)
    return tables


@pytest.mark.parametrize(
    ("options", "learned"),
    [
        ({}, False),
        ({"pred_length_offset": True}, False),
        ({"pred_length_offset": True, "pre": True, "activation_fn": "gelu", "in_cfg": True}, True),
        ({"no_scale_embedding": True}, True),
    ],
    ids=["absolute lengths", "relative lengths", "pre-norm, gelu, learned positions", "no scale"],
)
@torch.inference_mode()
def test_a_cmlm_of_fairseq_translates_as_a_plain_reading_of_it_does(
    make_folder: MakeFolder, table: MakeTable, tmp_path: Path, options: dict[str, Any], learned: bool
) -> None:
    folder = make_folder("cmlm_transformer", cmlm_tables(table, learned=learned), **options)
    import_model("fairseq-cmlm", folder, tmp_path / "out")
    found = Translator(tmp_path / "out", device="cpu").translate(
        SENTENCES, pretokenized=True, iterations=3, length_candidates=2
    )
    reference = Reference(folder)
    assert len({token for translation in found for token in translation.tokens}) > 2
    for sentence, translation in zip(SENTENCES, found, strict=True):
        memory = reference.run("encoder", [BOS, *ids_of(sentence), EOS])
        lengths = reference.lengths(memory)
        likeliest = [max(3, n) for n in sorted(lengths, key=lambda n: -lengths[n])[:2]]
        candidates = [reference.mask_predict(length, memory, 3) for length in dict.fromkeys(likeliest)]
        target, sure = max(candidates, key=lambda candidate: sum(candidate[1]) / (len(candidate[1]) - 2))
        assert translation.tokens == [SYMBOLS[token] for token in target[1:]]
        assert translation.log_probs == pytest.approx(sure[1:], abs=1e-4)
        assert translation.lengths == tuple(len(tokens) - 1 for tokens, _ in candidates)
        assert translation.text == " ".join(SYMBOLS[token] for token in target[1:-1])


@pytest.fixture
def fairseq_cmlm(make_folder: MakeFolder, table: MakeTable, tmp_path: Path) -> Translator:
    folder = make_folder("cmlm_transformer", cmlm_tables(table, learned=True))
    import_model("fairseq-cmlm", folder, tmp_path / "cmlm")
    return Translator(tmp_path / "cmlm", device="cpu")


def test_its_ends_are_never_masked_and_no_bos_is_to_be_seen(fairseq_cmlm: Translator) -> None:
    (translation,) = fairseq_cmlm.translate(["ba@@ ne sa"], pretokenized=True, iterations=4, trace=True)
    assert translation.trace is not None
    for step in translation.trace.passes:
        assert len(step.masked) == len(translation.tokens)
        assert step.tokens[-1] == "</s>"
        assert not step.masked[-1]
    assert all(translation.trace.passes[0].masked[:-1])
    assert "<s>" not in translation.tokens


def test_pins_and_scores_work_between_fixed_ends(fairseq_cmlm: Translator) -> None:
    pinned = fairseq_cmlm.translate(SENTENCES, pins=[[("tu", 0), "ko sa"]] * 3, pretokenized=True)
    for translation in pinned:
        assert translation.tokens[0] == "tu"
        assert "ko sa" in translation.text
    found = fairseq_cmlm.translate(SENTENCES, pretokenized=True, length_candidates=1, iterations=1)
    targets = [" ".join(translation.tokens) for translation in found]
    scored = fairseq_cmlm.score(SENTENCES, targets, pretokenized=True, iterations=1)
    assert [s.score for s in scored] == pytest.approx([translation.score for translation in found], abs=1e-6)


def test_it_is_not_trained_here(fairseq_cmlm: Translator, tmp_path: Path) -> None:
    system = load_system(ModelFolder.read(tmp_path / "cmlm"))
    assert isinstance(system, FairseqCMLM)
    rows = pad([[5, EOS]], PAD, torch.device("cpu"), slot=True)
    with pytest.raises(UserError, match="only imported"):
        system.loss(Batch(rows, rows))


@pytest.mark.parametrize("options", [{}, {"pre": True}], ids=["post-norm", "pre-norm"])
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "separate"])
@torch.inference_mode()
def test_an_autoregressive_model_of_fairseq_translates_as_a_plain_reading_of_it_does(
    make_folder: MakeFolder, table: MakeTable, tmp_path: Path, options: dict[str, Any], tied: bool
) -> None:
    tokens = table(len(SYMBOLS), 1) * 0.6
    tables = {"encoder.embed_tokens.weight": tokens, "decoder.embed_tokens.weight": tokens}
    tables["decoder.output_projection.weight"] = tokens if tied else table(len(SYMBOLS), 2)
    folder = make_folder("transformer_iwslt_de_en", tables, **options)
    import_model("fairseq-transformer", folder, tmp_path / "out")
    translator, reference = Translator(tmp_path / "out", device="cpu"), Reference(folder)
    found = translator.translate(SENTENCES, pretokenized=True, beam_size=1, max_length_ratio=0.0)
    for sentence, translation in zip(SENTENCES, found, strict=True):
        memory = reference.run("encoder", [*ids_of(sentence), EOS])
        target, expected = [EOS], []  # the end mark comes first
        while len(target) < len(translation.tokens) + 1:
            log_probs = reference.log_probs(target, memory, [BOS, PAD], causal=True)[-1]
            # The search ends its longest hypothesis with the end mark, whatever the model would like.
            target.append(EOS if len(target) == 10 else int(log_probs.argmax()))
            expected.append(float(log_probs[target[-1]]))
        assert translation.tokens == [SYMBOLS[token] for token in target[1:]]
        assert translation.log_probs == pytest.approx(expected, abs=1e-4)


def test_fairseq_folders_are_recognised(make_folder: MakeFolder, table: MakeTable) -> None:
    folder = make_folder("cmlm_transformer_wmt_en_de", cmlm_tables(table, learned=False))
    found = CliRunner().invoke(app, ["inspect", str(folder)], catch_exceptions=False, env={"COLUMNS": "200"})
    assert found.exit_code == 0, found.stderr
    assert "a CMLM of fairseq" in found.stdout
    assert "maskpredict import fairseq-cmlm" in found.stdout
