"""Numbers worked out by hand, and what is said when a metric cannot be computed."""

import inspect

import numpy as np
import pytest

from ebbing import metrics

NAN = np.nan

# Accuracies in percent, T = 3, chosen so that no two definitions agree: task 1 peaks after task 2, task 2 at the end.
ACCURACY = [
    [10, 20, 30],  # initial model
    [60, 25, 30],
    [80, 70, 40],
    [70, 90, 50],
]
BY_HAND = {
    "forgetting": ((60 - 70) + (70 - 90)) / 2,
    "first_minus_last": ((60 - 70) + (70 - 90)) / 2,
    "best_minus_last": ((80 - 70) + (90 - 90)) / 2,
    "past_best_minus_last": ((80 - 70) + (70 - 90)) / 2,
    "backward_transfer": ((70 - 60) + (90 - 70)) / 2,
    "triangle_backward_transfer": ((80 - 60) + (70 - 60) + (90 - 70)) / 3,
    "positive_backward_transfer": ((80 - 60) + (70 - 60) + (90 - 70)) / 3,
    "gem_forward_transfer": ((25 - 20) + (40 - 30)) / 2,
    "average_accuracy": (70 + 90 + 50) / 3,
    "average_incremental_accuracy": (60 + (80 + 70) / 2 + (70 + 90 + 50) / 3) / 3,
    "learning_accuracy": (60 + 70 + 50) / 3,
    "lower_triangle_mean": (60 + 80 + 70 + 70 + 90 + 50) / 6,
    "upper_triangle_mean": (25 + 30 + 40) / 3,
}
DIFFERENCES = [name for name in BY_HAND if not name.endswith(("accuracy", "mean"))]
OF_THE_MATRIX = [*BY_HAND, "forgetting_curve", "generalization_error", "remembering"]


def compute(name, matrix, kind):
    return getattr(metrics, name)(matrix, kind=kind)


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    assert compute(name, ACCURACY, "accuracy") == pytest.approx(BY_HAND[name])


@pytest.mark.parametrize("name", DIFFERENCES)
def test_errors_and_accuracies_give_the_same_differences(name):
    errors = 100 - np.array(ACCURACY)
    assert compute(name, errors, "error") == pytest.approx(BY_HAND[name])


def test_forgetting_curve_by_hand():
    assert metrics.forgetting_curve(ACCURACY, kind="accuracy") == pytest.approx([60 - 80, -15])


def test_generalization_error_by_hand():
    assert metrics.generalization_error([[9, 9], [1, 9], [2, 4]], kind="error") == pytest.approx(3)


def test_triangle_means_of_errors_are_errors():
    errors = [[4, 8], [2, 6]]
    assert metrics.lower_triangle_mean(errors, kind="error") == pytest.approx(4)
    assert metrics.upper_triangle_mean(errors, kind="error") == pytest.approx(8)


@pytest.mark.parametrize(("last", "expected"), [(0.5, 0.75), (1.0, 1.0), (0.75, 1.0)])
def test_remembering_by_hand(last, expected):
    assert metrics.remembering([[0.75, 0], [last, 1]], kind="accuracy") == pytest.approx(expected)


def test_positive_backward_transfer_is_zero_with_forgetting():
    assert metrics.positive_backward_transfer([[75, 0], [50, 100]], kind="accuracy") == 0


def test_forward_transfer_is_negative_when_earlier_tasks_help():
    errors = [[9, 9], [2, 9], [5, 1]]
    assert metrics.forward_transfer(errors, [2, 4], kind="error").tolist() == [0, -3]
    assert metrics.forward_transfer([[70, 0], [50, 90]], [70, 80], kind="accuracy").tolist() == [0, -10]


def test_forward_transfer_takes_one_scratch_row_per_matrix():
    errors = np.arange(12.0).reshape(2, 3, 2)
    scratch = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = [[2 - 1, 5 - 2], [8 - 3, 11 - 4]]
    assert metrics.forward_transfer(errors, scratch, kind="error").tolist() == expected


def test_rows_before_a_task_is_learned_count_for_the_best():
    # Task 2 was better before it was learned (90) than ever after: RWalk and Mammoth both take the column's maximum.
    accuracy = [[50, 90, 0], [50, 60, 0], [50, 70, 80]]
    assert metrics.past_best_minus_last(accuracy, kind="accuracy") == pytest.approx((0 + 20) / 2)
    assert metrics.best_minus_last(accuracy, kind="accuracy") == pytest.approx((0 + 20) / 2)
    assert metrics.first_minus_last(accuracy, kind="accuracy") == pytest.approx((0 - 10) / 2)


