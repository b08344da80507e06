"""Curricula: what is learned at each step, and the errors of bad ones."""

import numpy as np
import pytest

from ebbing import Curriculum, Problem, expect

PROBLEM = Problem.categories("AABB", n=[50, 40, 30, 20], p=200)


def test_sequential_is_the_papers_curriculum():
    plan = Curriculum.sequential(PROBLEM)
    assert plan.is_sequential(PROBLEM)
    assert not Curriculum.sequential(PROBLEM, cycles=2).is_sequential(PROBLEM)
    assert not Curriculum.joint(PROBLEM).is_sequential(PROBLEM)


def test_names_and_places_mean_the_same():
    by_name, by_place = Curriculum([{"A2": 5, "B1": 7}]), Curriculum([{1: 5, 2: np.int64(7)}])  # type: ignore[list-item]
    np.testing.assert_array_equal(by_name.samples(PROBLEM), [[0, 5, 7, 0]])
    np.testing.assert_array_equal(by_place.samples(PROBLEM), [[0, 5, 7, 0]])


def test_hybrid_replay_mixes_similar_tasks_only():
    plan = Curriculum.replay(PROBLEM, memory=3, how="hybrid")
    assert plan.steps == ({0: 50}, {1: 40, 0: 3}, {2: 30}, {0: 3}, {1: 3}, {3: 20, 2: 3}, {0: 3}, {1: 3})


def test_first_steps_of_repeated_and_missing_tasks():
    plan = Curriculum([{2: 5}, {0: 5, 2: 1}, {2: 5}])
    np.testing.assert_array_equal(plan.first_steps(PROBLEM), [2, 0, 1, 0])


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "at least one step"),
        ({0: 50}, "give a list of steps"),
        ("AB", "give a list of steps"),
        (5, "give a list of steps"),
        ([{}], "step 1 is {}: give task -> samples"),
        ([{0: 1}, 7], "step 2 is 7"),
        ([{0: 0}], "step 1, task 0=0: give a whole number"),
        ([{0: -1}], "step 1, task 0=-1"),
        ([{0: 2.5}], "step 1, task 0=2.5"),
        ([{0: True}], "step 1, task 0=True"),
        ([{1.5: 2}], "has task 1.5"),
        ([{True: 2}], "has task True"),
    ],
)
def test_bad_steps_are_refused(steps, message):
    with pytest.raises(ValueError, match=message.replace("{", "\\{")):
        Curriculum(steps)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{0: 1}, {4: 1}], r"step 2 has task 4: the problem has tasks 0..3"),
        ([{-1: 1}], r"step 1 has task -1"),
        ([{"C": 1}], r"step 1 has task 'C': the problem has 'A1', 'A2', 'B1', 'B2'"),
        ([{"A1": 1, 0: 1}], r"step 1 has task 'A1' twice"),
    ],
)
def test_unknown_tasks_are_refused(steps, message):
    with pytest.raises(ValueError, match=message):
        Curriculum(steps).samples(PROBLEM)


def test_stored_samples_are_at_most_those_seen():
    with pytest.raises(ValueError, match="step 2 replays 51 stored samples of 'A1', which was learned from 50"):
        Curriculum([{0: 50}, {1: 40, 0: 51}], stored=True).samples(PROBLEM)
    Curriculum([{0: 50}, {1: 40, 0: 51}]).samples(PROBLEM)  # fresh ones may be more
    with pytest.raises(ValueError, match="step 4 replays 31 stored"):
        Curriculum.replay(PROBLEM, memory=31, stored=True).samples(PROBLEM.reordered([0, 1, 2, 3]))


@pytest.mark.parametrize("how", ["concurrent", "sequential", "hybrid"])
@pytest.mark.parametrize("stored", [False, True])
def test_replay_of_no_samples_is_the_papers_curriculum(how, stored):
    plan = Curriculum.replay(PROBLEM, 0, how=how, stored=stored)
    assert plan.is_sequential(PROBLEM)
    assert expect(PROBLEM, plan).forgetting == expect(PROBLEM).forgetting


def test_other_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="how='parallel': give one of concurrent, sequential, hybrid"):
        Curriculum.replay(PROBLEM, memory=3, how="parallel")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="memory=-1: give a whole number from 0 to"):
        Curriculum.replay(PROBLEM, memory=-1)
    with pytest.raises(ValueError, match="memory=True: give a whole number >= 0"):
        Curriculum.replay(PROBLEM, memory=True)
    with pytest.raises(ValueError, match="stored='yes'"):
        Curriculum([{0: 1}], stored="yes")  # type: ignore[arg-type]
