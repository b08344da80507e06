"""What a problem accepts, what it refuses and in which words, and what stays the same when it is rewritten."""

import pickle
from typing import Any

import numpy as np
import pytest

from ebbing import expect, simulate
from ebbing.problem import Problem
from ebbing.validate import count, numbers

EYE = np.eye(2)
GOOD: dict[str, Any] = {"gram": EYE, "n": 50, "p": 100, "sigma": 0.3}


def build(**changes: Any) -> Problem:
    return Problem(**GOOD | changes)


def vectors(T=4, features=3, seed=0):
    return np.random.default_rng(seed).standard_normal((T, features))


# ---------------------------------------------------------------- constructors


def test_one_value_is_repeated_for_every_task():
    problem = build(gram=np.eye(3), n=50, sigma=0.3, unmodelled=0.2)
    assert problem.T == 3
    assert problem.n.tolist() == [50, 50, 50]
    assert problem.sigma.tolist() == [0.3] * 3
    assert problem.unmodelled.tolist() == [0.2] * 3
    assert problem.names == ("task 1", "task 2", "task 3")
    assert problem.uniform


def test_one_value_per_task():
    problem = build(n=[50, 60], sigma=(0.1, 0.2), unmodelled=np.array([0.0, 1.0]), names=["a", "b"])
    assert problem.n.tolist() == [50, 60]
    assert problem.sigma.tolist() == [0.1, 0.2]
    assert problem.noise_variance == pytest.approx([0.01, 1.04], rel=1e-15)
    assert problem.names == ("a", "b")
    assert not problem.uniform


def test_equal_noise_from_different_sources_is_uniform():
    assert build(sigma=[0.5, 0.0], unmodelled=[0.0, 0.25]).uniform
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
    centred = Problem.from_vectors(W, initial=W.mean(axis=0), n=5, p=10)
    assert problem.gram == pytest.approx(centred.gram, rel=1e-12, abs=1e-13)


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
    # The start matters: the same tasks learnt from zero have other errors.
    assert not np.array_equal(expect(Problem.from_vectors(W, n=n, p=20, sigma=0.3)).errors, expect(started).errors)


# ---------------------------------------------------------------- what is refused


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
    ({"sigma": np.nan}, "sigma = nan: every entry must be finite"),
    ({"sigma": [0.1, -np.inf]}, r"sigma\[1\] = -inf: every entry must be finite"),
    ({"unmodelled": np.inf}, "unmodelled = inf: every entry must be finite"),
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
    ({"unmodelled": -0.1}, "unmodelled=-0.1: must not be negative"),
    # one per task
    ({"n": [5, 5, 5]}, r"n has shape \(3,\); give one value or one for each of the 2 tasks"),
    ({"sigma": [0.1]}, r"sigma has shape \(1,\); give one value or one for each of the 2 tasks"),
    ({"sigma": []}, r"sigma has shape \(0,\); give one value"),
    ({"sigma": [[0.1, 0.2]]}, r"sigma has shape \(1, 2\); give one value"),
    ({"unmodelled": [1, 2, 3]}, r"unmodelled has shape \(3,\); give one value"),
    ({"names": ["a"]}, "1 names for 2 tasks; give one per task"),
    ({"names": ["a", "a"]}, "names must differ, but 'a' is there more than once"),
    # gaps
    ({"gaps": [[0, 3], [3, 0]]}, "gaps differ from gram.*leave gaps out"),
    ({"gaps": [[0]]}, "gaps differ from gram"),
    ({"gaps": [[0, 2], [1, 0]]}, "gaps is not symmetric"),
    # overflow
    ({"gram": 1e308 * EYE}, "gram"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[str(case[0])[:60] for case in BAD])
