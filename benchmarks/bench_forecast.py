"""Forecasts: tangent kernel against explicit Jacobians, a forecast against training, large checkpoints, a transformer.

Run alone: python benchmarks/bench_forecast.py (some 10 minutes, 6 GB of disk); with `tiny`, on a small scale that only
shows that it works.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

import ebbing
from ebbing.forecasting import read_task_vectors, tangent_kernel, tangent_kernel_reference
from ebbing.learn import DigitTasks, FiveLayers, Occurrence, Sgd
from ebbing.learn.training._machine import single_thread
from harness import Row, at_least, at_most, markdown, seconds

TASKS = ("0-1-2", "2-3-4-5", "1-7", "0-3-5-8-9")
"""Yes-or-no tasks of the comparison with training; which ones does not matter for its time."""

CHECKPOINTS = 10

PEAK = """
import sys, threading, time
from pathlib import Path
from ebbing.forecasting import read_task_vectors

def memory(field):  # bytes
    return 1024 * int(Path("/proc/self/status").read_text().partition(field + ":")[2].split()[0])

def watch():
    while True:
        seen.append(memory("RssAnon"))
        time.sleep(0.002)

folder, seen = Path(sys.argv[1]), []
files = sorted(folder.glob("task*.safetensors"))
threading.Thread(target=watch, daemon=True).start()
read_task_vectors({file.stem: file for file in files}, base=folder / "base.safetensors")
print(max(seen), memory("VmHWM"))
"""
"""A program that prints its peak memory: its own, and with pages of mapped files, which the system may drop."""


TRANSFORMER = """
import sys, time, resource
import torch
import ebbing
from ebbing.paper.forecasts.networks import SentenceClassifier

tasks, texts, tokens, rank = map(int, sys.argv[1:])
generator = torch.Generator().manual_seed(0)
data = {}
for task in range(tasks):  # which texts does not matter for the time
    ids = torch.randint(1000, 30000, (texts, tokens), generator=generator)
    data[f"task{task}"] = (ids, (ids[:, 0] > 15000).to(torch.int64))
