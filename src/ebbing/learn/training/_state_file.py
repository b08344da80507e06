"""What a learner knows, as tensors by name, and as the bytes of a safetensors file that notices damage."""

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
    """The content of a file: safetensors, as other programs read it, with a checksum among its metadata.

    >>> parse(dump({"x": torch.arange(3)}))
    {'x': tensor([0, 1, 2])}
    """
    return save(state, {"sha256": _checksum(save(state))})


def parse(content: bytes) -> State:
    """What `dump` was given; an error if the content is damaged. Early files have no checksum.

    >>> parse(dump({"x": torch.arange(3)}).replace(bytes([2]), bytes([3])))
    Traceback (most recent call last):
    ValueError: its checksum is wrong
    """
    try:
        state = load(content)
    except SafetensorError as fault:
        raise ValueError(str(fault)) from None
    wanted = _header(content)[0].get("__metadata__", {}).get("sha256")
    if wanted is not None and wanted != _checksum(content):
        raise ValueError("its checksum is wrong")
    return state


def _checksum(content: bytes) -> str:
    """Of all but the metadata: names, kinds and places, and the numbers themselves."""
    header, end = _header(content)
    named = json.dumps({name: value for name, value in header.items() if name != "__metadata__"}, sort_keys=True)
    found = hashlib.sha256(named.encode())
    found.update(memoryview(content)[end:])
    return found.hexdigest()


def _header(content: bytes) -> tuple[dict[str, Any], int]:
    """The JSON that a safetensors file begins with, and where it ends."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), end


def with_prefix(state: State, prefix: str) -> State:
    """The values whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def encode_json(content: object) -> Tensor:
    """What JSON can hold, as a tensor of bytes: a state has tensors only."""
    return torch.tensor(list(json.dumps(content).encode()), dtype=torch.uint8)


def decode_json(content: Tensor) -> Any:
    """What was packed."""
    return json.loads(bytes(content.tolist()))
