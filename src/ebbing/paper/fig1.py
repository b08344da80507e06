"""Figure 1: forgetting and generalization error against the number of parameters, in theory and simulation.

Panels (a) and (b) show forgetting, (c) and (d) generalization error; the ground truths are identical in (a) and (c),
orthogonal in (b) and (d). Curves are Theorems 1 and 2 with a band of one exact standard deviation of a single run.
Markers are means over `runs` simulated runs with their standard errors. `ebbing.paper.figures.fig1` draws the figure.

The paper does not print its largest noise level. The default here is 1.0: large enough that identical tasks have no
descent floor (Section 4.1, 3).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ebbing._validate import Array, check_count
from ebbing.paper._output import Verdict, provenance, write_csv, write_json
from ebbing.problem import Problem
from ebbing.simulation import MeanEstimate, simulate_metrics
from ebbing.theory import expect, expect_grid

PANELS = (
    ("a", "identical", "forgetting"),
    ("b", "orthogonal", "forgetting"),
    ("c", "identical", "generalization"),
    ("d", "orthogonal", "generalization"),
)
"""Letter, ground truths and quantity of each panel."""


@dataclass(frozen=True)
class Config:
    """The settings of Figure 1: the paper's values, except `marker_p` and the largest noise, which it does not print.

    Attributes:
        T: The number of tasks.
        n: The number of samples of each task.
        true_features: The number of features that the ground truths use; the smallest p on the axis.
        sigma: The standard deviations of the noise, one curve each.
        runs: The number of simulated runs for each marker.
        seed: The seed of the simulation.
        largest_p: The largest p of the curves.
        marker_p: The p at which runs are simulated. None is closer to n than 10: z-scores assume that the mean of 300
            runs is nearly normal, which needs more than three finite moments.
    """

    T: int = 8
    n: int = 50
    true_features: int = 10
    sigma: tuple[float, ...] = (1.0, 0.3, 0.1)
    runs: int = 300
    seed: int = 0
    largest_p: int = 1000
    marker_p: tuple[int, ...] = (10, 15, 20, 25, 30, 35, 40, 60, 70, 85, 100, 130, 170, 220, 300, 400, 550, 750, 1000)

    def __post_init__(self) -> None:
        for name in ("T", "n", "true_features", "runs", "largest_p"):
            check_count(name, getattr(self, name))
        if self.true_features < self.T:
            raise ValueError(
                f"true_features={self.true_features}: {self.T} orthogonal tasks need {self.T} or more; reduce T"
            )
        if near := [p for p in self.marker_p if abs(p - self.n) < 4]:
            raise ValueError(
                f"marker_p={near[0]}: within 3 of n={self.n} the variance is infinite and z-scores mean nothing; "
                "leave this p out"
            )

    def problem(self, setup: str, p: int, sigma: float) -> Problem:
        """Return the problem behind one marker.

        Args:
            setup: "identical" or "orthogonal" ground truths.
            p: The number of parameters.
            sigma: The standard deviation of the noise.

        Returns:
            The problem; true features outside the span of the ground truths do not change it.
        """
        make = {"identical": Problem.identical, "orthogonal": Problem.orthogonal}[setup]
        return make(T=self.T, n=self.n, p=p, sigma=sigma)


@dataclass(frozen=True)
class Marker:
    """A simulated mean and its expectation.

    Attributes:
        panel: The panel's letter.
        sigma: The standard deviation of the noise.
        p: The number of parameters.
        mean: The mean over the simulated runs.
        standard_error: The standard error of that mean, estimated from the runs.
        theory: The expectation by Theorem 1 or 2.
        theory_std: The exact standard deviation of a single run.
        z: (mean - theory) / (theory_std / sqrt(runs)).
    """

    panel: str
    sigma: float
    p: int
    mean: float
    standard_error: float
    theory: float
    theory_std: float
    z: float


@dataclass(frozen=True, eq=False)
class Curve:
    """The expectation on one side of p = n.

    Attributes:
        panel: The panel's letter.
        sigma: The standard deviation of the noise.
        p: The numbers of parameters (points,).
        mean: The expectation at each p (points,).
        std: The standard deviation of a single run at each p (points,); infinite within 3 of n.
    """

    panel: str
    sigma: float
    p: Array
    mean: Array
    std: Array


@dataclass(frozen=True, eq=False)
class Result:
    """The markers and curves of Figure 1, and tests of their agreement.

    Attributes:
        config: The settings.
        markers: All simulated means.
        curves: All expectations, two curves (p < n and p > n) for each panel and noise level.
        provenance: Code, settings, versions and machine.
    """

    config: Config
    markers: tuple[Marker, ...]
    curves: tuple[Curve, ...]
    provenance: dict[str, Any] = field(repr=False)

    def panel_p_value(self, panel: str) -> float:
        """Return the p-value of the chi-square test that simulation and theory agree in one panel.

        Args:
            panel: The panel's letter.

        Returns:
            The probability of z-scores at least this large, for all markers of the panel together.
        """
        from scipy.special import chdtrc

        z = np.array([marker.z for marker in self.markers if marker.panel == panel])
        return float(chdtrc(len(z), np.sum(z**2)))

    @property
    def p_value(self) -> float:
        """The p-value of agreement over all panels: four times the smallest one (Bonferroni), at most 1.

        The markers of a panel are independent, but forgetting and generalization error come from the same runs.
        """
        return min(1.0, 4 * min(self.panel_p_value(panel) for panel, _, _ in PANELS))

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts on whether simulation and theory agree.

        Returns:
            One verdict for each panel, and one over all.
        """
        rows = []
        for panel, setup, quantity in PANELS:
            z = [abs(marker.z) for marker in self.markers if marker.panel == panel]
            result = f"largest |z| = {max(z):.2f} of {len(z)}, chi-square p = {self.panel_p_value(panel):.2f}"
            claim = f"simulated {quantity} lies on the theorems' curves, {setup} tasks"
            rows.append((claim, f"Figure 1 ({panel})", result, self.panel_p_value(panel)))
        rows.append(("simulation and theory agree", "Figure 1", f"overall p = {self.p_value:.2f}", self.p_value))
        procedure = (
            f"{self.config.runs} runs at {len(self.config.marker_p)} values of p and "
            f"{len(self.config.sigma)} noise levels"
        )
        return [Verdict(claim, source, procedure, result, p > 0.001) for claim, source, result, p in rows]


def run(config: Config = Config(), progress: Callable[[float], None] | None = None) -> Result:  # noqa: B008 (frozen)
    """Simulate every marker and evaluate the theorems.

    Args:
        config: The settings.
        progress: Called with the finished share of the work, from 0 to 1.

    Returns:
        The markers and curves.

    Example:
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
        sample, theory = simulate_metrics(problem, config.runs, _marker_seed(config.seed, done)), expect(problem)
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


def save(result: Result, folder: Path) -> None:
    """Write the markers as fig1.csv, and markers, curves and provenance as fig1.json.

    Args:
        result: What to write.
        folder: The folder of the files.
    """
    names = list(Marker.__dataclass_fields__)
    write_csv(folder / "fig1.csv", names, [[getattr(marker, name) for name in names] for marker in result.markers])
    content = {
        "provenance": result.provenance,
        "p_value": result.p_value,
        "markers": [vars(marker) for marker in result.markers],
        "curves": [vars(curve) for curve in result.curves],
    }
    write_json(folder / "fig1.json", content)


def _marker_seed(seed: int, marker: int) -> int:
    return int(np.random.SeedSequence([seed, marker]).generate_state(1, np.uint64)[0])
