"""CIFAR-100: 50,000 training and 10,000 test images of 100 classes, with the fine labels.

The dataset has two formats: the official archive of two Python pickles, with the official order of images, and an .npz
of four arrays in any order. Here the images of each split are sorted by label and then by their bytes, so both formats
give identical arrays and the same fingerprint.

Unpickling can run arbitrary code. A pickle is read only after its MD5 was found to be the official one, and then by an
unpickler that creates nothing but arrays. An .npz is read without pickles and validated by its content.
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

from ebbing.data._cache import DatasetFiles, load
from ebbing.data._sources import FetchError, Progress, md5_mismatch

Bytes = npt.NDArray[np.uint8]
Arrays = dict[str, Bytes]

KEYS = ("x_train", "y_train", "x_test", "y_test")
"""Names of the arrays in an .npz."""

SPLITS = ("train", "test")
FOLDER = "cifar-100-python"
"""Folder of the pickles in the official archive; their names are those of the splits."""

IMAGE_SHAPE = (32, 32, 3)
"""Rows, columns and color channels."""


@dataclass(frozen=True, eq=False)
class Cifar100:
    """Images and fine labels as read-only arrays of unsigned bytes.

    Attributes:
        train_images: Training images (50000, 32, 32, 3).
        train_labels: Training labels (50000,).
        test_images: Test images (10000, 32, 32, 3).
        test_labels: Test labels (10000,).
        fingerprint: A string that identifies the data: equal fingerprints mean equal data.
    """

    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes
    fingerprint: str


def cifar100(file: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> Cifar100:
    """Return CIFAR-100 from the cache, or else from a file, or else from its official address.

    A file is needed only once: its content is kept in the cache (see `ebbing.data.cache_folder`). If a file is given
    but not valid, no other source is tried.

    Args:
        file: The official archive, or an .npz with x_train, y_train, x_test and y_test; by default the file that the
            environment variable EBBING_CIFAR100 names, if it is set.
        progress: A function that is called often, with a line of text, while something is fetched.

    Returns:
        The data.
    """
    content = load(CIFAR100, progress, file)[CIFAR100.files[0].name]
    arrays = _read_npz(content)
    for array in arrays.values():
        array.flags.writeable = False
    return Cifar100(*(arrays[key] for key in KEYS), fingerprint=f"{CIFAR100.name}-{arrays['sha256']}")


@dataclass(frozen=True)
class CifarFileSpec:
    """The specification of the file in the cache: an .npz of the sorted arrays and their checksum.

    Attributes:
        md5: The MD5 checksum of the official archive.
        pickle_md5s: The MD5 checksums of its training and test data.
        classes: The number of classes.
        train: Training images of each class.
        test: Test images of each class.
        color_sums: Sum of each color channel over all training images, or None.
        name: The file's name in the cache.
        archive_name: The name of the official archive.
    """

    md5: str
    pickle_md5s: tuple[str, str]
    classes: int = 100
    train: int = 500
    test: int = 100
    color_sums: tuple[int, int, int] | None = None
    name: str = "cifar100.npz"
    archive_name: str = "cifar-100-python.tar.gz"

    @property
    def max_archive_size(self) -> int:
        """Twice the bytes of the images and a margin: no format of the dataset is larger."""
        return 2 * self.classes * (self.train + self.test) * (int(np.prod(IMAGE_SHAPE)) + 1) + (1 << 20)

    @property
    def description(self) -> str:
        """The name of the official archive and its checksum."""
        return f"{self.archive_name} (md5 {self.md5})"

    def validation_error(self, content: bytes) -> str:
        """Validate the content of the file by the checksum in it.

        Args:
            content: The content of the file.

        Returns:
            What is wrong with it, or an empty string if it is valid.
        """
        try:
            arrays = _read_npz(content)
            if "sha256" not in arrays:
                return "contains no checksum"
            self._check(arrays)
        except FetchError as error:
            return str(error)
        return "" if _checksum(arrays) == str(arrays["sha256"]) else "has another sha256 than it contains"

    def extract(self, archive: bytes) -> bytes:
        """Convert the official archive or an .npz to the content of the file in the cache.

        Args:
            archive: The content of the archive or .npz.

        Returns:
            The content of an .npz with the sorted arrays.

        Raises:
            FetchError: If it is not valid.
        """
        if archive.startswith(b"PK"):
            arrays = _read_npz(archive)
        elif archive.startswith(b"\x1f\x8b"):
            arrays = self._read_archive(archive)
        else:
            raise FetchError(f"begins with {archive[:8].hex() or 'nothing'}: neither a .tar.gz nor an .npz")
        self._check(arrays)
        for split in SPLITS:
            x, y = _sort_images(arrays[f"x_{split}"], arrays[f"y_{split}"])
            arrays |= {f"x_{split}": x, f"y_{split}": y}
        buffer = io.BytesIO()
        np.savez(buffer, **{key: arrays[key] for key in KEYS}, sha256=np.array(_checksum(arrays)))  # type: ignore[arg-type]
        return buffer.getvalue()

    def _check(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Raise an error if shapes, types, labels, images of each class, or the sums of colors are wrong."""
        for split, each in zip(SPLITS, (self.train, self.test), strict=True):
            x, y = arrays[f"x_{split}"], arrays[f"y_{split}"]
            count = self.classes * each
            if x.dtype != np.uint8 or x.shape != (count, *IMAGE_SHAPE):
                raise FetchError(f"has {_describe(f'x_{split}', x)} instead of uint8 of shape {(count, *IMAGE_SHAPE)}")
            if y.dtype.kind not in "iu" or y.shape not in ((count,), (count, 1)):
                raise FetchError(f"has {_describe(f'y_{split}', y)} instead of whole numbers of shape {(count,)}")
            if y.min() < 0 or y.max() >= self.classes:
                raise FetchError(
                    f"has y_{split} from {y.min()} to {y.max()} instead of fine labels from 0 to {self.classes - 1}"
                )
            counts = np.bincount(y.ravel().astype(np.int64), minlength=self.classes)
            for label in np.flatnonzero(counts != each)[:1]:
                raise FetchError(f"has {counts[label]} images of class {label} in x_{split} instead of {each}")
        names = arrays.get("classes")
        if names is not None and [str(name) for name in names.ravel()] != sorted(str(name) for name in names.ravel()):
            raise FetchError("has classes that are not in alphabetical order: its labels are not the official ones")
        pixels = arrays["x_train"].reshape(len(arrays["x_train"]), -1).sum(axis=0, dtype=np.int64)  # rows add fast
        sums = tuple(int(value) for value in pixels.reshape(-1, IMAGE_SHAPE[2]).sum(axis=0))
        if self.color_sums is not None and sums != self.color_sums:
            raise FetchError(
                f"has other images: x_train sums to {sums} over red, green, blue instead of {self.color_sums}"
            )

    def _read_archive(self, content: bytes) -> Arrays:
        """Return the arrays in the official archive; pickles with a wrong MD5 are not read."""
        found: dict[str, bytes] = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
                for entry in archive:
                    folder, _, split = entry.name.removeprefix("./").rpartition("/")
                    wanted = folder == FOLDER and split in SPLITS and entry.isfile()
                    member = archive.extractfile(entry) if wanted else None
                    if member is not None:
                        found[split] = member.read(self.max_archive_size)
        except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
            raise FetchError(f"is damaged: {error or type(error).__name__}") from None
        arrays: Arrays = {}
        for split, md5 in zip(SPLITS, self.pickle_md5s, strict=True):
            if split not in found:
                raise FetchError(f"has no {FOLDER}/{split}")
            if mismatch := md5_mismatch(found[split], md5):
                raise FetchError(f"has a {FOLDER}/{split} that {mismatch}")
            batch = _ArrayUnpickler(io.BytesIO(found[split]), encoding="bytes").load()
            planes = batch[b"data"].reshape(
                -1, IMAGE_SHAPE[2], *IMAGE_SHAPE[:2]
            )  # a row: all of red, then green, then blue
            arrays[f"x_{split}"] = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
            arrays[f"y_{split}"] = np.array(batch[b"fine_labels"])
        return arrays


