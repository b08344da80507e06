"""Table 1 on made-up accuracy matrices: what is printed, what is claimed, and what an unfinished run leaves open."""

import csv
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ebbing.learn import PermutedMnist, SplitCifar100
from ebbing.learn.methods import FineTuning, Gpm, Trgp, TrgpPlus
from ebbing.learn.presets import METHODS, preset, stream_named
from ebbing.paper import table1, table1_plot, table1_report
from ebbing.paper.table1 import Comparison, Config, Protocol, Result
from ebbing.runs.stream import StreamRun

TASKS = ("0", "1", "2")


def matrix(accuracy: float, loss: float = 0.0) -> np.ndarray:
    """Every task is learnt to `accuracy` plus `loss` and ends at `accuracy`; the last one does not fall."""
    found = np.full((4, 3), 0.1)
    for i in range(3):
        found[i + 1 :, i] = accuracy
        found[i + 1, i] += loss if i < 2 else 0.0
    return found


def result(protocol: Protocol, accuracies: dict[str, list[np.ndarray]]) -> Result:
    runs = {
        (protocol.name, m): [StreamRun(s, TASKS, a, 3) for s, a in enumerate(found)] for m, found in accuracies.items()
    }
    return Result(Config((protocol,)), runs, {"commit": "made up"})


PROTOCOL = Protocol("pmnist", "pmnist", PermutedMnist(tasks=3), seeds=3, methods=("GPM", "TRGP", "TRGP+"))
CLEAR = result(
    PROTOCOL,
    {
        "GPM": [matrix(0.80 + s, 0.03) for s in (0.0, 0.01, 0.02)],
        "TRGP": [matrix(0.90 + s, 0.01) for s in (0.0, 0.01, 0.02)],
        "TRGP+": [matrix(0.97 + s, 0.002) for s in (0.0, 0.01, 0.015)],
    },
)


def test_acc_and_bwt_are_the_papers_in_percent():
    assert CLEAR.accuracy(PROTOCOL, "TRGP") == pytest.approx([90, 91, 92])
    assert CLEAR.transfer(PROTOCOL, "GPM") == pytest.approx([-3, -3, -3])


def test_the_table_has_our_numbers_and_the_papers():
    text = table1_report.markdown(CLEAR)
    assert "| GPM | 81.00 ± 0.58 (3 seeds) | -3.00 ± 0.00 (3 seeds) |  |  |" in text
    assert "| TRGP | 91.00 ± 0.58 (3 seeds) | -1.00 ± 0.00 (3 seeds) | 96.34 | -0.80 |" in text
    assert "The published protocol." in text


def test_a_reduced_protocol_says_so_and_stands_beside_no_number_of_the_paper():
    short = replace(PROTOCOL, reduced="3 tasks")
    text = table1_report.markdown(Result(Config((short,)), CLEAR.runs, {}))
    assert "Less than published: 3 tasks." in text
    assert "96.34" not in text
    assert not [v for v in table1_report.verdicts(Result(Config((short,)), CLEAR.runs, {})) if "reaches" in v.claim]


def unfinished(rows: int) -> np.ndarray:
    found = matrix(0.9)
    found[rows:] = np.nan
    return found


@pytest.mark.parametrize(("rows", "learnt"), [(0, -1), (1, 0), (3, 2), (4, 3)])
def test_learnt_counts_the_rows_from_the_beginning(rows, learnt):
    run = StreamRun(0, TASKS, unfinished(rows), 0)
    assert run.learnt == learnt
    assert run.finished == (learnt == 3)


def test_a_row_after_a_gap_does_not_count():
    found = matrix(0.9)
    found[2] = np.nan
    assert StreamRun(0, TASKS, found, 0).learnt == 1


