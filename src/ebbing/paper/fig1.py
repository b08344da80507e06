"""Figure 1: forgetting and generalization error against the number of parameters, theory and simulation.

(a), (b): forgetting; (c), (d): generalization error; identical ground truths in (a), (c), orthogonal ones in (b), (d).
Curves are Theorems 1 and 2 with a band of one exact standard deviation of a single run; markers are means over
`runs` simulated runs with their standard errors.

The paper prints no value for its largest noise level. Here it is 1.0, a setting: large enough that no descent floor
is left with identical tasks (Section 4.1, 3).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing._validate import Array, count
from ebbing.paper._output import STYLE, Verdict, provenance, save_figure, write_csv, write_json
from ebbing.problem import Problem
from ebbing.simulation import MeanEstimate, simulate_metrics
from ebbing.theory import expect, expect_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = (
    ("a", "identical", "forgetting"),
    ("b", "orthogonal", "forgetting"),
    ("c", "identical", "generalization"),
    ("d", "orthogonal", "generalization"),
)


@dataclass(frozen=True)
class Config:
    """The paper's values; `marker_p` and the largest noise are not printed there and chosen here."""

    T: int = 8
    n: int = 50
    true_features: int = 10
    sigma: tuple[float, ...] = (1.0, 0.3, 0.1)
    runs: int = 300
    seed: int = 0
    largest_p: int = 1000
    # No closer to n than 10: the mean of 300 runs is only nearly normal, as its z-scores assume, with three moments.
    marker_p: tuple[int, ...] = (10, 15, 20, 25, 30, 35, 40, 60, 70, 85, 100, 130, 170, 220, 300, 400, 550, 750, 1000)

    def __post_init__(self) -> None:
        for name in ("T", "n", "true_features", "runs", "largest_p"):
            count(name, getattr(self, name))
        if self.true_features < self.T:
            raise ValueError(f"T={self.T} orthogonal tasks need as many true_features, not {self.true_features}")
        if near := [p for p in self.marker_p if abs(p - self.n) < 4]:
            raise ValueError(f"marker_p={near[0]}: within 3 of n={self.n} the variance is infinite and z says nothing")

    def problem(self, setup: str, p: int, sigma: float) -> Problem:
        """One marker's problem; the true features beyond the span of the tasks only say which p make sense."""
        make = {"identical": Problem.identical, "orthogonal": Problem.orthogonal}[setup]
        return make(T=self.T, n=self.n, p=p, sigma=sigma)


@dataclass(frozen=True)
class Marker:
    """One simulated point beside theory."""

    panel: str
    sigma: float
    p: int
    mean: float
    standard_error: float
    theory: float
    theory_std: float
    z: float  # (mean - theory) / (exact standard deviation / sqrt(runs))


@dataclass(frozen=True, eq=False)
class Curve:
    """Theory over all p of one side; std is inf within 3 of n."""

    panel: str
    sigma: float
    p: Array
    mean: Array
    std: Array


@dataclass(frozen=True, eq=False)
class Result:
    """Markers, curves, and how well they agree."""

    config: Config
    markers: tuple[Marker, ...]
    curves: tuple[Curve, ...]
    provenance: dict[str, Any] = field(repr=False)

    def panel_p_value(self, panel: str) -> float:
        """Probability of z-scores at least this large, all markers of the panel together (chi-square)."""
        from scipy.stats import chi2

        z = np.array([marker.z for marker in self.markers if marker.panel == panel])
        return float(chi2.sf(np.sum(z**2), len(z)))

    @property
    def p_value(self) -> float:
        """One overall test: the smallest of the four panels' p-values, times four (Bonferroni), at most 1.

        Markers of a panel are independent, but forgetting and generalization error come from the same runs.
        """
        return min(1.0, 4 * min(self.panel_p_value(panel) for panel, _, _ in PANELS))

    def verdicts(self) -> list[Verdict]:
        """Simulation agrees with theory, panel by panel and over all."""
        rows = []
        for panel, setup, quantity in PANELS:
            z = [abs(marker.z) for marker in self.markers if marker.panel == panel]
            result = f"largest |z| = {max(z):.2f} of {len(z)}, chi-square p = {self.panel_p_value(panel):.2f}"
            claim = f"simulated {quantity} lies on the theorems' curves, {setup} tasks"
            rows.append((claim, f"Figure 1 ({panel})", result, self.panel_p_value(panel)))
        rows.append(("simulation and theory agree", "Figure 1", f"overall p = {self.p_value:.2f}", self.p_value))
        ran = f"{self.config.runs} runs at {len(self.config.marker_p)} p, {len(self.config.sigma)} noise levels"
        return [Verdict(claim, where, ran, result, p > 0.001) for claim, where, result, p in rows]


