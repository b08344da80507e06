"""`best_order` and its relatives against brute force, for every objective and regime."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from ebbing.order import _unequal, _unequal_kernels, best_order, front, random_orders, stakes, worst_order
from ebbing.order.objective import Criterion
from ebbing.problem import Problem
from ebbing.theory import expect

OBJECTIVES = ["forgetting", "generalization", {"forgetting": 0.3, "generalization": 2.0}]


def random_problem(rng, T, kind):
    """Tasks in both regimes; `unequal` differs in n and sigma, `mixed` also in regime."""
    vectors = rng.standard_normal((T, int(rng.integers(1, 5))))
    match kind:
        case "equal":
            settings = {"n": int(rng.integers(1, 60)), "p": 80, "sigma": float(rng.uniform(0, 1))}
        case "underparameterized":
            settings = {"n": 80, "p": int(rng.integers(T, 60)), "sigma": float(rng.uniform(0, 1))}
        case "unequal":
            settings = {"n": rng.integers(1, 60, T), "p": 80, "sigma": rng.uniform(0, 1, T)}
        case _:
            settings = {"n": rng.choice([10, 20, 100, 200], T), "p": 50, "sigma": rng.uniform(0, 1, T)}
    return Problem.from_vectors(vectors, **settings)


def brute_force(problem, objective):
    """Every order through `expect`, nothing else."""
    weights = {objective: 1.0} if isinstance(objective, str) else objective
    values = {}
    for order in permutations(range(problem.T)):
        e = expect(problem.reordered(order))
        values[order] = (
            weights.get("forgetting", 0) * e.forgetting + weights.get("generalization", 0) * e.generalization
        )
    return values


@pytest.mark.parametrize("objective", OBJECTIVES, ids=["F", "G", "mix"])
@pytest.mark.parametrize("kind", ["equal", "underparameterized", "unequal", "mixed"])
def test_best_and_worst_orders_equal_brute_force(kind, objective):
    rng = np.random.default_rng(5)
    for T in (2, 3, 4, 5, 5):
        problem = random_problem(rng, T, kind)
        values = brute_force(problem, objective)
        scale = max(map(abs, values.values()))
        plan, worst = best_order(problem, objective), worst_order(problem, objective)
        assert plan.proved
        assert plan.value == pytest.approx(min(values.values()), abs=1e-11 * scale)
        assert plan.value == pytest.approx(values[plan.order], abs=1e-14 * scale)
        assert plan.lower_bound == plan.value
        assert worst.value == pytest.approx(max(values.values()), abs=1e-11 * scale)
        if plan.ties is not None:
            # Ties are counted within the search's tolerance; brute force within rounding.
            assert plan.ties == sum(value <= plan.value + 1e-12 * scale for value in values.values())


@pytest.mark.parametrize("kind", ["unequal", "mixed"])
def test_bounds_for_unequal_tasks_are_valid(kind):
    """At the root and after every prefix: no completion is below the bound."""
    rng = np.random.default_rng(6)
    for _ in range(6):
        problem = random_problem(rng, 5, kind)
        recursion = _unequal.Recursion.of(problem, *Criterion.of(problem, "forgetting").coefficients)
        by_error = _unequal.generalization_order(recursion).astype(np.int64)
        values = {order: recursion.value(order) for order in permutations(range(5))}
        assert _unequal.lower_bound(recursion) <= min(values.values())
        for length in (1, 2, 3):
            for prefix in permutations(range(5), length):
                best = min(value for order, value in values.items() if order[:length] == prefix)
                rows, learned = np.empty((6, 5)), np.zeros(6)
                rows[0] = recursion.start
                rest = [t for t in range(5) if t not in prefix]
                _unequal_kernels.learn_rest(*recursion.arrays, np.array([*prefix, *rest]), rows, learned, 0)
                used = np.isin(np.arange(5), prefix)
                criterion = (*recursion.arrays, recursion.noise_floor, recursion.a, recursion.b, by_error)
                bound = _unequal_kernels.completion_bound(*criterion, rows[length], learned[length], used)
                assert bound <= best + recursion.tolerance


def test_identical_tasks_keep_the_order_given():
    plan = best_order(Problem.categories("BBAA", n=50, p=100))
    assert plan.names == ("B1", "A1", "B2", "A2")
    assert plan.ties == 8
    unequal_plan = best_order(Problem.categories("AABB", n=[50, 50, 20, 20], p=100))
    assert [name for name in unequal_plan.names if name[0] == "A"] == ["A1", "A2"]


def test_generalization_is_sorted_by_gap_and_noise():
    """The sort of the docs: decreasing mean gap plus q / (1 - r)."""
    problem = Problem.from_vectors([[0.0], [1.0], [2.0], [6.0]], n=20, p=50, sigma=[0, 3.0, 0, 0])
    assert best_order(problem, "generalization").order[0] in (1, 3)
    assert best_order(problem.replace(sigma=0), "generalization").order[0] == 3


@pytest.mark.parametrize("equal", [True, False])
def test_out_of_time_gives_a_valid_bound(equal):
    rng = np.random.default_rng(7)
    n = 400 if equal else rng.integers(300, 500, 40)
    problem = Problem.from_vectors(rng.standard_normal((40, 6)), n=n, p=1000)
    plan = best_order(problem, seconds=0.3)
    assert not plan.proved
    assert plan.lower_bound < plan.value < random_orders(problem, sampled=50).mean
    assert plan.gap == plan.value - plan.lower_bound


def test_larger_problems_are_solved_as_well_as_their_bound_shows():
    rng = np.random.default_rng(8)
    problem = Problem.from_vectors(rng.standard_normal((60, 4)), n=100, p=1000)
    plan = best_order(problem, seconds=3)
    chance = random_orders(problem, sampled=100)
    assert plan.gap < 0.1 * (chance.mean - plan.value)


def test_progress_is_reported():
    lines = []
    best_order(
        Problem.from_vectors(np.random.default_rng(9).standard_normal((9, 4)), n=40, p=100), progress=lines.append
    )
    assert any(line.startswith("best") for line in lines)


def test_same_seed_same_plan():
    problem = Problem.from_vectors(np.random.default_rng(10).standard_normal((9, 4)), n=range(10, 55, 5), p=100)
    assert best_order(problem, seed=3).order == best_order(problem, seed=3).order


def test_front_corners_are_the_convex_hull_of_all_orders():
    rng = np.random.default_rng(11)
    for kind in ("equal", "unequal"):
        problem = random_problem(rng, 6, kind)
        every = np.array([
            (e.forgetting, e.generalization)
            for e in (expect(problem.reordered(order)) for order in permutations(range(6)))
        ])  # fmt: skip
        points = front(problem)
        corners = np.array([(point.forgetting, point.generalization) for point in points])
        assert all(point.proved for point in points)
        assert corners[0, 0] == pytest.approx(every[:, 0].min(), rel=1e-6)
        assert corners[-1, 1] == pytest.approx(every[:, 1].min(), rel=1e-6)
        assert np.all(np.diff(corners[:, 0]) > 0)
        assert np.all(np.diff(corners[:, 1]) < 0)
        # No order lies below any line between neighboring corners.
        for (f1, g1), (f2, g2) in pairwise(corners):
            below = (g1 - g2) * (every[:, 0] - f1) + (f2 - f1) * (every[:, 1] - g1)
            assert below.min() > -1e-9


def test_front_of_one_point_when_one_order_is_best_for_both():
    points = front(Problem.categories("AABB", n=50, p=100))
    assert len(points) == 1


def test_random_orders_come_near_the_mean_over_all_orders():
    problem = random_problem(np.random.default_rng(12), 5, "unequal")
    chance = random_orders(problem, sampled=2000)
    values = np.array(list(brute_force(problem, "forgetting").values()))
    assert abs(chance.mean - values.mean()) < 4 * chance.standard_error


def test_stakes_of_a_single_task():
    found = stakes(Problem.orthogonal(T=1, n=5, p=10), "generalization")
    assert found.plan.order == (0,)
    assert found.plan.value == found.given == found.worst.value


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("forgeting", "give 'forgetting'"),
        ({}, "give 'forgetting'"),
        ({"forgetting": -1.0}, "not be negative"),
        ({"forgetting": 0.0}, "must be positive"),
        ({"forgetting": float("nan")}, "finite"),
        ({"forgetting": 1.0, "memory": 1.0}, "give 'forgetting'"),
    ],
)
def test_bad_objectives_raise(objective, words):
    with pytest.raises(ValueError, match=words):
        best_order(Problem.orthogonal(T=3, n=5, p=10), objective)


def test_problems_without_an_answer_raise():
    with pytest.raises(ValueError, match="at least two tasks"):
        best_order(Problem.orthogonal(T=1, n=5, p=10))
    with pytest.raises(ValueError, match="infinite"):
        best_order(Problem.orthogonal(T=3, n=9, p=10, sigma=0.1))


@pytest.mark.parametrize(
    "problem",
    [
        Problem.from_vectors(np.random.default_rng(0).standard_normal((30, 5)), n=50, p=100),
        Problem.from_vectors(np.random.default_rng(0).standard_normal((14, 5)), n=50, p=100),
        Problem.from_vectors(np.random.default_rng(0).standard_normal((11, 5)), n=range(40, 51), p=100),
    ],
    ids=["local search", "proof", "unequal"],
)
def test_ctrl_c_ends_the_whole_search(problem, monkeypatch):
    reported, given = [], {}

    def interrupt(words):
        reported.append(words)
        if words.startswith("best"):
            raise KeyboardInterrupt

    def worst(problem, objective, **settings):
        given.update(settings)
        return worst_order(problem, objective, **settings)

    monkeypatch.setattr("ebbing.order._stakes.worst_order", worst)
    found = stakes(problem, seconds=3600.0, progress=interrupt)
    assert sum(words.startswith("best") for words in reported) == 1  # no other search has begun
    assert given["seconds"] <= 1.0
    assert found.plan.interrupted
    assert not found.plan.proved
    assert found.plan.lower_bound <= found.plan.value <= found.given + 1e-12
    points = front(problem, seconds=3600.0, progress=interrupt)
    assert 1 <= len(points) <= 2
    assert not points.complete


def test_a_single_weight_is_the_mix_of_the_command():
    problem = Problem.categories("AAB", n=50, p=100, sigma=0.3)
    mixed = best_order(problem, {"forgetting": 0.7, "generalization": 1 - 0.7})
    assert best_order(problem, 0.7).value == mixed.value
    assert best_order(problem, 0.7).summary() == mixed.summary()


@pytest.mark.parametrize("search", [best_order, worst_order, stakes, front])
@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), "1", True])
def test_searches_need_a_positive_time(search, seconds):
    with pytest.raises(ValueError, match="give a positive number of seconds"):
        search(Problem.categories("AAB", n=50, p=100), seconds=seconds)


@pytest.mark.parametrize("objective", [2, -0.1, ["forgetting"], None])
def test_unknown_objectives_raise_a_clear_error(objective):
    with pytest.raises(ValueError, match="give 'forgetting', 'generalization', the weight of forgetting"):
        best_order(Problem.categories("AAB", n=50, p=100), objective)


@pytest.mark.parametrize("function", [expect, best_order, worst_order, stakes, front])
def test_a_matrix_instead_of_a_problem_raises(function):
    with pytest.raises(ValueError, match="problem is a list: give a Problem"):
        function([[0, 2], [2, 0]])