def test_the_initial_model_does_not_count_for_the_best():
    accuracy = [[99, 99], [50, 60], [40, 70]]
    assert metrics.past_best_minus_last(accuracy, kind="accuracy") == pytest.approx(10)
    assert metrics.best_minus_last(accuracy, kind="accuracy") == pytest.approx(10)


def test_an_empty_upper_triangle_does_not_count_for_the_best():
    errors = [[5, NAN, NAN], [4, 6, NAN], [7, 9, 3]]
    assert metrics.past_best_minus_last(errors, kind="error") == pytest.approx(((7 - 4) + (9 - 6)) / 2)
    assert metrics.best_minus_last(errors, kind="error") == pytest.approx(((7 - 4) + (9 - 6)) / 2)


def test_one_matrix_gives_a_float_and_leading_axes_stay():
    assert isinstance(metrics.forgetting(ACCURACY, kind="accuracy"), float)
    batch = np.broadcast_to(np.array(ACCURACY), (5, 2, 4, 3))
    assert metrics.forgetting(batch, kind="accuracy").shape == (5, 2)
    assert metrics.forgetting_curve(batch, kind="accuracy").shape == (5, 2, 2)


def test_the_matrix_is_left_as_it_was():
    matrix = np.array(ACCURACY, dtype=float)
    metrics.summary(matrix, kind="accuracy")
    assert matrix.tolist() == ACCURACY


@pytest.mark.parametrize(
    ("matrix", "kind", "message"),
    [
        ([[1, 2], [3, 4]], "loss", r"kind='loss': say 'error' .* or 'accuracy'"),
        ([], "error", r"shape \(0,\): give \(\.\.\., T\+1, T\)"),
        (3.0, "error", r"shape \(\)"),
        ([1.0, 2.0], "error", r"shape \(2,\)"),
        (np.ones((2, 3)), "error", r"shape \(2, 3\)"),
        (np.ones((4, 2)), "error", r"shape \(4, 2\)"),
        (np.ones((0, 3, 2)), "error", r"shape \(0, 3, 2\)"),
        ([[1, 2], [3]], "error", "rows of unequal length: fill them up with NaN"),
        ([["a", "b"], ["c", "d"]], "error", "give numbers"),
        ([[1, None], [2, 3]], "error", "object values: give numbers, and NaN where one is missing"),
        ([[True, False], [True, True]], "accuracy", "bool values"),
        ([[1j, 1], [1, 1]], "error", "complex128 values"),
        ([[1, 2], [np.inf, 4]], "error", r"matrix\[1, 0\] is inf; errors are finite"),
        ([[1, 2], [-np.inf, 4]], "accuracy", r"matrix\[1, 0\] is -inf"),
        ([[50, 120], [10, 10]], "accuracy", r"matrix\[0, 1\] is 120; accuracies lie in \[0, 1\] or \[0, 100\]"),
        ([[0.5, 0.5], [-0.1, 0.5]], "accuracy", r"matrix\[1, 0\] is -0.1"),
    ],
)
def test_every_metric_and_the_summary_check_the_matrix(matrix, kind, message):
    for name in [*OF_THE_MATRIX, "summary"]:
        other = "error" if name.endswith("accuracy") else "accuracy" if name == "generalization_error" else None
        if kind != other:
            with pytest.raises(ValueError, match=message):
                compute(name, matrix, kind)


@pytest.mark.parametrize("name", [*DIFFERENCES, "forgetting_curve", "remembering", "upper_triangle_mean"])
def test_one_task_is_too_few_to_compare(name):
    with pytest.raises(ValueError, match=f"{name} compares tasks and needs T >= 2; got T = 1"):
        compute(name, [[0.5], [0.25]], "error")


def test_one_task_has_an_average_and_a_forward_transfer():
    assert metrics.generalization_error([[0.5], [0.25]], kind="error") == 0.25
    assert metrics.average_accuracy([[40]], kind="accuracy") == 40
    assert metrics.average_incremental_accuracy([[40]], kind="accuracy") == 40
    assert metrics.learning_accuracy([[40]], kind="accuracy") == 40
    assert metrics.lower_triangle_mean([[40]], kind="accuracy") == 40
    assert metrics.forward_transfer([[0.25]], [0.5], kind="error").tolist() == [-0.25]


