"""A device "fake" that is strict as a GPU is, and computes on the CPU: for machines without a GPU.

PyTorch reserves a dispatch key, PrivateUse1, for devices that others add. Its tensors here have their values in the
memory of the CPU, under another name of the device. As on a GPU, an operation raises an error if one of its tensors is
on the CPU, or if its random generator is; and `numpy()` raises one. It shows that the code keeps its tensors together;
it shows nothing of a GPU's rounding, memory and speed.
"""

import ctypes
from typing import Any

import torch
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

NAME = "fake"

_CPU, _EXTENSION = 1, 12  # types of devices in DLPack: kDLCPU, kDLExtDev
_DEVICE_TYPE_OFFSET = 8  # in DLManagedTensor, after the pointer to the data
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

_TRANSFERS = {"aten::_copy_from", "aten::_copy_from_and_resize"}
_CPU_INDICES = {"aten::index", "aten::index_put_", "aten::_index_put_impl_", "aten::index_put"}  # as on a GPU

_libraries: list[Any] = []


class _Backend(_DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def get_rng_state(self, device: object = None) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, device: object = None) -> None:
        torch.set_rng_state(state)


def _relabeled(tensor: torch.Tensor, device_type: int) -> torch.Tensor:
    """The same memory as a tensor of another device."""
    capsule = torch._C._to_dlpack(tensor.detach())
    address = _get_pointer(capsule, b"dltensor")
    ctypes.c_int32.from_address(address + _DEVICE_TYPE_OFFSET).value = device_type
    return torch._C._from_dlpack(capsule)


def _to_cpu(value: Any) -> Any:
    return _relabeled(value, _CPU) if isinstance(value, torch.Tensor) and value.device.type == NAME else value


def _to_fake(value: Any) -> Any:
    return _relabeled(value, _EXTENSION) if isinstance(value, torch.Tensor) and value.device.type == "cpu" else value


def _mapped(function: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_mapped(function, item) for item in value)
    return function(value)


def _flat(value: Any) -> list[Any]:
    return [part for item in value for part in _flat(item)] if isinstance(value, list | tuple) else [value]


def _compute(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute any operation of the device on the CPU."""
    name = op._schema.name
    if name in _TRANSFERS:
        source, target = args[:2]
        _to_cpu(target).copy_(_to_cpu(source))
        return target
    everything = _flat([*args, *kwargs.values()])
    for value in everything:
        if isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.ndim and name not in _CPU_INDICES:
            raise RuntimeError(f"{name}: expected all tensors on the same device, found one on {NAME} and one on cpu")
        if isinstance(value, torch.Generator) and value.device.type == "cpu":
            raise RuntimeError(f"{name}: expected a generator on {NAME}, found one on cpu")
    arguments = [_mapped(_to_cpu, value) for value in args]
    keywords = {key: _mapped(_to_cpu, value) for key, value in kwargs.items()}
    if "device" in keywords:
        keywords |= {"device": torch.device("cpu"), "pin_memory": False}
    is_written = [bool(argument.alias_info and argument.alias_info.is_write) for argument in op._schema.arguments]
    positions = {argument.name: i for i, argument in enumerate(op._schema.arguments)}
    resized = [key for key in kwargs if is_written[positions[key]] and not kwargs[key].numel()]
    for key in resized:  # `out`, which PyTorch made empty: memory of another name cannot grow
        keywords[key] = torch.empty(0, dtype=kwargs[key].dtype)
    results = op(*arguments, **keywords)
    for key in resized:
        kwargs[key].data = _to_fake(keywords[key])
    if any(returned.alias_info and returned.alias_info.is_write for returned in op._schema.returns):
        written = [value for value, changed in zip(args, is_written, strict=False) if changed]
        written += [value for key, value in kwargs.items() if is_written[positions[key]]]
        return written[0] if len(written) == 1 else tuple(written)
    return _mapped(_to_fake, results)


def _convolution(*args: Any) -> Any:
    """PyTorch has separate names for convolutions of devices that others add."""
    return _compute(torch.ops.aten.convolution.default, *args)


def _convolution_backward(gradient: Any, input: Any, weight: Any, *more: Any) -> Any:
    bias_sizes = [weight.shape[0]]
    return _compute(torch.ops.aten.convolution_backward.default, gradient, input, weight, bias_sizes, *more)


def register() -> str:
    """Add the device to PyTorch, once in this process; return its name."""
    if not _libraries:
        _setup_privateuseone_for_python_backend(NAME, _Backend())
        _libraries.append(torch.library.Library("_", "IMPL"))
        _libraries[0].fallback(_compute, "PrivateUse1")
        _libraries.append(torch.library.Library("aten", "IMPL"))
        _libraries[1].impl("convolution_overrideable", _convolution, "PrivateUse1")
        _libraries[1].impl("convolution_backward_overrideable", _convolution_backward, "PrivateUse1")
    return NAME
