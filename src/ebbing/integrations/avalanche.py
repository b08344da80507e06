"""Avalanche: plugins that protect old experiences by gradient projection, and its results as matrices.

    plugin = GpmPlugin(per_task=("head",))
    strategy = Naive(model=model, optimizer=SGD(model.parameters(), 0.1), train_epochs=3, plugins=[plugin])
    results = [strategy.eval(benchmark.test_stream)]
    for experience in benchmark.train_stream:
        strategy.train(experience)
        results.append(strategy.eval(benchmark.test_stream))
    print(read_results(results).summary())

Importing this module imports Avalanche, and with it torchvision.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ebbing._extras import explain_missing

try:
    from avalanche.models import MultiTaskModule
    from avalanche.training.plugins import SupervisedPlugin
except ModuleNotFoundError as error:
    raise explain_missing(error, __name__, "avalanche") from None

import numpy as np
import torch

from ebbing._warnings import warn
from ebbing.integrations._recorder import metric_kind
from ebbing.integrations.measured_matrix import MeasuredMatrix
from ebbing.learn import Gpm, Trgp
from ebbing.metrics import Kind

if TYPE_CHECKING:
    from ebbing.learn.projection.learner import ProjectionLearner
    from ebbing.learn.projection.method import ProjectionMethod

__all__ = ["GpmPlugin", "ProtectionPlugin", "TrgpPlugin", "read_results"]


class ProtectionPlugin(SupervisedPlugin):
    """Protects old experiences by a method of gradient projection, for any strategy that trains by gradients.

    Every experience is a task. Evaluation puts the values of an experience into the model (biases, norms, and the
    modules in `per_task`), by its number in the stream: a task-incremental setting. The strategy's optimizer trains the
    parameters that are free; its state starts anew with each experience.

    Args:
        method: The method, such as `ebbing.learn.TrgpFree(per_task=("head",))`. Its schedule is not used.

    Attributes:
        method: The method.
        learner: The learner, once the first experience has started; `learner.save(file)` writes everything.
    """

    method: ProjectionMethod
    learner: ProjectionLearner | None

    def __init__(self, method: ProjectionMethod) -> None:
        super().__init__()
        self.method = method
        self.learner = None
        self._training, self._evaluation = ExitStack(), ExitStack()
        self._trained: int | None = None  # the experience that is learned now
        self._labels: dict[int, set[int]] = {}  # task labels of the experiences so far, by their numbers

    def before_training_exp(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        """Open the task, and give its parameters to the strategy's optimizer.

        Args:
            strategy: The strategy.
            *args: Further arguments of Avalanche.
            **kwargs: Further arguments of Avalanche.

        Raises:
            ValueError: If the model or the optimizer cannot be used, or the experience was learned already.
        """
        if self.learner is None:
            if isinstance(strategy.model, MultiTaskModule):
                raise ValueError(
                    f"the model is a {type(strategy.model).__name__}, which chooses among heads by task labels: give a "
                    'plain network with one head, and name the head: per_task=("head",)'
                )
            self.learner = self.method.start(strategy.model)
        groups = strategy.optimizer.param_groups
        if len(groups) != 1:
            raise ValueError(f"the optimizer has {len(groups)} groups of parameters: give it one")
        self._abandon()
        number = strategy.experience.current_experience
        self._warn_if_unlabeled(number, strategy.experience.task_labels)
        task = self.learner.task(_name(number), self._examples(strategy))
        parameters = self._training.enter_context(task)
        before = groups[0]["params"]
        groups[0]["params"] = list(parameters)
        strategy.optimizer.state.clear()
        self._training.callback(_restore_optimizer, strategy.optimizer, before)
        self._trained = number

    def after_training_exp(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        """Close the task: from now on it is protected.

        Args:
            strategy: The strategy.
            *args: Further arguments of Avalanche.
            **kwargs: Further arguments of Avalanche.
        """
        self._trained = None
        self._training.close()

    def before_eval_exp(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        """Put the values of an experience that was learned into the model.

        Args:
            strategy: The strategy.
            *args: Further arguments of Avalanche.
            **kwargs: Further arguments of Avalanche.

        Raises:
            RuntimeError: If another experience is being learned.
        """
        number = strategy.experience.current_experience
        if self._trained not in (None, number):
            raise RuntimeError(
                f"experience {number} cannot be evaluated while experience {self._trained} is learned: set eval_every "
                "to -1 or 0, and call strategy.eval(stream) after strategy.train(experience)"
            )
        if self._trained is None and self.learner is not None and _name(number) in self.learner.tasks:
            self._evaluation.enter_context(self.learner.evaluating(_name(number)))

    def after_eval_exp(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        """Put the shared values back into the model.

        Args:
            strategy: The strategy.
            *args: Further arguments of Avalanche.
            **kwargs: Further arguments of Avalanche.
        """
        self._evaluation.close()

    def _examples(self, strategy: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return as many random examples of the experience as the learner measures."""
        assert self.learner is not None
        dataset = strategy.adapted_dataset
        count = min(max(self.learner._num_examples()), len(dataset))
        chosen = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))[:count].tolist()
        pairs = [dataset[index][:2] for index in chosen]
        return torch.stack([x for x, _ in pairs]), torch.tensor([int(y) for _, y in pairs])

    def _warn_if_unlabeled(self, experience: int, labels: Sequence[int]) -> None:
        """Warn at the second experience if its task label is that of the first: no other method tells them apart."""
        self._labels[experience] = {*labels}
        if len(self._labels) == 2 and set.intersection(*self._labels.values()):
            warn(
                f"experience {experience} has the task label of an earlier one, as in a class-incremental benchmark: "
                "this plugin knows the experience of what it evaluates (task-incremental), so do not compare its "
                "accuracy with that of methods which do not; give the benchmark task_labels=[0, 1, ...] if they may"
            )

    def _abandon(self) -> None:
        """Undo a task or an evaluation that an error has interrupted."""
        if self._trained is not None:
            self._trained = None
            interrupted = InterruptedError("training of the experience was interrupted")
            try:
                self._training.__exit__(type(interrupted), interrupted, None)
            except InterruptedError:
                self._training = ExitStack()
        self._evaluation.close()


