"""Low-rank updates per task, as LoRA makes them (Hu et al., 2022): a shared network plus a small update for each task.

The first task trains the whole network, whose layers are then frozen. Every later task trains an update of a small rank
for each layer, so nothing is forgotten. This is the plainest method whose memory per task can be chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ebbing._validate import check_count
from ebbing.learn.methods.fine_tuning import FineTuningLearner, UnprotectedMethod
from ebbing.learn.projection._autograd import no_autocast
from ebbing.learn.projection._integrity import Fingerprint, check_not_compiled, fingerprint, warn_if_changed
from ebbing.learn.projection._layer_discovery import discover_layers
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._substitution import SubstitutedForward
from ebbing.learn.training._buffers import variable_buffers
from ebbing.learn.training._state_file import State, with_prefix
from ebbing.learn.training.base_learner import TrainableParameters

UP, DOWN = ".up", ".down"
"""What the names of the factors B and A add to the name of a weight."""

UPDATE_PREFIX = "low_rank_"
"""The prefix of the module with the factors, which a module has while a task is learned."""


@dataclass(frozen=True)
class LowRank(UnprotectedMethod):
    """Low-rank updates of a frozen network: task t uses the weights W + B_t A_t in each layer.

    W (out, d) are the weights after the first task. B_t (out, k) and A_t (k, d), k the rank, belong to task t. They
    start at the factors of the task before; those of the second task at B = 0 and a random A with orthonormal rows
    (from PyTorch's global generator), so that its first step is that of gradient descent in k random input directions.
    A layer whose factors would not be smaller than its weight has a copy of the weight for each task instead. Biases,
    normalization layers and buffers are task-specific.

    Attributes:
        schedule: How each task is learned: learning rate, epochs, batch size.
        per_task: Names, or patterns such as "*_head", of modules and parameters of which each task has a copy.
        rank: The rank k of the update of each layer.
        identifier: The name of the method in the keys of stored results.
        version: The version of the method, which enters the key of stored results.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> learner = LowRank(rank=2).start(nn.Linear(20, 10))
        >>> for task in ("first", "second"):
        ...     learner.learn(task, (torch.randn(50, 20), torch.randint(10, (50,))))
        >>> {name: tuple(value.shape) for name, value in learner.state().items() if name.startswith("copy.1")}
        {'copy.1.bias': (10,), 'copy.1.weight.up': (10, 2), 'copy.1.weight.down': (2, 20)}
    """  # noqa: DOC602, DOC603 (the settings of the base class are listed, too)

    rank: int = 8

    identifier: ClassVar[str] = "LowRank"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rank", check_count("rank", self.rank))

    def start(self, network: nn.Module) -> LowRankLearner:
        """Return a learner for a network, which has not learned any task yet.

        Args:
            network: The network. It is trained in place.

        Returns:
            The learner.
        """
        return LowRankLearner(network, self)


class LowRankLearner(FineTuningLearner):
    """A network whose layers are frozen after the first task, with a low-rank update of each for every later task.

    Between tasks the network has the frozen weights, without the update of any task.

    Args:
        network: The network. It is trained in place.
        method: The method, with its settings.

    Attributes:
        kind: The name of the method in saved files.
        rank: The rank of the updates.
        layers: The layers with low-rank updates, in the order of the network.
    """

    kind: ClassVar[str] = "LowRank"
    rank: int
    layers: list[Layer]

    def __init__(self, network: nn.Module, method: LowRank) -> None:
        super().__init__(network, method)
        check_not_compiled(network)
        self.rank = method.rank
        layers, norms, per_task, biases = discover_layers(network, method.per_task)
        self.layers = [layer for layer in layers if _saves_memory(layer.weight, self.rank)]
        copied = [layer.weight_name for layer in layers if layer not in self.layers]
        buffers = variable_buffers(network)
        self._copied = list(dict.fromkeys([*per_task, *biases, *norms, *buffers, *copied]))
        self._fingerprint: Fingerprint | None = None  # of the layers' weights after the latest task
        self._updates: dict[str, _LowRankUpdate] = {}  # while a task is learned, by the name of the weight
        self._forwards: list[tuple[nn.Module, Any]] = []  # while a task is learned, modules and what was their forward

    @property
    def _task_specific(self) -> list[str]:
        return self._copied

    def _open_task(self) -> TrainableParameters:
        if self.tasks:
            for layer in self.layers:
                update = self._updates[layer.weight_name] = self._initial_update(layer)
                layer.weight.requires_grad_(False)
                layer.module.add_module(f"{UPDATE_PREFIX}{layer.key}", update)  # among the network's parameters
                for use in layer.uses:
                    before = use.host.__dict__.get("forward")
                    self._forwards.append((use.host, before))
                    use.host.forward = SubstitutedForward(use, _UpdatedWeight(layer, update), use.host.forward)
        return super()._open_task()

    def _initial_update(self, layer: Layer) -> _LowRankUpdate:
        """Return the update with which a task starts: that of the task before, or none."""
        weight, latest = layer.weights[0], self._task_values[-1]
        if (up := latest.get(layer.weight_name + UP)) is not None:
            return _LowRankUpdate(up, latest[layer.weight_name + DOWN])
        size = layer.weight.flatten(1).shape[1]
        basis = torch.linalg.qr(torch.randn(size, self.rank, dtype=torch.float64)).Q  # (d, k)
        return _LowRankUpdate(weight.new_zeros(len(layer.weight), self.rank), basis.T.to(weight))

    def _close_task(self) -> State:
        factors: State = {}
        for name, update in self._updates.items():
            factors |= {name + UP: update.up.detach().clone(), name + DOWN: update.down.detach().clone()}
        for layer in self.layers:
            layer.module._modules.pop(f"{UPDATE_PREFIX}{layer.key}", None)
            layer.weight.requires_grad_(True)
        for host, before in reversed(self._forwards):
            host.__dict__.pop("forward", None)
            if before is not None:
                host.forward = before
        self._updates, self._forwards = {}, []
        if not self.tasks:  # later tasks leave these weights unchanged: `_check_weights` notices if one does not
            self._fingerprint = fingerprint(self.layers)
        values, initial = self._copy_values(self._copied), self._initial_values
        # Of ten heads, for example, a task changes one: the others need no copy.
        changed = (name for name, v in values.items() if name not in initial or not torch.equal(v, initial[name]))
        return {name: values[name] for name in changed} | factors

    def _weights_of(self, task: int) -> State:
        values = self._initial_values | self._task_values[task]
        current = self._values()
        for layer in self.layers:
            name = layer.weight_name
            if name + UP in values:  # the first task has no update
                up, down = values.pop(name + UP), values.pop(name + DOWN)
                values[name] = current[name].detach() + (up @ down).view_as(current[name])
        return values

    def _check_weights(self) -> None:
        if self.tasks:
            self._fingerprint = warn_if_changed(self.layers, self._fingerprint)

    def _parse_method_state(self, state: State, tasks: int) -> Callable[[], None]:
        initial_values = {name: state[f"fresh.{name}"] for name in self._initial_values}
        task_values = [with_prefix(state, f"copy.{t}.") for t in range(tasks)]
        current, rank = self._values(), self.rank
        shapes = {name: tuple(current[name].shape) for name in self._copied}
        factors: dict[str, tuple[int, ...]] = {}
        for layer in self.layers:
            name, (out, size) = layer.weight_name, layer.weight.flatten(1).shape
            factors |= {name + UP: (out, rank), name + DOWN: (rank, size)}
        for t, values in enumerate(task_values):
            expected = shapes | factors if t else shapes  # the first task has no update
            if missing := sorted(expected.keys() - initial_values.keys() - values.keys()):
                raise ValueError(f"task {t} has no task-specific {missing[0]!r}")
            for name, value in (*initial_values.items(), *values.items()):
                if expected.get(name) != tuple(value.shape):
                    raise ValueError(f"{name} of shape {tuple(value.shape)} is not task-specific in this network")

        def apply() -> None:
            self._initial_values, self._task_values = initial_values, task_values
            self._fingerprint = fingerprint(self.layers)

        return apply

    def _describe(self) -> dict[str, Any]:
        return super()._describe() | {"rank": self.rank}


class _UpdatedWeight:
    """A function that returns W + B A of a layer, in full precision even within mixed precision.

    Args:
        layer: The layer.
        update: Its update.
    """

    def __init__(self, layer: Layer, update: _LowRankUpdate) -> None:
        self.layer, self.update = layer, update

    def __call__(self) -> Tensor:
        with no_autocast(self.layer.weight):
            return self.update(self.layer.weight)


class _LowRankUpdate(nn.Module):
    """The parametrization W + B A of a weight, flattened to (out, d).

    Args:
        up: The initial B. Shape (out, k).
        down: The initial A. Shape (k, d).
    """

    def __init__(self, up: Tensor, down: Tensor) -> None:
        super().__init__()
        self.up, self.down = nn.Parameter(up.clone()), nn.Parameter(down.clone())

    def forward(self, weight: Tensor) -> Tensor:
        return weight + (self.up @ self.down).view_as(weight)


def _saves_memory(weight: Tensor, rank: int) -> bool:
    """Return whether the factors of an update are smaller than the weight."""
    out, size = weight.flatten(1).shape
    return rank * (out + size) < out * size
