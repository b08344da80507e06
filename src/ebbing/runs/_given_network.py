"""A user's network and the data of a user's tasks, as training of sequences takes them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ebbing._modes import evaluation_mode
from ebbing.forecasting import Examples
from ebbing.forecasting._network import check_network, to_tensors, trained_parameters
from ebbing.forecasting._reading import take
from ebbing.forecasting.targets import Targets
from ebbing.learn import CustomTasks
from ebbing.learn._network_digest import network_digest
from ebbing.learn.training._outputs import call_network

_ALL = 2**40


@dataclass(frozen=True)
class GivenNetwork:
    """The architecture of a user's network: every run starts from a copy of its weights.

    Attributes:
        network: The network.
    """

    network: nn.Module

    def __post_init__(self) -> None:
        for name, weight in self.network.named_parameters():
            if weight._backward_hooks or getattr(weight, "_post_accumulate_grad_hooks", None):  # which are not copied
                raise ValueError(
                    f"network: the hook of {name} would be lost in copies of the network, from which "
                    "training starts; give an object with a method build(seed) that registers it"
                )

    def settings(self) -> dict[str, Any]:
        """Return what results are stored under: a digest of the network.

        Returns:
            The settings.
        """
        return {"network": network_digest(self.network)}

    def build(self, seed: int) -> nn.Module:
        """Return a copy of the network.

        Args:
            seed: Not used: the network is given.

        Returns:
            The copy.
        """
        return copy.deepcopy(self.network)


def read_tasks(
    architecture: Any, tasks: Mapping[str, Any], train_size: int | None, test_size: int | None
) -> CustomTasks:
    """Return the data of tasks that a network of an architecture can learn.

    Args:
        architecture: What builds the network.
        tasks: Data by task, as for `ebbing.forecast`.
        train_size: Training examples of each task; None for all.
        test_size: Test examples of each task; None for all.

    Returns:
        The tasks.

    Raises:
        ValueError: If the network is not in float32, or does not fit the data.
    """
    train_size, test_size = (_ALL if size is None else size for size in (train_size, test_size))
    examples = Examples.read(tasks, train_size=train_size, test_size=test_size)
    targets = Targets.of(examples.labels, _count_outputs(architecture.build(0), take(examples.inputs, slice(0, 1))))
    is_class = targets.kind in ("two classes", "classes")
    labels = torch.from_numpy(targets.classes if is_class else targets.values)
    train, test = (
        {name: (take(examples.inputs, rows), labels[rows]) for name, rows in zip(examples.names, split, strict=True)}
        for split in (examples.train, examples.test)
    )
    return CustomTasks(train, test, regression=targets.kind == "regression")


def _count_outputs(network: nn.Module, one: Any) -> int:
    """Return the number of the network's outputs for one example."""
    first = next(iter(trained_parameters(network).values()))
    if first.dtype != torch.float32:
        raise ValueError(f"the network is {first.dtype}: `measure` trains in float32; use network.float()")
    check_network(network, one)
    with evaluation_mode(network), torch.no_grad():
        shape = call_network(network, to_tensors(network, one)).shape
    if len(shape) != 2:
        raise ValueError(
            f"the network returns shape {tuple(shape)} for one example: `measure` trains outputs of shape (rows, "
            "outputs); wrap the network in a module that returns outputs[:, None]"
        )
    return shape[1]
