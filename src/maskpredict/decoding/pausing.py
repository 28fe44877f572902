"""Pauses inside a translation.

A search calls `pause` before each pass. It does nothing unless the thread is inside `pausing(hook)`: then it calls
`hook`, which may wait while other work is done, or raise an exception to abandon the translation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_hook: ContextVar[Callable[[], None] | None] = ContextVar("hook", default=None)


def pause() -> None:
    """Call the hook of the surrounding `pausing`, if there is one."""
    hook = _hook.get()
    if hook is not None:
        hook()


@contextmanager
def pausing(hook: Callable[[], None]) -> Iterator[None]:
    """Return a context in which `pause` calls `hook`, in this thread alone."""
    token = _hook.set(hook)
    try:
        yield
    finally:
        _hook.reset(token)
