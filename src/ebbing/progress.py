"""A progress bar with time left: on a terminal only, on standard error, and only for work that takes a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_PATIENCE = 1.0
"""Seconds that work may take in silence."""


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[float], None]]:
    """Yields a function that takes the finished fraction; silent when standard error is not a terminal.

    >>> with progress_bar("simulating") as report:
    ...     report(0.5)
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True)
    task = bar.add_task(description, total=1.0)
    began = time.monotonic()

    def report(fraction: float) -> None:
        bar.update(task, completed=fraction)
        if console.is_terminal and not bar.live.is_started and time.monotonic() - began > _PATIENCE:
            bar.start()

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def status_line(description: str) -> Iterator[Callable[[str], None]]:
    """For searches without a known end: yields a function that shows a line beside the time taken.

    >>> with status_line("searching") as report:
    ...     report("best so far 1.5")
    """
    console = Console(stderr=True)
    status = Progress(TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True)
    task = status.add_task(description, total=None)
    began = time.monotonic()

    def report(line: str) -> None:
        status.update(task, description=f"{description}: {line}")
        if console.is_terminal and not status.live.is_started and time.monotonic() - began > _PATIENCE:
            status.start()

    try:
        yield report
    finally:
        if status.live.is_started:
            status.stop()
