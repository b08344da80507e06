"""Arguments of learners: checked, and converted where that is safe."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from ebbing.learn.training.batches import Data, Pair


def check_generator(generator: object) -> torch.Generator:
    """Return a generator of the CPU, which shuffles the same on every device; by default one with seed 0."""
    if generator is None:
        return torch.Generator().manual_seed(0)
    if not isinstance(generator, torch.Generator):
        raise ValueError(f"generator={generator!r}: give a torch.Generator, such as torch.Generator().manual_seed(0)")
    if generator.device.type != "cpu":
        raise ValueError(f"a generator on {generator.device}: give one of the CPU, torch.Generator(), for any device")
    return generator


def check_callbacks(progress: object, checkpoint: object) -> None:
    """Raise an error for a progress that is no function, and for a checkpoint that cannot load and save."""
    if progress is not None and not callable(progress):
        raise ValueError(
            f"progress={progress!r}: give a function of the share that is done and a message, such as "
            "lambda share, message: print(message)"
        )
    if checkpoint is not None and not all(callable(getattr(checkpoint, name, None)) for name in ("load", "save")):
        raise ValueError(f"checkpoint={checkpoint!r}: give an object with load() and save(content)")


def check_classified(task: str, labels: Tensor, *, custom_loss: bool) -> None:
    """Raise an error for floating-point labels that are not binary, or whose outputs need not be logits."""
    if not labels.is_floating_point():
        return
    if custom_loss:
        raise ValueError(
            f"task {task!r} was learned with a loss of your own, so an output above 0 need not mean 1: compute its "
            "accuracy from outputs(task, inputs)"
        )
    if not ((labels >= 0) & (labels <= 1)).all():
        raise ValueError(
            "labels that are not all between 0 and 1: accuracy() is for classes as torch.int64 and for binary labels; "
            "for others compute the error from outputs(task, inputs)"
        )


def as_tensors(data: Any, dtype: torch.dtype) -> Data:
    """Return data with NumPy arrays of a pair replaced by tensors; all other data is returned as it is.

    Args:
        data: Data in any form.
        dtype: The type of floating-point inputs: NumPy's default is another than PyTorch's.

    Returns:
        The data.
    """
    if not isinstance(data, tuple) or len(data) != 2 or not any(isinstance(part, np.ndarray) for part in data):
        return data
    return cast(Pair, (as_input_tensor(data[0], dtype), _as_label_tensor(data[1], dtype)))


def as_input_tensor(inputs: Any, dtype: torch.dtype) -> Any:
    """Return a NumPy array as a tensor, floating-point numbers as the given type; anything else as it is."""
    if not isinstance(inputs, np.ndarray):
        return inputs
    tensor = _tensor("inputs", inputs)
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def _as_label_tensor(labels: Any, dtype: torch.dtype) -> Any:
    if not isinstance(labels, np.ndarray):
        return labels
    tensor = _tensor("labels", labels)
    return tensor.to(
        dtype if tensor.is_floating_point() else torch.int64 if labels.dtype.kind in "iu" else tensor.dtype
    )


def _tensor(name: str, array: np.ndarray) -> Tensor:
    try:
        return torch.from_numpy(np.array(array, order="C"))  # a copy, as arrays may be read-only or have other strides
    except TypeError:
        raise ValueError(f"{name} are an array of {array.dtype}: give numbers") from None
