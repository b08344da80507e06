"""The matrix that training fills, and the file that keeps it."""

import json
import random

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from ebbing import metrics, read_matrix
from ebbing.integrations import MeasuredMatrix
from ebbing.integrations._recorder import MatrixRecorder, metric_kind, preserved_random_state
from ebbing.io.error_matrices import summarize_file

VALUES = np.array([[0.5, 0.4, 0.3], [0.9, 0.5, 0.4], [0.7, 0.8, 0.5], [0.6, 0.7, 0.95]])
NAMES = ("news", "mail", "chat")


@pytest.fixture
def matrix():
    return MeasuredMatrix(VALUES, NAMES, "accuracy")


def test_metrics_are_those_of_the_matrix(matrix):
    assert matrix.forgetting == metrics.forgetting(VALUES, kind="accuracy")
    assert matrix.final == metrics.average_accuracy(VALUES, kind="accuracy")
    expected = metrics.summary(VALUES, kind="accuracy")
    for name, value in matrix.metrics.values.items():
        np.testing.assert_array_equal(value, expected.values[name])  # type: ignore[arg-type]


def test_matrix_says_first_that_tasks_were_hardly_learned():
    found = MeasuredMatrix(np.full((4, 3), 0.5), NAMES, "accuracy")
    said = "Tasks were hardly learned: accuracy 0.5 just learned, 0.5 before."
    assert found._answer().startswith(said)
    assert found.summary(200).index(said) < found.summary(200).index("Nothing was forgotten")


def test_metrics_before_the_end_are_of_learned_tasks():
    values = VALUES.copy()
    values[3] = np.nan
    found = MeasuredMatrix(values, NAMES, "accuracy")
    assert found.learned == 2
    assert found.forgetting == pytest.approx(0.2)
    assert found.final == pytest.approx(0.75)
    assert MeasuredMatrix(np.full((2, 1), np.nan), ("news",), "accuracy").learned == 0


def test_matrix_without_values_says_what_to_call():
    values = np.full((4, 3), np.nan)
    found = MeasuredMatrix(values, NAMES, "accuracy")
    for text in (found.summary(), found._repr_html_()):
        assert "Nothing is measured yet" in text
        assert "trainer.train()" in text
        assert "-" not in text.replace("</", "")  # no table of dashes
    values[0] = 0.5
    assert "Nothing is measured" not in found.summary()


def test_upper_triangle_need_not_be_measured():
    values = np.where(np.arange(4)[:, None] > np.arange(3), VALUES, np.nan)
    assert MeasuredMatrix(values, NAMES, "accuracy").learned == 3


def test_file_is_read_by_everything(matrix, tmp_path):
    file = tmp_path / "forgetting.json"
    matrix.save(file)
    content = json.loads(file.read_text())
    assert content["schema"] == "ebbing.matrix/1"
    assert content["learned"] == 3
    np.testing.assert_array_equal(read_matrix(file), VALUES)
    assert summarize_file(file).values["forgetting"] == matrix.forgetting
    found = MeasuredMatrix.read(file)
    assert (found.names, found.kind, found.metric) == (NAMES, "accuracy", "accuracy")
    np.testing.assert_array_equal(found.values, VALUES)


def test_other_files_are_refused(tmp_path):
    file = tmp_path / "matrix.json"
    file.write_text("[[1.0]]")
    with pytest.raises(ValueError, match=r"not a record of training: ebbing\.read_matrix"):
        MeasuredMatrix.read(file)


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("names", None, "names is missing; give a list of 3 texts"),
        ("names", ["news"], r"names is \['news'\]; give a list of 3 texts"),
        ("kind", None, "kind is missing; give error or accuracy"),
        ("kind", ["error"], r"kind is \['error'\]; give error or accuracy"),
        ("metric", None, "metric is missing; give a text"),
    ],
)
def test_incomplete_files_are_refused(matrix, tmp_path, entry, value, message):
    file = tmp_path / "forgetting.json"
    matrix.save(file)
    content = json.loads(file.read_text())
    del content[entry]
    file.write_text(json.dumps(content if value is None else content | {entry: value}))
    with pytest.raises(ValueError, match=rf"forgetting\.json: {message}"):
        MeasuredMatrix.read(file)


def test_file_is_parsed_once(matrix, tmp_path, monkeypatch):
    file, parsed, loads = tmp_path / "forgetting.json", [], json.loads
    matrix.save(file)
    monkeypatch.setattr(json, "loads", lambda text: parsed.append(text) or loads(text))
    MeasuredMatrix.read(file)
    assert len(parsed) == 1


