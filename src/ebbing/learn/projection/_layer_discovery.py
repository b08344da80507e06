"""The parts of a network: layers to protect, norms, task-specific values, and what cannot be handled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from torch import nn

from ebbing.learn.projection._adapters import adapter_problems
from ebbing.learn.projection._embedding import EmbeddingLayer
from ebbing.learn.projection._layer_kinds import Kind, LinearKind, TransposedLinearKind, is_attention
from ebbing.learn.projection._layers import Layer, full_name
from ebbing.learn.projection._substitution import Use
from ebbing.learn.projection._tied import TiedLayer
from ebbing.learn.projection._unprotected import (
    Problem,
    check_memory,
    check_not_lazy,
    describe_problems,
    problem_of,
    product_parameters,
    shared_problem,
    unsupported_reason,
)

NORMS = (
    nn.modules.batchnorm._BatchNorm,
    nn.modules.instancenorm._InstanceNorm,
    nn.LayerNorm,
    nn.GroupNorm,
    nn.RMSNorm,
)


class NetworkParts(NamedTuple):
    """The layers of a network that can be protected, and the names of its other parameters and buffers by role.

    Attributes:
        layers: The layers to protect.
        norms: The names of parameters and buffers of normalization layers.
        per_task: The names of parameters and buffers that `per_task` selects.
        biases: The names of the biases of the layers.
    """

    layers: list[Layer]
    norms: list[str]
    per_task: list[str]
    biases: list[str]


def discover_layers(network: nn.Module, per_task: Sequence[str]) -> NetworkParts:
    """Return the parts of a network.

    Args:
        network: The network.
        per_task: Names, or patterns such as "heads.*", of modules or parameters of which each task has a copy.

    Returns:
        The layers to protect, and the names of the other parameters and buffers by role.

    Raises:
        ValueError: If parameters can be neither protected nor copied for each task; the error lists all of them.
    """
    selected = _selected_by_module(network, per_task)
    for name, module in network.named_modules():
        check_not_lazy(name, module)
    check_memory(network, set(_full_names(selected)))
    found = _Discovery(selected, adapter_problems(network))
    for name, module in network.named_modules():
        found.add_module(name, module)
    layers, problems = found.layers()
    if problems:
        raise ValueError(describe_problems(problems, per_task, [layer.weight_name for layer in layers]))
    if not layers:
        raise ValueError(
            "the network has no layer to protect: every one is frozen or named in per_task=, or there is none; use "
            "FineTuning or Copies for such a network"
        )
    norms, biases = (_listed_names(network, names) for names in (found.norms, found.biases))
    return NetworkParts(layers, norms, _listed_names(network, _full_names(selected)), biases)


class _Discovery:
    """The parameters of a network by role, collected module by module.

    Args:
        selected: For every module, its parameters and buffers that `per_task` selects.
        adapters: By name, modules of adapters that cannot be protected, though they consist of layers.
    """

    def __init__(self, selected: dict[str, list[str]], adapters: dict[str, Problem]) -> None:
        self.selected, self.adapters = selected, adapters
        self.norms: list[str] = []
        self.biases: list[str] = []
        # By parameter: where it is used as the weight of a layer, as what, and where as something else.
        self._weights: dict[int, list[_WeightUse]] = {}
        self._others: dict[int, Problem] = {}
        self._selected_parameters: dict[int, str] = {}
        self._bias_parameters: set[int] = set()
        self._hosts: dict[nn.Module, nn.Module] = {}  # modules that another one uses without calling them

    def add_module(self, name: str, module: nn.Module) -> None:
        """Add the direct parameters of a module."""
        if _is_norm(module):
            frozen = {key for key, value in module._parameters.items() if value is not None and not value.requires_grad}
            left_out = {*self.selected[name], *frozen}
            self.norms += [full_name(name, key) for key in _value_names(module) if key not in left_out]
            return
        if is_attention(module):
            self._hosts[module.out_proj] = module  # type: ignore[index]
        weights, biases = product_parameters(module)
        for key, parameter in module._parameters.items():
            if parameter is None or not parameter.requires_grad:
                continue
            if key in self.selected[name]:
                self._selected_parameters.setdefault(id(parameter), full_name(name, key))
            elif name in self.adapters:
                self._others.setdefault(id(parameter), self.adapters[name])
            elif key in weights and unsupported_reason(module) is None:
                use = Use(self._hosts.get(module, module), module, key)
                self._weights.setdefault(id(parameter), []).append(_WeightUse(name, use, weights[key]))
            elif key in biases:
                self.biases.append(full_name(name, key))
                self._bias_parameters.add(id(parameter))
            else:
                self._others.setdefault(id(parameter), problem_of(name, module, key))

    def layers(self) -> tuple[list[Layer], list[Problem]]:
        """Return the layers, one for each weight, and what cannot be protected."""
        handled = {*self._bias_parameters, *self._selected_parameters}
        problems = [problem for parameter, problem in self._others.items() if parameter not in handled]
        layers: list[Layer] = []
        for parameter, uses in self._weights.items():
            if parameter in self._selected_parameters or parameter in self._others:
                other = self._selected_parameters.get(parameter) or self._others[parameter].name
                problems.append(shared_problem([full_name(one.name, one.use.key) for one in uses], other))
            elif (layer := _make_layer(uses)) is None:
                first, *rest = (full_name(one.name, one.use.key) for one in uses)
                problems.append(shared_problem(rest, first))
            else:
                layers.append(layer)
        return layers, problems


class _WeightUse(NamedTuple):
    """A weight of a layer as one module has it.

    Attributes:
        name: The name of the module.
        use: The module, and the name of the weight in it.
        kind: The kind of the layer; None for an embedding.
    """

    name: str
    use: Use
    kind: Kind | None


def _make_layer(uses: list[_WeightUse]) -> Layer | None:
    """Return the layer of a weight that one or several modules use; None if they use it in too different ways."""
    (name, (_, module, key), kind), places = uses[0], [one.use for one in uses]
    kinds = {type(one.kind) for one in uses}
    if kinds == {type(None)}:
        return EmbeddingLayer(name, module, places)  # type: ignore[arg-type]
    if len(uses) == 1:
        return Layer(name, module, key, kind, places)
    if kinds in ({LinearKind}, {TransposedLinearKind}):
        return Layer(name, module, key, kind, places)
    return TiedLayer(name, module, places) if kinds == {LinearKind, type(None)} else None


def _is_norm(module: nn.Module) -> bool:
    """Return whether a module normalizes: one of PyTorch's, or one that is called so and has vectors only."""
    named_so = type(module).__name__.endswith("Norm") and not [*module.children()]
    return isinstance(module, NORMS) or (
        named_so and all(value is None or value.ndim <= 1 for value in module._parameters.values())
    )


