"""Distillation by text: any teacher translates any sources; the student has a vocabulary of its own."""

from __future__ import annotations

from maskpredict.distill.by_text.config import FilterConfig, TextConfig, TextDistillConfig
from maskpredict.distill.by_text.report import TextDistillReport
from maskpredict.distill.by_text.run import distill_text

__all__ = ["FilterConfig", "TextConfig", "TextDistillConfig", "TextDistillReport", "distill_text"]
