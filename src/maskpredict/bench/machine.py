"""Description of the machine that a race ran on, and the load of other processes on it."""

from __future__ import annotations

import os
import platform
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

import maskpredict

FLAGS = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16", "asimddp", "i8mm", "sve")
"""Instruction sets that determine the speed of int8 and half precision."""
PACKAGES = ("torch", "onnxruntime", "ctranslate2", "transformers", "sentencepiece", "sacrebleu")
SPARE = 0.1
"""Fraction of a core that other processes may take from the racers before the results get a warning."""


@dataclass(frozen=True)
class Machine:
    """Hardware and software versions that affect speed."""

    cpu: str
    cores: int
    """Cores available to this process."""
    flags: tuple[str, ...]
    """Instruction sets of `FLAGS` that the CPU has."""
    memory_gb: float
    gpu: str
    """Name of the GPU; empty on a CPU."""
    threads: int
    """CPU threads of each racer."""
    system: str
    versions: dict[str, str]

    def is_crowded_by(self, busy_cores: float) -> bool:
        """True if other processes keep so many cores busy that too few are left for the racers."""
        return busy_cores > self.cores - self.threads + SPARE


def describe_machine(device: str, threads: int) -> Machine:
    """Describe the current machine."""
    cpuinfo = _cpuinfo()
    cpu_flags = cpuinfo.get("flags", cpuinfo.get("Features", "")).split()
    return Machine(
        cpu=cpuinfo.get("model name") or platform.processor() or platform.machine(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        flags=tuple(flag for flag in FLAGS if flag in cpu_flags),
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        gpu=torch.cuda.get_device_name(device) if device.startswith("cuda") else "",
        threads=threads,
        system=f"{platform.system()} {platform.release()}",
        versions=_versions(),
    )


class BackgroundLoad:
    """CPU load of other processes since this object was created."""

    def __init__(self) -> None:
        self._start, self._before = time.monotonic(), _other_cpu_seconds()

    def cores(self) -> float | None:
        """Mean number of cores they kept busy; None if the system does not report it."""
        now = _other_cpu_seconds()
        if now is None or self._before is None:
            return None
        return max(0.0, now - self._before) / (time.monotonic() - self._start)


def _other_cpu_seconds() -> float | None:
    """CPU seconds of all processes except this one and its children."""
    path = Path("/proc/stat")
    if not path.exists():
        return None
    user, nice, system, _idle, _waiting, *interrupts = map(int, path.read_text().splitlines()[0].split()[1:9])
    by_all = (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
    finished = os.times()
    return by_all - time.process_time() - finished.children_user - finished.children_system - _children_cpu_seconds()


def _children_cpu_seconds() -> float:
    """CPU seconds of the running child processes."""
    seconds = 0.0
    for path in Path("/proc/self/task").glob("*/children"):
        for child in path.read_text().split():
            with suppress(OSError):  # it has just ended
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def _cpuinfo() -> dict[str, str]:
    """Entry of the first core in /proc/cpuinfo; empty on other systems than Linux."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first, _, _ = path.read_text(encoding="utf-8").partition("\n\n")
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _versions() -> dict[str, str]:
    versions = {"maskpredict": maskpredict.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
