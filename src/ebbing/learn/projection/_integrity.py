"""Checks against silent failures: what would weaken protection without notice raises an error or a warning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from ebbing._warnings import warn
from ebbing.learn._inputs import Inputs, map_inputs
from ebbing.learn.projection._adapters import check_adapters
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._recording import recorded_inputs
from ebbing.learn.projection._unprotected import Problem, describe_problems
from ebbing.learn.projection.subspaces import BasisUpdate

ParameterSignature = tuple[nn.Parameter, bool, torch.dtype, torch.device]
"""A parameter, whether it requires a gradient, its dtype and its device."""

Fingerprint = list[int]
"""A hash of the weight of every layer."""


def parameter_signatures(network: nn.Module) -> dict[str, ParameterSignature]:
    """Return the signature of every parameter by name.

    It holds the parameter itself: a copied learner then compares with the parameters of the copied network.
    """
    return {name: (p, p.requires_grad, p.dtype, p.device) for name, p in network.named_parameters()}


def _differ(one: ParameterSignature | None, other: ParameterSignature | None) -> bool:
    return one is None or other is None or one[0] is not other[0] or one[1] != other[1]


def check_same_parameters(network: nn.Module, expected: dict[str, ParameterSignature]) -> None:
    """Raise an error if the network's parameters are not those that the learner found when it was created."""
    now = parameter_signatures(network)
    if now.keys() == expected.keys() and any(now[name][2:] != expected[name][2:] for name in now):
        name = next(name for name in now if now[name][2:] != expected[name][2:])
        (_, _, dtype, device), (_, _, old_dtype, old_device) = now[name], expected[name]
        raise ValueError(
            f"parameter {name!r} is {dtype} on {device} and was {old_dtype} on {old_device} at start(): convert it "
            "back; for another device, start another learner and load what this one saves"
        )
    changed = sorted(name for name in {*now, *expected} if _differ(now.get(name), expected.get(name)))
    if changed:
        raise ValueError(
            f"parameter {changed[0]!r} was added, removed, replaced, frozen or unfrozen since start(): build the "
            "complete network (with all its heads) before, or start another learner"
        )


def check_precision(layers: list[Layer]) -> None:
    """Raise an error for weights in half precision: rounded bases are not orthogonal, and would not protect."""
    for layer in layers:
        if layer.weight.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"the weight of layer {layer.name!r} is {layer.weight.dtype}, whose precision is too low for "
                "gradient projection; keep weights in float32 (or float64) and use mixed precision: torch.autocast"
            )


def fingerprint(layers: list[Layer]) -> Fingerprint:
    """Return a hash of each layer's weight, which depends on the position of every value."""
    hashes = []
    for layer in layers:
        bits = layer.weight.detach().flatten(1)
        bits = bits.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[bits.element_size()])
        hashes.append(sum(int((sums * _position_factors(sums)).sum()) for sums in (bits.sum(0), bits.sum(1))))
    return hashes


def _position_factors(values: Tensor) -> Tensor:
    """Return a factor for each position, far from the factors of the others."""
    return torch.arange(1, len(values) + 1, device=values.device) * 0x9E3779B1


def warn_if_changed(layers: list[Layer], expected: Fingerprint | None) -> Fingerprint:
    """Warn if a weight changed since the latest task, and return the current fingerprint, so as to warn once."""
    now = fingerprint(layers)
    changed = [layer.name for layer, old, new in zip(layers, expected or now, now, strict=True) if old != new]
    if changed:
        warn(
            f"the weight of layer {changed[0]!r} was changed since the latest task, and not by the learner: old tasks "
            "may be forgotten; between tasks leave the network unchanged, or load() a saved learner"
        )
    return now


