"""What of a network cannot be protected, and the line to type for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

from torch import nn
from torch.nn.parameter import is_lazy

from ebbing.learn.projection._layer_kinds import (
    Kind,
    LinearKind,
    is_attention,
    is_cell,
    is_recurrent,
    is_table,
    layer_kind,
)
from ebbing.learn.projection._layers import full_name


class Problem(NamedTuple):
    """Something with trained parameters that cannot be protected.

    Attributes:
        name: What to name in per_task= to give each task a copy.
        reason: Why it cannot be protected, a clause that starts with its name.
    """

    name: str
    reason: str


def product_parameters(module: nn.Module) -> tuple[dict[str, Kind | None], set[str]]:
    """Return the weights of a module that multiply inputs, with their kinds (None for a table), and its biases."""
    if is_table(module):
        return {"weight": None}, set()
    if is_attention(module):
        weights = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
        return dict.fromkeys(weights, LinearKind()), {"in_proj_bias", "bias_k", "bias_v"}
    if is_recurrent(module) or is_cell(module):
        names = [*module._parameters]
        kinds = {name: LinearKind() for name in names if name.startswith(("weight_ih", "weight_hh"))}
        return {**kinds}, {name for name in names if name.startswith("bias")}
    kind = layer_kind(module)
    return ({}, set()) if kind is None or "weight" not in module._parameters else ({"weight": kind}, {"bias"})


def unsupported_reason(module: nn.Module) -> str | None:
    """Return why a module of a kind that can be protected cannot be, or None."""
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        if type(module).forward not in (nn.Embedding.forward, nn.EmbeddingBag.forward):
            return "has a forward of its own"
        if module.max_norm is not None:
            return "changes its rows whenever it looks them up (max_norm)"
    if is_recurrent(module) and getattr(module, "proj_size", 0):
        return "projects its hidden states (proj_size)"
    return None


def problem_of(name: str, module: nn.Module, key: str) -> Problem:
    """Return the problem of a parameter that cannot be protected."""
    kind = type(module).__name__
    if (reason := unsupported_reason(module)) is not None:
        return Problem(name, f"layer {name!r} ({kind}) {reason}")
    if layer_kind(module) is not None:  # with a weight that is computed
        return Problem(name, f"layer {name!r} ({kind}) computes its weight, as weight_norm and pruning do")
    if any(product_parameters(part)[0] for part in module.modules()):
        where = f"module {name!r}" if name else "the network"
        return Problem(full_name(name, key), f"{where} has a parameter {key!r} outside of its layers")
    if isinstance(module, nn.ParameterDict | nn.ParameterList):  # as many adapters of PEFT have
        return Problem(name, f"the parameters {name!r} are no weight of a layer")
    if not name:
        return Problem(key, f"the network has a parameter {key!r} outside of its layers")
    return Problem(name, f"layer {name!r} ({kind}) is no product of a weight and inputs")


def shared_problem(names: Sequence[str], other: str) -> Problem:
    """Return the problem of a weight that is used in ways which cannot be protected together."""
    shown = " and ".join(map(repr, sorted([*names, other])))
    return Problem(names[0], f"parameters {shown} are the same, used in ways that cannot be protected together")


def describe_problems(problems: Sequence[Problem], per_task: Sequence[str], protected: Sequence[str] = ()) -> str:
    """Return the message that lists all problems, and the line to type.

    Args:
        problems: What cannot be protected.
        per_task: What has been named already.
        protected: The names of weights that can be protected, which the line must not name.

    Returns:
        The message.
    """
    whole = {problem.name for problem in problems}
    outermost = list(dict.fromkeys(one for one in problems if not any(one.name.startswith(f"{n}.") for n in whole)))
    listed, names = _summarize(outermost, protected)
    heading, them = ("this cannot be protected", "it")
    if len(outermost) > 1:
        heading, them = f"these {len(outermost)} parts cannot be protected", "them"
    return (
        f"{heading}: {'; '.join(listed)}. Give each task a copy of {them}: {per_task_line([*per_task, *names])}; or "
        "freeze what need not be trained, with requires_grad_(False)"
    )


def per_task_line(names: Sequence[str]) -> str:
    """Return the setting that gives each task a copy of some modules or parameters, as one types it."""
    written = list(dict.fromkeys(names))
    return f"per_task=({', '.join(map(repr, written))}{',' if len(written) == 1 else ''})"


def _summarize(problems: Sequence[Problem], protected: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return reasons and names; one of each for equal blocks, "blocks.*.scale" for "blocks.0.scale" and so on."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        pattern = _without_numbers(problem.name)
        if any(fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*") for name in protected):
            pattern = problem.name
        groups.setdefault((pattern, _without_numbers(problem.reason)), []).append(problem)
    reasons, names = [], []
    for (pattern, reason), found in groups.items():
        several = len({one.name for one in found}) > 1
        reasons.append(f"{reason} ({len(found)} times)" if several else found[0].reason)
        names.append(pattern if several else found[0].name)
    return list(dict.fromkeys(reasons)), names


def _without_numbers(text: str) -> str:
    """Return a text with a star in the place of every number of a block in a name."""
    return re.sub(r"(?<=[.'])\d+(?=[.'])|(?<=\.)\d+$|^\d+(?=\.)", "*", text)


def check_not_lazy(name: str, module: nn.Module) -> None:
    """Raise an error for lazy modules without initialized weights."""
    values = (*module._parameters.values(), *module._buffers.values())
    if any(value is not None and is_lazy(value) for value in values):
        raise ValueError(
            f"layer {name!r} ({type(module).__name__}) has uninitialized weights: call the network on a batch first"
        )


def check_memory(network: nn.Module, per_task: set[str]) -> None:
    """Raise an error if parameters share memory, as after `nn.Parameter(layer.weight.data)`."""
    parameters = dict(network.named_parameters())
    intervals = sorted((p.data_ptr(), p.data_ptr() + p.nbytes, name) for name, p in parameters.items() if p.numel())
    for (_, end, name), (begin, _, other) in pairwise(intervals):
        trained = parameters[name].requires_grad or parameters[other].requires_grad
        if begin < end and trained and not {name, other} <= per_task:
            raise ValueError(
                f"parameters {name!r} and {other!r} share memory: two parameters with the same values cannot be "
                "protected; make them one parameter, or give each layer a separate one, or name both in per_task="
            )
