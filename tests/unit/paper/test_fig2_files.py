"""Figure 2 on made-up measurements: every number is written."""

import csv
import json
from typing import Any

import numpy as np
from made_up_fig2 import made_up

from ebbing.paper import fig2, fig2_verdicts

SETUPS: dict[Any, dict[str, list[tuple[str, ...]]]] = {**fig2.SETUPS}


def test_save_writes_every_number(tmp_path):
    sequence = fig2.SETUPS["b"]["forgetting_2"][1]
    result = made_up(fits={(sequence, 1, 2): 0.5})
    fig2.save(result, tmp_path / "new")
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"fig2.csv", "fig2.json"}
    with (tmp_path / "new" / "fig2.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["panel", "setup", "x", "sequence", "seed", "forgetting", "generalization_error"]
    assert len(rows) == 54 * 3
    for row in rows:
        panel, setup, x, seed = row["panel"], row["setup"], int(row["x"]), int(row["seed"])
        assert row["sequence"] == " ".join(SETUPS[panel][setup][x])
        assert float(row["forgetting"]) == result.forgetting(panel, setup)[seed, x]
        assert float(row["generalization_error"]) == result.generalization(panel, setup)[seed, x]
    assert len({(row["panel"], row["setup"], row["x"], row["seed"]) for row in rows}) == 54 * 3
    content = json.loads((tmp_path / "new" / "fig2.json").read_text())
    assert content["provenance"] == {"commit": "abc"}
    assert content["not_fitted"] == [[list(sequence), 1, 2, 0.5]]
    for name in ("matrices", "fits"):
        read = {tuple(key.split()): np.array(value) for key, value in content[name].items()}
        assert list(read) == list(getattr(result, name))
        for key, value in getattr(result, name).items():
            np.testing.assert_array_equal(read[key], value)


def test_predictions_are_written_with_every_sequence(tmp_path):
    result = made_up()
    fig2_verdicts.save_predictions(result, tmp_path)
    with (tmp_path / "fig2_theory.csv").open() as file:
        rows = list(csv.DictReader(file))
    comparisons = {found.panel: found for found in fig2_verdicts.compare_with_theory(result)}
    assert len(rows) == 54 * len(fig2_verdicts.RATIOS)
    for panel, found in comparisons.items():
        for k, r in enumerate(fig2_verdicts.RATIOS):
            mine = [row for row in rows if row["panel"] == panel and float(row["r"]) == r]
            assert [float(row["predicted"]) for row in mine] == found.predicted[k].tolist()
            assert [float(row["measured"]) for row in mine] == found.measured.tolist()
            assert {float(row["rank_correlation"]) for row in mine} == {found.correlations[k]}
    row = next(row for row in rows if (row["panel"], row["setup"]) == ("b", "forgetting_1"))
    values = result.forgetting("b", "forgetting_1")[:, 0]
    assert float(row["standard_error"]) == np.std(values, ddof=1) / len(values) ** 0.5