@contextmanager
def unchanged_weights(layers: list[Layer], parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """Check that a training loop leaves the modules' weights unchanged, which the parametrizations replace.

    Loading a state dict and changing a weight raise an error. A gradient on a weight gives a warning, and so does a
    loop that trains no parametrization.
    """

    def raise_error(*_: object) -> None:
        raise RuntimeError(
            "load_state_dict() inside task(): the layers are parametrized there, and their weights are not used; keep "
            "copies of the parameters that task() yields"
        )

    modules = [layer.module for layer in layers]
    gradients = [layer.weight.grad for layer in layers]
    parametrizations = [one for layer in layers for one in layer.parametrizations]
    in_layers = {id(parameter) for one in parametrizations for parameter in one.parameters()}
    others = [(parameter, parameter.detach().clone()) for parameter in parameters if id(parameter) not in in_layers]
    hooks = [module._register_load_state_dict_pre_hook(raise_error) for module in modules]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
    for layer, before in zip(layers, gradients, strict=True):
        layer.check_unchanged()
        if layer.weight.grad is not None and layer.weight.grad is not before:
            warn(
                f"the weight of layer {layer.name!r} has a gradient, which has no effect: the layer is parametrized "
                "while a task is learned; penalize the parameters that task() yields"
            )
    trainable = any(parameter.numel() for one in parametrizations for parameter in one.parameters())
    if trainable and not any(one.changed for one in parametrizations):
        others_changed = any(not torch.equal(parameter, before) for parameter, before in others)
        what = "biases, heads or norms were trained, but no layer" if others_changed else "nothing was trained"
        full = "; if it has them, the task has no inputs in the directions that are free" if others_changed else ""
        warn(
            f"{what}; in a custom loop, give the optimizer the parameters that task() yields: an optimizer created "
            f"before does not have them{full}"
        )


@contextmanager
def checked_optimizers(layers: list[Layer]) -> Iterator[None]:
    """Raise an error at the first step of an optimizer that was created before the task.

    It has the modules' weights, which are not used while a task is learned, and none of the parameters to train.
    """
    names = {id(layer.weight): layer.name for layer in layers}
    trained = {id(p) for layer in layers for one in layer.parametrizations for p in one.parameters()}

    def check(optimizer: Optimizer, *_: object) -> None:
        found = [id(parameter) for group in optimizer.param_groups for parameter in group["params"]]
        old = [names[parameter] for parameter in found if parameter in names]
        if old and trained.isdisjoint(found):
            raise ValueError(
                f"this {type(optimizer).__name__} was created before task(): it has the weight of layer {old[0]!r}, "
                "which is parametrized while a task is learned, so no layer would be trained; create the optimizer "
                "inside of the context, with the parameters that task() yields"
            )

    hook = register_optimizer_step_pre_hook(check)
    try:
        yield
    finally:
        hook.remove()


ORTHONORMAL_TOLERANCE = 1e-4
"""The largest error of an inner product of directions to protect; single precision has 1e-6."""


def check_basis_update(method: object, layer: str, M: Tensor, update: object) -> None:
    """Raise an error if a method selects directions that would not protect (`ProjectionMethod.select_directions`)."""
    where = f"{type(method).__name__}.select_directions for layer {layer!r}"
    if not isinstance(update, BasisUpdate):
        raise ValueError(f"{where} returned a {type(update).__name__}: return a BasisUpdate")
    (d, m), new, used = M.shape, update.new, update.used
    if new.ndim != 2 or len(new) != d:
        raise ValueError(f"{where} returned new directions of shape {tuple(new.shape)}: return ({d}, k)")
    basis = torch.cat([M.double(), new.to(M.device).double()], dim=1)
    products = basis.T @ basis[:, m:] - torch.eye(basis.shape[1], dtype=basis.dtype, device=M.device)[:, m:]
    if new.numel() and not products.abs().max() <= ORTHONORMAL_TOLERANCE:  # NaN as well
        raise ValueError(
            f"{where} returned directions whose inner products, with each other and with M, are wrong by "
            f"{float(products.abs().max()):.2g}: return orthonormal ones, orthogonal to M, or old tasks would not be "
            "protected; extend_basis and strongest_directions do"
        )
    if used.ndim != 1 or used.is_floating_point() or used.dtype == torch.bool:
        raise ValueError(f"{where} returned used={used.dtype} of shape {tuple(used.shape)}: return column numbers (r,)")
    if len(used) and not (0 <= int(used.min()) <= int(used.max()) < basis.shape[1]):
        raise ValueError(
            f"{where} returned column numbers from {int(used.min())} to {int(used.max())}: [M, new] has columns 0 to "
            f"{basis.shape[1] - 1}"
        )
    if len(used.unique()) < len(used):
        raise ValueError(f"{where} returned a column number twice: return each once")


def check_supported(network: nn.Module) -> None:
    """Raise an error for networks of which no part can be protected as they are: compiled, or with merged adapters."""
    check_not_compiled(network)
    check_adapters(network)


def check_not_compiled(network: nn.Module) -> None:
    """Raise an error for compiled modules: compiled code ignores hooks and parametrizations of its layers."""
    for name, module in network.named_modules():
        parts = [*vars(module).values(), *(part for kind in type(module).__mro__[:-1] for part in vars(kind).values())]
        compiled = (
            getattr(part, "_torchdynamo_orig_callable", None) is not None
            and not getattr(part, "_torchdynamo_disable", False)
            for part in parts
        )
        if getattr(module, "_compiled_call_impl", None) is not None or any(compiled):
            where = f"module {name!r}" if name else "the network"
            raise ValueError(f"{where} is compiled, and cannot be protected: learn without torch.compile")


def check_single_use(
    layers: list[Layer],
    forward: Callable[[Inputs], Tensor],
    network: nn.Module,
    inputs: Inputs,
    per_task: Sequence[str] = (),
) -> None:
    """Raise an error if weights are used other than by calling their layers; it lists all of them.

    A parametrized layer does not use its module's weight: wherever else the network uses it, it would not be trained.
    The inputs of a layer are recorded when the layer is called: if only its forward is, nothing would be protected.
    """
    network.eval()
    with recorded_inputs(layers) as recorded:
        outputs = forward(map_inputs(torch.clone, inputs))  # a copy: the network may change its inputs in place
    if not outputs.requires_grad:
        return
    values = [[layer.weight, *(p for one in layer.parametrizations for p in one.parameters())] for layer in layers]
    gradients = iter(torch.autograd.grad(outputs.sum(), list(chain.from_iterable(values)), allow_unused=True))
    problems: list[Problem] = []
    for layer, (_, *parameters) in zip(layers, values, strict=True):
        weight_gradient, parameter_gradients = next(gradients), [next(gradients) for _ in parameters]
        name = layer.name if layer.key == "weight" else layer.weight_name
        if not recorded[layer.name] and any(gradient is not None for gradient in parameter_gradients):
            reason = (
                f"the network calls the forward of layer {layer.name!r} instead of the layer: call the layer itself"
            )
            problems.append(Problem(name, reason))
        if weight_gradient is not None:
            problems.append(Problem(name, f"the network uses the weight of layer {layer.name!r} outside of the layer"))
    if problems:
        failed = {problem.name for problem in problems}
        fine = [layer.weight_name for layer in layers if {layer.name, layer.weight_name}.isdisjoint(failed)]
        raise ValueError(describe_problems(problems, per_task, fine))
