"""Who trains: this process, local worker processes, or a Dask cluster. The result is the same, to the bit."""

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

from ebbing._validate import count
from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import Node, NodeResult, train_node
from ebbing.learn.training._machine import check_device
from ebbing.learn.training.schedule import Checkpoint, ProgressCallback

PATIENCE = 5.0
"""Seconds without a result after which to look whether a cluster has workers at all."""


@dataclass(frozen=True)
class Resources:
    """Who trains, and on what. The result is the same, on a GPU to rounding.

    workers: 1 trains in this process, more in that many others. cluster: address of a Dask scheduler. device: where
    tensors are, "cpu" or "cuda".
    """

    workers: int = 1
    cluster: str | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        count("workers", self.workers)

    def check(self) -> None:
        """A clear error for a device that is not there; those of a cluster are for its workers to know."""
        if self.cluster is None:
            check_device(self.device)


LOCAL = Resources()


class Pool(Protocol):
    """Something that trains nodes and says when some are done. It knows the training: data may be large."""

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Any:
        """A future of the node's outcome. Who shares a disk with the caller may keep unfinished work there."""
        ...

    def wait(self, futures: list[Any]) -> list[Any]:
        """Those of the futures that are done, at least one."""
        ...

    def result(self, future: Any) -> NodeResult:
        """What has come of it; an error in training is raised here."""
        ...


class _Here:
    """This process, one node at a time; the latest first, so that few weights are waiting."""

    def __init__(self, experiment: Experiment, device: str, watch: ProgressCallback | None) -> None:
        self._training, self._device, self._watch = experiment, device, watch
        self._calls: list[tuple[Future, Node, bytes | None, Checkpoint]] = []

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Future:
        self._calls.append((Future(), node, parent, checkpoint))
        return self._calls[-1][0]

    def wait(self, futures: list[Future]) -> list[Future]:
        future, node, parent, checkpoint = self._calls.pop()
        future.set_result(
            train_node(self._training, node, parent, checkpoint=checkpoint, watch=self._watch, device=self._device)
        )
        return [future]

    def result(self, future: Future) -> NodeResult:
        return future.result()


_KILLED = (
    "a worker process was killed, perhaps for want of memory; with fewer workers each has more, and what is finished "
    "is stored: the same command goes on"
)


class _Processes:
    """Local worker processes. Each is given the training when it starts."""

    def __init__(self, pool: ProcessPoolExecutor, device: str) -> None:
        self._pool, self._device = pool, device

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Future:
        return self._pool.submit(_train_given, node, parent, checkpoint, self._device)

    def wait(self, futures: list[Future]) -> list[Future]:
        return list(wait(futures, return_when=FIRST_COMPLETED).done)

    def result(self, future: Future) -> NodeResult:
        try:
            return future.result()
        except BrokenProcessPool:
            raise ChildProcessError(_KILLED) from None


class _Dask:
    """A Dask cluster, which trains again elsewhere what a lost worker had.

    The training is the result of a task of its own: workers hand it on to each other, and if all that have it are lost,
    the scheduler makes it again.
    """

    def __init__(self, client: Any, experiment: Experiment, device: str) -> None:
        self._client, self._device, self._describe_type = client, device, False
        self._training = self._submit(_itself, experiment)

    def submit(self, node: Node, parent: bytes | None, checkpoint: Checkpoint) -> Any:
        return self._submit(train_node, self._training, node, parent, device=self._device)

    def _submit(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with warnings.catch_warnings():  # data and weights travel with the work, that is the plan
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(function, *arguments, pure=False, retries=3, **named)

    def wait(self, futures: list[Any]) -> list[Any]:
        import distributed

        while True:
            try:
                done: Any = distributed.wait(futures, timeout=PATIENCE, return_when="FIRST_COMPLETED")
                return list(done.done)
            except TimeoutError:
                self._look_for_workers()
            except CancelledError:
                raise self._lost() from None

    def result(self, future: Any) -> NodeResult:
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            return future.result()
        except KilledWorker:
            raise ChildProcessError(_KILLED) from None
        except (CancelledError, CommClosedError):  # results are still with the workers: fetching one may fail as well
            raise self._lost() from None

    def _lost(self) -> ConnectionError:
        return ConnectionError(
            f"the Dask scheduler at {self._client.scheduler.address} is lost; "
            "start it again, and the same command goes on where it was"
        )

    def _look_for_workers(self) -> None:
        """Without any the scheduler waits in silence; say so, once each time that it happens."""
        none = not self._client.scheduler_info()["workers"]
        if none and not self._describe_type:
            address = self._client.scheduler.address
            warnings.warn(
                f"no workers at {address} yet; start one with `dask worker {address}`. Waiting for it", stacklevel=2
            )
        self._describe_type = none


@contextmanager
def pool(experiment: Experiment, resources: Resources, watch: ProgressCallback | None = None) -> Iterator[Pool]:
    """Those who train. Only this process is watched."""
    if resources.cluster is not None:
        from distributed import Client

        _reach(resources.cluster)
        with Client(resources.cluster, timeout="20s") as client:
            yield _Dask(client, experiment, resources.device)
    elif resources.workers == 1:
        yield _Here(experiment, resources.device, watch)
    else:
        # Fresh processes: forking one in which PyTorch has started its threads may hang.
        context = multiprocessing.get_context("spawn")
        processes = ProcessPoolExecutor(resources.workers, context, initializer=_begin, initargs=(_packed(experiment),))
        try:
            yield _Processes(processes, resources.device)
        except BaseException:
            # Python waits for its workers before it ends, and a task may take an hour; checkpoints have what is done.
            for process in list((processes._processes or {}).values()):
                process.terminate()
            raise
        finally:
            processes.shutdown(wait=False, cancel_futures=True)


def _itself(experiment: Experiment) -> Experiment:
    return experiment


def _packed(experiment: Experiment) -> bytes:
    """Bytes, as tensors sent to processes in PyTorch's own way need as much shared memory, which may be scarce."""
    try:
        return pickle.dumps(experiment)
    except (pickle.PicklingError, AttributeError, TypeError) as fault:
        raise ValueError(
            f"the training cannot be sent to other processes ({fault}); "
            "define its classes at the top of a module, or train in this process with workers=1"
        ) from None


_given = b""
"""In a worker process: the training, packed."""


def _begin(experiment: bytes) -> None:
    """In a worker process."""
    global _given  # noqa: PLW0603 (what an initializer leaves for the calls to come has no other place)
    _given = experiment
    _end_with_caller()


@lru_cache(maxsize=1)
def _unpacked() -> Experiment:
    """Not before the first call, whose result an error can be."""
    return pickle.loads(_given)


def _train_given(node: Node, parent: bytes | None, checkpoint: Checkpoint, device: str) -> NodeResult:
    return train_node(_unpacked(), node, parent, checkpoint=checkpoint, device=device)


def _end_with_caller() -> None:
    """End when the caller is killed, instead of waiting for work for ever."""
    caller = multiprocessing.parent_process()

    def watch() -> None:
        if caller is not None:
            caller.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _reach(address: str) -> None:
    """A clear error before Dask's client is made: one that cannot connect leaves a broken loop behind."""
    from distributed.comm.addressing import get_address_host_port

    try:
        socket.create_connection(get_address_host_port(address), timeout=20).close()
    except (OSError, ValueError) as fault:
        raise ConnectionError(
            f"cluster={address!r}: cannot connect to a Dask scheduler ({fault}); "
            "give the address that `dask scheduler` prints, such as tcp://10.0.0.1:8786"
        ) from None
