"""Who computes: this process, local worker processes, or a Dask cluster. The result is the same, to the bit.

A node needs its parent's weights and nothing else. Finished nodes are stored by the caller's process as they come in,
so that an interruption at any moment (Ctrl-C, kill -9, a lost worker) costs only what was under way.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from ebbing.learn.sequences import Node, Outcome, Training, train
from ebbing.learn.tasks import Lesson
from ebbing.runs.store import Entry, Store

Path = tuple[Lesson, ...]
Errors = dict[tuple[int, Path], dict[str, float]]
Progress = Callable[[float], None]


def execute(
    training: Training,
    nodes: list[Node],
    store: Store,
    *,
    workers: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> tuple[Errors, dict[tuple[int, Path], float | None]]:
    """Errors and fit of every node: from the store where they are there, else trained and stored.

    workers: 1 trains in this process, more in that many others. cluster: address of a Dask scheduler.
    """
    return _Execution(training, nodes, store, progress).run(workers, cluster)


class _Execution:
    def __init__(self, training: Training, nodes: list[Node], store: Store, progress: Progress | None) -> None:
        self.training, self.store, self.progress = training, store, progress
        self.nodes = _joined(nodes)
        self.settings = training.describe()
        self.keys = {place: node.key(self.settings) for place, node in self.nodes.items()}
        self.errors: Errors = {}
        self.fits: dict[tuple[int, Path], float | None] = {}
        self.weights: dict[tuple[int, Path], bytes] = {}
        self.todo: dict[tuple[int, Path], Node] = {}
        self.known: dict[tuple[int, Path], Entry] = {}  # entries of nodes to do: what they have is not to be lost
        self._look_up()

    def _look_up(self) -> None:
        """What is stored and of use; children first, as a node without work to do below it needs no weights."""
        parents: set[tuple[int, Path | None]] = set()
        for place in reversed(list(self.nodes)):
            node, entry = self.nodes[place], self.store.get(self.keys[place])
            complete = entry is not None and all(str(lesson) in entry.errors for lesson in node.tested)
            needed = place in parents
            weights = self.store.weights(entry) if complete and needed and entry else None
            if not complete or entry is None or (needed and weights is None):
                self.todo[place] = node
                parents.add((node.seed, node.parent))
                if entry is not None:
                    self.known[place] = entry
                continue
            self.errors[place], self.fits[place] = entry.errors, entry.fit
            if weights is not None:
                self.weights[place] = weights
        self.todo = dict(reversed(self.todo.items()))  # parents first

    def run(self, workers: int, cluster: str | None) -> tuple[Errors, dict[tuple[int, Path], float | None]]:
        self._report()
        if self.todo:
            with _pool(workers, cluster) as pool:
                self._work(pool)
        return self.errors, self.fits

    def _work(self, pool: _Pool) -> None:
        """Keep every ready node submitted; take results as they come."""
        waiting, running = dict(self.todo), {}
        while waiting or running:
            for place in [place for place in waiting if self._ready(place)]:
                node = waiting.pop(place)
                parent = self.weights.get((node.seed, node.path[:-1])) if node.path else None
                running[pool.submit(train, self.training, node, parent)] = place
            for future in pool.wait(list(running)):
                self._take(running.pop(future), future.result())

    def _ready(self, place: tuple[int, Path]) -> bool:
        seed, path = place
        return not path or (seed, path[:-1]) in self.weights

    def _take(self, place: tuple[int, Path], outcome: Outcome) -> None:
        node = self.todo.pop(place)
        about = self.settings | {"seed": node.seed, "path": [str(lesson) for lesson in node.path]}
        known = self.known.pop(place, None)
        had_children = known is not None and known.weights_checksum is not None
        kept = outcome.weights if node.has_children or had_children else None
        errors = outcome.errors if known is None else known.errors | outcome.errors
        self.store.put(self.keys[place], errors, outcome.fit, about, kept)
        self.errors[place], self.fits[place] = outcome.errors, outcome.fit
        if kept is not None:
            self.weights[place] = kept
        self._report()

    def _report(self) -> None:
        if self.progress and self.nodes:
            self.progress(1 - len(self.todo) / len(self.nodes))


def _joined(nodes: list[Node]) -> dict[tuple[int, Path], Node]:
    """Each node once, with all that is asked of it, parents first."""
    joined: dict[tuple[int, Path], Node] = {}
    for node in sorted(nodes, key=lambda node: len(node.path)):
        place = (node.seed, node.path)
        if node.path and (node.seed, node.path[:-1]) not in joined:
            raise ValueError(
                f"node {' '.join(map(str, node.path))} without its parent: give every prefix, as `tree` does"
            )
        other = joined.get(place, node)
        tested = tuple(sorted({*other.tested, *node.tested}))
        joined[place] = replace(node, tested=tested, has_children=other.has_children or node.has_children)
        if node.path:
            parent = (node.seed, node.path[:-1])
            joined[parent] = replace(joined[parent], has_children=True)
    return joined


class _Pool(Protocol):
    """Something that calls functions and says when some are done."""

    def submit(self, function: Callable[..., Outcome], *arguments: Any) -> Any:
        """A future of the call."""
        ...

    def wait(self, futures: list[Any]) -> list[Any]:
        """Those of the futures that are done, at least one."""
        ...


class _Here:
    """This process, one call at a time; the latest first, so that few weights are waiting."""

    def __init__(self) -> None:
        self._calls: list[tuple[Future, Callable[..., Outcome], tuple[Any, ...]]] = []

    def submit(self, function: Callable[..., Outcome], *arguments: Any) -> Future:
        self._calls.append((Future(), function, arguments))
        return self._calls[-1][0]

    def wait(self, futures: list[Future]) -> list[Future]:
        future, function, arguments = self._calls.pop()
        future.set_result(function(*arguments))
        return [future]


class _Processes:
    """Local worker processes."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, function: Callable[..., Outcome], *arguments: Any) -> Future:
        return self._pool.submit(function, *arguments)

    def wait(self, futures: list[Future]) -> list[Future]:
        return list(wait(futures, return_when=FIRST_COMPLETED).done)


class _Dask:
    """A Dask cluster, which trains again elsewhere what a lost worker had."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, function: Callable[..., Outcome], *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False, retries=3)

    def wait(self, futures: list[Any]) -> list[Any]:
        import distributed

        done: Any = distributed.wait(futures, return_when="FIRST_COMPLETED")
        return list(done.done)


@contextmanager
def _pool(workers: int, cluster: str | None) -> Iterator[_Pool]:
    if cluster is not None:
        from distributed import Client

        _reach(cluster)
        with Client(cluster, timeout="20s") as client:
            yield _Dask(client)
    elif workers == 1:
        yield _Here()
    else:
        # Fresh processes: forking one in which PyTorch has started its threads may hang.
        pool = ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_caller
        )
        try:
            yield _Processes(pool)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _end_with_caller() -> None:
    """In a worker process: end when the caller is killed, instead of waiting for work for ever."""
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
