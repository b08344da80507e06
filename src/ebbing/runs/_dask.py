"""Training on a Dask cluster. Every wait ends: with a result, or with what happened to the scheduler or the workers."""

from __future__ import annotations

import asyncio
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

from ebbing._warnings import warn
from ebbing._workers import WORKER_KILLED
from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import Node, NodeResult, train_node
from ebbing.learn.training.schedule import Checkpoint
from ebbing.runs._processes import pickle_experiment, unpickle_experiment

CONNECT_SECONDS = 20.0
"""Seconds in which a scheduler must accept a client."""

CHECK_SECONDS = 5.0
"""Seconds without a result after which the cluster is checked."""

SILENCE_SECONDS = 300.0
"""Seconds without an answer after which a scheduler counts as lost: one that imports PyTorch is silent for long."""

NO_WORKERS_SECONDS = 24 * 3600.0
"""Seconds without any worker after which the run ends: jobs of a batch system may queue for many hours."""


class DaskCluster:
    """Trains nodes on a Dask cluster, which repeats elsewhere what a lost worker was training.

    The experiment is the result of a separate Dask task: workers pass it on to each other, and if all workers that
    have it are lost, the scheduler computes it again.

    Args:
        client: A `distributed.Client`.
        experiment: Tasks, architecture and method.
        device: The device of the tensors.
    """

    def __init__(self, client: Any, experiment: Experiment, device: str) -> None:
        self._client, self._device = client, device
        self._answered = time.monotonic()  # when the scheduler answered last
        self._without_workers: float | None = None  # since when the cluster has no workers
        import cloudpickle

        # As bytes, so that Dask need not import its classes on the scheduler, and its errors are those of a task.
        self._experiment = self._submit(unpickle_experiment, pickle_experiment(experiment, cloudpickle.dumps))

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
                done: Any = distributed.wait(futures, timeout=CHECK_SECONDS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                self._check_cluster()
            except CancelledError:
                raise self._connection_lost() from None
            else:
                self._answered, self._without_workers = time.monotonic(), None
                return list(done.done)

    def result(self, future: Any) -> NodeResult:
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        async def fetch() -> NodeResult:
            return await self._client.gather(future, asynchronous=True)

        fetching = asyncio.run_coroutine_threadsafe(fetch(), self._client.loop.asyncio_loop)
        try:
            while True:  # the result is still on a worker: fetching it may fail as well, or take long
                try:
                    return fetching.result(CHECK_SECONDS)
                except TimeoutError:
                    if fetching.done():  # the error of the training itself
                        raise
                    self._check_cluster()
        except KilledWorker:
            raise ChildProcessError(WORKER_KILLED) from None
        except (CancelledError, asyncio.CancelledError, CommClosedError):
            raise self._connection_lost() from None
        finally:
            fetching.cancel()

    def _check_cluster(self) -> None:
        """Raise an error if the scheduler has not answered for long; warn, once each time, if it has no workers."""
        try:
            identity = self._client.sync(self._client.scheduler.identity, callback_timeout=CHECK_SECONDS)
        except (TimeoutError, OSError, RuntimeError):  # silent, closed, or the client is closed
            if time.monotonic() - self._answered > SILENCE_SECONDS:
                raise self._connection_lost() from None
            return
        self._answered = now = time.monotonic()
        if identity["workers"]:
            self._without_workers = None
            return
        address = self._client.scheduler.address
        if self._without_workers is None:
            self._without_workers = now
            warn(
                f"no workers at {address} yet; start one with `dask worker {address}`. "
                f"Waiting for it, for {NO_WORKERS_SECONDS / 3600:g} hours at most"
            )
        elif now - self._without_workers > NO_WORKERS_SECONDS:
            raise ConnectionError(
                f"no workers at {address} for {NO_WORKERS_SECONDS / 3600:g} hours; start one with "
                f"`dask worker {address}`, and the same command continues"
            )

    def _connection_lost(self) -> ConnectionError:
        return ConnectionError(
            f"the connection to the Dask scheduler at {self._client.scheduler.address} is lost; "
            "start it again, and the same command continues"
        )


@contextmanager
def open_cluster(experiment: Experiment, address: str, device: str) -> Iterator[DaskCluster]:
    """Connect to a Dask scheduler for the time of the context.

    Args:
        experiment: Tasks, architecture and method.
        address: The address of the scheduler.
        device: The device of the tensors.

    Yields:
        The pool.

    Raises:
        ConnectionError: If there is no scheduler.
    """
    from distributed import Client

    _check_reachable(address)
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError) as error:  # something listens there, and does not answer
        raise _unreachable(address, error) from None
    try:
        yield DaskCluster(client, experiment, device)
    finally:
        with suppress(TimeoutError, OSError):  # closing says goodbye to a scheduler that may be lost
            client.close(timeout=CHECK_SECONDS)


def _check_reachable(address: str) -> None:
    """Raise an error before Dask's client is created: one that cannot connect waits for ever, or leaves a broken loop.

    A scheduler introduces itself as soon as it is connected; with encryption it waits for the client.
    """
    from distributed.comm.addressing import get_address_host_port, parse_address

    try:
        with socket.create_connection(get_address_host_port(address), timeout=CONNECT_SECONDS) as connection:
            if parse_address(address)[0] == "tcp" and not connection.recv(1):
                raise OSError("the connection was closed")
    except (OSError, ValueError) as error:
        raise _unreachable(address, error) from None


def _unreachable(address: str, error: Exception) -> ConnectionError:
    return ConnectionError(
        f"cluster={address!r}: cannot connect to a Dask scheduler ({error}); "
        "give the address that `dask scheduler` prints, such as tcp://10.0.0.1:8786"
    )