class _ArrayUnpickler(pickle.Unpickler):
    """An unpickler of arrays, lists, dictionaries, numbers and strings that calls nothing else."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        reconstruct = np.empty(0).__reduce__()[0]  # its module has moved since the archive was made
        known: dict[str, Any] = {"_reconstruct": reconstruct, "ndarray": np.ndarray, "dtype": _dtype}
        if not module_name.startswith("numpy") or global_name not in known:
            raise FetchError(f"has a pickle that calls {module_name}.{global_name}")
        return known[global_name]


def _dtype(kind: Any, *_: int) -> np.dtype[Any]:
    """Create a dtype without the flags that follow: some NumPy versions reject the 0 and 1 of old pickles."""
    return np.dtype(kind)


def _read_npz(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Read all arrays, without unpickling."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            missing = [key for key in KEYS if key not in archive.files]
            if missing:
                raise FetchError(f"has no {', '.join(missing)}; it has {', '.join(archive.files) or 'nothing'}")
            return {key: archive[key] for key in (*KEYS, "classes", "sha256") if key in archive.files}
    except (OSError, EOFError, ValueError, AttributeError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise FetchError(f"is damaged or not an .npz: {error or type(error).__name__}") from None


def _sort_images(images: Bytes, labels: npt.NDArray[Any]) -> tuple[Bytes, Bytes]:
    """Sort images by label and then by bytes, whatever their order was.

    Example:
        >>> images = np.array([[[[7]]], [[[5]]], [[[9]]]], np.uint8)
        >>> [array.ravel().tolist() for array in _sort_images(images, np.array([1, 1, 0]))]
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


def _describe(name: str, array: npt.NDArray[Any]) -> str:
    return f"{name} of type {array.dtype} and shape {array.shape}"


CIFAR100 = DatasetFiles(
    name="cifar100",
    files=(
        CifarFileSpec(
            md5="eb9058c3a382ffc7106e4002c42a8d85",
            pickle_md5s=("16019d7e3df5f24257cddd939b257f8d", "f0ef6b0ae62326f3e7ffdfab6717acfc"),
            color_sums=(6_620_373_279, 6_352_382_090, 5_756_623_363),  # the commonly used means: 0.5071, 0.4865, 0.4409
        ),
    ),
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    environment_variable="EBBING_CIFAR100",
    accepted_formats=f"the official cifar-100-python.tar.gz, or an .npz with {', '.join(KEYS)}",
)
