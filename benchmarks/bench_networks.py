"""Training networks: prefix trees against the reference, arithmetic against sgemm, the cost of storing, Dask.

Run alone: python benchmarks/bench_networks.py. It needs two cores with nothing else on them, and takes about 4 minutes.
Figure 2 is trained at a twentieth of its epochs and test images, so that training and testing keep their proportion.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.profiler import profile

from ebbing.learn import (
    DigitTasks,
    Experiment,
    FiveLayers,
    Occurrence,
    Sgd,
    TaskData,
    error_matrix,
    occurrences,
    prefix_tree,
    train_node,
    train_reference,
)
from ebbing.learn.training._machine import single_thread
from ebbing.paper import fig2
from ebbing.runs import Store, execute
from harness import Row, at_least, at_most, markdown, seconds

SCALE = 20
SMALL = Experiment(DigitTasks(test_images=1000 // SCALE), FiveLayers(), Sgd(epochs=600 // SCALE))
TINY = Experiment(DigitTasks(test_images=10), FiveLayers(), Sgd(epochs=1))


@dataclass(frozen=True)
class LayerByLayer:
    """The network computed layer by layer."""

    def build(self, seed: int) -> nn.Module:
        return FiveLayers().build_reference(seed)


def engine_against_plain_loop(folder: Path) -> list[Row]:
    sequences, threads = fig2.sequences(), torch.get_num_threads()
    nodes, store = prefix_tree(sequences, seed=0), Store(folder / "runs")
    errors, _ = execute(
        SMALL, prefix_tree(sequences[:1], seed=1), Store(folder / "reading")
    )  # reads MNIST in this process
    start = once(
        lambda: execute(TINY, prefix_tree([("0",), ("1",), ("2",)], seed=0), Store(folder / "start"), workers=2)
    )
    ours = once(lambda: execute(SMALL, nodes, store, workers=2)) - start
    errors, _ = execute(SMALL, nodes, store)
    for panel in ("b", "c", "d"):
        sequence = fig2.SETUPS[panel]["forgetting_0"][1]
        rows = {occurrences(sequence)[:t]: errors[0, occurrences(sequence)[:t]] for t in range(len(sequence) + 1)}
        with single_thread():
            matrix, _ = train_reference(SMALL, sequence, seed=0)
        assert (error_matrix(sequence, rows) == matrix).all(), f"engine and plain loop differ: {sequence}"
    reference = Experiment(SMALL.tasks, LayerByLayer(), SMALL.method)
    plain = once(lambda: [train_reference(reference, sequence, seed=0) for sequence in sequences])
    fused = once(lambda: [train_reference(SMALL, sequence, seed=0) for sequence in sequences])
    what = f"Figure 2 at 1/{SCALE} scale: plain loop, plain network, {threads} threads, against two worker processes"
    return [
        at_least(f"{what} (their start, {start:.1f} s, left out)", plain / ours, 1.8),
        Row("the same, start included", f"{plain / (ours + start):.2f}x", "-", True),
        Row("the same, start left out, if the plain loop has the fused network", f"{fused / ours:.2f}x", "-", True),
        *storing_and_resuming(folder, store, ours * SCALE),
    ]


def storing_and_resuming(folder: Path, store: Store, paper: float) -> list[Row]:
    """Storing and resuming, relative to the time of one seed at the paper's epochs: the time above, scaled up."""
    entries = [(entry, store.weights(entry)) for entry in store.entries()]
    nodes = prefix_tree(fig2.sequences(), seed=0)
    assert len(entries) == len(nodes)

    def put() -> None:
        with tempfile.TemporaryDirectory(dir=folder) as fresh:
            for entry, weights in entries:
                Store(fresh).put(entry.key, entry.errors, entry.training_error, entry.about, weights)

    storing = seconds(put, repeat=3)
    resuming = seconds(lambda: execute(SMALL, nodes, store), repeat=5)
    shown = f"{len(nodes)} results of Figure 2"
    return [
        at_most(f"storing the {shown} ({storing:.2f} s), of their training", 100 * storing / paper, 5, "%"),
        at_most(f"finding the {shown} again ({resuming:.2f} s), of their training", 100 * resuming / paper, 5, "%"),
    ]


