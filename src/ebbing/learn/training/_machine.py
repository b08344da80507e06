"""What training asks of the machine: a device, one thread, and memory that stays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

import torch

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as malloc.h has them


@cache
def retain_heap() -> None:
    """Once per process: let the C library keep the memory of a step for the next.

    glibc gives large blocks, and the free end of its heap, back to the system at once, and every step has their pages
    made anew, which takes up to a third of its time. Other libraries have no such settings, and are left alone.
    """
    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, 32 << 20)  # the most there is: larger blocks are always given back
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def check_device(name: str) -> str:
    """The name of a device that is there, or a clear error.

    >>> check_device("cpu")
    'cpu'
    """
    try:
        torch.ones(1, device=name).item()  # not on the device meta, say
    except (RuntimeError, AssertionError, ValueError) as fault:
        reason = str(fault).splitlines()[0]
        raise ValueError(
            f"device={name!r}: not usable here ({reason}); give cpu, or cuda where there is a GPU"
        ) from None
    return name


@contextmanager
def single_thread() -> Iterator[None]:
    """One thread inside operations: two nodes side by side beat two threads in one, and bits depend on neither."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