def test_views(matrix):
    text = matrix.summary()
    assert "nothing (initial model)   0.5   0.4   0.3" in text
    assert "forgetting" in text
    assert "<table>" in matrix.to_html()
    frame = matrix.to_frame()
    assert frame[(frame.step == 2) & (frame.task == "mail")].value.item() == 0.8
    axes = matrix.plot()
    assert axes.get_ylabel() == "accuracy"
    plt.close(axes.figure)  # type: ignore[arg-type]


@pytest.mark.parametrize(("learned", "pictures"), [(0, 0), (1, 1), (2, 2)])
def test_page_has_no_empty_pictures(learned, pictures):
    values = np.array([[0.1, 0.2], [0.9, 0.2], [0.5, 0.8]])
    values[learned + 1 :] = np.nan
    assert MeasuredMatrix(values, ("a", "b"), "accuracy").to_html().count("<svg") == pictures


def test_shape_is_checked():
    with pytest.raises(ValueError, match=r"shape \(3, 3\) for 3 tasks: give \(T\+1, T\)"):
        MeasuredMatrix(VALUES[1:], NAMES, "accuracy")


# ---------------------------------------------------------------- recorder


def test_every_entry_is_on_disk_at_once(tmp_path):
    file = tmp_path / "new" / "forgetting.json"
    recorder = MatrixRecorder(NAMES, "accuracy", None, file, resume=False)
    assert recorder.start_task(None) == "news"
    seen = []

    def evaluate(name):
        if seen:
            assert np.isfinite(read_matrix(file)).sum() == len(seen)
        seen.append(name)
        if len(seen) == 5:
            raise KeyboardInterrupt
        return len(seen) / 10

    recorder.measure(0, evaluate)
    with pytest.raises(KeyboardInterrupt):
        recorder.measure(1, evaluate)
    again = MatrixRecorder(NAMES, "accuracy", None, file, resume=True)
    assert again.remaining == NAMES[1:]  # after the first task, the first task was measured
    np.testing.assert_array_equal(again.values[:2], [[0.1, 0.2, 0.3], [0.4, np.nan, np.nan]])


def test_measured_entries_are_not_measured_again(tmp_path):
    recorder = MatrixRecorder(NAMES, "accuracy", None, None, resume=False)
    recorder.measure(0, lambda name: 0.5)
    recorder.measure(0, lambda name: pytest.fail(f"measured {name} again"))
    np.testing.assert_array_equal(recorder.values[0], [0.5] * len(NAMES))


def test_existing_files_are_kept(matrix, tmp_path):
    file = tmp_path / "forgetting.json"
    matrix.save(file)
    with pytest.raises(ValueError, match=r"exists already .3 of 3 tasks learned.: say resume=True"):
        MatrixRecorder(NAMES, "accuracy", None, file, resume=False)
    with pytest.raises(ValueError, match="cannot be continued: it holds the accuracy on news, mail, chat"):
        MatrixRecorder(("mail",), "accuracy", None, file, resume=True)
    assert MatrixRecorder(NAMES, "accuracy", None, file, resume=True).remaining == ()


def test_tasks_come_in_their_order():
    recorder = MatrixRecorder(NAMES, "loss", None, None, resume=False)
    with pytest.raises(ValueError, match=r"task 'mail' is not next.*this run learns 'news'"):
        recorder.start_task("mail")
    for step, name in enumerate(NAMES, 1):
        assert recorder.start_task(name) == name
        recorder.measure(step, lambda name: 0.1)
    with pytest.raises(ValueError, match="all 3 tasks are learned already"):
        recorder.start_task(None)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 101.0, -0.1])
def test_values_that_are_no_accuracies_are_refused(value):
    with pytest.raises(ValueError, match=r"the accuracy on task 'news' is .*: it must be from 0 to 1"):
        MatrixRecorder(NAMES, "accuracy", None, None, resume=False).measure(0, lambda name: value)


def test_kind_is_in_the_name_or_given():
    assert metric_kind("val_acc", None) == "accuracy"
    assert metric_kind("loss", None) == "error"
    assert metric_kind("perplexity", "error") == "error"
    for kind in (None, "both"):
        with pytest.raises(ValueError, match="say kind='error'"):
            metric_kind("perplexity", kind)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give at least one task"):
        MatrixRecorder((), "loss", None, None, resume=False)


def test_random_numbers_stay_as_they_were():
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)

    def states():
        return repr((random.getstate(), np.random.get_state(), torch.get_rng_state().tolist()))  # noqa: NPY002

    before = states()

    def use_numbers():
        with preserved_random_state():
            _ = random.random(), np.random.random(), torch.rand(1)  # noqa: NPY002
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use_numbers()
    assert states() == before
