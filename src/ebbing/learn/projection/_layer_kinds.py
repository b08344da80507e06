"""Kinds of layers: how the weight of a module consists of products W x, and what the inputs x are.

Every kind has one or several blocks. A block multiplies inputs x (d,) by a matrix W (out, d), a part of the weight:

| module | blocks | inputs x of a block |
|---|---|---|
| Linear | W | the last dimension of the input |
| Conv1D of transformers | W' | the same |
| Conv1d, Conv2d, Conv3d | one for each group | patches, d = channels * kernel |
| ConvTranspose1d, 2d, 3d | one for each group; its outputs are those of the whole kernel | channels at a place |
| MultiheadAttention, in_proj | one in self-attention, else one for each of query, key and value | the tokens |
| LSTM, GRU, RNN, and their cells | one for each weight | inputs or hidden states of all steps |

`Embedding` and `EmbeddingBag` are in `_embedding`: their inputs are unit vectors, one for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd


class Kind(Protocol):
    """How a weight is split into the weights of blocks, and inputs into their columns."""

    @property
    def unbatched_ndim(self) -> int:
        """The number of dimensions of an input without a batch dimension."""
        ...

    def split(self, weight: Tensor, groups: int) -> Sequence[Tensor]:
        """Return the weight W (out, d) of every block, as views."""
        ...

    def join(self, parts: Sequence[Tensor], like: Tensor) -> Tensor:
        """Return the module's weight, of the shape of `like`, from the weights of the blocks."""
        ...

    def columns(self, input: Tensor, groups: int) -> list[Tensor]:
        """Return the columns (d, n) that each block multiplies for an input of the module."""
        ...


class LinearKind:
    """A linear layer; with several groups, parts of its outputs that have separate inputs."""

    unbatched_ndim = 1

    def split(self, weight: Tensor, groups: int) -> Sequence[Tensor]:
        """Return the weight, or its parts by outputs."""
        return weight.chunk(groups)

    def join(self, parts: Sequence[Tensor], like: Tensor) -> Tensor:
        """Return the weight."""
        return parts[0] if len(parts) == 1 else torch.cat([*parts])

    def columns(self, input: Tensor, groups: int) -> list[Tensor]:
        """Return all vectors of the input, the same for every block."""
        return [input.reshape(-1, input.shape[-1]).T] * groups


class TransposedLinearKind(LinearKind):
    """A linear layer whose weight is stored as W' (d, out): `Conv1D` of transformers."""

    def split(self, weight: Tensor, groups: int) -> Sequence[Tensor]:
        """Return the transposed weight."""
        return (weight.T,)

    def join(self, parts: Sequence[Tensor], like: Tensor) -> Tensor:
        """Return the weight."""
        return parts[0].T


class ConvKind:
    """A convolution in one, two or three dimensions.

    Args:
        module: The convolution.
    """

    def __init__(self, module: _ConvNd) -> None:
        self.module = module
        self.unbatched_ndim = 1 + len(module.kernel_size)

    def split(self, weight: Tensor, groups: int) -> Sequence[Tensor]:
        """Return the weight of every group."""
        return weight.flatten(1).chunk(groups)

    def join(self, parts: Sequence[Tensor], like: Tensor) -> Tensor:
        """Return the weight."""
        return (parts[0] if len(parts) == 1 else torch.cat([*parts])).reshape(like.shape)

    def columns(self, input: Tensor, groups: int) -> list[Tensor]:
        """Return the patches of every group."""
        module = self.module
        mode = "constant" if module.padding_mode == "zeros" else module.padding_mode
        padded = functional.pad(input, _padding(module), mode=mode)
        if len(module.kernel_size) == 2:
            patches = functional.unfold(padded, module.kernel_size, dilation=module.dilation, stride=module.stride)
        else:
            patches = _unfold(padded, module)
        return list(patches.transpose(0, 1).flatten(1).chunk(groups))  # (channels * kernel, images * places)