def arithmetic_against_sgemm() -> list[Row]:
    """Multiplications and additions of a reference step per second on one thread, against a matrix product."""
    architecture = FiveLayers()
    task_data, test = task(200), task(1000)
    network, plain = architecture.build(0), architecture.build_reference(0)
    A, B, C = torch.rand(2048, 2048), torch.rand(2048, 2048), torch.empty(2048, 2048)
    with single_thread():
        for one in (network, plain):
            Sgd(epochs=20).learn(one, task_data, torch.Generator())
        apart = max(
            float((a - b).detach().abs().max()) for a, b in zip(network.parameters(), plain.parameters(), strict=True)
        )
        assert apart < 1e-5, f"the fused network and the plain one differ by {apart:.1e} after 20 steps"
        with torch.no_grad():
            network(test.train_inputs)  # as between tasks: from now on the C library keeps the memory of steps
        times = [
            (
                of_this_thread(lambda: torch.mm(A, B, out=C), 2),
                of_this_thread(lambda: Sgd(epochs=1).learn(network, task_data, torch.Generator()), 20),
                of_this_thread(lambda: Sgd(epochs=1).learn(plain, task_data, torch.Generator()), 5),
            )
            for _ in range(15)
        ]
        gemm, fused, slow = (min(column) for column in zip(*times, strict=True))
        shares = profiled(network, task_data)
    peak = 2 * 2048**3 / gemm
    textbook = sum(flops(architecture, 200).values())
    rate = textbook / fused / peak
    what = f"a step on 200 images, {textbook / 1e6:.0f} MFlop in {fused * 1e3:.1f} ms: rate of one core"
    rows = [
        Row(f"{what}, of sgemm's {peak / 1e9:.0f} GFlop/s", f"{rate:.0%}", "> 40%", rate > 0.4),
        Row("the same, network computed layer by layer", f"{textbook / slow / peak:.0%}", "-", True),
    ]
    for part, share in shares.items():
        work = flops(architecture, 200).get(part, 0)
        speed = f", at {work / (share * fused) / peak:.0%} of sgemm" if work else ""
        rows.append(Row(f"where a step goes: {part}", f"{share:.0%}{speed}", "-", True))
    return rows


def flops(architecture: FiveLayers, images: int) -> dict[str, float]:
    """Of the textbook step, by part; a multiplication and an addition are two.

    Outputs, gradients of weights, and gradients of inputs (but for the first layer's, which nobody needs). Fused, the
    first convolution does 36/25 of it, as 6 x 6 patches are multiplied for 5 x 5 kernels; that is not counted.
    """
    first, second, third, fourth = architecture.widths
    linear = second * 64 * third + third * fourth + fourth
    return {
        "first convolution": 2 * 2 * images * 576 * 25 * first,
        "second convolution": 3 * 2 * images * 64 * 25 * first * second,
        "linear layers": 3 * 2 * images * linear,
    }


def profiled(network: torch.nn.Module, task_data: TaskData) -> dict[str, float]:
    """The share of each part in a step."""
    with profile(record_shapes=True) as watch:
        Sgd(epochs=50).learn(network, task_data, torch.Generator())
    parts = dict.fromkeys(("second convolution", "first convolution", "linear layers", "pooling, ReLU, the rest"), 0.0)
    for event in watch.key_averages(group_by_input_shape=True):
        name, time_ = event.key, event.self_cpu_time_total
        if name in ("aten::mkldnn_convolution", "aten::convolution_backward"):
            inputs = event.input_shapes[1 if name.endswith("backward") else 0]
            parts["first convolution" if inputs[1] == 1 else "second convolution"] += time_
        elif name in ("aten::mm", "aten::addmm"):
            parts["linear layers"] += time_
        else:
            parts["pooling, ReLU, the rest"] += time_
    return {part: spent / sum(parts.values()) for part, spent in parts.items()}


def task(images: int) -> TaskData:
    return DigitTasks(train_images=images, test_images=1).load(Occurrence("0-1-2", 0), seed=0)


def dask_workers(folder: Path) -> list[Row]:
    """Panel (d) at a tenth of its epochs, on one worker and on two. Startup and imports are not timed."""
    experiment = Experiment(DigitTasks(test_images=100), FiveLayers(), Sgd(epochs=60))
    nodes = prefix_tree([sequence for setup in fig2.SETUPS["d"].values() for sequence in setup], seed=0)
    found, spent = [], []
    for workers in (1, 2):
        with cluster(folder, workers) as address:
            store = Store(folder / f"{workers} workers")
            began = time.perf_counter()
            found.append(execute(experiment, nodes, store, cluster=address))
            spent.append(time.perf_counter() - began)
    assert found[0] == found[1], "one worker and two give different results"
    return [at_least(f"two Dask workers against one, {len(nodes) - 1} trainings", spent[0] / spent[1], 1.7)]


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """A scheduler and workers with one thread, each of which has trained a node."""
    from distributed import Client

    with ExitStack() as stack:
        file = folder / f"{workers}.json"
        local = ("--host", "127.0.0.1", "--no-dashboard")
        stack.enter_context(dask("scheduler", *local, "--port", "0", "--scheduler-file", str(file)))
        while not file.exists():
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        options = ("--nworkers", "1", "--nthreads", "1", "--memory-limit", "0", "--no-nanny")
        for _ in range(workers):
            stack.enter_context(dask("worker", address, *local, *options))
        with Client(address, timeout=60) as client:
            client.wait_for_workers(workers, timeout=120)
            client.run(train_node, TINY, prefix_tree([("0",)], seed=0)[1], None)
        yield address


@contextmanager
def dask(*arguments: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def once(work: Callable[[], object]) -> float:
    return seconds(work, repeat=1)


def of_this_thread(work: Callable[[], object], repeat: int) -> float:
    """The fastest of `repeat` calls by the thread's clock, since sgemm takes long enough to be interrupted."""
    best = float("inf")
    for _ in range(repeat):
        began = time.thread_time()
        work()
        best = min(best, time.thread_time() - began)
    return best


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [*arithmetic_against_sgemm(), *engine_against_plain_loop(folder), *dask_workers(folder)]


if __name__ == "__main__":
    print(markdown(run()))
