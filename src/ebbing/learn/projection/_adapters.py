"""Adapters of PEFT that cannot be protected, though they consist of layers that can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from ebbing.learn.projection._layers import full_name
from ebbing.learn.projection._unprotected import Problem


def adapter_problems(network: nn.Module) -> dict[str, Problem]:
    """Return the problem of every module that belongs to such an adapter, by the name of the module.

    **DoRA** divides its outputs by the norms of W + B A over all inputs, used by the task or not: whatever is left free
    in A and B changes the outputs of old tasks. (The norms are constants for the gradient, and A and B are called with
    the unit matrix, so that neither a gradient nor the inputs of A and B tell.)

    **Prompts** (prompt tuning, prefix tuning, p-tuning) are a part of every input: after the first task nothing of them
    is free.
    """
    problems = {}
    for name, module in network.named_modules():
        if _has_parts(module, "lora_magnitude_vector"):
            reason = f"layer {name!r} is adapted by DoRA, which divides by norms of the whole weight (LoRA does not)"
            found = Problem(full_name(name, "lora_*"), reason)
            problems |= dict.fromkeys(_names_below(name, module, "lora_"), found)
        if _has_parts(module, "prompt_encoder") and type(module).__module__.startswith("peft."):
            found = Problem(full_name(name, "prompt_encoder"), "the learned prompt is a part of every input")
            problems |= dict.fromkeys(_names_below(name, module, "prompt_encoder"), found)
    return problems


def check_adapters(network: nn.Module) -> None:
    """Raise an error for adapters that are not in use, or that replace weights whenever they are called."""
    for name, module in network.named_modules():
        if not type(module).__module__.startswith("peft."):
            continue
        if getattr(module, "merged_adapters", None):
            raise ValueError(
                f"the adapter of layer {name!r} is merged into its weight, and would not be trained: call "
                "unmerge_adapter() first"
            )
        if isinstance(getattr(module, "base_layer", None), nn.MultiheadAttention):
            raise ValueError(
                f"the adapter of layer {name!r} (MultiheadAttention) replaces the layer's weights in every call, and "
                "cannot be protected: leave the layer out of target_modules"
            )


def _has_parts(module: nn.Module, name: str) -> bool:
    parts: Any = getattr(module, name, None)
    return isinstance(parts, nn.ModuleDict) and len(parts) > 0


def _names_below(name: str, module: nn.Module, prefix: str) -> Iterator[str]:
    """Return the full names of the modules in those children whose names have a prefix."""
    return (full_name(name, child) for child, _ in module.named_modules() if child.startswith(prefix))