class TransposedConvKind:
    """A transposed convolution: every place of the input is multiplied by the whole kernel.

    Args:
        module: The transposed convolution.
    """

    def __init__(self, module: _ConvTransposeNd) -> None:
        self.unbatched_ndim = 1 + len(module.kernel_size)

    def split(self, weight: Tensor, groups: int) -> Sequence[Tensor]:
        """Return the weight (outputs * kernel, channels) of every group."""
        return [part.T for part in weight.flatten(1).chunk(groups)]

    def join(self, parts: Sequence[Tensor], like: Tensor) -> Tensor:
        """Return the weight."""
        return torch.cat([part.T for part in parts]).view_as(like)

    def columns(self, input: Tensor, groups: int) -> list[Tensor]:
        """Return the channels at every place."""
        return list(input.transpose(0, 1).flatten(1).chunk(groups))  # (channels, images * places)


def _padding(conv: _ConvNd) -> list[int]:
    """Return the padding of a convolution, the last dimension first: left, right, top, bottom."""
    axes = reversed(range(len(conv.kernel_size)))
    if conv.padding == "valid":
        return [0] * (2 * len(conv.kernel_size))
    sides = []
    for axis in axes:
        if conv.padding == "same":
            total = conv.dilation[axis] * (conv.kernel_size[axis] - 1)
            sides += [total // 2, total - total // 2]
        else:
            sides += [int(conv.padding[axis])] * 2
    return sides


def _unfold(padded: Tensor, conv: _ConvNd) -> Tensor:
    """Return the patches (images, channels * kernel, places) of an input in any number of dimensions."""
    axes, patches = len(conv.kernel_size), padded
    for axis in range(axes):
        span = conv.dilation[axis] * (conv.kernel_size[axis] - 1) + 1
        patches = patches.unfold(2 + axis, span, conv.stride[axis])[..., :: conv.dilation[axis]]
    # (images, channels, *places, *kernel)
    order = [0, 1, *range(2 + axes, 2 + 2 * axes), *range(2, 2 + axes)]
    return patches.permute(order).flatten(2 + axes).flatten(1, 1 + axes)


_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def layer_kind(module: nn.Module) -> Kind | None:
    """Return the kind of a module with one weight, or None if it is no such layer.

    A subclass counts if its forward is that of its parent: another one may use the weight in another way.
    """
    forward = type(module).forward
    if isinstance(module, nn.Linear) and forward is nn.Linear.forward:
        return LinearKind()
    for parent in _CONVOLUTIONS:
        if isinstance(module, parent) and forward is parent.forward:
            same = type(module)._conv_forward is parent._conv_forward  # type: ignore[attr-defined]
            return ConvKind(module) if same else None
    for parent in _TRANSPOSED:
        if isinstance(module, parent) and forward is parent.forward:
            return TransposedConvKind(module)
    if type(module).__name__ == "Conv1D" and type(module).__module__ == "transformers.pytorch_utils":
        return TransposedLinearKind()
    return None


def is_attention(module: nn.Module) -> bool:
    """Return whether a module is PyTorch's attention, with its forward."""
    return isinstance(module, nn.MultiheadAttention) and type(module).forward is nn.MultiheadAttention.forward


def is_recurrent(module: nn.Module) -> bool:
    """Return whether a module is an LSTM, GRU or RNN of PyTorch, with its forward."""
    return any(isinstance(module, kind) and type(module).forward is kind.forward for kind in (nn.LSTM, nn.GRU, nn.RNN))


def is_cell(module: nn.Module) -> bool:
    """Return whether a module is a cell of an LSTM, GRU or RNN, with its forward."""
    kinds = (nn.LSTMCell, nn.GRUCell, nn.RNNCell)
    return any(isinstance(module, kind) and type(module).forward is kind.forward for kind in kinds)


def is_table(module: nn.Module) -> bool:
    """Return whether a module looks up rows of a table."""
    return isinstance(module, nn.Embedding | nn.EmbeddingBag)
