"""Gradients of single layers, example by example, from their inputs and the gradients of their outputs.

========  =======================================================================  ================
here      meaning                                                                  shape
========  =======================================================================  ================
A         inputs of the layer at each position (patches, for a convolution)        (N, S, i)
G         gradients of each network output with respect to the layer's outputs     (N, C, S, o)
S         positions: 1 for a plain linear layer, tokens or pixels otherwise
========  =======================================================================  ================

The gradient of output c with respect to a weight matrix is sum_s G[c, s]' A[s]. With a single position the kernel needs
no gradient at all: K = (G G') * (A A' + 1), element by element, the 1 for the bias.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

_BLOCK_BYTES = 64e6
"""Bytes of the gradients that are formed at once when a kernel is computed from A and G."""


_BLOCK_ROWS = 500
"""Rows of the blocks of a kernel that are computed at once."""


class LayerGradients(ABC):
    """The gradients of one layer for all examples, stored in the form that takes the least memory.

    Args:
        layer: The layer; its parameters that are trained count, and no others.
    """

    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer
        named = layer.named_parameters(recurse=False)
        self.names = [name for name, value in named if value.requires_grad]
        self.parts: list[tuple[Tensor, ...]] = []

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The parameters of the layer that are trained."""
        return [getattr(self.layer, name) for name in self.names]

    @abstractmethod
    def compress(self, inputs: Tensor, gradients: Tensor) -> tuple[Tensor, ...]:
        """Return what is stored of some examples: inputs (n, ...) and gradients (n, C, ...) of the layer's outputs."""

    @abstractmethod
    def add_kernel(self, kernel: Tensor) -> None:
        """Add the kernel of all stored examples to `kernel`, (C, N, N) or (1, N, N) for the sum over outputs."""

    @abstractmethod
    def total(self, part: tuple[Tensor, ...]) -> list[Tensor]:
        """Return the gradients of output 0, summed over the examples of a part, one for each parameter."""

    def joined(self, k: int) -> Tensor:
        """Return the k-th stored tensor of all examples."""
        return torch.cat([part[k] for part in self.parts])


class ExplicitGradients(LayerGradients):
    """Gradients stored as such: layers with few parameters, or with many positions."""

    def compress(self, inputs: Tensor, gradients: Tensor) -> tuple[Tensor, ...]:
        found = [g.flatten(2) for g in self.gradients(inputs, gradients)]
        return (torch.cat(found, dim=2),)

    def gradients(self, inputs: Tensor, gradients: Tensor) -> list[Tensor]:
        """Return the gradients (n, C, ...) of each parameter."""
        raise NotImplementedError

    def add_kernel(self, kernel: Tensor) -> None:
        add_gram(kernel, self.joined(0))

    def total(self, part: tuple[Tensor, ...]) -> list[Tensor]:
        sizes = [p.numel() for p in self.parameters]
        flat = part[0][:, 0].sum(0).split(sizes)
        return [one.reshape(p.shape) for one, p in zip(flat, self.parameters, strict=True)]


class NormGradients(ExplicitGradients):
    """A layer that scales and shifts: batch, layer, group, instance and root-mean-square norms."""

    def gradients(self, inputs: Tensor, gradients: Tensor) -> list[Tensor]:
        weight = self.layer.weight
        plain = {"weight": torch.ones_like(weight)}  # type: ignore[arg-type]
        if getattr(self.layer, "bias", None) is not None:
            plain["bias"] = torch.zeros_like(self.layer.bias)  # type: ignore[arg-type]
        with torch.no_grad():
            normalized = functional_call(self.layer, plain, inputs)
        products = {"weight": gradients * normalized[:, None], "bias": gradients}
        return [self._summed(products[name]) for name in self.names]

    def _summed(self, values: Tensor) -> Tensor:
        """Sum over all positions that share a parameter: values (n, C, *output shape)."""
        if isinstance(self.layer, nn.LayerNorm | nn.RMSNorm):
            kept = len(self.layer.normalized_shape)
            return values.flatten(2, values.ndim - kept - 1).sum(2) if values.ndim - kept > 2 else values
        return values.flatten(3).sum(3) if values.ndim > 3 else values


