"""What a LightningModule's `validation_step` logs over some batches, without a loop of Lightning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import torch

from ebbing._modes import evaluation_mode

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule, Trainer


def measure(module: LightningModule, batches: Iterable[Any], metric: str) -> float:
    """Return what a module's `validation_step` logs under a name, over all batches.

    Batches pass through the hooks and the precision of the module's trainer, as in its own validation: there a module
    may normalize its inputs.

    Args:
        module: The module, with its trainer, if it has one. It is evaluated, and left as it was.
        batches: The batches, such as a DataLoader.
        metric: The name.

    Returns:
        The mean over batches, weighted by their sizes; or what a metric of torchmetrics computes.

    Raises:
        ValueError: If nothing is logged under that name.
    """
    logged, trainer = _Logged(), module._trainer  # the property `trainer` raises an error if there is none
    log, log_dict = _replaced(module, "log", logged.log), _replaced(module, "log_dict", logged.log_dict)
    with torch.no_grad(), evaluation_mode(module), _validating(trainer), log, log_dict:
        module.on_validation_start()
        module.on_validation_epoch_start()
        for index, batch in enumerate(batches):
            given = batch if trainer is None else trainer.precision_plugin.convert_input(batch)
            given = module._apply_batch_transfer_handler(module._on_before_batch_transfer(given))
            logged.size = _batch_size(given)
            module.on_validation_batch_start(given, index)
            with nullcontext() if trainer is None else trainer.precision_plugin.val_step_context():
                outputs = module.validation_step(given, index)
            module.on_validation_batch_end(outputs, given, index)
        module.on_validation_epoch_end()
        module.on_validation_end()
    return logged.result(metric)


class _Logged:
    """What a module logs, in place of Lightning's own collection."""

    def __init__(self) -> None:
        self.size = 1
        self._sums: dict[str, tuple[float, float]] = {}
        self._metrics: dict[str, Any] = {}

    def log(self, name: str, value: Any, *args: Any, batch_size: int | None = None, **kwargs: Any) -> None:
        if callable(getattr(value, "compute", None)):
            self._metrics[name] = value
            return
        weight, (total, weights) = batch_size or self.size, self._sums.get(name, (0.0, 0.0))
        self._sums[name] = total + weight * float(value), weights + weight

    def log_dict(self, dictionary: Mapping[str, Any], *args: Any, **kwargs: Any) -> None:
        for name, value in dictionary.items():
            self.log(name, value, *args, **kwargs)

    def result(self, name: str) -> float:
        if name in self._metrics:
            value = float(self._metrics[name].compute())
            self._metrics[name].reset()
            return value
        if name not in self._sums:
            known = ", ".join([*self._sums, *self._metrics]) or "nothing; are there any batches?"
            raise ValueError(
                f"metric={name!r}: the validation_step logs no such value; it logs {known}; add "
                f"self.log({name!r}, value) to it"
            )
        total, weights = self._sums[name]
        return total / weights


@contextmanager
def _validating(trainer: Trainer | None) -> Iterator[None]:
    """Put a trainer into the stage of validation for a while: hooks ask whether it trains, for example to augment."""
    if trainer is None:
        yield
        return
    stage, trainer.validating = trainer.state.stage, True
    try:
        yield
    finally:
        trainer.state.stage = stage


@contextmanager
def _replaced(module: LightningModule, name: str, function: Any) -> Iterator[None]:
    """Replace a method of one module for a while."""
    vars(module)[name] = function
    try:
        yield
    finally:
        del vars(module)[name]


def _batch_size(batch: Any) -> int:
    """Return the size of the first tensor in a batch, as Lightning takes it; 1 if there is none."""
    return next((len(tensor) if tensor.ndim else 1 for tensor in _tensors(batch)), 1)


def _tensors(batch: Any) -> Iterator[torch.Tensor]:
    """Give the tensors in a batch, in order."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, Mapping):
        yield from _tensors(tuple(batch.values()))
    elif isinstance(batch, tuple | list):
        for part in batch:
            yield from _tensors(part)
    elif is_dataclass(batch) and not isinstance(batch, type):
        yield from _tensors(tuple(getattr(batch, field.name) for field in fields(batch)))
