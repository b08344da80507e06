"""A real Dask scheduler and two real worker processes, one of which is killed while it trains."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import distributed
import numpy as np
import pytest
import torch

from ebbing.learn import CustomTasks, Experiment, FiveLayers, Occurrence, Sgd, TaskData, occurrences, prefix_tree
from ebbing.runs import Store, _dask, execute

LOCAL = Path(__file__).parent
TIMEOUT = 120  # seconds; nothing here takes a tenth of it


@dataclass(frozen=True)
class Toy:
    """Twenty random images with random labels per occurrence. A worker that must stop writes a file and waits."""

    fingerprint: str = "toy"

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        folder = os.environ.get("STOP_WHEN_TOLD_IN")
        if folder and Path(folder, "stop").exists():
            Path(folder, "stopped").touch()
            time.sleep(TIMEOUT)
        if occurrence.task == "impossible":
            raise ValueError("no such task: impossible")
        random = np.random.default_rng([seed, *occurrence.task.encode(), occurrence.index])
        images = torch.from_numpy(random.random((2, 20, 1, 28, 28), np.float32))
        labels = torch.from_numpy(random.integers(0, 2, (2, 20, 1)).astype(np.float32))
        return TaskData(images[0], labels[0], images[1], labels[1])


@dataclass(frozen=True)
class Locked(Toy):
    """Tasks with something that cannot be pickled."""

    def __post_init__(self):
        object.__setattr__(self, "lock", threading.Lock())


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Workers import this file by its plain name."""
    monkeypatch.setitem(sys.modules, "test_cluster", sys.modules[__name__])
    monkeypatch.setattr(Toy, "__module__", "test_cluster")


TRAINING = Experiment(Toy(), FiveLayers(widths=(2, 3, 4, 5)), Sgd(epochs=2, batch_size=8))
SEQUENCES = [("a", "b", "a"), ("a", "b", "c"), ("a", "c"), ("b", "a"), ("b", "b"), ("c", "c", "a")]
NODES = [node for seed in range(2) for node in prefix_tree(SEQUENCES, seed)]


@contextmanager
def dask(what, *arguments, folder, **environment):
    """`dask scheduler` or `dask worker`, killed at the end whatever happens."""
    command = [sys.executable, "-m", "dask", what, *arguments, "--no-dashboard"]
    log = folder / f"{what}-{time.monotonic_ns()}.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(LOCAL), *sys.path])} | environment,
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
def scheduler(folder):
    """A scheduler without workers: its address and process."""
    file = folder / "scheduler.json"
    arguments = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    with dask("scheduler", *arguments, folder=folder) as process:
        yield wait_for(lambda: file.exists() and json.loads(file.read_text() or "{}").get("address")), process


def worker(address, folder, threads=1, **environment):
    options = ["--nworkers", "1", "--nthreads", str(threads), "--memory-limit", "0"]
    options += ["--no-nanny", "--host", "127.0.0.1"]  # no nanny: a killed worker does not come back
    return dask("worker", address, *options, folder=folder, **environment)


@contextmanager
def cluster(folder, *workers, threads=1):
    """A scheduler and its workers, one for each dictionary of environment variables: address, worker processes."""
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(folder))
        processes = [stack.enter_context(worker(address, folder, threads, **environment)) for environment in workers]
        with distributed.Client(address, timeout=TIMEOUT) as client:
            client.wait_for_workers(len(processes), timeout=TIMEOUT)
        yield address, processes


def wait_for(value):
    deadline = time.monotonic() + TIMEOUT
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
    """The same in this process: its store, test errors and training errors."""
    store = Store(tmp_path_factory.mktemp("whole"))
    return store, *execute(TRAINING, NODES, store)


def test_cluster_that_loses_a_worker_gives_the_same_bits(whole, tmp_path, monkeypatch):
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
            patch.setattr(Sgd, "learn", None)  # in this process only
            result = execute(TRAINING, NODES, store, cluster=address, progress=progress)
        killer.join()
        assert victim.wait(TIMEOUT) == -signal.SIGKILL
        assert result == whole[1:]
        assert files(store) == files(whole[0])
        assert seen == pytest.approx([i / len(NODES) for i in range(len(NODES) + 1)])

        assert_unknown_modules_are_named(address, tmp_path)

        # The cluster continues: an error in a worker is raised here, and finished results are kept.
        with pytest.raises(ValueError, match="no such task: impossible"):
            execute(TRAINING, [*prefix_tree([("d",)], 0), *prefix_tree([("impossible",)], 1)], store, cluster=address)
        nodes = prefix_tree([("d", "e")], 0)
        errors, _ = execute(TRAINING, nodes, store, cluster=address)
        assert execute(TRAINING, nodes, Store(tmp_path / "alone"))[0] == errors
        assert set(errors) == {(0, occurrences("de")[:t]) for t in range(3)}


def assert_unknown_modules_are_named(address, folder):
    """A module of the user that is not installed on the workers; and a class that cannot be sent."""
    module = types.ModuleType("not_installed")
    exec("class Mine(Toy): pass", {"Toy": Toy, "__name__": "not_installed"}, vars(module))
    vars(module)["Mine"].__module__ = "not_installed"
    nodes, store = prefix_tree([("a",)], 0), Store(folder / "unknown")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "not_installed", module)
        with pytest.raises(ValueError, match=r"a worker cannot import a part of the experiment \(No module named"):
            execute(replace(TRAINING, tasks=vars(module)["Mine"]()), nodes, store, cluster=address)
    with pytest.raises(ValueError, match=r"cannot be sent to other processes \(TypeError: .*lock"):
        execute(replace(TRAINING, tasks=Locked()), nodes, store, cluster=address)


