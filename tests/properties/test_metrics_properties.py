"""Every metric against loops written from the published formulas, and the relations between the metrics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ebbing import metrics

fewer = settings(max_examples=60, deadline=None)


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers)


# A(t, i): accuracy on task i after task t, both from 1; A(0, i): the initial model.
PUBLISHED = {
    "forgetting": lambda A, T: mean(A(i, i) - A(T, i) for i in range(1, T)),
    "first_minus_last": lambda A, T: mean(A(i, i) - A(T, i) for i in range(1, T)),
    "backward_transfer": lambda A, T: mean(A(T, i) - A(i, i) for i in range(1, T)),
    "best_minus_last": lambda A, T: mean(max(A(k, i) for k in range(1, T + 1)) - A(T, i) for i in range(1, T)),
    "past_best_minus_last": lambda A, T: mean(max(A(k, i) for k in range(1, T)) - A(T, i) for i in range(1, T)),
    "gem_forward_transfer": lambda A, T: mean(A(i - 1, i) - A(0, i) for i in range(2, T + 1)),
    "triangle_backward_transfer": lambda A, T: (
        sum(A(i, j) - A(j, j) for i in range(2, T + 1) for j in range(1, i)) / (T * (T - 1) / 2)
    ),
    "positive_backward_transfer": lambda A, T: max(PUBLISHED["triangle_backward_transfer"](A, T), 0),
    "remembering": lambda A, T: 1 - abs(min(PUBLISHED["triangle_backward_transfer"](A, T), 0)),
    "average_accuracy": lambda A, T: mean(A(T, i) for i in range(1, T + 1)),
    "average_incremental_accuracy": lambda A, T: mean(mean(A(t, i) for i in range(1, t + 1)) for t in range(1, T + 1)),
    "learning_accuracy": lambda A, T: mean(A(i, i) for i in range(1, T + 1)),
    "lower_triangle_mean": lambda A, T: (
        sum(A(i, j) for i in range(1, T + 1) for j in range(1, i + 1)) / (T * (T + 1) / 2)
    ),
    "upper_triangle_mean": lambda A, T: (
        sum(A(i, j) for i in range(1, T + 1) for j in range(i + 1, T + 1)) / (T * (T - 1) / 2)
    ),
}
LEVELS = (
    "average_accuracy",
    "average_incremental_accuracy",
    "learning_accuracy",
    "lower_triangle_mean",
    "upper_triangle_mean",
)
DIFFERENCES = [name for name in PUBLISHED if name not in LEVELS]
WITHOUT_INITIAL = [name for name in PUBLISHED if name != "gem_forward_transfer"]


@st.composite
def accuracies(draw, lead=()):
    T = draw(st.integers(2, 6))
    return draw(arrays(np.float64, (*lead, T + 1, T), elements=st.floats(0, 1, width=32)))


def compute(name, matrix, kind="accuracy"):
    return getattr(metrics, name)(matrix, kind=kind)


@pytest.mark.parametrize("name", PUBLISHED)
@fewer
@given(matrix=accuracies())
def test_equals_the_published_formula(name, matrix):
    expected = PUBLISHED[name](lambda t, i: float(matrix[t, i - 1]), matrix.shape[1])
    assert compute(name, matrix) == pytest.approx(expected, abs=1e-12)


@fewer
@given(matrix=accuracies())
def test_forgetting_curve_is_the_forgetting_of_every_prefix(matrix):
    T = matrix.shape[1]
    prefixes = [compute("forgetting", matrix[: t + 1, :t]) for t in range(2, T + 1)]
    assert compute("forgetting_curve", matrix) == pytest.approx(prefixes, abs=1e-12)


@pytest.mark.parametrize("name", [*DIFFERENCES, "forgetting_curve"])
@fewer
@given(matrix=accuracies())
def test_an_error_is_one_minus_an_accuracy(name, matrix):
    assert compute(name, 1 - matrix, "error") == pytest.approx(compute(name, matrix), abs=1e-12)


@fewer
@given(matrix=accuracies())
def test_levels_of_errors_are_one_minus_levels_of_accuracies(matrix):
    assert compute("generalization_error", 1 - matrix, "error") == pytest.approx(
        1 - compute("average_accuracy", matrix)
    )
    for name in ("lower_triangle_mean", "upper_triangle_mean"):
        assert compute(name, 1 - matrix, "error") == pytest.approx(1 - compute(name, matrix), abs=1e-12)


@fewer
@given(matrix=accuracies())
def test_signs_and_order_of_the_variants(matrix):
    first, best, past = (compute(f"{v}_minus_last", matrix) for v in ("first", "best", "past_best"))
    assert first == -compute("backward_transfer", matrix) == compute("forgetting", matrix)
    assert best >= max(past, 0)
    assert past >= first - 1e-12


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name != "remembering"])
@fewer
@given(matrix=accuracies())
def test_percentages_give_percentages(name, matrix):
    assert compute(name, 100 * matrix) == pytest.approx(100 * compute(name, matrix), abs=1e-10)


@pytest.mark.parametrize("name", WITHOUT_INITIAL)
@fewer
@given(matrix=accuracies())
def test_the_initial_model_changes_nothing_else(name, matrix):
    assert compute(name, matrix[1:]) == compute(name, matrix)


@pytest.mark.parametrize("name", [*PUBLISHED, "forgetting_curve"])
@fewer
@given(batch=accuracies(lead=(2, 3)))
def test_leading_axes_equal_a_loop(name, batch):
    looped = [[compute(name, matrix) for matrix in row] for row in batch]
    np.testing.assert_allclose(compute(name, batch), looped, rtol=0, atol=1e-12)


@fewer
@given(batch=accuracies(lead=(3,)), data=st.data())
def test_forward_transfer_equals_a_loop_and_flips_with_the_kind(batch, data):
    T = batch.shape[-1]
    scratch = data.draw(arrays(np.float64, (3, T), elements=st.floats(0, 1, width=32)))
    looped = [
        [(1 - m[t, t - 1]) - (1 - s[t - 1]) for t in range(1, T + 1)] for m, s in zip(batch, scratch, strict=True)
    ]
    np.testing.assert_allclose(metrics.forward_transfer(batch, scratch, kind="accuracy"), looped, atol=1e-12)
    np.testing.assert_allclose(metrics.forward_transfer(1 - batch, 1 - scratch, kind="error"), looped, atol=1e-12)


@pytest.mark.parametrize("name", [*PUBLISHED, "forgetting_curve"])
@fewer
@given(matrix=accuracies(), data=st.data())
def test_a_missing_entry_is_named_exactly_when_it_matters(name, matrix, data):
    T = matrix.shape[1]
    t, i = data.draw(st.integers(0, T)), data.draw(st.integers(1, T))
    holed, other = matrix.copy(), matrix.copy()
    holed[t, i - 1] = np.nan
    other[t, i - 1] = 1 - matrix[t, i - 1] if matrix[t, i - 1] != 0.5 else 1.0
    matters = bool(np.any(compute(name, other) != compute(name, matrix)))
    if name.startswith(("best", "past", "positive", "rem")):  # an entry that matters may be hidden by a better one
        matters = 1 <= i < T and t >= i
    if matters:
        entry = f"after task {t}, on task {i}," if t else f"of the initial model on task {i},"
        with pytest.raises(ValueError, match=f"^{name} needs the accuracy {entry}"):
            compute(name, holed)
    elif not name.endswith("best_minus_last"):
        np.testing.assert_array_equal(compute(name, holed), compute(name, matrix))
