"""Fine-tuning: every task is learnt by plain gradient descent on a schedule, and nothing protects the older ones.

The baseline of Table 1. Where the network has a head per task, heads of other tasks have no gradient and stay as they
are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from ebbing.learn.batches import Data, batches_of, forward_for, modes_kept, validation_of
from ebbing.learn.schedule import Checkpoint, Schedule, Watch, fit


@dataclass(frozen=True)
class FineTuning:
    """Plain gradient descent, task by task."""

    schedule: Schedule = field(default_factory=Schedule)

    version: ClassVar[int] = 1

    def start(self, network: nn.Module) -> Unprotected:
        """A learner that has learnt nothing yet."""
        return Unprotected(network, self.schedule)


class Unprotected:
    """A network that learns one task after another and forgets as it may."""

    def __init__(self, network: nn.Module, schedule: Schedule) -> None:
        self.network, self.schedule = network, schedule
        self.tasks: list[str] = []

    def learn(
        self,
        task: str,
        data: Data,
        *,
        random: torch.Generator | None = None,
        checkpoint: Checkpoint | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Learn a task by the schedule; `data` as for `Learner.learn`."""
        if task in self.tasks:
            raise ValueError(f"task {task!r} has been learnt already; give it another name to learn it once more")
        random = random if random is not None else torch.Generator().manual_seed(0)
        parameters = [parameter for parameter in self.network.parameters() if parameter.requires_grad]
        device = parameters[0].device
        validation = validation_of(data)
        fit(
            self.schedule,
            self.network,
            forward_for(self.network, len(self.tasks)),
            parameters,
            batches_of(data, self.schedule.batch_size, random, device),
            validation=None if validation is None else (validation[0].to(device), validation[1].to(device)),
            random=random,
            checkpoint=checkpoint,
            watch=watch,
        )
        self.tasks.append(task)

    def outputs(self, task: str | None, inputs: Tensor) -> Tensor:
        """What the network says of inputs that belong to a task. None: a task not learnt yet."""
        if task is not None and task not in self.tasks:
            raise ValueError(f"task {task!r} is unknown: learnt are {', '.join(map(repr, self.tasks)) or 'none yet'}")
        forward = forward_for(self.network, len(self.tasks) if task is None else self.tasks.index(task))
        device = next(self.network.parameters()).device
        with modes_kept(self.network), torch.no_grad():
            self.network.eval()
            return torch.cat([forward(batch.to(device)) for batch in inputs.split(self.schedule.test_batch_size)])

    def state(self) -> dict[str, Tensor]:
        """The network's weights and the names of the tasks."""
        names = torch.tensor(list(json.dumps(self.tasks).encode()), dtype=torch.uint8)
        network = self.network.state_dict()
        return {f"network.{name}": value.detach().cpu().clone() for name, value in network.items()} | {"tasks": names}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take over what `state` gave."""
        self.tasks = json.loads(bytes(state["tasks"].tolist()))
        network = {name.removeprefix("network."): value for name, value in state.items() if name.startswith("network.")}
        self.network.load_state_dict(network)
