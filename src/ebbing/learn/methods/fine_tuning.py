"""Fine-tuning: every task is learnt by plain gradient descent on a schedule, and nothing protects the older ones.

The baseline of Table 1. Where the network has a head per task, heads of other tasks have no gradient and stay as they
are; where it has one, name it in own= to give each task its own, as the methods that protect do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ebbing.learn.batches import Data, Pair, modes_kept
from ebbing.learn.buffers import buffers_back, refuse_reshaped, shapes_of
from ebbing.learn.protection.finding import check_own, owned_values
from ebbing.learn.schedule import Schedule, check_schedule, loss_of
from ebbing.learn.statefile import State, part_of
from ebbing.learn.taught import Taught, Trained
from ebbing.learn.told import told
from ebbing.learn.unfit import refuse_inference_mode


@dataclass(frozen=True)
class Plain:
    """Settings of methods that protect nothing.

    schedule: how each task is learnt. own: modules (or patterns such as "*_head") of which each task has its own copy.
    """

    schedule: Schedule = field(default_factory=Schedule)
    own: tuple[str, ...] = ()

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_schedule(self.schedule)
        check_own(self.own)

    def settings(self) -> dict[str, Any]:
        """As results are stored under them: early ones had nothing of their own, and did not say so."""
        found = asdict(self)
        if not self.own:
            del found["own"]
        return found


@dataclass(frozen=True)
class FineTuning(Plain):
    """Plain gradient descent, task by task."""

    def start(self, network: nn.Module) -> Unprotected:
        """A learner that has learnt nothing yet."""
        return Unprotected(network, self)


class Unprotected(Taught):
    """A network that learns one task after another and forgets as it may."""

    kind: ClassVar[str] = "FineTuning"

    def __init__(self, network: nn.Module, method: Plain) -> None:
        super().__init__(network, method.schedule)
        self.method = method
        self._fresh = self._copied(owned_values(network, method.own))  # what every task begins with
        self._of_tasks: list[State] = []  # what each of them keeps

    def _learning(self, task: str, data: Data, random: torch.Generator) -> AbstractContextManager[Trained]:
        return self.task(task)

    @contextmanager
    def task(
        self, task: str, examples: Pair | None = None, loss: Callable[[Tensor, Tensor], Tensor] = loss_of
    ) -> Iterator[Trained]:
        """Learn a task by your own loop; as `Learner.task`, but examples and loss are not needed."""
        refuse_inference_mode()
        with self._lock:
            self._check_new(task)
            self._put_back()
            learnt, shapes, put_buffers_back = len(self.tasks), shapes_of(self.network), buffers_back(self.network)
            before = self._copied(name for name, _ in self.network.named_parameters())
            if not self.tasks:  # weights may have been loaded since start()
                self._fresh = self._copied(self._fresh)
            words = "a task is being learnt: leave the context of task() before anything else is asked"

            def undo() -> None:
                self._write(before)
                put_buffers_back()
                del self.tasks[learnt:], self._of_tasks[learnt:]

            try:
                with self._occupied(words), modes_kept(self.network), torch.enable_grad():
                    self._mend = undo
                    parameters = Trained({n: p for n, p in self.network.named_parameters() if p.requires_grad})
                    self._write(self._fresh)
                    with told(self.network, learnt):
                        self.network.train()
                        yield parameters
                parameters.refuse_infinite(task)
                refuse_reshaped(self.network, shapes)
                self._of_tasks.append(self._copied(self._names_kept()))
                self.tasks.append(task)
                self._mend = None
            except BaseException:
                self._mend = undo
                self._put_back()
                raise

    def _names_kept(self) -> list[str]:
        """The values that each task keeps for itself."""
        return [*self._fresh]

    @contextmanager
    def _as(self, task: int | None) -> Iterator[None]:
        before = self._copied(self._names_kept())
        with modes_kept(self.network), self._borrowed(lambda: self._write(before)):
            if task is not None:
                self._write(self._of_tasks[task])
            self.network.eval()
            yield

    def _kept(self) -> State:
        of_tasks = {f"copy.{t}.{name}": v for t, values in enumerate(self._of_tasks) for name, v in values.items()}
        return {f"fresh.{name}": value for name, value in self._fresh.items()} | of_tasks

    def _taking_over(self, state: State, tasks: int) -> Callable[[], None]:
        fresh, of_tasks = part_of(state, "fresh."), [part_of(state, f"copy.{t}.") for t in range(tasks)]
        here = self._values()
        for values, expected in ((fresh, self._fresh), *((values, self._names_kept()) for values in of_tasks)):
            if missing := sorted(set(expected) - set(values)):
                raise ValueError(f"a task has no {missing[0]!r} of its own")
            for name, value in values.items():
                if name not in expected or value.shape != here[name].shape:
                    raise ValueError(f"{name} of shape {tuple(value.shape)} is not each task's own here")

        def take_over() -> None:
            self._fresh, self._of_tasks = fresh, of_tasks

        return take_over

    def _describe(self) -> dict[str, Any]:
        return super()._describe() | {"own": list(self.method.own)}