class LinearGradients(LayerGradients):
    """A linear layer, at one position or at several."""

    def compress(self, inputs: Tensor, gradients: Tensor) -> tuple[Tensor, ...]:
        A, G = self.positions(inputs, gradients)
        S, i, C, o = A.shape[1], A.shape[2], G.shape[1], G.shape[3]
        if S > 1 and C * o * (i + 1) <= S * (i + C * o):
            return (torch.einsum("ncso,nsi->ncoi", G, A), G.sum(2))
        return (A, G)

    def positions(self, inputs: Tensor, gradients: Tensor) -> tuple[Tensor, Tensor]:
        """Return A and G."""
        n, C = gradients.shape[:2]
        return inputs.reshape(n, -1, inputs.shape[-1]), gradients.reshape(n, C, -1, gradients.shape[-1])

    def add_kernel(self, kernel: Tensor) -> None:
        one, two = self.joined(0), self.joined(1)
        if one.ndim == 4:  # gradients of the weight, and of the bias
            self._add(kernel, one.flatten(2), two)
        elif one.shape[1] == 1:
            A, G = one[:, 0], two[:, :, 0]
            weight, bias = "weight" in self.names, float("bias" in self.names)

            def block(a: slice, b: slice) -> Tensor:
                inner = (A[a] @ A[b].T if weight else 0) + bias
                if len(kernel) == 1:
                    return (inner * (G[a].flatten(1) @ G[b].flatten(1).T))[None]
                return inner * torch.einsum("aco,bco->cab", G[a], G[b])

            add_blocks(kernel, block)
        else:
            self._add(kernel, None, two.sum(2))
            if "weight" in self.names:
                i = one.shape[2]
                units = max(1, int(_BLOCK_BYTES / (one.element_size() * len(one) * i * two.shape[1])))
                for G in two.split(units, dim=3):
                    add_gram(kernel, torch.einsum("ncso,nsi->ncoi", G, one).flatten(2))

    def _add(self, kernel: Tensor, weight: Tensor | None, bias: Tensor) -> None:
        if weight is not None and "weight" in self.names:
            add_gram(kernel, weight)
        if "bias" in self.names:
            add_gram(kernel, bias)

    def total(self, part: tuple[Tensor, ...]) -> list[Tensor]:
        if part[0].ndim == 4:
            found = {"weight": part[0][:, 0].sum(0), "bias": part[1][:, 0].sum(0)}
        else:
            A, G = part
            found = {"weight": torch.einsum("nso,nsi->oi", G[:, 0], A), "bias": G[:, 0].sum((0, 1))}
        return [found[name].reshape(p.shape) for name, p in zip(self.names, self.parameters, strict=True)]


class ConvolutionGradients(LinearGradients):
    """A two-dimensional convolution without groups: a linear layer on patches."""

    def positions(self, inputs: Tensor, gradients: Tensor) -> tuple[Tensor, Tensor]:
        layer = self.layer
        assert isinstance(layer, nn.Conv2d)
        if layer.padding_mode != "zeros" or isinstance(layer.padding, str):  # pad as the layer does, then unfold
            pads = layer._reversed_padding_repeated_twice
            mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
            inputs, padding = functional.pad(inputs, pads, mode=mode), (0, 0)
        else:
            padding = layer.padding
        size, dilation, stride = layer.kernel_size, layer.dilation, layer.stride
        patches = functional.unfold(inputs, size, dilation, padding, stride)  # type: ignore[arg-type]
        return patches.transpose(1, 2), gradients.flatten(3).transpose(2, 3)


class EmbeddingGradients(LayerGradients):
    """A table of vectors: only examples that share a token have a common gradient."""

    def compress(self, inputs: Tensor, gradients: Tensor) -> tuple[Tensor, ...]:
        n, C = gradients.shape[:2]
        return inputs.reshape(n, -1), gradients.reshape(n, C, -1, gradients.shape[-1])

    def add_kernel(self, kernel: Tensor) -> None:
        tokens, G = self.joined(0), self.joined(1)  # (N, S), (N, C, S, o)
        skipped = getattr(self.layer, "padding_idx", None)
        for token in tokens.unique().tolist():
            if token == skipped:
                continue
            here = tokens == token
            rows = here.any(1).nonzero()[:, 0]
            shared = rows.to(kernel.device)
            vectors = torch.einsum("ncso,ns->nco", G[rows], here[rows].to(G.dtype))
            part = torch.zeros(len(kernel), len(rows), len(rows), dtype=kernel.dtype, device=kernel.device)
            add_gram(part, vectors)
            kernel[:, shared[:, None], shared] += part

    def total(self, part: tuple[Tensor, ...]) -> list[Tensor]:
        tokens, G = part
        table = torch.zeros_like(self.parameters[0])
        table.index_add_(0, tokens.flatten(), G[:, 0].flatten(0, 1))
        if (skipped := getattr(self.layer, "padding_idx", None)) is not None:
            table[skipped] = 0
        return [table]


def add_gram(kernel: Tensor, vectors: Tensor) -> None:
    """Add inner products of vectors (N, C, P) to a kernel (C, N, N), or their sum over C to (1, N, N)."""
    flat = vectors.flatten(1)[:, None] if len(kernel) == 1 else vectors
    by_output = flat.transpose(0, 1)  # (1 or C, N, P)
    add_blocks(kernel, lambda a, b: by_output[:, a] @ by_output[:, b].transpose(1, 2))


def add_blocks(kernel: Tensor, block: Callable[[slice, slice], Tensor]) -> None:
    """Add a symmetric matrix to each kernel (C, N, N), of which only blocks on and above the diagonal are computed."""
    N = kernel.shape[1]
    slices = [slice(first, min(first + _BLOCK_ROWS, N)) for first in range(0, N, _BLOCK_ROWS)]
    for k, a in enumerate(slices):
        for b in slices[k:]:
            part = block(a, b).to(kernel.device).to(kernel.dtype)  # moved first: some devices have no float64
            kernel[:, a, b] += part
            if a != b:
                kernel[:, b, a] += part.transpose(1, 2)


def layer_gradients(layer: nn.Module) -> LayerGradients | None:
    """Return the gradients of a layer, empty; None if no formula fits it.

    Args:
        layer: A module with parameters of its own.

    Returns:
        The gradients, to which examples are added; None for unknown kinds, which need explicit Jacobians.
    """
    kind = type(layer)
    if kind is nn.Linear:
        return LinearGradients(layer)
    if kind is nn.Conv2d and layer.groups == 1:  # type: ignore[union-attr]
        return ConvolutionGradients(layer)
    if kind is nn.Embedding and not layer.scale_grad_by_freq:  # type: ignore[union-attr]
        return EmbeddingGradients(layer)
    norms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
    return NormGradients(layer) if kind in norms else None
