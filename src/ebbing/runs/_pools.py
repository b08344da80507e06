"""Pools that train nodes: this process, local worker processes, or a Dask cluster. Results are identical to the bit."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from ebbing._validate import check_count
from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import Node, NodeResult, train_node
from ebbing.learn.training._machine import check_device
from ebbing.learn.training.schedule import Checkpoint, ProgressCallback

WORKER_CHECK_SECONDS = 5.0
"""Seconds without a result after which a cluster is checked for workers."""


@dataclass(frozen=True)
class Resources:
    """Where nodes are trained. Results are the same everywhere, on a GPU up to rounding.

    Attributes:
        workers: The number of worker processes; 1 trains in this process.
        cluster: The address of a Dask scheduler, or None.
        device: The device of the tensors, "cpu" or "cuda".

    Raises:
        ValueError: If `workers` is not a positive integer.
    """

    workers: int = 1
    cluster: str | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_count("workers", self.workers)

    def check(self) -> None:
        """Raise a ValueError if the device cannot be used here; devices of a cluster are not checked."""
        if self.cluster is None:
            check_device(self.device)


LOCAL = Resources()
"""This process, on the CPU."""


class Pool(Protocol):
    """A pool of workers that train the nodes of one experiment, which they receive only once: its data may be large."""

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Any:
        """Return a future of the node's result; the checkpoint is used only by workers with access to the file."""
        ...

    def wait(self, futures: list[Any]) -> list[Any]:
        """Wait until at least one future is done, and return those that are."""
        ...

    def result(self, future: Any) -> NodeResult:
        """Return the result of a future, or raise the error of its training."""
        ...


class _InProcess:
    """Trains in this process, one node at a time; the latest first, so that few weights are kept in memory."""

    def __init__(self, experiment: Experiment, device: str, progress: ProgressCallback | None) -> None:
        self._experiment, self._device, self._progress = experiment, device, progress
        self._calls: list[tuple[Future, Node, bytes | None, Checkpoint]] = []

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Future:
        self._calls.append((Future(), node, parent, checkpoint))
        return self._calls[-1][0]

    def wait(self, futures: list[Future]) -> list[Future]:
        future, node, parent, checkpoint = self._calls.pop()
        future.set_result(
            train_node(
                self._experiment, node, parent, checkpoint=checkpoint, progress=self._progress, device=self._device
            )
        )
        return [future]

    def result(self, future: Future) -> NodeResult:
        return future.result()


_WORKER_KILLED = (
    "a worker process was killed, perhaps because memory ran out; use fewer workers, so that each has more. "
    "Finished results are stored: the same command continues"
)


class _Processes:
    """Trains in local worker processes. Each receives the experiment when it starts."""

    def __init__(self, executor: ProcessPoolExecutor, device: str) -> None:
        self._executor, self._device = executor, device

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Future:
        return self._executor.submit(_train_in_worker, node, parent, checkpoint, self._device)

    def wait(self, futures: list[Future]) -> list[Future]:
        return list(wait(futures, return_when=FIRST_COMPLETED).done)

    def result(self, future: Future) -> NodeResult:
        try:
            return future.result()
        except BrokenProcessPool:
            raise ChildProcessError(_WORKER_KILLED) from None


