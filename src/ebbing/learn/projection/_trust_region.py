"""The trust region of a new task: the old tasks whose subspaces hold much of its gradient."""

from __future__ import annotations

from torch import Tensor

from ebbing.learn.projection._blocks import Block
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._rules import ProjectionRules
from ebbing.learn.projection._task_updates import TrustedTask

TrustRegion = list[list[list[TrustedTask]]]
"""For every layer and block, the trusted tasks."""


def empty_trust_region(layers: list[Layer]) -> TrustRegion:
    """Return a trust region without any task."""
    return [[[] for _ in layer.blocks] for layer in layers]


def trusted_names(layers: list[Layer], region: TrustRegion, tasks: list[str]) -> dict[str, list[str]]:
    """Return the names of the trusted tasks by layer."""
    return {
        layer.name: [tasks[j] for j in sorted({one.task for block in trusted for one in block})]
        for layer, trusted in zip(layers, region, strict=True)
    }


def select_trust_region(method: ProjectionRules, layers: list[Layer], gradients: list[Tensor]) -> TrustRegion:
    """Return the tasks that the method trusts in every layer and block, given the gradient of every layer's weight."""
    region: TrustRegion = []
    for layer, gradient in zip(layers, gradients, strict=True):
        if not layer.can_trust:
            region.append([[] for _ in layer.blocks])
            continue
        parts = layer.kind.split(gradient, layer.groups)
        region.append([_select_in_block(method, part, block) for part, block in zip(parts, layer.blocks, strict=True)])
    if method.reproduces("first layer decides") and not any(region[0]):
        return empty_trust_region(layers)
    return region


def _select_in_block(method: ProjectionRules, gradient: Tensor, block: Block) -> list[TrustedTask]:
    """Return the trusted tasks of a block, from |G| and |G S_j| of every old task j."""
    projected_norms = [block.projected_norm(gradient, subspace) for subspace in block.subspaces]
    selected = method.select_trusted(float(gradient.norm()), projected_norms)
    if not isinstance(selected, dict) or not all(
        j in range(len(projected_norms)) and 0 < weight < float("inf") for j, weight in selected.items()
    ):
        raise ValueError(
            f"{type(method).__name__}.select_trusted returned {selected!r}: return a dictionary from numbers of old "
            f"tasks, 0 to {len(projected_norms) - 1}, to positive weights"
        )
    return [TrustedTask(j, block.subspaces[j], weight) for j, weight in sorted(selected.items())]
