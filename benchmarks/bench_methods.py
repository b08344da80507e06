"""Protecting old tasks: TRGP against its authors' dense formulas and against plain training, and what it stores.

Run alone: python benchmarks/bench_methods.py. It uses one core, for about 5 minutes. Tasks, layers and subspaces are
those of Permuted MNIST and Split CIFAR-100, whose images are downloaded at first use. Time is that of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing.learn import Occurrence, PermutedMnist, SplitCifar100
from ebbing.learn.methods import Trgp
from ebbing.learn.networks import MLP, SmallAlexNet
from ebbing.learn.projection import Threshold
from ebbing.learn.projection._authors_variant import ExplicitScaling
from ebbing.learn.projection._parametrization import RotatedWeight, TrustedTask
from ebbing.learn.projection._products import onednn_product, prefers_onednn
from ebbing.learn.projection.learner import ProjectionLearner
from ebbing.learn.training._machine import single_thread
from ebbing.learn.training._task_argument import bind_task
from ebbing.learn.training.schedule import Schedule, fit, task_loss
from harness import Row, at_least, at_most, markdown, seconds

State = dict[str, Tensor]
Pair = tuple[Tensor, Tensor]
Forward = Callable[[Tensor], Tensor]

RATE = 0.01
MNIST = Trgp(
    Schedule(RATE, epochs=1, batch_size=10), Threshold((0.95, 0.99, 0.99), growth=0.0), 300, trust_threshold=0.2
)
CIFAR = Trgp(
    Schedule(RATE, epochs=1, batch_size=64), Threshold(), (24, 100, 100, 125, 125), ("heads",), trust_threshold=0.5
)


# -------------------------------------------------------------------- Permuted MNIST


def whole_run(stream: PermutedMnist) -> tuple[list[Row], State, State]:
    """Return rows of results, and the learner's state before and after the last task.

    The time includes everything but loading the tasks' images. In a run of the published five epochs, the work per task
    (selecting trusted tasks, rotating the images, singular vectors) has a fifth of the weight that it has here.
    """
    learner, plain = MNIST.start(MLP().build(0)), MLP().build(0)
    before, ours, theirs = learner.state(), [], []
    for t in range(stream.tasks):
        data = task(stream, t)
        if t == 0:
            check_first_task((data[0][:2000], data[1][:2000]))
        before = learner.state()
        ours.append(processor_time(lambda t=t, data=data: learner.learn(str(t), data)))
        theirs.append(processor_time(lambda data=data: train(plain.parameters(), plain, shuffled(data, 10))))
    what = f"Permuted MNIST, {stream.tasks} tasks of {stream.train_images:,} images, one epoch ({sum(ours):.0f} s)"
    ratios = " ".join(f"{a / b:.1f}" for a, b in zip(ours, theirs, strict=True))
    rows = [
        at_most(f"{what}: TRGP against plain training", sum(ours) / sum(theirs), 3, "x"),
        Row("the same, task by task", ratios + " x", "-", True),
    ]
    return rows, before, learner.state()


def check_first_task(data: Pair) -> None:
    learner, plain, random = MNIST.start(MLP().build(0)), MLP().build(0), torch.Generator().manual_seed(0)
    learner.learn("0", data)
    torch.randperm(len(data[0]), generator=random)  # the learner draws examples first
    train(plain.parameters(), plain, shuffled(data, 10, random))
    difference = distance(learner.network.parameters(), plain.parameters())
    assert difference < 1e-5, f"a first task differs from plain training by {difference:.1e}"


def step_against_dense(data: Pair, state: State) -> list[Row]:
    """Time a step of the last task, including its share of rotating the images once for five epochs."""
    few = data[0][:50], data[1][:50]
    exact = restored_learner(MNIST, MLP().build(0).double(), to_double(state))
    dense = Dense(exact, (data[0][:300].double(), data[1][:300]))
    with next_task(exact, (data[0].double(), data[1])) as parameters:
        fit(MNIST.schedule, exact.network, exact.network, parameters, lambda: batches(few, 10, torch.float64))
        train(dense.parameters(), dense, batches(few, 10, torch.float64), dense.project)
        difference = distance(
            (layer.parametrizations[0].effective_weight() for layer in exact.layers),
            map(effective_weight, dense.layers),
        )
    assert difference < 1e-9, f"the effective weights differ by {difference:.1e} after 5 steps"

    learner = restored_learner(MNIST, MLP().build(0), state)
    dense = Dense(learner, (data[0][:300], data[1][:300]))
    ranks = ", ".join(str(S.shape[1]) for S in dense.layers[0].spaces)
    what = f"Permuted MNIST, a step of the last task (first layer: {state['layer.1.0.basis'].shape[1]} directions"
    with next_task(learner, data) as parameters:
        some = data[0][:2000], data[1][:2000]
        rotating = processor_time(lambda: learner._batches(some, None))
        epoch, schedule = learner._batches(some, None), learner.method.schedule
        fast = slow = float("inf")
        for _ in range(5):
            fast = min(
                fast, processor_time(lambda: fit(schedule, learner.network, learner.network, parameters, epoch)) / 200
            )
            slow = min(
                slow, processor_time(lambda: train(dense.parameters(), dense, batches(few, 10), dense.project)) / 5
            )
    fast += rotating / (5 * 200)
    shown = f"protected, {ranks} trusted): {slow * 1e3:.0f} ms in dense matrices against {fast * 1e3:.2f} ms"
    return [at_least(f"{what} {shown}", slow / fast, 40)]


class Dense(nn.Module):
    """The perceptron while TRGP learns a task, by its formulas with dense products in every step."""

    def __init__(self, learner: ProjectionLearner, examples: Pair) -> None:
        super().__init__()
        trust_region = learner._select_trust_region(*examples, task_loss)
        pairs = zip(learner.layers, trust_region, strict=True)
        layers = [DenseLayer(layer.weights[0], layer.blocks[0].basis, trusted) for layer, (trusted,) in pairs]
        self.layers: list[DenseLayer] = layers
        self.registered = nn.ModuleList(layers)

    def forward(self, inputs: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            inputs = functional.linear(inputs, layer()).relu()
        return functional.linear(inputs, self.layers[-1]())

    @torch.no_grad()
    def project(self) -> None:
        for layer in self.layers:
            assert layer.weight.grad is not None
            layer.weight.grad -= layer.weight.grad @ layer.protected


class DenseLayer(nn.Module):
    """W_eff = W + sum_j lambda_j (W S_j Q_j S_j' - W S_j S_j'), Q_j the corner of a d x d matrix, as published."""

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[TrustedTask]) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.protected = basis @ basis.T  # (d, d)
        self.spaces = [basis[:, one.subspace.columns] for one in trusted]
        self.weights = [one.weight for one in trusted]
        self.scales = nn.ParameterList(torch.eye(len(basis), dtype=basis.dtype) for _ in trusted)

    def forward(self) -> Tensor:
        total, W = self.weight, self.weight
        for S, Q, weight in zip(self.spaces, self.scales, self.weights, strict=True):
            r = S.shape[1]
            total = total + weight * (W @ (S @ Q[:r, :r] @ S.T) - W @ (S @ S.T))
        return total


def effective_weight(layer: DenseLayer) -> Tensor:
    return layer()


def to_double(state: State) -> State:
    """Return the state in double precision, with bases orthonormalized again."""
    state = {name: value.double() if value.is_floating_point() else value for name, value in state.items()}
    for name in [name for name in state if name.endswith(".basis")]:
        basis, triangle = torch.linalg.qr(state[name])
        state[name] = basis * triangle.diagonal().sign()
    return state


def stored(state: State, tasks: int) -> list[Row]:
    """The authors keep two d x d scale matrices for every layer and task, and a copy of the task's basis."""
    ours = sum(value.nbytes for name, value in state.items() if not name.startswith("network.")) / tasks
    copies = matrices = 0.0
    for name, basis in state.items():
        if name.endswith(".basis"):
            d, block = len(basis), name.removesuffix("basis")
            matrices += 2 * d * d * basis.element_size()
            ranks = sum(len(state[f"{block}{t}.columns"]) for t in range(tasks))
            copies += d * ranks * basis.element_size() / tasks
    what = f"Permuted MNIST: {ours / 1e6:.2f} MB stored per task, of {matrices / 1e6:.2f} MB in d x d matrices"
    share = 100 * ours / (matrices + copies)
    return [
        at_most(f"{what} and {copies / 1e6:.2f} MB in copies of bases", share, 25, "%"),
        Row("Permuted MNIST: MB stored, task by task", by_task(state, tasks), "-", True),
    ]


