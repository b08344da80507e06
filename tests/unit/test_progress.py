"""Progress where there is no terminal, as in a log file: nothing is printed, however long the work takes."""

from contextlib import contextmanager

import numpy as np
import pytest

import ebbing
from ebbing import _progress


def test_work_is_silent_without_a_terminal(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    with _progress.progress_bar("learning") as report:
        for second in range(0, 1000, 10):
            clock[0] = float(second)
            report(second / 1000, f"{second // 10} of 100 tasks")
    assert capsys.readouterr() == ("", "")


def test_parts_are_silent_without_a_terminal_and_fail_on(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])

    def work():
        with _progress.progress_bars(["theory", "networks"]) as part:
            with part("theory") as report:
                clock[0] = 100.0
                report(0.5, "seed 1")
            with part("networks"):
                raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        work()
    assert capsys.readouterr() == ("", "")


def test_reporting_is_a_function_of_the_caller_a_bar_or_nothing(monkeypatch):
    shares, bars = [], []

    @contextmanager
    def bar(description):
        yield lambda share: bars.append((description, share))

    monkeypatch.setattr(_progress, "progress_bar", bar)
    for progress in (shares.append, True, False):
        with _progress.reporting(progress, "kernel") as report:
            report(0.5)
    assert shares == [0.5]
    assert bars == [("kernel", 0.5)]


@pytest.mark.parametrize("progress", ["yes", None, 0.5])
def test_progress_of_another_kind_raises(progress):
    tasks = {name: (np.ones((4, 2)), [0, 1, 0, 1]) for name in "ab"}
    with pytest.raises(ValueError, match=r"progress=.*: give True for a bar, False for none, or a function"):
        ebbing.forecast("linear", tasks).replay(progress=progress)
