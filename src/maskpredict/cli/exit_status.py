"""Exit codes of verbs: 0, or 2 with one sentence for a mistake of the user, or 130 when interrupted.

Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer
from safetensors import SafetensorError

from maskpredict.disk_errors import disk_error
from maskpredict.errors import UserError

USER_ERROR, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}

P = ParamSpec("P")
R = TypeVar("R")


def with_exit_status(verb: Callable[P, R]) -> Callable[P, R]:
    """The verb, with its errors turned into a sentence on stderr and an exit code."""

    @functools.wraps(verb)
    def run(*arguments: P.args, **options: P.kwargs) -> R:
        threading.excepthook = _thread_failed
        try:
            result = verb(*arguments, **options)
            sys.stdout.flush()  # a full disk or a closed pipe must be noticed here, not while Python shuts down
            return result
        except UserError as error:
            raise _failed(str(error)) from None
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:
            _drop_output()
            raise SystemExit(PIPE_CLOSED) from None
        except (OSError, SafetensorError) as error:
            if sentence := disk_error(error):
                _drop_output()
                raise _failed(sentence) from None
            if isinstance(error, OSError) and error.errno in _NOT_ALLOWED and error.filename:
                raise _failed(f"{error.filename} cannot be used: {error.strerror}.") from None
            raise

    return run


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    """Print the traceback of a thread, unless it met a failing disk, which the main thread says in a sentence."""
    if failure.exc_value is None or disk_error(failure.exc_value) is None:
        threading.__excepthook__(failure)


def _failed(sentence: str) -> SystemExit:
    typer.echo(f"error: {sentence}", err=True)
    return SystemExit(USER_ERROR)


def _drop_output() -> None:
    """Discard buffered output, which Python would otherwise fail to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
