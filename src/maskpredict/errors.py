"""The one exception that means "the user can fix this"; anything else that escapes is a bug."""

from __future__ import annotations


class UserError(Exception):
    """A mistake the user can put right: one sentence saying what is wrong and what to do about it.

    The command line prints the sentence without a traceback and exits with code 2.
    """
