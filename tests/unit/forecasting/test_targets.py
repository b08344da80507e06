"""Labels of every kind, predictions and errors."""

import numpy as np
import pytest
import torch

from ebbing.forecasting.targets import Targets
from ebbing.learn.sequences import error


@pytest.mark.parametrize(
    ("labels", "outputs", "kind"),
    [
        ([0, 1, 1], 1, "yes or no"),
        ([0.0, 1.0], 1, "yes or no"),
        ([[True], [False]], 1, "yes or no"),
        ([0, 1, 1], 2, "two classes"),
        ([0, 1, 1], 3, "classes"),
        ([0, 4], None, "classes"),
        ([0.5, 2.0], 1, "regression"),
        ([[0.5, 2.0]], 2, "regression"),
    ],
)
def test_kind_of_labels(labels, outputs, kind):
    assert Targets.of(np.array(labels), outputs).kind == kind


@pytest.mark.parametrize(
    ("labels", "outputs", "message"),
    [
        ([0, 5], 3, "from 0 to 5, but the network has 3 outputs"),
        ([-1, 1], 3, "from -1 to 1"),
        ([0, 5], 1, "whole numbers from 0 to 5, but the network has one output"),
        ([0.5, 2.0], 3, r"float64 of shape \(2,\), but the network has 3 outputs"),
    ],
)
def test_labels_that_do_not_fit(labels, outputs, message):
    with pytest.raises(ValueError, match=message):
        Targets.of(np.array(labels), outputs)


def test_initial_errors_are_those_of_training():
    random = np.random.default_rng(0)
    for labels, outputs in ((random.integers(0, 2, 9), 1), (random.integers(0, 3, 9), 3)):
        logits = random.standard_normal((9, outputs)) * 3
        targets = Targets.of(labels, outputs)
        mine = targets.errors(targets.predictions(logits)[:, None], np.arange(9))[0]
        tensor = torch.from_numpy(labels)
        theirs = error(torch.from_numpy(logits), tensor[:, None].double() if outputs == 1 else tensor)
        assert mine == pytest.approx(theirs, rel=1e-12)


def test_predictions_are_clipped():
    targets = Targets.of(np.array([0, 1]), 1)
    assert targets.errors(np.array([[[-3.0]], [[0.5]]]), np.arange(2))[0] == 0.125
    plain = Targets.of(np.array([0.0, 2.0]), 1)
    assert plain.errors(np.array([[[-3.0]], [[2.0]]]), np.arange(2))[0] == 4.5


@pytest.mark.parametrize("labels", [[120_000, 3_500_000], [-1, 1], [-100, 3]])
def test_whole_numbers_that_are_no_classes_are_refused(labels):
    with pytest.raises(ValueError, match=f"whole numbers from {labels[0]} to {labels[1]}: number classes from 0"):
        Targets.of(np.array(labels))


def test_labels_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match=r"labels are up to 1e\+150: squares of errors would overflow; scale"):
        Targets.of(np.array([1e150, 0.5]))


def test_an_undecided_answer_is_half_right():
    targets = Targets.of(np.array([0, 1, 1, 0]))
    predictions = np.array([[0.5, 0.1], [0.5, 0.1], [0.9, 0.9], [0.9, 0.5]])[:, :, None]
    assert targets.accuracy(predictions, np.arange(4)).tolist() == [0.5, 0.625]