class _Dask:
    """Trains on a Dask cluster, which repeats elsewhere what a lost worker was training.

    The experiment is the result of a separate Dask task: workers pass it on to each other, and if all workers that
    have it are lost, the scheduler computes it again.
    """

    def __init__(self, client: Any, experiment: Experiment, device: str) -> None:
        self._client, self._device, self._warned = client, device, False
        self._experiment = self._submit(_identity, experiment)

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Any:
        return self._submit(train_node, self._experiment, node, parent, device=self._device)

    def _submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():  # data and weights are sent with the task on purpose
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(function, *args, pure=False, retries=3, **kwargs)

    def wait(self, futures: list[Any]) -> list[Any]:
        import distributed

        while True:
            try:
                done: Any = distributed.wait(futures, timeout=WORKER_CHECK_SECONDS, return_when="FIRST_COMPLETED")
                return list(done.done)
            except TimeoutError:
                self._warn_without_workers()
            except CancelledError:
                raise self._connection_lost() from None

    def result(self, future: Any) -> NodeResult:
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            return future.result()
        except KilledWorker:
            raise ChildProcessError(_WORKER_KILLED) from None
        except (CancelledError, CommClosedError):  # results are still on the workers: fetching one may fail as well
            raise self._connection_lost() from None

    def _connection_lost(self) -> ConnectionError:
        return ConnectionError(
            f"the connection to the Dask scheduler at {self._client.scheduler.address} is lost; "
            "start it again, and the same command continues"
        )

    def _warn_without_workers(self) -> None:
        """Warn, once each time that it happens, that the cluster has no workers: the scheduler only waits."""
        no_workers = not self._client.scheduler_info()["workers"]
        if no_workers and not self._warned:
            address = self._client.scheduler.address
            warnings.warn(
                f"no workers at {address} yet; start one with `dask worker {address}`. Waiting for it", stacklevel=2
            )
        self._warned = no_workers


@contextmanager
def open_pool(experiment: Experiment, resources: Resources, progress: ProgressCallback | None = None) -> Iterator[Pool]:
    """Start a pool of workers. Only training in this process reports its progress."""
    if resources.cluster is not None:
        from distributed import Client

        _check_reachable(resources.cluster)
        with Client(resources.cluster, timeout="20s") as client:
            yield _Dask(client, experiment, resources.device)
    elif resources.workers == 1:
        yield _InProcess(experiment, resources.device, progress)
    else:
        # New processes: forking one in which PyTorch has started threads may hang.
        context = multiprocessing.get_context("spawn")
        pickled = _pickle_experiment(experiment)
        executor = ProcessPoolExecutor(resources.workers, context, initializer=_start_worker, initargs=(pickled,))
        try:
            yield _Processes(executor, resources.device)
        except BaseException:
            # Python waits for its workers before it exits, and a task may take an hour; checkpoints keep the progress.
            for process in list((executor._processes or {}).values()):
                process.terminate()
            raise
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


def _identity(experiment: Experiment) -> Experiment:
    return experiment


def _pickle_experiment(experiment: Experiment) -> bytes:
    """Return bytes: PyTorch would send tensors through shared memory, which may be scarce."""
    try:
        return pickle.dumps(experiment)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"the experiment cannot be sent to other processes ({error}); "
            "define its classes at the top of a module, or train in this process with workers=1"
        ) from None


_pickled_experiment = b""
"""In a worker process: the pickled experiment."""


def _start_worker(pickled: bytes) -> None:
    """Initialize a worker process."""
    global _pickled_experiment  # noqa: PLW0603 (an initializer has no other place for what later calls need)
    _pickled_experiment = pickled
    _exit_with_parent()


@lru_cache(maxsize=1)
def _unpickle_experiment() -> Experiment:
    """Unpickle in the first call rather than in the initializer, so that an error becomes the call's result."""
    return pickle.loads(_pickled_experiment)


def _train_in_worker(node: Node, parent: bytes | None, checkpoint: Checkpoint, device: str) -> NodeResult:
    return train_node(_unpickle_experiment(), node, parent, checkpoint=checkpoint, device=device)


def _exit_with_parent() -> None:
    """Exit when the parent process is killed, instead of waiting for work forever."""
    parent = multiprocessing.parent_process()

    def wait_for_parent() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_parent, daemon=True).start()


def _check_reachable(address: str) -> None:
    """Raise an error before Dask's client is created: one that cannot connect leaves a broken event loop behind."""
    from distributed.comm.addressing import get_address_host_port

    try:
        socket.create_connection(get_address_host_port(address), timeout=20).close()
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"cluster={address!r}: cannot connect to a Dask scheduler ({error}); "
            "give the address that `dask scheduler` prints, such as tcp://10.0.0.1:8786"
        ) from None
