"""Data sets that networks learn from: read and checked once per process, then kept in memory."""

from __future__ import annotations

from functools import lru_cache

from ebbing import data
from ebbing.data import Cifar100, Mnist


@lru_cache(maxsize=1)
def mnist() -> Mnist:
    """MNIST."""
    return data.mnist()


@lru_cache(maxsize=1)
def cifar100() -> Cifar100:
    """CIFAR-100."""
    return data.cifar100()
