"""CIFAR-100: small photographs of 100 classes, 50,000 to train with and 10,000 to test with; the fine labels.

It comes in two forms: as the official archive of two Python pickles, whose order of images is the official one, and as
an .npz of four arrays, whose order may be any. Here images are sorted, within training and test data, by label and then
by their bytes. So both forms give the very same arrays, and the same identity.

A pickle is a program. One is read only after its md5 was found to be the official one, and then by a reader that knows
nothing but arrays. An .npz is read without pickles and judged by its content.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ebbing.data._cache import Collection, load
from ebbing.data._sources import Progress, SourceError, wrong_sum

Bytes = npt.NDArray[np.uint8]
Arrays = dict[str, Bytes]

KEYS = ("x_train", "y_train", "x_test", "y_test")
"""What the arrays are called in an .npz."""

SPLITS = ("train", "test")
FOLDER = "cifar-100-python"
"""Where the official archive has its pickles, which are called like the splits."""

IMAGE = (32, 32, 3)
"""Rows, columns, and red, green and blue."""


@dataclass(frozen=True, eq=False)
class Cifar100:
    """Images and fine labels as unsigned bytes, not to be written to. Same `identity`, same data."""

    train_images: Bytes  # (50000, 32, 32, 3)
    train_labels: Bytes  # (50000,)
    test_images: Bytes  # (10000, 32, 32, 3)
    test_labels: Bytes  # (10000,)
    identity: str


def cifar100(file: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> Cifar100:
    """CIFAR-100 from the cache, or else from a file, or else from its official address.

    `file`, or else the environment variable EBBING_CIFAR100, names the official archive or an .npz with x_train,
    y_train, x_test and y_test. It is needed once: its content is kept in the cache (see `ebbing.data.folder`). A file
    that is not right is an error, and no other place is tried. `progress` is called with a line of text, often, while
    something is fetched.
    """
    content = load(CIFAR100, progress, file)[CIFAR100.files[0].name]
    arrays = _read_npz(content)
    for array in arrays.values():
        array.flags.writeable = False
    return Cifar100(*(arrays[key] for key in KEYS), identity=f"{CIFAR100.name}-{arrays['sha256']}")


@dataclass(frozen=True)
class CifarFile:
    """The file in the cache, an .npz of the sorted arrays and their checksum: what it holds, and what it is made of."""

    md5: str  # of the official archive
    pickles: tuple[str, str]  # md5 of the archive's training and test data
    classes: int = 100
    train: int = 500  # images of each class
    test: int = 100
    sums: tuple[int, int, int] | None = None  # of each color over all training images
    name: str = "cifar100.npz"
    packed: str = "cifar-100-python.tar.gz"

    @property
    def limit(self) -> int:
        """Twice the bytes of the images and a little: no form of the set is as large."""
        return 2 * self.classes * (self.train + self.test) * (int(np.prod(IMAGE)) + 1) + (1 << 20)

    @property
    def described(self) -> str:
        """The official archive."""
        return f"{self.packed} (md5 {self.md5})"

    def fault(self, content: bytes) -> str:
        """What is wrong with a cached file; its own checksum tells."""
        try:
            arrays = _read_npz(content)
            if "sha256" not in arrays:
                return "has no checksum of its own"
            self._check(arrays)
        except SourceError as failure:
            return str(failure)
        return "" if _checksum(arrays) == str(arrays["sha256"]) else "has an sha256 other than the one it holds"

    def unpacked(self, packed: bytes) -> bytes:
        """The cached file's content, from the official archive or an .npz."""
        if packed.startswith(b"PK"):
            arrays = _read_npz(packed)
        elif packed.startswith(b"\x1f\x8b"):
            arrays = self._read_archive(packed)
        else:
            raise SourceError(f"begins with {packed[:8].hex() or 'nothing'}: neither a .tar.gz nor an .npz")
        self._check(arrays)
        for split in SPLITS:
            x, y = _sorted(arrays[f"x_{split}"], arrays[f"y_{split}"])
            arrays |= {f"x_{split}": x, f"y_{split}": y}
        buffer = io.BytesIO()
        np.savez(buffer, **{key: arrays[key] for key in KEYS}, sha256=np.array(_checksum(arrays)))  # type: ignore[arg-type]
        return buffer.getvalue()

    def _check(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Whether the arrays are such a set: shapes, types, labels, images of each class, and the sums of colors."""
        for split, each in zip(SPLITS, (self.train, self.test), strict=True):
            x, y = arrays[f"x_{split}"], arrays[f"y_{split}"]
            count = self.classes * each
            if x.dtype != np.uint8 or x.shape != (count, *IMAGE):
                raise SourceError(f"has {_kind(f'x_{split}', x)} instead of uint8 of shape {(count, *IMAGE)}")
            if y.dtype.kind not in "iu" or y.shape not in ((count,), (count, 1)):
                raise SourceError(f"has {_kind(f'y_{split}', y)} instead of whole numbers of shape {(count,)}")
            if y.min() < 0 or y.max() >= self.classes:
                raise SourceError(
                    f"has y_{split} from {y.min()} to {y.max()} instead of fine labels from 0 to {self.classes - 1}"
                )
            counts = np.bincount(y.ravel().astype(np.int64), minlength=self.classes)
            for label in np.flatnonzero(counts != each)[:1]:
                raise SourceError(f"has {counts[label]} images of class {label} in x_{split} instead of {each}")
        names = arrays.get("classes")
        if names is not None and [str(name) for name in names.ravel()] != sorted(str(name) for name in names.ravel()):
            raise SourceError("has classes that are not in alphabetical order: its labels are not the official ones")
        sums = tuple(int(value) for value in arrays["x_train"].sum(axis=(0, 1, 2), dtype=np.int64))
        if self.sums is not None and sums != self.sums:
            raise SourceError(f"has other images: x_train sums to {sums} over red, green, blue instead of {self.sums}")

    def _read_archive(self, packed: bytes) -> Arrays:
        """The arrays in the official archive. Its two pickles have the right md5, or are not read."""
        found: dict[str, bytes] = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
                for entry in archive:
                    folder, _, split = entry.name.removeprefix("./").rpartition("/")
                    wanted = folder == FOLDER and split in SPLITS and entry.isfile()
                    member = archive.extractfile(entry) if wanted else None
                    if member is not None:
                        found[split] = member.read(self.limit)
        except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
            raise SourceError(f"is damaged: {error or type(error).__name__}") from None
        arrays: Arrays = {}
        for split, md5 in zip(SPLITS, self.pickles, strict=True):
            if split not in found:
                raise SourceError(f"has no {FOLDER}/{split}")
            if wrong := wrong_sum(found[split], md5):
                raise SourceError(f"has a {FOLDER}/{split} that {wrong}")
            batch = _Arrays(io.BytesIO(found[split]), encoding="bytes").load()
            planes = batch[b"data"].reshape(-1, IMAGE[2], *IMAGE[:2])  # a row: all of red, then green, then blue
            arrays[f"x_{split}"] = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
            arrays[f"y_{split}"] = np.array(batch[b"fine_labels"])
        return arrays


class _Arrays(pickle.Unpickler):
    """Reads arrays, lists, dictionaries, numbers and strings; calls nothing else by name."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        reconstruct = np.empty(0).__reduce__()[0]  # its module has moved since the archive was made
        known: dict[str, Any] = {"_reconstruct": reconstruct, "ndarray": np.ndarray, "dtype": _dtype}
        if not module_name.startswith("numpy") or global_name not in known:
            raise SourceError(f"has a pickle that calls {module_name}.{global_name}")
        return known[global_name]


def _dtype(kind: Any, *_: int) -> np.dtype[Any]:
    """Without the flags that follow: old pickles have 0 and 1 there, of which some versions of NumPy complain."""
    return np.dtype(kind)


def _read_npz(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """All arrays, none of them pickled."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            missing = [key for key in KEYS if key not in archive.files]
            if missing:
                raise SourceError(f"has no {', '.join(missing)}; there is {', '.join(archive.files) or 'nothing'}")
            return {key: archive[key] for key in (*KEYS, "classes", "sha256") if key in archive.files}
    except (OSError, EOFError, ValueError, AttributeError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise SourceError(f"is damaged or no .npz: {error or type(error).__name__}") from None


def _sorted(images: Bytes, labels: npt.NDArray[Any]) -> tuple[Bytes, Bytes]:
    """By label, then by bytes; that is an order of the set, whatever order it came in.

    >>> images = np.array([[[[7]]], [[[5]]], [[[9]]]], np.uint8)
    >>> [array.ravel().tolist() for array in _sorted(images, np.array([1, 1, 0]))]
    [[9, 5, 7], [0, 1, 1]]
    """
    rows = np.column_stack([labels.ravel().astype(np.uint8), images.reshape(len(images), -1)])
    order = np.argsort(rows.view(f"V{rows.shape[1]}").ravel())
    return images[order], rows[order, 0]


def _checksum(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    total = hashlib.sha256()
    for key in KEYS:
        total.update(f"{key} {arrays[key].shape}".encode())
        total.update(np.ascontiguousarray(arrays[key], np.uint8).data)
    return total.hexdigest()


def _kind(name: str, array: npt.NDArray[Any]) -> str:
    return f"{name} of type {array.dtype} and shape {array.shape}"


CIFAR100 = Collection(
    name="cifar100",
    files=(
        CifarFile(
            md5="eb9058c3a382ffc7106e4002c42a8d85",
            pickles=("16019d7e3df5f24257cddd939b257f8d", "f0ef6b0ae62326f3e7ffdfab6717acfc"),
            sums=(6_620_373_279, 6_352_382_090, 5_756_623_363),  # the means everyone uses: 0.5071, 0.4865, 0.4409
        ),
    ),
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    variable="EBBING_CIFAR100",
    forms=f"the official cifar-100-python.tar.gz, or an .npz with {', '.join(KEYS)}",
)
