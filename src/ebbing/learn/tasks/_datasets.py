"""Datasets that tasks are made of, loaded and verified once per process."""

from __future__ import annotations

from functools import lru_cache

from ebbing import data
from ebbing.data import Cifar100, Mnist


@lru_cache(maxsize=1)
def mnist() -> Mnist:
    """Return MNIST."""
    return data.mnist()


@lru_cache(maxsize=1)
def cifar100() -> Cifar100:
    """Return CIFAR-100."""
    return data.cifar100()
