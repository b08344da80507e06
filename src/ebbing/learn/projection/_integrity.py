"""What would go wrong in silence while a network learns: refused, or told."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

import torch
from torch import Tensor, nn

from ebbing.learn.projection._layers import Layer, recorded_inputs

Kind = tuple[nn.Parameter, bool, torch.dtype, torch.device]
Fingerprint = list[int]


def parameter_signatures(network: nn.Module) -> dict[str, Kind]:
    """The parameters themselves, so that copies of a learner know their own; and what may not change of them."""
    return {name: (p, p.requires_grad, p.dtype, p.device) for name, p in network.named_parameters()}


def _differ(one: Kind | None, other: Kind | None) -> bool:
    return one is None or other is None or one[0] is not other[0] or one[1] != other[1]


def check_same_parameters(network: nn.Module, then: dict[str, Kind]) -> None:
    """Layers and parameters were found when the learner was made; another network would be learned in part."""
    now = parameter_signatures(network)
    if now.keys() == then.keys() and any(now[name][2:] != then[name][2:] for name in now):
        name = next(name for name in now if now[name][2:] != then[name][2:])
        raise ValueError(
            f"parameter {name!r} is {now[name][2]} on {now[name][3]} and was {then[name][2]} on {then[name][3]} at "
            "start(): put it back; on another device, start another learner and load what this one saves"
        )
    changed = sorted(name for name in {*now, *then} if _differ(now.get(name), then.get(name)))
    if changed:
        raise ValueError(
            f"parameter {changed[0]!r} has been added, removed, replaced, frozen or set free since start(): make "
            "the network as it is to be (with all its heads) before, or start another learner"
        )


def check_precision(layers: list[Layer]) -> None:
    """Directions rounded to a few bits are not orthogonal, and what is not is not protected."""
    for layer in layers:
        if layer.module.weight.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"the weight of layer {layer.name!r} is {layer.module.weight.dtype}: too coarse to be protected; keep "
                "weights in float32 (or float64) and compute in mixed precision, with torch.autocast"
            )


def fingerprint(layers: list[Layer]) -> Fingerprint:
    """Of each layer's weights, a number that hardly any change leaves as it is: rows and columns count by place."""
    found = []
    for layer in layers:
        bits = layer.module.weight.detach().flatten(1)
        bits = bits.view({torch.float32: torch.int32, torch.float64: torch.int64}[bits.dtype])
        found.append(sum(int((sums * _by_place(sums)).sum()) for sums in (bits.sum(0), bits.sum(1))))
    return found


def _by_place(values: Tensor) -> Tensor:
    """A factor for each place, far from those of the others."""
    return torch.arange(1, len(values) + 1, device=values.device) * 0x9E3779B1


def warn_if_changed(layers: list[Layer], left: Fingerprint | None, stacklevel: int) -> Fingerprint:
    """What somebody else has done to the network since the latest task is not protected: told, once."""
    now = fingerprint(layers)
    changed = [layer.name for layer, then, new in zip(layers, left or now, now, strict=True) if then != new]
    if changed:
        warnings.warn(
            f"the weight of layer {changed[0]!r} has changed since the latest task, and not by the learner: what it "
            "knew of older tasks may be lost; between tasks leave the network alone, or load() what was saved",
            stacklevel=stacklevel,
        )
    return now


@contextmanager
def no_fast_path() -> Iterator[None]:
    """PyTorch's fast path of transformers goes by the weights of layers inside and never calls the layers."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@contextmanager
def frozen_weights(layers: list[Layer], parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """While a task is learned the layers' own weights rest: what loops do with them would pass in silence."""

    def refuse(*_: object) -> None:
        raise RuntimeError(
            "load_state_dict() inside task(): the layers' own weights rest there, and nothing would be restored; "
            "keep copies of the parameters that task() gives"
        )

    modules = [layer.module for layer in layers]
    gradients = [module.weight.grad for module in modules]
    motions = [moving for layer in layers for moving in layer.moving]
    within = {id(parameter) for moving in motions for parameter in moving.parameters()}
    free = [(parameter, parameter.detach().clone()) for parameter in parameters if id(parameter) not in within]
    hooks = [module._register_load_state_dict_pre_hook(refuse) for module in modules]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
    for layer, before in zip(layers, gradients, strict=True):
        layer.check_unchanged()
        if layer.module.weight.grad is not None and layer.module.weight.grad is not before:
            warnings.warn(
                f"the weight of layer {layer.name!r} has been given a gradient, which has no effect: while a task "
                "is learned it rests; penalize the parameters that task() gives",
                stacklevel=4,
            )
    stuck = not any(m.moved for m in motions) and any(p.numel() for m in motions for p in m.parameters())
    if stuck:
        others = any(not torch.equal(parameter, before) for parameter, before in free)
        what = "biases, heads or norms have been trained, but no layer" if others else "nothing has been trained"
        warnings.warn(
            f"{what}; in a loop of your own, give the optimizer what task() gives: one made before does not have it",
            stacklevel=4,
        )


def check_not_compiled(network: nn.Module) -> None:
    """Compiled code does not notice that its layers are watched or set in motion: nothing would be protected."""
    for name, module in network.named_modules():
        parts = [*vars(module).values(), *(part for kind in type(module).__mro__[:-1] for part in vars(kind).values())]
        compiled = (
            getattr(part, "_torchdynamo_orig_callable", None) is not None
            and not getattr(part, "_torchdynamo_disable", False)
            for part in parts
        )
        if getattr(module, "_compiled_call_impl", None) is not None or any(compiled):
            where = f"module {name!r}" if name else "the network"
            raise ValueError(f"{where} is compiled, which keeps it from being protected: learn without torch.compile")


def check_single_use(
    layers: list[Layer], forward: Callable[[Tensor], Tensor], network: nn.Module, inputs: Tensor
) -> None:
    """A layer in motion does without its module's weight: wherever else that is used, it would not be trained.

    And what it is given is seen where the layer is called: if its forward is, nothing would be protected.
    """
    network.eval()
    with recorded_inputs(layers) as seen:
        outputs = forward(inputs.clone())  # which the network may change in place
    if not isinstance(outputs, Tensor):
        raise ValueError(f"the network returns a {type(outputs).__name__}: let it return one tensor")
    if not outputs.requires_grad:
        return
    values = [[layer.module.weight, *(p for moving in layer.moving for p in moving.parameters())] for layer in layers]
    gradients = iter(torch.autograd.grad(outputs.sum(), list(chain.from_iterable(values)), allow_unused=True))
    for layer, (_, *moving) in zip(layers, values, strict=True):
        elsewhere, here = next(gradients), [next(gradients) for _ in moving]
        if not seen[layer.name] and any(gradient is not None for gradient in here):
            raise ValueError(
                f"the forward of layer {layer.name!r} is called, not the layer: what it is given is not seen then, and "
                "cannot be protected; in the network's code, call the layer itself"
            )
        if elsewhere is not None:
            raise ValueError(
                f"the weight of layer {layer.name!r} is used outside of the layer's own forward, where it cannot "
                "be protected; call the layer itself, or name it in per_task= to give each task its own copy"
            )