def per_task_values(network: nn.Module, per_task: Sequence[str]) -> list[str]:
    """Return the names of the parameters and buffers of which each task has a copy.

    Args:
        network: The network.
        per_task: Names, or patterns such as "heads.*", of modules or parameters.

    Returns:
        The full names, as in `network.named_parameters()` and `network.named_buffers()`.

    Example:
        >>> network = nn.ModuleDict({"body": nn.Linear(3, 3), "head": nn.Linear(3, 2)})
        >>> per_task_values(network, ["head"])
        ['head.weight', 'head.bias']
    """
    return _listed_names(network, _full_names(_selected_by_module(network, per_task)))


def check_per_task(per_task: tuple[str, ...]) -> None:
    """Raise an error if `per_task` is a string instead of a tuple of names."""
    if isinstance(per_task, str):
        raise ValueError(f"per_task={per_task!r}: give a tuple of names, as ({per_task!r},)")


def _selected_by_module(network: nn.Module, per_task: Sequence[str]) -> dict[str, list[str]]:
    """Return, for every module, its direct parameters and buffers that `per_task` selects."""
    names, unused, selected = _all_module_names(network), set(per_task), {}
    for name, module in network.named_modules():
        whole = {pattern for pattern in per_task if any(_matches(other, pattern) for other in names[id(module)])}
        single = {key: {p for p in per_task if _matches(full_name(name, key), p)} for key in _value_names(module)}
        selected[name] = [key for key in _value_names(module) if whole or single[key]]
        unused -= whole.union(*single.values())
    if unused:
        raise ValueError(
            f"per_task={sorted(unused)}: the network has no such module or parameter; it has {_module_list(network)}"
        )
    return selected


def _value_names(module: nn.Module) -> list[str]:
    """Return the names of a module's direct parameters and buffers."""
    return [key for key, value in (*module._parameters.items(), *module._buffers.items()) if value is not None]


def _full_names(by_module: dict[str, list[str]]) -> list[str]:
    return [full_name(name, key) for name, keys in by_module.items() for key in keys]


def _listed_names(network: nn.Module, names: Iterable[str]) -> list[str]:
    """Return the names under which the network lists some values: it lists a shared one under one name only."""
    listed = {id(value): name for name, value in (*network.named_parameters(), *network.named_buffers())}
    everything = dict(network.named_parameters(remove_duplicate=False))
    everything |= dict(network.named_buffers(remove_duplicate=False))
    return list(dict.fromkeys(listed[id(everything[name])] for name in names))


def _all_module_names(network: nn.Module) -> dict[int, list[str]]:
    """Return all names of every module: a module that is registered twice has two."""
    names: dict[int, list[str]] = {}
    for name, module in network.named_modules(remove_duplicate=False):
        names.setdefault(id(module), []).append(name)
    return names


def _matches(name: str, pattern: str) -> bool:
    """Return whether a pattern selects a module or parameter, or a module that contains it."""
    return bool(name) and (fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*"))


def _module_list(network: nn.Module) -> str:
    return ", ".join(name for name, module in network.named_modules() if name and list(module.parameters()))
