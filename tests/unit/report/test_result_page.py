"""What results declare for their pages, and how their pages show it."""

import inspect
from importlib import import_module
from itertools import pairwise, permutations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import ebbing
from ebbing._pages import ACCURACIES, CURVES, DISTANCES, FORGOTTEN, HEAT_MAP, SIMILARITY
from ebbing._tables import Tabular
from ebbing.forecasting import TaskVectors
from ebbing.order import best_order_with_replay, best_penalty, best_stopping_time
from ebbing.plot._style import new_axes
from ebbing.runs import Measurement, StreamRun

PROBLEM = ebbing.Problem.orthogonal(T=3, n=8, p=30, sigma=0.3)


def kinds_of_results():
    """Every class of the package whose instances have a page."""
    root = Path(ebbing.__file__).parents[1]
    for file in (root / "ebbing").rglob("*.py"):
        if "(Tabular)" in file.read_text(encoding="utf-8"):
            import_module(".".join(file.relative_to(root).with_suffix("").parts))
    return [kind for kind in Tabular.__subclasses__() if kind.__module__.startswith("ebbing.")]


def test_every_result_declares_its_page_and_its_data():
    kinds = kinds_of_results()
    assert len(kinds) >= 21
    assert [kind.__name__ for kind in kinds if inspect.isabstract(kind)] == []


def test_a_result_without_a_page_cannot_be_made():
    class Incomplete(Tabular):
        def _tables(self):
            return ()

        def to_frame(self):
            raise NotImplementedError

    with pytest.raises(TypeError, match="_page"):
        Incomplete()  # type: ignore[abstract]


def readings(result):
    return [picture.reading for picture in result._page().pictures]


def test_readings_say_what_the_pictures_show():
    assert readings(ebbing.expect(PROBLEM)) == [FORGOTTEN, CURVES]
    assert readings(ebbing.expect(ebbing.Problem.orthogonal(T=9, n=5, p=30))) == [FORGOTTEN, HEAT_MAP]
    assert readings(StreamRun(0, ("a", "b"), np.ones((3, 2)), 2)) == [FORGOTTEN, ACCURACIES]
    assert readings(ebbing.stakes(PROBLEM))[1:] == [DISTANCES]
    assert readings(TaskVectors(("a", "b"), np.eye(2), 10)) == [SIMILARITY]
    assert readings(ebbing.best_replay(PROBLEM, 0)) == []


def test_page_without_anything_to_draw_has_no_picture():
    pytest.importorskip("matplotlib")
    page = ebbing.expect_grid(ebbing.Problem.orthogonal(T=1, n=5, p=30), p=[20, 30]).to_html()
    assert "<svg" not in page
    assert "<table" in page


def test_page_of_checkpoints_shows_their_similarity():
    pytest.importorskip("matplotlib")
    page = TaskVectors(("news", "mail"), np.eye(2), 10).to_html()
    assert "<title>How alike your tasks are</title>" in page
    assert page.count("<svg") == 1


def test_orders_with_replay_and_tuned_learners_have_data():
    pytest.importorskip("pandas")
    order = best_order_with_replay(PROBLEM, 2)
    frame = order.to_frame()
    assert frame.task.tolist() == list(order.names)
    assert [PROBLEM.names[i] for i in frame["index"]] == list(order.names)
    assert "replayorder.csv" in order.to_html()
    for tuning, number in ((best_penalty(PROBLEM), "penalty"), (best_stopping_time(PROBLEM), "time")):
        frame = tuning.to_frame()
        assert list(frame) == ["step", number]
        assert frame[number].tolist() == [vars(learner)[number] for learner in tuning.learners]
        assert "<title>How far to learn</title>" in tuning.to_html()


LONG_NAMES = [f"customer support tickets, quarter {place}" for place in range(1, 21)]


def many_tasks(kind):
    """A result about twenty tasks with long names."""
    if kind == "benchmarks":
        scores = np.linspace(0.3, 0.7, 20)
        return ebbing.metrics.compare_evaluations(
            {
                name: {task: (s + x, 0.01) for task, s in zip(LONG_NAMES, scores, strict=True)}
                for name, x in (("a", 0), ("b", 0.1))
            }
        )
    if kind == "matrix":
        matrix = np.random.default_rng(0).random((20, 20))
        return ebbing.metrics.summary(matrix, kind="accuracy", names=LONG_NAMES)
    if kind == "orders":
        names = LONG_NAMES[:4]
        errors = np.random.default_rng(0).random((24, 1, 5, 4))
        return Measurement(tuple(permutations(names)), (0,), errors, 1 - errors)
    vectors = np.random.default_rng(0).standard_normal((20, 5))
    return ebbing.stakes(ebbing.Problem.from_vectors(vectors, n=30, p=100, names=LONG_NAMES), seconds=1)


@pytest.mark.parametrize("kind", ["benchmarks", "matrix", "orders", "tasks"])
def test_names_beside_the_pictures_of_pages_do_not_overlap(kind):
    pytest.importorskip("matplotlib")
    for picture in many_tasks(kind)._page().pictures:
        size = picture.size() if callable(picture.size) else picture.size
        with mpl.rc_context({"font.size": 10.5}):
            ax = new_axes(1, 1, size)[0, 0]
            picture.draw(ax)
            ax.figure.draw_without_rendering()
        boxes = sorted((label.get_window_extent() for label in ax.get_yticklabels()), key=lambda box: box.y0)
        assert all(upper.y0 > lower.y1 - 1 for lower, upper in pairwise(boxes)), picture.reading


def test_answers_name_the_ends_of_a_long_order():
    answer = many_tasks("tasks")._answer()
    assert answer.startswith("Learn customer support tickets, quarter ")
    assert " > ... > " in answer
    assert len(answer) < 320


def test_page_of_training_has_one_unit():
    run = StreamRun(0, ("cats", "dogs"), np.array([[0.5, 0.5], [0.9, 0.4], [0.6, 0.8]]), 2)
    assert run._answer() == "On average 30 was forgotten; most of cats, from 90 to 60."
    accuracies, tasks, metrics = run._tables()
    assert accuracies.rows[-1] == ["after dogs", "60.00", "80.00"]
    assert ["remembering", "70"] in [row[:2] for row in metrics.rows]  # 1 - 0.3
    assert tasks.rows[0] == ["cats", "50", "90", "60", "30"]
