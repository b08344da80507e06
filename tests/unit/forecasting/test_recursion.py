"""The recursion equals learning with explicit weights, step by step; many orders equal single ones."""

from itertools import permutations

import numpy as np
import pytest
from scipy.linalg import expm

from ebbing.forecasting._evaluation import evaluate_orders
from ebbing.forecasting.recursion import KernelModel
from ebbing.forecasting.targets import Targets


def made(kind="regression", *, outputs=2, T=3, n=6, m=5, p=40, seed=0, **settings):
    """Return features and a model of T tasks."""
    random = np.random.default_rng(seed)
    rows = T * (n + m)
    X = random.standard_normal((rows, p))
    X /= np.sqrt(np.square(X).sum(axis=1).mean())  # mean diagonal 1
    if kind == "regression":
        targets = Targets("regression", random.standard_normal((rows, outputs)))
    elif kind == "classes":
        targets = Targets.of(random.integers(0, 3, rows), 3)
    else:
        targets = Targets.of(random.integers(0, 2, rows), 1)
    train = tuple(np.arange(t * n, (t + 1) * n) for t in range(T))
    test = tuple(T * n + np.arange(t * m, (t + 1) * m) for t in range(T))
    start = targets.predictions(random.standard_normal(targets.values.shape))
    return X, KernelModel(X @ X.T, start, targets, train, test, **settings)


@pytest.mark.parametrize("settings", [{}, {"ridge": 0.3}, {"time": 2.5}])
def test_steps_equal_those_of_explicit_weights(settings):
    X, model = made(**settings)
    w = np.zeros((X.shape[1], 2))  # the change of the weights
    expected = []
    for rows in (model.train[1], model.train[0], model.train[1]):
        A, r = X[rows], model.targets.values[rows] - model.start[rows] - X[rows] @ w
        if "ridge" in settings:
            w = w + np.linalg.solve(A.T @ A + 0.3 * np.eye(A.shape[1]), A.T @ r)
        elif "time" in settings:  # gradient flow of half the mean squared error, in function space
            flow = np.eye(len(rows)) - expm(-2.5 * A @ A.T / len(rows))
            w = w + np.linalg.pinv(A) @ flow @ r
        else:
            w = w + np.linalg.pinv(A) @ r
        f = model.start + X @ w
        expected.append([np.square(f[t] - model.targets.values[t]).mean() for t in model.test])
    found = model.errors([model.train[1], model.train[0], model.train[1]])
    assert np.allclose(found[1:], expected, rtol=1e-9)
    assert np.allclose(found[0], [np.square(model.start[t] - model.targets.values[t]).mean() for t in model.test])


def test_gradient_descent_converges_to_the_forecast():
    X, model = made(p=60)
    rows = model.train[0]
    w = np.zeros((60, 2))
    for _ in range(20000):
        w -= 0.5 * X[rows].T @ (X[rows] @ w + model.start[rows] - model.targets.values[rows])
    f = model.start + X @ w
    expected = [np.square(f[t] - model.targets.values[t]).mean() for t in model.test]
    assert np.allclose(model.errors([rows])[1], expected, rtol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"loss": "cross-entropy", "ridge": 0.01}])
@pytest.mark.parametrize("kind", ["regression", "classes", "yes or no"])
def test_many_orders_equal_single_ones(kind, settings):
    if kind != "yes or no" and "loss" in settings:
        return
    _, model = made(kind, T=4, **settings)
    orders = np.array(list(permutations(range(4))))
    learned, final = evaluate_orders(model, orders)
    for order, d, e in zip(orders, learned, final, strict=True):
        matrix = model.errors([model.train[t] for t in order])[:, order]
        assert np.allclose(d, np.diagonal(matrix[1:]))
        assert np.allclose(e, matrix[-1])


def test_small_chunks_of_orders_give_the_same(monkeypatch):
    _, model = made(T=4)
    orders = np.random.default_rng(0).permutation(np.array(list(permutations(range(4)))))
    whole = evaluate_orders(model, orders)
    monkeypatch.setattr("ebbing.forecasting._evaluation._PREDICTIONS_BYTES", 5 * 8 * model.start.size)
    assert all(np.allclose(a, b) for a, b in zip(whole, evaluate_orders(model, orders), strict=True))


def test_repeated_examples_do_no_harm():
    _, model = made()
    rows = model.train[0]
    twice = np.concatenate([rows, rows])
    assert np.allclose(model.errors([twice]), model.errors([rows]), rtol=1e-6)


def test_training_rows_are_fitted():
    _, model = made()
    learned = model.learn(model.initial(), model.train[0])
    assert np.allclose(learned[model.train[0], 0], model.targets.values[model.train[0]])


def test_solutions_are_inner_products_of_updates():
    X, model = made()
    updates = [
        (np.linalg.pinv(X[rows]) @ (model.targets.values[rows] - model.start[rows])).ravel() for rows in model.train
    ]
    expected = np.array([[a @ b for b in updates] for a in updates])
    assert np.allclose(model.solutions(), expected)


def test_part_of_the_rows():
    _, model = made()
    train, test = [rows[:4] for rows in model.train], [rows[1:] for rows in model.test]
    part = model.part(train, test)
    expected = KernelModel(model.kernel, model.start, model.targets, tuple(train), tuple(test))
    assert np.allclose(part.errors(part.train), expected.errors(expected.train))
