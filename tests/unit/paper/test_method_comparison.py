"""Comparisons on made-up accuracy matrices: what is printed, what is claimed, what an unfinished run leaves open."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from ebbing.data import DataError
from ebbing.learn import PermutedMnist
from ebbing.paper import method_report
from ebbing.paper.figures.method_comparison import _limits, plot_method_comparison, save_method_comparison
from ebbing.paper.method_comparison import Result, run
from ebbing.paper.method_study import MethodVariant, Protocol, Study
from ebbing.runs import Store
from ebbing.runs.streams import StreamRun

TASKS = ("0", "1", "2")


def matrix(accuracy: float, loss: float = 0.0) -> np.ndarray:
    """Every task is learned to `accuracy` plus `loss` and ends at `accuracy`; the last one does not fall."""
    found = np.full((4, 3), 0.1)
    for i in range(3):
        found[i + 1 :, i] = accuracy
        found[i + 1, i] += loss if i < 2 else 0.0
    return found


KEPT = {"GPM": (100_000, None, 500_000, None), "TRGP": (None, 1, 2, 3)}  # bytes after 0, 1, 2, 3 tasks


def result(protocol: Protocol, accuracies: dict[str, list[np.ndarray]]) -> Result:
    runs = {
        (protocol.name, m): [StreamRun(s, TASKS, a, 3, KEPT.get(m, ())) for s, a in enumerate(found)]
        for m, found in accuracies.items()
    }
    return Result(Study("made_up", "Made up", (protocol,)), runs, {"commit": "made up"})


PROTOCOL = Protocol(
    "pmnist",
    PermutedMnist(tasks=3),
    (MethodVariant("GPM", "gpm"), MethodVariant("TRGP", "trgp"), MethodVariant("TRGP+", "trgp+")),
    (("TRGP+", "TRGP"), ("TRGP", "GPM")),
    seeds=3,
    paper_values={"TRGP": (96.34, -0.80), "TRGP+": (96.75, -0.46)},
)
CLEAR = result(
    PROTOCOL,
    {
        "GPM": [matrix(0.80 + s, 0.03) for s in (0.0, 0.011, 0.019)],
        "TRGP": [matrix(0.90 + s, 0.009 + s / 10) for s in (0.0, 0.01, 0.02)],
        "TRGP+": [matrix(0.985 + s, 0.002 + s / 10) for s in (0.002, 0.001, 0.0)],
    },
)


def test_result_gives_acc_and_bwt_in_percent():
    assert CLEAR.accuracy(PROTOCOL, "TRGP") == pytest.approx([90, 91, 92])
    assert CLEAR.backward_transfer(PROTOCOL, "GPM") == pytest.approx([-3, -3, -3])


def test_markdown_has_measured_and_published_numbers():
    text = method_report.markdown(CLEAR)
    assert "| GPM | 81.00 ± 0.55 (3 seeds) | -3.00 ± 0.00 (3 seeds) | 0.20 |  |  |" in text
    assert "| TRGP | 91.00 ± 0.58 (3 seeds) | -1.00 ± 0.06 (3 seeds) |  | 96.34 | -0.80 |" in text
    assert "The published protocol." in text


def test_reduced_protocol_has_no_published_numbers():
    short = replace(PROTOCOL, reduction="3 tasks", paper_values={})
    found = Result(replace(CLEAR.study, protocols=(short,)), CLEAR.runs, {})
    text = method_report.markdown(found)
    assert "Smaller than published: 3 tasks." in text
    assert "| method | ACC | BWT | MB per task |\n|---|---|---|---|\n| GPM | 81.00 ± 0.55 (3 seeds) |" in text
    assert "| -3.00 ± 0.00 (3 seeds) | 0.20 |\n" in text
    assert not [v for v in method_report.verdicts(found) if "reaches" in v.claim]


def test_protocol_raises_an_error_for_unknown_variants():
    with pytest.raises(ValueError, match="pmnist: no variant is called EWC; give some of GPM, TRGP, TRGP"):
        replace(PROTOCOL, pairs=(("TRGP", "EWC"),))
    with pytest.raises(ValueError, match="pmnist: no variant is called EWC; give some of GPM, TRGP, TRGP"):
        replace(PROTOCOL, paper_values={"EWC": (1.0, 2.0)})


def unfinished(rows: int) -> np.ndarray:
    found = matrix(0.9)
    found[rows:] = np.nan
    return found


@pytest.mark.parametrize(("rows", "learned"), [(0, -1), (1, 0), (3, 2), (4, 3)])
def test_stream_run_counts_learned_tasks(rows, learned):
    run = StreamRun(0, TASKS, unfinished(rows), 0)
    assert run.num_learned == learned
    assert run.finished == (learned == 3)


def test_stream_run_ignores_rows_after_a_gap():
    found = matrix(0.9)
    found[2] = np.nan
    assert StreamRun(0, TASKS, found, 0).num_learned == 1


def test_markdown_names_unfinished_runs():
    runs = {"GPM": [matrix(0.8)], "TRGP": [matrix(0.9), unfinished(2)], "TRGP+": [unfinished(3)]}
    found = result(PROTOCOL, runs)
    text = method_report.markdown(found)
    assert "| TRGP | 90.00 (1 seed); not finished: seed 1 at 1 of 3 tasks | 0.00 (1 seed) |" in text
    assert "| TRGP+ | not finished: seed 0 at 2 of 3 tasks |  |" in text
    assert [c.first for c in found.comparisons(PROTOCOL)] == ["TRGP"]
    assert not [v for v in method_report.verdicts(found) if "TRGP+" in v.claim]


def test_markdown_groups_runs_that_have_not_started():
    runs = {"GPM": [unfinished(0), unfinished(1), unfinished(2)], "TRGP": [unfinished(1)], "TRGP+": []}
    text = method_report.markdown(result(PROTOCOL, runs))
    assert "| GPM | not finished: seed 2 at 1 of 3 tasks, seeds 0, 1 not started |  |" in text
    assert "| TRGP | not finished: seed 0 not started |  |" in text


def test_comparisons_use_the_common_finished_seeds():
    runs = {
        "GPM": [unfinished(2), matrix(0.80), matrix(0.70)],
        "TRGP": [matrix(0.99), matrix(0.85), matrix(0.76)],
        "TRGP+": [matrix(0.9)],
    }
    (_, against_gpm) = result(PROTOCOL, runs).comparisons(PROTOCOL)
    assert against_gpm.accuracy.differences == pytest.approx((5, 6))


def test_single_seed_gives_no_verdict_on_a_pair():
    one = result(PROTOCOL, {name: [matrix(0.9)] for name in PROTOCOL.names})
    assert {v.claim: v.holds for v in method_report.verdicts(one)} == {
        "TRGP+ reaches the paper's ACC of 96.75": None,
        "TRGP+ reaches the paper's BWT of -0.46": None,
    }


def test_trgp_free_is_compared_with_published_trgp_plus():
    free = replace(PROTOCOL, variants=(*PROTOCOL.variants, MethodVariant("TRGP free", "trgp-free")))
    some = {name: [matrix(0.9), matrix(0.91)] for name in PROTOCOL.names}
    for accuracy, reached in ((0.99, True), (0.9, False), (0.9675, None)):
        runs = some | {"TRGP free": [matrix(accuracy + 0.0001), matrix(accuracy - 0.0001)]}
        verdicts = {v.claim: v.holds for v in method_report.verdicts(result(free, runs))}
        assert verdicts["TRGP free reaches the paper's ACC of 96.75 for TRGP+"] is reached


def test_missing_data_raise_before_training(tmp_path, monkeypatch):
    def missing():
        raise DataError("no data here")

    monkeypatch.setattr("ebbing.learn.tasks._datasets.mnist", missing)
    with pytest.raises(DataError, match="no data here"):
        run(Study("made_up", "Made up", (PROTOCOL,)), Store(tmp_path))


def test_variants_without_runs_stand_as_not_run():
    text = method_report.markdown(result(PROTOCOL, {"GPM": [], "TRGP": [matrix(0.9)], "TRGP+": [matrix(0.9)]}))
    assert "| GPM | not run |  |  |" in text


def test_variants_may_have_their_own_number_of_seeds():
    variants = (replace(PROTOCOL.variants[0], seeds=5), *PROTOCOL.variants[1:])
    protocol = replace(PROTOCOL, variants=variants, first_seed=10)
    assert protocol.seed_numbers("GPM") == (10, 11, 12, 13, 14)
    assert protocol.seed_numbers("TRGP") == (10, 11, 12)
    (fewer,) = Study("made_up", "Made up", (protocol,)).with_seeds(2).protocols
    assert {fewer.seed_numbers(name) for name in fewer.names} == {(10, 11)}


def test_insignificant_difference_is_told_as_an_interval():
    runs = {
        "GPM": [matrix(0.5 + s) for s in (0, 0.01, 0.02)],
        "TRGP": [matrix(0.90 + s) for s in (0.001, 0.0, 0.002)],
        "TRGP+": [matrix(0.90 + s) for s in (0.0, 0.002, 0.001)],
    }
    verdicts = {v.claim: v for v in method_report.verdicts(result(PROTOCOL, runs))}
    verdict = verdicts["TRGP+ is more accurate than TRGP"]
    assert (verdict.holds, verdict.label) == (None, "between -0.43 and +0.43")
    assert verdict.result.endswith("; these seeds exclude more than +0.43 and less than -0.43")
    gains = verdicts["TRGP+ gains as much ACC over TRGP as the paper prints, +0.41"]
    assert gains.holds is None
    few = {name: [matrix(0.9 + s / 10) for s in (0, 0.001, 0.002)] for name in ("GPM", "TRGP")}
    runs = few | {"TRGP+": [matrix(0.9 + s / 10) for s in (0.001, 0.001, 0.002)]}
    verdicts = {v.claim: v for v in method_report.verdicts(result(PROTOCOL, runs))}
    assert verdicts["TRGP+ gains as much ACC over TRGP as the paper prints, +0.41"].holds is False
    assert verdicts["TRGP+ is more accurate than TRGP"].holds is None


def test_limits_leave_out_only_variants_far_below():
    near = {"GPM": [matrix(0.94)], "TRGP": [matrix(0.963), matrix(0.967)], "TRGP+": [matrix(0.99)]}
    assert 93 < _limits(result(PROTOCOL, near), PROTOCOL, "accuracy")[0] < 94
    far = {"GPM": [matrix(0.5)], "TRGP": [matrix(0.963), matrix(0.967)], "TRGP+": [matrix(0.99)]}
    low, high = _limits(result(PROTOCOL, far), PROTOCOL, "accuracy")
    assert 95 < low < 96.3
    assert 99 < high < 100


def test_every_verdict_can_fail():
    holding = {v.claim: v.holds for v in method_report.verdicts(CLEAR)}
    assert holding == {
        "TRGP+ is more accurate than TRGP": True,
        "TRGP+ forgets less than TRGP": True,
        "TRGP is more accurate than GPM": True,
        "TRGP forgets less than GPM": True,
        "TRGP+ reaches the paper's ACC of 96.75": True,
        "TRGP+ reaches the paper's BWT of -0.46": True,
        "TRGP+ gains as much ACC over TRGP as the paper prints, +0.41": True,
        "TRGP+ gains as much BWT over TRGP as the paper prints, +0.34": True,
    }
    turned = {
        "GPM": [matrix(0.9 + s, 0.0) for s in (0.0, 0.01, 0.02)],
        "TRGP": [matrix(0.8 + s, 0.02 + s / 10) for s in (0.0, 0.01, 0.03)],
        "TRGP+": [matrix(0.7 + s, 0.04 + s / 5) for s in (0.0, 0.01, 0.02)],
    }
    falling = method_report.verdicts(result(PROTOCOL, turned))
    assert {v.claim: v.holds for v in falling} == dict.fromkeys(holding, False)


def test_save_writes_every_number(tmp_path):
    method_report.save(CLEAR, tmp_path)
    save_method_comparison(CLEAR, tmp_path)
    with (tmp_path / "made_up.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert rows[3] == {
        "protocol": "pmnist",
        "method": "TRGP",
        "seed": "0",
        "ACC": rows[3]["ACC"],
        "BWT": rows[3]["BWT"],
        "bytes_per_task": "",
    }
    assert float(rows[0]["bytes_per_task"]) == 200_000
    assert float(rows[3]["ACC"]) == pytest.approx(90)
    content = json.loads((tmp_path / "made_up.json").read_text())
    assert content["provenance"] == {"commit": "made up"}
    assert content["runs"][-1]["accuracies"] == matrix(0.985, 0.002).tolist()
    assert (tmp_path / "made_up.png").read_bytes()[:4] == b"\x89PNG"
    assert b"<svg" in (tmp_path / "made_up.svg").read_bytes()[:1000]


def test_plot_without_finished_runs_says_so():
    axes = plot_method_comparison(result(PROTOCOL, {m: [unfinished(1)] for m in PROTOCOL.names}))
    assert [text.get_text() for text in axes[0, 0].texts] == ["no run is finished yet"]