def by_task(state: State, tasks: int) -> str:
    """Return the MB that each task stores: task-specific values, and the directions it added to the bases."""
    kept = [0.0] * tasks
    for name, value in state.items():
        kind, *path = name.split(".")
        if kind == "own":
            kept[int(path[0])] += value.nbytes
        elif kind == "layer" and path[-1] == "basis":
            block = name.removesuffix("basis")
            widths = [0, *(1 + int(state[f"{block}{t}.columns"].max()) for t in range(tasks))]
            for t in range(tasks):
                kept[t] += max(0, widths[t + 1] - max(widths[: t + 1])) * len(value) * value.element_size()
        elif kind == "layer":
            for t in range(tasks):
                kept[t] += value.nbytes if f".0.{t}." in name else 0
    return " ".join(f"{size / 1e6:.2f}" for size in kept)


# -------------------------------------------------------------------- Split CIFAR-100


def step_against_plain() -> list[Row]:
    """Time steps after 2, 5 and 9 tasks of five steps each, enough for subspaces of the usual sizes."""
    stream = SplitCifar100(train_images=640, test_images=1)
    learner, rows = CIFAR.start(SmallAlexNet().build(0)), []
    for t in range(stream.tasks):
        data = task(stream, t)
        if t == 2:
            check_fast_form(data, learner.state())
        if t in (2, 5, 9):
            rows.append(cifar_step(data, learner.state(), t))
        learner.learn(str(t), (data[0][:320], data[1][:320]))
    return [*rows, Row("CIFAR-100: MB stored, task by task", by_task(learner.state(), stream.tasks), "-", True)]


