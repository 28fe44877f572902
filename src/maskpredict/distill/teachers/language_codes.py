"""Language codes of multilingual models, found by the form of their tokens in the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from maskpredict.errors import UserError


@dataclass(frozen=True)
class CodeForm:
    """The tokens by which a family of models names languages."""

    pattern: str
    """Regular expression of a token, with the code in brackets."""
    on_both_sides: bool
    """True if source and translation each begin with their language; False if the source begins with the target's."""

    def codes(self, vocabulary: Collection[str]) -> dict[str, str]:
        """The tokens of all languages, by their codes."""
        matches = (re.fullmatch(self.pattern, token) for token in vocabulary)
        return {match[1]: match[0] for match in matches if match}


MARIAN = CodeForm(r">>(.+)<<", on_both_sides=False)
MADLAD = CodeForm(r"<2([A-Za-z_]+)>", on_both_sides=False)
NLLB = CodeForm(r"([a-z]{3}_[A-Z][a-z]{3})", on_both_sides=True)
M2M100 = CodeForm(r"__([a-z]{2,3})__", on_both_sides=True)
MBART50 = CodeForm(r"([a-z]{2}_[A-Z]{2})", on_both_sides=True)
FORMS = (MARIAN, MADLAD, NLLB, M2M100, MBART50)


def language_token(form: CodeForm, vocabulary: Collection[str], code: str, language: str, key: str) -> str:
    """The token of a language: that of `code`, or else of the only code that is or begins with `language`.

    `key` names the setting of `code` in the error message.
    """
    tokens = form.codes(vocabulary)
    wanted = code or language
    near = [known for known in tokens if known.startswith(f"{wanted}_")]
    if wanted in tokens:
        return tokens[wanted]
    if not code and len(near) == 1:
        return tokens[near[0]]
    near = near or sorted(known for known in tokens if known[:2] == wanted[:2])
    listed = ", ".join(near[:4] or sorted(tokens)[:4])
    raise UserError(
        f"the teacher does not know the language {wanted!r}; set {key} to one of its {len(tokens)} codes, "
        f"such as {listed}."
    )