def run(config: Config = Config(), progress: Callable[[float], None] | None = None) -> Result:  # noqa: B008 (frozen)
    """Simulate every marker and evaluate theory.

    >>> result = run(Config(marker_p=(20, 100), sigma=(0.3,)))
    >>> len(result.markers), result.p_value > 0.001
    (8, True)
    """
    began = time.monotonic()
    markers, curves = [], []
    sides = (range(config.true_features, config.n - 1), range(config.n + 2, config.largest_p + 1))
    setups = ("identical", "orthogonal")
    points = [(setup, sigma, p) for setup in setups for sigma in config.sigma for p in config.marker_p]
    for done, (setup, sigma, p) in enumerate(points):
        problem = config.problem(setup, p, sigma)
        sample, theory = simulate_metrics(problem, config.runs, _seed(config.seed, done)), expect(problem)
        for panel, panel_setup, quantity in PANELS:
            if panel_setup == setup:
                estimate = MeanEstimate.of(getattr(sample, quantity))
                mean, std = getattr(theory, quantity), getattr(theory, f"{quantity}_std")
                # Without noise and underparameterized nothing varies: no evidence either way.
                z = (estimate.mean - mean) / (std / config.runs**0.5) if std else 0.0
                markers.append(Marker(panel, sigma, p, estimate.mean, estimate.standard_error, mean, std, z))
        if progress:
            progress((done + 1) / len(points))
    for panel, setup, quantity in PANELS:
        for sigma in config.sigma:
            for side in sides:
                p = np.array(side)
                grid = expect_grid(config.problem(setup, config.largest_p, sigma), p=p)
                curves.append(Curve(panel, sigma, p, getattr(grid, quantity), getattr(grid, f"{quantity}_std")))
    return Result(config, tuple(markers), tuple(curves), provenance(config, time.monotonic() - began))


def plot(result: Result) -> Figure:
    """The four panels."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    config = result.config
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 5.6), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True)
        for ax, (panel, setup, quantity) in zip(axes.flat, PANELS, strict=True):
            letter, name = {"forgetting": ("F", "forgetting"), "generalization": ("G", "generalization error")}[
                quantity
            ]
            ax.set_title(f"({panel}) {name}, {setup} tasks", loc="left")
            if setup == "identical":
                ax.set_ylabel(rf"{name} $\mathrm{{E}}[{letter}_{{{config.T}}}]$")
            if quantity == "generalization":
                ax.set_yscale("log")
                ax.set_xlabel("number of parameters $p$")
            _draw_panel(ax, result, panel)
        handles: list[Any] = [
            Line2D([], [], color=color, marker=marker, ms=6, mew=1.1, lw=1.2, label=rf"$\sigma$ = {sigma:g}")
            for sigma, color, marker in zip(config.sigma, _COLORS, _MARKERS, strict=False)
        ]
        handles += [
            Line2D([], [], color="0.35", lw=1.2, label="theory"),
            Patch(color="0.35", alpha=0.2, lw=0, label="\u00b1 one std of a run"),
            Line2D([], [], color="0.35", marker="+", ms=6, ls="", label=f"mean of {config.runs} runs"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, columnspacing=1.2)
    return figure


_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")  # Okabe-Ito: told apart by all eyes
_MARKERS = ("+", "x", "1", "2", "3")


def _draw_panel(ax: Any, result: Result, panel: str) -> None:
    config = result.config
    for k, sigma in enumerate(config.sigma):
        color, symbol = _COLORS[k % len(_COLORS)], _MARKERS[k % len(_MARKERS)]
        for curve in result.curves:
            if (curve.panel, curve.sigma) == (panel, sigma):
                finite = np.isfinite(curve.std)
                p, mean, std = curve.p[finite], curve.mean[finite], curve.std[finite]
                ax.plot(curve.p, curve.mean, color=color, lw=1.2)
                ax.fill_between(p, mean - std, mean + std, color=color, alpha=0.15, lw=0)
        points = [marker for marker in result.markers if (marker.panel, marker.sigma) == (panel, sigma)]
        p, mean, error = zip(*((m.p, m.mean, m.standard_error) for m in points), strict=True)
        ax.errorbar(p, mean, yerr=error, fmt=symbol, color=color, ms=6, mew=1.1, elinewidth=0.8)
    ax.set_ylim(*_limits(result, panel, log=ax.get_yscale() == "log"))
    ax.axvline(config.n, color="0.6", lw=0.8, ls=":")
    ax.annotate("$p = n$", (config.n, 0), xycoords=("data", "axes fraction"), xytext=(2, 2),
                textcoords="offset points", color="0.4", fontsize=8)  # fmt: skip
    ax.set_xscale("log")
    ticks = [p for p in (10, 20, 50, 100, 200, 500, 1000) if p <= config.largest_p]
    ax.set_xticks(ticks, [str(p) for p in ticks])
    ax.tick_params(axis="x", which="minor", bottom=False)


def _limits(result: Result, panel: str, *, log: bool) -> tuple[float, float]:
    """All means with room around them; bands and the poles at p = n may leave the panel."""
    means = np.array([marker.mean for marker in result.markers if marker.panel == panel])
    if log:
        return float(means.min() / 1.5), float(means.max() * 3)
    room = 0.5 * float(np.ptp(means))
    return float(means.min()) - room, float(means.max()) + room


def save(result: Result, folder: Path) -> list[Path]:
    """fig1.png, fig1.svg, the markers as fig1.csv and everything as fig1.json."""
    figure = plot(result)
    save_figure(figure, folder, "fig1")
    names = list(Marker.__dataclass_fields__)
    write_csv(folder / "fig1.csv", names, [[getattr(marker, name) for name in names] for marker in result.markers])
    content = {
        "provenance": result.provenance,
        "p_value": result.p_value,
        "markers": [vars(marker) for marker in result.markers],
        "curves": [vars(curve) for curve in result.curves],
    }
    write_json(folder / "fig1.json", content)
    return [folder / f"fig1.{suffix}" for suffix in ("png", "svg", "csv", "json")]


def _seed(seed: int, marker: int) -> int:
    return int(np.random.SeedSequence([seed, marker]).generate_state(1, np.uint64)[0])
