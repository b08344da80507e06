"""Simple ordering rules: each against its definition."""

import itertools

import numpy as np
import pytest

from ebbing.order import best_order
from ebbing.order._assignment import all_values
from ebbing.order.objective import Criterion
from ebbing.order.simple_rules import (
    RULES,
    alternating_order,
    farthest_order,
    greedy_order,
    largest_error_order,
    longest_path_order,
    mean_over_orders,
    periphery_to_core_order,
    random_order,
)
from ebbing.paper import proofs
from ebbing.problem import Problem
from ebbing.theory import expect

NAMES = list(RULES)
DETERMINISTIC = [name for name in NAMES if name != "random"]


def tasks(T: int, seed: int = 0, dimension: int = 3, **settings) -> Problem:
    settings = {"n": 50, "p": 100} | settings
    return Problem.from_vectors(np.random.default_rng(seed).standard_normal((T, dimension)), **settings)


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_returns_a_permutation(name):
    problems = [tasks(T, seed) for T, seed in itertools.product((1, 2, 3, 8), (0, 1))]
    problems += [Problem.identical(T=5, n=50, p=100), Problem.orthogonal(T=5, n=50, p=100), tasks(13)]
    problems += [Problem.categories("ABACCB", n=50, p=100), tasks(3, n=[5, 50, 200], sigma=[0.1, 0.3, 0.2])]
    for problem in problems:
        order = RULES[name](problem)
        assert sorted(order.tolist()) == list(range(problem.T))
        problem.reordered(order)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("greedy", [3, 0, 2, 1]),  # 7, then 0 at 49, then 3 at 9
        ("nearest", [2, 1, 0, 3]),  # the core is 3, then 1 at 4, then 0 at 1
        ("farthest", [3, 0, 1, 2]),  # 1 is at 36 + 1 from 7 and 0, task 3 at 16 + 9
        ("largest_error", [3, 0, 2, 1]),  # after 7 and 0 at r = 1/2: 9.75 on 1, 10.75 on 3
        ("periphery_to_core", [3, 0, 1, 2]),  # sums 101, 59, 41, 29
        ("core_to_periphery", [2, 1, 0, 3]),
        ("longest_path", [1, 3, 0, 2]),  # 36 + 49 + 9, from the end of sum 41 rather than 29
        ("alternating", [0, 3, 1, 2]),  # clusters 0, 1, 3 and 7
    ],
)
def test_four_tasks_on_a_line_by_hand(name, expected):
    problem = Problem.from_vectors([[0], [1], [3], [7]], n=50, p=100)
    assert RULES[name](problem).tolist() == expected


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_the_names_of_tasks_do_not_matter(name):
    for seed in range(10):
        problem = tasks(8, seed)
        relabelled = np.random.default_rng(seed).permutation(8)
        assert relabelled[RULES[name](problem.reordered(relabelled))].tolist() == RULES[name](problem).tolist()


@pytest.mark.parametrize("name", [name for name in DETERMINISTIC if name != "largest_error"])
def test_distances_alone_decide(name):
    problem = tasks(7, seed=3)
    other = tasks(7, seed=3, n=10, p=1000, sigma=0.5)
    away = Problem.from_vectors(np.random.default_rng(3).standard_normal((7, 3)), initial=[5, 0, 0], n=50, p=100)
    assert RULES[name](problem).tolist() == RULES[name](other).tolist() == RULES[name](away).tolist()


def test_equal_candidates_are_taken_as_given():
    problem = Problem.orthogonal(T=5, norm=0.1**0.5, n=50, p=100)  # distances that are equal only up to rounding
    for rule in (greedy_order, farthest_order, largest_error_order, periphery_to_core_order, alternating_order):
        assert rule(problem).tolist() == [0, 1, 2, 3, 4]


def test_largest_error_follows_the_expected_errors():
    for seed in range(5):
        problem = tasks(7, seed, n=[5, 50, 20, 120, 60, 30, 10], sigma=[0.1, 0.5, 0, 0.2, 1, 0.3, 0.1])
        errors = expect(problem.reordered(largest_error_order(problem))).errors  # (T+1, T) in the order of learning
        assert [int(np.argmax(errors[t, t:])) for t in range(problem.T)] == [0] * problem.T