network = SentenceClassifier(rank).build(0)
began = time.monotonic()
found = ebbing.forecast(network, data, train_size=texts * 3 // 4, test_size=texts // 4)
found.best_order()
print(time.monotonic() - began, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
"""A program that forecasts a sentence transformer of 22 million parameters, and prints its time and peak memory."""


@dataclass(frozen=True)
class Scale:
    """How much is computed."""

    images: int = 2000
    task_images: int = 200
    epochs: int = 200
    checkpoint_megabytes: int = 500
    texts: int = 200
    tokens: int = 64


TINY = Scale(images=64, task_images=20, epochs=5, checkpoint_megabytes=50, texts=8, tokens=8)


def kernel_against_jacobians(scale: Scale) -> list[Row]:
    images = DigitTasks(train_images=scale.images, test_images=1).load(Occurrence("0-1-2", 0), seed=0).train_inputs
    network = FiveLayers().build_reference(0)
    ours, plain = tangent_kernel(network, images), tangent_kernel_reference(network, images)
    apart = float(np.abs(ours - plain).max() / np.abs(plain).max())
    assert apart < 1e-5, f"the kernel and that of explicit Jacobians differ by {apart:.1e} of the largest entry"
    ratio = seconds(lambda: tangent_kernel_reference(network, images), repeat=2) / seconds(
        lambda: tangent_kernel(network, images), repeat=3
    )
    what = f"tangent kernel of {scale.images:,} images, five-layer network, against explicit Jacobians"
    return [
        at_least(f"{what} (they differ by {apart:.0e} of the largest entry)", ratio, 10),
    ]


def forecast_against_training(scale: Scale, folder: Path) -> list[Row]:
    size = scale.task_images
    found = {name: DigitTasks(size, size).load(Occurrence(name, 0), seed=0) for name in TASKS}
    tasks = {
        name: {"train": (data.train_inputs, data.train_labels), "test": (data.test_inputs, data.test_labels)}
        for name, data in found.items()
    }
    network = FiveLayers().build(0)
    with single_thread():
        method = Sgd(epochs=scale.epochs)
        training = seconds(lambda: ebbing.measure(network, tasks, method=method, store=folder / "runs"), repeat=1)
        measured = ebbing.measure(network, tasks, method=method, store=folder / "runs")

        def forecast_all() -> None:
            forecast = ebbing.forecast(network, tasks, train_size=size, test_size=size)
            for order in measured.orders:
                forecast.errors(order)

        ratio = training / seconds(forecast_all, repeat=3)
        compared = measured.compare(ebbing.forecast(network, tasks, train_size=size, test_size=size))
    what = f"forecast of all 24 orders, 4 tasks of {size} images, against training them, {scale.epochs} epochs a task"
    return [
        at_least(f"{what}, one thread", ratio, 50),
        Row("rank correlation of that forecast with this one training", f"{compared.rank_correlation:.2f}", "-", True),
    ]


def checkpoints(scale: Scale, folder: Path) -> list[Row]:
    rows = scale.checkpoint_megabytes * 250_000 // (16 * 1024)
    generator = torch.Generator().manual_seed(0)
    base = {f"layer{k}": torch.randn(rows, 1024, generator=generator) for k in range(16)}
    save_file(base, folder / "base.safetensors")
    signs = torch.randn(CHECKPOINTS, 16, generator=generator)  # what a task adds to each layer, times one direction
    for task in range(CHECKPOINTS):
        weights = {name: values + signs[task, k] for k, (name, values) in enumerate(base.items())}
        save_file(weights, folder / f"task{task}.safetensors")
    files = {f"task{k}": folder / f"task{k}.safetensors" for k in range(CHECKPOINTS)}
    vectors = (signs.double() @ signs.double().T).numpy() * rows * 1024
    gram = read_task_vectors(files, base=folder / "base.safetensors").gram
    apart = float(np.abs(gram - vectors).max() / np.abs(vectors).max())
    assert apart < 1e-5, f"inner products of checkpoints are wrong by {apart:.1e}"

    def read() -> None:
        for file in (folder / "base.safetensors", *files.values()):
            with file.open("rb") as stream:
                while stream.read(1 << 24):
                    pass

    def compare() -> None:
        read_task_vectors(files, base=folder / "base.safetensors")

    cached = seconds(compare, repeat=3) / seconds(read, repeat=3)
    from_disk = _seconds_from_disk(compare, folder) / _seconds_from_disk(read, folder)
    done = subprocess.run([sys.executable, "-c", PEAK, str(folder)], capture_output=True, text=True, check=True)
    own, mapped = (float(number) for number in done.stdout.split())
    what = f"{CHECKPOINTS} checkpoints of {scale.checkpoint_megabytes} MB"
    return [
        at_most(f"{what}: peak memory of the process", own / 1e9, 1.5, " GB"),
        Row("the same with pages of the files, which the system may drop", f"{mapped / 1e9:.2g} GB", "-", True),
        at_most(f"{what}: time, of reading the files once from disk", from_disk, 2, "x"),
        at_most("the same, when all files are in the cache of the system", cached, 2, "x"),
    ]


def _seconds_from_disk(work: Callable[[], None], folder: Path) -> float:
    """Time work on files that the system does not have in its cache, at best."""

    def once() -> float:
        for file in folder.glob("*.safetensors"):
            with file.open("rb") as stream:
                os.fsync(stream.fileno())  # pages that are not written yet stay
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return seconds(work, repeat=1)

    return min(once() for _ in range(2))


def transformer(scale: Scale) -> list[Row]:
    rows = []
    for rank, trained in ((0, "all weights"), (8, "LoRA of rank 8")):
        arguments = [str(number) for number in (5, scale.texts, scale.tokens, rank)]
        done = subprocess.run(
            [sys.executable, "-c", TRANSFORMER, *arguments], capture_output=True, text=True, check=True
        )
        minutes, peak = (float(number) for number in done.stdout.split())
        what = f"sentence transformer, {trained}: 5 tasks x {scale.texts} texts of {scale.tokens} tokens, all orders"
        rows.append(at_most(what, minutes / 60, 5, " min"))
        rows.append(at_most("peak memory of that", peak / 1e9, 8, " GB"))
    return rows


def run(scale: Scale | None = None) -> list[Row]:
    scale = scale or Scale()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kernel = kernel_against_jacobians(scale)
        training = forecast_against_training(scale, folder)
        return [*kernel, *training, *checkpoints(scale, folder), *transformer(scale)]


if __name__ == "__main__":
    print(markdown(run(TINY if sys.argv[1:] == ["tiny"] else None)))
