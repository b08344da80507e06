"""Pools that train nodes: this process, local worker processes, or a Dask cluster. Results are identical to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from ebbing._validate import check_count
from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import Node, NodeResult, train_node
from ebbing.learn.training._machine import check_device
from ebbing.learn.training.schedule import Checkpoint, ProgressCallback


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
        object.__setattr__(self, "workers", check_count("workers", self.workers))
        if self.cluster is not None and not isinstance(self.cluster, str):
            raise ValueError(f"cluster={self.cluster!r}: give the address of a Dask scheduler, a string")

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


@contextmanager
def open_pool(experiment: Experiment, resources: Resources, progress: ProgressCallback | None = None) -> Iterator[Pool]:
    """Start a pool of workers. Only training in this process reports its progress."""
    if resources.cluster is not None:
        from ebbing.runs._dask import open_cluster

        with open_cluster(experiment, resources.cluster, resources.device) as pool:
            yield pool
    elif resources.workers == 1:
        yield _InProcess(experiment, resources.device, progress)
    else:
        from ebbing.runs._processes import open_processes

        with open_processes(experiment, resources.workers, resources.device) as pool:
            yield pool
