"""Execution that is killed or interrupted: the same command resumes with the same results.

Runs that are to be killed are real processes: this file, called as a program, trains a small tree into a folder and
stops where it is told to, so that the signal comes at that very moment.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import toy_runs
from toy_runs import NODES, TRAINING, files

from ebbing.runs import Store, _pools, execute

trained, whole = toy_runs.trained, toy_runs.whole  # fixtures


def main(folder: str, workers: str, stop: str, count: str) -> None:
    """Train; at the given call of a function of this process write a file and wait for the signal."""
    calls = 0
    where = {"train": (_pools, "train_node"), "fsync": (os, "fsync"), "replace": (os, "replace")}[stop]
    real = getattr(*where)

    def stopping(*arguments, **settings):
        nonlocal calls
        calls += 1
        if calls == int(count):
            Path(folder, "here").touch()
            time.sleep(300)
        return real(*arguments, **settings)

    setattr(*where, stopping)
    execute(TRAINING, NODES, Store(Path(folder, "runs")), workers=int(workers))


def start(folder, *, workers=1, stop, count):
    program = "import sys, test_execution_killed; test_execution_killed.main(*sys.argv[1:])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", program, str(folder), str(workers), stop, str(count)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_for(condition, process):
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def interrupted(folder, how, **arguments):
    """Run until the file is written, send the signal, and return the output of the process."""
    process = start(folder, **arguments)
    try:
        wait_for((folder / "here").exists, process)
        process.send_signal(how)
        said = process.communicate(timeout=60)[1]
        assert process.returncode != 0
        return said
    finally:
        kill_all(process)


def kill_all(process):
    """The process and its children, which form a process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize(
    ("stop", "count", "entries"),
    [
        ("train", 6, 5),
        ("fsync", 1, 0),  # in the middle of the first weights
        ("replace", 2, 0),  # in the middle of the first entry
    ],
)
def test_killed_run_resumes_with_identical_results(whole, tmp_path, stop, count, entries):
    interrupted(tmp_path, signal.SIGKILL, stop=stop, count=count)
    store = Store(tmp_path / "runs")
    assert len(list(store.entries())) == entries
    there = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*.json")}
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert {path: path.stat().st_mtime_ns for path in there} == there  # not computed again
    assert files(store) == files(whole[0])


def test_ctrl_c_keeps_finished_results(whole, tmp_path, trained):
    said = interrupted(tmp_path, signal.SIGINT, stop="train", count=6)
    assert "KeyboardInterrupt" in said
    store = Store(tmp_path / "runs")
    assert len(list(store.entries())) == 5
    assert not list(store.folder.rglob("*.unfinished"))
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert len(trained) == len(NODES) - 5
    assert files(store) == files(whole[0])


def test_ctrl_c_ends_worker_processes(whole, tmp_path, trained):
    """The main process writes the file before it stores its sixth entry."""
    process = start(tmp_path, workers=2, stop="replace", count=6)
    try:
        wait_for((tmp_path / "here").exists, process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        process.communicate(timeout=60)  # reads to the end, which comes when the last of them has gone
        assert process.returncode != 0
    finally:
        kill_all(process)
    store = Store(tmp_path / "runs")
    entries = len(list(store.entries()))
    assert 0 < entries < len(NODES)
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert len(trained) == len(NODES) - entries
    assert files(store) == files(whole[0])


def test_worker_processes_exit_when_the_parent_is_killed(tmp_path):
    process = start(tmp_path, workers=2, stop="replace", count=6)
    try:
        wait_for((tmp_path / "here").exists, process)
        process.kill()
        process.communicate(timeout=10)  # reads to the end, which comes when the last of them has gone
        assert process.returncode == -signal.SIGKILL
    finally:
        kill_all(process)
