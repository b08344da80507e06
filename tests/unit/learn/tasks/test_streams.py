"""Streams: their data, how seed and name determine it, and bad settings.

Small stand-ins take the place of MNIST and CIFAR-100: an image's pixels tell which image it is. The last tests use
MNIST itself.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage

from ebbing.data import Cifar100, Mnist
from ebbing.learn import (
    STREAMS,
    Occurrence,
    PermutedMnist,
    RotatedMnist,
    SplitCifar100,
    SplitMnist,
    Stream,
    TaskData,
)
from ebbing.learn._seeding import hash_to_int
from ebbing.learn.tasks import _datasets
from ebbing.learn.tasks.image_stream import ImageStream
from ebbing.learn.tasks.rotated_mnist import _rotate

RNG = np.random.default_rng(0)


def small_mnist() -> Mnist:
    train, test = RNG.integers(0, 256, (2, 60, 28, 28), np.uint8)
    train[:, 0, 0], test[:, 0, 0] = np.arange(60), np.arange(60)
    labels = np.tile(np.arange(10, dtype=np.uint8), 6)
    return Mnist(train, RNG.permutation(labels), test[:40], RNG.permutation(labels[:40]), "small mnist")


def small_cifar() -> Cifar100:
    train, test = (RNG.integers(0, 256, (n, 32, 32, 3), np.uint8) for n in (600, 200))
    labels = np.sort(np.tile(np.arange(100, dtype=np.uint8), 6))
    return Cifar100(train, labels, test, np.sort(np.tile(np.arange(100, dtype=np.uint8), 2)), "small cifar")


MNIST, CIFAR = small_mnist(), small_cifar()
REAL_MNIST = _datasets.mnist
SMALL = {
    "pmnist": PermutedMnist(tasks=4, train_images=20, test_images=10, validation_images=5),
    "rmnist": RotatedMnist(tasks=4, train_images=20, test_images=10, validation_images=5),
    "smnist": SplitMnist(validation_share=0.25),
    "cifar100": SplitCifar100(validation_share=0.1),
}
PARTS = [field.name for field in dataclasses.fields(TaskData) if field.name != "regression"]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(_datasets, "mnist", lambda: MNIST)
    monkeypatch.setattr(_datasets, "cifar100", lambda: CIFAR)


def task_data(stream: Stream, task: str, seed: int = 0, index: int = 0) -> dict[str, torch.Tensor]:
    found = stream.load(Occurrence(task, index), seed)
    return {name: getattr(found, name) for name in PARTS}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in PARTS)


def pixels(tensor: torch.Tensor, mean: Any = 0.1307, std: Any = 0.3081) -> np.ndarray:
    """Undo the normalization."""
    return np.rint((tensor.numpy().astype(float) * std + mean) * 255).astype(np.uint8)


def rows(images: np.ndarray, whole: np.ndarray) -> list[int]:
    """The rows of the dataset that have these images."""
    known = {image.tobytes(): i for i, image in enumerate(whole)}
    return [known[image.tobytes()] for image in images]


# ---------------------------------------------------------------- all streams


@pytest.mark.parametrize("name", STREAMS)
def test_load_test_returns_the_test_data_of_load(name):
    for task in SMALL[name].names[:3]:
        inputs, labels = SMALL[name].load_test(Occurrence(task, 0), 1)
        whole = task_data(SMALL[name], task, 1)
        assert torch.equal(inputs, whole["test_inputs"])
        assert torch.equal(labels, whole["test_labels"])


@pytest.mark.parametrize("name", STREAMS)
def test_streams_have_the_documented_shapes_and_types(name):
    stream: Stream = SMALL[name]
    assert type(stream) is STREAMS[name]
    assert stream.names == tuple(map(str, range(5 if name == "smnist" else 10 if name == "cifar100" else 4)))
    assert stream.classes == (2 if name == "smnist" else 10)
    assert stream.fingerprint == f"small {'cifar' if name == 'cifar100' else 'mnist'}, version {stream.version}"
    shape = {"pmnist": (784,), "cifar100": (3, 32, 32)}.get(name, (1, 28, 28))
    sizes = {"pmnist": (20, 10, 5), "rmnist": (20, 10, 5), "smnist": (9, 8, 3), "cifar100": (54, 20, 6)}[name]
    for task in stream.names:
        found = task_data(stream, task)
        for part, size in zip(("train", "test", "validation"), sizes, strict=True):
            inputs, labels = found[f"{part}_inputs"], found[f"{part}_labels"]
            assert inputs.shape == (size, *shape)
            assert (inputs.dtype, labels.dtype) == (torch.float32, torch.int64)
            assert inputs.is_contiguous()
            assert labels.shape == (size,)
            assert labels.min() >= 0
            assert labels.max() < stream.classes
        if name not in ("pmnist", "rmnist"):
            assert set(found["test_labels"].tolist()) == set(range(stream.classes))


@pytest.mark.parametrize("name", STREAMS)
def test_seed_and_name_determine_the_data(name):
    stream = SMALL[name]
    first = task_data(stream, "1", seed=3)
    assert same(first, task_data(dataclasses.replace(stream), "1", seed=3))
    assert same(first, task_data(stream, "1", seed=3, index=2))
    for other in (task_data(stream, "1", seed=4), task_data(stream, "2", seed=3)):
        assert not torch.equal(first["train_inputs"], other["train_inputs"])
        assert not torch.equal(first["test_inputs"], other["test_inputs"])


@pytest.mark.parametrize("name", STREAMS)
def test_data_does_not_depend_on_the_other_tasks(name):
    stream = SMALL[name]
    fewer = dataclasses.replace(stream, tasks=2)
    assert same(task_data(stream, "0", seed=1), task_data(fewer, "0", seed=1))
    if name != "rmnist":  # whose angles depend on the number of tasks
        assert same(task_data(stream, "1", seed=1), task_data(fewer, "1", seed=1))


@pytest.mark.parametrize("name", STREAMS)
def test_data_does_not_share_memory_with_the_dataset(name):
    """Writing to the data of one call changes neither the next call nor the dataset."""
    first = task_data(SMALL[name], "0")
    copies = {part: tensor.clone() for part, tensor in first.items()}
    for tensor in first.values():
        tensor.zero_()
    assert same(copies, task_data(SMALL[name], "0"))


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("task", ["x", "", "-1", "01", "10", "1.0", "٣"])
def test_unknown_tasks_raise(name, task):
    stream = SMALL[name]
    with pytest.raises(ValueError, match=f"task '{task}': the tasks of this stream are '0' to '{stream.names[-1]}'"):
        stream.load(Occurrence(task, 0), 0)
    with pytest.raises(ValueError, match="the tasks of this stream are"):
        stream.check(task)
    stream.check("0")


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("seed", [-1, 1.5, True, "1", None])
def test_seeds_that_are_no_integers_raise(name, seed):
    with pytest.raises(ValueError, match=r"seed=.*: give a whole number >= 0"):
        SMALL[name].load(Occurrence("0", 0), seed)


@pytest.mark.parametrize("name", STREAMS)
def test_numpy_seeds_and_task_names_are_accepted(name):
    one, other = SMALL[name].load(Occurrence("1", 0), 3), SMALL[name].load("1", np.int64(3))  # type: ignore[arg-type]
    assert torch.equal(one.train_inputs, other.train_inputs)


def test_large_seeds_are_accepted():
    assert same(task_data(SMALL["pmnist"], "0", seed=2**80), task_data(SMALL["pmnist"], "0", seed=2**80))


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("tasks", [0, -1, 2.5, "3", True, None, float("nan")])
def test_number_of_tasks_must_be_a_count(name, tasks):
    with pytest.raises(ValueError, match=r"tasks=.*: give a whole number"):
        STREAMS[name](tasks=tasks)


# ---------------------------------------------------------------- all of MNIST in every task


@pytest.mark.parametrize("name", ["pmnist", "rmnist"])
def test_all_tasks_have_the_same_split_of_images(name):
    stream = SMALL[name]
    found = task_data(stream, "0", seed=5)
    if name == "pmnist":
        back = np.argsort(SMALL["pmnist"].permutation("0", seed=5))
        found = {k: v[:, back].reshape(-1, 1, 28, 28) if "inputs" in k else v for k, v in found.items()}
    images = {part: rows(pixels(found[f"{part}_inputs"])[:, 0], MNIST.train_images) for part in ("train", "validation")}
    images["test"] = rows(pixels(found["test_inputs"])[:, 0], MNIST.test_images)
    random = np.random.default_rng([5, hash_to_int("split")])  # as documented
    order, test = random.permutation(60), random.permutation(40)
    assert images == {"validation": sorted(order[:5]), "train": sorted(order[5:25]), "test": sorted(test[:10])}
    for part, chosen in images.items():
        labels = MNIST.test_labels if part == "test" else MNIST.train_labels
        assert found[f"{part}_labels"].tolist() == labels[chosen].tolist()
    for task in stream.names:
        assert torch.equal(task_data(stream, task, seed=5)["train_labels"], found["train_labels"])


def test_every_task_has_another_permutation():
    stream = SMALL["pmnist"]
    assert isinstance(stream, PermutedMnist)
    plain = task_data(RotatedMnist(tasks=1, train_images=20, test_images=10, validation_images=5), "0")
    permutations = [stream.permutation(task, seed=0) for task in stream.names]
    for task, permutation in zip(stream.names, permutations, strict=True):
        assert sorted(permutation.tolist()) == list(range(784))
        found = task_data(stream, task)
        for part in ("train", "validation", "test"):
            assert torch.equal(found[f"{part}_inputs"], plain[f"{part}_inputs"].flatten(1)[:, permutation])
    identity = np.arange(784)
    everything = [identity, *permutations, stream.permutation("0", seed=1)]
    for i, one in enumerate(everything):
        for other in everything[:i]:
            assert np.mean(one == other) < 0.02  # about one pixel stays, randomly


def test_validation_images_may_be_zero():
    found = PermutedMnist(train_images=60, test_images=40, validation_images=0).load(Occurrence("0", 0), 0)
    assert (found.validation_inputs, found.validation_labels) == (None, None)
    assert found.train_labels.tolist() == MNIST.train_labels.tolist()
    assert found.test_labels.tolist() == MNIST.test_labels.tolist()


def test_rotation_agrees_with_scipy():
    """SciPy rotates one image at a time; the images have a dark rim, as those of MNIST have."""
    images = np.zeros((6, 28, 28), np.float32)
    images[:, 3:25, 3:25] = RNG.random((6, 22, 22))
    for degrees in (18.0, 45.0, 90.0, 126.0, 162.0):
        turned = _rotate(torch.from_numpy(images.copy()), degrees).numpy()
        for image, found in zip(images, turned, strict=True):
            expected = ndimage.rotate(image, degrees, reshape=False, order=1)
            np.testing.assert_allclose(found, expected, atol=2e-5)


def test_task_k_is_rotated_by_k_parts_of_180_degrees():
    stream = RotatedMnist(tasks=2, train_images=20, test_images=10, validation_images=5)
    assert [stream.angle(task) for task in stream.names] == [0, 90]
    upright, turned = (task_data(stream, task) for task in stream.names)
    for part in ("train", "validation", "test"):
        expected = torch.rot90(upright[f"{part}_inputs"], dims=(2, 3))  # counter-clockwise
        torch.testing.assert_close(turned[f"{part}_inputs"], expected, atol=1e-3, rtol=0)
    assert [RotatedMnist().angle(str(k)) for k in range(10)] == [18 * k for k in range(10)]


@pytest.mark.parametrize("kind", [PermutedMnist, RotatedMnist])
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"train_images": 70_000}, "train_images=70000, validation_images=6000: MNIST has 60,000 training images for"),
        ({"train_images": 54_001}, "train_images=54001, validation_images=6000: .*; ask for fewer"),
        ({"validation_images": 6_001}, "train_images=54000, validation_images=6001: .*; ask for fewer"),
        ({"test_images": 10_001}, "test_images=10001: MNIST has 10,000 test images; ask for fewer"),
        ({"train_images": 0}, "train_images=0: give a whole number from 1"),
        ({"test_images": 0}, "test_images=0: give a whole number from 1"),
        ({"validation_images": -1}, "validation_images=-1: give a whole number from 1"),
        ({"validation_images": False}, "validation_images=False: give a whole number"),
        ({"train_images": float("nan")}, "train_images=nan: give a whole number"),
        ({"tasks": 10**9}, "tasks=1000000000: give at most 10,000"),
    ],
)
def test_more_images_than_mnist_has_raise(kind, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        kind(**settings)


# ---------------------------------------------------------------- some classes in each task


def test_split_cifar_has_ten_consecutive_classes():
    mean, std = np.array([125.3, 123.0, 113.9]) / 255, np.array([63.0, 62.1, 66.7]) / 255
    seen = []
    for k, task in enumerate(SMALL["cifar100"].names):
        found = task_data(SMALL["cifar100"], task, seed=2)
        chosen = {}
        for part in ("train", "validation", "test"):
            images = pixels(found[f"{part}_inputs"].permute(0, 2, 3, 1), mean, std)
            chosen[part] = rows(images, CIFAR.test_images if part == "test" else CIFAR.train_images)
            labels = (CIFAR.test_labels if part == "test" else CIFAR.train_labels)[chosen[part]]
            assert found[f"{part}_labels"].tolist() == (labels - 10 * k).tolist()
        random = np.random.default_rng([2, hash_to_int(f"split {k}")])  # as documented
        train, test = 60 * k + random.permutation(60), 20 * k + random.permutation(20)
        assert chosen == {"validation": train[:6].tolist(), "train": train[6:].tolist(), "test": test.tolist()}
        seen += chosen["train"] + chosen["validation"]
    assert sorted(seen) == list(range(600))  # every image once


def test_split_mnist_has_two_consecutive_digits():
    for k, task in enumerate(SMALL["smnist"].names):
        found = task_data(SMALL["smnist"], task)
        test = rows(pixels(found["test_inputs"])[:, 0], MNIST.test_images)
        assert sorted(test) == np.flatnonzero(np.isin(MNIST.test_labels, [2 * k, 2 * k + 1])).tolist()
        assert found["test_labels"].tolist() == (MNIST.test_labels[test] - 2 * k).tolist()


def test_splits_with_other_numbers_of_classes():
    stream = SplitCifar100(tasks=20, classes=5, validation_share=0)
    found = stream.load(Occurrence("19", 0), 0)
    assert found.validation_inputs is None
    assert sorted(found.train_labels.tolist()) == sorted([0, 1, 2, 3, 4] * 6)
    assert len(stream.names) == 20


def test_test_data_is_shuffled():
    """CIFAR-100 is sorted by class; batch statistics of a single class would mislead a network."""
    found = task_data(SplitCifar100(validation_share=0.5), "0")
    for part in ("train", "validation", "test"):
        assert len(set(found[f"{part}_labels"][:10].tolist())) >= 4


def test_fewer_images_are_drawn_from_all_classes():
    stream = SplitCifar100(train_images=30, test_images=10, validation_share=0.1)
    whole, found = task_data(SMALL["cifar100"], "3"), task_data(stream, "3")
    assert torch.equal(whole["validation_inputs"], found["validation_inputs"])
    assert [len(found[name]) for name in ("train_labels", "test_labels")] == [30, 10]
    assert len(set(found["train_labels"].tolist())) > 5
    known = {tuple(row) for row in whole["train_inputs"].flatten(1)[:, :50].tolist()}
    assert all(tuple(row) in known for row in found["train_inputs"].flatten(1)[:, :50].tolist())
    assert not torch.equal(found["test_inputs"], task_data(stream, "3", seed=1)["test_inputs"])


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: SplitCifar100(tasks=11),
            "tasks=11 of classes=10 each are 110 classes, but CIFAR-100 has 100; ask for",
        ),
        (lambda: SplitCifar100(tasks=1, classes=101), "tasks=1 of classes=101 each are 101 classes, but CIFAR-100"),
        (lambda: SplitCifar100(classes=0), "classes=0: give a whole number"),
        (lambda: SplitMnist(tasks=6), "tasks=6 of classes=2 each are 12 classes, but MNIST has 10; ask for fewer"),
        (lambda: SplitCifar100(validation_share=1), "validation_share=1: give less than 1, to leave some to train"),
        (lambda: SplitCifar100(validation_share=-0.1), "validation_share=-0.1: must not be negative"),
        (lambda: SplitCifar100(validation_share=float("nan")), "validation_share=nan: give a finite number"),
        (lambda: SplitCifar100(train_images=0), "train_images=0: give a whole number"),
        (lambda: SplitCifar100(test_images=-5), "test_images=-5: give a whole number"),
    ],
)
def test_impossible_splits_raise(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (
            {"train_images": 58},
            "train_images=58, validation_share=0.05: task 3 has 60 training images, of which 57 are left; ask for less",
        ),
        ({"validation_share": 0.999}, "train_images=None, validation_share=0.999: task 3 .* of which 0 are left"),
        ({"test_images": 21}, "test_images=21: task 3 has 20 test images; ask for less"),
    ],
)
def test_more_images_than_a_task_has_raise(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        SplitCifar100(**settings).load(Occurrence("3", 0), 0)


# ---------------------------------------------------------------- data


def test_fingerprint_depends_on_data_and_version(monkeypatch):
    before = {name: stream.fingerprint for name, stream in SMALL.items()}
    monkeypatch.setattr(_datasets, "mnist", lambda: dataclasses.replace(MNIST, fingerprint="newer"))
    monkeypatch.setattr(_datasets, "cifar100", lambda: dataclasses.replace(CIFAR, fingerprint="newer"))
    assert {stream.fingerprint for stream in SMALL.values()} == {"newer, version 1"}
    monkeypatch.undo()
    monkeypatch.setattr(ImageStream, "version", 2)
    monkeypatch.setattr(_datasets, "mnist", lambda: MNIST)
    assert SMALL["pmnist"].fingerprint == "small mnist, version 2" != before["pmnist"]


def test_cifar_is_read_once_per_process(monkeypatch):
    monkeypatch.undo()
    calls = []
    monkeypatch.setattr(_datasets.data, "cifar100", lambda: calls.append(1) or CIFAR)
    _datasets.cifar100.cache_clear()
    try:
        for task in ("0", "1"):
            SplitCifar100(validation_share=0.1).load(Occurrence(task, 0), 0)
    finally:
        _datasets.cifar100.cache_clear()
    assert calls == [1]


def test_streams_on_the_real_mnist(monkeypatch):
    monkeypatch.setattr(_datasets, "mnist", REAL_MNIST)
    found = PermutedMnist().load(Occurrence("0", 0), 1)
    assert found.validation_labels is not None
    sizes = [len(labels) for labels in (found.train_labels, found.validation_labels, found.test_labels)]
    assert sizes == [54_000, 6_000, 10_000]
    assert abs(float(found.train_inputs.mean())) < 0.005
    assert abs(float(found.train_inputs.std()) - 1) < 0.005
    assert float(found.train_inputs.min()) == pytest.approx(-0.1307 / 0.3081)
    split = SplitMnist(validation_share=0).load(Occurrence("4", 0), 0)
    assert split.train_labels.bincount().tolist() == [5851, 5949]
    assert split.test_labels.bincount().tolist() == [974, 1009]
