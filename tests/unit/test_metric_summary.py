"""Summaries of metrics as text and frames."""

import re

import numpy as np
import pytest

from ebbing import metrics

ACCURACY = [[10, 20, 30], [60, 25, 30], [80, 70, 40], [70, 90, 50]]


def test_summary_line_by_line():
    lines = metrics.summary(ACCURACY, kind="accuracy").summary().split("\n")
    assert lines[0] == "3 tasks, accuracies; results in the unit of the matrix"
    assert lines[2] == "task    initial model  just learned  at the end  forgotten"
    assert lines[3] == "task 1             10            60          70        -10"
    assert lines[6] == "Nothing was forgotten; on average old tasks got better by 15."
    assert lines[8] == "metric                         value  definition, or why there is no value"
    assert lines[9] == "forgetting                       -15  F_T = mean_{i<T} (L[T,i] - L[i,i]), Lin et al. 2023"
    text = "\n".join(lines)
    assert "generalization_error               -  is a mean of errors; the matrix holds accuracies" in text
    assert "remembering                        -  needs fractions in [0, 1], got 10: divide percentages by 100" in text
    assert "forgetting_curve, F_2 to F_3: -20  -15" in text
    assert "Positive forgetting and negative backward transfer mean that old tasks got worse." in text


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        ([0.9, 0.8], "On average 0.25 was forgotten; most of cats, from 0.9 to 0.6."),
        ([0.7, 0.4], "On average old tasks got better by 0.05; cats got worse, from 0.7 to 0.6."),
        ([0.7, 0.5], "On average old tasks stayed as they were; cats got worse, from 0.7 to 0.6."),
        ([0.6, 0.6], "Nothing was forgotten; on average old tasks stayed as they were."),
        ([0.2 + 0.4, 0.6], "Nothing was forgotten; on average old tasks stayed as they were."),
        ([0.8, 0.4], "On average old tasks stayed as they were; cats got worse, from 0.8 to 0.6."),
        ([np.nan, 0.6], "metric"),  # no sentence where an entry is missing
    ],
)
def test_summary_says_what_was_forgotten(first, sentence):
    matrix = [[first[0], np.nan, np.nan], [np.nan, first[1], np.nan], [0.6, 0.6, 0.9]]
    found = metrics.summary(matrix, kind="accuracy", names=["cats", "dogs", "cars"])
    lines = [line for line in found.summary().split("\n") if line]
    assert lines[5].startswith(sentence)
    lost = [first[0] - 0.6, first[1] - 0.6, 0.0]
    assert found.forgotten == pytest.approx(lost, nan_ok=True)


def test_page_of_a_single_task_has_no_picture():
    pages = [metrics.summary(matrix, kind="accuracy").to_html() for matrix in ([[0.5], [0.9]], ACCURACY)]
    assert [page.count("<svg") for page in pages] == [0, 1]


def test_rounding_errors_are_not_shown():
    matrix = np.array([[[0.1 + 0.2, 0.5], [0.3, 0.9]], [[0.8, 0.5], [0.6, 0.9]], [[0.4, 0.5], [0.6, 0.9]]])
    for some in (matrix[0], matrix):
        found = metrics.summary(some, kind="accuracy")
        assert found.forgotten.flat[0] == 0
        assert "e-1" not in found.summary() + repr(found)
    assert re.search(r"\nforgetting +0 ± 0\.12 ", found.summary())


def test_several_tasks_that_got_worse_are_counted():
    matrix = np.array([[0.7, 0, 0, 0], [0, 0.7, 0, 0], [0, 0, 0.3, 0], [0.5, 0.6, 0.8, 0.9]])
    text = metrics.summary(np.where(matrix, matrix, np.nan), kind="accuracy", names=["cats", "dogs", "cars", "ships"])
    sentence = "On average old tasks got better by 0.06667; 2 of 3 got worse, most of all cats, from 0.7 to 0.5."
    assert sentence in text.summary()


