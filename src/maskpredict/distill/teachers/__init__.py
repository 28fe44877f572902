"""Teachers that translate text: ours, models of transformers and CTranslate2, and commands. One file each."""

from __future__ import annotations

import hashlib
from pathlib import Path

from maskpredict.corpus.dataset import sha256
from maskpredict.distill.teachers.base import ScoredText, TeacherConfig, TextTeacher, best_translations
from maskpredict.extras import require
from maskpredict.runtime.find_model import find_model

__all__ = ["ScoredText", "TeacherConfig", "TextTeacher", "best_translations", "open_teacher", "teacher_digest"]

_WEIGHTS = ("*.safetensors", "model.bin", "pytorch_model*.bin")


def open_teacher(config: TeacherConfig) -> TextTeacher:
    """Load the teacher onto its device, or say in one sentence why it cannot translate these languages."""
    if config.kind == "command":
        from maskpredict.distill.teachers.command import CommandTeacher

        return CommandTeacher(config)
    if config.kind == "translator":
        from maskpredict.distill.teachers.translator import TranslatorTeacher

        return TranslatorTeacher(config)
    if config.kind:
        require("teachers", f"the teacher {config.teacher}", [config.kind])
    if config.kind == "transformers":
        from maskpredict.distill.teachers.transformers_model import TransformersTeacher

        return TransformersTeacher(config)
    if config.kind == "ctranslate2":
        from maskpredict.distill.teachers.ctranslate2_folder import CTranslate2Teacher

        return CTranslate2Teacher(config)
    from maskpredict.distill.teachers.ours import OurTeacher

    return OurTeacher(config)


def teacher_digest(config: TeacherConfig) -> str:
    """SHA-256 that tells teachers apart: of the weights of a folder, or of a name or command."""
    folder = find_model(config.model) if config.kind in ("", "translator") else Path(config.model)
    weights = [path for pattern in _WEIGHTS for path in sorted(folder.glob(pattern))]
    parts = [sha256(path) for path in weights] or [config.teacher]
    return parts[0] if len(parts) == 1 else hashlib.sha256("".join(parts).encode()).hexdigest()
