"""A problem: what its constructors accept, and what comes of it."""

import numpy as np
import pytest
from problems import build, vectors

from ebbing import expect
from ebbing.problem import Problem


def test_one_value_is_repeated_for_every_task():
    problem = build(gram=np.eye(3), n=50, sigma=0.3, unmodeled=0.2)
    assert problem.T == 3
    assert problem.n.tolist() == [50, 50, 50]
    assert problem.sigma.tolist() == [0.3] * 3
    assert problem.unmodeled.tolist() == [0.2] * 3
    assert problem.names == ("task 1", "task 2", "task 3")
    assert problem.uniform


def test_one_value_per_task():
    problem = build(n=[50, 60], sigma=(0.1, 0.2), unmodeled=np.array([0.0, 1.0]), names=["a", "b"])
    assert problem.n.tolist() == [50, 60]
    assert problem.sigma.tolist() == [0.1, 0.2]
    assert problem.noise_variance == pytest.approx([0.01, 1.04], rel=1e-15)
    assert problem.names == ("a", "b")
    assert not problem.uniform


def test_whole_numbers_in_arrays_are_numbers_like_others():
    sigma, norms = np.array([2**33, 1]), np.array([3, 4])
    problem = build(sigma=sigma, unmodeled=sigma)
    assert problem.noise_variance.tolist() == [2.0**66 + 2.0**33, 2.0]
    assert Problem.from_distances([[0, 5], [5, 0]], norms=norms, n=5, p=10).start.tolist() == [9, 16]
    sigma[0] = norms[0] = 5  # a problem keeps copies
    assert problem.sigma[0] == 2**33


def test_equal_noise_from_different_sources_is_uniform():
    assert build(sigma=[0.5, 0.0], unmodeled=[0.0, 0.25]).uniform
    assert not build(n=[50, 51]).uniform


@pytest.mark.parametrize(
    "number",
    [50, 50.0, np.int8(50), np.uint64(50), np.float32(50), np.array(50)],
    ids=lambda value: type(value).__name__ + "-" + str(getattr(value, "dtype", "")),
)
def test_whole_numbers_of_any_type(number):
    problem = build(n=number, p=number, sigma=1)
    assert problem.n.dtype == np.int64
    assert problem.n.tolist() == [50, 50]
    assert problem.p == 50
    assert type(problem.p) is int
    assert problem.sigma.dtype == np.float64


def test_counts_up_to_2_to_53():
    problem = build(n=2**53, p=2**53)
    assert problem.n.tolist() == [2**53] * 2
    assert problem.p == 2**53


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_gram_of_any_number_type(dtype):
    gram = build(gram=np.array([[2, 1], [1, 2]], dtype=dtype)).gram
    assert gram.dtype == np.float64
    assert gram.tolist() == [[2, 1], [1, 2]]


def test_orthogonal():
    problem = Problem.orthogonal(T=3, norm=2, n=5, p=10)
    assert problem.gram.tolist() == (4 * np.eye(3)).tolist()
    assert problem.gaps.tolist() == (8 * (1 - np.eye(3))).tolist()
    assert problem.start.tolist() == [4, 4, 4]
    assert problem.rank == 3


def test_identical():
    problem = Problem.identical(T=3, norm=2, n=5, p=10)
    assert problem.gram.tolist() == [[4] * 3] * 3
    assert not problem.gaps.any()
    assert problem.rank == 1


def test_zero_norm_is_a_problem_without_signal():
    problem = Problem.identical(T=3, norm=0, n=5, p=10)
    assert not problem.gram.any()
    assert problem.rank == 0


@pytest.mark.parametrize("labels", ["ABAB", ["A", "B", "A", "B"], ("A", "B", "A", "B"), np.array(list("ABAB"))])
def test_categories(labels):
    problem = Problem.categories(labels, norm=2, n=5, p=10)
    same = np.array([[1, 0, 1, 0], [0, 1, 0, 1]] * 2)
    assert problem.gram.tolist() == (4 * same).tolist()
    assert problem.gaps.tolist() == (8 * (1 - same)).tolist()
    assert problem.names == ("A1", "B1", "A2", "B2")
    assert problem.rank == 2


def test_categories_keep_given_names():
    assert Problem.categories("AB", n=5, p=10, names=["x", "y"]).names == ("x", "y")


def test_categories_whose_numbered_names_would_collide():
    """The eleventh "A" and the first "A1" are both "A11": no fault of the user's."""
    names = Problem.categories(["A"] * 11 + ["A1"], n=5, p=10).names
    assert len(set(names)) == 12


def test_from_vectors():
    W = vectors()
    problem = Problem.from_vectors(W, n=5, p=10)
    assert problem.gram == pytest.approx(W @ W.T, rel=1e-15)
    for i in range(4):
        for j in range(4):
            assert problem.gaps[i, j] == pytest.approx(np.sum((W[i] - W[j]) ** 2), rel=1e-15)


def test_from_vectors_keeps_small_gaps_of_long_vectors():
    problem = Problem.from_vectors([[1e6, 0], [1e6, 1e-3]], n=50, p=10)
    assert problem.gaps[0, 1] == pytest.approx(1e-6, rel=1e-15)
    assert expect(problem).forgetting == pytest.approx(1e-6, rel=1e-12)


def test_from_distances_equals_from_vectors():
    W = vectors()
    D = np.linalg.norm(W[:, None] - W, axis=2)
    problem = Problem.from_distances(D, np.linalg.norm(W, axis=1), n=5, p=10)
    assert problem.gram == pytest.approx(W @ W.T, rel=1e-13, abs=1e-14)
    assert problem.gaps == pytest.approx(D**2, rel=1e-15)


def test_from_distances_one_norm_for_all():
    assert Problem.from_distances([[0, 5], [5, 0]], 5, n=5, p=10).start.tolist() == [25, 25]


def test_from_distances_without_norms_starts_at_the_mean():
    W = vectors()
    D = np.linalg.norm(W[:, None] - W, axis=2)
    problem = Problem.from_distances(D, n=5, p=10)
    centered = Problem.from_vectors(W, initial=W.mean(axis=0), n=5, p=10)
    assert problem.gram == pytest.approx(centered.gram, rel=1e-12, abs=1e-13)


def test_from_gram_equals_from_vectors_with_initial_model():
    W, w0 = vectors(), vectors(1, seed=1)[0]
    row = [w0 @ w0, *(W @ w0)]
    a = Problem.from_gram(W @ W.T, initial=row, n=5, p=10)
    b = Problem.from_vectors(W, initial=w0, n=5, p=10)
    assert a.gram == pytest.approx(b.gram, rel=1e-13, abs=1e-14)
    assert a.gaps == pytest.approx(b.gaps, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("n", [5, 50], ids=["overparameterized", "underparameterized"])
def test_another_initial_model_shifts_every_ground_truth(n):
    W, w0 = vectors(), vectors(1, seed=1)[0]
    shifted = Problem.from_vectors(W - w0, n=n, p=20, sigma=0.3)
    started = Problem.from_vectors(W, initial=w0, n=n, p=20, sigma=0.3)
    assert np.array_equal(shifted.gram, started.gram)
    assert np.array_equal(shifted.gaps, started.gaps)
    assert np.array_equal(expect(shifted).errors, expect(started).errors)
    assert started.start == pytest.approx(np.sum((W - w0) ** 2, axis=1), rel=1e-14)
    # The start matters: the same tasks learned from zero have other errors.
    assert not np.array_equal(expect(Problem.from_vectors(W, n=n, p=20, sigma=0.3)).errors, expect(started).errors)
