"""Products of matrices on the CPU, by the faster of the two libraries that PyTorch contains.

PyTorch multiplies dense matrices by MKL, which does not use the AVX-512 instructions of AMD processors. oneDNN, which
computes PyTorch's convolutions, does: there it takes about half the time of MKL (benchmarks/bench_methods.py).
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

MIN_MULTIPLICATIONS = 1 << 21
"""The number of multiplications from which oneDNN is faster in spite of its longer preparation."""


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b, without a graph for gradients.

    The two libraries add up in different orders, so that results differ by rounding.

    Args:
        a: A matrix (m, k).
        b: A matrix (k, n).

    Returns:
        The product (m, n).
    """
    large = a.shape[0] * a.shape[1] * b.shape[1] >= MIN_MULTIPLICATIONS
    if large and a.dtype == b.dtype == torch.float32 and a.device.type == "cpu" and prefers_onednn():
        return onednn_product(a, b)
    return a @ b


def onednn_product(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b by oneDNN; both are in single precision and on the CPU."""
    return torch.ops.mkldnn._linear_pointwise(a, b.T, None, "none", [], "")


@cache
def prefers_onednn() -> bool:
    """Return whether the processor is one of AMD with AVX-512, and this PyTorch has oneDNN with the product.

    The answer depends on nothing else, so that the same run gives the same weights on the same machine.
    """
    if "AuthenticAMD" not in processor_name() or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def processor_name() -> str:
    """Return a text with the identifier of the processor's maker, such as "AuthenticAMD"; empty if unknown."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:  # not Linux
        return platform.processor()
    return next((line for line in lines if line.startswith("vendor_id")), "")
