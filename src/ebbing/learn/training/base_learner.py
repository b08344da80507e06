"""A network that is taught tasks one after another: how it is asked about each of them, and how it is kept."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ebbing._files import write_atomic
from ebbing.learn.tasks.base import TaskData
from ebbing.learn.training._network_checks import check_network
from ebbing.learn.training._state_file import State, decode_json, dump, encode_json, parse, with_prefix
from ebbing.learn.training._task_argument import bind_task, task_bound
from ebbing.learn.training.batches import (
    Data,
    Pair,
    concatenated_batches,
    epoch_batches,
    preserved_modes,
    split_batches,
    validation_pair,
)
from ebbing.learn.training.schedule import Checkpoint, ProgressCallback, Schedule, fit


class TrainableParameters(list[nn.Parameter]):
    """What is to be trained while a task is learned; `named` has the same by name, for groups of an optimizer."""

    def __init__(self, named: dict[str, nn.Parameter]) -> None:
        super().__init__(named.values())
        self.named = named

    def check_finite(self, task: str) -> None:
        """A task whose training diverged is not to be remembered."""
        if not all(parameter.isfinite().all() for parameter in self):
            raise FloatingPointError(f"weights after task {task!r} are not all finite; the task is not remembered")


class BaseLearner(ABC):
    """The network, and the names of the tasks it has learned."""

    kind: ClassVar[str]  # the name of its method

    def __init__(self, network: nn.Module, schedule: Schedule) -> None:
        check_network(network)
        self.network, self.schedule = network, schedule
        self.tasks: list[str] = []
        self._busy = ""  # why nothing can be asked now
        self._pending_restore: Callable[[], None] | None = (
            None  # what is to be put back into the network, if not done yet
        )
        self._lock = threading.RLock()  # answering puts other weights into the network: one thread at a time

    # Learning

    def learn(
        self,
        task: str,
        data: Data,
        *,
        validation: Data | None = None,
        random: torch.Generator | None = None,
        checkpoint: Checkpoint | None = None,
        watch: ProgressCallback | None = None,
    ) -> None:
        """Learn a task by the method's schedule. Nothing changes if this is interrupted.

        data: a pair of tensors, shuffled anew every epoch by `random`; or anything that yields batches, such as a
        DataLoader; or a `TaskData`. Methods that protect draw some examples by `random` and protect what these use of
        each layer; for that they read a DataLoader once more than there are epochs, unless it is known to shuffle.
        """
        random = random if random is not None else torch.Generator().manual_seed(0)
        validation = self._validation(data, validation)
        with self._learning(task, data, random) as parameters:
            fit(
                self.schedule,
                self.network,
                bind_task(self.network, len(self.tasks)),
                parameters,
                self._batches(data, random),
                task=task,
                validation=None if validation is None else self._pair_to_device(validation),
                random=random,
                checkpoint=checkpoint,
                watch=watch,
            )

    @abstractmethod
    def _learning(self, task: str, data: Data, random: torch.Generator) -> AbstractContextManager[TrainableParameters]:
        """A context in which the task is learned, by training what it gives."""

    def _batches(self, data: Data, random: torch.Generator | None) -> Callable[[], Iterable[Pair]]:
        """A function that gives the batches of an epoch."""
        return epoch_batches(data, self.schedule.batch_size, random, self._device)

    # Answering

    def outputs(self, task: str | None, inputs: Tensor) -> Tensor:
        """What the network says of inputs that belong to a task. None: as it stands, for a task not learned yet."""
        if not isinstance(inputs, Tensor):
            raise ValueError(f"inputs of type {type(inputs).__name__}: give a tensor, as torch.as_tensor() makes it")
        with self._exclusive():
            self._check_weights()
            number = None if task is None else self._number(task)
            forward = bind_task(self.network, len(self.tasks) if number is None else number)
            with self._as(number), torch.no_grad():
                batches = split_batches(inputs, self.schedule.test_batch_size)
                return torch.cat([forward(self._copy_here(x)) for x in batches])

    def accuracy(self, task: str, data: Data) -> float:
        """Share of a task's examples that are classified rightly; of a `TaskData`, those to be tested on."""
        if isinstance(data, TaskData):
            data = (data.test_inputs, data.test_labels)
        right = total = 0
        with self._exclusive():
            self._check_weights()
            number = self._number(task)
            forward = bind_task(self.network, number)
            with self._as(number), torch.no_grad():
                for inputs, labels in epoch_batches(data, self.schedule.test_batch_size, None, self._device)():
                    outputs = forward(self._copy_here(inputs))
                    guesses, wanted = outputs.argmax(1), labels
                    if labels.is_floating_point():  # yes or no, perhaps with some doubt
                        guesses, wanted = outputs > 0, labels > 0.5
                    if guesses.shape != labels.shape:
                        shapes = f"{tuple(labels.shape)}, guesses {tuple(guesses.shape)}"
                        raise ValueError(f"labels of shape {shapes}: give as many labels as there are guesses")
                    right, total = right + int((guesses == wanted).sum()), total + labels.numel()
        if not total:
            raise ValueError("no examples: give at least one")
        return right / total

    @contextmanager
    def answering(self, task: str) -> Iterator[nn.Module]:
        """The network as it is for a task, in evaluation mode; as it was again at the end."""
        words = "the network answers for one task: leave the context of answering() before anything else is asked"
        with self._occupied(words):
            self._check_weights()
            number, before = self._number(task), self._copied()
            with self._borrowed(lambda: self._write(before)), self._as(number), task_bound(self.network, number):
                yield self.network

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything into a safetensors file; the whole file or, if interrupted, the file as it was."""
        write_atomic(Path(path), dump(self.state()))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read what `save` wrote; if that is damaged, or of another network or method, nothing changes."""
        try:
            state = parse(Path(path).read_bytes())
        except ValueError as fault:
            raise ValueError(f"{os.fspath(path)} is damaged or no safetensors file: {fault}") from None
        self.restore(state)

    def state(self) -> State:
        """Everything, as tensors by name, in memory of their own."""
        with self._exclusive():
            self._check_weights()
            state = {f"network.{name}": value for name, value in self.network.state_dict().items()} | self._kept()
            state["tasks"], state["method"] = encode_json(self.tasks), encode_json(self._describe())
            return {
                name: value.detach().cpu().clone(memory_format=torch.contiguous_format) for name, value in state.items()
            }

    def restore(self, state: State) -> None:
        """Take over what `state` gave, of a learner of the same network and method."""
        with self._exclusive():
            self._restore(state)

    def _restore(self, state: State) -> None:
        try:
            here = {name: self._to_device(value) for name, value in state.items()}
            tasks = decode_json(state["tasks"])
            method = decode_json(state["method"]) if "method" in state else {}
            if any(method.get(name, value) != value for name, value in self._describe().items()):  # early ones say less
                raise ValueError(f"it is of {method}, this one of {self._describe()}")
            apply = self._read_state(here, len(tasks))
            network, own = with_prefix(here, "network."), self.network.state_dict()
            if unknown := sorted(network.keys() - own.keys()):
                raise ValueError(f"this network has no {unknown[0]!r}")
            for name, value in own.items():  # before anything is overwritten
                given = network[name]
                if (given.shape, given.dtype) != (value.shape, value.dtype):
                    raise ValueError(f"{name} is {_kind(given)} there and {_kind(value)} here")
        except (KeyError, RuntimeError, ValueError) as fault:
            reason = f"it has no {fault}" if isinstance(fault, KeyError) else fault
            raise ValueError(f"not the state of a learner with this network and method: {reason}") from None

        def finish() -> None:
            self.network.load_state_dict(network)
            self.tasks = tasks
            apply()

        self._pending_restore = (
            finish  # once begun it is brought to its end, if interrupted before anything else is asked
        )
        self._restore_network()

    # What learners that keep something for each task do otherwise

    @contextmanager
    def _as(self, task: int | None) -> Iterator[None]:
        """The network as it is for a task (None: one not learned yet), in evaluation mode."""
        with preserved_modes(self.network):
            self.network.eval()
            yield

    def _check_weights(self) -> None:
        """Tell if somebody else has changed the network since the latest task, where that does harm."""
        return

    def _kept(self) -> State:
        """What a state has besides the network."""
        return {}

    def _read_state(self, state: State, tasks: int) -> Callable[[], None]:
        """What `_kept` gave, read and checked; taken over when the function returned is called."""
        return lambda: None

    def _describe(self) -> dict[str, Any]:
        """What a state must have in common with the learner that takes it over."""
        return {"kind": self.kind}

    # Small things

    @contextmanager
    def _occupied(self, why: str) -> Iterator[None]:
        """Nothing else can be asked while this is open: the network is not as it is between tasks."""
        with self._exclusive():
            self._busy = why
            try:
                yield
            finally:
                self._busy = ""

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Other threads wait for each other; the thread that has opened a context is told to leave it."""
        with self._lock:
            if self._busy:
                raise RuntimeError(self._busy)
            self._restore_network()
            yield

    @contextmanager
    def _borrowed(self, put_back: Callable[[], None]) -> Iterator[None]:
        """The network may be changed inside; `put_back` makes it what it was.

        Putting back takes a while and may be interrupted, too. It is then done again before anything else is asked.
        """
        before, self._pending_restore = self._pending_restore, put_back
        try:
            yield
        finally:
            put_back()
            self._pending_restore = before

    def _restore_network(self) -> None:
        if self._pending_restore is not None:
            self._pending_restore()
            self._pending_restore = None

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            if self._busy:
                raise RuntimeError(f"a learner cannot be copied just now: {self._busy}")
            self._restore_network()
            return {name: value for name, value in vars(self).items() if name != "_lock"} | {"_mend": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    def _check_new(self, task: str) -> None:
        if self._busy:
            raise RuntimeError(self._busy)
        if not isinstance(task, str):
            raise ValueError(f"task {task!r}: give a name, as text")
        if task in self.tasks:
            raise ValueError(f"task {task!r} has been learned already; give it another name to learn it once more")

    def _number(self, task: str) -> int:
        if task not in self.tasks:
            known = ", ".join(map(repr, self.tasks)) or "none yet"
            raise ValueError(
                f"task {task!r} is unknown: learned are {known}. To answer, the network must know the task"
            )
        return self.tasks.index(task)

    def _validation(self, data: Data, validation: Data | None) -> Pair | None:
        """What is given, checked, or else what comes with the data."""
        if validation is None:
            return validation_pair(data)
        if self.schedule.patience is None:
            raise ValueError(
                "validation data are for a schedule with patience; give it patience, or no validation data"
            )
        return concatenated_batches(validation)

    def _pair_to_device(self, pair: Pair) -> Pair:
        return self._to_device(pair[0]), self._to_device(pair[1])

    def _values(self) -> dict[str, Tensor]:
        """Parameters and buffers by name, as they are now: modules may replace their buffers."""
        return dict(self.network.named_parameters()) | dict(self.network.named_buffers())

    def _copied(self, names: Iterable[str] | None = None) -> dict[str, Tensor]:
        """Copies of some of the values, or of all."""
        values = self._values()
        return {name: values[name].detach().clone() for name in (values if names is None else names)}

    def _write(self, copies: dict[str, Tensor]) -> None:
        values = self._values()
        with torch.no_grad():
            for name, copy in copies.items():
                values[name].copy_(copy)

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device

    def _to_device(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._device)

    def _copy_here(self, tensor: Tensor) -> Tensor:
        """A copy: the network may work in place."""
        return tensor.to(self._device, copy=True)


def _kind(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} of {tensor.dtype}"
