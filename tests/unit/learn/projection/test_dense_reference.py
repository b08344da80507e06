"""Whole methods against a dense reference that follows their specification."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import torch
from dense_layers import Dense, effective_weight, random
from torch import Tensor, nn
from torch.nn import functional

from ebbing.learn.methods import Gpm, Trgp, TrgpPlus
from ebbing.learn.projection import ProjectionMethod, Threshold
from ebbing.learn.training.schedule import Schedule

pytestmark = pytest.mark.usefixtures("quietly")


@dataclass
class DenseTask:
    """The subspaces, trusted tasks and scale matrices of a task, per layer."""

    spans: list[Tensor]
    trusted: list[list[tuple[Tensor, float]]]
    scalings: list[list[Tensor]]


def dense_first(R, threshold, *, include_crossing):
    U, values, _ = torch.linalg.svd(R, full_matrices=False)
    shares = values**2 / (values**2).sum()
    return U[:, : int((shares.cumsum(0) < threshold).sum()) + include_crossing]


def dense_growth(M, R, threshold, *, greedy):
    """Return the directions that are added to M, and S_t."""
    rest = R - M @ M.T @ R
    U, values, _ = torch.linalg.svd(rest, full_matrices=False)
    total, new = R.square().sum(), []
    if not greedy:
        kept = (M.T @ R).square().sum()
        while kept < threshold * total and len(new) < len(values):
            kept = kept + values[len(new)] ** 2
            new.append(U[:, len(new)])
        added = torch.stack(new, 1) if new else M[:, :0]
        return added, torch.cat([M, added], 1)
    candidates = [(float((m @ R).square().sum()), m, False) for m in M.T]
    candidates += [(float(value**2), u, True) for value, u in zip(values, U.T, strict=True)]
    kept, used = 0.0, []
    for energy, vector, is_new in sorted(candidates, key=lambda candidate: -candidate[0]):
        if kept >= threshold * total:
            break
        kept += energy
        used.append(vector)
        new += [vector] if is_new else []
    return torch.stack(new, 1) if new else M[:, :0], torch.stack(used, 1)


class DenseMethod:
    """A perceptron of dense layers that learns by GPM, TRGP or TRGP+, as in the papers."""

    def __init__(self, weights, method, factors, published):
        self.W, self.method, self.factors, self.published = [w.clone() for w in weights], method, factors, published
        self.M: list[Tensor] = []
        self.learned: list[DenseTask] = []
        self.chosen: list[list[list[int]]] = []

    @staticmethod
    def forward(inputs, weights):
        seen, x = [], inputs
        for number, weight in enumerate(weights):
            seen.append(x)
            x = x @ weight.T
            x = x.relu() if number < len(weights) - 1 else x
        return x, seen

    def learn(self, inputs, labels, generator):
        method, schedule, task = self.method, self.method.schedule, len(self.learned)
        examples = torch.randperm(len(inputs), generator=generator)[: method.num_examples]
        trusted, chosen = self.select_trusted(inputs[examples], labels[examples])
        self.chosen.append(chosen)
        empty = [w.new_zeros(w.shape[1], 0) for w in self.W]
        layers = [Dense(*parts) for parts in zip(self.W, self.M or empty, trusted, strict=True)]
        for _ in range(schedule.epochs):
            for rows in torch.randperm(len(inputs), generator=generator).split(schedule.batch_size):
                outputs, _ = self.forward(inputs[rows], [dense.effective_weight() for dense in layers])
                loss = functional.cross_entropy(outputs, labels[rows])
                gradients = torch.autograd.grad(loss, [value for dense in layers for value in dense.parameters()])
                remaining = iter(gradients)
                with torch.no_grad():
                    for dense in layers:
                        dense.weight.sub_(schedule.learning_rate * next(remaining) @ dense.projector)
                        for Q in dense.scalings:
                            Q.sub_(schedule.learning_rate * next(remaining))
        self.W = [dense.weight.detach() for dense in layers]
        scalings = [[Q.detach() for Q in dense.scalings] for dense in layers]
        self.learned.append(DenseTask([], trusted, scalings))
        measured = self.W if self.published else self.weights(task)
        _, seen = self.forward(inputs[examples], measured)
        for number, x in enumerate(seen):
            threshold = method.threshold.at(number, task)
            if task == 0:
                span = dense_first(x.T, threshold, include_crossing=method.threshold.include_crossing)
                self.M.append(span)
            else:
                new, span = dense_growth(self.M[number], x.T, threshold, greedy=isinstance(method, Trgp))
                self.M[number] = torch.cat([self.M[number], new[:, 1:] if self.published else new], 1)
            self.learned[-1].spans.append(span)

    def select_trusted(self, inputs, labels):
        nothing = [[] for _ in self.W]
        if not self.learned or not isinstance(self.method, Trgp):
            return nothing, nothing
        weights = [w.clone().requires_grad_() for w in self.W]
        gradients = torch.autograd.grad(functional.cross_entropy(self.forward(inputs, weights)[0], labels), weights)
        trusted, chosen = [], []
        for number, G in enumerate(gradients):
            norms = [float((G @ old.spans[number] @ old.spans[number].T).norm()) for old in self.learned]
            best = sorted(range(len(norms)), key=lambda j: -norms[j])[:2]
            best = sorted((j for j in best if norms[j] > self.method.trust_threshold * G.norm()), reverse=True)
            factors = self.factors if len(best) == 2 else [1.0]
            trusted.append([(self.learned[j].spans[number], f) for j, f in zip(best, factors, strict=False)])
            chosen.append(best)
        if self.published and not chosen[0]:
            return nothing, nothing
        return trusted, chosen

    def weights(self, task):
        learned = self.learned[task]
        return [effective_weight(*parts) for parts in zip(self.W, learned.trusted, learned.scalings, strict=True)]


SETTINGS: dict[str, Any] = {
    "schedule": Schedule(0.2, epochs=2, batch_size=8),
    "threshold": Threshold((0.7, 0.8, 0.85), growth=0.01),
    "num_examples": 30,
}
PUBLISHED = SETTINGS | {
    "threshold": Threshold((0.7, 0.8, 0.85), growth=0.01, include_crossing=False),
    "as_published": True,
}
METHODS: list[tuple[ProjectionMethod, tuple[float, float], bool]] = [
    (Gpm(**SETTINGS), (1.0, 1.0), False),
    (Trgp(**SETTINGS, trust_threshold=0.4), (1.0, 1.0), False),
    (TrgpPlus(**SETTINGS, trust_threshold=0.4), (1.2, 0.8), False),
    (Trgp(**PUBLISHED, trust_threshold=0.4), (1.0, 1.0), True),
    (TrgpPlus(**PUBLISHED, trust_threshold=0.4), (1.2, 0.8), True),
]
NAMES = ["gpm", "trgp", "trgp+", "trgp as published", "trgp+ as published"]


def stream(tasks=4, rows=48, size=12):
    """Yield tasks whose inputs are mostly in a few directions, some of them shared with the tasks before."""
    directions = random(size, size, seed=77)
    for task in range(tasks):
        mix = random(rows, size, seed=task) * (0.7 ** ((torch.arange(size) - 3 * task) % size)).double()
        inputs = mix @ directions
        yield inputs, (inputs @ random(size, 3, seed=task + 20)).argmax(1)


@pytest.mark.parametrize(("method", "factors", "published"), METHODS, ids=NAMES)
@pytest.mark.parametrize(
    "shape", [(12, 20, 10, 3), (12, 6, 5, 3)]
)  # batches of 8 are smaller and larger than the outputs
def test_method_equals_its_dense_reference(method, factors, published, shape):
    torch.manual_seed(3)
    linear = [nn.Linear(a, b, bias=False, dtype=torch.float64) for a, b in pairwise(shape)]
    network = nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])
    dense = DenseMethod([module.weight.detach() for module in linear], method, factors, published)
    learner = method.start(network)
    tasks = list(stream())
    for task, (inputs, labels) in enumerate(tasks):
        learner.learn(str(task), (inputs, labels), generator=torch.Generator().manual_seed(task))
        dense.learn(inputs, labels, torch.Generator().manual_seed(task))
        for module, weight in zip(linear, dense.W, strict=True):
            torch.testing.assert_close(module.weight.detach(), weight, rtol=0, atol=1e-9)
        for old, (seen, _) in enumerate(tasks[: task + 1]):
            expected, _ = dense.forward(seen, dense.weights(old))
            torch.testing.assert_close(learner.outputs(str(old), seen), expected, rtol=0, atol=1e-9)
    if isinstance(method, Trgp):  # the comparison covers layers that trust one task, and two
        assert {len(best) for chosen in dense.chosen[1:] for best in chosen} >= {1, 2}


def test_trgp_plus_with_equal_weights_is_trgp():
    states = []
    for method in (
        Trgp(**SETTINGS, trust_threshold=0.4),
        TrgpPlus(**SETTINGS, trust_threshold=0.4, weights=(1.0, 1.0)),
    ):
        torch.manual_seed(3)
        learner = method.start(
            nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 3))
        )
        for task, (inputs, labels) in enumerate(stream()):
            learner.learn(str(task), (inputs.float(), labels))
        states.append(learner.state())
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items() if name != "method")
    assert any(name.endswith("2.change.rows") and len(value) for name, value in states[0].items())
