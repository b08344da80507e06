"""Projection methods in the sequence engine: the same bits as the plain loop, in other processes, after kill -9.

This file, called as a program, trains into a folder and kills itself with unfinished work on disk.
"""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch import nn

from ebbing.learn import Experiment, Occurrence, TaskData, error_matrix, occurrences, prefix_tree, train_reference
from ebbing.learn._seeding import build_seeded
from ebbing.learn.methods import Copies, FineTuning, Gpm, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.networks import MLP
from ebbing.learn.projection import Threshold
from ebbing.learn.training import schedule as schedule_module
from ebbing.learn.training._machine import single_thread
from ebbing.learn.training.schedule import Schedule
from ebbing.runs import Store, execute
from ebbing.runs.store import CheckpointFile
from ebbing.runs.streams import train_streams

LOCAL = Path(__file__).parent


@dataclass(frozen=True)
class Toy:
    """Three classes around random centers, with validation data."""

    fingerprint: str = "toy"

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        random = np.random.default_rng([seed, *occurrence.task.encode(), occurrence.index])
        centers, parts = random.standard_normal((3, 12)), []
        for rows in (30, 15, 12):
            labels = random.integers(0, 3, rows)
            inputs = centers[labels] + 0.5 * random.standard_normal((rows, 12))
            parts += [torch.from_numpy(inputs.astype(np.float32)), torch.from_numpy(labels)]
        return TaskData(*parts)


