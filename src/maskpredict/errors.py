"""The exception for mistakes of the user; any other exception is a bug."""

from __future__ import annotations


class UserError(Exception):
    """A mistake of the user: one sentence on what is wrong and what to do.

    The command line prints the sentence without a traceback and exits with code 2.
    """
