"""Real data: cached, checked whenever it is used, fetched from where it can be had.

`ebbing.data.mnist()` is the data; `status`, `fetch` and `remove` look after the cache, whose place is `folder()`.
"""

from __future__ import annotations

from ebbing.data import cache
from ebbing.data.cache import Collection, DataError, Entry, folder
from ebbing.data.mnist import MNIST, Mnist, mnist
from ebbing.data.sources import Progress

__all__ = ["COLLECTIONS", "Collection", "DataError", "Entry", "Mnist", "fetch", "folder", "mnist", "remove", "status"]

COLLECTIONS = {collection.name: collection for collection in (MNIST,)}
"""Everything that can be fetched, by name."""


def status(name: str | None = None) -> tuple[Entry, ...]:
    """Each file of a collection, or of all: where it is or would be, how large, and whether it is verified.

    >>> [entry.path.name for entry in status("mnist")][:2]
    ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte']
    """
    return tuple(entry for collection in _named(name) for entry in cache.status(collection))


def fetch(name: str | None = None, progress: Progress | None = None) -> None:
    """Get what is missing or damaged of a collection, or of all, into the cache."""
    for collection in _named(name):
        cache.load(collection, progress)


def remove(name: str) -> int:
    """Take a collection out of the cache; returns the bytes freed."""
    return sum(cache.remove(collection) for collection in _named(name))


def _named(name: str | None) -> list[Collection]:
    if name is None:
        return list(COLLECTIONS.values())
    if name not in COLLECTIONS:
        raise ValueError(f"{name!r}: no such data; there is {', '.join(COLLECTIONS)}")
    return [COLLECTIONS[name]]
