"""Time limits and Ctrl-C: a search ends, and its order is never worse than the one given and the simple rules."""

import signal
import threading
import time

import numpy as np
import pytest
from order_limits import OBJECTIVES, check, random_problem, search

from ebbing.order import _best_order, _compilation, best_order, front, stakes, worst_order
from ebbing.order._assignment import Assignment, all_values
from ebbing.order._clock import Clock, defer_interrupts, heed_interrupts, interrupt_requested
from ebbing.order._known_orders import KnownOrders, order_values
from ebbing.order._minorant import lap_workspace, solve_lap
from ebbing.order._quick_bound import quick_bound
from ebbing.order._search_space import nearest_equivalent, provable
from ebbing.order.objective import Criterion
from ebbing.order.simple_rules import CHEAP_RULES
from ebbing.problem import Problem


def press_ctrl_c(*_):
    signal.raise_signal(signal.SIGINT)


def gaussian(T, seed=0, **settings):
    return Problem.from_vectors(np.random.default_rng(seed).standard_normal((T, 4)), **settings)


@pytest.mark.parametrize("seed", range(30))
def test_no_result_is_worse_than_a_known_order(seed):
    random = np.random.default_rng([seed, 17])
    T = int(np.exp(random.uniform(np.log(2), np.log(80))))
    problem, objective = random_problem(random, T), OBJECTIVES[seed % len(OBJECTIVES)]
    limit = float(np.exp(random.uniform(np.log(0.001), np.log(0.3))))
    interrupt = float(random.uniform(0, limit)) if seed % 2 else None
    for find in ("best", "worst"):
        check(search(find, problem, objective, limit, interrupt), problem, objective)


@pytest.mark.parametrize("uniform", [True, False])
def test_a_thousand_tasks_without_time(uniform):
    n = 300 if uniform else np.arange(100, 1100)
    problem = Problem.from_vectors(np.random.default_rng(0).standard_normal((1000, 6)), n=n, p=2000)
    check(search("best", problem, "forgetting", 0.001, None), problem, "forgetting")


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("T", [6, 16, 30])
def test_ctrl_c_before_the_search_returns_a_known_order(T, uniform):
    problem = gaussian(T, n=50 if uniform else range(30, 30 + T), p=100)
    with heed_interrupts():
        press_ctrl_c()
        found = stakes(problem, seconds=3600.0)
        corners = front(problem, seconds=3600.0)
    assert found.plan.interrupted
    assert found.plan.value <= min(found.given, found.random.values.min()) + 1e-12
    assert found.worst.value >= max(found.given, found.random.values.max()) - 1e-12
    assert found.plan.lower_bound <= found.plan.value
    assert len(corners) >= 1


