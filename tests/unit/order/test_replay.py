"""The best replay against all plans of small problems, and what its result says."""

import itertools
import signal

import numpy as np
import pytest

from ebbing import Averaged, Curriculum, GradientSteps, OnePassSgd, Problem, Ridge, best_replay, expect
from ebbing.learners import MinimumNorm
from ebbing.order import best_order_with_replay, replay_curve
from ebbing.order._clock import Clock
from ebbing.order._curriculum_values import curriculum_values
from ebbing.order._replay_bound import _Replays, bound_replay
from ebbing.order._replay_search import _SplitCost
from ebbing.order.objective import Criterion
from ebbing.order.replay import _weighted

RNG = np.random.default_rng(3)


def random_problem(p, T=3, seed=0, sigma=0.5):
    rng = np.random.default_rng([p, T, seed])
    vectors = rng.standard_normal((T, 2)) * rng.uniform(0.2, 3)
    return Problem.from_vectors(
        vectors, n=rng.integers(3, 7, T) + (3 if p < 5 else 0), p=p, sigma=sigma * rng.uniform(0, 1, T)
    )


def all_plans(T, budget):
    """Every replay of at most `budget` samples (plans, T, T)."""
    steps, tasks = np.tril_indices(T, -1)
    found = [c for c in itertools.product(range(budget + 1), repeat=len(steps)) if sum(c) <= budget]
    plans = np.zeros((len(found), T, T), dtype=np.int64)
    plans[:, steps, tasks] = found
    return plans


