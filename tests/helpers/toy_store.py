"""A store with made-up entries: their content, their files, and a read-only folder."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from ebbing.runs import Store

KEY, OTHER = "ab" * 32, "cd" * 32
ERRORS = {"b#0": 0.1 + 0.2, "a#0": 1e-17}
ABOUT = {"seed": 3, "path": ["a#0"], "method": {"kind": "Sgd", "batch_size": None}}
WEIGHTS = bytes(range(256)) * 40


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def put(store, key=KEY, weights: bytes | None = WEIGHTS):
    return store.put(key, ERRORS, 0.25, ABOUT, weights)


def files(folder):
    """Every file with its bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def json_file(store, key=KEY):
    return store.folder / key[:2] / f"{key}.json"


def weights_file(store, key=KEY):
    return store.folder / key[:2] / f"{key}.safetensors"


@contextmanager
def ordinary_user():
    """Act as another user if the user is root, to whom permissions do not apply."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def locked():
    """A folder that everyone can read and nobody can write to."""
    folder = Path(tempfile.mkdtemp())
    store = Store(folder)
    put(store)
    for path in (folder / "ab", folder):
        path.chmod(0o555)
    yield folder
    for path in (folder, folder / "ab"):
        path.chmod(0o755)
    shutil.rmtree(folder)
