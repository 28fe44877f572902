"""Instruction sets of this computer's CPU, as NumPy detects them when it is imported."""

from __future__ import annotations

import platform

from numpy._core._multiarray_umath import __cpu_features__ as _features  # type: ignore[import-not-found]


def is_x86() -> bool:
    """Return whether this is an x86-64 CPU."""
    return platform.machine().lower() in ("x86_64", "amd64")


def has_avx2() -> bool:
    """Return whether AVX2 is supported."""
    return bool(_features.get("AVX2", False))


def has_vnni() -> bool:
    """Return whether AVX-512 VNNI is supported: dot products of int8 that accumulate in int32 without saturating."""
    return bool(_features.get("AVX512VNNI", False))


def int8_sums_saturate() -> bool:
    """Return whether int8 dot products may overflow: x86 without VNNI adds pairs of products in 16 bits.

    With seven bits for either factor the sums fit everywhere.
    """
    return is_x86() and not has_vnni()
