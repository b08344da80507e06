"""Distances, cosines and inner products as people write them: rounded, in single precision, or no such thing at all."""

import re
import warnings
from typing import Any

import numpy as np
import pytest

from ebbing import Problem
from ebbing._gram import gaps_of, nearest_euclidean, nearest_gram, rounding, semidefinite

SIZES: dict[str, Any] = {"n": 5, "p": 100}


def points(seed, T=9, k=3):
    return np.random.default_rng(seed).standard_normal((T, k))


def distances_between(W):
    return np.linalg.norm(W[:, None] - W, axis=2)


def cosines_between(W):
    unit = W / np.linalg.norm(W, axis=1, keepdims=True)
    return unit @ unit.T


def make(build, *arguments, **settings):
    """The problem, and the text of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = build(*arguments, **SIZES, **settings)
    return problem, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("decimals", range(1, 9))
@pytest.mark.parametrize("with_norms", [False, True])
def test_rounded_distances_are_taken(decimals, with_norms):
    for seed in range(6):
        W = points(seed)
        D = np.round(distances_between(W), decimals)
        norms = np.round(np.linalg.norm(W, axis=1), decimals) if with_norms else None
        problem, said = make(Problem.from_distances, D, norms)
        moved = np.abs(np.sqrt(problem.gaps) - D).max()
        if with_norms:
            moved = max(moved, np.abs(np.sqrt(problem.start) - norms).max())
        if said:
            (text,) = said
            assert float(re.search(r"differ by up to (\S+)", text)[1]) == pytest.approx(moved, rel=0.05)  # type: ignore[index]
        else:
            assert moved < 1e-12
        assert moved < 3 * 10.0**-decimals
        assert np.abs(np.sqrt(problem.gaps) - distances_between(W)).max() < 4 * 10.0**-decimals


def test_exact_distances_are_not_moved():
    for seed in range(5):
        D = distances_between(points(seed))
        problem, said = make(Problem.from_distances, D)
        assert said == []
        assert np.array_equal(problem.gaps, ((D + D.T) / 2) ** 2)


def test_single_precision_is_taken():
    for seed in range(5):
        W = points(seed).astype(np.float32)
        D = distances_between(W)
        assert D.dtype == np.float32
        problem, _ = make(Problem.from_distances, D)
        assert np.allclose(np.sqrt(problem.gaps), D, atol=1e-5)
        make(Problem.from_cosines, cosines_between(W), np.linalg.norm(W, axis=1))
        make(Problem.from_gram, W @ W.T)


@pytest.mark.parametrize("digits", [4, 6])
def test_numbers_of_few_significant_digits_are_taken(digits):
    W = points(0) * np.logspace(-1, 3, 9)[:, None]
    D = np.array([[float(f"{d:.{digits}g}") for d in row] for row in distances_between(W)])
    problem, _ = make(Problem.from_distances, D)
    assert np.allclose(np.sqrt(problem.gaps), D, rtol=20 * 10.0**-digits, atol=20 * 10.0**-digits * D.max())


def test_one_minus_cosine_is_no_distance():
    C = cosines_between(points(3))
    with pytest.raises(ValueError, match=r"no vectors have these distances.*1 - cosine.*from_cosines, --cosines"):
        Problem.from_distances(1 - C, **SIZES)
    assert np.allclose(Problem.from_cosines(C, **SIZES).gram, C)


def test_other_distances_need_the_tolerance_of_the_error():
    D = 3 * np.array([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0.0]])
    with pytest.raises(ValueError, match="a tolerance of") as caught:
        Problem.from_distances(D, **SIZES)
    assert "1 - cosine" not in str(caught.value)
    tolerance = float(re.search(r"a tolerance of (\S+)", str(caught.value))[1])  # type: ignore[index]
    problem, said = make(Problem.from_distances, D, tolerance=tolerance)
    assert len(said) == 1
    assert np.abs(np.sqrt(problem.gaps) - D).max() <= tolerance
    with pytest.raises(ValueError, match="a tolerance of"):
        Problem.from_distances(D, tolerance=tolerance / 20, **SIZES)


@pytest.mark.parametrize("decimals", [2, 3, 5])
def test_rounded_cosines_and_inner_products_are_taken(decimals):
    for seed in range(5):
        W = points(seed)
        C = np.round(cosines_between(W), decimals)
        problem, _ = make(Problem.from_cosines, C, 2.0)
        assert np.abs(problem.gram / 4 - C).max() < 3 * 10.0**-decimals
        assert np.allclose(problem.start, 4)
        gram = np.round(W @ W.T, decimals)
        problem, _ = make(Problem.from_gram, gram)
        assert np.abs(problem.gram - gram).max() < 3 * 10.0**-decimals


def test_a_tolerance_may_be_in_single_precision():
    """Found by fuzzing: the comparison with it overflowed."""
    with pytest.raises(ValueError, match="no vectors have these inner products"):
        Problem.from_gram(1e100 * np.array([[1, 2], [2, 1]]), tolerance=np.float32(1.5), **SIZES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cosines", "message"),
    [
        ([[1, 1.5], [1.5, 1]], r"cosines\[0, 1\] = 1.5: a cosine lies between -1 and 1"),
        ([[0, 0.5], [0.5, 0]], r"cosines\[0, 0\] = 0: the cosine of a task and itself is 1"),
        ([[1, 0.5], [0.25, 1]], "cosines is not symmetric"),
        ([[1, float("nan")], [0.5, 1]], r"cosines\[0, 1\] = nan"),
        ([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], "no vectors have these cosines"),
    ],
)
def test_wrong_cosines_raise(cosines, message):
    with pytest.raises(ValueError, match=message):
        Problem.from_cosines(cosines, **SIZES)


def test_rounding_is_read_off_the_numbers():
    assert rounding(np.array([1.0, 2.0, 300.0])).tolist() == [0, 0, 0]
    assert rounding(np.array([0.25, 0.5, 0])).tolist() == [0.005] * 3
    assert rounding(np.array([0.1234, 12.34, 123.4])).tolist() == pytest.approx([5e-5, 5e-3, 5e-2])
    assert rounding(np.array([1 / 3, 2.0])).tolist() == [0, 0]
    assert rounding(np.array([1 / 3], dtype=np.float32).astype(float))[0] == pytest.approx(1 / 3 * 2**-21)


def test_projections_end_within_the_errors():
    """The first projection alone moves a small distance among large ones by many units of rounding."""
    W = points(5, T=12, k=2)
    W[1] = W[0] + 0.01
    D = np.round(distances_between(W), 4)
    error = rounding(D)
    first = np.abs(np.sqrt(nearest_euclidean(D, np.full(D.shape, np.inf))) - D).max()
    final = np.abs(np.sqrt(nearest_euclidean(D, error)) - D).max()
    assert first > 20e-4
    assert final < 2e-4
    K = np.round(W @ W.T, 3)
    N = nearest_gram(K, rounding(K))
    assert np.abs(N - K).max() < 1.1e-3
    semidefinite(N)


@pytest.mark.parametrize("scale", [1e-160, 1e-162, 1e-100, 1e100, 1e149])
def test_vectors_of_any_length(scale):
    W = points(1, T=4)
    problem = Problem.from_vectors(scale * W, **SIZES)
    if scale > 1e-150:
        assert np.allclose(problem.gaps / scale**2, gaps_of(W @ W.T))


@pytest.mark.parametrize("T", [1, 2, 7])
def test_rank_of_categories_needs_no_eigenvalues(T, monkeypatch):
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda _: pytest.fail("eigenvalues were computed"))
    assert Problem.orthogonal(T, norm=0.3, **SIZES).rank == T
    assert Problem.identical(T, norm=0.3, **SIZES).rank == 1
    assert Problem.categories("ABABC"[:T], **SIZES).rank == min(T, 3 if T > 4 else 2)


def test_a_matrix_that_only_looks_like_categories():
    with pytest.raises(ValueError, match="eigenvalue"):
        Problem(gram=[[1, 1, 0], [1, 1, 1], [0, 1, 1]], **SIZES)


def test_the_warning_points_at_the_line_of_the_user():
    distances = [[0, 1.41, 1.41], [1.41, 0, 1.41], [1.41, 1.41, 0]]
    with pytest.warns(UserWarning, match="no vectors have exactly these distances") as caught:
        Problem.from_distances(distances, norms=0.8, n=5, p=20)
    assert caught[0].filename == __file__


def test_rounded_asymmetric_numbers_are_averaged_with_a_warning():
    with pytest.warns(UserWarning, match=r"distances is not symmetric, .* means were taken, which differ by 0.05"):
        problem = Problem.from_distances([[0, 1.5], [1.4, 0]], n=5, p=10)
    assert problem.gaps[0, 1] == pytest.approx(1.45**2)


def test_asymmetry_of_single_precision_needs_no_warning():
    problem = Problem.from_distances([[0, 1.5], [1.5 * (1 + 1e-7), 0]], tolerance=1e-6, n=5, p=10)
    assert problem.gaps[0, 1] == pytest.approx(1.5**2)
