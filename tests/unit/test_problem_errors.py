"""The errors of a problem with their messages, and the rounding it allows."""

import numpy as np
import pytest
from problems import EYE, GOOD, build, vectors

from ebbing._validate import check_array, check_count, check_number
from ebbing.problem import Problem

# ---------------------------------------------------------------- errors


BAD = [
    # shapes
    ({"gram": [[1, 0, 0], [0, 1, 0]]}, r"gram has shape \(2, 3\); give a square matrix"),
    ({"gram": [1, 0]}, r"gram has shape \(2,\); give a square matrix"),
    ({"gram": 1}, r"gram has shape \(\); give a square matrix"),
    ({"gram": []}, r"gram has shape \(0,\); give a square matrix"),
    ({"gram": np.zeros((0, 0))}, r"gram has shape \(0, 0\); give a square matrix"),
    ({"gram": np.zeros((2, 2, 2))}, r"gram has shape \(2, 2, 2\); give a square matrix"),
    ({"gram": [[1, 0], [0]]}, "gram is not an array of numbers.*unequal length"),
    ({"gram": [["a", "b"], ["c", "d"]]}, "gram is not an array of numbers"),
    ({"gram": {"a": 1}}, "gram is not an array of numbers"),
    # finiteness
    ({"gram": [[1, np.nan], [np.nan, 1]]}, r"gram\[0, 1\] = nan: every entry must be finite"),
    ({"gram": [[1, 0], [0, np.inf]]}, r"gram\[1, 1\] = inf: every entry must be finite"),
    ({"sigma": np.nan}, "sigma=nan: give a finite number"),
    ({"sigma": [0.1, -np.inf]}, r"sigma\[1\] = -inf: every entry must be finite"),
    ({"unmodeled": np.inf}, "unmodeled=inf: give a finite number"),
    ({"n": [50, np.nan]}, r"n\[1\] = nan"),
    ({"p": np.nan}, "p=nan: give a whole number"),
    ({"p": np.inf}, "p=inf: give a whole number"),
    # no Gram matrix
    ({"gram": [[1, 0.5], [0.4, 1]]}, r"gram is not symmetric: \[0, 1\] = 0.5 but \[1, 0\] = 0.4; make them equal"),
    ({"gram": [[1, 2], [2, 1]]}, "eigenvalue -1, below -3e-09.*check that distances are Euclidean"),
    ({"gram": [[-1, 0], [0, 1]]}, "eigenvalue -1"),
    ({"gram": np.eye(3), "p": 2}, "p=2: the ground truths span 3 dimensions.*use p >= 3"),
    # counts
    ({"p": 0}, r"p=0: give a whole number from 1 to 2\^53"),
    ({"p": -7}, "p=-7: give a whole number"),
    ({"p": 2**53 + 1}, r"p=9007199254740993: give a whole number from 1 to 2\^53"),
    ({"p": 10**400}, r"give a whole number from 1 to 2\^53"),
    ({"p": 10.5}, "p=10.5: give a whole number"),
    ({"p": True}, "p=True: give a whole number"),
    ({"p": "100"}, "p='100': give a whole number"),
    ({"p": [100, 100]}, r"p=\[100, 100\]: give a whole number"),
    ({"p": None}, "p=None: give a whole number"),
    ({"n": 0}, "n=0: give a whole number"),
    ({"n": -1}, "n=-1: give a whole number"),
    ({"n": 2.5}, "n=2.5: give a whole number"),
    ({"n": [5, 2.5]}, "n=2.5: give a whole number"),
    ({"n": [5, 0]}, "n=0: give a whole number"),
    ({"n": 2.0**54}, r"give a whole number from 1 to 2\^53"),
    ({"n": 2**53 + 1}, r"give a whole number from 1 to 2\^53"),
    ({"n": [5, 2**53 + 1]}, r"give a whole number from 1 to 2\^53"),
    ({"n": 10**400}, "n"),
    ({"n": True}, "n"),
    ({"n": [True, False]}, "n"),
    ({"n": "50"}, "n"),
    ({"n": None}, "n"),
    # noise
    ({"sigma": -0.1}, "sigma=-0.1: must not be negative"),
    ({"sigma": [0.1, -2]}, "sigma=-2: must not be negative"),
    ({"sigma": True}, "sigma"),
    ({"sigma": "0.3"}, "sigma"),
    ({"sigma": None}, "sigma"),
    ({"sigma": 1e200}, "sigma"),  # its square overflows
    ({"unmodeled": -0.1}, "unmodeled=-0.1: must not be negative"),
    # one per task
    ({"n": [5, 5, 5]}, r"n=\[5, 5, 5\]: 3 numbers for 2 tasks; give one number, or one for each task"),
    ({"sigma": [0.1]}, r"sigma=\[0.1\]: 1 number for 2 tasks; give one number, or one for each task"),
    ({"sigma": []}, r"sigma=\[\]: 0 numbers for 2 tasks"),
    ({"sigma": [[0.1, 0.2]]}, r"sigma has shape \(1, 2\); give one number"),
    ({"unmodeled": [1, 2, 3]}, r"unmodeled=.*: 3 numbers for 2 tasks"),
    ({"names": ["a"]}, "1 names for 2 tasks; give one per task"),
    ({"names": ["a", "a"]}, "names must differ, but 'a' occurs more than once"),
    # gaps
    ({"gaps": [[0, 3], [3, 0]]}, "gaps differ from gram.*leave gaps out"),
    ({"gaps": [[0]]}, "gaps differ from gram"),
    ({"gaps": [[0, 2], [1, 0]]}, "gaps is not symmetric"),
    # overflow
    ({"gram": 1e308 * EYE}, "gram"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[str(case[0])[:60] for case in BAD])
def test_invalid_arguments_raise(changes, message):
    with pytest.raises(ValueError, match=message):
        build(**changes)


@pytest.mark.parametrize("dtype", [complex, str])
def test_a_gram_matrix_holds_real_numbers(dtype):
    """NumPy would convert text in silence, and complex numbers with a warning."""
    with pytest.raises(ValueError, match="gram"):
        build(gram=EYE.astype(dtype))


REFUSED_BY_CONSTRUCTORS = [
    (lambda: Problem.orthogonal(T=0, n=5, p=10), "T=0: give a whole number"),
    (lambda: Problem.orthogonal(T=2.5, n=5, p=10), "T=2.5: give a whole number"),  # type: ignore[arg-type]
    (lambda: Problem.identical(T=-1, n=5, p=10), "T=-1: give a whole number"),
    (lambda: Problem.identical(T=True, n=5, p=10), "T=True: give a whole number"),
    (lambda: Problem.orthogonal(T=10**7, n=5, p=10**9), "T=10000000"),  # 728 TiB
    (lambda: Problem.orthogonal(T=2, norm=-1, n=5, p=10), "norm=-1: must not be negative"),
    (lambda: Problem.orthogonal(T=2, norm=np.nan, n=5, p=10), "norm=nan: give a finite number"),
    (lambda: Problem.orthogonal(T=2, norm=[1, 2], n=5, p=10), "norm"),  # type: ignore[arg-type]
    (lambda: Problem.orthogonal(T=2, norm=1e200, n=5, p=10), "norm"),
    (lambda: Problem.categories("", n=5, p=10), "no labels; give one per task, such as 'ABAB'"),
    (lambda: Problem.categories([], n=5, p=10), "no labels"),
    (lambda: Problem.categories(5, n=5, p=10), "categories: 5 is no list of labels"),  # type: ignore[arg-type]
    (lambda: Problem.categories("A" * 5001, n=5, p=10), "T=5001: at most 5,000 tasks"),
    (lambda: Problem.categories(np.array("A"), n=5, p=10), "is no list of labels"),  # type: ignore[arg-type]
    (lambda: build(names=5), "names=5: give one name per task"),
    (lambda: build(names=np.array("a")), "give one name per task"),
    (lambda: build().reordered(5), "order=5: give each of 0..1 exactly once"),  # type: ignore[arg-type]
    (lambda: build().reordered([[1], [0, 1]]), "give each of 0..1 exactly once"),  # type: ignore[list-item]
    (lambda: build(n=[[1], [1, 2]]), "n is not an array of numbers"),
    (lambda: build(gram=[[1e302, 1e303], [1e303, 1e302]]), "gram has an entry of 1e[+]303"),
    (lambda: Problem.from_vectors([1, 2], n=5, p=10), r"vectors have shape \(2,\); give one row of features per task"),
    (lambda: Problem.from_vectors([[]], n=5, p=10), r"vectors have shape \(1, 0\)"),
    (lambda: Problem.from_vectors([[1, 2], [3]], n=5, p=10), "vectors is not an array of numbers.*unequal length"),
    (lambda: Problem.from_vectors([[1, np.nan]], n=5, p=10), r"vectors\[0, 1\] = nan: every entry must be finite"),
    (
        lambda: Problem.from_vectors([[1, 2]], initial=[1], n=5, p=10),
        r"initial has shape \(1,\) but each task has 2 features; make them equal",
    ),
    (lambda: Problem.from_vectors([[1, 2]], initial=[1, np.inf], n=5, p=10), r"initial\[1\] = inf"),
    (lambda: Problem.from_vectors(np.eye(3), n=5, p=2), "span 3 dimensions.*use p >= 3"),
    (lambda: Problem.from_distances([[0, 5], [5, 0]], [1, 1], n=5, p=10), "check that distances are Euclidean"),
    (  # the triangle inequality holds, and still no points have these distances
        lambda: Problem.from_distances(
            [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]], [1, 1, 1, 1], n=5, p=10
        ),
        "eigenvalue -.*check that distances are Euclidean",
    ),
    (lambda: Problem.from_distances([[0, -1], [-1, 0]], 1, n=5, p=10), r"distances\[0, 1\] = -1 is negative"),
    (lambda: Problem.from_distances([[0, 1], [1, 3]], 1, n=5, p=10), r"distances\[1, 1\] = 3.*distance 0 from itself"),
    (lambda: Problem.from_distances([[0, 1], [2, 0]], 2, n=5, p=10), "distances is not symmetric"),
    (lambda: Problem.from_distances([[0, 1], [1, 0]], [1], n=5, p=10), r"norms=\[1.0\]: 1 number for 2 tasks"),
    (lambda: Problem.from_distances([[0, 1], [1, 0]], -1, n=5, p=10), "norms=-1: must not be negative"),
    (lambda: Problem.from_gram(EYE, initial=[1, 0], n=5, p=10), r"initial has shape \(2,\); for 2 tasks give 3"),
    (lambda: Problem.from_gram(EYE, initial=[0.1, 1, 0], n=5, p=10), "no vectors have these inner products"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED_BY_CONSTRUCTORS, ids=[c[1] for c in REFUSED_BY_CONSTRUCTORS])
def test_constructors_check_their_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("missing", ["n", "p", "gram"])
def test_what_is_required(missing):
    settings = {key: value for key, value in GOOD.items() if key != missing}
    with pytest.raises(TypeError, match=missing):
        Problem(**settings)


# ---------------------------------------------------------------- the tolerance


def test_rounding_of_a_gram_matrix_is_forgiven_and_removed():
    gram = np.array([[1.0, 0.5 + 4e-10], [0.5, 1.0]])
    problem = build(gram=gram)
    assert np.array_equal(problem.gram, problem.gram.T)
    assert problem.gram[0, 1] == pytest.approx(0.5 + 2e-10, abs=1e-16)
    build(gram=[[1, 1 + 4e-10], [1 + 4e-10, 1]])  # eigenvalue -4e-10, of the largest, 2


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_the_tolerance_is_relative(scale):
    with pytest.raises(ValueError, match="not symmetric"):
        build(gram=scale * np.array([[1, 0.5 + 2e-9], [0.5, 1]]))
    with pytest.raises(ValueError, match="eigenvalue"):
        build(gram=scale * np.array([[1, 1 + 1e-8], [1 + 1e-8, 1]]))
    build(gram=scale * np.array([[1, 0.5 + 2e-10], [0.5, 1]]))


def test_rank_may_equal_p():
    W = vectors(T=6, features=3)
    assert Problem.from_vectors(W, n=5, p=3).rank == 3
    with pytest.raises(ValueError, match="span 3 dimensions"):
        Problem.from_vectors(W, n=5, p=2)


# ---------------------------------------------------------------- validate


def test_count_says_what_it_got():
    with pytest.raises(ValueError, match=r"runs='x': give a whole number >= 1"):
        check_count("runs", "x")
    assert check_count("runs", np.int64(7)) == 7


def test_numbers_says_where():
    with pytest.raises(ValueError, match=r"W\[1, 2\] = nan"):
        check_array("W", [[1, 2, 3], [4, 5, np.nan]])


@pytest.mark.parametrize(
    ("value", "way"), [(-1, "must not be negative; give 0 or more"), (np.nan, "give a finite number")]
)
def test_single_numbers_raise_plain_errors_with_a_way_out(value, way):
    with pytest.raises(ValueError, match=f"^training_error={value}: {way}$") as raised:
        check_number("training_error", value)
    assert type(raised.value) is ValueError