def test_an_unfinished_run_fills_no_cell():
    runs = {"GPM": [matrix(0.8)], "TRGP": [matrix(0.9), unfinished(2)], "TRGP+": [unfinished(3)]}
    found = result(PROTOCOL, runs)
    text = table1_report.markdown(found)
    assert "| TRGP | 90.00 (1 seed); not finished: seed 1 at 1 of 3 tasks | 0.00 (1 seed) |" in text
    assert "| TRGP+ | not finished: seed 0 at 2 of 3 tasks |  |" in text
    assert [c.better for c in found.comparisons(PROTOCOL)] == ["TRGP"]
    assert not [v for v in table1_report.verdicts(found) if "TRGP+" in v.claim]


def test_comparisons_are_over_the_seeds_that_both_have_finished():
    runs = {
        "GPM": [unfinished(2), matrix(0.80), matrix(0.70)],
        "TRGP": [matrix(0.99), matrix(0.85), matrix(0.76)],
        "TRGP+": [matrix(0.9)],
    }
    (_, against_gpm) = result(PROTOCOL, runs).comparisons(PROTOCOL)
    assert against_gpm.accuracy == pytest.approx([5, 6])


def test_the_p_value_is_of_a_paired_test():
    first, second = np.array([90.0, 92.0, 95.0, 91.0]), np.array([89.5, 91.0, 94.8, 90.1])
    pair = Comparison("b", "a", tuple(first - second), (0.0,) * 4)
    expected: Any = stats.ttest_rel(first, second)
    assert pair.p_value("accuracy") == pytest.approx(expected.pvalue, rel=1e-9)
    assert pair.supported("accuracy")
    assert not pair.supported("transfer")


@pytest.mark.parametrize(
    ("differences", "supported"),
    [((0.5, 0.6, 0.7), True), ((-0.5, -0.6, -0.7), False), ((0.5, -0.6, 0.7), False), ((0.5,), False)],
)
def test_better_means_surely_better(differences, supported):
    assert Comparison("b", "a", differences, differences).supported("accuracy") == supported


def test_every_verdict_can_fall():
    holding = {v.claim: v.holds for v in table1_report.verdicts(CLEAR)}
    assert holding == {
        "TRGP+ is more accurate than TRGP": True,
        "TRGP+ forgets less than TRGP": True,
        "TRGP is more accurate than GPM": True,
        "TRGP+ reaches the paper's ACC of 96.75": True,
        "TRGP+ reaches the paper's BWT of -0.46": True,
    }
    turned = {
        "GPM": [matrix(0.9 + s, 0.0) for s in (0.0, 0.01, 0.02)],
        "TRGP": [matrix(0.8 + s) for s in (0.0, 0.01, 0.03)],
    }
    turned["TRGP+"] = [matrix(0.7 + s, 0.02) for s in (0.0, 0.01, 0.02)]
    assert not any(v.holds for v in table1_report.verdicts(result(PROTOCOL, turned)))


def test_files(tmp_path):
    table1_report.save(CLEAR, tmp_path)
    table1_plot.save(CLEAR, tmp_path)
    with (tmp_path / "table1.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert rows[3] == {
        "protocol": "pmnist",
        "method": "TRGP",
        "seed": "0",
        "ACC": rows[3]["ACC"],
        "BWT": rows[3]["BWT"],
    }
    assert float(rows[3]["ACC"]) == pytest.approx(90)
    content = json.loads((tmp_path / "table1.json").read_text())
    assert content["provenance"] == {"commit": "made up"}
    assert content["runs"][-1]["accuracies"] == matrix(0.985, 0.002).tolist()
    assert (tmp_path / "table1.png").read_bytes()[:4] == b"\x89PNG"
    assert b"<svg" in (tmp_path / "table1.svg").read_bytes()[:1000]


def test_a_picture_of_nothing_says_so(tmp_path):
    table1_plot.save(result(PROTOCOL, {m: [unfinished(1)] for m in PROTOCOL.methods}), tmp_path)
    assert (tmp_path / "table1.png").exists()


# -------------------------------------------------------------------- settings


