"""Datasets: fetched from public sources, cached, and verified whenever they are used.

`ebbing.data.mnist()`, `fashion_mnist()` and `cifar100()` return the data; `status`, `fetch` and `remove` manage the
cache, which is in `cache_folder()`. `fortunes()` returns short texts by topic, from a package of the system.
"""

from __future__ import annotations

import os

from ebbing.data import _cache
from ebbing.data._cache import CachedFile, DataError, DatasetFiles, cache_folder
from ebbing.data._sources import Progress
from ebbing.data.cifar100 import CIFAR100, Cifar100, cifar100
from ebbing.data.fashion_mnist import FASHION_MNIST, fashion_mnist
from ebbing.data.fortunes import fortunes
from ebbing.data.mnist import MNIST, Mnist, mnist

__all__ = [
    "DATASETS",
    "CachedFile",
    "Cifar100",
    "DataError",
    "DatasetFiles",
    "Mnist",
    "cache_folder",
    "cifar100",
    "fashion_mnist",
    "fetch",
    "fortunes",
    "mnist",
    "remove",
    "status",
]

DATASETS = {dataset.name: dataset for dataset in (MNIST, FASHION_MNIST, CIFAR100)}
"""The files and sources of all datasets, as `DatasetFiles` by name: "mnist", "fashion-mnist", "cifar100"."""


def status(name: str | None = None) -> tuple[CachedFile, ...]:
    """Return the state of the files of one dataset, or of all: path, size, and whether they are valid.

    Args:
        name: Name of a dataset, or None for all.

    Returns:
        One state per file.

    Example:
        >>> [file.path.name for file in status("mnist")][:2]
        ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte']
    """
    return tuple(file for dataset in _select(name) for file in _cache.status(dataset))


def fetch(
    name: str | None = None, progress: Progress | None = None, file: str | os.PathLike[str] | None = None
) -> tuple[DataError, ...]:
    """Fetch what is missing or damaged in the cache, of one dataset or of all.

    Args:
        name: Name of a dataset, or None for all.
        progress: A function that is called often, with a line of text, while something is fetched.
        file: A file that contains the dataset (only for CIFAR-100).

    Returns:
        The errors of the datasets that could not be fetched, if all were requested and some could be fetched.

    Raises:
        ValueError: If the name is unknown, or `file` is given without a name.
        DataError: If none of the requested datasets could be fetched, or the cache cannot be written to.
    """
    if file is not None and name is None:
        raise ValueError(f"file={os.fspath(file)!r}: say which dataset it contains: cifar100")
    errors: list[DataError] = []
    datasets = _select(name)
    for dataset in datasets:
        try:
            _cache.load(dataset, progress, file)
        except DataError as error:
            if len(datasets) == 1 or error.errno is not None:  # a cache that cannot be written to concerns all
                raise
            errors.append(error)
    if len(errors) == len(datasets):
        raise DataError(*(line for error in errors for line in error.lines))
    return tuple(errors)


def remove(name: str) -> int:
    """Remove a dataset from the cache.

    Args:
        name: Name of the dataset.

    Returns:
        The number of bytes freed.
    """
    return sum(_cache.remove(dataset) for dataset in _select(name))


def _select(name: str | None) -> list[DatasetFiles]:
    if name is None:
        return list(DATASETS.values())
    if name not in DATASETS:
        raise ValueError(f"{name!r}: no such dataset; give one of {', '.join(DATASETS)}")
    return [DATASETS[name]]
