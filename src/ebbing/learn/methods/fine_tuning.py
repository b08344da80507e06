"""Fine-tuning: every task is learnt by plain gradient descent on a schedule, and nothing protects the older ones.

The baseline of Table 1. Where the network has a head per task, heads of other tasks have no gradient and stay as they
are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from ebbing.learn.batches import Data, Pair, batches_of, forward_for, modes_kept
from ebbing.learn.schedule import Checkpoint, Schedule, Watch, check_schedule, fit, loss_of
from ebbing.learn.taught import Taught, Trained, refuse_inference_mode, told


@dataclass(frozen=True)
class FineTuning:
    """Plain gradient descent, task by task."""

    schedule: Schedule = field(default_factory=Schedule)

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_schedule(self.schedule)

    def start(self, network: nn.Module) -> Unprotected:
        """A learner that has learnt nothing yet."""
        return Unprotected(network, self.schedule)


class Unprotected(Taught):
    """A network that learns one task after another and forgets as it may."""

    kind: ClassVar[str] = "FineTuning"

    def learn(
        self,
        task: str,
        data: Data,
        *,
        validation: Data | None = None,
        random: torch.Generator | None = None,
        checkpoint: Checkpoint | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Learn a task by the schedule; `data` as for `Learner.learn`. Nothing changes if this is interrupted."""
        random = random if random is not None else torch.Generator().manual_seed(0)
        validation = self._validation(data, validation)
        with self.task(task) as parameters:
            fit(
                self.schedule,
                self.network,
                forward_for(self.network, len(self.tasks)),
                parameters,
                batches_of(data, self.schedule.batch_size, random, self._device),
                task=task,
                validation=None if validation is None else self._pair_here(validation),
                random=random,
                checkpoint=checkpoint,
                watch=watch,
            )

    @contextmanager
    def task(
        self, task: str, examples: Pair | None = None, loss: Callable[[Tensor, Tensor], Tensor] = loss_of
    ) -> Iterator[Trained]:
        """Learn a task by your own loop; as `Learner.task`, but examples and loss are not needed."""
        refuse_inference_mode()
        with self._lock:
            self._check_new(task)
            self._put_back()
            before, learnt = self._copied(), len(self.tasks)
            words = "a task is being learnt: leave the context of task() before anything else is asked"

            def undo() -> None:
                self._write(before)
                del self.tasks[learnt:]

            try:
                with self._occupied(words), modes_kept(self.network), torch.enable_grad():
                    self._mend = undo
                    parameters = Trained({n: p for n, p in self.network.named_parameters() if p.requires_grad})
                    with told(self.network, learnt):
                        self.network.train()
                        yield parameters
                parameters.refuse_infinite(task)
                self.tasks.append(task)
                self._learnt()
                self._mend = None
            except BaseException:
                self._mend = undo
                self._put_back()
                raise

    def _learnt(self) -> None:
        """What is to be kept of a task just learnt."""
