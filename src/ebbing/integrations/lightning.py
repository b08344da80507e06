"""Lightning: what a sequence of `Trainer.fit` calls forgets, and a callback that protects old tasks.

    forgetting = ForgettingCallback({"news": news_loader, "mail": mail_loader}, "forgetting.json", metric="val_acc")
    for loader in (news_training, mail_training):
        Trainer(max_epochs=3, callbacks=[forgetting]).fit(module, loader)
    print(forgetting.matrix.summary())

Importing this module imports Lightning (the package lightning, or else pytorch_lightning).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from ebbing._extras import explain_missing

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ModuleNotFoundError as error:
    raise explain_missing(error, __name__, "lightning") from None

import torch
from torch.utils.data import Dataset

from ebbing._tables import with_article
from ebbing.integrations._lightning_validation import measure
from ebbing.integrations._recorder import MatrixRecorder
from ebbing.integrations.measured_matrix import MeasuredMatrix
from ebbing.metrics import Kind

if TYPE_CHECKING:
    from ebbing.learn.projection.learner import ProjectionLearner

__all__ = ["ForgettingCallback", "ProtectionCallback"]

_CONVERTED = {"16-true": torch.float16, "bf16-true": torch.bfloat16, "64-true": torch.float64}
"""What a trainer of each precision converts all weights to."""


class ForgettingCallback(Callback):
    """Measures every task by `validation_step`: before the first of several `Trainer.fit` calls, and after each one.

    Each call learns one task, in the order of `eval_dataloaders`. Row 0 of the matrix, the initial model, is measured
    when the first call starts, row t when call t ends. Every entry is in the file as soon as it is measured.
    Measuring changes no random numbers: training goes on as without the callback.

    Args:
        eval_dataloaders: The evaluation data of each task by its name, in the order in which the tasks are learned.
        file: A JSON file that keeps the matrix, readable by `ebbing metrics` and `ebbing.read_matrix`; or None.
        metric: The name of a value that the `validation_step` logs, by `self.log(metric, value)`. Values of batches are
            averaged by their sizes, as Lightning does; a metric of torchmetrics is computed at the end.
        kind: "error" if lower values of the metric are better, "accuracy" if higher ones; None if the last word of its
            name is "accuracy", "acc", "loss" or "error".
        learner: A learner, if each task is to be measured with its own values; by default that of the trainer's
            `ProtectionCallback`, if it has one.
        resume: Whether to continue an interrupted sequence, from the matrix in the file. `remaining` has the tasks that
            are still to be learned.

    Raises:
        ValueError: If there is no evaluation data, or a dataset instead of a loader; it is not known whether the metric
            is an error; or the file exists and `resume` is not set.
    """

    def __init__(
        self,
        eval_dataloaders: Mapping[str, Iterable[Any]],
        file: str | os.PathLike[str] | None = None,
        *,
        metric: str = "val_accuracy",
        kind: Kind | None = None,
        learner: ProjectionLearner | None = None,
        resume: bool = False,
    ) -> None:
        if not isinstance(eval_dataloaders, Mapping):
            raise ValueError(
                f"eval_dataloaders is {with_article(type(eval_dataloaders).__name__)}: give {{name: DataLoader}}"
            )
        for name, loader in eval_dataloaders.items():
            if isinstance(loader, Dataset):
                raise ValueError(
                    f"eval_dataloaders[{name!r}] is {with_article(type(loader).__name__)}: give a DataLoader of it, "
                    "which makes batches: DataLoader(dataset, batch_size=...)"
                )
        self.eval_dataloaders, self.learner = dict(eval_dataloaders), learner
        self._recorder = MatrixRecorder(self.eval_dataloaders, metric, kind, file, resume=resume)
        self._steps = 0  # that the trainer had made when the task began

    @property
    def matrix(self) -> MeasuredMatrix:
        """The matrix measured so far."""
        return self._recorder.matrix

    @property
    def remaining(self) -> tuple[str, ...]:
        """The names of the tasks that are still to be learned."""
        return self._recorder.remaining

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Measure the initial model, if it has not been measured.

        Args:
            trainer: The trainer.
            pl_module: The module.

        Raises:
            ValueError: If all tasks are learned, another task is next, or the `validation_step` does not log the
                metric.
        """
        if type(pl_module).validation_step is LightningModule.validation_step:
            raise ValueError(
                f"a {type(pl_module).__name__} has no validation_step, which measures: add one that calls "
                f"self.log({self._recorder.metric!r}, value)"
            )
        protection = _protection(trainer)
        self._recorder.start_task(None if protection is None else protection.task)
        self._steps = trainer.global_step
        if self._recorder.step == 1:
            self._measure(0, trainer, pl_module)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Measure the model after the task.

        Args:
            trainer: The trainer.
            pl_module: The module.

        Raises:
            ValueError: If nothing was trained.
        """
        if trainer.global_step == self._steps:
            raise ValueError(
                f"fit() made no step, so {self.remaining[0]!r} was not learned: a Trainer that has reached its "
                "max_epochs trains nothing more; create a Trainer for each task"
            )
        self._measure(self._recorder.step, trainer, pl_module)

    def _measure(self, step: int, trainer: Trainer, module: LightningModule) -> None:
        protection = _protection(trainer)
        learner = self.learner if protection is None or self.learner is not None else protection.learner

        def evaluate(name: str) -> float:
            with learner.evaluating(name) if learner is not None and name in learner.tasks else nullcontext():
                return measure(module, self.eval_dataloaders[name], self._recorder.metric)

        self._recorder.measure(step, evaluate, write=trainer.is_global_zero)


class ProtectionCallback(Callback):
    """Protects old tasks while `Trainer.fit` learns a new one, by GPM, TRGP or a relative; whatever the optimizer.

        learner = Gpm(per_task=("head",)).start(module)
        for name, loader in tasks.items():
            Trainer(max_epochs=3, callbacks=[ProtectionCallback(learner, name, loader)]).fit(module, loader)

    Args:
        learner: The learner of a `Gpm`, `Trgp`, `TrgpPlus` or `TrgpFree` method, started with the module that is
            trained. On another device than the CPU, move the module there first.
        task: The name of the task.
        examples: Training data of the task, in any form that `learner.learn` takes: a pair (inputs, labels), or batches
            of such pairs; inputs as `forward` takes them, which no hook of the module changes. Directions that they use
            are protected.

    Attributes:
        learner: The learner.
        task: The name of the task.
        examples: Training data of the task.
    """

    learner: ProjectionLearner
    task: str
    examples: Any

    def __init__(self, learner: ProjectionLearner, task: str, examples: Any) -> None:
        self.learner, self.task, self.examples = learner, task, examples
        self._context = ExitStack()

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Open the task, before the module configures its optimizers.

        Args:
            trainer: The trainer.
            pl_module: The module.
            stage: What the trainer is about to do.

        Raises:
            ValueError: If the module is not the learner's network or has no forward, checkpoints would be written, or
                the trainer converts weights to another precision.
        """
        if stage != "fit":
            return
        if self.learner.network is not pl_module:
            raise ValueError(
                "the module is not the learner's network: start the learner with the module that is trained"
            )
        if type(pl_module).forward is LightningModule.forward:
            raise ValueError(
                f"a {type(pl_module).__name__} has no forward, by which the inputs of its layers are measured: define "
                "forward(inputs), and call self(inputs) in training_step"
            )
        if trainer.checkpoint_callbacks:
            raise ValueError(
                "weights are parametrized while a task is learned, so checkpoints of them would be of no use: say "
                "Trainer(enable_checkpointing=False), and learner.save(file) after fit()"
            )
        weights = _CONVERTED.get(trainer.precision)
        if weights is not None and any(p.dtype != weights for p in pl_module.parameters() if p.is_floating_point()):
            raise ValueError(
                f"precision={trainer.precision!r}: the trainer would convert the weights while a task is learned; say "
                "Trainer(precision='32-true'), or 'bf16-mixed' for matrix products in bfloat16"
            )
        self._context.enter_context(self.learner.task(self.task, self.examples))

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Close the task: from now on it is protected.

        Args:
            trainer: The trainer.
            pl_module: The module.
        """
        self._context.close()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Undo an interrupted task.

        Args:
            trainer: The trainer.
            pl_module: The module.
            exception: What interrupted it.
        """
        try:
            self._context.__exit__(type(exception), exception, None)
        except BaseException as error:  # the context raises it again, and so will Lightning
            if error is not exception:
                raise


def _protection(trainer: Trainer) -> ProtectionCallback | None:
    """Return the callback of a trainer that protects old tasks, if it has one."""
    callbacks: Iterable[Any] = trainer.callbacks  # type: ignore[attr-defined]
    return next((one for one in callbacks if isinstance(one, ProtectionCallback)), None)
