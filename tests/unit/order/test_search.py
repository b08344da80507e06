"""The searches over orders against brute force, and each fast part against its plain form."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbing.order import _branch_and_bound, _local_search, _local_search_kernels
from ebbing.order._assignment import Assignment, Types, all_values, value_reference
from ebbing.order._bounds import convex_bound, projected_eigenvectors
from ebbing.order._branch_and_bound import prove, ties
from ebbing.order._local_search import search
from ebbing.order._minorant import lap_workspace, last_places, minorant, solve_lap

RATES = [0.0, 1e-3, 0.1, 0.3, 0.6, 0.9, 0.999]


def euclidean(T: int, r: float, seed, dimension: int = 6) -> Assignment:
    """The forgetting of random Gaussian tasks, without noise."""
    w = np.random.default_rng(seed).standard_normal((T, dimension))
    d = np.square(w[:, None] - w[None]).sum(-1)
    d, j = (d + d.T) / 2, np.arange(T)
    linear = np.outer(d.sum(1), (1 - r) * r ** (T - 1 - j))
    linear += np.outer(np.square(w).sum(1), (r**T - r ** (j + 1)) * (j < T - 1))
    return Assignment(linear, (1 - r) * r**j, d)


def with_kinds(problem: Assignment, kinds: list[int]) -> Assignment:
    """Task t replaced by a copy of task kinds[t]."""
    return Assignment(problem.linear[kinds], problem.kernel, problem.distance[np.ix_(kinds, kinds)])


def equidistant(counts: list[int], r: float) -> Assignment:
    """Categories at distance 1 of one another, no linear term: interchangeable where counts agree, and reversible."""
    kind = np.repeat(np.arange(len(counts)), counts)
    T = len(kind)
    return Assignment(np.zeros((T, T)), (1 - r) * r ** np.arange(T), (kind[:, None] != kind[None]).astype(float))


def instances():
    """A mixed bag: dimensions, rates, copies of tasks, no or random linear terms, the worst order, kernel zero."""
    random = np.random.default_rng(5)
    for i in range(150):
        T = int(random.integers(1, 8)) if i else 8
        problem = euclidean(T, RATES[i % len(RATES)], [T, i], dimension=int(random.integers(1, 7)))
        if i % 4 == 1:
            problem = with_kinds(problem, random.integers(0, min(T, 3), T).tolist())
        if i % 5 == 2:
            problem = Assignment(np.zeros((T, T)), problem.kernel, problem.distance)
        if i % 5 == 3:
            problem = Assignment(random.standard_normal((T, T)), problem.kernel, problem.distance)
        if i % 3 == 2:
            problem = problem.negated()
        yield problem
    yield from (equidistant(counts, 0.5) for counts in ([3, 3], [2, 2, 2], [1, 1, 1, 1, 1], [4, 2], [2, 2, 1], [1, 6]))


def test_value_equals_the_plain_sum():
    for problem in itertools.islice(instances(), 40):
        order = np.random.default_rng(0).permutation(problem.T)
        assert problem.value(order) == pytest.approx(value_reference(problem, order), abs=1e-12, rel=1e-12)
        assert problem.negated().value(order) == pytest.approx(-problem.value(order))
        assert problem.reversed().value(order[::-1]) == pytest.approx(problem.value(order))


def test_exact_search_bounds_and_ties_equal_brute_force():
    for problem in instances():
        _, values = all_values(problem)
        best = values.min()
        proof = prove(problem)
        assert proof.proved
        assert proof.lower_bound == proof.value == pytest.approx(problem.value(proof.order))
        assert abs(proof.value - best) <= proof.tolerance
        assert convex_bound(problem).value <= best + proof.tolerance
        tied = ties(problem, proof.value, cap=6000)
        assert tied.complete
        assert tied.count == np.count_nonzero(values <= best + proof.tolerance)
        assert len({tuple(order) for order in tied.orders.tolist()}) == len(tied.orders)
        assert max(problem.value(order) for order in tied.orders) <= best + 2 * proof.tolerance


def test_exact_search_succeeds_from_the_worst_incumbent():
    for seed in range(10):
        problem = euclidean(7, RATES[seed % 7], seed)
        orders, values = all_values(problem)
        proof = prove(problem, incumbent=orders[values.argmax()])
        assert abs(proof.value - values.min()) <= proof.tolerance


@settings(max_examples=40, deadline=None)
@given(
    points=st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=2, max_size=6),
    rate=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
    tilt=st.sampled_from([0.0, 1.0, -3.0]),
)
def test_degenerate_tasks_on_a_small_grid(points, rate, tilt):
    w = np.array(points, dtype=float)
    T = len(w)
    d = np.square(w[:, None] - w[None]).sum(-1)
    problem = Assignment(tilt * np.outer(np.square(w).sum(1), np.arange(T)), rate ** np.arange(T), d)
    best = all_values(problem)[1].min()
    assert abs(prove(problem).value - best) <= problem.tolerance
    assert abs(prove(problem, symmetries=False).value - best) <= problem.tolerance
    assert convex_bound(problem).value <= best + problem.tolerance


@pytest.mark.parametrize("counts", [[4, 4], [3, 3, 3], [2, 2, 2, 2], [5, 4], [3, 3, 1, 1], [1] * 9])
@pytest.mark.parametrize("r", [0.2, 0.7])
def test_symmetries_change_the_work_not_the_optimum(counts, r):
    problem = equidistant(counts, r)
    with_symmetries, without = prove(problem), prove(problem, symmetries=False)
    assert with_symmetries.proved
    assert without.proved
    assert with_symmetries.value == pytest.approx(without.value, abs=problem.tolerance)
    assert with_symmetries.prefixes <= without.prefixes


def test_symmetries_are_found_and_only_where_they_hold():
    types = Types.of(equidistant([2, 2, 1], 0.5))
    assert [len(m) for m in types.members] == [2, 2, 1]
    assert types.interchangeable().tolist() == [-1, 0, -1]
    assert types.reversible
    generic = Types.of(euclidean(5, 0.5, 0))
    assert generic.interchangeable().tolist() == [-1] * 5
    assert not generic.reversible


def test_bounds_of_all_partial_orders_hold(monkeypatch):
    """Of every prefix kept, the bound is below its best completion; of every one dropped, a kept one is as good."""
    seen, children = [], _branch_and_bound._children

    def watched(*arguments):
        seen.append(children(*arguments))
        return seen[-1]

    monkeypatch.setattr(_branch_and_bound, "_children", watched)
    for seed, r in itertools.product(range(3), [0.1, 0.5, 0.9]):
        problem = euclidean(6, r, seed)
        types = Types.of(problem)
        orders, values = all_values(problem)
        rules = _branch_and_bound._Rules(np.full(6, -1), None, 0.0, np.inf)
        batch = _branch_and_bound._root(types, rules)
        for j in range(1, 7):
            batch = _branch_and_bound._children(types, batch, rules, np.inf)
            assert batch is not None
            best = []
            for prefix, V, bound in zip(batch.prefix[:, :j], batch.V, batch.bound, strict=True):
                completions = values[(orders[:, :j] == prefix).all(1)]
                best.append(completions.min())
                assert bound + types.offset <= best[-1] + 1e-9
                if j == 6:
                    assert V + types.offset == pytest.approx(best[-1])
            assert min(best) == pytest.approx(values.min())  # dominance never loses the optimum
        for code in np.unique(seen[-4].code):  # nor, for any set, the best prefix for any fixed arrangement of the rest
            kept = seen[-4].prefix[seen[-4].code == code, :3]
            rest = sorted(set(range(6)) - set(kept[0].tolist()))
            for tail in itertools.permutations(rest):
                heads = [problem.value([*head, *tail]) for head in itertools.permutations(kept[0].tolist())]
                assert min(problem.value([*head, *tail]) for head in kept.tolist()) == pytest.approx(min(heads))


def test_interrupted_search_returns_an_order_and_a_bound(monkeypatch):
    monkeypatch.setattr(_branch_and_bound, "_BATCH", 40)
    monkeypatch.setattr(_branch_and_bound, "_SLICE", 50)
    problem = euclidean(11, 0.3, 3)
    best = prove(problem).value
    for stop in (0, 1, 3, 8, 20):
        calls = []

        def interrupt(state, stop=stop, calls=calls):
            calls.append(state)
            if len(calls) > stop:
                raise KeyboardInterrupt

        proof = prove(problem, incumbent=np.arange(11), progress=interrupt)
        assert not proof.proved
        assert proof.lower_bound <= best <= proof.value == pytest.approx(problem.value(proof.order))
        assert np.isfinite(proof.lower_bound)
        assert all(a.value >= b.value for a, b in itertools.pairwise(calls))
    late = prove(problem, seconds=0.0)
    assert not late.proved
    assert late.lower_bound <= best <= late.value


def test_small_batches_give_the_same_optimum(monkeypatch):
    problem = euclidean(11, 0.6, 1)
    whole = prove(problem)
    monkeypatch.setattr(_branch_and_bound, "_BATCH", 7)
    assert prove(problem).value == pytest.approx(whole.value)


def test_ties_stop_at_the_cap():
    problem = Assignment(np.zeros((8, 8)), np.zeros(8), 1 - np.eye(8))
    tied = ties(problem, 0.0, cap=10)
    assert len(tied.orders) == 10 or tied.count == 40320  # all tasks alike are one type, hence one sequence
    spread = euclidean(8, 0.0, 0)
    tied = ties(Assignment(np.zeros((8, 8)), np.zeros(8), spread.distance), 0.0, cap=10)
    assert tied.count >= 10


def test_compiled_bound_agrees_with_the_plain_one():
    """Same ingredients, other step counts: both valid, and close to each other."""
    for seed, r in itertools.product(range(5), [0.1, 0.5, 0.9]):
        problem = euclidean(7, r, seed)
        types = Types.of(problem)
        tasks = (types.linear, types.distance, types.k1, types.rho)
        bounding = last_places(types.k1, types.rho, 7), -0.75 * types.distance.sum(1) / 7
        lap = lap_workspace(7)
        M, constant = minorant(tasks, np.arange(7), np.zeros(7), bounding, lap)
        below = solve_lap(M, lap) + constant + types.offset
        orders, values = all_values(problem)
        spread = values.mean() - values.min()
        assert below <= values.min() + 1e-9
        assert below == pytest.approx(convex_bound(problem, steps=8).value, abs=0.1 * spread)
        assert (M[orders, np.arange(7)].sum(1) + constant <= values - types.offset + 1e-9).all()


def test_eigenvectors_live_on_the_zero_sum_space():
    A = euclidean(6, 0.5, 0).distance
    values, vectors = projected_eigenvectors(A)
    J = np.eye(6) - 1 / 6
    assert np.abs(vectors.sum(0)).max() < 1e-9
    assert np.allclose((vectors * values) @ vectors.T, J @ A @ J)


@pytest.mark.parametrize("m", [1, 2, 5, 9])
def test_assignment_solver_equals_scipy(m):
    from scipy.optimize import linear_sum_assignment

    random, lap = np.random.default_rng(m), lap_workspace(m)
    for scale in (1.0, 1e-6, 0.0, 1e6):
        C = np.round(scale * random.standard_normal((m, m)), 7)
        total = solve_lap(C, lap)
        rows, columns = linear_sum_assignment(C)
        assert total == pytest.approx(C[rows, columns].sum(), abs=1e-9 * max(scale, 1))
        assert sorted(lap[2]) == list(range(m))
        assert C[np.arange(m), lap[3]].sum() == pytest.approx(total, abs=1e-9 * max(scale, 1))
        assert (C - lap[0][:, None] - lap[1] >= -1e-9 * max(scale, 1)).all()


def test_every_move_costs_what_recomputing_says():
    for problem in itertools.islice(instances(), 60):
        T = problem.T
        if T == 1:
            continue
        pi = np.random.default_rng(T).permutation(T)
        tasks = _local_search._embed(problem)
        fields = np.zeros_like(tasks.alpha), np.zeros_like(tasks.alpha)
        _local_search_kernels.update(tuple(tasks), pi, fields, 0, T - 1)
        for p in range(T):
            changes = {}
            for q, carry in itertools.product(range(T), [False, True]):
                moved = pi.copy()
                _local_search_kernels.move(moved, p, q, carry)
                changes[q, carry] = problem.value(moved) - problem.value(pi)
            delta, q, carry = _local_search_kernels.best_move(tuple(tasks), pi, fields, p)
            assert delta == pytest.approx(min(changes.values()), abs=1e-9)
            assert delta == pytest.approx(changes[q, carry], abs=1e-9)


def test_fields_after_a_move_equal_fields_from_scratch():
    problem = euclidean(9, 0.6, 2)
    tasks = _local_search._embed(problem)
    pi, fields = np.arange(9), (np.zeros_like(tasks.alpha), np.zeros_like(tasks.alpha))
    _local_search_kernels.update(tuple(tasks), pi, fields, 0, 8)
    _local_search_kernels.move(pi, 6, 2, True)
    _local_search_kernels.update(tuple(tasks), pi, fields, 2, 6)
    by_place, k = tasks.signed[pi], problem.kernel
    for p, (left, right) in enumerate(zip(*fields, strict=True)):
        assert np.allclose(left, k[p - np.arange(p)] @ by_place[:p])
        assert np.allclose(right, k[np.arange(p + 1, 9) - p] @ by_place[p + 1 :])


def test_local_search_finds_the_optimum_of_small_problems():
    for problem in itertools.islice(instances(), 60):
        assert search(problem, rounds=300).value <= all_values(problem)[1].min() + problem.tolerance


def test_local_search_depends_on_the_seed_not_on_slices(monkeypatch):
    problem = euclidean(30, 0.6, 0)
    first, again = search(problem, seed=3, rounds=400), search(problem, seed=3, rounds=400)
    assert first.order.tolist() == again.order.tolist()
    assert first.value == again.value == pytest.approx(problem.value(first.order))
    monkeypatch.setattr(_local_search, "_SLICE_WORK", 1.0)
    assert search(problem, seed=3, rounds=400).order.tolist() == first.order.tolist()


def test_interrupted_local_search_returns_its_best_order():
    problem = euclidean(40, 0.3, 0)
    states = []

    def interrupt(state):
        states.append(state)
        raise KeyboardInterrupt

    found = search(problem, progress=interrupt)
    assert found.value == states[-1].value == pytest.approx(problem.value(found.order))
    start = search(problem, rounds=2000).order
    assert search(problem, start=start, rounds=1, seed=1).value <= problem.value(start) + 1e-12
    assert sorted(search(problem, seconds=0.0).order.tolist()) == list(range(40))


def test_large_problem_has_an_order_and_a_bound_below_it():
    problem = euclidean(120, 0.6, 0)
    found = search(problem, rounds=30)
    below = convex_bound(problem, steps=10).value
    random = np.mean([problem.value(np.random.default_rng(i).permutation(120)) for i in range(20)])
    assert below <= found.value
    assert found.value - below < 0.25 * (random - below)


def test_categories_reach_far_beyond_single_tasks():
    proof = prove(equidistant([10, 10, 10], 0.5))
    assert proof.proved
    order = proof.order // 10
    assert all(a != b for a, b in itertools.pairwise(order))


@pytest.mark.parametrize(
    ("linear", "kernel", "distance", "message"),
    [
        (np.zeros((2, 2)), [0, 1, 1], np.zeros((3, 3)), "shapes"),
        (np.zeros((2, 2)), [0, np.nan], np.zeros((2, 2)), "finite"),
        (np.zeros((2, 2)), [0, 1], [[0, 1], [2, 0]], "symmetric"),
        (np.zeros((2, 2)), [0, 1], np.ones((2, 2)), "zero diagonal"),
    ],
)
def test_bad_input_raises_an_error(linear, kernel, distance, message):
    with pytest.raises(ValueError, match=message):
        Assignment(linear, kernel, distance)


def test_searches_raise_errors_beyond_their_limits():
    other = Assignment(np.zeros((4, 4)), [0, 1, 0.5, 0.1], 1 - np.eye(4))
    with pytest.raises(ValueError, match="rho"):
        prove(other)
    with pytest.raises(ValueError, match="62"):
        prove(euclidean(70, 0.5, 0), incumbent=np.arange(70))
    with pytest.raises(ValueError, match="each of the tasks"):
        other.value([0, 1, 2, 2])
    with pytest.raises(ValueError, match="brute force"):
        all_values(euclidean(10, 0.5, 0))
