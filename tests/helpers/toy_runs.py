"""A small prefix tree: its tasks, an uninterrupted run of it, and the files of its store."""

import os
import signal
import time
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from ebbing.learn import Experiment, FiveLayers, Occurrence, Sgd, TaskData, occurrences, prefix_tree
from ebbing.runs import Store, _pools, execute


@dataclass(frozen=True)
class Toy:
    """Twenty random images with random labels per occurrence; one task kills the process that learns it."""

    fingerprint: str = "toy"

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        if occurrence.task == "deadly" and os.environ.get("DEADLY"):
            os.kill(os.getpid(), signal.SIGKILL)
        if occurrence.task == "endless":
            time.sleep(600)
        if occurrence.task == "wrong":
            raise ValueError("no such data")
        random = np.random.default_rng([seed, *occurrence.task.encode(), occurrence.index])
        images = torch.from_numpy(random.random((2, 20, 1, 28, 28), np.float32))
        labels = torch.from_numpy(random.integers(0, 2, (2, 20, 1)).astype(np.float32))
        return TaskData(images[0], labels[0], images[1], labels[1])


TRAINING = Experiment(Toy(), FiveLayers(widths=(2, 3, 4, 5)), Sgd(epochs=2, batch_size=8))
SEQUENCES = [("a", "b", "a"), ("a", "b", "c"), ("a", "c"), ("b", "a")]
NODES = prefix_tree(SEQUENCES, seed=0) + prefix_tree(SEQUENCES, seed=1)


def files(store):
    """Every finished file with its bytes."""
    paths = (path for path in store.folder.rglob("*") if path.is_file() and path.suffix != ".unfinished")
    return {path.relative_to(store.folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run in this process: its store, test errors and training errors."""
    store = Store(tmp_path_factory.mktemp("whole"))
    errors, training_errors = execute(TRAINING, NODES, store)
    return store, errors, training_errors


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def trained(monkeypatch):
    """The nodes that are trained in this process, in order: (seed, occurrences)."""
    done, train = [], _pools.train_node

    def noting(experiment, node, *more, **settings):
        done.append((node.seed, *map(str, node.path)))
        return train(experiment, node, *more, **settings)

    monkeypatch.setattr(_pools, "train_node", noting)
    return done


def entry_file(store, seed, *tasks, suffix="json"):
    node = next(node for node in NODES if node.seed == seed and node.path == occurrences(tasks))
    key = node.key(TRAINING.describe())
    return store.folder / key[:2] / f"{key}.{suffix}"


def copied(whole, store):
    """A copy of the finished run."""
    for name, content in files(whole[0]).items():
        (store.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (store.folder / name).write_bytes(content)
    return store
