"""Fine-tuning: every task is learned by plain gradient descent on a schedule, and nothing protects the older ones.

The baseline of Table 1. Where the network has a head per task, heads of other tasks have no gradient and stay as they
are; where it has one, name it in per_task= to give each task its own, as the methods that protect do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ebbing.learn._stored_names import stored_settings
from ebbing.learn.projection._layer_discovery import check_per_task, per_task_values
from ebbing.learn.training._buffers import buffer_shapes, check_buffer_shapes, snapshot_buffers
from ebbing.learn.training._network_checks import check_not_inference_mode
from ebbing.learn.training._state_file import State, with_prefix
from ebbing.learn.training._task_argument import task_bound
from ebbing.learn.training.base_learner import BaseLearner, TrainableParameters
from ebbing.learn.training.batches import Data, Pair, preserved_modes
from ebbing.learn.training.schedule import Schedule, check_schedule, task_loss


@dataclass(frozen=True)
class UnprotectedMethod:
    """Settings of methods that protect nothing.

    schedule: how each task is learned. own: modules (or patterns such as "*_head") of which each task has its own copy.
    """

    schedule: Schedule = field(default_factory=Schedule)
    per_task: tuple[str, ...] = ()

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_schedule(self.schedule)
        check_per_task(self.per_task)

    def settings(self) -> dict[str, Any]:
        """As results are stored under them: early ones had nothing of their own, and did not say so."""
        found = stored_settings(self)
        if not self.per_task:
            del found["own"]
        return found


@dataclass(frozen=True)
class FineTuning(UnprotectedMethod):
    """Plain gradient descent, task by task."""

    identifier: ClassVar[str] = "FineTuning"

    def start(self, network: nn.Module) -> FineTuningLearner:
        """A learner that has learned nothing yet."""
        return FineTuningLearner(network, self)


class FineTuningLearner(BaseLearner):
    """A network that learns one task after another and forgets as it may."""

    kind: ClassVar[str] = "FineTuning"

    def __init__(self, network: nn.Module, method: UnprotectedMethod) -> None:
        super().__init__(network, method.schedule)
        self.method = method
        self._fresh = self._copied(per_task_values(network, method.per_task))  # what every task begins with
        self._of_tasks: list[State] = []  # what each of them keeps

    def _learning(self, task: str, data: Data, random: torch.Generator) -> AbstractContextManager[TrainableParameters]:
        return self.task(task)

    @contextmanager
    def task(
        self, task: str, examples: Pair | None = None, loss: Callable[[Tensor, Tensor], Tensor] = task_loss
    ) -> Iterator[TrainableParameters]:
        """Learn a task by your own loop; as `Learner.task`, but examples and loss are not needed."""
        check_not_inference_mode()
        with self._lock:
            self._check_new(task)
            self._restore_network()
            learned, shapes, restore_buffers = (
                len(self.tasks),
                buffer_shapes(self.network),
                snapshot_buffers(self.network),
            )
            before = self._copied(name for name, _ in self.network.named_parameters())
            if not self.tasks:  # weights may have been loaded since start()
                self._fresh = self._copied(self._fresh)
            words = "a task is being learned: leave the context of task() before anything else is asked"

            def undo() -> None:
                self._write(before)
                restore_buffers()
                del self.tasks[learned:], self._of_tasks[learned:]

            try:
                with self._occupied(words), preserved_modes(self.network), torch.enable_grad():
                    self._pending_restore = undo
                    parameters = TrainableParameters(
                        {n: p for n, p in self.network.named_parameters() if p.requires_grad}
                    )
                    self._write(self._fresh)
                    with task_bound(self.network, learned):
                        self.network.train()
                        yield parameters
                parameters.check_finite(task)
                check_buffer_shapes(self.network, shapes)
                self._of_tasks.append(self._copied(self._names_kept()))
                self.tasks.append(task)
                self._pending_restore = None
            except BaseException:
                self._pending_restore = undo
                self._restore_network()
                raise

    def _names_kept(self) -> list[str]:
        """The values that each task keeps for itself."""
        return [*self._fresh]

    @contextmanager
    def _as(self, task: int | None) -> Iterator[None]:
        before = self._copied(self._names_kept())
        with preserved_modes(self.network), self._borrowed(lambda: self._write(before)):
            if task is not None:
                self._write(self._of_tasks[task])
            self.network.eval()
            yield

    def _kept(self) -> State:
        of_tasks = {f"copy.{t}.{name}": v for t, values in enumerate(self._of_tasks) for name, v in values.items()}
        return {f"fresh.{name}": value for name, value in self._fresh.items()} | of_tasks

    def _read_state(self, state: State, tasks: int) -> Callable[[], None]:
        fresh, of_tasks = with_prefix(state, "fresh."), [with_prefix(state, f"copy.{t}.") for t in range(tasks)]
        here = self._values()
        for values, expected in ((fresh, self._fresh), *((values, self._names_kept()) for values in of_tasks)):
            if missing := sorted(set(expected) - set(values)):
                raise ValueError(f"a task has no {missing[0]!r} of its own")
            for name, value in values.items():
                if name not in expected or value.shape != here[name].shape:
                    raise ValueError(f"{name} of shape {tuple(value.shape)} is not each task's own here")

        def apply() -> None:
            self._fresh, self._of_tasks = fresh, of_tasks

        return apply

    def _describe(self) -> dict[str, Any]:
        return super()._describe() | {"per_task": list(self.method.per_task)}
