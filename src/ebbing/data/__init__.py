"""Real data: cached, checked whenever it is used, fetched from where it can be had.

`ebbing.data.mnist()` and `ebbing.data.cifar100()` are the data; `status`, `fetch` and `remove` look after the cache,
whose place is `folder()`.
"""

from __future__ import annotations

import os

from ebbing.data import _cache
from ebbing.data._cache import CachedFile, Collection, DataError, folder
from ebbing.data._sources import Progress
from ebbing.data.cifar100 import CIFAR100, Cifar100, cifar100
from ebbing.data.mnist import MNIST, Mnist, mnist

__all__ = [
    "COLLECTIONS",
    "CachedFile",
    "Cifar100",
    "Collection",
    "DataError",
    "Mnist",
    "cifar100",
    "fetch",
    "folder",
    "mnist",
    "remove",
    "status",
]

COLLECTIONS = {collection.name: collection for collection in (MNIST, CIFAR100)}
"""Everything that can be fetched, by name."""


def status(name: str | None = None) -> tuple[CachedFile, ...]:
    """Each file of a collection, or of all: where it is or would be, how large, and whether it is verified.

    >>> [entry.path.name for entry in status("mnist")][:2]
    ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte']
    """
    return tuple(entry for collection in _named(name) for entry in _cache.status(collection))


def fetch(
    name: str | None = None, progress: Progress | None = None, file: str | os.PathLike[str] | None = None
) -> tuple[DataError, ...]:
    """Get what is missing or damaged of a collection, or of all, into the cache; CIFAR-100 from `file`, if given.

    A collection that is asked for by name and cannot be had is an error. If all are asked for, those that can be had
    are got, and why the others cannot be is returned; only if none can be had is that an error.
    """
    if file is not None and name is None:
        raise ValueError(f"file={os.fspath(file)!r}: say which data it holds: cifar100")
    failures: list[DataError] = []
    wanted = _named(name)
    for collection in wanted:
        try:
            _cache.load(collection, progress, file)
        except DataError as failure:
            if len(wanted) == 1 or failure.errno is not None:  # a cache that cannot be written concerns all
                raise
            failures.append(failure)
    if len(failures) == len(wanted):
        raise DataError("\n".join(map(str, failures)))
    return tuple(failures)


def remove(name: str) -> int:
    """Take a collection out of the cache; returns the bytes freed."""
    return sum(_cache.remove(collection) for collection in _named(name))


def _named(name: str | None) -> list[Collection]:
    if name is None:
        return list(COLLECTIONS.values())
    if name not in COLLECTIONS:
        raise ValueError(f"{name!r}: no such data; there is {', '.join(COLLECTIONS)}")
    return [COLLECTIONS[name]]
