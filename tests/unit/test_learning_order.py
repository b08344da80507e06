"""The order of learning, as names of rows tell it: in files, and in frames of pandas."""

import numpy as np
import pytest

from ebbing import metrics, read_matrix
from ebbing.io.error_matrices import summarize_file
from ebbing.metrics._learning_order import find_learning_order

VALUES = [[0.50, 0.55, 0.95], [0.52, 0.94, 0.70], [0.93, 0.80, 0.60]]
LEARNED = [[0.95, 0.55, 0.50], [0.70, 0.94, 0.52], [0.60, 0.80, 0.93]]
TEXT = "trained,cars,cats,dogs\ndogs,0.50,0.55,0.95\ncats,0.52,0.94,0.70\ncars,0.93,0.80,0.60\n"
SAYS = "the rows say that tasks were learned in the order dogs, cats, cars; columns are put into this order"


@pytest.mark.parametrize(
    ("rows", "columns", "order"),
    [
        (["b", "c", "a"], ["a", "b", "c"], [1, 2, 0]),
        (["initial model", "b", "a"], ["a", "b"], [1, 0]),
        (["a", "b", "a"], ["a", "b"], [1, 0]),  # the first row may have any name
        (["after B", "After learning a "], ["a", "b"], [1, 0]),
        (["task 2", "task 1"], ["task 1", "task 2"], [1, 0]),
        (["after task 2", "after task 1"], ["task 1", "task 2"], [1, 0]),
        (["learned_b", "trained on a"], ["on a", "on b"], [1, 0]),
        (["2", "0", "1"], ["0", "1", "2"], [2, 0, 1]),
        (["a", "b"], ["a", "b"], [0, 1]),
        (["m", "c"], ["mnist", "cifar"], [0, 1]),
        (["0", "1", "2"], ["2", "0", "1"], [0, 1, 2]),  # counted
        (["0", "1", "2"], ["1", "2", "3"], [0, 1, 2]),
        (["0", "1", "2"], ["0", "1"], [0, 1]),
        (["after a", "after a+b"], ["a", "b"], [0, 1]),
        ([], ["a", "b"], [0, 1]),
        ([], [], []),
    ],
)
def test_rows_tell_the_order(rows, columns, order):
    assert find_learning_order(rows, columns) == order


@pytest.mark.parametrize(
    "rows",
    [["start", "a", "b"], ["start", "b", "c"], ["b", "b", "c"], ["start", "b", "a", "x"]],
)
def test_rows_that_name_some_tasks_only_are_refused(rows):
    with pytest.raises(ValueError, match=f"the rows are named {', '.join(rows)} and the columns a, b, c: give a row"):
        find_learning_order(rows, ["a", "b", "c"])


@pytest.mark.parametrize("header", ["trained,cars,cats,dogs", "cars,cats,dogs"])
@pytest.mark.parametrize("first", ["", "start,0.1,0.2,0.3\n"])
def test_columns_of_files_follow_the_rows(tmp_path, header, first):
    file = tmp_path / "m.csv"
    _, _, body = TEXT.partition("\n")
    file.write_text(f"{header}\n{first}{body}")
    with pytest.warns(UserWarning, match=f"m.csv: {SAYS}") as said:
        matrix = read_matrix(file)
    assert said[0].filename == __file__
    np.testing.assert_array_equal(matrix, [[0.3, 0.2, 0.1], *LEARNED] if first else LEARNED)
    with pytest.warns(UserWarning, match=SAYS):
        found = summarize_file(file, "accuracy")
    assert found.names == ("dogs", "cats", "cars")
    assert found.forgotten == pytest.approx([0.35, 0.14, 0.0])


def test_errors_name_the_cell_of_the_file(tmp_path):
    file = tmp_path / "m.csv"
    file.write_text(TEXT.replace("0.60", "-0.60"))
    with pytest.raises(ValueError, match="line 4, cell 4: "):
        summarize_file(file, "accuracy")
    file.write_text(TEXT.replace("cars,0.93", "cats,0.93"))
    with pytest.raises(ValueError, match=r"m\.csv: the rows are named dogs, cats, cats and the columns cars"):
        read_matrix(file)


def test_unmeasured_entries_are_those_of_the_order(tmp_path):
    file = tmp_path / "m.csv"
    file.write_text("after,a,b\nb,0.0,0.9\na,0.8,0.0\n")
    with pytest.warns(UserWarning, match="in the order b, a"):
        matrix = read_matrix(file, unmeasured=0)
    np.testing.assert_array_equal(matrix, [[0.9, np.nan], [0.0, 0.8]])


def test_frames_in_another_order_are_refused():
    frame = pytest.importorskip("pandas").DataFrame(
        VALUES, index=["after dogs", "after cats", "after cars"], columns=["cars", "cats", "dogs"]
    )
    for metric in (metrics.summary, metrics.forgetting):
        with pytest.raises(
            ValueError, match=r"in the order dogs, cats, cars.*: give matrix\[\['dogs', 'cats', 'cars'\]"
        ):
            metric(frame, kind="accuracy")
    found = metrics.summary(frame[["dogs", "cats", "cars"]], kind="accuracy")
    assert found.names == ("dogs", "cats", "cars")
    assert found.values["forgetting"] == pytest.approx(0.245)
    counted = frame.reset_index(drop=True).set_axis([2, 0, 1], axis=1)
    assert metrics.forgetting(counted, kind="accuracy") == pytest.approx(metrics.forgetting(VALUES, kind="accuracy"))
