"""Fine-tuning: every task is learnt by plain gradient descent on a schedule, and nothing protects the older ones.

The baseline of Table 1. Where the network has a head per task, heads of other tasks have no gradient and stay as they
are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import nn

from ebbing.learn.batches import Data, Pair, batches_of, forward_for, modes_kept
from ebbing.learn.schedule import Checkpoint, Schedule, Watch, fit
from ebbing.learn.taught import Taught


@dataclass(frozen=True)
class FineTuning:
    """Plain gradient descent, task by task."""

    schedule: Schedule = field(default_factory=Schedule)

    version: ClassVar[int] = 1

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
        validation: Pair | None = None,
        random: torch.Generator | None = None,
        checkpoint: Checkpoint | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Learn a task by the schedule; `data` as for `Learner.learn`. Nothing changes if this is interrupted."""
        self._check_new(task)
        random = random if random is not None else torch.Generator().manual_seed(0)
        validation = self._validation(data, validation)
        before = self._copied()
        try:
            with modes_kept(self.network):
                fit(
                    self.schedule,
                    self.network,
                    forward_for(self.network, len(self.tasks)),
                    [parameter for parameter in self.network.parameters() if parameter.requires_grad],
                    batches_of(data, self.schedule.batch_size, random, self._device),
                    task=task,
                    validation=None if validation is None else self._pair_here(validation),
                    random=random,
                    checkpoint=checkpoint,
                    watch=watch,
                )
            self._learnt()
        except BaseException:
            self._write(before)
            raise
        self.tasks.append(task)

    def _learnt(self) -> None:
        """What is to be kept of a task just learnt."""
