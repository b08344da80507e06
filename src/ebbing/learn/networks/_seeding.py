"""What seeds determine: random numbers by words, and initial networks."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

Network = TypeVar("Network", bound=nn.Module)

_SEEDING = threading.Lock()
"""PyTorch initializes layers from a generator that all threads share (a Dask worker may have several)."""


def build_seeded(seed: int, build: Callable[[], Network]) -> Network:
    """What `build` gives with PyTorch's generator set to the seed, which is as it was afterwards."""
    with _SEEDING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def hash_to_int(words: str) -> int:
    """A number that stands for words, to be one of several that seed a generator: others have another one.

    >>> hash_to_int("split") == hash_to_int("split") != hash_to_int("spilt")
    True
    """
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big")
