"""A toy MNIST and its sources.

No test needs a network: mirrors are folders (file: addresses) or a server in the test's process.
"""

import gzip
import hashlib
import struct

import numpy as np
import pytest

from ebbing.data._cache import DatasetFiles
from ebbing.data._packages import PackageSource
from ebbing.data.mnist import idx_file

RNG = np.random.default_rng(0)
SHAPES = {
    "train-images-idx3-ubyte": (6, 4, 4),
    "train-labels-idx1-ubyte": (6,),
    "t10k-images-idx3-ubyte": (3, 4, 4),
    "t10k-labels-idx1-ubyte": (3,),
}
ARRAYS = {name: RNG.integers(0, 256, shape, np.uint8) for name, shape in SHAPES.items()}
IMAGES = "train-images-idx3-ubyte"


def idx(array):
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


CONTENTS = {name: idx(array) for name, array in ARRAYS.items()}
PACKED = {name: gzip.compress(content, mtime=0) for name, content in CONTENTS.items()}


def md5(content):
    return hashlib.md5(content).hexdigest()


FILES = tuple(idx_file(name, SHAPES[name], md5=md5(CONTENTS[name]), gzip_md5=md5(PACKED[name])) for name in CONTENTS)


def collection(*mirrors: str, packages: tuple[PackageSource, ...] = ()) -> DatasetFiles:
    return DatasetFiles("small", FILES, mirrors, packages)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The cache folder of the toy dataset."""
    monkeypatch.setenv("EBBING_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache" / "small"


@pytest.fixture
def mirror(tmp_path):
    """A function that makes a mirror, with some of its .gz files replaced (None: absent)."""

    def mirror(name="mirror", **replaced: bytes | None) -> str:
        (tmp_path / name).mkdir()
        for file, packed in (PACKED | {key.replace("_", "-"): value for key, value in replaced.items()}).items():
            if packed is not None:
                (tmp_path / name / f"{file}.gz").write_bytes(packed)
        return f"{(tmp_path / name).as_uri()}/"

    return mirror


@pytest.fixture
def nowhere(tmp_path):
    return f"{(tmp_path / 'nowhere').as_uri()}/"


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
