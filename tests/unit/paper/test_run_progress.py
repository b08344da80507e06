"""What is said of runs before, while and after they are trained."""

import io
import os

import pytest
from rich.console import Console
from toys import TINY, ToyTasks

from ebbing.cli._progress_table import print_progress
from ebbing.learn import Experiment, Sgd
from ebbing.paper import reproduction, run_progress
from ebbing.paper.planned_runs import PlannedRuns
from ebbing.paper.recording import record_runs
from ebbing.paper.records import Record, add_records
from ebbing.paper.run_progress import RunProgress


def planned(name, seeds=(0, 1, 2)):
    return PlannedRuns(
        "table1", name, Experiment(ToyTasks(), TINY, Sgd(epochs=2)), (("a", "b"),), seeds, is_stream=True
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Seed 0 is recorded, seed 1 has learned one of two tasks, seed 2 nothing."""
    monkeypatch.setattr(
        run_progress, "planned_runs", lambda target, seeds: [planned("toy / sgd"), planned("new / sgd")]
    )
    record_runs([planned("toy / sgd", seeds=(0,))], tmp_path)
    learn, calls = Sgd.learn, []

    def stopped(self, *arguments):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return learn(self, *arguments)

    monkeypatch.setattr(Sgd, "learn", stopped)
    with pytest.raises(KeyboardInterrupt):
        record_runs([planned("toy / sgd", seeds=(1,))], tmp_path)
    monkeypatch.setattr(Sgd, "learn", learn)
    return tmp_path


def states(folder):
    return [(run.name, run.seed, run.state, run.trained) for run in run_progress.run_progress(["table1"], folder)][:3]


def test_runs_are_recorded_running_begun_or_to_come(folder):
    expected = [("toy / sgd", 0, "recorded", 2), ("toy / sgd", 1, "running", 1), ("toy / sgd", 2, "to come", 0)]
    assert states(folder) == expected
    for path in (folder / "runs").rglob("*.json"):
        os.utime(path, (1000, 1000))
    assert states(folder)[1] == ("toy / sgd", 1, "begun", 1)


def test_time_left_comes_from_recorded_times(folder):
    timed = {"seconds": 30, "networks": {"trained": 3, "found": 1}}
    add_records(folder, [Record("table1", "toy / sgd", 9, {}, {}, timed)])
    untimed, *_ = [run.seconds_left for run in run_progress.run_progress(["table1"], folder) if run.name == "new / sgd"]
    assert untimed is None
    left = [run.seconds_left for run in run_progress.run_progress(["table1"], folder)][:3]
    first = left[1]
    assert left[0] == 0.0
    assert first is not None
    assert left[2] == 2 * first
    assert 6 <= first <= 10  # 30 seconds for 3 networks, and next to nothing for the 2 of seed 0


def test_runs_without_a_time_take_that_of_their_protocol(folder, monkeypatch):
    runs = [planned("toy / sgd"), planned("toy / other")]
    monkeypatch.setattr(run_progress, "planned_runs", lambda target, seeds: runs)
    add_records(folder, [Record("table1", "toy / sgd", 9, {}, {}, {"seconds": 3000})])
    found = [run.seconds_left for run in run_progress.run_progress(["table1"], folder)]
    assert found[5] == found[2] == 3000.0


def test_table_sums_up(folder):
    runs = [
        RunProgress("fig2", "figure 2", 0, "recorded", 171, 171, 0.0),
        RunProgress("fig2", "figure 2", 1, "running", 100, 171, 1050.0),
        RunProgress("fig2", "figure 2", 2, "to come", 0, 171, 2550.0),
        RunProgress("table1", "pmnist / GPM", 0, "begun", 3, 10, None),
    ]
    text = io.StringIO()
    print_progress(runs, Console(width=200, file=text))
    lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
    assert "fig2 figure 2 0 1: 100 of 171, running 2 60 min" in lines
    assert "table1 pmnist / GPM 0: 3 of 10 1 run of unknown length" in lines
    assert lines[-1] == "1 of 4 runs are recorded; left: 60 min and 1 run of unknown length on one core"


def test_targets_without_long_runs_raise(tmp_path):
    with pytest.raises(ValueError, match="progress: fig1 has no long runs; give some of fig2, table1"):
        reproduction.progress(["fig1", "fig2"], tmp_path)
