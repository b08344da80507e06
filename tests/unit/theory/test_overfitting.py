"""Theory over all p: the descent floor and overfitting against brute force."""

from collections.abc import Callable

import numpy as np
import pytest
from problems import INF, two_tasks

from ebbing.problem import Problem
from ebbing.theory import benign_overfitting, descent_floor, expect

LANDSCAPES: dict[str, Callable[[float], Problem]] = {
    "identical": lambda sigma: Problem.identical(T=8, n=10, p=100, sigma=sigma),
    "orthogonal": lambda sigma: Problem.orthogonal(T=3, n=10, p=100, sigma=sigma),
    "two similar tasks": lambda sigma: two_tasks([1, 0.0], [0.9, 0.3], n=12, p=100, sigma=sigma),
    "opposite tasks": lambda sigma: two_tasks([1, 0.0], [-1, 0.0], n=12, p=100, sigma=sigma),
    "unequal n": lambda sigma: Problem.identical(T=3, n=[4, 9, 15], p=100, sigma=[sigma, 0, sigma]),
    "missing features": lambda sigma: Problem.identical(T=3, n=9, p=100, sigma=sigma, unmodeled=0.05),
    "ABAB": lambda sigma: Problem.categories("ABAB", n=9, p=100, sigma=sigma),
}


def brute_force(problem, of, sizes):
    """The first p with the lowest value, one call of `expect` each."""
    values = [(getattr(expect(problem.replace(p=p)), of), p) for p in sizes]
    value, p = min(values)
    return p, value


@pytest.mark.parametrize("of", ["forgetting", "generalization"])
@pytest.mark.parametrize("sigma", [0.0, 0.2, 2.0])
@pytest.mark.parametrize("name", LANDSCAPES)
def test_floor_and_overfitting_against_brute_force(name, sigma, of):
    problem = LANDSCAPES[name](sigma)
    limit = 0.0 if of == "forgetting" else problem.start.mean()
    first, last = int(problem.n.max()) + 2, 400
    p, value = brute_force(problem, of, range(first, last + 1))
    floor = descent_floor(problem, of=of)
    assert floor.limit == limit
    assert floor.first == pytest.approx(getattr(expect(problem.replace(p=first)), of), rel=1e-13)
    if value < limit - 1e-9:
        assert p < last  # the search went far enough
        assert floor.p == p
        assert floor.value == pytest.approx(value, rel=1e-12)
        assert floor.exists == (p > first)
    else:
        assert not floor.exists
        assert floor.p == INF
        assert floor.value == limit

    verdict = benign_overfitting(problem, of=of)
    under_p, under = brute_force(problem, of, range(problem.rank, int(problem.n.min()) - 1))
    assert verdict.under == pytest.approx(under, rel=1e-12)
    assert verdict.under_p == under_p or under == pytest.approx(
        getattr(expect(problem.replace(p=int(verdict.under_p))), of), rel=1e-12
    )
    assert (verdict.over_p, verdict.over) == (floor.p, floor.value)
    assert verdict.benign == (floor.value < under)
    assert verdict.advantage == pytest.approx(under - floor.value, rel=1e-9, abs=1e-12)


def test_the_landscapes_above_have_floors_and_none():
    floors = [
        descent_floor(make(sigma), of=of).exists
        for make in LANDSCAPES.values()
        for sigma in (0.0, 0.2, 2.0)
        for of in ("forgetting", "generalization")
    ]
    assert 5 < sum(floors) < len(floors) - 5


def test_no_underparameterized_p_at_all():
    verdict = benign_overfitting(Problem.identical(T=3, n=2, p=100, sigma=0.3))
    assert np.isnan(verdict.under_p)
    assert np.isnan(verdict.under)
    assert np.isfinite(verdict.over)


@pytest.mark.parametrize("of", ["forgetting", "generalization"])
@pytest.mark.parametrize("n", [10**6, 10**9, 10**11, 10**13])
def test_the_floor_scales_with_n(n, of):
    """For large n only n/p matters. The value at p = n + 2 grows like n, and must not hide the floor."""
    floor = descent_floor(Problem.identical(T=8, n=n, p=100, sigma=0.3), of=of)
    reference = descent_floor(Problem.identical(T=8, n=10**7, p=100, sigma=0.3), of=of)
    assert floor.exists
    assert floor.value == pytest.approx(reference.value, rel=1e-5)
    assert floor.p / n == pytest.approx(reference.p / 10**7, rel=1e-3)


def test_floors_beyond_the_largest_p_are_not_denied():
    """The floor of n = 2^52 is at p > 2^53: say so, rather than that there is none."""
    with pytest.raises(ValueError, match="n"):
        descent_floor(Problem.identical(T=8, n=2**52, p=100, sigma=0.3))


@pytest.mark.parametrize("function", [descent_floor, benign_overfitting])
def test_quantities_are_checked(function):
    with pytest.raises(ValueError, match="of='loss': give 'forgetting' or 'generalization'"):
        function(Problem.orthogonal(T=2, n=5, p=20), of="loss")
