"""Foreign folders: the authors' fixture beside the repository, and small checkpoints made here."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from maskpredict.convert.importing import import_model

FIXTURE = Path(__file__).parents[3] / "shared" / "fixtures" / "original-tiny"
WORDS = ("ba@@", "ne", "ko", "ri@@", "sa", "tu", "mo@@")
WIDTH, HIDDEN, HEADS, LAYERS, POSITIONS = 16, 24, 4, 2, 32

MakeFolder = Callable[..., Path]


@pytest.fixture(scope="session")
def release() -> Path:
    """A folder as the authors published them, with random weights and what their program answered."""
    assert FIXTURE.is_dir(), f"{FIXTURE} is missing; these tests need the folder shared/ beside the repository"
    return FIXTURE


@pytest.fixture(scope="session")
def imported(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That folder after the import."""
    out = tmp_path_factory.mktemp("imported") / "model"
    import_model("mask-predict-release", release, out)
    return out


def random_tensors(*, fused: bool, old_norms: bool, pre: bool, seed: int = 3) -> dict[str, Tensor]:
    """The layers of a transformer under fairseq's names, newer or older ones."""
    generator = torch.Generator().manual_seed(seed)
    tensors: dict[str, Tensor] = {}

    def linear(name: str, rows: int, columns: int) -> None:
        tensors[f"{name}.weight"] = torch.randn(rows, columns, generator=generator) * 0.3
        tensors[f"{name}.bias"] = torch.randn(rows, generator=generator) * 0.1

    def attention(name: str) -> None:
        for part in ("q", "k", "v"):
            linear(f"{name}.{part}_proj", WIDTH, WIDTH)
        linear(f"{name}.out_proj", WIDTH, WIDTH)
        if fused:
            for kind in ("weight", "bias"):
                parts = [tensors.pop(f"{name}.{part}_proj.{kind}") for part in ("q", "k", "v")]
                tensors[f"{name}.in_proj_{kind}"] = torch.cat(parts)

    def norm(name: str) -> None:
        tensors[f"{name}.{'gamma' if old_norms else 'weight'}"] = 1 + torch.randn(WIDTH, generator=generator) * 0.2
        tensors[f"{name}.{'beta' if old_norms else 'bias'}"] = torch.randn(WIDTH, generator=generator) * 0.2

    for side in ("encoder", "decoder"):
        for layer in (f"{side}.layers.{number}" for number in range(LAYERS)):
            attention(f"{layer}.self_attn")
            linear(f"{layer}.fc1", HIDDEN, WIDTH)
            linear(f"{layer}.fc2", WIDTH, HIDDEN)
            numbered = old_norms and side == "encoder"
            norm(f"{layer}.layer_norms.0" if numbered else f"{layer}.self_attn_layer_norm")
            norm(f"{layer}.layer_norms.1" if numbered else f"{layer}.final_layer_norm")
            if side == "decoder":
                attention(f"{layer}.encoder_attn")
                norm(f"{layer}.encoder_attn_layer_norm")
        if pre:
            norm(f"{side}.layer_norm")
        tensors[f"{side}.version"] = torch.tensor([3.0])
    return tensors


def random_table(rows: int, seed: int) -> Tensor:
    """An embedding table whose row of PAD is zero, as fairseq has it."""
    table = torch.randn(rows, WIDTH, generator=torch.Generator().manual_seed(seed))
    table[1] = 0
    return table


@pytest.fixture
def make_folder(tmp_path: Path) -> MakeFolder:
    """Writes a foreign folder: `tables` beside the layers, `settings` over the usual ones."""

    def make(
        arch: str,
        tables: dict[str, Tensor],
        *,
        fused: bool = False,
        old_norms: bool = False,
        pre: bool = False,
        in_cfg: bool = False,
        **settings: Any,
    ) -> Path:
        values = {"arch": arch, "source_lang": "xx", "target_lang": "yy", "dropout": 0.1, **settings}
        for side in ("encoder", "decoder"):
            sizes = {"embed_dim": WIDTH, "ffn_embed_dim": HIDDEN, "attention_heads": HEADS, "layers": LAYERS}
            values |= {f"{side}_{name}": size for name, size in sizes.items()} | {f"{side}_normalize_before": pre}
        values |= {"max_source_positions": POSITIONS, "max_target_positions": POSITIONS, **settings}
        model = {**random_tensors(fused=fused, old_norms=old_norms, pre=pre), **tables}
        folder = tmp_path / "foreign"
        folder.mkdir()
        args = argparse.Namespace(**values)
        settings_part = {"args": None, "cfg": {"model": args, "task": {}}} if in_cfg else {"args": args}
        torch.save({**settings_part, "model": model}, folder / "checkpoint_best.pt")
        for language in ("xx", "yy"):
            lines = "".join(f"{word} {len(WORDS) - place}\n" for place, word in enumerate(WORDS))
            (folder / f"dict.{language}.txt").write_text(lines)
        return folder

    return make


@pytest.fixture(scope="session")
def table() -> Callable[[int, int], Tensor]:
    """Makes embedding tables: rows, seed."""
    return random_table
