"""The best penalty, stopping time and averaging weight: local and global, with their bounds."""

import signal
import threading
import time

import numpy as np
import pytest

from ebbing import Averaged, Curriculum, GradientFlow, Problem, Ridge, expect
from ebbing.order import _tuning_boxes, best_penalty, best_stopping_time, best_weight
from ebbing.order._clock import Clock
from ebbing.order._intervals import Interval
from ebbing.order._tuning_bound import Steps, curvature
from ebbing.order._tuning_families import FLOW, RIDGE, RateTable, averaged, gradient_flow, ridge
from ebbing.order.objective import Criterion
from ebbing.theory._steps import Mixtures

TUNED = {best_weight: averaged, best_penalty: ridge, best_stopping_time: gradient_flow}


def random_case(seed, T=3):
    rng = np.random.default_rng(seed)
    problem = Problem.from_vectors(
        rng.standard_normal((T, 3)), n=rng.integers(3, 9, T).tolist(), p=int(rng.choice([5, 20])), sigma=rng.random(T)
    )
    if problem.p == 5:  # fewer parameters than samples
        problem = problem.replace(n=problem.n + 5)
    return problem, Curriculum.replay(problem, memory=2) if rng.random() < 0.5 else None, rng


def case_of(family_of, problem, plan, objective):
    family = family_of(problem.p)
    samples = (plan or Curriculum.sequential(problem)).samples(problem)
    mixtures = Mixtures.of(samples, problem)
    steps = Steps.of(samples, problem, mixtures, Criterion.of(problem.replace(sigma=0), objective))
    return steps, family, RateTable(family, samples.sum(axis=1), problem.p, mixtures.dispersion, mixtures.variance)


def test_tuned_learners_are_least_near_themselves():
    problem = Problem.orthogonal(T=3, n=20, p=60, sigma=0.5)
    for tune, change in (
        (best_penalty, lambda x, factor: Ridge(x.penalty * factor)),
        (best_stopping_time, lambda x, factor: GradientFlow(x.time * factor)),
        (best_weight, lambda x, factor: Averaged(x.weight * factor)),
    ):
        tuning = tune(problem)
        value = expect(problem, learner=tuning.learners[0]).generalization
        assert tuning.value == pytest.approx(value, rel=1e-12)
        for factor in (0.9, 1.1):
            assert expect(problem, learner=change(tuning.learners[0], factor)).generalization > value
        assert tuning.to_the_end == pytest.approx(expect(problem).generalization, rel=1e-12)
        own = tune(problem, per_step=True)
        assert own.value < tuning.value
        assert len(set(own.learners)) == 3


@pytest.mark.parametrize("objective", ["generalization", "forgetting", 0.3])
@pytest.mark.parametrize("tune", TUNED, ids=lambda f: f.__name__)
def test_no_grid_beats_the_bound_of_one_for_all(tune, objective):
    for seed in range(4):
        problem, plan, _ = random_case(seed)
        tuning = tune(problem, plan, objective)
        steps, family, table = case_of(TUNED[tune], problem, plan, objective)
        values = steps.errors(table.at_one(np.linspace(*family.range, 300)))[1]
        assert tuning.proved
        assert tuning.lower_bound <= tuning.value
        assert tuning.gap <= tuning.tolerance
        assert values.min() >= tuning.lower_bound - 1e-12 * np.abs(values).max()
        assert values.min() >= tuning.value - tuning.tolerance


@pytest.mark.parametrize("objective", ["generalization", "forgetting"])
@pytest.mark.parametrize("tune", TUNED, ids=lambda f: f.__name__)
def test_no_grid_beats_the_bound_of_one_per_step(tune, objective):
    problem = Problem.from_vectors(np.random.default_rng(1).standard_normal((2, 3)), n=[5, 9], p=14, sigma=0.6)
    tuning = tune(problem, objective=objective, per_step=True)
    assert tuning.proved
    steps, family, table = case_of(TUNED[tune], problem, None, objective)
    x = np.linspace(*family.range, 60)
    values = steps.errors(table.at(np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)))[1]
    assert values.min() >= tuning.lower_bound - 1e-12
    assert values.min() >= tuning.value - tuning.tolerance


@pytest.mark.parametrize("objective", ["generalization", "forgetting"])
@pytest.mark.parametrize("tune", TUNED, ids=lambda f: f.__name__)
def test_many_steps_have_an_honest_bound(tune, objective):
    problem, _, rng = random_case(3, T=8)
    problem = problem.replace(n=10, p=30)
    tuning = tune(problem, objective=objective, per_step=True, seconds=0.4)
    steps, family, table = case_of(TUNED[tune], problem, None, objective)
    draws = rng.uniform(*family.range, (200, 8))
    assert steps.errors(table.at(draws))[1].min() >= tuning.lower_bound
    assert not tuning.proved
    assert np.isfinite(tuning.lower_bound)


@pytest.mark.parametrize("family_of", TUNED.values(), ids=lambda f: f.__name__)
def test_boxes_are_bounded_and_small_ones_tightly(family_of):
    """Ten times smaller boxes are a hundred times tighter, about: no first-order term is left over."""
    problem, plan, rng = random_case(2)
    steps, family, table = case_of(family_of, problem, plan, 0.5)
    low, high = family.range
    middle = low + (high - low) * rng.uniform(0.1, 0.9, (1, 3))
    gaps = []
    for width in (0.1, 0.01):
        half = width * (high - low) / 2
        bound = _tuning_boxes._box_bounds(steps, family, table.at, middle - half, middle + half)[0][0]
        inside = middle + half * np.concatenate([rng.uniform(-1, 1, (300, 3)), np.array([[-1, -1, -1], [1, 1, 1]])])
        values = steps.errors(table.at(inside))[1]
        assert values.min() >= bound
        corners = middle + half * np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
        gaps.append(min(values.min(), steps.errors(table.at(corners))[1].min()) - bound)
    assert gaps[1] < 0.04 * gaps[0]