def cifar_step(data: Pair, state: State, t: int) -> Row:
    learner, plain = restored_learner(CIFAR, SmallAlexNet().build(0), state), SmallAlexNet().build(0)
    ours = theirs = float("inf")
    with next_task(learner, data) as parameters:
        parametrizations = [layer.parametrizations[0] for layer in learner.layers]
        ranks = ", ".join(str(len(one.columns)) for one in parametrizations if isinstance(one, RotatedWeight))
        for _ in range(15):
            plain_time = processor_time(lambda: train(plain.parameters(), bind_task(plain, t), batches(data, 64)))
            theirs = min(theirs, plain_time)
            ours = min(ours, processor_time(lambda: train_as_learner(learner, parameters, data)))
    what = f"CIFAR-100, a step after {t} tasks ({ranks} trusted directions): {ours * 100:.0f} ms, of plain training's"
    return at_most(what, ours / theirs, 1.35, "x")


def check_fast_form(data: Pair, state: State) -> None:
    """Check that two steps with and without scale matrices give the same effective weights.

    In double precision, because rounding can decide which of two pixels max pooling selects.
    """
    data, state, found = (data[0].double(), data[1]), to_double(state), []
    for kind in (RotatedWeight, ExplicitScaling):
        learner = restored_learner(CIFAR, SmallAlexNet().build(0).double(), state)
        trust_region = learner._select_trust_region(data[0][:125], data[1][:125], task_loss)
        assert all(len(chosen) == 2 for (chosen,) in trust_region), "every layer should have two trusted tasks"
        with next_task(learner, data) as parameters:
            free = parameters[len(learner.layers) :]
            for layer, (chosen,) in zip(learner.layers, trust_region, strict=True):
                parametrization = kind(layer.weights[0].clone(), layer.blocks[0].basis, chosen)
                layer.parametrizations = [parametrization]  # type: ignore[list-item]
            in_layers = [parameter for layer in learner.layers for parameter in layer.parametrizations[0].parameters()]
            torch.manual_seed(0)  # dropout
            train_as_learner(learner, in_layers + free, (data[0][:128], data[1][:128]))
            found.append([layer.parametrizations[0].effective_weight().detach() for layer in learner.layers])
    change = distance(found[0], (weight.flatten(1) for weight in layer_weights(state)))
    difference = distance(*found)
    assert difference < 1e-9 * change, f"the two forms differ by {difference:.1e} after a change of {change:.1e}"


def layer_weights(state: State) -> list[Tensor]:
    return [state[f"network.{name.split('.', 1)[1][:-8]}.weight"] for name in state if name.endswith(".0.basis")]


def products() -> Row:
    """Time the products of a step of a layer with 2,048 inputs and outputs: outputs, weight and input gradients."""
    generator = torch.Generator().manual_seed(0)
    inputs, gradients = (torch.randn(64, 2048, generator=generator) for _ in range(2))
    weight = torch.randn(2048, 2048, generator=generator)
    pairs = [(inputs, weight), (gradients, weight.T), (inputs.T, gradients)]
    error = max(float((onednn_product(a, b) - a.double() @ b.double()).abs().max()) for a, b in pairs)
    assert error < 1e-3, f"oneDNN is wrong by {error:.1e}, in products of size 50"
    ratio = seconds(lambda: [a @ b for a, b in pairs]) / seconds(lambda: [onednn_product(a, b) for a, b in pairs])
    chosen = "oneDNN" if prefers_onednn() else "PyTorch's default"
    what = "CIFAR-100, products of a step of the widest layer: PyTorch's default against oneDNN"
    return Row(f"{what} (this processor uses {chosen})", f"{ratio:.2f}x", "-", True)


# -------------------------------------------------------------------- a depthwise convolution

DEPTHWISE = Trgp(Schedule(RATE, epochs=1, batch_size=32), num_examples=64)


