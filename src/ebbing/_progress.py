"""Progress on standard error: a bar on a terminal, if work takes more than a second; elsewhere nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from ebbing._tables import escape_control

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn

Progress = Callable[[float], None]
"""A function that is called with the share of the work that is done, 0 to 1."""

_DELAY = 1.0
"""Seconds of work before anything is shown."""


@contextmanager
def reporting(progress: Progress | bool, description: str) -> Iterator[Progress]:
    """Give long work a function to report its progress to.

    Args:
        progress: What a caller asked for: a function of its own; True for a bar on a terminal; False for nothing.
        description: What is being done.

    Yields:
        A function that takes the finished fraction, 0 to 1.

    Raises:
        ValueError: If `progress` is something else.

    Example:
        >>> with reporting(print, "searching") as report:
        ...     report(0.5)
        0.5
    """
    if isinstance(progress, bool):
        if not progress:
            yield lambda share: None
            return
        with progress_bar(description) as report:
            yield report
        return
    if not callable(progress):
        raise ValueError(
            f"progress={progress!r}: give True for a bar, False for none, or a function of the share that is done"
        )
    yield progress


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[..., None]]:
    """Show a progress bar with the time left.

    Args:
        description: What is being done.

    Yields:
        A function that takes the finished fraction, 0 to 1, and optionally a few words to show beside it.

    Example:
        >>> with progress_bar("simulating") as report:
        ...     report(0.5)
        ...     report(0.75, "nearly there")
    """
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with _delayed_bar(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as (bar, show):
        task = bar.add_task(description, total=1.0)

        def report(fraction: float, words: str = "") -> None:
            line = f"{description}: {escape_control(words)}" if words else description
            bar.update(task, completed=fraction, description=line)
            show()

        yield report


@contextmanager
def progress_bars(names: Sequence[str]) -> Iterator[Callable[[str], AbstractContextManager[Callable[..., None]]]]:
    """Show the progress of several parts in one display: all of them, with the time left of the one at work.

    Args:
        names: The parts, in the order in which they run.

    Yields:
        A function that opens the bar of a part, and fails with it.

    Example:
        >>> with progress_bars(["theory", "networks"]) as part, part("theory") as report:
        ...     report(0.5)
    """
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[state]:>7}"))
    with _delayed_bar(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as (display, show):
        lines = {name: display.add_task(name, total=1.0, start=False, state="waiting") for name in names}

        @contextmanager
        def part(name: str) -> Iterator[Callable[..., None]]:
            line = lines[name]
            display.start_task(line)

            def report(fraction: float, words: str = "") -> None:
                description = f"{name}: {escape_control(words)}" if words else name
                display.update(line, completed=fraction, description=description, state=f"{fraction:.0%}")
                show()

            report(0.0)
            try:
                yield report
            except BaseException:
                display.update(line, description=name, state="failed")
                display.stop_task(line)
                raise
            display.update(line, completed=1.0, description=name, state="done")
            show()

        yield part


@contextmanager
def status_line(description: str) -> Iterator[Callable[[str], None]]:
    """Show a line of text beside the time taken, for work without a known end.

    Args:
        description: What is being done.

    Yields:
        A function that takes the text to show.

    Example:
        >>> with status_line("searching") as report:
        ...     report("best so far 1.5")
    """
    from rich.progress import TextColumn, TimeElapsedColumn

    with _delayed_bar(TextColumn("{task.description}", markup=False), TimeElapsedColumn()) as (bar, show):
        task = bar.add_task(description, total=None)

        def report(line: str) -> None:
            bar.update(task, description=f"{description}: {escape_control(line)}")
            show()

        yield report


@contextmanager
def resumable() -> Iterator[None]:
    """Add to Ctrl-C the words that finished work is stored and that the same command continues it.

    Yields:
        Nothing.

    Raises:
        KeyboardInterrupt: Again, with the words.

    Example:
        >>> with resumable():
        ...     pass
    """
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("finished work is stored, and the same command continues from there") from None


@contextmanager
def _delayed_bar(*columns: ProgressColumn) -> Iterator[tuple[Bars, Callable[[], None]]]:
    """Yield a bar and a function that shows it after the delay; the bar disappears at the end."""
    from rich.console import Console
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    bar = Bars(*columns, console=console, transient=True)
    start = time.monotonic()

    def show() -> None:
        if console.is_terminal and not bar.live.is_started and time.monotonic() - start > _DELAY:
            bar.start()

    try:
        yield bar, show
    finally:
        if bar.live.is_started:
            bar.stop()