@pytest.mark.parametrize("learner", [MinimumNorm(), Averaged(0.5), Ridge(3.0)], ids=lambda x: type(x).__name__)
def test_values_are_those_of_expect(learner):
    problem = random_problem(p=25, T=4)
    plans = RNG.integers(0, 3, (5, 4, 4)) * np.tri(4, k=-1, dtype=int)
    F, G = curriculum_values(problem, plans + np.diag(problem.n), learner)
    for plan, f, g in zip(plans, F, G, strict=True):
        steps = [{t: int(problem.n[t])} | {j: int(m) for j, m in enumerate(plan[t]) if m} for t in range(4)]
        e = expect(problem, Curriculum(steps), learner=learner)
        assert (f, g) == pytest.approx((e.forgetting, e.generalization), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("p", [20, 9, 3])
def test_generalization_is_that_of_the_best_of_all_plans(p, seed):
    """Over- and underparameterized steps; where it is called proved, no plan is better, and the bound holds always."""
    problem, budget = random_problem(p, seed=seed), 7
    plan = best_replay(problem, budget)
    values = curriculum_values(problem, all_plans(3, budget) + np.diag(problem.n), MinimumNorm())[1]
    assert plan.value == pytest.approx(values.min(), rel=1e-12)
    assert plan.lower_bound <= values.min() * (1 + 1e-12)
    assert plan.value == pytest.approx(expect(problem, plan.curriculum).generalization, rel=1e-12)
    if p == 20:
        assert plan.proved


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("objective", ["forgetting", 0.5])
def test_forgetting_is_that_of_the_best_of_all_plans(objective, seed):
    problem, budget = random_problem(20, seed=seed), 7
    F, G = curriculum_values(problem, all_plans(3, budget) + np.diag(problem.n), MinimumNorm())
    best = F.min() if objective == "forgetting" else (0.5 * F + 0.5 * G).min()
    plan = best_replay(problem, budget, objective)
    assert plan.value == pytest.approx(best, rel=1e-12)
    assert plan.proved
    assert plan.lower_bound == pytest.approx(best, rel=1e-12)


def random_case(seed):
    """Any regime and both sides of N = p, where expectations may be infinite; some tasks the same, some noisy."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(2, 5))
    budget, p = int(rng.integers(1, {2: 30, 3: 9, 4: 4}[T])), int(rng.integers(3, 40))
    W = rng.standard_normal((T, int(rng.integers(1, 4))))[rng.integers(0, T, T)]
    n, sigma = rng.integers(1, p + 10, T), float(rng.choice([0, 0.5]))
    return Problem.from_vectors(W, n=n, p=p, sigma=sigma), budget, ("forgetting", 0.3, 0.8)[seed % 3]


def bounds_and_least_values(seeds):
    """The bound, the value of the plan found and the least value of all plans; the search starts from no replay."""
    for seed in seeds:
        problem, budget, objective = random_case(seed)
        try:
            criterion = Criterion.of(problem, objective)
        except ValueError:  # infinite
            continue

        def values(replayed, criterion=criterion):
            return _weighted(
                criterion, *curriculum_values(criterion.problem, replayed + np.diag(criterion.problem.n), MinimumNorm())
            )

        nothing = np.zeros((problem.T, problem.T), dtype=np.int64)
        plan, bound = bound_replay(criterion, budget, nothing, values, Clock(60))
        assert plan.sum() <= budget
        yield bound, values(plan[None])[0], values(all_plans(problem.T, budget)).min()


def test_no_plan_is_below_the_bound_and_none_proved_is_beaten():
    proved = 0
    for bound, value, least in bounds_and_least_values(range(150)):
        assert bound <= least + 1e-11 * max(1, abs(least))
        proved += bound >= value - 1e-12 * abs(value)
    assert proved > 100


def test_a_wrong_bound_would_be_noticed(monkeypatch):
    """Power: without the errors before a step, plans are below the bound."""
    monkeypatch.setattr(_Replays, "_errors", lambda self, low, high: (np.zeros((self.T, self.T)),) * 2)
    assert any(bound > least + 1e-3 * abs(least) for bound, _, least in bounds_and_least_values(range(60)))


def test_a_bound_that_had_no_time_is_valid():
    problem = Problem.from_vectors(np.random.default_rng(0).standard_normal((8, 6)), n=50, p=400, sigma=0.3)
    plan, longer = (best_replay(problem, 50, "forgetting", seconds=seconds) for seconds in (1e-3, 2.0))
    assert -np.inf < plan.lower_bound <= longer.lower_bound <= longer.value <= plan.value <= min(plan.none, plan.even)
    assert not plan.proved


def convex_problem():
    """Steps with more samples than parameters, whose best split is searched for."""
    vectors = np.random.default_rng(0).standard_normal((5, 3))
    return Problem.from_vectors(vectors, n=8, p=12, sigma=0.3)


def test_splits_that_had_no_time_have_a_valid_bound(monkeypatch):
    longer = best_replay(convex_problem(), 80)
    monkeypatch.setattr(_SplitCost, "descend", None)  # never called
    plan = best_replay(convex_problem(), 80, seconds=1e-9)
    assert plan.lower_bound <= longer.lower_bound <= longer.value <= plan.value
    assert plan.value <= plan.none


def test_interrupt_ends_the_search_for_splits(monkeypatch):
    descend, calls = _SplitCost.descend, []

    def interrupted(*args):
        calls.append(args)
        signal.raise_signal(signal.SIGINT)
        return descend(*args)

    monkeypatch.setattr(_SplitCost, "descend", interrupted)
    plan = best_replay(convex_problem(), 80, seconds=60)
    assert len(calls) == 1
    assert plan.lower_bound <= plan.value <= plan.none


@pytest.mark.parametrize("seed", range(5))
def test_descent_finds_the_best_of_all_splits(seed):
    rng = np.random.default_rng(seed)
    gaps = Problem.from_vectors(rng.standard_normal((4, 3)), n=5, p=20).gaps
    cost = _SplitCost(rng.random(4), -rng.random() / 10, gaps, t=3)  # convex: gaps are of negative type
    found = cost.descend(np.array([12.0, 0, 0, 5]), 6)
    splits = [np.array([*s, 5.0]) for s in itertools.product(range(13), repeat=3) if sum(s) == 12]
    assert cost(found) == pytest.approx(min(map(cost, splits)), rel=1e-12)
    assert found.sum() == 17


def test_seed_is_checked():
    for objective in ("forgetting", "generalization"):
        with pytest.raises(ValueError, match=r"seed=0\.5: give a whole number"):
            best_replay(convex_problem(), 5, objective, seed=0.5)  # type: ignore[arg-type]


def test_large_budgets_come_in_lots_without_a_proof():
    problem = Problem.from_vectors(np.random.default_rng(0).standard_normal((3, 2)), n=4000, p=40_000, sigma=0.3)
    for objective in ("generalization", "forgetting"):
        plan = best_replay(problem, 5000, objective, seconds=0.5)
        assert plan.value <= min(plan.none, plan.even)
        assert (plan.proved, plan.lower_bound) == (False, -np.inf)
        assert plan.used <= 5000


def test_a_plan_that_forgets_less_by_learning_less_says_so():
    problem = Problem.from_vectors(np.random.default_rng(0).standard_normal((3, 6)), n=50, p=400, sigma=0.3)
    text = " ".join(best_replay(problem, 700, "forgetting", seconds=0.5).summary().split())
    assert "It forgets less because it learns less: the generalization error is" in text
    assert "learns less" not in best_replay(problem, 60).summary()


def test_a_step_replays_one_old_task():
    problem = Problem.from_vectors(np.random.default_rng(0).standard_normal((10, 6)), n=50, p=400, sigma=0.3)
    plan = best_replay(problem, budget=200)
    assert plan.used == 200
    assert (np.count_nonzero(plan.replayed, axis=1) <= 1).all()


def test_replay_that_hurts_is_left_out():
    """Noisy labels close to interpolation: every replayed sample brings more noise than knowledge."""
    problem = Problem.orthogonal(T=3, n=50, p=60, sigma=3.0)
    plan = best_replay(problem, budget=5)
    assert plan.used == 0
    assert plan.value == plan.none < plan.even
    assert plan.proved
    assert "5 samples of the budget are left" in plan.summary()


def test_comparisons_are_those_of_expect():
    problem = Problem.categories("AABB", n=50, p=400, sigma=0.3)
    plan = best_replay(problem, budget=60)
    assert plan.none == pytest.approx(expect(problem).generalization, rel=1e-12)
    assert plan.even == pytest.approx(expect(problem, Curriculum.replay(problem, memory=10)).generalization, rel=1e-12)
    together = Curriculum([dict.fromkeys(range(4), 65)])
    assert plan.joint == pytest.approx(expect(problem, together).generalization, rel=1e-12)
    assert np.isnan(best_replay(problem, 6, "forgetting").joint)


def test_views():
    plan = best_replay(Problem.categories("AAAB", n=50, p=200, sigma=0.3), budget=60)
    frame = plan.to_frame()
    assert sum(frame["samples"].tolist()) == plan.used == 60
    text = plan.summary()
    assert "Model: linear, isotropic Gaussian features" in text
    assert "Proved: no replay of at most 60 samples has a lower" in text
    assert "What to mix into each step" in text
    assert plan.ratios.shape == (4,)
    assert plan.plot().get_ylabel() == "samples replayed"


def test_curve_is_that_of_expect():
    problem = Problem.categories("AAAB", n=50, p=1000, sigma=0.3)
    curve = replay_curve(problem, [0, 5, 20], learner=Ridge(10.0))
    assert curve.ratio.tolist() == [0, 0.1, 0.4]
    for m, F, G in zip(curve.memory, curve.forgetting, curve.generalization, strict=True):
        e = expect(problem, Curriculum.replay(problem, memory=int(m)) if m else None, learner=Ridge(10.0))
        assert pytest.approx((e.forgetting, e.generalization), rel=1e-9) == (F, G)
    assert len(curve.to_frame()) == 3


def test_curve_compares_with_no_replay_whatever_is_asked_for():
    problem = Problem.categories("AAAB", n=50, p=400, sigma=0.3)
    curve, full = replay_curve(problem, [40, 20, 40]), replay_curve(problem)
    assert curve.memory.tolist() == [0, 20, 40]
    assert curve.forgetting.tolist() == full.forgetting[[0, 20, 40]].tolist()
    without = expect(problem).generalization
    assert curve._answer().endswith(f"at every step, instead of {without:.6g} without replay.")


def test_curve_that_is_infinite_everywhere_says_so():
    curve = replay_curve(Problem.orthogonal(T=3, n=50, p=51, sigma=1.0))
    assert curve._answer() == "The expected generalization error is infinite with any of these numbers of samples."
    with pytest.raises(ValueError, match="nothing to draw"):
        curve.plot()


def test_curve_views():
    curve = replay_curve(Problem.categories("AAAB", n=50, p=1000, sigma=0.3))
    best = curve.best_memory("forgetting")
    assert curve.forgetting.min() == curve.forgetting[list(curve.memory).index(best)]
    assert f"with {best} samples of each old task" in curve.summary()
    axes = curve.plot()
    assert [line.get_label() for line in axes.lines][::2][:2] == [
        "expected forgetting",
        "expected generalization error",
    ]
    harmful = replay_curve(Problem.orthogonal(T=3, n=50, p=60, sigma=3.0), [0, 1, 2])
    assert "Any replay of this kind increases the expected generalization error" in harmful.summary()
    with pytest.raises(ValueError, match="quantity="):
        curve.best_memory("F")


def test_curve_is_not_flat_beside_a_peak():
    peaked = replay_curve(Problem.orthogonal(T=8, n=50, p=200, sigma=0.3))
    assert np.nanmax(peaked.generalization[np.isfinite(peaked.generalization)]) > 10 * peaked.generalization[0]
    axes = peaked.plot()
    assert axes.get_ylim()[1] < 3 * peaked.generalization[0]
    assert axes.get_ylabel() == "expected error (peaks are cut off)"
    smooth = replay_curve(Problem.categories("AAAB", n=50, p=400, sigma=0.3))
    assert smooth.plot().get_ylim()[1] > smooth.generalization.max()


@pytest.mark.parametrize("objective", ["forgetting", "generalization"])
@pytest.mark.parametrize("memory", [0, 5])
def test_best_order_with_replay_is_least_of_all(memory, objective):
    problem = random_problem(60, T=4)
    best = best_order_with_replay(problem, memory, objective)
    values = []
    for order in itertools.permutations(range(4)):
        reordered = problem.reordered(order)
        values.append(getattr(expect(reordered, Curriculum.replay(reordered, memory) if memory else None), objective))
    assert best.values == pytest.approx(np.array(values), rel=1e-10)
    assert best.value == min(best.values)


@pytest.mark.parametrize("budget", [-1, 1.5, "10", None])
def test_bad_budgets(budget):
    with pytest.raises(ValueError, match="budget="):
        best_replay(Problem.orthogonal(T=3, n=5, p=20), budget)


@pytest.mark.parametrize("objective", ["generalization", "forgetting", 0.5])
@pytest.mark.parametrize("learner", [MinimumNorm(), Ridge(2.0)])
def test_budget_of_zero_means_no_replay(objective, learner):
    problem = random_problem(60, T=4)
    plan = best_replay(problem, 0, objective, learner=learner)
    assert not plan.replayed.any()
    assert plan.value == plan.none == plan.even == plan.lower_bound
    assert plan.proved
    assert plan.curriculum.is_sequential(problem)
    text = plan.summary()
    assert "Without replay, the" in plan._answer()
    assert "Proved" not in text
    assert "this plan" not in text


def test_bad_problems():
    with pytest.raises(ValueError, match="replay needs an old task"):
        best_replay(Problem.orthogonal(T=1, n=5, p=20), 5)
    with pytest.raises(ValueError, match="expectation is infinite"):
        best_replay(Problem.orthogonal(T=2, n=19, p=20, sigma=1), 5)
    with pytest.raises(ValueError, match="learner="):
        best_replay(Problem.orthogonal(T=2, n=5, p=20), 5, learner=Ridge)  # type: ignore[arg-type]


@pytest.mark.parametrize("search", [lambda p, x: best_replay(p, 5, learner=x), lambda p, x: replay_curve(p, learner=x)])
def test_one_pass_sgd_on_mixtures_is_refused_as_in_expect(search):
    problem = Problem.orthogonal(T=3, n=20, p=60)
    with pytest.raises(ValueError, match="mixes tasks, and the result depends on the order of their samples"):
        search(problem, OnePassSgd(0.001))
    with pytest.raises(ValueError, match="mixes tasks"):
        best_order_with_replay(problem, 5, learner=OnePassSgd(0.001))
    assert best_order_with_replay(problem, 0, learner=OnePassSgd(0.001)).value > 0


def test_plans_with_which_gradient_steps_diverge_are_not_taken():
    """With 20 samples in a step the rate converges, with 80 it does not: rate (sqrt(N) + sqrt(p))^2 > 2."""
    problem, learner = Problem.categories("AAB", n=20, p=60, sigma=0.3), GradientSteps(0.011, 20)
    plan = best_replay(problem, 120, learner=learner, seconds=0.5)
    assert plan.value <= plan.none
    assert expect(problem, plan.curriculum, learner=learner).generalization == pytest.approx(plan.value)
    assert np.isinf(replay_curve(problem, [0, 60], learner=learner).generalization).tolist() == [False, True]
    with pytest.raises(ValueError, match="use a learning rate below"):
        best_replay(problem, 120, learner=GradientSteps(0.1, 20))


def test_curve_warns_where_little_is_learned():
    worse = replay_curve(Problem.categories("AABB", n=50, p=100)).summary(400)
    assert "Do not choose 26 for its low forgetting" in worse
    assert "2.29409 against 1 on average" in worse
    assert "Do not choose" not in replay_curve(Problem.identical(T=3, n=50, p=400)).summary()
