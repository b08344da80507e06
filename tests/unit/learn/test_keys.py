"""Keys of nodes: they depend on everything that determines the weights, and on nothing else."""

import dataclasses
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from toys import NODE, TINY, TRAINING, Points, ToyTasks

from ebbing.learn import Experiment, FiveLayers, Occurrence, Sgd, prefix_tree
from ebbing.learn._code_digest import code_digest
from ebbing.learn.tasks.base import Tasks


def key(tasks: Tasks = ToyTasks(), architecture=TINY, method=Sgd(epochs=2), node=NODE):  # noqa: B008 (frozen)
    return node.key(Experiment(tasks, architecture, method).describe())


@dataclass(frozen=True)
class OtherSgd(Sgd):
    """Another method with the same settings."""


@dataclass(frozen=True)
class Newer(Sgd):
    version: ClassVar[int] = 2


Newer.__name__ = "Sgd"


def test_key_changes_with_everything_that_determines_weights():
    keys = [
        key(),
        key(tasks=ToyTasks(images=21)),
        key(tasks=ToyTasks(data="other data")),
        key(architecture=FiveLayers(widths=(2, 3, 4, 6))),
        key(architecture=FiveLayers(widths=(3, 2, 4, 5))),
        key(method=Sgd(epochs=3)),
        key(method=Sgd(epochs=2, learning_rate=0.2)),
        key(method=Sgd(epochs=2, batch_size=20)),
        key(method=Sgd(epochs=2, loss="squared")),
        key(method=OtherSgd(epochs=2)),
        key(method=Newer(epochs=2)),
        key(tasks=Points()),
        key(node=dataclasses.replace(NODE, seed=1)),
        key(node=dataclasses.replace(NODE, path=NODE.path[::-1])),
        key(node=dataclasses.replace(NODE, path=NODE.path[:1])),
        key(node=dataclasses.replace(NODE, path=())),
        key(node=dataclasses.replace(NODE, path=(Occurrence("a", 0), Occurrence("b", 1)))),
        key(node=dataclasses.replace(NODE, path=(Occurrence("a", 1), Occurrence("b", 0)))),
        key(node=dataclasses.replace(NODE, path=(Occurrence("a#0", 0), Occurrence("b", 0)))),
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in keys)


def test_key_depends_on_nothing_else():
    assert key() == key(tasks=ToyTasks(), architecture=FiveLayers(widths=(2, 3, 4, 5)), method=Sgd(0.1, 2))
    assert key() == key(node=dataclasses.replace(NODE, test_occurrences=(), has_children=True))
    reordered = {name: dict(reversed(part.items())) for name, part in reversed(TRAINING.describe().items())}
    assert list(reordered) != list(TRAINING.describe())
    assert key() == NODE.key(reordered)


def test_describe_returns_settings_by_name():
    code = code_digest(ToyTasks())
    assert TRAINING.describe() == {
        "tasks": {"kind": "ToyTasks", "images": 20, "data": "toy", "identity": "toy", "code": code},
        "architecture": {"kind": "FiveLayers", "widths": (2, 3, 4, 5), "version": FiveLayers().version},
        "method": {
            "kind": "Sgd",
            "learning_rate": 0.1,
            "epochs": 2,
            "batch_size": None,
            "loss": "cross-entropy",
            "version": Sgd.version,
        },
    }
    json.dumps(TRAINING.describe())


def test_keys_are_the_same_in_every_process():
    """Python orders sets and hashes strings differently from process to process by default."""
    program = "import test_keys; print(test_keys.key(), *test_keys.shown())"
    found_in = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # another one than here
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": found_in}
    finished = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert finished.stdout.strip() == " ".join([key(), *shown()])


def shown() -> list[str]:
    """The tree and its order, to compare between processes."""
    nodes = prefix_tree([("b", "a"), ("a", "c", "a"), ("c",), ("b", "b")], seed=3)
    return [
        node.key(TRAINING.describe()) + ",".join(map(str, node.test_occurrences)).replace(" ", "") for node in nodes
    ]
