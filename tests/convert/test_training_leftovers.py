"""Checkpoints of 2019 carry objects of the training loop; they are read past, without the classes they came from."""

from __future__ import annotations

import argparse
import pickle
import sys
import types
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from maskpredict.convert.checkpoint import read_checkpoint
from maskpredict.errors import UserError

CHECKPOINT = "checkpoint_best_average.pt"
METERS = ("AverageMeter", "TimeMeter", "StopwatchMeter")


def save_with_meters(release: Path, path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]) -> None:
    """The released checkpoint again, with the `extra_state` that fairseq's trainer adds."""
    with torch.serialization.safe_globals([argparse.Namespace]):
        content = torch.load(release / CHECKPOINT, weights_only=True)
    module = types.ModuleType("fairseq.meters")
    classes = [type(name, (), {"__module__": module.__name__}) for name in names]
    meters = OrderedDict((name, kind()) for name, kind in zip(names, classes, strict=True))
    for kind, meter in zip(classes, meters.values(), strict=True):
        setattr(module, kind.__name__, kind)
        vars(meter).update(avg=torch.ones(1), sum=2.0, count=1, start=None)
    with monkeypatch.context() as patch:  # while it is written, and no longer, the class exists
        patch.setitem(sys.modules, "fairseq", types.ModuleType("fairseq"))
        patch.setitem(sys.modules, "fairseq.meters", module)
        content["extra_state"] = {"train_meters": meters, "epoch": 3}
        torch.save(content, path, _use_new_zipfile_serialization=False)


def test_meters_make_no_difference(release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_with_meters(release, tmp_path / CHECKPOINT, monkeypatch, METERS)
    assert b"fairseq.meters" in (tmp_path / CHECKPOINT).read_bytes()
    found, plain = read_checkpoint(tmp_path / CHECKPOINT), read_checkpoint(release / CHECKPOINT)
    assert found.settings == plain.settings
    assert found.tensors.keys() == plain.tensors.keys()
    assert all(torch.equal(found.tensors[name], tensor) for name, tensor in plain.tensors.items())
    assert "fairseq" not in sys.modules


def test_another_class_of_the_same_program_is_refused(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_with_meters(release, tmp_path / CHECKPOINT, monkeypatch, ("ProgressMeter",))
    with pytest.raises(UserError, match=r"holds more than weights and settings \(fairseq\.meters\.ProgressMeter\)"):
        read_checkpoint(tmp_path / CHECKPOINT)


def test_a_meter_cannot_smuggle_in_a_call(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    # A meter whose state is the result of a call: os.system("touch ran").
    trap = (
        b"\x80\x02cfairseq.meters\nTimeMeter\n)\x81cposix\nsystem\nX"
        + len(f"touch {ran}").to_bytes(4, "little")
        + f"touch {ran}".encode()
        + b"\x85Rb."
    )
    assert pickle.loads(trap.replace(b"cfairseq.meters\nTimeMeter\n", b"cargparse\nNamespace\n").replace(b"b.", b"0."))
    assert ran.exists()  # it would have worked
    ran.unlink()
    (tmp_path / CHECKPOINT).write_bytes(trap)
    with pytest.raises(UserError, match=r"posix\.system.*refused"):
        read_checkpoint(tmp_path / CHECKPOINT)
    assert not ran.exists()
