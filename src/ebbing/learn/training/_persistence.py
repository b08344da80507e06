"""Saving and loading of a network that learns tasks, with everything that its method keeps."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from ebbing._files import write_atomic
from ebbing.learn.training._managed_network import ManagedNetwork
from ebbing.learn.training._state_file import (
    State,
    copy_to_cpu,
    decode_json,
    dump,
    encode_json,
    network_state,
    read_state,
)


class PersistentNetwork(ManagedNetwork):
    """A network, the names of the tasks that it has learned, and what its method keeps of them, saved and loaded.

    Args:
        network: The network.

    Attributes:
        kind: The name of the method.
        tasks: The names of the learned tasks.
    """

    kind: ClassVar[str]
    tasks: list[str]

    def __init__(self, network: nn.Module) -> None:
        super().__init__(network)
        self.tasks = []
        self._custom_losses: set[str] = set()  # tasks that were learned with another loss than cross-entropy

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the state to a safetensors file, atomically.

        Args:
            path: Path of the file; if writing is interrupted, an existing file stays as it was.
        """
        write_atomic(Path(path), dump(self.state()))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Load a state from a file that `save` wrote; if that fails, nothing changes.

        Args:
            path: Path of the file.

        Raises:
            ValueError: If the file is damaged, or of another network or method.
        """
        self.restore(read_state(path))

    def state(self) -> State:
        """Return a copy of everything that has been learned.

        Returns:
            Tensors by name, on the CPU.
        """
        with self._exclusive():
            self._check_weights()
            return copy_to_cpu(self._state())

    @property
    def nbytes(self) -> int:
        """The bytes that `save` writes: the network, and what the learned tasks add. A task costs what it grows by."""
        with self._exclusive():
            return sum(value.nbytes for value in self._state().values())

    def _state(self) -> State:
        """Return the tensors of the state themselves, not copies."""
        state = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        state |= self._method_state()
        if self._custom_losses:
            state["custom_losses"] = encode_json(sorted(self._custom_losses))
        state["tasks"], state["method"] = encode_json(self.tasks), encode_json(self._describe())
        return state

    def restore(self, state: State) -> None:
        """Restore a state that `state` returned, of a learner with the same network and method.

        Args:
            state: Tensors by name.
        """
        with self._exclusive():
            self._restore(state)

    def _restore(self, state: State) -> None:
        """Check everything, and then overwrite the network and what was learned."""
        try:
            here = {name: self._to_device(value) for name, value in state.items()}
            tasks = decode_json(state["tasks"])
            network = network_state(here, self.network.state_dict(), self._describe())
            apply = self._parse_method_state(here, len(tasks))  # before anything is overwritten
        except (KeyError, RuntimeError, ValueError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else error
            raise ValueError(f"not the state of a learner with this network and method: {reason}") from None

        def finish() -> None:
            self.network.load_state_dict(network)
            self.tasks = tasks
            self._custom_losses = {*decode_json(state["custom_losses"])} if "custom_losses" in state else set()
            apply()

        self._pending_restore = finish  # if interrupted, it is completed before the learner is used again
        self._restore_network()

    # To be overridden by learners with task-specific values

    def _check_weights(self) -> None:
        """Warn or raise an error if the network was changed from outside since the latest task."""
        return

    def _method_state(self) -> State:
        """Return the tensors of a state that are not the network's."""
        return {}

    def _parse_method_state(self, state: State, tasks: int) -> Callable[[], None]:
        """Check the tensors that `_method_state` returned, and return a function that restores them."""
        return lambda: None

    def _describe(self) -> dict[str, Any]:
        """Return the settings in which a state and the learner that restores it must agree."""
        return {"kind": self.kind}
