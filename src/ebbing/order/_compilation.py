"""Compile the loops of the order search with numba, or run them as plain Python where numba is not installed.

The arithmetic is the same in both cases. Plain Python is about a hundred times slower: with equal n and sigma, a proof
takes seconds for 12 tasks and about half a minute for 16.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from ebbing.order._clock import defer_interrupts, interrupt_requested

try:
    with defer_interrupts():  # numba swallows a KeyboardInterrupt while it is imported
        from numba import njit
except ImportError:
    njit = None

COMPILED = njit is not None
"""Whether numba compiles the loops."""

SLOWDOWN = 1 if COMPILED else 100
"""About how many times longer a loop takes than when it is compiled; the searches look at the clock accordingly."""

LARGEST_PLAIN_SEARCH = 100
"""Tasks up to which a search without numba is sensible: the first descent from a random order takes 10 seconds."""

_STACK = 2**26  # bytes, for the compiler; some systems give threads much less than the main one

_PLAIN = "plain Python; pip install 'ebbing[fast]' makes the search about 100 times faster"


def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel on its first call and cache the result on disk; without numba, return the kernel unchanged."""
    return kernel if njit is None else njit(cache=True)(kernel)


class _Compilation(threading.Thread):
    """Calls kernels for the first time, in a thread of its own: Ctrl-C would leave numba in an unusable state."""

    started: dict[str, "_Compilation"] = {}  # noqa: RUF012  (shared on purpose)

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(name="ebbing compiles", daemon=True)
        self._call = call
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # raised again by those who wait
            self.error = error


def compile_first(name: str, call: Callable[[], object], report: Callable[[str], None]) -> bool:
    """Make `call`, which compiles kernels, once in this process; return False if Ctrl-C ended the wait for it.

    Args:
        name: What is compiled; the same name is not compiled again.
        call: Calls every kernel.
        report: Is told about it while it lasts.

    Returns:
        Whether the kernels are ready; without numba they always are.
    """
    if not COMPILED:
        return True
    if name not in _Compilation.started:
        usual = threading.stack_size(_STACK)
        try:
            thread = _Compilation.started[name] = _Compilation(call)
            thread.start()
        finally:
            threading.stack_size(usual)
    thread, began = _Compilation.started[name], time.monotonic()
    thread.join(0.05)
    while thread.is_alive() and not interrupt_requested():
        report(f"compiling the search, once; not part of its time ({time.monotonic() - began:.0f} s)")
        thread.join(0.1)
    if thread.error is not None:
        raise _Compilation.started.pop(name).error or RuntimeError
    return not thread.is_alive()


def compiling() -> bool:
    """Return whether kernels are being compiled, which goes on after Ctrl-C has ended the wait for them."""
    return any(thread.is_alive() for thread in _Compilation.started.values())


def describe_method(method: str) -> str:
    """Return the name of a search method; without numba it says so, and how to make the search faster."""
    return method if COMPILED else f"{method}, {_PLAIN}"


def check_searchable(T: int) -> None:
    """Raise an error if T tasks are too many for a search in plain Python."""
    if not COMPILED and T > LARGEST_PLAIN_SEARCH:
        raise ModuleNotFoundError(
            f"T={T}: without numba an order is searched for at most {LARGEST_PLAIN_SEARCH} tasks; "
            "install it with pip install 'ebbing[fast]', or use objective='generalization', which needs no search",
            name="numba",
        )