def depthwise(groups: int = 512) -> list[Row]:
    """Time a step of a third task: all groups together, each group separately, and plain training."""
    torch.manual_seed(0)
    data = torch.randn(64, groups, 8, 8, dtype=torch.float64), torch.randint(0, groups, (64,))
    network = nn.Sequential(
        nn.Conv2d(groups, groups, 3, groups=groups, bias=False), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    learner = DEPTHWISE.start(network.double())
    for name in ("first", "second"):
        learner.learn(name, data)
    (layer,), times, found = learner.layers, {}, []
    (trusted,) = learner._select_trust_region(*data, task_loss)
    with next_task(learner, data):
        together = layer.parametrizations
        each = [
            RotatedWeight(*group) for group in zip(layer.weights, (b.basis for b in layer.blocks), trusted, strict=True)
        ]
        for what, parametrizations in (("together", together), ("each", each)):
            layer.parametrizations = list(parametrizations)
            parameters = [parameter for one in layer.parametrizations for parameter in one.parameters()]
            train(parameters, network, [data])
            found.append(torch.cat([one.effective_weight().detach() for one in layer.parametrizations]))
            times[what] = min(processor_time(lambda p=parameters: train(p, network, [data])) for _ in range(10))
        layer.parametrizations = together
    difference = distance(found[:1], found[1:])
    assert difference < 1e-12, f"the groups together differ from each by itself by {difference:.1e}"
    times["plain"] = min(processor_time(lambda: train(network.parameters(), network, [data])) for _ in range(10))
    what = (
        f"a depthwise convolution of {groups} channels, a step: {times['together'] * 1e3:.0f} ms, of plain training's"
    )
    return [
        at_most(what, times["together"] / times["plain"], 1.35, "x"),
        Row("the same, each group parametrized separately", f"{times['each'] / times['plain']:.2f}x", "-", True),
    ]


# -------------------------------------------------------------------- both


def task(stream: PermutedMnist | SplitCifar100, number: int) -> Pair:
    task_data = stream.load(Occurrence(str(number), number), seed=0)
    return task_data.train_inputs, task_data.train_labels


def restored_learner(method: Trgp, network: nn.Module, state: State) -> ProjectionLearner:
    learner = method.start(network)
    learner.restore({name: value.clone() for name, value in state.items()})
    return learner


class EnoughError(Exception):
    """Raised to discard a task."""


@contextmanager
def next_task(learner: ProjectionLearner, data: Pair) -> Iterator[list[nn.Parameter]]:
    """Open the context of the next task, which is discarded at the end."""
    num_examples = learner.method.num_examples
    most = max(num_examples) if isinstance(num_examples, tuple) else num_examples
    with suppress(EnoughError), learner.task("next", (data[0][:most], data[1][:most])) as parameters:
        yield parameters
        raise EnoughError


def train_as_learner(learner: ProjectionLearner, parameters: list[nn.Parameter], data: Pair) -> None:
    """Train an epoch as the learner does."""
    schedule, forward = learner.method.schedule, bind_task(learner.network, len(learner.tasks))
    fit(schedule, learner.network, forward, parameters, learner._batches(data, None))


def train(
    parameters: Iterable[nn.Parameter], forward: Forward, data: Iterable[Pair], before_step: Callable[[], object] = int
) -> None:
    """Train an epoch by a plain loop."""
    optimizer = torch.optim.SGD(parameters, lr=RATE)
    for inputs, labels in data:
        optimizer.zero_grad()
        functional.cross_entropy(forward(inputs), labels).backward()
        before_step()
        optimizer.step()


def batches(data: Pair, size: int, dtype: torch.dtype = torch.float32) -> Iterator[Pair]:
    inputs, labels = data
    return zip(inputs.to(dtype).split(size), labels.split(size), strict=True)


def shuffled(data: Pair, size: int, random: torch.Generator | None = None) -> Iterator[Pair]:
    inputs, labels = data
    order = torch.randperm(len(inputs), generator=random)
    for rows in order.split(size):
        yield inputs[rows], labels[rows]


def distance(some: Iterable[Tensor], others: Iterable[Tensor]) -> float:
    return max(float((a - b).detach().abs().max()) for a, b in zip(some, others, strict=True))


def processor_time(work: Callable[[], object]) -> float:
    """Return processor seconds, which other processes do not affect."""
    start = time.process_time()
    work()
    return time.process_time() - start


def run() -> list[Row]:
    with single_thread():
        stream = PermutedMnist(test_images=1)
        rows, before, after = whole_run(stream)
        dense = step_against_dense(task(stream, stream.tasks - 1), before)
        return [*dense, *rows, *step_against_plain(), products(), *depthwise(), *stored(after, stream.tasks)]


if __name__ == "__main__":
    print(markdown(run()))