def test_every_method_of_table_1_is_what_its_name_says():
    kinds: dict[str, Any] = {name: table1.PMNIST.training(name).method for name in table1.METHODS}
    assert isinstance(kinds["SGD"], FineTuning)
    assert isinstance(kinds["GPM"], Gpm)
    assert [type(kinds[name]) for name in ("TRGP", "TRGP as published")] == [Trgp, Trgp]
    assert [type(kinds[name]) for name in table1.METHODS[4:]] == [TrgpPlus] * 3
    assert [kinds[name].as_published for name in table1.METHODS[2:]] == [True, False, True, False, False]
    assert [kinds[name].recency for name in table1.METHODS[4:]] == [None, None, 0.396]
    assert kinds["TRGP+"].weights == (1.2, 0.8)


def test_theory_weights_come_from_examples_and_weights():
    """r = 1 - n/p: 54,000 images and 784*100 + 100*100 + 100*10 weights; 4,750 images and those of the network."""
    assert table1.PMNIST.recency == round(1 - 54_000 / 89_400, 3)
    network: Any = table1.CIFAR100.training("TRGP").architecture.build(0)
    weights = sum(p.numel() for name, p in network.named_parameters() if not name.startswith("heads."))
    weights += network.heads[0].weight.numel()
    assert table1.CIFAR100.recency == round(1 - 4_750 / weights, 4)


def test_the_published_settings():
    pmnist: Any = table1.PMNIST.training("TRGP")
    cifar: Any = table1.CIFAR100.training("TRGP+")
    assert (pmnist.method.schedule.learning_rate, pmnist.method.schedule.epochs, pmnist.method.schedule.batch_size) == (
        0.01,
        5,
        10,
    )
    assert (pmnist.method.threshold.first, pmnist.method.threshold.growth) == ((0.95, 0.99, 0.99), 0)
    assert (pmnist.method.samples, pmnist.method.nearness, pmnist.method.trusted) == (300, 0.2, 2)
    assert pmnist.architecture.widths == (784, 100, 100, 10)
    schedule = cifar.method.schedule
    assert (schedule.learning_rate, schedule.epochs, schedule.batch_size) == (0.01, 200, 64)
    assert (schedule.patience, schedule.factor, schedule.smallest) == (6, 0.5, 1e-5)
    assert (cifar.method.samples, cifar.method.nearness) == ((24, 100, 100, 125, 125), 0.5)
    assert cifar.method.threshold.at(layer=4, task=9) == pytest.approx(0.997)


def test_a_short_protocol_does_not_stop_early():
    short: Any = table1.CIFAR100_SHORT.training("TRGP").method
    schedule = short.schedule
    assert (schedule.epochs, schedule.patience) == (5, None)


@pytest.mark.parametrize(
    ("method", "settings", "complaint"),
    [
        ("adam", {}, "method 'adam': there is sgd, gpm, trgp, trgp\\+"),
        ("trgp", {"weights": (1.2, 0.8)}, "method 'trgp' has no weights"),
        ("gpm", {"recency": 0.5}, "method 'gpm' has no weights"),
        ("sgd", {"as_published": True}, "only TRGP and TRGP\\+ depart"),
        ("trgp+", {"weights": (0.8, 1.2)}, "let them decrease"),
        ("trgp+", {"recency": 1.5}, "between 0 and 1"),
        ("trgp", {"epochs": 0}, "epochs=0"),
    ],
)
def test_presets_refuse_what_makes_no_sense(method, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        preset(PermutedMnist(), method, **settings)


def test_presets_change_what_they_are_asked_to():
    made: Any = preset(PermutedMnist(), "trgp+", weights=(1.5, 1.0, 0.5), epochs=3).method
    assert (made.weights, made.trusted, made.schedule.epochs) == ((1.5, 1.0, 0.5), 3, 3)
    network: Any = preset(SplitCifar100(tasks=20, classes=5), "gpm").architecture
    assert (network.tasks, network.classes) == (20, 5)
    assert set(METHODS) == {"sgd", "gpm", "trgp", "trgp+"}


def test_streams_by_name():
    found: Any = stream_named("pmnist", tasks=None, train_images=100)
    assert found.train_images == 100
    with pytest.raises(ValueError, match="stream 'imagenet': there is pmnist, rmnist, smnist, cifar100"):
        stream_named("imagenet")