@pytest.mark.parametrize(
    ("matrix", "kind", "sentence"),
    [
        (
            [[50, 50], [51, 50], [51, 52]],
            "accuracy",
            "Tasks were hardly learned: accuracy 51.5 just learned, 50 before. If",
        ),
        (
            [[0.5, 0.5], [0.9, 0.5], [0.9, 0.52]],
            "accuracy",
            "dogs was hardly learned: accuracy 0.52 just learned, 0.5 be",
        ),
        (
            [[2.0, 2.0], [1.9, 2.0], [1.8, 1.0]],
            "error",
            "cats was hardly learned: error 1.9 just learned, 2 before. If",
        ),
        (
            [[2.0, 2.0], [9.0, 2.0], [9.0, 7.0]],
            "error",
            "Tasks were not learned: error 8 just learned, 2 before. Train",
        ),
    ],
)
def test_summary_says_first_if_tasks_were_hardly_learned(matrix, kind, sentence):
    found = metrics.summary(matrix, kind=kind, names=["cats", "dogs"])
    assert found._answer().startswith(sentence)
    for text in (found.summary(400), found.to_html()):
        assert text.index(sentence) < text.index("Nothing was forgotten")
    assert set(found.hardly_learned) == ({"cats", "dogs"} if sentence[0] == "T" else {sentence[:4]})


@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        ([[10, 10], [19, 10], [19, 19]], "accuracy"),  # 90% of the error is left
        ([[np.nan, np.nan], [51, 50], [51, 52]], "accuracy"),
        ([[51, 50], [51, 52]], "accuracy"),
        ([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], "error"),
        ([[-2.0, -2.0], [-1.5, -2.0], [-1.5, -1.5]], "error"),
    ],
)
def test_no_doubt_where_tasks_were_learned_or_nobody_knows(matrix, kind):
    found = metrics.summary(matrix, kind=kind)
    assert found.hardly_learned == ()
    assert "learned:" not in found.summary()


def test_many_tasks_that_were_hardly_learned_are_counted():
    learned = np.vstack([np.ones(8), np.where(np.eye(8) * (np.arange(8) > 6), 0.1, 1.0)])
    text = metrics.summary(learned, kind="error", names=list("12345678")).summary(400)
    assert "task 1, task 2, task 3, task 4, 3 more were hardly learned: error 1 just learned, 1 before." in text


def test_names_are_as_many_as_tasks():
    with pytest.raises(ValueError, match="3 names for 2 tasks; give one per task"):
        metrics.summary([[1.0, 1.0], [1.0, 1.0]], kind="error", names=["a", "b", "c"])


def test_summary_of_several_matrices_shows_mean_and_error():
    matrices = np.array([[[0.1, 0.3], [0.2, 0.1]], [[0.1, 0.3], [0.2, 0.2]]])
    found = metrics.summary(matrices, kind="error")
    text = found.summary()
    assert "generalization_error          0.175 ± 0.025" in text
    assert "Values are means over the matrices ± their standard errors." in text
    assert "standard errors" not in metrics.summary(matrices[0], kind="error").summary()


def test_summary_shows_no_negative_zero():
    text = metrics.summary([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], kind="error").summary()
    assert not re.search(r"-0(?![.\d])", text)


def test_summary_of_one_task():
    text = metrics.summary([[0.25]], kind="error").summary()
    assert text.startswith("1 task, errors")
    assert "generalization_error           0.25" in text


def test_summary_stays_as_it_was_while_the_matrix_is_filled():
    matrix = np.array([[0.5, 0.5], [0.1, 0.5], [0.3, 0.1]])
    found = metrics.summary(matrix, kind="error")
    matrix[2, 0] = 0.9
    assert found.forgotten[0] == pytest.approx(found.values["forgetting"]) == pytest.approx(0.2)


