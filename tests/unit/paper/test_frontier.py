"""Accuracy against memory on made-up runs: the frontier, who wins, what is said, and what was not run."""

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ebbing.learn import MLP, SmallAlexNet
from ebbing.paper import frontier_report, table1
from ebbing.paper.figures.frontier import accuracy_limits, plot_frontier, save_frontier
from ebbing.paper.frontier import CIFAR100_SHORT, FRONTIER, FRONTIER_QUICK, PMNIST, PMNIST_SHORT
from ebbing.paper.frontier_points import PLAIN, PROJECTION, Point, duels, family, pareto, points
from ebbing.paper.method_comparison import Result
from ebbing.paper.method_study import Study
from ebbing.runs.streams import StreamRun

TASKS = PMNIST_SHORT.stream.names


def point(name, memory, *accuracies, total=None):
    return Point(name, memory, memory if total is None else total, dict(enumerate(accuracies)))


def run(seed, accuracy, megabytes, rows=11):
    """A run that learns every task to `accuracy` percent and adds `megabytes` with each."""
    matrix = np.full((11, 10), accuracy / 100)
    matrix[rows:] = np.nan
    return StreamRun(seed, TASKS, matrix, 10, tuple(1e6 * megabytes * t for t in range(11)))


def result(runs: dict[str, list[StreamRun]]) -> Result:
    study = Study("made_up", "Made up", (PMNIST_SHORT,))
    return Result(study, {("pmnist short", name): runs.get(name, []) for name in PMNIST_SHORT.names}, {})


SPREAD = (0.0, 0.1, -0.1)


def made_up(free=90.0, copies=95.0, low_rank=93.0) -> Result:
    values = {
        "copies": (copies, 0.4),
        "low-rank, rank 8": (low_rank, 0.1),
        "TRGP free, 95%": (free, 0.2),
        "TRGP free, 99%": (free + 1, 0.5),
        "GPM, 95%": (80.0, 0.05),
    }
    return result(
        {
            name: [run(s, accuracy + SPREAD[s] + len(name) * (s - 1) / 1000, memory) for s in range(3)]
            for name, (accuracy, memory) in values.items()
        }
    )


# What is trained


def test_settings_differ_from_the_preset_as_named():
    narrow: Any = PMNIST_SHORT.experiment("copies, width 0.2").architecture
    assert narrow == MLP((784, 20, 20, 10))
    assert CIFAR100_SHORT.experiment("copies, width 0.25").architecture == SmallAlexNet(width=0.25)
    updates: Any = PMNIST_SHORT.experiment("low-rank, rank 16").method
    assert updates.rank == 16
    gpm: Any = PMNIST_SHORT.experiment("GPM, 99%").method
    assert [gpm.threshold.at(layer, task=9) for layer in range(3)] == [0.99] * 3
    for study in (FRONTIER, FRONTIER_QUICK):
        for protocol in study.protocols:
            assert {family(name) for name in protocol.names} <= {*PLAIN, *PROJECTION}


def test_all_methods_of_a_protocol_train_alike():
    for protocol in FRONTIER.protocols:
        methods: list[Any] = [protocol.experiment(name).method for name in protocol.names]
        assert len({method.schedule for method in methods}) == 1


def test_settings_of_table_1_are_its_runs():
    for protocol, of_table in ((PMNIST, table1.PMNIST), (CIFAR100_SHORT, table1.CIFAR100_SHORT)):
        common = set(protocol.names) & set(of_table.names)
        assert {"copies", *PROJECTION} <= common
        assert all(protocol.experiment(name) == of_table.experiment(name) for name in common)


# Frontier and duels


def test_frontier_leaves_out_what_another_point_beats():
    a, b, c, d = point("a", 1, 50), point("b", 2, 40), point("c", 2, 60), point("d", 3, 60)
    assert pareto([d, c, b, a]) == [a, c]
    later = replace(a, total=9.0)
    assert pareto([later, c], total=True) == [c]


def test_points_have_memory_and_accuracy_of_finished_runs():
    some = result({"copies, width 0.5": [run(0, 90, 0.2), run(1, 92, 0.2), run(2, 10, 0.2, rows=5)]})
    (found,) = points(some, PMNIST_SHORT)
    assert (found.name, found.accuracy) == ("copies, width 0.5", pytest.approx({0: 90, 1: 92}))
    assert found.memory == pytest.approx(0.2)
    assert found.total == pytest.approx(4 * (784 * 50 + 50 * 50 + 50 * 10) / 1e6 + 9 * 0.2)