def test_farthest_is_largest_error_as_r_tends_to_one():
    for seed in range(5):
        w = np.random.default_rng(seed).standard_normal((7, 4))
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        first = int(farthest_order(Problem.from_vectors(w, n=1, p=10))[0])
        w[first] *= 1 + 1e-6  # equal norms leave the first task of `largest_error` open
        problem = Problem.from_vectors(w, n=1, p=10**9)
        assert largest_error_order(problem).tolist() == farthest_order(problem).tolist()


@pytest.mark.parametrize("T", [2, 3, 5, 7])
def test_longest_path_equals_brute_force(T):
    for seed in range(5):
        problem = tasks(T, seed)
        order, d = longest_path_order(problem), problem.gaps
        length = max(sum(d[a, b] for a, b in itertools.pairwise(o)) for o in itertools.permutations(range(T)))
        assert d[order[:-1], order[1:]].sum() == pytest.approx(length, rel=1e-9)
        assert d[order[0]].sum() >= d[order[-1]].sum()


def test_longest_path_by_search_beats_greedy():
    for seed in range(3):
        problem = tasks(16, seed)
        found, pass_ = (problem.gaps[o[:-1], o[1:]].sum() for o in (longest_path_order(problem), greedy_order(problem)))
        assert found >= pass_


@pytest.mark.parametrize("counts", [(3, 3), (2, 2, 2), (1, 2, 3), (5, 1), (4, 3, 2, 1), (2, 2, 2, 2)])
def test_alternating_deals_categories_in_turn(counts):
    labels = "".join(letter * count for letter, count in zip("ABCD", counts, strict=False))
    problem = Problem.categories(labels, n=50, p=100)
    order = problem.reordered(alternating_order(problem)).names
    assert "".join(name[0] for name in order) == proofs.alternating_order(counts)


@pytest.mark.parametrize("labels", ["AAABBB", "AABBCC", "ABCABCABC"])
def test_largest_error_is_optimal_for_equal_categories(labels):
    problem = Problem.categories(labels, n=30, p=100)
    criterion = Criterion.of(problem, "forgetting")
    assert criterion.value(largest_error_order(problem)) == pytest.approx(best_order(problem).value, abs=1e-12)


def test_alternating_finds_clusters():
    kinds = np.array([0, 1, 2, 1, 0, 2, 0, 1, 2])
    w = 5 * np.eye(3)[kinds] + 0.1 * np.random.default_rng(0).standard_normal((9, 3))
    dealt = kinds[alternating_order(Problem.from_vectors(w, n=50, p=100))].reshape(3, 3)
    assert (dealt == dealt[0]).all()
    assert sorted(dealt[0]) == [0, 1, 2]


def test_periphery_to_core_is_optimal_unless_noise_differs():
    for seed in range(5):
        problem = tasks(6, seed)
        assignment, constant = Criterion.of(problem, "generalization").assignment()
        best = all_values(assignment)[1].min() + constant
        assert expect(problem.reordered(periphery_to_core_order(problem))).generalization == pytest.approx(
            best, abs=1e-12
        )
    problem = tasks(6, sigma=[0, 0, 0, 0, 0, 9])
    assert periphery_to_core_order(problem).tolist() != list(best_order(problem, "generalization").order)


def test_random_depends_on_the_seed_only():
    problem = tasks(8)
    assert random_order(problem, seed=1).tolist() == random_order(tasks(8, seed=5), seed=1).tolist()
    assert random_order(problem, seed=1).tolist() != random_order(problem, seed=2).tolist()


def test_mean_over_orders_equals_enumeration():
    for T, objective in itertools.product((2, 3, 6), ("forgetting", "generalization")):
        assignment, _ = Criterion.of(tasks(T, seed=T, n=20), objective).assignment()
        assert mean_over_orders(assignment) == pytest.approx(all_values(assignment)[1].mean(), abs=1e-12)
