"""Compile the loops of the order search with numba, or run them as plain Python where numba is not installed.

The arithmetic is the same in both cases. Plain Python is about a hundred times slower: with equal n and sigma, a proof
takes seconds for 12 tasks and about half a minute for 16.
"""

from collections.abc import Callable
from typing import Any

try:
    from numba import njit
except ImportError:
    njit = None

COMPILED = njit is not None
"""Whether numba compiles the loops."""

SLOWDOWN = 1 if COMPILED else 100
"""About how many times longer a loop takes than when it is compiled; the searches look at the clock accordingly."""

LARGEST_PLAIN_SEARCH = 100
"""Tasks up to which a search without numba is sensible: the first descent from a random order takes 10 seconds."""

_PLAIN = "plain Python; pip install 'ebbing[fast]' makes the search about 100 times faster"


def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel on its first call and cache the result on disk; without numba, return the kernel unchanged."""
    return kernel if njit is None else njit(cache=True)(kernel)


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
