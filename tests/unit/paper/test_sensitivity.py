"""The sensitivity study: its variants, and verdicts on made-up matrices."""

import numpy as np
import pytest

from ebbing.learn import FiveLayers, Sgd, prefix_tree
from ebbing.paper import fig2, reproduction
from ebbing.paper.figures.sensitivity import plot_sensitivity
from ebbing.paper.sensitivity import BASELINE, SEQUENCES, Config, Result

# The study


def test_baseline_is_the_experiment_of_figure_2():
    assert Config().variants[BASELINE] == fig2.Config().experiment
    assert next(iter(Config().variants)) == BASELINE


def test_each_variant_changes_one_setting():
    base = Config().variants[BASELINE]
    changed = {}
    for name, experiment in Config().variants.items():
        assert experiment.tasks == base.tasks
        changed[name] = (experiment.architecture != base.architecture, experiment.method != base.method)
    assert changed == {
        BASELINE: (False, False),
        "batches of 50": (False, True),
        "batches of 10": (False, True),
        "widths x 0.5": (True, False),
        "widths x 2": (True, False),
        "squared loss": (False, True),
    }
    assert Config().variants["squared loss"].method == Sgd(epochs=600, loss="squared")
    assert Config().variants["widths x 0.5"].architecture == FiveLayers((3, 8, 60, 42))
    assert Config().variants["widths x 2"].architecture == FiveLayers((12, 32, 240, 168))


@pytest.mark.parametrize(("size", "epochs"), [(200, 600), (50, 150), (10, 30), (150, 300), (1, 3), (1000, 600)])
def test_epochs_give_the_same_number_of_steps(size, epochs):
    assert Config().epochs(size) == epochs
    assert Config(steps=1).epochs(size) == 1


def test_sequences_are_those_of_figure_2():
    wanted = [sequence for marks in SEQUENCES.values() for sequence in marks.values()]
    assert set(wanted) <= set(fig2.sequences())
    shared = [len(set(first.split("-")) & set(second.split("-"))) for first, second in SEQUENCES["a"].values()]
    assert shared == [int(mark) for mark in SEQUENCES["a"]] == [0, 2, 5]
    shared = [len(set(s[0].split("-")) & set(s[1].split("-"))) for s in SEQUENCES["b"].values()]
    assert shared == [int(mark) for mark in SEQUENCES["b"]] == [0, 3]
    for mark, sequence in SEQUENCES["d"].items():
        letters = dict(zip(sequence, mark.split(), strict=True))
        assert [letters[task] for task in sequence] == mark.split()
    assert len(prefix_tree(wanted, seed=0)) == 1 + 18


@pytest.mark.parametrize(("name", "value"), [("seeds", 0), ("steps", 0), ("steps", 2.5)])
def test_config_raises_an_error_for_impossible_settings(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}"):
        Config(**{name: value})


# Verdicts on made-up matrices


def made_up(forgotten, fit=0.0, seeds=3):
    """Two-row matrices in which task 1 is forgotten by a given amount and nothing else, by panel and mark."""
    matrices, fits = {}, {}
    for panel, marks in SEQUENCES.items():
        for mark, sequence in marks.items():
            T = len(sequence)
            matrix = np.zeros((seeds, T + 1, T))
            matrix[:, T, 0] = np.asarray(forgotten[panel][mark]) * (T - 1)  # F_T is a mean over T - 1 tasks
            matrices[sequence] = matrix
            fits[sequence] = np.full((seeds, T), fit)
    return matrices, fits


def result(forgotten, fit=0.0):
    config = Config(batch_sizes=(), width_factors=(), losses=())
    matrices, fits = made_up(forgotten, fit)
    return Result(config, {BASELINE: matrices}, {BASELINE: fits}, {})


AS_IN_THE_PAPER = {
    "a": {"0": [0.3, 0.31, 0.29], "2": 0.2, "5": 0.0},
    "b": {"0": 0.1, "3": [0.2, 0.22, 0.24]},
    "d": {"A B A B": 0.1, "A A B B": [0.2, 0.21, 0.19]},
}


def test_result_gives_forgetting_from_the_matrices():
    F = result(AS_IN_THE_PAPER).forgetting(BASELINE, "b")
    np.testing.assert_allclose(F, [[0.1, 0.2], [0.1, 0.22], [0.1, 0.24]])


def test_verdicts_hold_on_agreeing_measurements():
    assert [verdict.holds for verdict in result(AS_IN_THE_PAPER).verdicts()] == [True] * 4


@pytest.mark.parametrize(
    ("panel", "changes", "which", "holds"),
    [
        ("a", {"0": [0.0, 0.01, 0.0], "5": 0.3}, 1, False),
        ("a", {"2": [0.35, 0.2, 0.35], "5": [0.25, 0.0, 0.35]}, 1, None),  # up and down
        ("b", {"3": [0.05, 0.06, 0.04]}, 2, False),
        ("b", {"3": [0.0, 0.1, 0.35]}, 2, None),  # higher on average, within noise
        ("b", {"3": [0.11, 0.14, 0.11]}, 2, None),  # higher in every seed, and even so p = 0.18
        ("d", {"A A B B": 0.1}, 3, None),
    ],
)
def test_verdicts_fail_on_changed_measurements(panel, changes, which, holds):
    forgotten = AS_IN_THE_PAPER | {panel: AS_IN_THE_PAPER[panel] | changes}
    expected: list[bool | None] = [True] * 4
    expected[which] = holds
    assert [verdict.holds for verdict in result(forgotten).verdicts()] == expected


def test_unfitted_tasks_are_counted_and_shown():
    assert result(AS_IN_THE_PAPER).count_fitted(BASELINE) == (66, 66)
    one_not = result(AS_IN_THE_PAPER)
    one_not.fits[BASELINE][SEQUENCES["d"]["A A B B"]][2, 3] = 0.05
    verdict = one_not.verdicts()[0]
    assert (one_not.count_fitted(BASELINE), verdict.result, verdict.holds) == ((65, 66), "65 of 66", False)
    assert "65 of 66 tasks fitted" in plot_sensitivity(one_not)[0].figure.legends[0].get_texts()[0].get_text()


def test_one_seed_decides_nothing():
    config = Config(seeds=1, batch_sizes=(), width_factors=(), losses=())
    forgotten = {"a": {"0": 0.3, "2": 0.2, "5": 0.0}, "b": {"0": 0.1, "3": 0.2}, "d": {"A B A B": 0.1, "A A B B": 0.2}}
    matrices, fits = made_up(forgotten, seeds=1)
    verdicts = Result(config, {BASELINE: matrices}, {BASELINE: fits}, {}).verdicts()
    assert [verdict.holds for verdict in verdicts] == [True, None, None, None]
    assert "1 seed, 600 epochs" in verdicts[0].procedure


# The command


def test_sensitivity_runs_only_when_named(tmp_path, monkeypatch):
    ran = []
    for name in reproduction.TARGETS:
        monkeypatch.setitem(reproduction.TARGETS, name, lambda *_, name=name: ran.append(name) or [])

    class Bar:
        def __enter__(self):
            return lambda share: None

        def __exit__(self, *_):
            return None

    reproduction.reproduce([], tmp_path, lambda name: Bar())
    assert "fig2" in ran
    assert "sensitivity" not in ran
    reproduction.reproduce(["sensitivity"], tmp_path, lambda name: Bar())
    assert ran[-1] == "sensitivity"
