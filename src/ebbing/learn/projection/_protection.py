"""Both ends of a task in all layers: their parametrization before it, and the protection of its directions after it."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from ebbing.learn.projection._calls import Calls
from ebbing.learn.projection._integrity import check_basis_update
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._room import warn_if_full
from ebbing.learn.projection._rules import ProjectionRules
from ebbing.learn.projection._trust_region import TrustRegion
from ebbing.learn.projection.subspaces import BasisUpdate
from ebbing.learn.projection.threshold import Threshold


def check_settings(method: ProjectionRules, layers: list[Layer]) -> None:
    """Raise an error if a setting by layer does not have one value per layer."""
    shares = cast(Threshold, method.threshold).share
    for setting, values in (("num_examples", method.num_examples), ("threshold", shares)):
        if isinstance(values, tuple) and len(values) != len(layers):
            names = ", ".join(layer.name for layer in layers)
            raise ValueError(f"{setting}={values}: give one number, or one for each of the layers {names}")


def parametrize_layers(
    method: ProjectionRules, layers: list[Layer], trust_region: TrustRegion, task: str
) -> dict[str, nn.Parameter]:
    """Reparametrize the weight of every layer for a new task, and return the parameters to train by name.

    Warns if protection leaves the task hardly any direction: it would be learned badly, and nobody would know why.
    """
    warn_if_full(method, layers, trust_region, task)
    named: dict[str, nn.Parameter] = {}
    for layer, trusted in zip(layers, trust_region, strict=True):
        parameters = layer.parametrize(trusted, method.parametrization, starts_from_latest=method.starts_from_latest)
        suffixes = [""] if len(parameters) == 1 else [f".{i}" for i in range(len(parameters))]
        named |= {f"{layer.name}.weight{suffix}": p for suffix, p in zip(suffixes, parameters, strict=True)}
    return named


def protect_layers(method: ProjectionRules, layers: list[Layer], task: int, recorded: dict[str, Calls]) -> None:
    """Protect the directions that a task uses in every layer, given the inputs of layers by name, which are freed."""
    leave_out_strongest = method.reproduces("strongest unprotected")
    for number, layer in enumerate(layers):

        def select(M: Tensor, R: Tensor, number: int = number, layer: Layer = layer) -> BasisUpdate:
            update = method.select_directions(number, task, M, R)
            check_basis_update(method, layer.name, M, update)
            return update

        layer.protect(recorded.pop(layer.name), select, leave_out_strongest=leave_out_strongest)