@dataclass(frozen=True)
class Dropping:
    """A perceptron with dropout, biases and batch normalization with running statistics."""

    hidden: int = 10

    def build(self, seed: int) -> nn.Module:
        def layers() -> nn.Module:
            first = [nn.Linear(12, self.hidden), nn.BatchNorm1d(self.hidden), nn.ReLU(), nn.Dropout(0.3)]
            return nn.Sequential(*first, nn.Linear(self.hidden, 3))

        return build_seeded(seed, layers)


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Let other processes import this file by its plain name."""
    monkeypatch.setattr(sys, "path", [str(LOCAL), *sys.path])
    monkeypatch.setitem(sys.modules, "test_sequence_engine", sys.modules[__name__])
    for kind in (Toy, Dropping):
        monkeypatch.setattr(kind, "__module__", "test_sequence_engine")


PATIENT = Schedule(0.2, epochs=6, batch_size=8, patience=2)
STEADY = replace(PATIENT, patience=None)
SETTINGS: dict[str, Any] = {"threshold": Threshold(0.8), "num_examples": 20}
TRAINING = Experiment(Toy(), Dropping(), Trgp(PATIENT, **SETTINGS, trust_threshold=0.1))
SEQUENCES = [("a", "b", "a"), ("a", "c")]


def files(store):
    paths = (path for path in store.folder.rglob("*") if path.is_file())
    return {path.relative_to(store.folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("whole"))
    return store, *execute(TRAINING, prefix_tree(SEQUENCES, seed=0), store)


def assert_plain(experiment, errors, fits, sequences=SEQUENCES):
    for sequence in sequences:
        with single_thread():
            matrix, fitted = train_reference(experiment, sequence, seed=0)
        rows = {path: row for (_, path), row in errors.items()}
        np.testing.assert_array_equal(error_matrix(sequence, rows), matrix)
        assert [fits[0, occurrences(sequence)[:t]] for t in range(1, len(sequence) + 1)] == fitted


def test_engine_equals_the_plain_loop(whole):
    _, errors, fits = whole
    assert_plain(TRAINING, errors, fits)
    assert max(errors[0, occurrences(("a", "b", "a"))].values()) < 0.5  # of three classes
    assert min(errors[0, ()].values()) > 0.3


@pytest.mark.parametrize(
    "method",
    [
        FineTuning(STEADY),
        Gpm(STEADY, **SETTINGS),
        Trgp(STEADY, **SETTINGS, trust_threshold=0.1),
        TrgpPlus(STEADY, **SETTINGS, trust_threshold=0.1),
        Trgp(STEADY, **SETTINGS, trust_threshold=0.1, as_published=True),
        TrgpFree(STEADY, **SETTINGS, trust_threshold=0.1),
        TrgpFree(STEADY, **SETTINGS, trust_threshold=0.1, start_from="shared"),
        Copies(STEADY),
    ],
    ids=["fine-tuning", "gpm", "trgp", "trgp+", "as published", "free", "shared start", "copies"],
)
def test_every_method_continues_from_the_store(tmp_path, method):
    """Every task starts from the stored state of the one before."""
    experiment = Experiment(Toy(), MLP((12, 10, 8, 3)), method)
    assert_plain(
        experiment, *execute(experiment, prefix_tree([("a", "b", "c")], 0), Store(tmp_path)), [("a", "b", "c")]
    )


def test_two_processes_store_the_same_bytes(whole, tmp_path):
    store = Store(tmp_path)
    assert execute(TRAINING, prefix_tree(SEQUENCES, seed=0), store, workers=2) == whole[1:]
    assert files(store) == files(whole[0])


@pytest.mark.parametrize("saves", [3, 8])
def test_killed_run_resumes_to_the_same_bytes(whole, tmp_path, monkeypatch, saves):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(LOCAL), *sys.path])}
    killed = subprocess.run(
        [sys.executable, __file__, str(tmp_path), str(saves)],
        env=environment,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    store = Store(tmp_path)
    (unfinished,) = tmp_path.rglob("*.checkpoint")
    assert unfinished.stat().st_size > 1000
    epochs = []
    original = schedule_module.run_epoch
    monkeypatch.setattr(schedule_module, "run_epoch", lambda *given: (epochs.append(1), original(*given))[1])
    assert execute(TRAINING, prefix_tree(SEQUENCES, seed=0), store) == whole[1:]
    assert files(store) == files(whole[0])  # without the checkpoint
    nodes = sum(bool(node.path) for node in prefix_tree(SEQUENCES, seed=0))
    assert len(epochs) == nodes * PATIENT.epochs - saves  # no epoch is trained twice


def test_learner_of_a_stream_is_kept_on_request(tmp_path):
    experiment, tasks = Experiment(Toy(), MLP((12, 10, 8, 3)), Gpm(STEADY, **SETTINGS)), ("a", "b", "c")

    def run(folder, **how):
        (found,) = train_streams(experiment, tasks, [0], Store(tmp_path / folder), **how)
        return found

    assert [run("later").num_trained, run("later").num_trained] == [3, 0]
    assert run("later").learner is None
    assert (
        run("later", store_learner=True).num_trained == 0
    )  # a learner that was not kept is not trained again for this
    again = run("later", return_learner=True)  # but it is for this
    assert again.num_trained == 1
    assert run("later", return_learner=True).num_trained == 0
    new = run("new", store_learner=True)
    assert (new.num_trained, new.learner) == (3, None)
    kept = run("new", return_learner=True)
    assert (kept.num_trained, kept.learner) == (0, again.learner)
    assert np.array_equal(kept.accuracies, again.accuracies)
    assert kept.bytes_per_task == run("later").bytes_per_task


def test_learner_of_a_stream_tells_repeated_tasks_apart(tmp_path):
    experiment = Experiment(Toy(), MLP((12, 10, 8, 3)), Gpm(STEADY, **SETTINGS))
    (found,) = train_streams(experiment, ("a", "b", "a"), [0], Store(tmp_path), return_learner=True)
    learner = Gpm(STEADY, **SETTINGS).start(MLP((12, 10, 8, 3)).build(0))
    learner.restore(load(found.learner or b""))
    assert learner.tasks == ["a", "b", "a#1"]


if __name__ == "__main__":
    import test_sequence_engine as program

    schedule_module.CHECKPOINT_SECONDS = -1.0
    saved, saving = [], CheckpointFile.save

    def save_and_die(self, content):
        saving(self, content)
        saved.append(1)
        if len(saved) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    CheckpointFile.save = save_and_die
    execute(program.TRAINING, prefix_tree(SEQUENCES, seed=0), Store(sys.argv[1]))
