"""The best order of tasks that are replayed: all orders, sets of tasks, local search."""

import itertools
import signal
import threading
import time

import numpy as np
import pytest

from ebbing import Averaged, Curriculum, GradientSteps, Problem, Ridge, expect
from ebbing.learners import MinimumNorm
from ebbing.order import best_order_with_replay, replay_order
from ebbing.order._clock import Clock
from ebbing.order._replay_orders import ReplayOrders, _moved
from ebbing.order.objective import Criterion


def random_problem(T, seed=0, p=60):
    rng = np.random.default_rng([T, seed])
    return Problem.from_vectors(
        rng.standard_normal((T, 3)), n=rng.integers(3, 9, T).tolist(), p=p, sigma=rng.random(T) * 0.8
    )


def all_orders(T):
    return np.array(list(itertools.permutations(range(T))))


@pytest.mark.parametrize("learner", [MinimumNorm(), Averaged(0.5), Ridge(4.0), GradientSteps(0.01, 9)], ids=str)
@pytest.mark.parametrize("objective", ["forgetting", "generalization"])
def test_values_are_those_of_expect(learner, objective):
    for memory, p in ((0, 60), (3, 60), (7, 12)):
        problem = random_problem(5, seed=memory, p=p)
        replayed = ReplayOrders(Criterion.of(problem, objective), memory, learner)
        orders = np.random.default_rng(0).permuted(np.tile(np.arange(5), (6, 1)), axis=1)
        for order, value in zip(orders, replayed.values(orders), strict=True):
            reordered = problem.reordered(order)
            plan = Curriculum.replay(reordered, memory) if memory else None
            try:
                exact = getattr(expect(reordered, plan, learner=learner), objective)
            except ValueError:  # infinite, or a rate that diverges
                exact = np.inf
            assert value == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("p", "memory"), [(60, 4), (60, 0), (6, 2), (20, 3)])
def test_sets_of_tasks_give_the_best_of_all_orders(seed, p, memory):
    """Over- and underparameterized steps, and both along one order."""
    problem = random_problem(6, seed, p)
    if p == 6:
        problem = problem.replace(n=problem.n + 6)
    replayed = ReplayOrders(Criterion.of(problem, "generalization"), memory, MinimumNorm())
    values = replayed.values(all_orders(6))
    assert replayed.values(replayed.best_by_sets()[None])[0] == pytest.approx(values.min(), rel=1e-12)
    assert replayed.floor() <= values.min() * (1 + 1e-12)


@pytest.mark.parametrize("objective", ["forgetting", 0.5, "generalization"])
def test_local_search_finds_the_best_of_all_orders(objective, monkeypatch):
    problem = random_problem(7, 3)
    proved = best_order_with_replay(problem, 3, objective)
    monkeypatch.setattr(replay_order, "ALL_ORDERS", 1)
    monkeypatch.setattr(ReplayOrders, "by_sets", False)
    found = best_order_with_replay(problem, 3, objective, seconds=1.5)
    assert found.method == "local search"
    assert found.value == pytest.approx(proved.value, rel=1e-12)
    assert found.lower_bound <= proved.value
    assert not found.proved
    assert "Not proved: found by local search" in found.summary()


@pytest.mark.parametrize("learner", [MinimumNorm(), Ridge(5.0)], ids=str)
@pytest.mark.parametrize("T", [9, 30, 50])
def test_many_tasks_are_never_worse_than_given(T, learner):
    problem = random_problem(T, p=900)
    found = best_order_with_replay(problem, 2, learner=learner, seconds=0.5)
    plan = Curriculum.replay(problem, 2)
    assert found.given == pytest.approx(expect(problem, plan, learner=learner).forgetting, rel=1e-10)
    assert found.value <= found.given
    assert sorted(found.order) == list(range(T))
    reordered = problem.reordered(found.order)
    exact = expect(reordered, Curriculum.replay(reordered, 2), learner=learner).forgetting
    assert found.value == pytest.approx(exact, rel=1e-10)
    assert np.isnan(found.worst)


def test_twelve_tasks_are_proved_for_generalization():
    problem = random_problem(12, p=200)
    found = best_order_with_replay(problem, 2, "generalization")
    assert found.proved
    assert found.lower_bound == found.value
    rng = np.random.default_rng(0)
    replayed = ReplayOrders(Criterion.of(problem, "generalization"), 2, MinimumNorm())
    assert replayed.values(rng.permuted(np.tile(np.arange(12), (3000, 1)), axis=1)).min() > found.value
    assert "Proved: no order" in found.summary()


def test_time_limit_and_interrupt_end_the_search():
    problem = random_problem(40, p=900)
    began = time.monotonic()
    best_order_with_replay(problem, 2, seconds=0.5)
    assert time.monotonic() - began < 5
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    began, lines = time.monotonic(), []
    found = best_order_with_replay(problem, 2, seconds=60, progress=lines.append)
    assert time.monotonic() - began < 20
    assert found.interrupted
    assert "interrupted" in found.summary()
    assert found.value <= found.given
    assert not Clock(60).late


def test_equal_tasks_stay_in_the_order_given():
    problem = Problem.categories("AAABBBCCCC", n=20, p=400, sigma=0.3)
    for objective in ("generalization", "forgetting"):
        names = best_order_with_replay(problem, 2, objective, seconds=0.5).names
        for kind in "ABC":
            assert [name for name in names if name[0] == kind] == sorted(name for name in names if name[0] == kind)


def test_answer_to_keep_the_order_says_what_is_proved(monkeypatch):
    problem = random_problem(5)
    problem = problem.reordered(best_order_with_replay(problem, 3).order)
    assert best_order_with_replay(problem, 3)._answer().endswith("and no order has less.")
    monkeypatch.setattr(replay_order, "ALL_ORDERS", 1)
    found = best_order_with_replay(problem, 3, seconds=0.5)
    assert not found.proved
    assert found._answer().endswith("and no better order was found.")


def test_moves_swap_and_carry():
    order = np.arange(5)
    assert _moved(order, True, 1, 3).tolist() == [0, 3, 2, 1, 4]
    assert _moved(order, False, 1, 3).tolist() == [0, 2, 3, 1, 4]
    assert _moved(order, False, 3, 1).tolist() == [0, 3, 1, 2, 4]


def test_infinite_orders_and_bad_arguments():
    problem = Problem.orthogonal(T=9, n=10, p=31, sigma=0.3)
    with pytest.raises(ValueError, match=r"memory=10: in every order .* within 1 of p=31 .* Ridge"):
        best_order_with_replay(problem, 10, seconds=0.2)
    assert np.isfinite(best_order_with_replay(problem, 10, learner=Ridge(1.0), seconds=0.2).value)
    with pytest.raises(ValueError, match="memory=-1"):
        best_order_with_replay(problem, -1)
    with pytest.raises(ValueError, match="seconds=0"):
        best_order_with_replay(problem, 1, seconds=0)
    with pytest.raises(ValueError, match="at least two tasks"):
        best_order_with_replay(Problem.orthogonal(T=1, n=10, p=40), 1)


def test_summary_names_the_model_and_warns_of_little_learning():
    found = best_order_with_replay(Problem.categories("AAB", n=50, p=10**6), memory=10)
    text = " ".join(found.summary().split())
    assert "Model: linear, isotropic Gaussian features" in text
    assert "10 fresh samples of each old task are replayed" in text
    assert "hardly learned" in text
    assert "hardly" not in best_order_with_replay(Problem.categories("AAB", n=50, p=100), memory=10).summary()