def test_rival_is_the_best_plainer_method_as_small():
    plain = [point("copies", 3.0, 97), point("low-rank, rank 2", 1.0, 90), point("copies, width 0.5", 0.5, 91)]
    small, middle, large = (point("GPM, 90%", m, 80) for m in (0.1, 1.0, 5.0))
    found = duels([*plain, small, middle, large])
    assert [None if duel.rival is None else duel.rival.name for duel in found] == [None, "copies, width 0.5", "copies"]
    assert [duel.decision and duel.decision.comparisons for duel in found] == [None, 2, 2]


@pytest.mark.parametrize(
    ("mine", "rival", "won"),
    [
        ((95.0, 95.1, 95.2), (90.0, 90.2, 90.1), True),
        ((90.0, 90.2, 90.1), (95.0, 95.1, 95.2), False),
        ((90.0, 95.0, 91.0), (95.0, 90.1, 92.0), None),
        ((95.0,), (90.0,), None),
    ],
)
def test_paired_seeds_decide_a_duel(mine, rival, won):
    (duel,) = duels([point("TRGP, 90%", 2, *mine), point("copies", 1, *rival)])
    assert duel.won is won


def test_many_comparisons_raise_the_bar():
    """p = 0.03 decides one duel, but not one of ten."""
    rival, mine = point("copies", 1, 90.0, 90.0, 90.0), [91.0, 91.3, 90.7]
    gpm = [point(f"GPM, {share}%", 2, *mine) for share in range(10)]
    assert duels([rival, gpm[0]])[0].won is True
    assert [duel.won for duel in duels([rival, *gpm])] == [None] * 10


# Report


def test_report_says_where_each_method_is_best():
    text = frontier_report.markdown(made_up())
    assert "GPM, 95% from 0.05 MB (80.00); low-rank, rank 8 from 0.1 MB (93.00); copies from 0.4 MB (95.00)." in text
    rival = "against the most accurate plainer method that needs no more memory per task"
    assert f"TRGP free, 2 settings, {rival}: less accurate in 2; the difference is -4.00 to -3.00 points." in text
    assert "No plainer method was run that needs as little memory per task as GPM." in text
    assert "| low-rank, rank 8 | 0.100 | 1.26 | 93.00 ± 0.05 (3 seeds) | yes |" in text
    assert "| TRGP free, 95% | 0.200 | 2.16 | 90.00 ± 0.05 (3 seeds) |  |" in text
    assert "Not run: fine-tuning; copies, width 0.05; copies, width 0.1;" in text


def test_fine_tuning_is_a_rival_without_memory():
    some = made_up()
    tuned = {"fine-tuning": [run(s, 94.0 + SPREAD[s], 7e-6) for s in range(3)]}
    runs = {name: found for (_, name), found in some.runs.items()} | tuned
    text = frontier_report.markdown(result(runs))
    assert "each memory per task: fine-tuning from 0 MB (94.00); copies from 0.4 MB (95.00)." in text
    assert "GPM, 1 setting, against the most accurate plainer" in text
    (verdict,) = [v for v in frontier_report.verdicts(result(runs)) if v.claim == "GPM is worth its memory"]
    assert "GPM, 95% (0.05 MB) minus fine-tuning (0 MB)" in verdict.result
    assert verdict.holds is False


def test_every_verdict_can_fail():
    def outcomes(result):
        return {verdict.claim: verdict.holds for verdict in frontier_report.verdicts(result)}

    everywhere = "a plainer method wins against gradient projection everywhere"
    losing, winning = outcomes(made_up()), outcomes(made_up(free=96.0))
    assert losing == {"GPM is worth its memory": None, "TRGP free is worth its memory": False, everywhere: None}
    assert winning == {"GPM is worth its memory": None, "TRGP free is worth its memory": True, everywhere: False}
    plainer = made_up()
    plainer.runs["pmnist short", "GPM, 95%"] = []
    assert outcomes(plainer)[everywhere] is True
    assert outcomes(result({})) == {}


def test_open_verdicts_say_which_gains_remain_possible():
    runs = {"copies, width 0.5": [run(s, 95.0, 0.1) for s in range(3)]}
    runs |= {"TRGP, 95%": [run(s, 95.0 + gain, 0.2) for s, gain in enumerate((-1.0, 0.0, 2.5))]}
    worth, everywhere = frontier_report.verdicts(result(runs))
    assert (worth.holds, everywhere.holds) == (None, None)
    low, high = map(float, re.findall(r"[-+][\d.]+", worth.bounds))
    assert (low + high) / 2 == pytest.approx(0.5, abs=0.01)
    assert low < -1 < 2.5 < high
    assert everywhere.bounds == f"between {-high:+.2f} and {-low:+.2f}", (
        "a claim about plainer methods gains what they gain"
    )
    assert "3 of 5 planned seeds, 1 setting" in worth.procedure
    assert re.search(r"; 5 seeds detect \d\.\d\d with 80% power$", worth.procedure)


