"""Regression: outputs that should equal their labels, which are numbers."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from ebbing.learn.training._outputs import output_tensor


def squared_error(outputs: Tensor, labels: Tensor) -> Tensor:
    """Compute the mean squared error over examples and outputs: the loss of regression, and its error.

    Args:
        outputs: Predictions (n, C). Of a `ModelOutput`, the logits.
        labels: What they should be (n, C).

    Returns:
        The mean of (output - label)^2, a scalar.

    Raises:
        ValueError: If outputs and labels differ in shape: PyTorch would compare each output with every label.

    Example:
        >>> import torch
        >>> squared_error(torch.tensor([[3.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
        tensor(2.)
    """
    outputs = output_tensor(outputs)
    if outputs.shape != labels.shape:
        raise ValueError(
            f"labels of shape {tuple(labels.shape)}, outputs {tuple(outputs.shape)}: regression needs a number for "
            "every output, such as labels[:, None] for one output"
        )
    return functional.mse_loss(outputs, labels)
