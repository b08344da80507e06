"""Replay of stored samples: exact where each step replays what the step before it fits, refused elsewhere."""

import numpy as np
import plain_steps
import pytest

from ebbing import Curriculum, Problem, Ridge, expect
from ebbing.theory import expectation_if_finite

P, SIGMA = 20, np.array([0.3, 1.5, 0.6, 0.9])
W = np.random.default_rng(0).standard_normal((4, 3))
PROBLEM = Problem.from_vectors(W, n=5, p=P, sigma=SIGMA)


@pytest.mark.parametrize(
    "steps",
    [
        [{0: 6}, {1: 5, 0: 3}, {2: 4, 0: 3, 1: 2}],
        [{0: 6, 3: 2}, {1: 5, 2: 3, 0: 5, 3: 2}, {0: 4, 3: 1}, {0: 3}],
        [{0: 6}, {0: 5, 1: 24}, {2: 5}, {2: 2, 3: 4}],
    ],
    ids=["replay", "several new tasks, and none", "both regimes"],
)
def test_stored_replay_agrees_with_drawn_features(steps):
    plan = Curriculum(steps, stored=True)
    sample = plain_steps.draw_errors(
        np.random.default_rng(1), W, plan.samples(PROBLEM), P, SIGMA, stored=True, runs=4000
    )
    e = expect(PROBLEM, plan)
    assert np.abs(plain_steps.z_scores(sample, e.errors)).max() < 4.5
    fresh = expect(PROBLEM, Curriculum(steps)).errors  # power: fresh samples give other errors
    assert np.abs(plain_steps.z_scores(sample, fresh)).max() > 6


def test_two_tasks_have_the_closed_form():
    """P_i in the span of the memory, and the rest in its null space: docs/theory/steps.md, section 4."""
    p, n, m, sigma = 100, 30, 10, 0.4
    problem = Problem.from_vectors(W[:2], n=n, p=p, sigma=sigma)
    d, L = problem.gaps, expect(problem).errors[1]
    r, memory = 1 - n / (p - m), m / p * d[0] + m * sigma**2 / (p - m - 1)
    noise = n * (sigma**2 + memory[1]) / (p - m - n - 1)
    exact = memory + r * (L - memory) + (1 - r) * (1 - m / p) * d[1] + noise
    e = expect(problem, Curriculum.replay(problem, memory=m, stored=True))
    assert e.errors[2] == pytest.approx(exact, rel=1e-13)
    terms = e.terms
    assert pytest.approx(e.forgetting, rel=1e-12) == terms.F1 + terms.F2 + terms.F3 + terms.F4
    assert e.forgetting == pytest.approx(exact[0] - L[0], rel=1e-12)


def test_repeating_stored_samples_changes_nothing():
    """A model that fits its samples does not move."""
    e = expect(PROBLEM, Curriculum([{0: 6, 1: 2}, {0: 6, 1: 2}, {0: 3}], stored=True))
    np.testing.assert_allclose(e.errors[2:], e.errors[[1, 1]], rtol=1e-14)
    np.testing.assert_allclose(e.forgetting_matrix, 0, atol=1e-14)


def test_stored_without_repeats_is_fresh():
    steps = [{0: 6}, {1: 5, 2: 3}]
    for learner in (Ridge(0), Ridge(2.0)):
        stored = expect(PROBLEM, Curriculum(steps, stored=True), learner=learner)
        assert np.array_equal(stored.errors, expect(PROBLEM, Curriculum(steps), learner=learner).errors)


def test_memories_that_were_not_fitted_are_refused():
    sequential = Curriculum.replay(PROBLEM, memory=2, how="sequential", stored=True)
    with pytest.raises(ValueError, match=r"step 3 replays 2 stored samples of 'task 1', of which step 2 fits 0"):
        expect(PROBLEM, sequential)
    assert expectation_if_finite(PROBLEM, sequential) is None
    with pytest.raises(ValueError, match=r"step 3 replays 2 stored .* fits 0"):  # least squares fit nothing
        expect(PROBLEM, Curriculum([{0: 6}, {1: 24, 0: 5}, {2: 3, 0: 2}], stored=True))
    with pytest.raises(ValueError, match=r"step 3 replays 5 stored .* fits 4"):
        expect(PROBLEM, Curriculum([{0: 6}, {1: 5, 0: 4}, {2: 3, 0: 5}], stored=True))


def test_stored_samples_of_other_learners_are_refused():
    plan = Curriculum.replay(PROBLEM, memory=2, stored=True)
    with pytest.raises(ValueError, match=r"exact for MinimumNorm\(\) only; replay fresh samples .* simulate"):
        expect(PROBLEM, plan, learner=Ridge(0.5))
