"""The room that protection leaves for a new task: the input directions in which its layers can still be trained."""

from __future__ import annotations

import torch

from ebbing._warnings import warn
from ebbing.learn.projection._blocks import Block
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._rules import ProjectionRules
from ebbing.learn.projection._task_updates import TrustedTask
from ebbing.learn.projection._trust_region import TrustRegion

LITTLE_ROOM = 0.05
"""The share of input directions, of all layers together, below which a new task can hardly be learned."""

_NAMED = 2
"""The number of layers that a warning names."""


def warn_if_full(method: ProjectionRules, layers: list[Layer], trust_region: TrustRegion, task: str) -> None:
    """Warn if hardly any direction of the layers is free for a new task, or trusted so that the task may change it.

    All layers count together: where one wide layer is free, a task can be learned although the others are full. Rows of
    tables do not count, as most tasks look up few of those that are free.
    """
    rooms = {layer.name: _room(layer, trusted) for layer, trusted in zip(layers, trust_region, strict=True)}
    rooms = {name: room for name, room in rooms.items() if room[1]}
    left, directions = sum(room[0] for room in rooms.values()), sum(room[1] for room in rooms.values())
    if left >= LITTLE_ROOM * directions:
        return
    widest = sorted(rooms, key=lambda name: rooms[name][1], reverse=True)  # of equal ones, the first of the network
    named = [f"{rooms[name][0] / rooms[name][1]:.0%} in layer {name!r}" for name in widest[:_NAMED]]
    if (others := len(rooms) - _NAMED) > 0:
        named.append(f"{others} more layer{'s' if others > 1 else ''}")
    tables = any(not isinstance(block, Block) and block.rank < block.size for layer in layers for block in layer.blocks)
    free = "" if method.parametrization == "free" else "TrgpFree, "
    warn(
        f"task {task!r} has little room: protection of old tasks leaves it {left / directions:.1%} of the layers' "
        f"input directions ({', '.join(named)}){', and rows of tables' if tables else ''}; lower the threshold, widen "
        f"the network, or use {free}LowRank or Copies"
    )


def _room(layer: Layer, trusted: list[list[TrustedTask]]) -> tuple[int, int]:
    """Return how many input directions of a layer are free or trusted, and how many there are."""
    pairs = [(block, tasks) for block, tasks in zip(layer.blocks, trusted, strict=True) if isinstance(block, Block)]
    return sum(_open_directions(*pair) for pair in pairs), sum(block.size for block, _ in pairs)


def _open_directions(block: Block, trusted: list[TrustedTask]) -> int:
    columns = [one.subspace.columns for one in trusted]
    return block.size - block.rank + (len(torch.cat(columns).unique()) if columns else 0)
