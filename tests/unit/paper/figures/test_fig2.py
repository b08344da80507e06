"""The picture of Figure 2 on made-up measurements."""

import xml.etree.ElementTree as ET

import numpy as np
from made_up_fig2 import AGREES, by_seed, made_up
from scipy.stats import sem

from ebbing.paper import fig2_verdicts
from ebbing.paper.fig2 import SETUPS, Panel
from ebbing.paper.figures.fig2 import plot_fig2, plot_fig2_theory, save_fig2


def curves(ax):
    """Label -> (x, y, half-lengths of error bars or None)."""
    found = {}
    for container in ax.containers:
        line, _, bars = container.lines
        lengths = [np.diff(segment[:, 1]).item() / 2 for segment in bars[0].get_segments()] if bars else None
        found[container.get_label()] = (line.get_xdata().tolist(), line.get_ydata(), lengths)
    return found


def test_plot_fig2_shows_means_and_standard_errors():
    result = made_up()
    axes = dict(zip("abcd", plot_fig2(result).flat, strict=True))
    found = curves(axes["a"])
    assert list(found) == ["forgetting $F_2$", "generalization error $G_2$"]
    for x, y, lengths in found.values():
        assert x == list(range(6))
        np.testing.assert_allclose(y, by_seed(AGREES["a"]).mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(lengths, sem(by_seed(AGREES["a"])), rtol=1e-9)
    starts: dict[Panel, int] = {"b": 0, "c": 1, "d": 0}
    for panel, start in starts.items():
        found = curves(axes[panel])
        assert list(found) == list(SETUPS[panel])
        mean, error = by_seed(AGREES[panel]).mean(axis=0), sem(by_seed(AGREES[panel]))
        worst = 1 if panel == "b" else mean.max()
        for x, y, lengths in found.values():
            assert x == [start + i for i in range(len(mean))]
            np.testing.assert_allclose(y, mean / worst, rtol=1e-12)
            np.testing.assert_allclose(lengths, error / worst, rtol=1e-9)


def test_plot_fig2_of_one_seed_has_no_error_bars():
    result = made_up({("c", "forgetting_0"): [(0.0,) * 6]}, seeds=1)
    axes = plot_fig2(result).ravel()
    assert {lengths is None for ax in axes for _, _, lengths in curves(ax).values()} == {True}
    assert not curves(axes[2])["forgetting_0"][1].any()


def test_plot_fig2_theory_shows_every_sequence():
    found = fig2_verdicts.compare_with_theory(made_up())
    for ratio in (0.5, 0.9):
        k = fig2_verdicts.RATIOS.index(ratio)
        for ax, comparison in zip(plot_fig2_theory(found, ratio), found, strict=True):
            points = np.column_stack([comparison.predicted[k], comparison.measured])
            np.testing.assert_array_equal(ax.collections[0].get_offsets(), points)
            assert ax.get_title(loc="left") == f"({comparison.panel}) rank corr. {comparison.correlations[k]:+.2f}"


def test_save_fig2_writes_png_and_svg(tmp_path):
    save_fig2(made_up(seeds=1), tmp_path)
    names = {"fig2", "fig2_theory"}
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.{suffix}" for name in names for suffix in ("png", "svg")
    }
    for name in names:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert ET.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")
