"""Tasks whose inputs differ: against a linear layer that is trained, and all orders one by one."""

import itertools

import numpy as np
import pytest

from ebbing.inputs import InputProblem, longest_path, periphery_to_core


def random_layer(rng, T, features=5):
    X, Y = rng.standard_normal((T, features)), rng.standard_normal((T, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, Y, InputProblem(X @ X.T, Y @ Y.T)


def test_errors_are_those_of_a_trained_layer():
    rng = np.random.default_rng(0)
    for T in (1, 2, 5, 9):
        X, Y, problem = random_layer(rng, T)
        W = np.zeros((3, X.shape[1]))
        rows = [((Y - X @ W.T) ** 2).sum(axis=1)]
        for t in range(T):
            W = W + np.outer(Y[t] - W @ X[t], X[t])
            rows.append(((Y - X @ W.T) ** 2).sum(axis=1))
        assert problem.errors == pytest.approx(np.array(rows), rel=1e-10, abs=1e-12)


def test_same_inputs_and_other_inputs_are_told_apart():
    """With the same input a task is replaced; with orthogonal inputs nothing is forgotten."""
    labels = np.eye(2)
    assert InputProblem(np.ones((2, 2)), labels).forgetting == pytest.approx(2)  # |y_1 - y_2|^2
    assert InputProblem(np.eye(2), labels).forgetting == 0


@pytest.mark.parametrize("objective", ["forgetting", "generalization"])
def test_best_order_is_the_best_of_all(objective):
    rng = np.random.default_rng(1)
    for T in (2, 3, 5):
        _, _, problem = random_layer(rng, T)
        values = {o: getattr(problem.reordered(o), objective) for o in itertools.permutations(range(T))}
        plan = problem.best_order(objective)
        assert plan.proved
        assert plan.value == pytest.approx(min(values.values()), rel=1e-12)
        assert values[plan.order] == pytest.approx(plan.value, rel=1e-12)
        for name, rule in (("periphery to core", periphery_to_core), ("longest path", longest_path)):
            assert plan.rules[name] == pytest.approx(values[rule(problem)], rel=1e-12)
            assert plan.rules[name] >= plan.value - 1e-12


def test_many_tasks_are_ordered_without_a_proof():
    _, _, problem = random_layer(np.random.default_rng(2), 10)
    plan = problem.best_order()
    assert not plan.proved
    assert sorted(plan.order) == list(range(10))
    assert plan.value == pytest.approx(problem.reordered(plan.order).generalization, rel=1e-10)
    assert plan.value <= min(plan.rules.values())


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([[1, 0]], np.eye(2), "inputs has shape"),
        (np.eye(2), np.eye(3), "inputs has 2 tasks and outputs 3"),
        (2 * np.eye(2), np.eye(2), r"inputs\[0, 0\] = 2: inputs have length one"),
        ([[1, 2], [2, 1]], np.eye(2), "no vectors"),
    ],
)
def test_bad_similarities_are_refused(inputs, outputs, message):
    with pytest.raises(ValueError, match=message):
        InputProblem(inputs, outputs)


@pytest.mark.parametrize("order", [[0, 0], [0.5, 1.5], None, [[0, 1]], ["0", "1"], [0]])
def test_bad_orders_are_refused(order):
    with pytest.raises(ValueError, match=r"order=.*: give each of 0\.\.1 exactly once"):
        InputProblem(np.eye(2), np.eye(2)).reordered(order)


def test_bad_objectives_are_refused():
    problem = InputProblem(np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="objective='speed': give one of forgetting, generalization"):
        problem.best_order("speed")  # type: ignore[arg-type]
