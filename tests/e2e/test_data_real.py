"""Real data: MNIST is fetched into the cache (12 MB, once per machine), CIFAR-100 is tested if it is there."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from ebbing import data
from ebbing.data.fashion_mnist import FASHION_MNIST


def test_mnist_is_the_real_dataset():
    mnist = data.mnist()
    assert mnist.train_images.shape == (60000, 28, 28)
    assert mnist.test_images.shape == (10000, 28, 28)
    assert {
        array.dtype for array in (mnist.train_images, mnist.train_labels, mnist.test_images, mnist.test_labels)
    } == {np.dtype(np.uint8)}
    train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    test = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert np.bincount(mnist.train_labels).tolist() == train
    assert np.bincount(mnist.test_labels).tolist() == test
    assert round(mnist.train_images.mean() / 255, 4) == 0.1307  # the usual normalization constants
    assert round(mnist.train_images.std() / 255, 4) == 0.3081
    assert mnist.train_labels[:5].tolist() == [5, 0, 4, 1, 9]

    entries = data.status("mnist")
    assert [entry.state for entry in entries] == ["verified"] * 4
    assert [hashlib.md5(entry.path.read_bytes()).hexdigest() for entry in entries] == [
        "6bbc9ace898e44ae57da46a324031adb",
        "a25bea736e30d166cdddb491f175f624",
        "2646ac647ad5339dbf082846283269ea",
        "27ae3e4e09519cfbb04c329615203637",
    ]


def test_cifar100_is_the_real_dataset():
    """Only if it is in the cache: it is too large to be fetched for a test."""
    if data.status("cifar100")[0].state != "verified":
        pytest.skip("CIFAR-100 is not in the cache")
    cifar = data.cifar100()
    for images, labels, each in (
        (cifar.train_images, cifar.train_labels, 500),
        (cifar.test_images, cifar.test_labels, 100),
    ):
        assert images.shape == (100 * each, 32, 32, 3)
        assert (images.dtype, labels.dtype) == (np.dtype(np.uint8), np.dtype(np.uint8))
        assert labels.tolist() == sorted(list(range(100)) * each)
    levels = np.arange(256) / 255
    counts = [np.bincount(cifar.train_images[..., color].ravel(), minlength=256) for color in range(3)]
    means = [np.average(levels, weights=count) for count in counts]
    variances = [np.average((levels - mean) ** 2, weights=count) for mean, count in zip(means, counts, strict=True)]
    np.testing.assert_allclose(means, [0.5070751592, 0.4865488733, 0.4409178433], atol=1e-9)
    np.testing.assert_allclose(np.sqrt(variances), [0.2673342859, 0.2564384629, 0.2761504713], atol=1e-9)


def test_fashion_mnist_is_the_real_dataset():
    """Only if it is in the cache or installed: it is not needed by anything else."""
    installed = any((Path(folder) / "t10k-labels-idx1-ubyte.gz").exists() for folder in FASHION_MNIST.folders)
    if not installed and any(entry.state != "verified" for entry in data.status("fashion-mnist")):
        pytest.skip("Fashion-MNIST is neither in the cache nor installed")
    fashion = data.fashion_mnist()
    assert np.bincount(fashion.train_labels).tolist() == [6000] * 10
    assert np.bincount(fashion.test_labels).tolist() == [1000] * 10
    assert round(fashion.train_images.mean() / 255, 4) == 0.2860  # the usual normalization constants
    assert round(fashion.train_images.std() / 255, 4) == 0.3530
