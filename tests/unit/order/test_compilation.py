"""Without numba the order search runs as plain Python and gives the same results."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

import ebbing
from ebbing.order import _compilation, _local_search_kernels

MIX = {"forgetting": 0.7, "generalization": 0.3}
NOTE = "plain Python; pip install 'ebbing[fast]'"


def order_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if (name + ".").startswith("ebbing.order.")}


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    """A second copy of `ebbing.order`, imported while numba cannot be imported."""
    compiled, package = order_modules(), ebbing.order
    with pytest.MonkeyPatch.context() as patch:
        for name in compiled:
            patch.delitem(sys.modules, name)
        patch.setitem(sys.modules, "numba", None)
        import ebbing.order as copy

        copies = order_modules()
    for name in copies:  # the copy stays usable, but nobody else imports it
        sys.modules.pop(name, None)
    sys.modules.update(compiled)
    ebbing.order = package  # type: ignore[assignment]
    assert copy is not package
    return copy


def random_problem(T: int, uniform: bool) -> ebbing.Problem:
    random = np.random.default_rng([T, uniform])
    n = 50 if uniform else random.integers(20, 80, T)
    return ebbing.Problem.from_vectors(random.standard_normal((T, 3)), n=n, p=100, sigma=0.3)


def test_both_versions_are_tested(plain):
    assert _compilation.COMPILED
    assert hasattr(_local_search_kernels.value, "py_func")
    assert not plain._compilation.COMPILED
    assert not hasattr(plain._local_search_kernels.value, "py_func")


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("T", [2, 3, 5, 7])
def test_plain_search_equals_the_compiled_one(plain, T, uniform):
    problem = random_problem(T, uniform)
    for objective in ("forgetting", MIX):
        fast, slow = ebbing.best_order(problem, objective), plain.best_order(problem, objective)
        assert slow.proved
        assert slow.order == fast.order
        assert slow.value == fast.value
        assert slow.ties == fast.ties
        fast, slow = ebbing.worst_order(problem, objective), plain.worst_order(problem, objective)
        assert slow.order == fast.order
        assert (slow.value, slow.proved) == (fast.value, fast.proved)


def test_plain_stakes_and_front_equal_the_compiled_ones(plain):
    problem = ebbing.Problem.categories("ABBBC", n=50, p=100, sigma=0.3)
    fast, slow = ebbing.stakes(problem), plain.stakes(problem)
    assert slow.plan.order == fast.plan.order
    assert slow.worst.order == fast.worst.order
    assert [point.order for point in plain.front(problem)] == [point.order for point in ebbing.front(problem)]


def test_plain_search_has_an_order_and_a_bound_for_many_tasks(plain):
    problem = random_problem(30, uniform=True)
    plan = plain.best_order(problem, seconds=1.0)
    assert not plan.proved
    assert plan.lower_bound < plan.value < ebbing.expect(problem).forgetting


def test_method_says_that_the_search_is_plain(plain):
    problem = random_problem(4, uniform=True)
    assert NOTE in plain.best_order(problem).method
    assert NOTE in plain.worst_order(problem).method
    assert NOTE not in plain.best_order(problem, "generalization").method  # a sort: nothing to compile
    assert NOTE not in ebbing.best_order(problem).method


def test_too_many_tasks_for_plain_python_raise_an_error(plain):
    problem = random_problem(101, uniform=True)
    for search in (plain.best_order, plain.worst_order):
        with pytest.raises(ModuleNotFoundError, match=r"T=101: without numba .* pip install 'ebbing\[fast\]'"):
            search(problem)
    assert plain.best_order(problem, "generalization").proved


def test_ebbing_works_in_a_process_without_numba():
    script = """
import sys
sys.modules["numba"] = None          # importing it raises ModuleNotFoundError
import ebbing
problem = ebbing.Problem.categories("AABB", n=50, p=100, sigma=0.3)
assert ebbing.expect(problem).forgetting > 0
assert len(ebbing.simulate(problem, runs=3, seed=0).forgetting) == 3
plan = ebbing.best_order(problem)
print(plan.names, plan.value.hex(), plan.proved)
from ebbing.cli import main
sys.argv = ["ebbing", "order", "--tasks", "categories:AABB", "-n", "50", "-p", "100"]
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *printed = done.stdout.splitlines()
    plan = ebbing.best_order(ebbing.Problem.categories("AABB", n=50, p=100, sigma=0.3))
    assert first == f"{plan.names} {plan.value.hex()} True"
    assert NOTE in " ".join(" ".join(printed).split())