@pytest.mark.parametrize("family_of", TUNED.values(), ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_curvature_and_rates_stay_within_their_intervals(family_of, seed):
    problem, plan, _ = random_case(seed)
    steps, family, table = case_of(family_of, problem, plan, 0.5)
    edges = np.linspace(family.range[0], family.range[1], 20)
    low, high = edges[:-1], edges[1:]
    columns = table.at_one(edges)
    changes = family.changes(columns[:, :-1], columns[:, 1:], low[:, None], high[:, None], steps.mixed)
    bounds = curvature(steps, changes)
    h = 1e-3 * (edges[1] - edges[0])
    for share in (0.1, 0.5, 0.9):
        x = low + share * (high - low)
        around = [table.at_one(x + d) for d in (-h, 0.0, h)]
        slopes = (around[2] - around[0]) / (2 * h)
        bends = (around[2] - 2 * around[1] + around[0]) / h**2
        for change, value, slope, bend in zip(changes, around[1], slopes, bends, strict=True):
            size = np.abs(value).max() + 1e-300
            for interval, numbers, slack in (
                (change.value, value, 1e-11), (change.first, slope, 1e-4), (change.second, bend, 1e-3),
            ):  # fmt: skip
                assert np.all(numbers >= interval.low - slack * size)
                assert np.all(numbers <= interval.high + slack * size)
        values = [steps.errors(rates)[1] for rates in around]
        bend = (values[2] - 2 * values[1] + values[0]) / h**2
        assert np.all(bend <= bounds + 1e-3 * np.abs(values[1]).max())


def test_constants_of_ridge_and_flow_are_extremes():
    x = np.logspace(-7, 2.7, 100_001)
    f, e = x / (1 + x), 1 / (1 + x)  # s / (s + penalty), x = s / penalty
    assert within((2 * f - 1) ** 2 - 2 * f * e, RIDGE["u''"], 1e-3)
    for bend in (2 * e * (2 * e - f), 1 - 9 * e + 12 * e**2):
        assert within(bend, RIDGE["m''"])
    for slope in (-2 * e, 1 - 3 * e):
        assert within(slope, RIDGE["m'"])
    e, f = np.exp(-x), -np.expm1(-x)
    y, u = x * e, f * e
    u1 = y * (e - f)
    u2 = y * (x - 1) + 2 * x * e**2 * (1 - 2 * x)
    assert within(y / f, (0.0, 1.0), 1e-3)
    for values, name in (
        (y * (1 - x) / f, "h''"), (u1 / f, "u'"), (u2 / f, "u''"),
        (2 * y / f, "n'"), ((2 * y**2 + 2 * f * y * (1 - x)) / f**2, "n''"),
        ((x * u + x * u1) / f**2, "q'"), ((x * u + 2 * x * u1 + x * u2) / f**2, "q''"),
    ):  # fmt: skip
        assert within(values, FLOW[name], 1e-3), name


def within(values, ends, tight=np.inf):
    """Whether values are within both ends, and reach them up to `tight`."""
    low, high = ends
    near = values.min() <= low + tight and values.max() >= high - tight
    return bool(values.min() >= low - 1e-6 and values.max() <= high + 1e-6 and near)


def test_intervals_hold_all_results():
    rng = np.random.default_rng(0)
    a, b = (Interval.between(*rng.standard_normal((2, 500))) for _ in range(2))
    x, y = (i.low + rng.random(500) * (i.high - i.low) for i in (a, b))
    for interval, number in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (a * 2.0, 2 * x)):
        assert np.all((interval.low <= number) & (number <= interval.high))


def test_infinite_expectations_name_the_step():
    problem = Problem.orthogonal(T=2, n=[10, 21], p=20, sigma=0.5)
    with pytest.raises(ValueError, match=r"step 2 has N=21 .* infinite"):
        best_weight(problem)
    assert best_penalty(problem).proved
    assert best_penalty(problem).to_the_end == np.inf


def test_nothing_to_forget_and_stored_samples_are_refused():
    problem = Problem.orthogonal(T=2, n=10, p=40, sigma=0.5)
    with pytest.raises(ValueError, match="nothing can be forgotten"):
        best_weight(problem, Curriculum.joint(problem), "forgetting")
    with pytest.raises(ValueError, match="leave stored=True out"):
        best_weight(problem, Curriculum.replay(problem, memory=2, stored=True))
    with pytest.raises(ValueError, match="seconds=0"):
        best_weight(problem, seconds=0)


def test_time_limit_and_interrupt_end_the_bound():
    problem, _, _ = random_case(0, T=8)
    problem = problem.replace(n=10, p=30)
    began = time.monotonic()
    limited = best_penalty(problem, per_step=True, seconds=0.3)
    assert time.monotonic() - began < 5
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    began = time.monotonic()
    interrupted = best_penalty(problem, per_step=True, seconds=60)
    assert time.monotonic() - began < 20
    assert interrupted.lower_bound <= interrupted.value <= limited.value + 1e-9
    assert not Clock(60).late


def test_summary_says_what_is_proved():
    problem = Problem.orthogonal(T=2, n=20, p=40, sigma=0.5)
    assert "Proved: no penalty" in best_penalty(problem).summary()
    several = best_weight(random_case(0, T=8)[0].replace(n=10, p=30), per_step=True, seconds=0.2)
    assert "Not proved: no weights" in several.summary()