def test_frame_has_a_row_per_value():
    found = metrics.summary(ACCURACY, kind="accuracy")
    frame = found.to_frame().set_index("metric")
    assert frame.loc["forgetting", "value"] == -15
    assert frame.loc["forgetting_curve", ["step", "value"]].to_numpy().tolist() == [[2, -20], [3, -15]]
    assert np.isnan(frame.loc["remembering", "value"])
    assert frame.loc["remembering", "reason"] == found.reasons["remembering"]
    assert frame.loc["forgetting", "reason"] == ""


def test_frame_of_several_matrices():
    matrices = np.random.default_rng(0).uniform(size=(4, 3, 2, 2))
    frame = metrics.summary(matrices, kind="error").to_frame()
    found = frame[frame["metric"] == "forgetting"]
    assert found["matrix"].tolist() == list(range(12))
    assert found["value"].tolist() == pytest.approx(metrics.forgetting(matrices, kind="error").ravel().tolist())


def test_numbers_near_the_limits_give_no_warning():
    large = np.array([[[1e301, 2e301], [3e301, 1e300]], [[2e301, 2e301], [1e301, 1e300]]])
    for scale in (1.0, 1e-301, 1e-315):
        assert "±" in metrics.summary(scale * large, kind="error").summary()
    with pytest.raises(ValueError, match=r"matrix\[0, 0\] is 1e[+]308; errors are finite, at most 1e[+]302"):
        metrics.summary([[1e308, 1.0], [1.0, 1.0]], kind="error")


@pytest.mark.parametrize("kind", [["error"], None, 5, {}])
def test_a_kind_of_any_type_is_refused(kind):
    with pytest.raises(ValueError, match="say 'error'"):
        metrics.summary([[1.0]], kind=kind)


def test_repr_is_one_line_with_the_two_main_numbers():
    found = metrics.summary(ACCURACY, kind="accuracy")
    assert repr(found) == "MetricSummary(3 tasks, kind='accuracy', forgetting=-15, average_accuracy=70)"
    assert (
        repr(metrics.summary([[0.5]], kind="error")) == "MetricSummary(1 task, kind='error', generalization_error=0.5)"
    )


def test_names_are_the_columns_of_a_frame():
    frame = pytest.importorskip("pandas").DataFrame([[0.9, 0.1], [0.6, 0.8]], columns=["cats", "dogs"])
    assert metrics.summary(frame, kind="accuracy").names == ("cats", "dogs")
    assert metrics.summary(frame.to_numpy(), kind="accuracy").names == ("task 1", "task 2")
    frame.columns = [0, 1]
    assert metrics.summary(frame, kind="accuracy").names == ("task 1", "task 2")


def test_transposed_matrix_is_recognized():
    matrix = np.array([[0.9, np.nan], [0.6, 0.8]])
    found = metrics.summary(matrix.T, kind="accuracy")
    assert found.reasons["forgetting"].endswith("columns the tasks: is the matrix transposed?")
    with pytest.raises(ValueError, match=r"after task 2, on task 1.*is the matrix transposed\?"):
        metrics.average_accuracy(matrix.T, kind="accuracy")
    diagonal = np.array([[0.9, np.nan], [np.nan, 0.8]])
    assert "transposed" not in metrics.summary(diagonal, kind="accuracy").reasons["forgetting"]


ZEROS = np.array([[0.02, 0, 0], [0.09, 0.03, 0], [0.28, 0.10, 0.04]])
"""Errors of a run whose matrix began as np.zeros((3, 3))."""


def what_it_says(matrix, kind):
    with pytest.warns(UserWarning, match="all entries above the diagonal are exactly 0 and count as measured") as said:
        metrics.summary(matrix, kind=kind)
    assert (len(said), said[0].filename) == (1, __file__)
    return str(said[0].message)


