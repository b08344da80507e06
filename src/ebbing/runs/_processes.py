"""Training in worker processes on this machine.

The experiment is in a file: what a worker is given when it starts is to be small (`open_workers`).
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from ebbing._workers import Workers, exit_if_spawned, exit_with_parent, open_workers
from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import Node, NodeResult, train_node
from ebbing.learn.training.schedule import Checkpoint


class Processes:
    """Trains nodes in local worker processes. Each reads the experiment once, before its first node.

    Args:
        workers: The processes.
        device: The device of the tensors.
    """

    def __init__(self, workers: Workers, device: str) -> None:
        self._workers, self._device = workers, device

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Future:
        return self._workers.call(_train, node, parent, checkpoint, self._device)

    def wait(self, futures: list[Future]) -> list[Future]:
        return self._workers.wait(futures)

    def result(self, future: Future) -> NodeResult:
        return self._workers.result(future)


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
    exit_if_spawned()  # before anything is written
    with _written_experiment(experiment) as path, open_workers(workers, _start_worker, (path,)) as pool:
        yield Processes(pool, device)


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
    exit_with_parent(_remove_experiment)


def _remove_experiment() -> None:
    with suppress(OSError):
        os.unlink(_experiment_file)


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


def _train(node: Node, parent: bytes | None, checkpoint: Checkpoint, device: str) -> NodeResult:
    return train_node(_read_experiment(), node, parent, checkpoint=checkpoint, device=device)
