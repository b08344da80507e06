"""Random seeds: seeded construction of networks, and integers derived from strings."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

Network = TypeVar("Network", bound=nn.Module)

_SEED_LOCK = threading.Lock()
"""PyTorch initializes layers from one generator that all threads share (a Dask worker may have several threads)."""


def build_seeded(seed: int, build: Callable[[], Network]) -> Network:
    """Build a network with PyTorch's global generator seeded, and restore the generator's state afterwards.

    Args:
        seed: The seed of the global generator.
        build: A function without arguments that builds the network.

    Returns:
        The network.
    """
    with _SEED_LOCK, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def hash_to_int(text: str) -> int:
    """Hash a string to an integer, to be one of several integers that seed a generator.

    Args:
        text: Any string.

    Returns:
        The first eight bytes of the string's SHA-256 as an unsigned integer.

    Example:
        >>> hash_to_int("split") == hash_to_int("split") != hash_to_int("spilt")
        True
    """
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def derive_seed(seed: int, *words: str) -> int:
    """Hash a seed and some strings to a seed of 56 bits.

    Args:
        seed: A seed.
        *words: What the derived seed is for.

    Returns:
        The first seven bytes of a SHA-256 as an unsigned integer.

    Example:
        >>> derive_seed(0, "initial network") != derive_seed(1, "initial network")
        True
    """
    return int.from_bytes(hashlib.sha256(json.dumps([seed, *words]).encode()).digest()[:7], "big")
