"""A layer in motion, and whole methods, against a dense reference: matrices built, autograd, plain steps.

Everything is in double precision, so that forms which differ only by rounding agree to 1e-11.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing.learn.layers import Layer
from ebbing.learn.leaking import Explicit, Leaking
from ebbing.learn.methods import Gpm, Trgp, TrgpPlus
from ebbing.learn.motion import Change, Moving, Subspace, Trusted, complement
from ebbing.learn.projection import Projection, Threshold
from ebbing.learn.schedule import Schedule

CLOSE = 1e-11
OUT, D, M = 5, 9, 6


pytestmark = pytest.mark.usefixtures("quietly")


# The dense reference


class Dense:
    """W_eff = W + sum_j lambda_j W S_j (Q_j - I) S_j' as a matrix; G (I - M M') with the matrix; momentum by hand."""

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[tuple[Tensor, float]]) -> None:
        self.weight = weight.clone().requires_grad_()
        self.trusted = trusted
        self.scalings = [torch.eye(S.shape[1], dtype=S.dtype, requires_grad=True) for S, _ in trusted]
        self.allowed = torch.eye(basis.shape[0], dtype=basis.dtype) - basis @ basis.T
        self.speeds = [torch.zeros_like(value) for value in self.parameters()]

    def parameters(self) -> list[Tensor]:
        return [self.weight, *self.scalings]

    def effective(self) -> Tensor:
        return effective(self.weight, self.trusted, self.scalings)

    def step(self, loss: Tensor, rate: float, momentum: float = 0.0, scaling_rates: list[float] | None = None) -> None:
        gradients = list(torch.autograd.grad(loss, self.parameters()))
        gradients[0] = gradients[0] @ self.allowed
        rates = [rate, *(scaling_rates or [rate] * len(self.scalings))]
        with torch.no_grad():
            for value, gradient, speed, own in zip(self.parameters(), gradients, self.speeds, rates, strict=True):
                speed.mul_(momentum).add_(gradient)
                value.sub_(own * speed)


def effective(weight: Tensor, trusted: list[tuple[Tensor, float]], scalings: list[Tensor]) -> Tensor:
    total = weight
    for (S, factor), Q in zip(trusted, scalings, strict=True):
        total = total + factor * weight @ S @ (Q - torch.eye(len(Q), dtype=Q.dtype)) @ S.T
    return total


# One layer

SPANS = [[0, 1, 2], [4, 2, 1], [2, 3]]  # column 5 is nobody's: frozen
FACTORS = [1.2, 0.8, 0.5]


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def orthogonal(size, seed=0):
    return torch.linalg.qr(random(size, size, seed=seed)).Q


def layer(tasks, m=M, factors=FACTORS, spans=SPANS):
    """Weights, basis, and trusted tasks as the forms take them and as the reference does."""
    weight, basis = random(OUT, D, seed=1), orthogonal(D, seed=2)[:, :m]
    spans = [[column for column in span if column < m] for span in spans[:tasks]]
    trusted = [
        Trusted(j, Subspace(torch.tensor(span, dtype=torch.long), basis[:, :0]), factor)
        for j, (span, factor) in enumerate(zip(spans, factors[:tasks], strict=True))
    ]
    return weight, basis, trusted, [(basis[:, t.subspace.columns], t.weight) for t in trusted]


def batch(step, rows=4):
    generator = torch.Generator().manual_seed(100 + step)
    inputs = torch.randn(rows, D, dtype=torch.float64, generator=generator)
    return inputs, torch.randint(0, OUT, (rows,), generator=generator)


def by_inputs(form, inputs):
    return form.linear(inputs)


def by_weights(form, inputs):
    return inputs @ form.effective().T


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
@pytest.mark.parametrize("kind", [Moving, Leaking, Explicit])
@pytest.mark.parametrize("tasks", [0, 1, 2, 3])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_every_form_takes_the_steps_of_the_dense_one(apply, kind, tasks, momentum):
    weight, basis, trusted, plainly = layer(tasks)
    form, dense = kind(weight, basis, trusted), Dense(weight, basis, plainly)
    optimizer = torch.optim.SGD(form.parameters(), 0.1, momentum)
    for step in range(6):
        inputs, labels = batch(step)
        functional.cross_entropy(apply(form, inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        dense.step(functional.cross_entropy(inputs @ dense.effective().T, labels), 0.1, momentum)
        torch.testing.assert_close(form.effective(), dense.effective(), rtol=0, atol=CLOSE)
    assert (dense.effective() - weight).abs().max() > 0.01
    shared, change = form.finish()
    torch.testing.assert_close(shared, dense.weight.detach(), rtol=0, atol=CLOSE)
    torch.testing.assert_close(change.apply(shared, basis), dense.effective().detach(), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("kind", [Moving, Leaking, Explicit])
@pytest.mark.parametrize(("m", "tasks"), [(0, 0), (D, 0), (D, 2), (1, 1), (D - 1, 3)])
def test_nothing_protected_and_nothing_free(kind, m, tasks):
    spans = [[0, 1, 2, 6, 8], [7, 1], [2, 3]]
    weight, basis, trusted, plainly = layer(tasks, m, spans=spans)
    form, dense = kind(weight, basis, trusted), Dense(weight, basis, plainly)
    for step in range(4):
        inputs, labels = batch(step)
        loss = functional.cross_entropy(form.linear(inputs), labels)
        gradients = torch.autograd.grad(loss, form.parameters())
        with torch.no_grad():
            for value, gradient in zip(form.parameters(), gradients, strict=True):
                value.sub_(0.1 * gradient)
        dense.step(functional.cross_entropy(inputs @ dense.effective().T, labels), 0.1)
    torch.testing.assert_close(form.effective(), dense.effective(), rtol=0, atol=CLOSE)
    moves = m < D or tasks > 0
    assert bool((form.effective() - weight).abs().max() > 0.01) == moves
    shared, change = form.finish()
    torch.testing.assert_close(change.apply(shared, basis), dense.effective().detach(), rtol=0, atol=CLOSE)
    if m == D:
        torch.testing.assert_close(shared, weight, rtol=0, atol=1e-14)


def with_unprotected(trusted, basis):
    """The same with a direction each that is not protected; these directions."""
    outside = complement(basis)[:, :2] @ orthogonal(2, seed=5)
    spaces = [Subspace(task.subspace.columns, outside[:, [j]]) for j, task in enumerate(trusted)]
    return [Trusted(t.task, space, t.weight) for t, space in zip(trusted, spaces, strict=True)], outside


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
@pytest.mark.parametrize("kind", [Leaking, Explicit])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_directions_that_are_used_but_not_protected(apply, kind, momentum):
    """As the authors' code has them: W moves there, and is scaled there as well."""
    weight, basis, trusted, _ = layer(2)
    trusted, outside = with_unprotected(trusted, basis)
    plainly = [(torch.cat([basis[:, t.subspace.columns], t.subspace.others], dim=1), t.weight) for t in trusted]
    form, dense = kind(weight, basis, trusted), Dense(weight, basis, plainly)
    optimizer = torch.optim.SGD(form.parameters(), 0.1, momentum)
    for step in range(6):
        inputs, labels = batch(step)
        functional.cross_entropy(apply(form, inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        dense.step(functional.cross_entropy(inputs @ dense.effective().T, labels), 0.1, momentum)
    torch.testing.assert_close(form.effective(), dense.effective(), rtol=0, atol=CLOSE)
    shared, change = form.finish()
    assert (shared @ outside - weight @ outside).abs().max() > 0.01
    torch.testing.assert_close(change.apply(shared, basis), dense.effective().detach(), rtol=0, atol=CLOSE)


def test_a_weight_is_the_same_as_its_square_on_the_rate_of_the_scaling():
    """With plain steps from Q = I, lambda multiplies the learning rate of Q by lambda^2."""
    weight, basis, _, plainly = layer(2)
    weighted = Dense(weight, basis, plainly)
    rated = Dense(weight, basis, [(S, 1.0) for S, _ in plainly])
    same = Dense(weight, basis, [(S, 1.0) for S, _ in plainly])
    for step in range(6):
        inputs, labels = batch(step)
        for dense, rates in ((weighted, None), (rated, [0.1 * factor**2 for factor in FACTORS[:2]]), (same, None)):
            dense.step(functional.cross_entropy(inputs @ dense.effective().T, labels), 0.1, scaling_rates=rates)
    torch.testing.assert_close(weighted.effective(), rated.effective(), rtol=0, atol=CLOSE)
    assert (weighted.effective() - same.effective()).abs().max() > 1e-3


@pytest.mark.parametrize("kind", [Moving, Leaking, Explicit])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda values: torch.optim.Adam(values, 0.05, weight_decay=0.1),
        lambda values: torch.optim.AdamW(values, 0.05, weight_decay=0.1),
        lambda values: torch.optim.SGD(values, 0.1, 0.9, weight_decay=0.1, nesterov=True),
    ],
)
def test_what_is_protected_stays_whatever_the_optimizer(kind, optimizer):
    weight, basis, trusted, plainly = layer(2)
    form = kind(weight, basis, trusted)
    frozen = form.frozen.clone()
    steps = optimizer(form.parameters())
    for step in range(6):
        inputs, labels = batch(step)
        functional.cross_entropy(form.linear(inputs), labels).backward()
        steps.step()
        steps.zero_grad()
    assert torch.equal(form.frozen, frozen)
    during = form.effective().detach()
    shared, change = form.finish()
    torch.testing.assert_close(shared @ basis, weight @ basis, rtol=0, atol=1e-13)
    torch.testing.assert_close(change.apply(shared, basis), during, rtol=0, atol=CLOSE)
    torch.testing.assert_close(during @ basis[:, [5]], weight @ basis[:, [5]], rtol=0, atol=1e-13)
    assert (shared - weight).abs().max() > 0.05
    assert all((during @ S - weight @ S).abs().max() > 0.01 for S, _ in plainly)


