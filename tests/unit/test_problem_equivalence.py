"""What of a problem stays the same when it is reordered, replaced, pickled or written in other words."""

import pickle
from typing import Any

import numpy as np
import pytest
from problems import EYE, build, vectors

from ebbing import expect, simulate
from ebbing.problem import Problem

# ---------------------------------------------------------------- values do not change


@pytest.mark.parametrize("name", ["gram", "n", "sigma", "unmodeled", "gaps", "start"])
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
    settings: dict[str, Any] = {"n": [5, 6, 7, 8], "sigma": [0.1, 0.2, 0.3, 0.4], "unmodeled": [1, 2, 3, 4]}
    problem = Problem.from_vectors(W, p=20, names="abcd", **settings).reordered(order)
    direct = Problem.from_vectors(
        W[order], p=20, names="cadb", **{key: np.array(value)[order] for key, value in settings.items()}
    )
    for name in ("gram", "gaps"):
        assert getattr(problem, name) == pytest.approx(getattr(direct, name), rel=1e-15)
    for name in ("n", "sigma", "unmodeled"):
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


@pytest.mark.parametrize("order", [("b", "a"), ["b", "a"], np.array(["b", "a"])])
def test_orders_of_names(order):
    problem = build(names=["a", "b"], n=[5, 6])
    assert problem.reordered(order).names == ("b", "a")
    assert problem.reordered(order).n.tolist() == [6, 5]


@pytest.mark.parametrize("order", [["a"], ["a", "a"], ["a", "c"], ["a", 1], ["a", "b", "b"]])
def test_no_orders_of_names(order):
    with pytest.raises(ValueError, match=r"order=\['a'.*: give each of 'a', 'b' exactly once, or their places from 0"):
        build(names=["a", "b"]).reordered(order)


@pytest.mark.parametrize(
    "order",
    [[0], [0, 0], [0, 2], [1, 2], [-1, 0], [[0, 1]], [], "01", [0.0, 1.0], [0.0, 0.5], [False, True]],
)
def test_no_orders(order):
    with pytest.raises(ValueError, match=r"order=.*give each of 0\.\.1 exactly once"):
        build().reordered(order)


def test_replace():
    problem = build(names=["a", "b"]).replace(n=[7, 8], p=200, sigma=0.1, unmodeled=2)
    assert problem.n.tolist() == [7, 8]
    assert problem.p == 200
    assert problem.sigma.tolist() == [0.1, 0.1]
    assert problem.unmodeled.tolist() == [2, 2]
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
        ({"gram": EYE}, "replace takes n, p, sigma, unmodeled and names, not gram"),
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
    unmodeled = np.array([0.0, 0.3, 0.7, 2.0])
    a = Problem.from_vectors(W, n=n, p=60, sigma=0.5, unmodeled=unmodeled)
    b = Problem.from_vectors(W, n=n, p=60, sigma=np.sqrt(0.25 + unmodeled))
    assert expect(a).errors == pytest.approx(expect(b).errors, rel=1e-14)
    assert expect(a).forgetting_std == pytest.approx(expect(b).forgetting_std, rel=1e-13)
    assert simulate(a, 5).errors == pytest.approx(simulate(b, 5).errors, rel=1e-12)
    assert expect(a).generalization > expect(a.replace(unmodeled=0)).generalization


def test_missing_features_are_the_papers_footnote():
    """Tasks in five true features of which the model has three: least squares on the three, drawn plainly."""
    rng = np.random.default_rng(5)
    full = rng.standard_normal((1, 5))
    problem = Problem.from_vectors(full[:, :3], n=10, p=3, sigma=0.2, unmodeled=float(np.sum(full[:, 3:] ** 2)))
    runs = 20_000
    X = rng.standard_normal((runs, 10, 5))
    y = X @ full[0] + 0.2 * rng.standard_normal((runs, 10))
    Xt = X[:, :, :3].transpose(0, 2, 1)
    w = np.linalg.solve(Xt @ X[:, :, :3], (Xt @ y[:, :, None]))[:, :, 0]
    errors = np.sum((w - full[0, :3]) ** 2, axis=1)
    e = expect(problem)
    z = (errors.mean() - e.generalization) / (e.generalization_std / runs**0.5)
    assert abs(z) < 4
    without = expect(problem.replace(unmodeled=0))
    assert (errors.mean() - without.generalization) / (without.generalization_std / runs**0.5) > 20


def test_repr():
    assert repr(build()) == "Problem(T=2, n=50, p=100, sigma=0.3)"
    text = repr(build(n=[5, 6], sigma=[0.1, 0.2], unmodeled=1))
    assert text == "Problem(T=2, n=[5, 6], p=100, sigma=[0.1, 0.2], unmodeled=1)"
