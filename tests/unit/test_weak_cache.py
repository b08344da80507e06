"""What is remembered of problems does not keep them in memory."""

import gc
import weakref

import pytest

from ebbing import Problem, best_order, expect, stakes
from ebbing._weak_cache import weakly_cached
from ebbing.order import best_order_with_replay
from ebbing.order._known_orders import _known
from ebbing.order._search_space import _kinds
from ebbing.theory._rates import Rates


@pytest.mark.parametrize("remembered", [Rates.of, _kinds, _known], ids=["rates", "kinds", "known orders"])
def test_each_problem_is_computed_once(remembered):
    problems = [Problem.categories("AABB", n=50, p=100 + k) for k in range(20)]
    found = [remembered(problem) for problem in problems]
    assert all(remembered(problem) is value for problem, value in zip(problems, found, strict=True))
    assert len(set(map(id, found))) == 20


@pytest.mark.parametrize("question", [expect, best_order, stakes, lambda problem: best_order_with_replay(problem, 2)])
def test_problems_are_collected_after_every_question(question):
    problem = Problem.categories("AABBC", n=50, p=100, sigma=0.3)
    question(problem)
    gone = weakref.ref(problem)
    del problem
    gc.collect()
    assert gone() is None


def test_errors_are_not_remembered():
    class Key:
        pass

    calls = []

    @weakly_cached
    def fail_once(key):
        calls.append(key)
        if len(calls) == 1:
            raise KeyError("first")
        return len(calls)

    key = Key()
    with pytest.raises(KeyError, match="first"):
        fail_once(key)
    assert [fail_once(key), fail_once(key)] == [2, 2]
