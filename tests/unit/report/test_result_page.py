"""What results declare for their pages, and how their pages show it."""

import inspect
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import ebbing
from ebbing._pages import ACCURACIES, CURVES, DISTANCES, FORGOTTEN, HEAT_MAP, SIMILARITY
from ebbing._tables import Tabular
from ebbing.forecasting import TaskVectors
from ebbing.order import best_order_with_replay, best_penalty, best_stopping_time
from ebbing.runs import StreamRun

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