def test_worker_with_several_threads_gives_the_same_bits(whole, tmp_path):
    """As Dask starts them by default. Several seeds: see unit/learn/networks/test_five_layers.py."""
    nodes, store = prefix_tree(SEQUENCES, seed=1), Store(tmp_path / "runs")
    with cluster(tmp_path, {}, threads=4) as (address, _):
        errors, training_errors = execute(TRAINING, nodes, store, cluster=address)
        assert_own_data_travels(address, tmp_path)
    assert errors == {(seed, path): row for (seed, path), row in whole[1].items() if seed == 1}
    assert training_errors == {(seed, path): error for (seed, path), error in whole[2].items() if seed == 1}
    assert files(store).items() <= files(whole[0]).items()
    assert len(list(store.entries())) == len(nodes)


def assert_own_data_travels(address, folder):
    """Data so large that Dask would warn."""
    images = torch.rand(4000, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    labels = (images.mean(dim=(1, 2, 3)) > 0.5).float()[:, None]
    data = {"mine": (images, labels)}
    tasks = CustomTasks(train=data, test={"mine": (images[:20], labels[:20])}, train_size=20)
    assert images.nbytes > 12e6
    experiment, nodes = Experiment(tasks, TRAINING.architecture, TRAINING.method), prefix_tree([("mine", "mine")], 0)
    there = execute(experiment, nodes, Store(folder / "there"), cluster=address)
    assert there == execute(experiment, nodes, Store(folder / "here"))
    assert files(Store(folder / "there")) == files(Store(folder / "here"))


def test_scheduler_without_workers_warns_once(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(_dask, "CHECK_SECONDS", 0.2)
    nodes, store = prefix_tree(SEQUENCES, seed=0), Store(tmp_path / "runs")
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(tmp_path))
        caught = stack.enter_context(pytest.warns(UserWarning, match="no workers"))

        def help_out():
            wait_for(lambda: len(caught) > 0)
            time.sleep(1)  # time for a second warning
            stack.enter_context(worker(address, tmp_path))

        helper = threading.Thread(target=help_out)
        helper.start()
        errors, _ = execute(TRAINING, nodes, store, cluster=address)
        helper.join()
    assert [str(warning.message) for warning in caught] == [
        f"no workers at {address} yet; start one with `dask worker {address}`. Waiting for it, for 24 hours at most"
    ]
    assert errors == {(seed, path): row for (seed, path), row in whole[1].items() if seed == 0}


def report_error(address: str, victim: str = "0", how: str = "SIGKILL") -> None:
    """Print the error, with a timeout of two seconds; send the process `victim` a signal halfway."""
    _dask.CONNECT_SECONDS, _dask.CHECK_SECONDS = 2.0, 1.0

    def progress(done: float) -> None:
        if int(victim) and done >= 0.5:
            _dask.SILENCE_SECONDS = 3.0  # not before: the scheduler is silent while it imports PyTorch
            with suppress(ProcessLookupError):
                os.kill(int(victim), signal.Signals[how])

    try:
        execute(TRAINING, NODES, Store("runs"), cluster=address, progress=progress)
    except (OSError, ValueError) as error:
        print(error, flush=True)
    os._exit(0)  # a client that could not connect exits slowly


def reported(folder, *arguments):
    """What `report_error` prints in a separate process: a client without a scheduler leaves a broken event loop."""
    return run_program(folder, "import sys, test_cluster; test_cluster.report_error(*sys.argv[1:])", *arguments)


def run_program(folder, program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(LOCAL), *sys.path])},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    ).stdout


# One process imports PyTorch and Dask for all addresses; what is said of each goes into a file.
FORKS = """
import os, sys, test_cluster
for k, address in enumerate(sys.argv[1:]):
    if os.fork() == 0:
        sys.stdout = open(f"{k}.txt", "w")
        test_cluster.report_error(address)
for _ in sys.argv[1:]:
    os.wait()
"""


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """A folder, and by the kind of an address without a scheduler: the address, and what `report_error` prints."""
    folder = tmp_path_factory.mktemp("refused")
    with socket.socket() as closed, socket.socket() as silent:
        closed.bind(("127.0.0.1", 0))  # bound, but not listening
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # accepts connections, and never answers
        ports = {"closed": closed.getsockname()[1], "silent": silent.getsockname()[1]}
        addresses = {"nonsense": "nonsense"} | {kind: f"tcp://127.0.0.1:{port}" for kind, port in ports.items()}
        run_program(folder, FORKS, *addresses.values())
    said = [(folder / f"{k}.txt").read_text() for k in range(len(addresses))]
    return folder, dict(zip(addresses, zip(addresses.values(), said, strict=True), strict=True))


@pytest.mark.parametrize("kind", ["nonsense", "closed"])
def test_address_without_a_scheduler_raises(refused, kind):
    folder, found = refused
    address, said = found[kind]
    assert address in said
    assert "connect" in said or "address" in said
    assert not list((folder / "runs").rglob("*"))


def test_silent_scheduler_raises(refused):
    address, said = refused[1]["silent"]
    assert said.startswith(f"cluster={address!r}: cannot connect to a Dask scheduler (")


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP"])
def test_lost_scheduler_keeps_finished_results(whole, tmp_path, how):
    """Killed, or silent with its connections open, as behind a network that has failed."""
    with scheduler(tmp_path) as (address, process), worker(address, tmp_path):
        said = reported(tmp_path, address, str(process.pid), how)
    assert said == (
        f"the connection to the Dask scheduler at {address} is lost; start it again, and the same command continues\n"
    )
    store = Store(tmp_path / "runs")
    assert len(NODES) / 2 <= len(list(store.entries())) < len(NODES)
    assert files(store).items() <= files(whole[0]).items()
