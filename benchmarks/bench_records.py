"""Evidence from records: how long everything about networks takes to make from them, and what kill -9 does to a run.

python benchmarks/bench_records.py FOLDER     record the small runs of the second benchmark (it starts and kills this)
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from ebbing.learn import PermutedMnist, Sgd, preset
from ebbing.paper import fig2
from ebbing.paper.planned_runs import PlannedRuns
from ebbing.paper.recording import record_runs
from ebbing.paper.records import read_records
from ebbing.paper.reproduction import RECORDED
from harness import Row, at_most

REPRODUCED = Path(__file__).parents[1] / "reproduced"
KILLS = 10


def planned() -> list[PlannedRuns]:
    """Small versions of runs of Figure 2 and of Table 1: fewer sequences, epochs, tasks and images."""
    config = replace(fig2.Config(), method=Sgd(epochs=10))
    sequences = tuple(sequence for setup in fig2.SETUPS["b"].values() for sequence in setup)
    stream = PermutedMnist(tasks=4, train_images=4_000, test_images=1_000, validation_images=0)
    trgp = preset(stream, "trgp+", epochs=2)
    return [
        PlannedRuns("fig2", "figure 2", config.experiment, sequences, (0, 1), is_stream=False),
        PlannedRuns("table1", "pmnist / TRGP+", trgp, (stream.names,), (0, 1), is_stream=True),
    ]


def from_records() -> Row:
    """Time all figures, tables and verdicts in a fresh process, after comparing them with those in the repository."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(REPRODUCED / "records", folder / "records")
        command = [sys.executable, "-m", "ebbing", "reproduce", "--from-records", "--out", str(folder)]
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        took = time.perf_counter() - began
        for target in RECORDED:
            for suffix in ("csv", "json", "svg"):
                file = f"{target}.{suffix}"
                assert (folder / file).read_bytes() == (REPRODUCED / file).read_bytes(), file
    return at_most("all figures, tables and verdicts from records, in a fresh process", took, 20, " s")


def killed_runs() -> Row:
    """Kill a run again and again while it trains, let it finish, and compare its records with undisturbed ones."""
    with tempfile.TemporaryDirectory() as name:
        killed, whole = Path(name, "killed"), Path(name, "whole")
        kills, chance = 0, random.Random(0)
        while kills < KILLS:
            process = subprocess.Popen([sys.executable, __file__, str(killed)], start_new_session=True)
            before = _written(killed)
            while _written(killed) == before and process.poll() is None:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.4))
            if process.poll() is not None:
                break  # it has finished
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
        subprocess.run([sys.executable, __file__, str(killed)], check=True)
        record_runs(planned(), whole)
        assert len(_results(whole)) == sum(len(runs.seeds) for runs in planned())
        same = _results(killed) == _results(whole)
    what = f"small runs of Figure 2 and Table 1, {kills} times killed (kill -9) and resumed, against undisturbed ones"
    return Row(what, "same records" if same else "other records", "same records", same and kills == KILLS)


def _written(folder: Path) -> dict[Path, int]:
    """When each file of the store was written: entries, weights and checkpoints."""
    found = {}
    for path in folder.rglob("*"):
        try:
            found[path] = path.stat().st_mtime_ns
        except FileNotFoundError:  # replaced at this moment
            continue
    return found


def _results(folder: Path) -> list[tuple[object, ...]]:
    records = [record for target in ("fig2", "table1") for record in read_records(folder, target)]
    return [(record.target, record.name, record.seed, record.settings, record.result) for record in records]


def run() -> list[Row]:
    return [from_records(), killed_runs()]


if __name__ == "__main__":
    record_runs(planned(), Path(sys.argv[1]))