@pytest.mark.parametrize(
    ("matrix", "line"),
    [
        (ZEROS, "matrix = np.where(np.tri(3), matrix, np.nan)"),
        (np.stack([ZEROS, ZEROS]), "matrix = np.where(np.tri(3), matrix, np.nan)"),
        (np.vstack([np.zeros(3), ZEROS]), "matrix = np.where(np.tri(4, 3, -1), matrix, np.nan)"),
        (np.vstack([[1, 0, 1], ZEROS]), "matrix[1:] = np.where(np.tri(3), matrix[1:], np.nan)"),
        (np.ones((2, 4, 3)) * np.vstack([np.ones(3), ZEROS]), "matrix[..., 1:, :] = np.where(np.tri(3), "),
    ],
)
def test_zeros_above_the_diagonal_get_a_warning(matrix, line):
    said = what_it_says(matrix, "error")
    assert f"if they were not measured, replace them by NaN: {line}" in said
    space = {"np": np, "matrix": matrix.copy()}
    exec(said.rpartition("by NaN: ")[2], space)
    found = metrics.summary(space["matrix"], kind="error")  # without a warning
    assert found.values["best_minus_last"] == pytest.approx(0.165)
    assert "upper_triangle_mean" in found.reasons
    if (matrix[..., 0, :] == [1, 0, 1]).all():
        assert (found.matrix[..., 0, :] == [1, 0, 1]).all()


def test_minus_one_above_the_diagonal_gets_a_warning():
    errors = np.where(np.tri(3), ZEROS, -1)
    line = r"matrix = np.where\(np.tri\(3\), matrix, np.nan\)"
    with pytest.warns(UserWarning, match=rf"exactly -1 and count .* if they were not measured, .*: {line}$"):
        metrics.summary(errors, kind="error")


def test_the_warning_names_the_metrics_that_change():
    assert "changes best_minus_last, past_best_minus_last and upper_triangle_mean;" in what_it_says(ZEROS, "error")
    assert "changes upper_triangle_mean;" in what_it_says(ZEROS, "accuracy")
    assert "changes upper_triangle_mean;" in what_it_says(ZEROS[:2, :2], "error")  # the last task has no forgetting
    with_initial = np.vstack([[0.3, 0.3, 0.3], ZEROS])
    assert "changes gem_forward_transfer and upper_triangle_mean;" in what_it_says(with_initial, "accuracy")


@pytest.mark.parametrize(
    "matrix",
    [
        np.where(np.tri(3), ZEROS, np.nan),
        ZEROS + 0.01 * (np.arange(3) == 2),  # one column above the diagonal was measured
        np.zeros((3, 3)),
        np.zeros((4, 3)),
        [[0.5]],
        [[0.0], [0.5]],
        np.stack([ZEROS, ZEROS + 0.01]),
    ],
)
def test_no_warning_where_zeros_say_nothing(matrix):
    metrics.summary(matrix, kind="error")


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            [[98, 12, 10], [91, 97, 11], [0.72, 90, 96]],
            "after task 3, on task 1 is 0.72, and others are 10 to 98: fract",
        ),
        (
            [[0.98, 0.12], [72, 0.9]],
            "after task 2, on task 1 is 72, and others are 0.12 to 0.98: fractions and percent",
        ),
        ([[0.9, 0.1], [0.6, 1.48]], r"on task 2 is 1.48, and others are 0.1 to 0.9: fractions are at most 1; correct"),
        ([[[98, 12], [91, 97]], [[98, 12], [0.5, 97]]], r"on task 1, of matrix \[1\] is 0.5, and others are 12 to 98"),
    ],
)
def test_accuracies_in_two_units_get_a_warning(matrix, message):
    with pytest.warns(UserWarning, match=message) as said:
        metrics.summary(matrix, kind="accuracy")
    assert (len(said), said[0].filename) == (1, __file__)
    metrics.summary(matrix, kind="error")  # losses have any size


@pytest.mark.parametrize(
    "matrix",
    [
        [[98.0, 12.0], [0.0, 97.0]],  # as in class-incremental learning
        [[98.0, 0.4], [1.2, 97.0]],
        [[1.0, 0.1], [0.0, 1.0]],
        [[98.0, np.nan], [91.0, 97.0]],
        [[1.01, 1.4], [1.1, 1.9]],
    ],
)
def test_accuracies_in_one_unit_get_no_warning(matrix):
    metrics.summary(matrix, kind="accuracy")
