"""A cache that does not keep alive what it is about."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

K = TypeVar("K")
V = TypeVar("V")


def weakly_cached(function: Callable[[K], V]) -> Callable[[K], V]:
    """Remember what a function of one object returns, for as long as the object lives.

    The object must never change, and what is returned must not hold it, or it would live forever. Threads that ask at
    the same time may compute it twice.

    Args:
        function: The function.

    Returns:
        The function with a memory.

    Example:
        >>> class Task:
        ...     pass
        >>> task = Task()
        >>> number = weakly_cached(lambda task: print("computed") or 3)
        >>> number(task), number(task)
        computed
        (3, 3)
    """
    known: WeakKeyDictionary[K, V] = WeakKeyDictionary()

    @wraps(function)
    def remembered(key: K) -> V:
        try:
            return known[key]
        except KeyError:
            value = known[key] = function(key)
            return value

    return remembered
