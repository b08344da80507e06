"""A real Dask scheduler and two real worker processes, one of them killed in the middle of its work."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import distributed
import numpy as np
import pytest
import torch

from ebbing.learn import FiveLayers, Lesson, Sample, Sgd, Training, lessons, tree
from ebbing.runs import Store, execute

HERE = Path(__file__).parent
PATIENCE = 120  # seconds; nothing here takes a tenth of it


@dataclass(frozen=True)
class Toy:
    """Twenty random images with random labels per lesson. A worker that is told to stop does, and leaves a sign."""

    identity: str = "toy"

    def sample(self, lesson: Lesson, seed: int) -> Sample:
        folder = os.environ.get("STOP_WHEN_TOLD_IN")
        if folder and Path(folder, "stop").exists():
            Path(folder, "stopped").touch()
            time.sleep(PATIENCE)
        if lesson.task == "impossible":
            raise ValueError("no such task: impossible")
        random = np.random.default_rng([seed, *lesson.task.encode(), lesson.occurrence])
        images = torch.from_numpy(random.random((2, 20, 1, 28, 28), np.float32))
        labels = torch.from_numpy(random.integers(0, 2, (2, 20, 1)).astype(np.float32))
        return Sample(images[0], labels[0], images[1], labels[1])


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Workers know this file by its plain name."""
    monkeypatch.setitem(sys.modules, "test_cluster", sys.modules[__name__])
    monkeypatch.setattr(Toy, "__module__", "test_cluster")


TRAINING = Training(Toy(), FiveLayers(widths=(2, 3, 4, 5)), Sgd(epochs=2, batch_size=8))
SEQUENCES = [("a", "b", "a"), ("a", "b", "c"), ("a", "c"), ("b", "a"), ("b", "b"), ("c", "c", "a")]
NODES = [node for seed in range(2) for node in tree(SEQUENCES, seed)]


@contextmanager
def dask(what, *arguments, folder, **environment):
    """`dask scheduler` or `dask worker`, killed at the end whatever happens."""
    command = [sys.executable, "-m", "dask", what, *arguments, "--no-dashboard"]
    log = folder / f"{what}-{time.monotonic_ns()}.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])} | environment,
            cwd=folder,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    except BaseException:
        print(log.read_text())  # shown by pytest if the test fails
        raise
    finally:
        process.kill()
        process.wait()


@contextmanager
def cluster(folder, *workers, threads=1):
    """A scheduler and its workers, one for each dictionary of environment variables: address, worker processes."""
    with ExitStack() as stack:
        file = folder / "scheduler.json"
        arguments = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        stack.enter_context(dask("scheduler", *arguments, folder=folder))
        address = wait_for(lambda: json.loads(file.read_text())["address"] if file.exists() else None)
        options = ["--nworkers", "1", "--nthreads", str(threads), "--memory-limit", "0"]
        options += ["--no-nanny", "--host", "127.0.0.1"]  # no nanny: a killed worker does not come back
        processes = [
            stack.enter_context(dask("worker", address, *options, folder=folder, **environment))
            for environment in workers
        ]
        with distributed.Client(address, timeout=PATIENCE) as client:
            client.wait_for_workers(len(processes), timeout=PATIENCE)
        yield address, processes


def wait_for(value):
    deadline = time.monotonic() + PATIENCE
    while not (found := value()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def files(store):
    """Every file with its bytes."""
    paths = (path for path in store.folder.rglob("*") if path.is_file())
    return {path.relative_to(store.folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same in this process: its store, errors and fits."""
    store = Store(tmp_path_factory.mktemp("whole"))
    return store, *execute(TRAINING, NODES, store)


def test_a_cluster_that_loses_a_worker_gives_the_same_bits(whole, tmp_path, monkeypatch):
    seen = []
    with cluster(tmp_path, {}, {"STOP_WHEN_TOLD_IN": str(tmp_path)}) as (address, (_, victim)):

        def progress(done):
            seen.append(done)
            if done > 0.3:
                (tmp_path / "stop").touch()

        def kill():
            wait_for((tmp_path / "stopped").exists)  # in the middle of a node
            victim.send_signal(signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        store = Store(tmp_path / "runs")
        with monkeypatch.context() as patch:
            patch.setattr(Sgd, "learn", None)  # here; workers have their own
            result = execute(TRAINING, NODES, store, cluster=address, progress=progress)
        killer.join()
        assert victim.wait(PATIENCE) == -signal.SIGKILL
        assert result == whole[1:]
        assert files(store) == files(whole[0])
        assert seen == pytest.approx([i / len(NODES) for i in range(len(NODES) + 1)])

        # The cluster goes on: an error in a worker is the caller's, and what was done before it is kept.
        with pytest.raises(ValueError, match="no such task: impossible"):
            execute(TRAINING, [*tree([("d",)], 0), *tree([("impossible",)], 1)], store, cluster=address)
        nodes = tree([("d", "e")], 0)
        errors, _ = execute(TRAINING, nodes, store, cluster=address)
        assert execute(TRAINING, nodes, Store(tmp_path / "alone"))[0] == errors
        assert set(errors) == {(0, lessons("de")[:t]) for t in range(3)}


def test_a_worker_with_several_threads_gives_the_same_bits(whole, tmp_path):
    """As Dask starts them by default. One seed: see the initial networks of several in tests/unit/test_learn.py."""
    nodes, store = tree(SEQUENCES, seed=1), Store(tmp_path / "runs")
    with cluster(tmp_path, {}, threads=4) as (address, _):
        errors, fits = execute(TRAINING, nodes, store, cluster=address)
    assert errors == {(seed, path): row for (seed, path), row in whole[1].items() if seed == 1}
    assert fits == {(seed, path): fit for (seed, path), fit in whole[2].items() if seed == 1}
    assert files(store).items() <= files(whole[0]).items()
    assert len(list(store.entries())) == len(nodes)


def report_error(address: str) -> None:
    """Print what happens; a second will do to find out that nobody answers."""
    real = distributed.Client
    distributed.Client = lambda address, **_: real(address, timeout="1s")
    try:
        execute(TRAINING, NODES, Store("runs"), cluster=address)
    except (OSError, ValueError) as error:
        print(error, flush=True)
    os._exit(0)  # a client that could not connect takes its time to go


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:{}"])
def test_an_address_without_a_scheduler(tmp_path, address):
    """In another process, as a client that could not connect leaves this one in disorder."""
    program = "import sys, test_cluster; test_cluster.report_error(sys.argv[1])"
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # ours, and we do not listen
        address = address.format(bound.getsockname()[1])
        finished = subprocess.run(
            [sys.executable, "-c", program, address],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
    assert address in finished.stdout
    assert "connect" in finished.stdout or "address" in finished.stdout
    assert not (tmp_path / "runs").exists()
