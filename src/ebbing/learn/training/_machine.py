"""Settings of the machine for training: device, threads and memory allocation."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

import torch

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # constants of malloc.h


@cache
def retain_heap() -> None:
    """Configure the C library, once per process, to keep freed memory for the next step.

    By default glibc returns large blocks, and the free end of its heap, to the system at once. Every training step then
    faults their pages in again, which takes up to a third of its time. Other C libraries have no such settings and stay
    as they are.
    """
    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, 32 << 20)  # the maximum: larger blocks are always returned
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def check_device(name: str) -> str:
    """Return the name of a device, or raise an error if it cannot be used.

    Example:
        >>> check_device("cpu")
        'cpu'
    """
    try:
        torch.ones(1, device=name).item()  # fails on the device meta, for example
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={name!r}: not usable here ({reason}); give cpu, or cuda on a machine with a GPU"
        ) from None
    return name


@contextmanager
def single_thread() -> Iterator[None]:
    """Run operations on one thread: results do not depend on the machine, and nodes can be trained in parallel."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
