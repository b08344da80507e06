"""A toy CIFAR-100 in both formats: four classes, with five training and two test images each."""

import dataclasses
import hashlib
import importlib
import io
import pickle
import tarfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from ebbing import data
from ebbing.data._cache import DatasetFiles
from ebbing.data.cifar100 import CIFAR100, CifarFileSpec

module = importlib.import_module("ebbing.data.cifar100")
RNG = np.random.default_rng(0)
CLASSES, TRAIN, TEST = 4, 5, 2
X_TRAIN = RNG.integers(0, 256, (CLASSES * TRAIN, 32, 32, 3), np.uint8)
X_TEST = RNG.integers(0, 256, (CLASSES * TEST, 32, 32, 3), np.uint8)
Y_TRAIN = RNG.permutation(np.repeat(np.arange(CLASSES), TRAIN))
Y_TEST = RNG.permutation(np.repeat(np.arange(CLASSES), TEST))
X_TRAIN[1:5, 0, 0], X_TEST[:, 0, 0] = 7, 0  # ties at the first bytes, and bytes that end a C string


def md5(content):
    return hashlib.md5(content).hexdigest()


def npz(**replaced) -> bytes:
    """The dataset as an .npz, with some arrays replaced (None: absent)."""
    arrays = {"x_train": X_TRAIN, "y_train": Y_TRAIN, "x_test": X_TEST, "y_test": Y_TEST} | replaced
    buffer = io.BytesIO()
    held: dict[str, Any] = {key: array for key, array in arrays.items() if array is not None}
    np.savez_compressed(buffer, **held)
    return buffer.getvalue()


class Python2(pickle._Pickler):
    """Writes as Python 2 and its NumPy did: text as bytes, booleans as 0 or 1, `_reconstruct` in its old module."""

    dispatch: ClassVar[Any] = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]
    write: Any

    def save_bytes(self, text):
        self.write(pickle.BINSTRING + len(text).to_bytes(4, "little") + text)

    def save_text(self, text):
        self.save_bytes(text.encode("latin1"))

    def save_truth(self, value):
        self.write(pickle.BININT1 + bytes([value]))

    dispatch[bytes], dispatch[str], dispatch[bool] = save_bytes, save_text, save_truth


def batch(images, labels, **more) -> bytes:
    """One of the archive's pickles: a row of all red, all green, all blue for each image."""
    rows = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    content = {"data": rows, "fine_labels": labels.tolist(), "coarse_labels": [0] * len(labels), "filenames": ["a.png"]}
    buffer = io.BytesIO()
    Python2(buffer, protocol=2).dump(content | more)
    return buffer.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


PICKLES = {"train": batch(X_TRAIN, Y_TRAIN), "test": batch(X_TEST, Y_TEST)}


def archive(folder="cifar-100-python", **replaced: bytes | None) -> bytes:
    """The dataset as the archive, with some of its pickles replaced (None: absent)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in ({"meta": b"never read"} | PICKLES | replaced).items():
            if content is not None:
                entry = tarfile.TarInfo(f"{folder}/{name}")
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


NPZ, ARCHIVE = npz(), archive()
SUMS = tuple(int(X_TRAIN[..., color].astype(int).sum()) for color in range(3))
SPEC = CifarFileSpec(
    md5=md5(ARCHIVE), pickle_md5s=(md5(PICKLES["train"]), md5(PICKLES["test"])), classes=CLASSES, train=TRAIN, test=TEST
)
SPEC = dataclasses.replace(SPEC, color_sums=SUMS)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The cache folder of the toy dataset, which replaces CIFAR-100 in `ebbing.data`."""
    monkeypatch.setenv("EBBING_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("EBBING_CIFAR100", raising=False)
    use(monkeypatch)
    return tmp_path / "cache" / "cifar100"


def use(monkeypatch, *mirrors: str, wanted: CifarFileSpec = SPEC) -> DatasetFiles:
    small = dataclasses.replace(CIFAR100, files=(wanted,), mirrors=mirrors)
    monkeypatch.setattr(module, "CIFAR100", small)
    monkeypatch.setitem(data.DATASETS, "cifar100", small)
    return small


@pytest.fixture
def given(tmp_path):
    """A function that writes a file for `cifar100(file)`."""

    def given(content: bytes, name="given") -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return given


def arrays(found: data.Cifar100):
    return found.train_images, found.train_labels, found.test_images, found.test_labels
