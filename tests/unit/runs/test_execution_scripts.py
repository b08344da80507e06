"""Programs of users that train in worker processes, run as they are: each ends, with a result or one clear error."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

TIMEOUT = 300  # seconds; a hang, not slowness

PARTS = """
from dataclasses import dataclass
import numpy as np
from ebbing.learn import CustomTasks, Experiment, FiveLayers, Sgd, prefix_tree
from ebbing.runs import Store, execute

random = np.random.default_rng(0)
data = {"a": (random.random((1000, 1, 28, 28)), random.integers(0, 2, (1000, 1)).astype(float))}  # much more than 64 KB

@dataclass(frozen=True)
class Small(FiveLayers):
    widths: tuple = (2, 2, 2, 2)

def train(epochs=1, workers=2):
    experiment = Experiment(CustomTasks(data, data, train_size=8), Small(), Sgd(epochs=epochs))
    print(len(execute(experiment, prefix_tree([["a"]], 0), Store("runs"), workers=workers)[0]), "nodes", flush=True)
"""
GUARD = "\nif __name__ == '__main__':\n    "


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process, folder, timeout=TIMEOUT):
    """Return the output and the lines of errors, when the last process has gone: they share the pipes."""
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert not list(folder.glob("ebbing-*.pickle"))
    return out, err.strip().splitlines()


def run(folder, text):
    (folder / "program.py").write_text(PARTS + text)
    return finish(start(folder, "program.py"), folder)


def test_program_without_guard_is_told_what_to_add(tmp_path):
    out, err = run(tmp_path, "train()\nprint('again')")
    assert out == ""
    assert err[-1].startswith("ValueError: worker processes import ")
    assert "program.py, and it starts the training again when it is imported: put" in err[-1]
    assert 'under `if __name__ == "__main__":`, or train in this process with workers=1' in err[-1]
    assert sum("Traceback" in line for line in err) == 1  # none of a worker


def test_program_that_cannot_be_imported_is_named(tmp_path):
    _, err = run(tmp_path, "if __name__ != '__main__': raise OSError('not here')" + GUARD + "train()")
    assert err[-1].startswith("ChildProcessError: a worker process ended with status 1, and its message stands above.")
    assert "program.py, which must be a file that can be imported" in err[-1]
    assert any("not here" in line for line in err)


def test_class_without_a_file_raises(tmp_path):
    """As in a notebook: there is no file that workers could import."""
    _, err = finish(start(tmp_path, "-c", PARTS + "train()"), tmp_path)
    assert err[-1].startswith("ValueError: a worker cannot import a part of the experiment (")
    assert "'Small'" in err[-1]
    assert "not in a notebook" in err[-1]


@pytest.mark.parametrize("seconds", [1.0, 4.0])
def test_ctrl_c_at_any_time_ends_all_processes(tmp_path, seconds):
    """At first while packages are imported, then while workers start or train."""
    (tmp_path / "program.py").write_text(PARTS + GUARD + "print('here', flush=True); train(epochs=10**9)")
    process = start(tmp_path, "program.py")
    if seconds > 1:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = finish(process, tmp_path)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err[-1]
    assert not any("SpawnProcess" in line for line in err), err  # no traceback of a worker
