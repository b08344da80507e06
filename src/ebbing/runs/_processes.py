"""Training in worker processes on this machine.

Workers are new processes ("spawn"): forking one in which PyTorch has started threads may hang. A new process imports
the file that the user started, so that file must not start the training when it is imported.

What a worker is given when it starts is small, and the experiment is in a file: Python writes the former into a pipe
that it keeps open at both ends, and would wait for ever for a worker that has ended without reading it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import Node, NodeResult, train_node
from ebbing.learn.training.schedule import Checkpoint

UNGUARDED_STATUS = 97
"""The exit status of a worker that starts the training itself, because the user's file does so when it is imported."""

EXIT_SECONDS = 10.0
"""Seconds to wait for the exit status of a worker that has ended."""

WORKER_KILLED = (
    "a worker process was killed, perhaps because memory ran out; use fewer workers, so that each has more. "
    "Finished results are stored: the same command continues"
)


class Processes:
    """Trains nodes in local worker processes. Each reads the experiment once, before its first node.

    Args:
        executor: The executor that starts the processes.
        device: The device of the tensors.
    """

    def __init__(self, executor: ProcessPoolExecutor, device: str) -> None:
        self._executor, self._device = executor, device
        self._processes: dict[int, Any] = {}  # the executor forgets those that have ended

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Future:
        try:
            with _interrupts_blocked():
                return self._executor.submit(_train_in_worker, node, parent, checkpoint, self._device)
        except BrokenProcessPool as error:
            raise self._explain(error) from None
        finally:
            self._processes |= dict(self._executor._processes or {})

    def wait(self, futures: list[Future]) -> list[Future]:
        return list(wait(futures, return_when=FIRST_COMPLETED).done)

    def result(self, future: Future) -> NodeResult:
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
def open_processes(experiment: Experiment, workers: int, device: str) -> Iterator[Processes]:
    """Start worker processes, and end them with the context.

    Args:
        experiment: Tasks, architecture and method.
        workers: The number of processes.
        device: The device of the tensors.

    Yields:
        The pool.
    """
    _exit_if_spawned()
    with _written_experiment(experiment) as path:
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(path,))
        pool = Processes(executor, device)
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


def _exit_if_spawned() -> None:
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


@contextmanager
def _written_experiment(experiment: Experiment) -> Iterator[str]:
    """Write the experiment to a temporary file: PyTorch would send it through shared memory, which may be scarce."""
    content = pickle_experiment(experiment)
    try:
        descriptor, path = tempfile.mkstemp(prefix="ebbing-", suffix=".pickle")
    except OSError as error:
        raise _no_room(len(content), error) from None
    try:
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        except OSError as error:
            raise _no_room(len(content), error) from None
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)


def _no_room(size: int, error: OSError) -> OSError:
    found = OSError(
        f"cannot write the {size / 1e6:.1f} MB of the experiment for the workers into {tempfile.gettempdir()} "
        f"({error.strerror}); set TMPDIR to a folder with room, or train in this process with workers=1"
    )
    found.errno = error.errno
    return found


def pickle_experiment(experiment: Experiment, dumps: Any = pickle.dumps) -> bytes:
    """Return an experiment as bytes, or raise an error that says what to do.

    Args:
        experiment: Tasks, architecture and method.
        dumps: The function that pickles.

    Returns:
        The bytes.

    Raises:
        ValueError: If a part cannot be pickled.
    """
    try:
        return dumps(experiment)
    except MemoryError:
        raise
    except Exception as error:  # a custom __reduce__ may raise anything
        raise ValueError(
            f"the experiment cannot be sent to other processes ({type(error).__name__}: {error}); define its classes "
            "at the top of a module, give its data as tensors, arrays or files rather than open files and functions, "
            "or train in this process with workers=1"
        ) from None


# In a worker process

_experiment_file = ""
"""The file with the pickled experiment."""


def _start_worker(path: str) -> None:
    """Initialize a worker process."""
    global _experiment_file  # noqa: PLW0603 (an initializer has no other place for what later calls need)
    _experiment_file = path
    _exit_with_parent()


@lru_cache(maxsize=1)
def _read_experiment() -> Experiment:
    """Read in the first call rather than in the initializer, so that an error becomes the call's result."""
    return unpickle_experiment(Path(_experiment_file).read_bytes())


def unpickle_experiment(content: bytes) -> Experiment:
    """Return a pickled experiment, or raise an error that says why it cannot be imported here.

    Args:
        content: The bytes.

    Returns:
        The experiment.

    Raises:
        ValueError: If a module or a class of it cannot be imported.
    """
    try:
        return pickle.loads(content)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"a worker cannot import a part of the experiment ({error}); define its classes at the top of a module "
            "that workers can import, not in a notebook or under `if __name__`, or train in this process with workers=1"
        ) from None


def _train_in_worker(node: Node, parent: bytes | None, checkpoint: Checkpoint, device: str) -> NodeResult:
    try:
        return train_node(_read_experiment(), node, parent, checkpoint=checkpoint, device=device)
    except Exception as error:
        raise _sendable(error) from None


def _sendable(error: Exception) -> Exception:
    """Return an error that arrives in the other process: one that cannot be unpickled would end the whole pool."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _exit_with_parent() -> None:
    """Exit when the parent process is killed, instead of waiting for work forever."""
    parent = multiprocessing.parent_process()

    def wait_for_parent() -> None:
        if parent is not None:
            parent.join()
        with suppress(OSError):
            os.unlink(_experiment_file)  # a killed parent could not
        os._exit(1)

    threading.Thread(target=wait_for_parent, daemon=True).start()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