def test_refused(changes, message):
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
    (lambda: Problem.orthogonal(T=2, norm=np.nan, n=5, p=10), "norm = nan: every entry must be finite"),
    (lambda: Problem.orthogonal(T=2, norm=[1, 2], n=5, p=10), "norm"),  # type: ignore[arg-type]
    (lambda: Problem.orthogonal(T=2, norm=1e200, n=5, p=10), "norm"),
    (lambda: Problem.categories("", n=5, p=10), "no labels; give one per task, such as 'ABAB'"),
    (lambda: Problem.categories([], n=5, p=10), "no labels"),
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
    (lambda: Problem.from_distances([[0, -1], [-1, 0]], 1, n=5, p=10), "distances must not be negative.*is -1"),
    (lambda: Problem.from_distances([[0, 1], [1, 3]], 1, n=5, p=10), r"distances\[1, 1\] = 3.*distance 0 from itself"),
    (lambda: Problem.from_distances([[0, 1], [2, 0]], 2, n=5, p=10), "distances is not symmetric"),
    (lambda: Problem.from_distances([[0, 1], [1, 0]], [1], n=5, p=10), r"norms has shape \(1,\)"),
    (lambda: Problem.from_distances([[0, 1], [1, 0]], -1, n=5, p=10), "norms=-1: must not be negative"),
    (lambda: Problem.from_gram(EYE, initial=[1, 0], n=5, p=10), r"initial has shape \(2,\); for 2 tasks give 3"),
    (lambda: Problem.from_gram(EYE, initial=[0.1, 1, 0], n=5, p=10), "no vectors have these inner products"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED_BY_CONSTRUCTORS, ids=[c[1] for c in REFUSED_BY_CONSTRUCTORS])
def test_constructors_refuse(make, message):
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


# ---------------------------------------------------------------- values do not change


@pytest.mark.parametrize("name", ["gram", "n", "sigma", "unmodelled", "gaps", "start"])
@pytest.mark.parametrize("rewritten", [lambda x: x, lambda x: x.reordered([1, 0]), lambda x: x.replace(p=30)])
def test_arrays_are_read_only(name, rewritten):
    array = getattr(rewritten(build()), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 7


def test_attributes_are_frozen():
    with pytest.raises(AttributeError, match="cannot assign"):
        build().p = 7  # type: ignore[misc]


def test_later_changes_of_the_users_arrays_do_not_matter():
    gram, n, sigma, gaps = np.eye(2), np.array([5, 6]), np.array([0.1, 0.2]), 2 - 2 * np.eye(2)
    problem = Problem(gram=gram, n=n, p=10, sigma=sigma, gaps=gaps)
    for array in (gram, n, sigma, gaps):
        assert array.flags.writeable
        array[:] = 9
    assert problem.gram.tolist() == [[1, 0], [0, 1]]
    assert problem.gaps.tolist() == [[0, 2], [2, 0]]
    assert problem.n.tolist() == [5, 6]
    assert problem.sigma.tolist() == [0.1, 0.2]


def test_pickled_problems_are_the_same():
    problem = build(n=[5, 6], names=["a", "b"])
    copy = pickle.loads(pickle.dumps(problem))
    assert np.array_equal(copy.gram, problem.gram)
    assert copy.names == problem.names
    assert repr(copy) == repr(problem)


# ---------------------------------------------------------------- reordered, replace


def test_reordered_moves_everything_with_its_task():
    W, order = vectors(), [2, 0, 3, 1]
    settings: dict[str, Any] = {"n": [5, 6, 7, 8], "sigma": [0.1, 0.2, 0.3, 0.4], "unmodelled": [1, 2, 3, 4]}
    problem = Problem.from_vectors(W, p=20, names="abcd", **settings).reordered(order)
    direct = Problem.from_vectors(
        W[order], p=20, names="cadb", **{key: np.array(value)[order] for key, value in settings.items()}
    )
    for name in ("gram", "gaps"):
        assert getattr(problem, name) == pytest.approx(getattr(direct, name), rel=1e-15)
    for name in ("n", "sigma", "unmodelled"):
        assert np.array_equal(getattr(problem, name), getattr(direct, name))
    assert problem.names == direct.names == ("c", "a", "d", "b")
    assert problem.p == 20
    assert expect(problem).forgetting == pytest.approx(expect(direct).forgetting, rel=1e-13)


def test_reordered_and_back():
    problem = Problem.from_vectors(vectors(), n=[5, 6, 7, 8], p=20)
    order = np.array([2, 0, 3, 1])
    back = problem.reordered(order).reordered(np.argsort(order))
    assert np.array_equal(back.gram, problem.gram)
    assert np.array_equal(back.n, problem.n)
    assert back.names == problem.names


@pytest.mark.parametrize("order", [(1, 0), np.array([1, 0], dtype=np.uint8), range(1, -1, -1)])
def test_orders_of_any_type(order):
    assert build(names=["a", "b"]).reordered(order).names == ("b", "a")


@pytest.mark.parametrize(
    "order",
    [[0], [0, 0], [0, 2], [1, 2], [-1, 0], [[0, 1]], [], "01", [0.0, 1.0], [0.0, 0.5], [False, True]],
)
def test_no_orders(order):
    with pytest.raises(ValueError, match=r"order=.*give each of 0\.\.1 exactly once"):
        build().reordered(order)


def test_replace():
    problem = build(names=["a", "b"]).replace(n=[7, 8], p=200, sigma=0.1, unmodelled=2)
    assert problem.n.tolist() == [7, 8]
    assert problem.p == 200
    assert problem.sigma.tolist() == [0.1, 0.1]
    assert problem.unmodelled.tolist() == [2, 2]
    assert problem.names == ("a", "b")
    assert build(n=[5, 6]).replace(p=30).n.tolist() == [5, 6]


def test_replace_keeps_precise_gaps():
    problem = Problem.from_vectors([[1e6, 0], [1e6, 1e-3]], n=50, p=10).replace(p=20)
    assert problem.gaps[0, 1] == pytest.approx(1e-6, rel=1e-15)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"p": 1}, "span 2 dimensions"),
        ({"n": 0}, "n=0"),
        ({"sigma": -1}, "sigma=-1"),
        ({"names": ["a", "a"]}, "names must differ"),
        ({"gram": EYE}, "replace takes n, p, sigma, unmodelled and names, not gram"),
        ({"noise": 1}, "not noise"),
    ],
)
def test_replace_validates(changes, message):
    with pytest.raises(ValueError, match=message):
        build().replace(**changes)


