"""Fine-tuning: every task is learned by plain gradient descent on a schedule, and old tasks are not protected.

This is the baseline of Table 1. Where the network has a head per task, heads of other tasks have no gradient and do not
change; where it has a single one, name it in per_task= to give each task a copy, as with methods that protect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import nn

from ebbing._modes import preserved_modes
from ebbing.learn._stored_names import stored_settings
from ebbing.learn.projection._layer_discovery import check_per_task, per_task_values
from ebbing.learn.training._buffers import buffer_shapes, check_buffer_shapes, snapshot_buffers
from ebbing.learn.training._modes import no_fast_path
from ebbing.learn.training._network_checks import check_not_inference_mode
from ebbing.learn.training._state_file import State, with_prefix
from ebbing.learn.training._task_argument import task_bound
from ebbing.learn.training.base_learner import BaseLearner, TrainableParameters
from ebbing.learn.training.batches import Data
from ebbing.learn.training.schedule import Loss, Schedule, check_schedule, task_loss


@dataclass(frozen=True)
class UnprotectedMethod:
    """The settings of methods that do not protect shared weights.

    Attributes:
        schedule: How each task is learned: learning rate, epochs, batch size.
        per_task: Names, or patterns such as "*_head", of modules and parameters of which each task has a copy.
        version: The version of the method. It enters the key of stored results: raise it when results change.
    """

    schedule: Schedule = field(default_factory=Schedule)
    per_task: tuple[str, ...] = ()

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_schedule(self.schedule, type(self))
        check_per_task(self.per_task)

    def settings(self) -> dict[str, Any]:
        """Return the settings under their stored names, which enter the key of results.

        Early versions had no `per_task`: an empty one is left out, so that their results are still found.

        Returns:
            The settings by stored name.
        """
        found = stored_settings(self)
        if not self.per_task:
            del found["own"]
        return found


@dataclass(frozen=True)
class FineTuning(UnprotectedMethod):
    """Plain gradient descent, task by task.

    Attributes:
        schedule: How each task is learned: learning rate, epochs, batch size.
        per_task: Names, or patterns such as "*_head", of modules and parameters of which each task has a copy.
        identifier: The name of the method in the keys of stored results.
    """  # noqa: DOC602, DOC603 (the settings of the base class are listed, too)

    identifier: ClassVar[str] = "FineTuning"

    def start(self, network: nn.Module) -> FineTuningLearner:
        """Return a learner for a network, which has not learned any task yet.

        Args:
            network: The network. It is trained in place.

        Returns:
            The learner.
        """
        return FineTuningLearner(network, self)


class FineTuningLearner(BaseLearner):
    """A network that learns one task after another without protecting old ones.

    Args:
        network: The network. It is trained in place.
        method: The method, with its settings.

    Attributes:
        kind: The name of the method in saved files.
        method: The method, with its settings.
    """

    kind: ClassVar[str] = "FineTuning"
    method: UnprotectedMethod

    def __init__(self, network: nn.Module, method: UnprotectedMethod) -> None:
        super().__init__(network, method.schedule)
        self.method = method
        self._initial_values = self._copy_values(per_task_values(network, method.per_task))  # of every new task
        self._task_values: list[State] = []  # for every learned task

    def _task_context(
        self, task: str, data: Data, generator: torch.Generator, loss: Loss
    ) -> AbstractContextManager[TrainableParameters]:
        return self.task(task, loss=loss)

    # Hooks for methods that train other parameters, or store other values

    def _open_task(self) -> TrainableParameters:
        """Return the parameters to train; may parametrize the network until `_close_task`."""
        return TrainableParameters({name: p for name, p in self.network.named_parameters() if p.requires_grad})

    def _close_task(self) -> State:
        """Undo `_open_task`, if it was called, but keep the trained values; return those that the task stores."""
        return self._copy_values(self._task_specific)

    def _weights_of(self, task: int) -> State:
        """Return the values of the network, by name, that differ from task to task."""
        return self._task_values[task]

    @contextmanager
    def task(self, task: str, examples: Data | None = None, loss: Loss = task_loss) -> Iterator[TrainableParameters]:
        """Open a context for learning a task by a custom loop, as `ProjectionLearner.task` does.

        At the end of the context the task is stored. If an exception leaves the context, everything is as it was
        before.

        Args:
            task: The name of the new task.
            examples: Not used: nothing is measured.
            loss: Not used to train. With the default, `accuracy` takes outputs as logits.

        Yields:
            The parameters to train, by any optimizer.
        """
        check_not_inference_mode()
        with self._lock:
            self._check_new_task(task)
            self._restore_network()
            count, shapes, restore_buffers = (
                len(self.tasks),
                buffer_shapes(self.network),
                snapshot_buffers(self.network),
            )
            before = self._copy_values(name for name, _ in self.network.named_parameters())
            if not self.tasks:  # weights may have been loaded since start()
                self._initial_values = self._copy_values(self._initial_values)
            reason = "a task is being learned: leave the context of task() first"

            def undo() -> None:
                self._close_task()
                self._write_values(before)
                restore_buffers()
                del self.tasks[count:], self._task_values[count:]

            try:
                with self._reserved(reason), preserved_modes(self.network), torch.enable_grad():
                    self._pending_restore = undo
                    self._write_values(self._initial_values)
                    parameters = self._open_task()
                    with task_bound(self.network, count):
                        self.network.train()
                        yield parameters
                parameters.check_finite(task)
                check_buffer_shapes(self.network, shapes)
                self._task_values.append(self._close_task())
                self.tasks.append(task)
                if loss is not task_loss:
                    self._custom_losses.add(task)
                self._pending_restore = None
            except BaseException:
                self._pending_restore = undo
                self._restore_network()
                raise

    @property
    def _task_specific(self) -> list[str]:
        """The names of the task-specific values."""
        return [*self._initial_values]

    @contextmanager
    def _task_weights(self, task: int | None) -> Iterator[None]:
        weights = {} if task is None else self._weights_of(task)
        before = self._copy_values(weights)
        restored = self._restored_after(lambda: self._write_values(before))
        with preserved_modes(self.network), no_fast_path(), restored:
            self._write_values(weights)
            self.network.eval()
            yield

    def _method_state(self) -> State:
        initial = {f"fresh.{name}": value for name, value in self._initial_values.items()}
        return initial | {
            f"copy.{t}.{name}": value for t, values in enumerate(self._task_values) for name, value in values.items()
        }

    def _parse_method_state(self, state: State, tasks: int) -> Callable[[], None]:
        initial_values = with_prefix(state, "fresh.")
        current, expected_initial = self._values(), [*self._initial_values]
        task_values = [with_prefix(state, f"copy.{t}.") for t in range(tasks)]
        parts = [("initial state", initial_values, expected_initial)]
        parts += [(f"task {t}", values, self._task_specific) for t, values in enumerate(task_values)]
        for where, values, expected in parts:
            if missing := sorted(set(expected) - set(values)):
                raise ValueError(f"{where} has no task-specific {missing[0]!r}")
            for name, value in values.items():
                if name not in expected or value.shape != current[name].shape:
                    raise ValueError(f"{name} of shape {tuple(value.shape)} is not task-specific in this network")

        def apply() -> None:
            self._initial_values, self._task_values = initial_values, task_values

        return apply

    def _describe(self) -> dict[str, Any]:
        return super()._describe() | {"per_task": list(self.method.per_task)}