def test_a_missing_entry_is_named_from_one():
    matrix = np.array(ACCURACY, dtype=float)
    matrix[3, 1] = NAN
    with pytest.raises(ValueError, match=r"^forgetting needs the accuracy after task 3, on task 2, .*: evaluate it"):
        metrics.forgetting(matrix, kind="accuracy")
    batch = np.stack([np.array(ACCURACY), matrix])
    with pytest.raises(ValueError, match=r"after task 3, on task 2, of matrix \[1\]"):
        metrics.forgetting(batch, kind="accuracy")


def test_gem_forward_transfer_asks_for_the_initial_model():
    message = "gem_forward_transfer needs the accuracy of the initial model on task 2, .*: put the initial model's row"
    with pytest.raises(ValueError, match=message):
        metrics.gem_forward_transfer(ACCURACY[1:], kind="accuracy")


def test_averages_of_the_other_kind_name_the_right_function():
    with pytest.raises(ValueError, match="use average_accuracy"):
        metrics.generalization_error(ACCURACY, kind="accuracy")
    with pytest.raises(ValueError, match="use generalization_error"):
        metrics.average_accuracy([[1, 2], [3, 4]], kind="error")


@pytest.mark.parametrize("name", ["average_incremental_accuracy", "learning_accuracy"])
def test_other_means_of_accuracies_refuse_errors(name):
    with pytest.raises(ValueError, match=f"^{name} is a mean of accuracies; the matrix holds errors: give accuracies"):
        compute(name, [[1, 2], [3, 4]], "error")


@pytest.mark.parametrize(("matrix", "kind", "got"), [(ACCURACY, "accuracy", 10), ([[-0.5, 0], [0, 0]], "error", -0.5)])
def test_remembering_needs_fractions(matrix, kind, got):
    with pytest.raises(ValueError, match=rf"remembering needs fractions in \[0, 1\], got {got}: divide"):
        metrics.remembering(matrix, kind=kind)


@pytest.mark.parametrize("scratch", [[1.0], 1.0, [1.0, 2.0, 3.0], [[1.0, 2.0]], [1.0, NAN]])
def test_scratch_needs_one_number_per_task(scratch):
    with pytest.raises(ValueError, match=r"scratch has shape .*; give a number for each of the 2 tasks"):
        metrics.forward_transfer([[1, 2], [3, 4]], scratch, kind="error")


def test_scratch_must_be_of_the_same_kind():
    with pytest.raises(ValueError, match=r"scratch\[1\] is 120; accuracies"):
        metrics.forward_transfer([[50, 50], [50, 50]], [50, 120], kind="accuracy")


def test_summary_holds_every_metric_of_the_matrix():
    found = metrics.summary(ACCURACY, kind="accuracy")
    assert (found.kind, found.tasks) == ("accuracy", 3)
    assert {name: found.values[name] for name in BY_HAND} == pytest.approx(BY_HAND)
    assert set(found.reasons) == {"generalization_error", "remembering"}
    assert all((found.values[name] is None) == (name in found.reasons) for name in found.values)


def test_summary_leaves_out_no_public_metric():
    public = {name for name, thing in inspect.getmembers(metrics, inspect.isfunction)}
    assert public <= set(metrics.__all__)
    assert set(metrics.summary(ACCURACY, kind="accuracy").values) == public - {
        "compare_evaluations",
        "forward_transfer",
        "summary",
    }


def test_summary_of_a_lower_triangle_without_initial_model():
    found = metrics.summary([[0.9, NAN, NAN], [0.5, 0.9, NAN], [0.3, 0.6, 0.9]], kind="accuracy")
    assert set(found.reasons) == {"generalization_error", "gem_forward_transfer", "upper_triangle_mean"}
    assert "of the initial model on task 2" in found.reasons["gem_forward_transfer"]
    assert "after task 1, on task 2" in found.reasons["upper_triangle_mean"]


def test_summary_of_one_task_still_has_the_averages():
    found = metrics.summary([[0.5], [0.25]], kind="error")
    assert {name for name, value in found.values.items() if value is not None} == {
        "generalization_error",
        "lower_triangle_mean",
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_with_gradients(dtype):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([[0.75, 0.5], [0.25, 0.75]], dtype=getattr(torch, dtype), requires_grad=True)
    for matrix in (tensor, list(tensor), [list(row) for row in tensor]):
        assert metrics.forgetting(matrix, kind="accuracy") == 0.5
        assert metrics.summary(matrix, kind="accuracy").values["average_accuracy"] == 0.5