def test_verdicts_say_how_many_seeds_settings_have():
    runs = {"copies, width 0.5": [run(s, 95.0, 0.1) for s in range(5)], "TRGP, 95%": [run(0, 94.0, 0.2)]}
    worth, _ = frontier_report.verdicts(result(runs))
    assert "1 of 5 planned seeds" in worth.procedure
    assert not worth.bounds
    runs["TRGP, 90%"] = [run(s, 94.0, 0.2) for s in range(5)]
    worth, _ = frontier_report.verdicts(result(runs))
    assert "1 to 5 of 5 planned seeds, 2 settings" in worth.procedure


def test_files_and_figure_are_written(tmp_path):
    some = made_up()
    frontier_report.save(some, tmp_path)
    save_frontier(some, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"made_up.{kind}" for kind in ("md", "csv", "json", "png", "svg")
    }
    assert (tmp_path / "made_up.md").read_text() == frontier_report.markdown(some)


def test_figure_names_every_method_it_shows():
    (ax,) = plot_frontier(made_up()).flat
    (legend,) = ax.figure.legends
    named = ["copies (width)", "low-rank (rank)", "GPM (threshold)", "TRGP free (threshold)", "frontier"]
    assert [text.get_text() for text in legend.get_texts()] == named
    assert {text.get_text() for text in ax.texts} == {"1", "8", "95%", "99%"}  # their settings
    assert ax.get_xscale() == "log"


def test_figure_shows_fine_tuning_as_a_line():
    (ax,) = plot_frontier(result({"fine-tuning": [run(0, 94.0, 7e-6)], "copies": [run(0, 95.0, 0.4)]})).flat
    assert [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "--"] == pytest.approx([94.0])
    assert 0.1 < ax.get_xlim()[0] < 0.4
    assert {text.get_text() for text in ax.texts} == {"1"}
    (ax,) = plot_frontier(result({"fine-tuning": [run(0, 94.0, 7e-6)]})).flat
    assert not ax.texts


def test_panels_end_below_the_lowest_setting_shown():
    found = [point(str(accuracy), 1, accuracy) for accuracy in (97.4, 97.0, 96.9, 96.8, 95.0, 52.0)]
    low, high = accuracy_limits(found)
    assert 94.5 < low < 94.9
    assert high > 97.5


def test_empty_figure_says_so():
    (ax,) = plot_frontier(result({})).flat
    assert [text.get_text() for text in ax.texts] == ["no run is finished yet"]


def test_panels_fill_a_grid_with_the_legend_in_the_free_place():
    runs = {(protocol.name, "copies"): [run(0, 95.0, 0.4)] for protocol in FRONTIER.protocols}
    three = Result(
        FRONTIER, {(p.name, name): runs.get((p.name, name), []) for p in FRONTIER.protocols for name in p.names}, {}
    )
    panels = plot_frontier(three)
    assert [ax.get_title(loc="left").partition("\n")[0] for ax in panels] == [p.title for p in FRONTIER.protocols]
    (free,) = set(panels[0].figure.axes) - set(panels)
    assert [text.get_text() for text in free.get_legend().get_texts()] == ["copies (width)", "frontier"]


def test_one_label_serves_two_methods_in_one_place():
    same = {"TRGP, 95%": (93.7, 0.365), "TRGP+, 95%": (93.71, 0.366), "copies": (95.0, 0.5), "GPM, 95%": (93.0, 0.2)}
    (ax,) = plot_frontier(result({name: [run(0, *values)] for name, values in same.items()})).flat
    assert sorted(text.get_text() for text in ax.texts) == ["1", "95%", "95%"]  # GPM's is elsewhere


def test_settings_of_close_points_do_not_overlap():
    close = {"copies": (94.2, 0.36), "TRGP, 95%": (93.7, 0.365), "TRGP free, 95%": (94.0, 0.4), "GPM, 95%": (93.0, 0.2)}
    some = result({name: [run(0, accuracy, memory)] for name, (accuracy, memory) in close.items()})
    (ax,) = plot_frontier(some).flat
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 4
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    markers = [ax.transData.transform((memory, accuracy)) for accuracy, memory in close.values()]
    assert not any(box.contains(*marker) for box in boxes for marker in markers)
