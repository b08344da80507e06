"""What of a network can be protected, what is each task's own, and what can be neither."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

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


def discover_layers(network: nn.Module, per_task: Sequence[str]) -> tuple[list[Layer], list[str], list[str], list[str]]:
    """The layers to protect, and the names of normalizing values, of values within per_task, and of the layers' biases.

    Raises an error that names the first layer which cannot be handled.
    """
    layers: list[Layer] = []
    norms: list[str] = []
    biases: list[str] = []
    seen: dict[int, tuple[str, bool]] = {}  # by parameter: its module, and whether it is each task's own
    owned = _per_task_by_module(network, per_task)
    for name, module in network.named_modules():
        _check_not_lazy(name, module)
    _check_memory(network, owned)
    for name, module in network.named_modules():
        if isinstance(module, NORMS):
            norms += [_full(name, key) for key in _keys(module) if key not in owned[name]]
            continue
        trained = [key for key, value in module._parameters.items() if value is not None and value.requires_grad]
        for key in trained:
            is_own = key in owned[name]
            other, other_is_own = seen.setdefault(id(module._parameters[key]), (name, is_own))
            if other != name and not (is_own and other_is_own):
                raise ValueError(
                    f"layers {other!r} and {name!r} share {key!r}: a weight with two kinds of inputs cannot be "
                    "protected; give each layer its own, or name both in per_task="
                )
        trained = [key for key in trained if key not in owned[name]]
        if not trained:
            continue
        _check_supported(name, module, trained)
        if "weight" in trained:
            layers.append(Layer(name, module))  # type: ignore[arg-type]
        if "bias" in trained:
            biases.append(_full(name, "bias"))
    if not layers:
        raise ValueError("the network has no Linear or Conv2d layer that can be protected")
    return layers, _once(network, norms), _once(network, _names_of(owned)), biases


def per_task_values(network: nn.Module, per_task: Sequence[str]) -> list[str]:
    """The names of parameters and buffers of which each task has its own copy.

    own: names (or patterns such as "heads.*") of modules or parameters.

    >>> network = nn.ModuleDict({"body": nn.Linear(3, 3), "head": nn.Linear(3, 2)})
    >>> per_task_values(network, ["head"])
    ['head.weight', 'head.bias']
    """
    return _once(network, _names_of(_per_task_by_module(network, per_task)))


def check_per_task(per_task: tuple[str, ...]) -> None:
    """Names, not one name."""
    if isinstance(per_task, str):
        raise ValueError(f"per_task={per_task!r}: give a tuple of names, as ({per_task!r},)")


def _per_task_by_module(network: nn.Module, per_task: Sequence[str]) -> dict[str, list[str]]:
    """Of every module, the parameters and buffers (without those of modules inside it) that `own` names."""
    names, unused, owned = _all_names(network), set(per_task), {}
    for name, module in network.named_modules():
        whole = {pattern for pattern in per_task if any(_within(other, pattern) for other in names[id(module)])}
        named = {key: {p for p in per_task if _within(_full(name, key), p)} for key in _keys(module)}
        owned[name] = [key for key in _keys(module) if whole or named[key]]
        unused -= whole.union(*named.values())
    if unused:
        raise ValueError(
            f"per_task={sorted(unused)}: the network has no such module or parameter; it has {_names(network)}"
        )
    return owned


def _keys(module: nn.Module) -> list[str]:
    return [key for key, value in (*module._parameters.items(), *module._buffers.items()) if value is not None]


def _full(module: str, key: str) -> str:
    return f"{module}.{key}".lstrip(".")


def _names_of(by_module: dict[str, list[str]]) -> list[str]:
    return [_full(name, key) for name, keys in by_module.items() for key in keys]


def _once(network: nn.Module, names: Iterable[str]) -> list[str]:
    """Of names of parameters and buffers, those that the network lists: a shared one has one name there."""
    known = dict(network.named_parameters()) | dict(network.named_buffers())
    return [name for name in names if name in known]


def _check_not_lazy(name: str, module: nn.Module) -> None:
    values = (*module._parameters.values(), *module._buffers.values())
    if any(value is not None and is_lazy(value) for value in values):
        raise ValueError(
            f"layer {name!r} is a {type(module).__name__} without weights as yet: give the network a batch first"
        )


def _check_memory(network: nn.Module, owned: dict[str, list[str]]) -> None:
    """Parameters of which one lies in the memory of another, as nn.Parameter(layer.weight.data) does."""
    apart, parameters = set(_names_of(owned)), dict(network.named_parameters())
    places = sorted((p.data_ptr(), p.data_ptr() + p.nbytes, name) for name, p in parameters.items() if p.numel())
    for (_, end, name), (begin, _, other) in pairwise(places):
        trained = parameters[name].requires_grad or parameters[other].requires_grad
        if begin < end and trained and not {name, other} <= apart:
            raise ValueError(
                f"parameters {name!r} and {other!r} lie in the same memory: a weight with two kinds of inputs cannot "
                "be protected; give each layer its own, or name both in per_task="
            )


def _check_supported(name: str, module: nn.Module, trained: list[str]) -> None:
    if not name and type(module) not in (nn.Linear, nn.Conv2d):
        raise ValueError(
            f"the network's own parameter {trained[0]!r}: only weights of Linear and Conv2d can be protected; name it "
            f"in per_task= to give each task its own copy, or freeze it with requires_grad_(False)"
        )
    if type(module) not in (nn.Linear, nn.Conv2d) and any(type(m) in (nn.Linear, nn.Conv2d) for m in module.modules()):
        raise ValueError(
            f"module {name!r} has a parameter {trained[0]!r} of its own: only weights of Linear and Conv2d can be "
            f"protected; name {f'{name}.{trained[0]}'!r} in per_task= to give each task its own copy, or freeze it with "
            "requires_grad_(False)"
        )
    if type(module) not in (nn.Linear, nn.Conv2d):
        raise ValueError(
            f"layer {name!r} is a {type(module).__name__}: only Linear and Conv2d can be protected; name it in "
            "per_task= to give each task its own copy, or freeze it with requires_grad_(False)"
        )
    if "weight" not in module._parameters:
        raise ValueError(
            f"layer {name!r} computes its weight from {', '.join(trained)} (as weight_norm and pruning do), and such "
            "a weight cannot be protected; name the layer in per_task= to give each task its own copy, or undo that"
        )


def _all_names(network: nn.Module) -> dict[int, list[str]]:
    """The names of every module, of which one that is registered twice has two."""
    names: dict[int, list[str]] = {}
    for name, module in network.named_modules(remove_duplicate=False):
        names.setdefault(id(module), []).append(name)
    return names


def _within(name: str, pattern: str) -> bool:
    """Whether a module or parameter is what a pattern names, or inside of it."""
    return bool(name) and (fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*"))


def _names(network: nn.Module) -> str:
    return ", ".join(name for name, module in network.named_modules() if name and list(module.parameters()))
