"""A learner's state as tensors by name, and as a safetensors file with a checksum."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

State = dict[str, Tensor]


def dump(state: State) -> bytes:
    """Return the content of a safetensors file with a checksum in its metadata.

    Example:
        >>> parse(dump({"x": torch.arange(3)}))
        {'x': tensor([0, 1, 2])}
    """
    return save(state, {"sha256": _checksum(save(state))})


def parse(content: bytes) -> State:
    """Return the state in a file's content; raise an error if it is damaged.

    Example:
        >>> parse(dump({"x": torch.arange(3)}).replace(bytes([2]), bytes([3])))
        Traceback (most recent call last):
        ValueError: its checksum is missing or wrong
    """
    try:
        state = load(content)
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    if _header(content)[0].get("__metadata__", {}).get("sha256") != _checksum(content):
        raise ValueError("its checksum is missing or wrong")
    return state


def read_state(path: str | os.PathLike[str]) -> State:
    """Return the state in a file; raise an error with its name if it is damaged."""
    try:
        return parse(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)} is damaged or not a safetensors file: {error}") from None


def copy_to_cpu(state: State) -> State:
    """Return copies of all tensors that a file can hold, on the CPU."""
    layout = torch.contiguous_format
    return {name: value.detach().cpu().clone(memory_format=layout) for name, value in state.items()}


def _checksum(content: bytes) -> str:
    """Return the SHA-256 of everything except the metadata: names, types, positions and values."""
    header, end = _header(content)
    tensors = json.dumps({name: value for name, value in header.items() if name != "__metadata__"}, sort_keys=True)
    digest = hashlib.sha256(tensors.encode())
    digest.update(memoryview(content)[end:])
    return digest.hexdigest()


def _header(content: bytes) -> tuple[dict[str, Any], int]:
    """Return the JSON header of a safetensors file, and the position where it ends."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), end


def with_prefix(state: State, prefix: str) -> State:
    """Return the values whose names start with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def encode_json(content: object) -> Tensor:
    """Return a value as a tensor with the bytes of its JSON: a state holds tensors only."""
    return torch.tensor(list(json.dumps(content).encode()), dtype=torch.uint8)


def decode_json(content: Tensor) -> Any:
    """Return the value that `encode_json` encoded."""
    return json.loads(bytes(content.tolist()))


def network_state(state: State, current: State, settings: dict[str, Any]) -> State:
    """Return the network's part of a learner's state.

    Args:
        state: The state of a learner.
        current: The state dict of the network that it is for.
        settings: The settings of the learner that it is for.

    Returns:
        The state dict.

    Raises:
        KeyError: If a value of the network is missing.
        ValueError: If it is the state of another network, or of another method.

    Example:
        >>> here = {"x": torch.zeros(2)}
        >>> network_state({"network.x": torch.ones(2), "method": encode_json({})}, here, {})
        {'x': tensor([1., 1.])}
    """
    if (method := decode_json(state["method"])) != settings:
        raise ValueError(f"it is a state of {method}, but this learner is {settings}")
    network = with_prefix(state, "network.")
    if unknown := sorted(network.keys() - current.keys()):
        raise ValueError(f"this network has no {unknown[0]!r}")
    for name, value in current.items():
        saved = network[name]
        if (saved.shape, saved.dtype) != (value.shape, value.dtype):
            raise ValueError(f"{name} is {_describe(saved)} there and {_describe(value)} here")
    return network


def _describe(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} of {tensor.dtype}"
