"""A network that one thread at a time uses and may change temporarily, and that is restored after interruptions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ebbing.learn._inputs import Inputs, map_inputs
from ebbing.learn.training.batches import Pair


class ManagedNetwork:
    """A network with a lock, and with a function that restores it if a restoration was interrupted."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self._busy = ""  # the reason why the network cannot be used now
        self._pending_restore: Callable[[], None] | None = None  # restores the network, if that was interrupted
        self._lock = threading.RLock()  # evaluation writes other weights into the network: one thread at a time

    @contextmanager
    def _reserved(self, reason: str) -> Iterator[None]:
        """Raise an error, with this reason, if the learner is used in another way inside of the context."""
        with self._exclusive():
            self._busy = reason
            try:
                yield
            finally:
                self._busy = ""

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Make other threads wait; raise an error if the same thread is inside a context of `_reserved`."""
        with self._lock:
            if self._busy:
                raise RuntimeError(self._busy)
            self._restore_network()
            yield

    @contextmanager
    def _restored_after(self, restore: Callable[[], None]) -> Iterator[None]:
        """Allow changes of the network inside of the context, which `restore` undoes.

        Restoring may be interrupted, too. It is then repeated before the learner is used again.
        """
        before, self._pending_restore = self._pending_restore, restore
        try:
            yield
        finally:
            restore()
            self._pending_restore = before

    def _restore_network(self) -> None:
        if self._pending_restore is not None:
            self._pending_restore()
            self._pending_restore = None

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            if self._busy:
                raise RuntimeError(f"the learner cannot be copied now: {self._busy}")
            self._restore_network()
            return {name: value for name, value in vars(self).items() if name != "_lock"} | {"_pending_restore": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    # Values

    def _values(self) -> dict[str, Tensor]:
        """Return parameters and current buffers by name: modules may replace their buffers."""
        return dict(self.network.named_parameters()) | dict(self.network.named_buffers())

    def _copy_values(self, names: Iterable[str] | None = None) -> dict[str, Tensor]:
        """Return copies of some of the values, or of all."""
        values = self._values()
        return {name: values[name].detach().clone() for name in (values if names is None else names)}

    def _write_values(self, copies: dict[str, Tensor]) -> None:
        values = self._values()
        with torch.no_grad():
            for name, copy in copies.items():
                values[name].copy_(copy)

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device

    @property
    def _dtype(self) -> torch.dtype:
        """The type of the network's floating-point values."""
        return next((p.dtype for p in self.network.parameters() if p.is_floating_point()), torch.float32)

    def _to_device(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._device)

    def _inputs_to_device(self, inputs: Inputs) -> Inputs:
        return map_inputs(self._to_device, inputs)

    def _pair_to_device(self, pair: Pair) -> Pair:
        return self._inputs_to_device(pair[0]), self._to_device(pair[1])

    def _copy_to_device(self, inputs: Inputs) -> Inputs:
        """Return a copy, since the network may modify its inputs in place."""
        return map_inputs(lambda part: part.to(self._device, copy=True), inputs)
