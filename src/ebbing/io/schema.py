"""The JSON that the command prints: one function per command, and `to_json`, which writes it.

docs/reference/formats.md describes every field. Names are those of Python. A change of meaning changes the version of
the schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing import metrics
from ebbing.curriculum import Curriculum, learned_before
from ebbing.learners import MinimumNorm
from ebbing.simulation import MeanEstimate
from ebbing.simulation._deviations import SimulatedDeviations
from ebbing.theory import expectation_if_finite, forward_transfer

if TYPE_CHECKING:
    from ebbing.data import CachedFile
    from ebbing.learn.experiment import Experiment
    from ebbing.learners import LinearLearner
    from ebbing.metrics import EvaluationComparison, MetricSummary
    from ebbing.problem import Problem
    from ebbing.runs.inventory import Inventory
    from ebbing.runs.streams import StreamRun
    from ebbing.simulation import SimulatedMetrics
    from ebbing.theory import Expectation

VERSION = 1
"""Version of all schemas."""


def to_json(command: str, content: dict[str, Any]) -> str:
    """Return one line of JSON that begins with the name of its schema.

    JSON has no infinity and no NaN: they become "inf", "-inf" and null. Numbers are written in full precision.

    Args:
        command: The command that the content answers, such as "expect".
        content: Dictionaries, lists, arrays, numbers, strings, booleans and None.

    Returns:
        The JSON text, without a line break.

    Example:
        >>> to_json("expect", {"std": math.inf, "z": np.float64("nan")})
        '{"schema": "ebbing.expect/1", "std": "inf", "z": null}'
    """
    return json.dumps({"schema": f"ebbing.{command}/{VERSION}"} | _plain(content), allow_nan=False)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case np.ndarray():
            return _plain(value.tolist())
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() | np.floating():
            return float(value) if math.isfinite(value) else None if math.isnan(value) else f"{value:g}"
        case np.integer():
            return int(value)
    return value


# -------------------------------------------------------------------- linear tasks


def problem_json(problem: Problem) -> dict[str, Any]:
    """Return all that determines a problem.

    Args:
        problem: The problem.

    Returns:
        The number of tasks and every field of the problem by name.
    """
    names = ("gram", "gaps", "n", "p", "sigma", "unmodeled", "names")
    return {"T": problem.T} | {name: getattr(problem, name) for name in names}


def curriculum_json(curriculum: Curriculum, learner: LinearLearner) -> dict[str, Any]:
    """Return what is learned at each step, and how.

    Args:
        curriculum: The steps.
        learner: How each step learns.

    Returns:
        The fields `curriculum` and `learner`.
    """
    steps = [{str(task): number for task, number in step.items()} for step in curriculum]
    return {"curriculum": {"steps": steps, "stored": curriculum.stored}, "learner": repr(learner)}


def expectation_json(e: Expectation, simulated: SimulatedDeviations | None = None) -> dict[str, Any]:
    """Return the content of `ebbing expect --json`.

    Args:
        e: The expectation.
        simulated: Standard deviations from runs, where theory has none.

    Returns:
        The fields; forgetting is None for a single task, standard deviations of many tasks unless they were computed.
    """
    sequential = e._curriculum is None  # `e.curriculum` would write out its steps, of thousands of tasks
    several = bool(learned_before(e.first_steps, len(e.errors) - 1).any())
    forgetting_std = e.forgetting_std if several and e.has_std else None
    return {
        "problem": problem_json(e.problem),
        **({} if sequential else curriculum_json(e.curriculum, e.learner)),
        "forgetting": {"mean": e.forgetting, "std": forgetting_std} if several else None,
        "generalization": {"mean": e.generalization, "std": e.generalization_std if e.has_std else None},
        "terms": vars(e.terms),
        "forgetting_curve": e.forgetting_curve if several else [],
        "forward_transfer": vars(forward_transfer(e.problem)) if sequential else None,
        "errors": e.errors,
        "errors_std": e.errors_std if e.has_std else None,
        **({} if simulated is None else {"simulated_std": vars(simulated)}),
    }


def simulation_json(simulation: SimulatedMetrics, seed: int) -> dict[str, Any]:
    """Return the content of `ebbing simulate --json`.

    Args:
        simulation: Metrics of the runs.
        seed: The seed of the runs.

    Returns:
        The fields; theory is None where the expectation is infinite, and forgetting for a single task.
    """
    plan, learner = simulation.curriculum, simulation.learner
    expectation = expectation_if_finite(simulation.problem, plan, learner=learner)
    usual = plan is None and isinstance(learner, MinimumNorm)

    def describe(name: str) -> dict[str, Any]:
        estimate = MeanEstimate.of(getattr(simulation, name))
        content: dict[str, Any] = vars(estimate) | {"theory": None, "theory_std": None, "z": None}
        if expectation is not None:
            mean, std = getattr(expectation, name), getattr(expectation, f"{name}_std") if expectation.has_std else None
            content |= {"theory": mean, "theory_std": std, "z": estimate.z_score(mean)}
        return content

    return {
        "problem": problem_json(simulation.problem),
        **({} if usual else curriculum_json(plan or Curriculum.sequential(simulation.problem), learner)),
        "runs": len(simulation.generalization),
        "seed": seed,
        "forgetting": None if np.isnan(simulation.forgetting).all() else describe("forgetting"),
        "generalization": describe("generalization"),
        "mean_errors": simulation.mean_errors,
    }


# -------------------------------------------------------------------- matrices and networks


def metrics_json(summary: MetricSummary) -> dict[str, Any]:
    """Return the content of `ebbing metrics --json`.

    Args:
        summary: Every metric of a matrix.

    Returns:
        The fields; a metric that cannot be computed is None, with the reason under "missing".
    """
    return {
        "kind": summary.kind,
        "tasks": summary.tasks,
        "names": list(summary.names),
        "just_learned": summary.just_learned,
        "at_the_end": summary.at_the_end,
        "forgotten": summary.forgotten,
        "hardly_learned": list(summary.hardly_learned),
        "metrics": summary.values,
        "missing": summary.reasons,
    }


def comparison_json(comparison: EvaluationComparison) -> dict[str, Any]:
    """Return the content of `ebbing compare --json`.

    Args:
        comparison: What changed between evaluations.

    Returns:
        The fields; what is not known of a change is None.
    """
    return {
        "names": list(comparison.names),
        "worse": list(comparison.worse),
        "better": list(comparison.better),
        "undecided": list(comparison.undecided),
        "left_out": list(comparison.left_out),
        "benchmarks": [
            {
                "name": name,
                "metric": score.metric,
                "higher_is_better": score.higher_is_better,
                "scores": values,
                "change": change.difference,
                "standard_error": change.standard_error,
                "interval": list(change.interval),
                "p_value": p,
                "questions": change.questions,
            }
            for name, score, values, change, p in zip(
                comparison.benchmarks,
                comparison.scores[0],
                comparison.values.T,
                comparison.changes,
                comparison.p_values,
                strict=True,
            )
        ],
    }


def train_json(run: StreamRun, experiment: Experiment) -> dict[str, Any]:
    """Return the content of `ebbing train --json`.

    Args:
        run: The trained stream.
        experiment: The settings that determine it.

    Returns:
        The fields; backward transfer is None for a single task.
    """
    from ebbing.learn._current_names import current_names  # which needs PyTorch

    several = len(run.tasks) > 1
    return {
        "settings": current_names(experiment.describe(run.seed)),
        "seed": run.seed,
        "tasks": list(run.tasks),
        "accuracies": run.accuracies,
        "average_accuracy": float(metrics.average_accuracy(run.accuracies, kind="accuracy")),
        "backward_transfer": float(metrics.backward_transfer(run.accuracies, kind="accuracy")) if several else None,
        "bytes_per_task": run.bytes_per_task,
        "num_trained": run.num_trained,
    }


def runs_json(inventory: Inventory) -> dict[str, Any]:
    """Return the content of `ebbing runs --json`.

    Args:
        inventory: What a store holds.

    Returns:
        The fields, one group for each set of settings and seed.
    """
    groups = [{"settings": group.settings, "entries": group.entries} for group in inventory.groups]
    return {"folder": str(inventory.folder), "bytes": inventory.size, "freed": inventory.freed, "groups": groups}


def data_json(folder: Path, files: Sequence[CachedFile]) -> dict[str, Any]:
    """Return the content of `ebbing data --json`.

    Args:
        folder: The folder of the cache.
        files: The files of the datasets.

    Returns:
        The fields; a missing file has no size.
    """
    return {
        "folder": str(folder),
        "files": [
            {"dataset": file.dataset, "path": str(file.path), "size": file.size, "state": file.state}
            | {"error": file.error or None}
            for file in files
        ],
    }


def progress_json(folder: Path, runs: Sequence[object]) -> dict[str, Any]:
    """Return the content of `ebbing reproduce --progress --json`.

    Args:
        folder: The folder of the reproduction.
        runs: One `ebbing.paper` progress per planned run.

    Returns:
        The fields, one object for each run.
    """
    return {"folder": str(folder), "runs": [vars(run) for run in runs]}


def reproduction_json(folder: Path, verdicts: Sequence[object]) -> dict[str, Any]:
    """Return the content of `ebbing reproduce --json`.

    Args:
        folder: Where figures, data and verdicts are.
        verdicts: One `ebbing.paper` verdict per claim.

    Returns:
        The fields, one object for each verdict.
    """
    return {"folder": str(folder), "verdicts": [vars(verdict) for verdict in verdicts]}
