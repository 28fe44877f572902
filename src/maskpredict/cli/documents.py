"""`maskpredict translate` of a document, whose format its name tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskpredict.cli.streams import with_progress
from maskpredict.errors import UserError
from maskpredict.new_file import new_file

if TYPE_CHECKING:
    from maskpredict.runtime.translator import Translator


def translate_document(
    open_model: Callable[[], Translator],
    file: Path,
    output_file: Path | None,
    glossary: Path | None = None,
    **options: Any,
) -> None:
    """Translate a document into another of the same format; `options` are those of `Translator.translate_lines`."""
    from maskpredict.documents.document import SegmentedDocument
    from maskpredict.documents.formats import read_document

    if output_file is None:
        raise UserError(f"the translation of {file.name} needs a file: give one with -o, as in -o out{file.suffix}.")
    if output_file.suffix.lower() != file.suffix.lower():
        raise UserError(f"{output_file.name} has another ending than {file.name}; formats are not converted.")
    try:
        document = read_document(file.name, file.read_bytes())
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from error
    except UserError as error:
        raise UserError(f"{file}: {error}") from error
    translator = open_model()
    segmented = SegmentedDocument.split(document, translator.languages.source)
    terms = None if glossary is None else translator.open_glossary(glossary)
    lines = [replace(line, glossary=terms) for line in segmented.lines]
    translations = list(
        with_progress(translator.translate_lines(lines, **options), "Translating", output_file, total=len(lines))
    )
    with new_file(output_file) as stream:
        stream.write(segmented.replace(translations))