def test_ctrl_c_while_compiling_returns_a_known_order(monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(_compilation._Compilation, "started", {})
    monkeypatch.setattr(_best_order, "_search_three_tasks", lambda equal: released.wait(60))
    lines = []

    def interrupt(line):
        lines.append(line)
        press_ctrl_c()

    problem = gaussian(30, n=50, p=100)
    found = stakes(problem, seconds=3600.0, progress=interrupt)
    assert _compilation.compiling()
    released.set()
    assert len(lines) == 1
    assert "compiling the search, once; not part of its time" in lines[0]
    assert found.plan.interrupted
    assert found.plan.method.endswith("; nothing better found than the order of the rule largest_error")
    known = KnownOrders.of(Criterion.of(problem, "forgetting")).values
    assert found.plan.value <= known.min() + 1e-12
    assert found.worst.value >= known.max() - 1e-12


def test_errors_while_compiling_are_raised_each_time(monkeypatch):
    monkeypatch.setattr(_compilation._Compilation, "started", {})

    def fail(equal):
        raise OSError("no room for the cache")

    monkeypatch.setattr(_best_order, "_search_three_tasks", fail)
    for _ in range(2):
        with pytest.raises(OSError, match="no room for the cache"):
            best_order(gaussian(5, n=50, p=100))


def test_a_second_ctrl_c_raises():
    with heed_interrupts():
        press_ctrl_c()
        assert interrupt_requested()
        assert Clock().late
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()
    assert not interrupt_requested()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_deferred_interrupts_come_at_the_end():
    steps = []

    def work():
        with defer_interrupts():
            press_ctrl_c()
            steps.append("finished")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["finished"]
    with heed_interrupts():  # a search that heeds Ctrl-C itself
        with defer_interrupts():
            press_ctrl_c()
        assert interrupt_requested()


def test_foreign_handlers_of_ctrl_c_are_left_alone():
    seen = []
    previous = signal.signal(signal.SIGINT, lambda *_: seen.append(True))
    try:
        with heed_interrupts():
            press_ctrl_c()
            assert not interrupt_requested()
    finally:
        signal.signal(signal.SIGINT, previous)
    assert seen == [True]


def test_searches_run_in_other_threads():
    plans = []
    thread = threading.Thread(target=lambda: plans.append(best_order(gaussian(6, n=50, p=100))))
    thread.start()
    thread.join(60)
    assert plans[0].proved


def test_no_kernel_is_compiled_during_a_search():
    """The first search of three tasks compiles for all others, so that time limits hold."""
    from ebbing.order import _local_search_kernels, _minorant, _prefix_kernels, _unequal, _unequal_kernels

    modules = (_minorant, _prefix_kernels, _local_search_kernels, _unequal, _unequal_kernels)
    kernels = {f"{m.__name__}.{k}": v for m in modules for k, v in vars(m).items() if hasattr(v, "signatures")}
    for n in (50, range(30, 33)):
        best_order(gaussian(3, n=n, p=100))
    before = {name: len(kernel.signatures) for name, kernel in kernels.items()}
    for T in (2, 12, 24):
        for n in (50, range(30, 30 + T)):
            for problem in (gaussian(T, n=n, p=100), Problem.categories("AB" * (T // 2) + "C" * (T % 2), n=n, p=100)):
                for objective in ("forgetting", 0.3):
                    stakes(problem, objective, seconds=0.1)
    assert {name: len(kernel.signatures) for name, kernel in kernels.items()} == before


@pytest.mark.parametrize(
    ("scale", "uniform"),
    [(1e-160, True), (1e-155, True), (1e-100, True), (1e100, True), (1e150, True), (1e-160, False), (1e150, False)],
)
def test_the_scale_of_the_tasks_does_not_matter(scale, uniform):
    w = np.random.default_rng(3).standard_normal((6, 3))
    n = 30 if uniform else range(30, 36)
    plain, scaled = (Problem(gram=s**2 * (w @ w.T), n=n, p=100, sigma=0.3 * s) for s in (1.0, scale))
    one, other = best_order(plain), best_order(scaled)
    assert other.proved
    digits = 1e-9 if scale > 1e-150 else 1e-2  # below, squares have few digits
    assert other.value == pytest.approx(one.value * scale**2, rel=digits, abs=1e-322)
    if scale > 1e-150:
        assert other.order == one.order
    if scale > 1e-150 and uniform:
        assert worst_order(scaled).order == worst_order(plain).order
        assert [p.order for p in front(scaled)] == [p.order for p in front(plain)]


def test_tasks_of_tiny_norm_end():
    """Their squares are denormal, which kept a compiled loop and a rule busy for ever."""
    problem = Problem.orthogonal(T=4, n=1, p=181, norm=1e-160)
    assert best_order(problem).proved
    assert stakes(problem).plan.value == stakes(problem).given
    assert front(problem).complete
    tiny = Problem(gram=1e-320 * np.eye(30), n=5, p=100)
    assert all(sorted(rule(tiny)) == list(range(30)) for rule in CHEAP_RULES.values())


def test_weights_of_any_size():
    problem = gaussian(6, n=40, p=100)
    plain = best_order(problem, {"forgetting": 0.7, "generalization": 0.3})
    for factor in (2.0**-1000, 2.0**1000):
        weights = {"forgetting": 0.7 * factor, "generalization": 0.3 * factor}
        assert best_order(problem, weights).order == plain.order
    with pytest.raises(ValueError, match="beyond the largest number"):
        best_order(gaussian(6, n=40, p=100, sigma=1e100), {"forgetting": 1e200})


def test_noise_of_any_size_leaves_ties_alone():
    quiet = Problem.categories("AABB", n=50, p=100)
    assert best_order(quiet.replace(sigma=1e6)).ties == best_order(quiet).ties == 8


def test_assignments_of_no_numbers_end():
    C, lap = np.full((3, 3), np.nan), lap_workspace(3)
    assert np.isnan(solve_lap(C, lap))


def test_quick_bound_is_below_every_order():
    random = np.random.default_rng(0)
    for _ in range(40):
        T = int(random.integers(1, 8))
        w, r = random.standard_normal((T, 3)), float(random.uniform(0, 1))
        d = np.square(w[:, None] - w[None]).sum(-1)
        problem = Assignment(random.standard_normal((T, T)), r ** np.arange(T), (d + d.T) / 2)
        for either in (problem, problem.negated()):
            assert quick_bound(either) <= all_values(either)[1].min() + 1e-9


@pytest.mark.parametrize("uniform", [True, False])
def test_values_of_known_orders_equal_expect(uniform):
    problem = gaussian(7, n=40 if uniform else range(35, 42), p=100, sigma=0.5)
    for objective in OBJECTIVES:
        criterion = Criterion.of(problem, objective)
        known = KnownOrders.of(criterion)
        assert len(known.orders) == 1 + len(CHEAP_RULES)
        exact = [criterion.value(order) for order in known.orders]
        assert np.allclose(known.values, exact, rtol=1e-12, atol=0)
        assert np.allclose(order_values(criterion, known.orders), exact, rtol=1e-12, atol=0)


def test_equivalent_orders_at_a_thousand_tasks():
    problem = Problem.orthogonal(T=1000, n=50, p=2000)
    began = time.process_time()
    assert nearest_equivalent(problem, np.random.default_rng(0).permutation(1000)) == tuple(range(1000))
    assert time.process_time() - began < 5  # it was a minute: pairs were compared one by one


def test_more_time_is_not_promised_a_proof_of_too_many_tasks():
    many = Problem.categories(["A"] * 250 + ["B"] * 250, n=50, p=1000)
    assert not provable(many)
    plan = best_order(many, seconds=0.01)
    assert "may close the gap" not in plan.summary()


def test_a_gap_within_the_tolerance_is_a_proof():
    plan = best_order(Problem.orthogonal(T=40, n=50, p=100), seconds=1.0)
    assert plan.proved
    assert plan.gap == 0
    assert "Proved" in plan.summary()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seed": -1}, "seed=-1: give a whole number"),
        ({"seed": 0.5}, "seed=0.5: give a whole number"),
        ({"progress": 5}, "progress=5: give a function"),
        ({"seconds": "1"}, "give a positive number of seconds"),
        ({"objective": True}, "give 'forgetting'"),
        ({"objective": {"forgetting": "much"}}, "forgetting is not an array of numbers"),
    ],
)
def test_wrong_arguments_raise_one_clear_error(settings, words):
    problem = Problem.categories("AAB", n=50, p=100)
    for function in (best_order, stakes):
        with pytest.raises(ValueError, match=words):
            function(problem, **settings)


@pytest.mark.parametrize("rule", CHEAP_RULES.values(), ids=CHEAP_RULES)
def test_rules_need_a_problem(rule):
    with pytest.raises(ValueError, match="give a Problem"):
        rule([[0, 1], [1, 0]])


def test_results_have_short_representations():
    problem = Problem.categories("AABB", n=50, p=100)
    found = stakes(problem)
    assert repr(found.plan) == "Plan(T=4, objective='forgetting', value=0.479167, proved, order='A1 > B1 > A2 > B2')"
    assert repr(found).startswith("Stakes(recommended=0.479167, given=0.645833, mean=")
    assert repr(front(problem)).startswith("Front(T=4, complete=True, corners (F, G): (0.479167, ")
    assert repr(found.random) == f"RandomOrders(all 24 orders: mean={found.random.mean:.6g})"
    large = best_order(gaussian(40, n=50, p=100), seconds=0.01)
    assert "lower_bound=" in repr(large)
    assert len(repr(large)) < 250


def test_noise_far_above_the_tasks_is_left_out():
    """Found by fuzzing: in the unit of tiny tasks the noise overflowed, though it is the same in every order."""
    tiny = Problem.categories("AAB", norm=1e-160, n=5, p=100, sigma=1e150)
    scaled, _ = Criterion.of(tiny, "forgetting").scaled()
    assert scaled.problem.sigma.tolist() == [0, 0, 0]
    assert scaled.problem.unmodeled.tolist() == [0, 0, 0]
