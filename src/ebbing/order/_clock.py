"""Time limits that also end at Ctrl-C.

Inside `heed_interrupts` the first Ctrl-C only sets a flag. Every `Clock` looks at it, so searches end between two
slices of work with what they have found, and nothing is left half done. A second Ctrl-C raises KeyboardInterrupt.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from types import FrameType

SOON = 1.0
"""Seconds that may pass after the limit, or after Ctrl-C, for a bound and for the values of known orders."""


class _Interrupts(threading.local):
    """Whether this thread was asked to end; signals reach the main thread only."""

    depth = 0
    requested = False


_interrupts = _Interrupts()


def _request(number: int, frame: FrameType | None) -> None:
    if _interrupts.requested:
        raise KeyboardInterrupt
    _interrupts.requested = True


@contextmanager
def heed_interrupts() -> Iterator[None]:
    """Let the first Ctrl-C end the searches inside, which then return the best order found.

    Handlers of SIGINT other than Python's own are left alone.

    Yields:
        Nothing.

    Example:
        >>> with heed_interrupts():
        ...     signal.raise_signal(signal.SIGINT)
        ...     interrupt_requested(), Clock().late
        (True, True)
        >>> interrupt_requested()
        False
    """
    outermost = _interrupts.depth == 0
    in_main_thread = threading.current_thread() is threading.main_thread()
    handled = outermost and in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    _interrupts.depth += 1
    try:
        if handled:
            signal.signal(signal.SIGINT, _request)
        yield
    finally:
        if handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _interrupts.depth -= 1
        if outermost:
            _interrupts.requested = False


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt at the end, not in the middle, of work that must not be left half done.

    Yields:
        Nothing.

    Raises:
        KeyboardInterrupt: If Ctrl-C was pressed meanwhile, and no search around this heeds it.
    """
    with heed_interrupts():
        yield
        requested = _interrupts.requested and _interrupts.depth == 1
    if requested:
        raise KeyboardInterrupt


def interrupt_requested() -> bool:
    """Return whether Ctrl-C has asked the current search to end."""
    return _interrupts.requested


def heeding(progress: Callable[[str], None] | None) -> Callable[[str], None]:
    """Return the user's progress function, from which KeyboardInterrupt counts as Ctrl-C; without one, do nothing."""

    def report(line: str) -> None:
        try:
            if progress and not _interrupts.requested:
                progress(line)
        except KeyboardInterrupt:
            _interrupts.requested = True

    return report


class Clock:
    """A time limit: `late` when the time is up or Ctrl-C was pressed.

    >>> Clock(0.0).late, Clock(60.0).late
    (True, False)
    """

    def __init__(self, seconds: float = inf) -> None:
        self._deadline = time.monotonic() + seconds

    @property
    def late(self) -> bool:
        """Whether to end."""
        return _interrupts.requested or time.monotonic() >= self._deadline

    @property
    def left(self) -> float:
        """Seconds left, not below zero."""
        return 0.0 if _interrupts.requested else max(0.0, self._deadline - time.monotonic())
