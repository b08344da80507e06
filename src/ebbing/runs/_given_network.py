"""A user's network and the data of a user's tasks, as training of sequences takes them."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ebbing.forecasting import Examples
from ebbing.forecasting.targets import Targets
from ebbing.learn import CustomTasks

_ALL = 2**40


@dataclass(frozen=True)
class GivenNetwork:
    """The architecture of a user's network: every run starts from a copy of its weights.

    Attributes:
        network: The network.
    """

    network: nn.Module

    def settings(self) -> dict[str, Any]:
        """Return what results are stored under: the network's layers and a hash of its weights.

        Returns:
            The settings.
        """
        digest = hashlib.sha256()
        for name, value in self.network.state_dict().items():
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        trained = [name for name, value in self.network.named_parameters() if value.requires_grad]
        return {"layers": repr(self.network), "trained": trained, "weights": digest.hexdigest()}

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
    examples = Examples.read(tasks, train_size=train_size or _ALL, test_size=test_size or _ALL)
    if isinstance(examples.inputs, dict):
        raise ValueError("inputs are arrays by name: `measure` takes one tensor of inputs; wrap the network")
    inputs = torch.from_numpy(np.ascontiguousarray(examples.inputs))
    network = architecture.build(0).eval()
    first = next(network.parameters())
    if first.dtype != torch.float32:
        raise ValueError(f"the network is {first.dtype}: `measure` trains in float32; use network.float()")
    one = inputs[:1].to(first.device, torch.float32) if inputs.is_floating_point() else inputs[:1].to(first.device)
    with torch.no_grad():
        outputs = network(one).shape[-1]
    targets = Targets.of(examples.labels, outputs)
    if targets.kind == "regression":
        raise ValueError("labels are numbers: `measure` trains yes-or-no tasks and classes, not regression")
    classes = targets.kind == "classes"
    labels = torch.from_numpy(targets.values.argmax(1) if classes else targets.values.astype(np.float32))
    train, test = (
        {name: (inputs[rows], labels[rows]) for name, rows in zip(examples.names, split, strict=True)}
        for split in (examples.train, examples.test)
    )
    return CustomTasks(train, test)
