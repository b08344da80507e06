"""What a learner keeps of its tasks: task-specific values, trusted tasks and the blocks of layers, as tensors by name.

The names "fresh", "own" and "layer" are those of the first files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain

from torch import Tensor

from ebbing.learn.projection._blocks import Block
from ebbing.learn.projection._layers import Layer
from ebbing.learn.training._state_file import State, decode_json, encode_json, with_prefix


@dataclass(frozen=True)
class Memory:
    """What a learner keeps of its tasks.

    Attributes:
        initial_values: The values with which each task starts, by name.
        task_values: For every learned task, its task-specific values by name, where they differ from the initial ones.
        trusted: For every learned task, by layer, the names of the old tasks that it trusts.
        blocks: For every layer, its blocks.
    """

    initial_values: dict[str, Tensor]
    task_values: list[dict[str, Tensor]]
    trusted: list[dict[str, list[str]]]
    blocks: list[list[Block]]

    def state(self, layers: list[Layer]) -> State:
        """Return everything as tensors by name."""
        state = {f"fresh.{name}": value for name, value in self.initial_values.items()}
        state["trusted"] = encode_json(self.trusted)
        for t, values in enumerate(self.task_values):
            state |= {f"own.{t}.{name}": value for name, value in values.items()}
        for layer, blocks in zip(layers, self.blocks, strict=True):
            for b, block in enumerate(blocks):
                state |= {f"layer.{layer.name}.{b}.{name}": value for name, value in block.state().items()}
        return state


def parse_memory(
    state: State,
    tasks: int,
    layers: list[Layer],
    *,
    current: Mapping[str, Tensor],
    initial: Collection[str],
    task_specific: Collection[str],
) -> Memory:
    """Return the memory of so many tasks in a state.

    Args:
        state: Tensors by name.
        tasks: The number of learned tasks.
        layers: The layers of the network.
        current: The current values of the network, by name.
        initial: The names of values with which each task starts.
        task_specific: The names of task-specific values.

    Returns:
        The memory.

    Raises:
        ValueError: If it is not the memory of such a network.
    """
    initial_values, known = {name: state[f"fresh.{name}"] for name in initial}, {*task_specific, *initial}
    task_values = [with_prefix(state, f"own.{t}.") for t in range(tasks)]
    for t, values in enumerate(task_values):
        if missing := sorted({*task_specific} - values.keys() - initial_values.keys()):
            raise ValueError(f"task {t} has no task-specific {missing[0]!r}")
    for name, value in chain(initial_values.items(), *(values.items() for values in task_values)):
        if name not in known or value.shape != current[name].shape:
            raise ValueError(f"{name} of shape {tuple(value.shape)} is not task-specific in this network")
    return Memory(initial_values, task_values, decode_json(state["trusted"]), _parse_blocks(state, tasks, layers))


def _parse_blocks(state: State, tasks: int, layers: list[Layer]) -> list[list[Block]]:
    blocks, prefixes = [], []
    for layer in layers:
        count = len(layer.blocks)
        if layer.is_attention and with_prefix(state, f"layer.{layer.name}.1."):
            count = 3  # with separate inputs of query, key and value
        of_layer = [f"layer.{layer.name}.{b}." for b in range(count)]
        blocks.append(layer.restored_blocks([with_prefix(state, prefix) for prefix in of_layer], tasks))
        prefixes += of_layer
    names = (name for name in state if name.startswith("layer.") and not name.startswith(tuple(prefixes)))
    if unknown := sorted(names):
        protected = unknown[0].removeprefix("layer.")
        raise ValueError(f"it protects layers that this network does not have or train: {protected!r}")
    return blocks