class GpmPlugin(ProtectionPlugin):
    """Gradient projection memory (Saha, Garg and Roy, 2021) for the strategies of Avalanche.

    Args:
        **settings: The settings of `ebbing.learn.Gpm`: `threshold`, `num_examples`, `per_task`, `norms`.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(Gpm(**settings))


class TrgpPlugin(ProtectionPlugin):
    """Trust region gradient projection (Lin, Yang, Fan and Zhang, 2022) for the strategies of Avalanche.

    Args:
        **settings: The settings of `ebbing.learn.Trgp`: those of `Gpm`, `max_trusted`, `trust_threshold`.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(Trgp(**settings))


def read_results(
    results: Sequence[Mapping[str, Any]],
    *,
    metric: str = "Top1_Acc_Exp",
    stream: str = "test_stream",
    names: Sequence[str] | None = None,
    kind: Kind | None = None,
) -> MeasuredMatrix:
    """Return the matrix of what `strategy.eval` returned, after each experience.

    Args:
        results: What `strategy.eval(benchmark.test_stream)` returned: before the first experience if it was called
            there, and after each one.
        metric: The name of a metric of experiences: "Top1_Acc_Exp" (`accuracy_metrics(experience=True)`), "Loss_Exp".
        stream: The name of the stream that was evaluated.
        names: Names of the experiences.
        kind: "error" or "accuracy": what the metric is; None for accuracies ("Acc") and losses ("Loss").

    Returns:
        The matrix. Row 0 is NaN if there is no result from before the first experience.

    Raises:
        ValueError: If the results have no such metric, or are not one for each experience.

    Example:
        >>> key = "Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp00{}"
        >>> rows = [[0.9, 0.5], [0.6, 0.8]]
        >>> results = [{key.format(i): value for i, value in enumerate(row)} for row in rows]
        >>> round(read_results(results).forgetting, 2)
        0.3
    """
    pattern = re.compile(rf"{re.escape(metric)}/eval_phase/{re.escape(stream)}/(?:Task\d+/)?Exp(\d+)")
    rows: list[dict[int, float]] = []
    for result in results:
        matches = ((pattern.fullmatch(key), value) for key, value in result.items())
        rows.append({int(match[1]): float(value) for match, value in matches if match})
    T = 1 + max((i for row in rows for i in row), default=-1)
    if T == 0:
        known = sorted({key.partition("/")[0] for result in results for key in result if re.search(r"Exp\d+$", key)})
        raise ValueError(
            f"metric={metric!r}: the results have none of {stream!r}; they have {', '.join(known) or 'none'}; "
            "add accuracy_metrics(experience=True) to the EvaluationPlugin"
        )
    if len(rows) not in (T, T + 1):
        raise ValueError(
            f"{len(rows)} results for {T} experiences: give one after each, and perhaps one before the first"
        )
    values = np.full((T + 1, T), np.nan)
    for t, row in enumerate(rows, T + 1 - len(rows)):
        values[t, list(row)] = list(row.values())
    if names is not None and len(names) != T:
        raise ValueError(f"{len(names)} names for {T} experiences: give one for each")
    said = kind or metric_kind(metric.removesuffix("_Exp").rpartition("_")[2].lower(), None)
    return MeasuredMatrix(values, tuple(names or (f"experience {i}" for i in range(T))), said, metric)


def _name(experience: int) -> str:
    return f"experience {experience}"


def _restore_optimizer(optimizer: torch.optim.Optimizer, parameters: list[torch.nn.Parameter]) -> None:
    optimizer.param_groups[0]["params"] = parameters
    optimizer.state.clear()
