"""A learner's state as tensors by name, and as a safetensors file with a checksum."""

from __future__ import annotations

import hashlib
import json
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
    """Return the state in a file's content; raise an error if it is damaged. Early files have no checksum.

    Example:
        >>> parse(dump({"x": torch.arange(3)}).replace(bytes([2]), bytes([3])))
        Traceback (most recent call last):
        ValueError: its checksum is wrong
    """
    try:
        state = load(content)
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    expected = _header(content)[0].get("__metadata__", {}).get("sha256")
    if expected is not None and expected != _checksum(content):
        raise ValueError("its checksum is wrong")
    return state


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
