"""Worker processes on this machine.

Workers are new processes ("spawn"): forking one in which PyTorch has started threads may hang. A new process imports
the file that the user started, so that file must not start the work when it is imported.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

UNGUARDED_STATUS = 97
"""The exit status of a worker that starts the work itself, because the user's file does so when it is imported."""

EXIT_SECONDS = 10.0
"""Seconds to wait for the exit status of a worker that has ended."""

WORKER_KILLED = (
    "a worker process was killed, perhaps because memory ran out; use fewer workers, so that each has more. "
    "Finished results are stored: the same command continues"
)


class Workers:
    """Functions that are called in worker processes.

    Args:
        executor: The executor that starts the processes.
    """

    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self._executor = executor
        self._processes: dict[int, Any] = {}  # the executor forgets those that have ended

    def call(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Call a function in a worker.

        Args:
            function: A function at the top of a module.
            *arguments: Its arguments.

        Returns:
            The future of its result.
        """
        try:
            with _interrupts_blocked():
                return self._executor.submit(_call, function, *arguments)
        except BrokenProcessPool as error:
            raise self._explain(error) from None
        finally:
            self._processes |= dict(self._executor._processes or {})

    def wait(self, futures: list[Future]) -> list[Future]:
        """Return the futures that are done, as soon as there is one."""
        return list(wait(futures, return_when=FIRST_COMPLETED).done)

    def result(self, future: Future) -> Any:
        """Return the result of a future, or raise its error."""
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise self._explain(error) from None

    def terminate(self) -> None:
        """End all workers now: Python would wait for them, and a task may take an hour. Checkpoints keep progress."""
        for process in self._processes.values():
            process.terminate()

    def _explain(self, error: BrokenProcessPool) -> Exception:
        """Return the error that a worker's exit status explains."""
        status = self._exit_status()
        if status == UNGUARDED_STATUS:
            return ValueError(unguarded_message())
        if status == -getattr(signal, "SIGKILL", 9):  # Windows has none
            return ChildProcessError(WORKER_KILLED)
        if status is not None and status < 0:
            return ChildProcessError(
                f"a worker process was ended by {_signal_name(-status)}; the same command continues"
            )
        if status:
            return ChildProcessError(
                f"a worker process ended with status {status}, and its message stands above. Workers import "
                f"{_main_file() or 'the program'}, which must be a file that can be imported; or train in this process "
                "with workers=1"
            )
        return ChildProcessError(f"the worker processes are lost ({error}); the same command continues")

    def _exit_status(self) -> int | None:
        """Return the status of the worker that ended first: the executor terminates the others."""
        deadline = time.monotonic() + EXIT_SECONDS
        while time.monotonic() < deadline:
            statuses = [process.exitcode for process in self._processes.values()]
            ended = [status for status in statuses if status is not None]
            by_itself = [status for status in ended if status != -signal.SIGTERM]
            if by_itself:
                return by_itself[0]
            if len(ended) == len(statuses):
                return ended[0] if ended else None
            time.sleep(0.02)
        return None


@contextmanager
def open_workers(
    workers: int, initializer: Callable[..., None] | None = None, initargs: tuple[Any, ...] = ()
) -> Iterator[Workers]:
    """Start worker processes, and end them with the context.

    Args:
        workers: The number of processes.
        initializer: A function that each worker calls first; by default `exit_with_parent`.
        initargs: Its arguments. They are to be small: Python writes them into a pipe that it keeps open at both ends,
            and would wait for ever for a worker that has ended without reading it.

    Yields:
        The workers.
    """
    exit_if_spawned()
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, context, initializer=initializer or exit_with_parent, initargs=initargs)
    pool = Workers(executor)
    try:
        yield pool
    except BaseException:
        pool.terminate()
        raise
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def unguarded_message() -> str:
    """Return what to add to a file that starts the training when it is imported."""
    return (
        f"worker processes import {_main_file() or 'the program'}, and it starts the training again when it is "
        'imported: put what starts it under `if __name__ == "__main__":`, or train in this process with workers=1'
    )


def _main_file() -> str | None:
    return getattr(sys.modules["__main__"], "__file__", None)


def exit_if_spawned() -> None:
    """Exit at once in a worker that is still importing the user's file: nothing of it must run twice."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(UNGUARDED_STATUS)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all: this one ends them, without tracebacks."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# In a worker process


def exit_with_parent(cleanup: Callable[[], None] | None = None) -> None:
    """Exit when the parent process is killed, instead of waiting for work forever.

    Args:
        cleanup: What to do before, which a killed parent could not.
    """
    parent = multiprocessing.parent_process()

    def wait_for_parent() -> None:
        if parent is not None:
            parent.join()
        if cleanup is not None:
            cleanup()
        os._exit(1)

    threading.Thread(target=wait_for_parent, daemon=True).start()


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        raise _sendable(error) from None


def _sendable(error: Exception) -> Exception:
    """Return an error that arrives in the other process: one that cannot be unpickled would end the whole pool."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
