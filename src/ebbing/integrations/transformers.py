"""Hugging Face transformers: what a sequence of `Trainer` runs forgets, and a `Trainer` that protects old tasks.

    forgetting = ForgettingCallback({"news": news_test, "mail": mail_test}, "forgetting.json")
    for name, data in {"news": news_train, "mail": mail_train}.items():
        trainer = Trainer(model, arguments, train_dataset=data, compute_metrics=accuracy)
        forgetting.attach(trainer)
        trainer.train()
    print(forgetting.matrix.summary())

Importing this module imports transformers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from ebbing._extras import explain_missing

try:
    from transformers import Trainer, TrainerCallback
except ModuleNotFoundError as error:
    raise explain_missing(error, __name__, "transformers") from None

from ebbing._tables import with_article
from ebbing.integrations._recorder import MatrixRecorder
from ebbing.integrations.measured_matrix import MeasuredMatrix
from ebbing.metrics import Kind

if TYPE_CHECKING:
    from ebbing.learn.projection.learner import ProjectionLearner

__all__ = ["ForgettingCallback", "ProtectedTrainer"]


class ForgettingCallback(TrainerCallback):
    """Measures every task by the trainer's `evaluate`: before the first of several `Trainer` runs, and after each one.

    Each run of `train` learns one task, in the order of `eval_datasets`. Row 0 of the matrix, the initial model, is
    measured when the first run starts, row t when run t ends. Every entry is in the file as soon as it is measured.
    Measuring changes no random numbers: training goes on as without the callback.

    Args:
        eval_datasets: The evaluation data of each task by its name, in the order in which the tasks are learned.
        file: A JSON file that keeps the matrix, readable by `ebbing metrics` and `ebbing.read_matrix`; or None.
        metric: The name of a value that the trainer's `evaluate` returns, without "eval_": a key that `compute_metrics`
            returns, such as "accuracy", or "loss".
        kind: "error" if lower values of the metric are better, "accuracy" if higher ones; None if the last word of its
            name is "accuracy", "acc", "loss" or "error".
        task_weights: A function that returns, for the name of a task, a context in which the model is the one for that
            task: for example, with an adapter for each task, the one that selects the adapter. `ProtectedTrainer` needs
            none.
        resume: Whether to continue an interrupted sequence, from the matrix in the file. `remaining` has the tasks that
            are still to be learned.

    Raises:
        ValueError: If there is no evaluation data, it is not known whether the metric is an error, or the file exists
            and `resume` is not set.
    """

    def __init__(
        self,
        eval_datasets: Mapping[str, Any],
        file: str | os.PathLike[str] | None = None,
        *,
        metric: str = "accuracy",
        kind: Kind | None = None,
        task_weights: Callable[[str], AbstractContextManager[Any]] | None = None,
        resume: bool = False,
    ) -> None:
        if not isinstance(eval_datasets, Mapping):
            raise ValueError(
                f"eval_datasets is {with_article(type(eval_datasets).__name__)}: give a dictionary {{name: dataset}}"
            )
        self.eval_datasets, self.task_weights = dict(eval_datasets), task_weights
        self._recorder = MatrixRecorder(self.eval_datasets, metric, kind, file, resume=resume)
        self._trainer: Trainer | None = None

    @property
    def matrix(self) -> MeasuredMatrix:
        """The matrix measured so far."""
        return self._recorder.matrix

    @property
    def remaining(self) -> tuple[str, ...]:
        """The names of the tasks that are still to be learned."""
        return self._recorder.remaining

    def attach(self, trainer: Trainer, task: str | None = None) -> None:
        """Measure the next run of a trainer; call it for the trainer of every task, before `train`.

        Args:
            trainer: The trainer; the callback is added to it.
            task: The name of the task that this run learns, to be sure; by default that of a `ProtectedTrainer`, or the
                next one.

        Raises:
            ValueError: If all tasks are learned, another task is next, or the trainer cannot measure the metric.
        """
        self._recorder.start_task(task or getattr(trainer, "task", None))
        if self._recorder.metric != "loss" and trainer.compute_metrics is None:
            raise ValueError(
                f"metric={self._recorder.metric!r}, but the trainer has no compute_metrics: give it one that returns "
                f"{{{self._recorder.metric!r}: ...}}, or measure metric='loss'"
            )
        if self not in trainer.callback_handler.callbacks:
            trainer.add_callback(self)
        self._trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Measure the initial model, if it has not been measured.

        Args:
            args: The training arguments.
            state: The state of training.
            control: What the trainer does next.
            **kwargs: The model and everything else that a trainer gives its callbacks.

        Raises:
            RuntimeError: If the callback was not attached to the trainer.
        """
        if self._trainer is None or self._trainer.callback_handler.callbacks.count(self) == 0:
            raise RuntimeError(
                "ForgettingCallback does not know its trainer: call forgetting.attach(trainer) before trainer.train()"
            )
        if state is not self._trainer.state:
            raise RuntimeError(
                "ForgettingCallback is attached to another trainer: call forgetting.attach(trainer) for the trainer of "
                "every task, before trainer.train()"
            )
        self._measure_initial()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Measure the model after the task.

        Args:
            args: The training arguments.
            state: The state of training.
            control: What the trainer does next.
            **kwargs: The model and everything else that a trainer gives its callbacks.
        """
        if not isinstance(self._trainer, ProtectedTrainer):  # that one knows when the task is protected
            self._measure_learned()

    def _measure_initial(self) -> None:
        if self._recorder.step == 1:
            self._measure(0)

    def _measure_learned(self) -> None:
        self._measure(self._recorder.step)
        self._trainer = None  # the next run needs attach() again

    def _measure(self, step: int) -> None:
        trainer = self._trainer
        assert trainer is not None  # attached, or on_train_begin would have raised an error
        self._recorder.measure(step, self._evaluate, write=trainer.is_world_process_zero())

    def _evaluate(self, name: str) -> float:
        trainer, metric = self._trainer, self._recorder.metric
        assert trainer is not None
        select = self.task_weights or (trainer.task_weights if isinstance(trainer, ProtectedTrainer) else None)
        with nullcontext() if select is None else select(name):
            found = trainer.evaluate(self.eval_datasets[name], metric_key_prefix=f"eval_{name}")
        key = f"eval_{name}_{metric}"
        if key not in found:
            prefix = f"eval_{name}_"
            known = ", ".join(k.removeprefix(prefix) for k in found if k.startswith(prefix))
            raise ValueError(f"metric={metric!r}: the trainer's evaluate returns no such value; it returns {known}")
        return found[key]


class ProtectedTrainer(Trainer):
    """A `Trainer` that learns one task under GPM, TRGP or a relative: old tasks are protected, whatever the optimizer.

        learner = Gpm(per_task=("classifier",)).start(model)
        for name, data in tasks.items():
            ProtectedTrainer(learner, name, args=arguments, train_dataset=data).train()
        with learner.evaluating("news") as model:
            ...

    Models with adapters of PEFT work as well: only the adapters train, and they are protected.

    Args:
        learner: The learner of a `Gpm`, `Trgp`, `TrgpPlus` or `TrgpFree` method, started with the model.
        task: The name of the task.
        **arguments: The arguments of `Trainer`, without the model. `save_strategy` must be "no": while a task is
            learned, the weights are parametrized; `learner.save` writes everything afterwards.

    Attributes:
        learner: The learner.
        task: The name of the task.

    Raises:
        ValueError: If the learner cannot protect tasks, the model is another one, or an argument does not fit.
    """

    learner: ProjectionLearner
    task: str

    def __init__(self, learner: ProjectionLearner, task: str, **arguments: Any) -> None:
        from ebbing.learn.projection.learner import ProjectionLearner

        if not isinstance(learner, ProjectionLearner):
            raise ValueError(
                f"learner is {with_article(type(learner).__name__)}: give the learner of a method that protects old "
                "tasks, such as ebbing.learn.Gpm().start(model)"
            )
        if arguments.pop("model", learner.network) is not learner.network:
            raise ValueError("model is not the learner's: leave it out; the learner's network is trained")
        if any(part is not None for part in arguments.get("optimizers", ())):
            raise ValueError(
                "optimizers=...: the parameters to train exist only while the task is learned; give "
                "optimizer_cls_and_kwargs=(AdamW, {'lr': ...}), or the optimizer's name in the training arguments"
            )
        super().__init__(model=learner.network, **arguments)
        strategy = getattr(self.args.save_strategy, "value", self.args.save_strategy)
        if strategy != "no":
            raise ValueError(
                f"save_strategy={strategy!r}: weights are parametrized while a task is learned, "
                "so checkpoints would be of no use; say save_strategy='no', and learner.save(file) after train()"
            )
        self.learner, self.task = learner, task

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Learn the task; if this is interrupted, the learner is as it was before.

        Args:
            *args: The arguments of `Trainer.train`.
            **kwargs: The arguments of `Trainer.train`.

        Returns:
            What `Trainer.train` returns.
        """
        callbacks = [one for one in self.callback_handler.callbacks if isinstance(one, ForgettingCallback)]
        for callback in callbacks:
            callback._measure_initial()
        inputs, labels = self._examples()
        loss = {} if not self._is_regression(labels) else {"loss": _squared_error}
        with self.learner.task(self.task, (inputs, labels), **loss):
            result = super().train(*args, **kwargs)
        self.optimizer = self.lr_scheduler = None  # their parameters are gone
        for callback in callbacks:
            callback._measure_learned()
        return result

    def task_weights(self, task: str) -> AbstractContextManager[Any]:
        """Return a context in which the model has the weights of a task.

        Args:
            task: The name of a task; one that has not been learned leaves the model as it is.

        Returns:
            The context.
        """
        return self.learner.evaluating(task) if task in self.learner.tasks else nullcontext()

    def _is_regression(self, labels: Any) -> bool:
        """Return whether the model learns numbers, as transformers decides it: floating-point labels, one output."""
        return labels.is_floating_point() and getattr(getattr(self.model, "config", None), "num_labels", None) == 1

    def _examples(self) -> tuple[dict[str, Any], Any]:
        """Return as many random examples of the training data as the learner measures, collated as one batch."""
        import torch

        loader = self.get_train_dataloader()
        dataset: Any = loader.dataset
        if not hasattr(dataset, "__len__"):
            raise ValueError("train_dataset has no length: the examples to protect are drawn from it; give a dataset")
        count = min(max(self.learner._num_examples()), len(dataset))
        chosen = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))[:count].tolist()
        collate: Any = loader.collate_fn
        inputs = dict(collate([dataset[index] for index in chosen]))
        found = [name for name in (*self.label_names, "labels", "label") if name in inputs]
        if not found:
            raise ValueError(
                f"examples have no labels, but {', '.join(inputs)}: give a dataset with the column 'labels'"
            )
        return inputs, inputs.pop(found[0])


def _squared_error(outputs: Any, labels: Any) -> Any:
    """Return the loss of a model with one output, by which TRGP selects the tasks that a regression trusts."""
    return (outputs.squeeze(-1) - labels).square().mean()