# ---------------------------------------------------------------- missing features, printing


@pytest.mark.parametrize("n", [20, 200], ids=["overparameterized", "underparameterized"])
def test_missing_features_act_as_noise(n):
    W = vectors()
    unmodelled = np.array([0.0, 0.3, 0.7, 2.0])
    a = Problem.from_vectors(W, n=n, p=60, sigma=0.5, unmodelled=unmodelled)
    b = Problem.from_vectors(W, n=n, p=60, sigma=np.sqrt(0.25 + unmodelled))
    assert expect(a).errors == pytest.approx(expect(b).errors, rel=1e-14)
    assert expect(a).forgetting_std == pytest.approx(expect(b).forgetting_std, rel=1e-13)
    assert simulate(a, 5).errors == pytest.approx(simulate(b, 5).errors, rel=1e-12)
    assert expect(a).generalization > expect(a.replace(unmodelled=0)).generalization


def test_missing_features_are_the_papers_footnote():
    """Tasks in five true features of which the model has three: least squares on the three, drawn plainly."""
    rng = np.random.default_rng(5)
    full = rng.standard_normal((1, 5))
    problem = Problem.from_vectors(full[:, :3], n=10, p=3, sigma=0.2, unmodelled=float(np.sum(full[:, 3:] ** 2)))
    runs = 20_000
    X = rng.standard_normal((runs, 10, 5))
    y = X @ full[0] + 0.2 * rng.standard_normal((runs, 10))
    Xt = X[:, :, :3].transpose(0, 2, 1)
    w = np.linalg.solve(Xt @ X[:, :, :3], (Xt @ y[:, :, None]))[:, :, 0]
    errors = np.sum((w - full[0, :3]) ** 2, axis=1)
    e = expect(problem)
    z = (errors.mean() - e.generalization) / (e.generalization_std / runs**0.5)
    assert abs(z) < 4
    without = expect(problem.replace(unmodelled=0))
    assert (errors.mean() - without.generalization) / (without.generalization_std / runs**0.5) > 20


def test_repr():
    assert repr(build()) == "Problem(T=2, n=50, p=100, sigma=0.3)"
    text = repr(build(n=[5, 6], sigma=[0.1, 0.2], unmodelled=1))
    assert text == "Problem(T=2, n=[5, 6], p=100, sigma=[0.1, 0.2], unmodelled=1)"


# ---------------------------------------------------------------- validate


def test_count_says_what_it_got():
    with pytest.raises(ValueError, match=r"runs='x': give a whole number >= 1"):
        count("runs", "x")
    assert count("runs", np.int64(7)) == 7


def test_numbers_says_where():
    with pytest.raises(ValueError, match=r"W\[1, 2\] = nan"):
        numbers("W", [[1, 2, 3], [4, 5, np.nan]])
