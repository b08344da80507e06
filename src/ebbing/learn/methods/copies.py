"""A copy of the whole network for every task, fine-tuned from the one before: nothing is forgotten.

What a method that protects old tasks has to be compared with. It makes sense where it needs less memory than copies do,
or where its tasks learn from each other more than fine-tuning lets them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from torch import nn

from ebbing.learn.batches import modes_kept
from ebbing.learn.methods.fine_tuning import Unprotected
from ebbing.learn.schedule import Schedule, check_schedule
from ebbing.learn.statefile import State, part_of


@dataclass(frozen=True)
class Copies:
    """Plain gradient descent, task by task, and a copy of the network after each."""

    schedule: Schedule = field(default_factory=Schedule)

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_schedule(self.schedule)

    def start(self, network: nn.Module) -> Copied:
        """A learner that has learnt nothing yet."""
        return Copied(network, self.schedule)


class Copied(Unprotected):
    """A network that answers for each task as it was just after learning it."""

    kind: ClassVar[str] = "Copies"

    def __init__(self, network: nn.Module, schedule: Schedule) -> None:
        super().__init__(network, schedule)
        self._copies: list[State] = []

    def _learnt(self) -> None:
        self._copies.append(self._copied())

    @contextmanager
    def _as(self, task: int | None) -> Iterator[None]:
        before = self._copied()
        with modes_kept(self.network), self._borrowed(lambda: self._write(before)):
            if task is not None:
                self._write(self._copies[task])
            self.network.eval()
            yield

    def _kept(self) -> State:
        return {f"copy.{t}.{name}": value for t, copy in enumerate(self._copies) for name, value in copy.items()}

    def _taking_over(self, state: State, tasks: int) -> Callable[[], None]:
        copies = [part_of(state, f"copy.{t}.") for t in range(tasks)]
        here = self._values()
        expected = set(here)
        if any(set(copy) != expected for copy in copies):
            raise ValueError("a task has no whole copy of the network")
        if any(value.shape != here[name].shape for copy in copies for name, value in copy.items()):
            raise ValueError("a task has a copy of another network")

        def take_over() -> None:
            self._copies = copies

        return take_over
