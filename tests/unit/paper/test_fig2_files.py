"""Figure 2 on made-up measurements: everything measured is kept, and shown."""

import csv
import json
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
from made_up_fig2 import AGREES, by_seed, made_up
from scipy.stats import sem

from ebbing.paper import fig2, fig2_verdicts
from ebbing.plot import fig2 as fig2_plot

SETUPS: dict[Any, dict[str, list[tuple[str, ...]]]] = {**fig2.SETUPS}


def test_every_number_is_saved(tmp_path):
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


def curves(ax):
    """Label -> (x, y, half-lengths of error bars or None)."""
    found = {}
    for container in ax.containers:
        line, _, bars = container.lines
        lengths = [np.diff(segment[:, 1]).item() / 2 for segment in bars[0].get_segments()] if bars else None
        found[container.get_label()] = (line.get_xdata().tolist(), line.get_ydata(), lengths)
    return found


def test_the_picture_shows_means_and_standard_errors():
    result = made_up()
    axes = dict(zip("abcd", fig2_plot.plot(result).axes, strict=True))
    found = curves(axes["a"])
    assert list(found) == ["forgetting $F_2$", "generalization error $G_2$"]
    for x, y, lengths in found.values():
        assert x == list(range(6))
        np.testing.assert_allclose(y, by_seed(AGREES["a"]).mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(lengths, sem(by_seed(AGREES["a"])), rtol=1e-9)
    for panel, start in (("b", 0), ("c", 1), ("d", 0)):
        found = curves(axes[panel])
        assert list(found) == list(SETUPS[panel])
        mean, error = by_seed(AGREES[panel]).mean(axis=0), sem(by_seed(AGREES[panel]))
        worst = 1 if panel == "b" else mean.max()
        for x, y, lengths in found.values():
            assert x == [start + i for i in range(len(mean))]
            np.testing.assert_allclose(y, mean / worst, rtol=1e-12)
            np.testing.assert_allclose(lengths, error / worst, rtol=1e-9)


def test_one_seed_has_no_error_bars_and_zeros_can_be_drawn():
    result = made_up({("c", "forgetting_0"): [(0.0,) * 6]}, seeds=1)
    axes = fig2_plot.plot(result).axes
    assert {lengths is None for ax in axes for _, _, lengths in curves(ax).values()} == {True}
    assert not curves(axes[2])["forgetting_0"][1].any()


def test_the_picture_of_the_theory_shows_every_sequence():
    found = fig2_verdicts.compare_with_theory(made_up())
    for ratio in (0.5, 0.9):
        k = fig2_verdicts.RATIOS.index(ratio)
        for ax, comparison in zip(fig2_plot.plot_theory(found, ratio).axes, found, strict=True):
            points = np.column_stack([comparison.predicted[k], comparison.measured])
            np.testing.assert_array_equal(ax.collections[0].get_offsets(), points)
            assert ax.get_title(loc="left") == f"({comparison.panel}) rank corr. {comparison.correlations[k]:+.2f}"


def test_pictures_are_saved(tmp_path):
    fig2_plot.save(made_up(seeds=1), tmp_path)
    names = {"fig2", "fig2_theory"}
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.{suffix}" for name in names for suffix in ("png", "svg")
    }
    for name in names:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert ET.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")