@pytest.mark.parametrize("kind", [Moving, Leaking, Explicit])
@pytest.mark.parametrize("tasks", [0, 2])
@pytest.mark.parametrize("m", [0, M, D])
def test_gradients_of_inputs_are_those_of_finite_differences(kind, tasks, m):
    weight, basis, trusted, _ = layer(tasks if m else 0, m)
    form = kind(weight, basis, trusted)
    with torch.no_grad():
        for number, value in enumerate(form.parameters()):
            value.add_(0.3 * random(*value.shape, seed=number + 30))
    inputs = random(3, D, seed=8).requires_grad_()
    assert torch.autograd.gradcheck(form.linear, (inputs,), atol=1e-8, rtol=0)
    torch.testing.assert_close(form.linear(inputs), by_weights(form, inputs), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
@pytest.mark.parametrize(("out", "factored"), [(3, False), (40, True)])
def test_the_gradient_of_the_fast_form_is_gained(apply, out, factored):
    """(2): in a column of a trusted subspace lambda^2 K G, K = (W S)(W S)'; as a factor where that is cheaper."""
    basis = orthogonal(D, seed=2)[:, :4]
    weight = random(out, D, seed=1)
    trusted = [Trusted(0, Subspace(torch.tensor([3, 1]), basis[:, :0]), 0.7)]
    form = Moving(weight, basis, trusted)
    assert form.gains is not None
    assert (form.gains.dense is None) == factored
    inputs, target = random(3, D, seed=3), random(3, out, seed=4)
    (found,) = torch.autograd.grad((apply(form, inputs) * target).sum(), form.parameters())
    G, S = target.T @ inputs, basis[:, [1, 3]]  # columns of one gain in the order of the basis
    inside = 0.49 * (weight @ S) @ (weight @ S).T @ G @ S
    assert form.columns.tolist() == [1, 3]
    torch.testing.assert_close(found[:2], inside.T, rtol=0, atol=1e-11)
    torch.testing.assert_close(found[2:], (G @ complement(basis)).T, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", [Moving, Leaking, Explicit])
def test_inputs_may_come_turned(kind):
    weight, basis, trusted, _ = layer(2)
    form, turned = kind(weight, basis, trusted), kind(weight, basis, trusted)
    inputs, labels = batch(0)
    outputs, same = form.linear(inputs), turned.linear(inputs, inputs @ turned.rotation)
    assert torch.equal(outputs, same)
    pairs = ((outputs, form), (same, turned))
    found, expected = (torch.autograd.grad(functional.cross_entropy(out, labels), of.parameters()) for out, of in pairs)
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("kind", [Moving, Leaking])
@pytest.mark.parametrize("trusted_tasks", [0, 1, 2])
@pytest.mark.parametrize("m", [0, M])
def test_second_derivatives_are_those_of_the_weights_gained(kind, trusted_tasks, m):
    """Of a penalty on the gradient in the inputs, say: as the other way, through the effective weights, has them."""
    weight, basis, trusted, _ = layer(trusted_tasks if m else 0, m)
    if kind is Leaking:
        trusted, _ = with_unprotected(trusted, basis)
    found = []
    for way in ("rows", "weights"):
        form = kind(weight, basis, trusted)
        with torch.no_grad():
            for number, value in enumerate(form.parameters()):
                value.add_(0.3 * random(*value.shape, seed=number + 30))
        inputs = random(3, D, seed=8).requires_grad_()
        outputs = form.linear(inputs) if way == "rows" else inputs @ form.effective().T
        (slope,) = torch.autograd.grad(outputs.tanh().sum(), inputs, create_graph=True)
        found.append(torch.autograd.grad(outputs.square().mean() + slope.square().sum(), form.parameters()))
    for by_rows, by_effective in zip(*found, strict=True):
        torch.testing.assert_close(by_rows, by_effective, rtol=0, atol=CLOSE)
    assert found[0][0].abs().max() > 0.01


@pytest.mark.parametrize("m", [0, M, D])
def test_a_parameter_may_be_given_other_memory(m):
    """As `parameter.data = ...` does: outputs follow what the parameter says, not what was there before."""
    weight, basis, trusted, _ = layer(2 if m else 0, m)
    form = Moving(weight, basis, trusted)
    form.active.data = form.active.data + 0.1
    inputs = random(3, D, seed=8).requires_grad_()
    found, expected = form.linear(inputs), by_weights(form, inputs)
    torch.testing.assert_close(found, expected, rtol=0, atol=CLOSE)
    gradients = [torch.autograd.grad(outputs.square().sum(), inputs)[0] for outputs in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=CLOSE)
    assert (expected - inputs @ weight.T).abs().max() > 0.01


def test_a_complement_completes_a_basis():
    for m in (1, 5, D):
        basis = orthogonal(D)[:, :m]
        whole = torch.cat([basis, complement(basis)], dim=1)
        torch.testing.assert_close(whole.T @ whole, torch.eye(D, dtype=torch.float64), rtol=0, atol=1e-13)


def test_a_change_of_nothing():
    weight, basis, _, _ = layer(0)
    nothing = Change(torch.zeros(0, dtype=torch.long), torch.zeros(0, OUT, dtype=torch.float64))
    assert torch.equal(nothing.apply(weight, basis), weight)


# Freely


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
@pytest.mark.parametrize("tasks", [0, 1, 3])
def test_freely_means_plain_steps_in_all_columns_that_are_not_frozen(apply, tasks):
    """G times a projector in trusted and unprotected directions; of the latter alone the shared weights take part."""
    weight, basis, trusted, _ = layer(tasks)
    form = Moving(weight, basis, trusted, scaled=False)
    union = sorted({column for span in SPANS[:tasks] for column in span})
    unprotected = torch.eye(D, dtype=torch.float64) - basis @ basis.T
    allowed = unprotected + basis[:, union] @ basis[:, union].T
    dense = weight.clone().requires_grad_()
    optimizer = torch.optim.SGD(form.parameters(), 0.1)
    for step in range(5):
        inputs, labels = batch(step)
        functional.cross_entropy(apply(form, inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        (gradient,) = torch.autograd.grad(functional.cross_entropy(inputs @ dense.T, labels), dense)
        with torch.no_grad():
            dense -= 0.1 * gradient @ allowed
        torch.testing.assert_close(form.effective().detach(), dense.detach(), rtol=0, atol=CLOSE)
    shared, change = form.finish()
    expected = weight + (dense.detach() - weight) @ unprotected
    torch.testing.assert_close(shared, expected, rtol=0, atol=CLOSE)
    torch.testing.assert_close(change.apply(shared, basis), dense.detach(), rtol=0, atol=CLOSE)
    assert sorted(change.columns.tolist()) == union


# A convolution, by im2col


@pytest.mark.parametrize("form", ["scaled", "leaking"])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution_takes_the_steps_of_its_dense_product(form, groups):
    torch.manual_seed(0)
    module = nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=groups, bias=False, dtype=torch.float64)
    moving = Layer("conv", module)
    d, out = 36 // groups, 6 // groups
    trusted, references = [], []
    for number, (block, weight) in enumerate(zip(moving.blocks, moving.weights, strict=True)):
        block.basis = orthogonal(d, seed=number)[:, : d // 2]
        spans = [torch.tensor([0, 2]), torch.tensor([2, 5, 1])]
        chosen = [Trusted(j, Subspace(span, block.basis[:, :0]), FACTORS[j]) for j, span in enumerate(spans)]
        trusted.append(chosen)
        plainly = [(block.basis[:, span], factor) for span, factor in zip(spans, FACTORS[:2], strict=True)]
        references.append(Dense(weight, block.basis, plainly))
    optimizer = torch.optim.SGD(moving.start(trusted, form), 0.05)
    for step in range(4):
        images, target = random(3, 4, 6, 6, seed=step), random(3, 6, 3, 3, seed=step + 50)
        found = module(images)
        (found * target).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        patches = functional.unfold(images, 3, padding=1, stride=2)  # (images, channels * 9, places)
        for g, dense in enumerate(references):
            product = dense.effective() @ patches[:, g * d : (g + 1) * d]
            part = target.flatten(2)[:, g * out : (g + 1) * out]
            torch.testing.assert_close(found.flatten(2)[:, g * out : (g + 1) * out], product, rtol=0, atol=CLOSE)
            dense.step((product * part).sum(), 0.05)
    moving.finish()
    shared = torch.cat([dense.weight.detach() for dense in references])
    torch.testing.assert_close(module.weight.detach().flatten(1), shared, rtol=0, atol=CLOSE)
    for block, weight, dense in zip(moving.blocks, moving.weights, references, strict=True):
        torch.testing.assert_close(block.effective(weight, 0), dense.effective().detach(), rtol=0, atol=CLOSE)


# Whole methods, as they are specified


@dataclass
class Known:
    """What the dense method remembers of a task, per layer."""

    spans: list[Tensor]
    trusted: list[list[tuple[Tensor, float]]]
    scalings: list[list[Tensor]]


def dense_first(R, threshold):
    U, values, _ = torch.linalg.svd(R, full_matrices=False)
    shares = values**2 / (values**2).sum()
    return U[:, : int((shares.cumsum(0) < threshold).sum())]


def dense_growth(M, R, threshold, *, greedy):
    """(what is added to M, S_t)."""
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
    """A perceptron of dense layers that learns by GPM, TRGP or TRGP+ as the papers and the specification have it."""

    def __init__(self, weights, method, factors, published):
        self.W, self.method, self.factors, self.published = [w.clone() for w in weights], method, factors, published
        self.M: list[Tensor] = []
        self.known: list[Known] = []
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
        method, schedule, task = self.method, self.method.schedule, len(self.known)
        examples = torch.randperm(len(inputs), generator=generator)[: method.samples]
        trusted, chosen = self.trust(inputs[examples], labels[examples])
        self.chosen.append(chosen)
        empty = [w.new_zeros(w.shape[1], 0) for w in self.W]
        layers = [Dense(*parts) for parts in zip(self.W, self.M or empty, trusted, strict=True)]
        for _ in range(schedule.epochs):
            for rows in torch.randperm(len(inputs), generator=generator).split(schedule.batch_size):
                outputs, _ = self.forward(inputs[rows], [dense.effective() for dense in layers])
                loss = functional.cross_entropy(outputs, labels[rows])
                gradients = torch.autograd.grad(loss, [value for dense in layers for value in dense.parameters()])
                left = iter(gradients)
                with torch.no_grad():
                    for dense in layers:
                        dense.weight.sub_(schedule.learning_rate * next(left) @ dense.allowed)
                        for Q in dense.scalings:
                            Q.sub_(schedule.learning_rate * next(left))
        self.W = [dense.weight.detach() for dense in layers]
        scalings = [[Q.detach() for Q in dense.scalings] for dense in layers]
        self.known.append(Known([], trusted, scalings))
        measured = self.W if self.published else self.weights(task)
        _, seen = self.forward(inputs[examples], measured)
        for number, x in enumerate(seen):
            threshold = method.threshold.at(number, task)
            if task == 0:
                span = dense_first(x.T, threshold)
                self.M.append(span)
            else:
                new, span = dense_growth(self.M[number], x.T, threshold, greedy=isinstance(method, Trgp))
                self.M[number] = torch.cat([self.M[number], new[:, 1:] if self.published else new], 1)
            self.known[-1].spans.append(span)

    def trust(self, inputs, labels):
        nobody = [[] for _ in self.W]
        if not self.known or not isinstance(self.method, Trgp):
            return nobody, nobody
        weights = [w.clone().requires_grad_() for w in self.W]
        gradients = torch.autograd.grad(functional.cross_entropy(self.forward(inputs, weights)[0], labels), weights)
        trusted, chosen = [], []
        for number, G in enumerate(gradients):
            norms = [float((G @ old.spans[number] @ old.spans[number].T).norm()) for old in self.known]
            best = sorted(range(len(norms)), key=lambda j: -norms[j])[:2]
            best = sorted((j for j in best if norms[j] > self.method.nearness * G.norm()), reverse=True)
            factors = self.factors if len(best) == 2 else [1.0]
            trusted.append([(self.known[j].spans[number], f) for j, f in zip(best, factors, strict=False)])
            chosen.append(best)
        if self.published and not chosen[0]:
            return nobody, nobody
        return trusted, chosen

    def weights(self, task):
        known = self.known[task]
        return [effective(*parts) for parts in zip(self.W, known.trusted, known.scalings, strict=True)]


SETTINGS: dict[str, Any] = {
    "schedule": Schedule(0.2, epochs=2, batch_size=8),
    "threshold": Threshold((0.7, 0.8, 0.85), growth=0.01),
    "samples": 30,
}
METHODS: list[tuple[Projection, tuple[float, float], bool]] = [
    (Gpm(**SETTINGS), (1.0, 1.0), False),
    (Trgp(**SETTINGS, nearness=0.4), (1.0, 1.0), False),
    (TrgpPlus(**SETTINGS, nearness=0.4), (1.2, 0.8), False),
    (Trgp(**SETTINGS, nearness=0.4, as_published=True), (1.0, 1.0), True),
    (TrgpPlus(**SETTINGS, nearness=0.4, as_published=True), (1.2, 0.8), True),
]
NAMES = ["gpm", "trgp", "trgp+", "trgp as published", "trgp+ as published"]


def stream(tasks=4, rows=48, size=12):
    """Inputs of each task mostly in a few directions, some of them shared with the tasks before."""
    directions = random(size, size, seed=77)
    for task in range(tasks):
        mix = random(rows, size, seed=task) * (0.7 ** ((torch.arange(size) - 3 * task) % size)).double()
        inputs = mix @ directions
        yield inputs, (inputs @ random(size, 3, seed=task + 20)).argmax(1)


@pytest.mark.parametrize(("method", "factors", "published"), METHODS, ids=NAMES)
@pytest.mark.parametrize("shape", [(12, 20, 10, 3), (12, 6, 5, 3)])  # batches of 8 are below and above the outputs
def test_a_method_is_its_dense_reference(method, factors, published, shape):
    torch.manual_seed(3)
    linear = [nn.Linear(a, b, bias=False, dtype=torch.float64) for a, b in pairwise(shape)]
    network = nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])
    dense = DenseMethod([module.weight.detach() for module in linear], method, factors, published)
    learner = method.start(network)  # type: ignore[attr-defined]
    samples = list(stream())
    for task, (inputs, labels) in enumerate(samples):
        learner.learn(str(task), (inputs, labels), random=torch.Generator().manual_seed(task))
        dense.learn(inputs, labels, torch.Generator().manual_seed(task))
        for module, weight in zip(linear, dense.W, strict=True):
            torch.testing.assert_close(module.weight.detach(), weight, rtol=0, atol=1e-9)
        for old, (seen, _) in enumerate(samples[: task + 1]):
            expected, _ = dense.forward(seen, dense.weights(old))
            torch.testing.assert_close(learner.outputs(str(old), seen), expected, rtol=0, atol=1e-9)
    if isinstance(method, Trgp):  # there is something to compare: layers that trust nobody, one task, and two
        assert {len(best) for chosen in dense.chosen[1:] for best in chosen} >= {1, 2}


def test_equal_weights_give_trgp_to_the_bit():
    states = []
    for method in (Trgp(**SETTINGS, nearness=0.4), TrgpPlus(**SETTINGS, nearness=0.4, weights=(1.0, 1.0))):
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
