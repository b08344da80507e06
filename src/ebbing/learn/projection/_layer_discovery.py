"""The parts of a network: layers to protect, norms, task-specific values, and what cannot be handled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

from torch import nn
from torch.nn.parameter import is_lazy

from ebbing.learn.projection._layers import Layer

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
        biases: The names of the biases of Linear and Conv2d layers.
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
        ValueError: If a layer cannot be handled; the error names the first one.
    """
    layers: list[Layer] = []
    norms: list[str] = []
    biases: list[str] = []
    seen: dict[int, tuple[str, bool]] = {}  # by parameter: its module, and whether each task has a copy
    selected = _selected_by_module(network, per_task)
    for name, module in network.named_modules():
        _check_not_lazy(name, module)
    _check_memory(network, selected)
    for name, module in network.named_modules():
        if isinstance(module, NORMS):
            norms += [_full_name(name, key) for key in _value_names(module) if key not in selected[name]]
            continue
        trained = [key for key, value in module._parameters.items() if value is not None and value.requires_grad]
        for key in trained:
            is_selected = key in selected[name]
            other, other_is_selected = seen.setdefault(id(module._parameters[key]), (name, is_selected))
            if other != name and not (is_selected and other_is_selected):
                raise ValueError(
                    f"layers {other!r} and {name!r} share {key!r}: a weight with two kinds of inputs cannot be "
                    "protected; give each layer a separate one, or name both in per_task="
                )
        trained = [key for key in trained if key not in selected[name]]
        if not trained:
            continue
        _check_supported(name, module, trained)
        if "weight" in trained:
            layers.append(Layer(name, module))  # type: ignore[arg-type]
        if "bias" in trained:
            biases.append(_full_name(name, "bias"))
    if not layers:
        raise ValueError(
            "the network has no Linear or Conv2d layer to protect: every one is frozen or named in per_task=, or there "
            "is none; use FineTuning or Copies for such a network"
        )
    return NetworkParts(layers, _listed_names(network, norms), _listed_names(network, _full_names(selected)), biases)


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
        single = {key: {p for p in per_task if _matches(_full_name(name, key), p)} for key in _value_names(module)}
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


def _full_name(module: str, key: str) -> str:
    return f"{module}.{key}".lstrip(".")


def _full_names(by_module: dict[str, list[str]]) -> list[str]:
    return [_full_name(name, key) for name, keys in by_module.items() for key in keys]


def _listed_names(network: nn.Module, names: Iterable[str]) -> list[str]:
    """Return those names that the network lists: it lists a shared parameter under one name only."""
    listed = dict(network.named_parameters()) | dict(network.named_buffers())
    return [name for name in names if name in listed]


def _check_not_lazy(name: str, module: nn.Module) -> None:
    """Raise an error for lazy modules without initialized weights."""
    values = (*module._parameters.values(), *module._buffers.values())
    if any(value is not None and is_lazy(value) for value in values):
        raise ValueError(
            f"layer {name!r} is a {type(module).__name__} with uninitialized weights: call the network on a batch first"
        )


def _check_memory(network: nn.Module, selected: dict[str, list[str]]) -> None:
    """Raise an error if parameters share memory, as after `nn.Parameter(layer.weight.data)`."""
    per_task, parameters = set(_full_names(selected)), dict(network.named_parameters())
    intervals = sorted((p.data_ptr(), p.data_ptr() + p.nbytes, name) for name, p in parameters.items() if p.numel())
    for (_, end, name), (begin, _, other) in pairwise(intervals):
        trained = parameters[name].requires_grad or parameters[other].requires_grad
        if begin < end and trained and not {name, other} <= per_task:
            raise ValueError(
                f"parameters {name!r} and {other!r} share memory: a weight with two kinds of inputs cannot be "
                "protected; give each layer a separate one, or name both in per_task="
            )


def _check_supported(name: str, module: nn.Module, trained: list[str]) -> None:
    """Raise an error if a module has trained parameters that cannot be protected."""
    supported = type(module) in (nn.Linear, nn.Conv2d)
    if not name and not supported:
        raise ValueError(
            f"the network has a parameter {trained[0]!r} outside of its layers: only weights of Linear and Conv2d can "
            "be protected; name it in per_task= to give each task a separate copy, or freeze it with "
            "requires_grad_(False)"
        )
    if not supported and any(type(m) in (nn.Linear, nn.Conv2d) for m in module.modules()):
        raise ValueError(
            f"module {name!r} has a parameter {trained[0]!r} outside of its layers: only weights of Linear and Conv2d "
            f"can be protected; name {f'{name}.{trained[0]}'!r} in per_task= to give each task a separate copy, or "
            "freeze it with requires_grad_(False)"
        )
    if not supported:
        raise ValueError(
            f"layer {name!r} is a {type(module).__name__}: only Linear and Conv2d can be protected; name it in "
            "per_task= to give each task a separate copy, or freeze it with requires_grad_(False)"
        )
    if "weight" not in module._parameters:
        raise ValueError(
            f"layer {name!r} computes its weight from {', '.join(trained)} (as weight_norm and pruning do), and such a "
            "weight cannot be protected; name the layer in per_task= to give each task a separate copy, or remove the "
            "reparametrization"
        )


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
