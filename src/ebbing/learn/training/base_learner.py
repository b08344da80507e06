"""The base class of learners: a network that learns tasks one after another, is evaluated on each, and is saved."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ebbing._files import write_atomic
from ebbing.learn.tasks.base import TaskData
from ebbing.learn.training._arguments import (
    as_batches,
    as_input_tensor,
    check_callbacks,
    check_classified,
    check_generator,
)
from ebbing.learn.training._inputs import Inputs, input_tensors
from ebbing.learn.training._managed_network import ManagedNetwork
from ebbing.learn.training._modes import preserved_modes
from ebbing.learn.training._network_checks import check_network
from ebbing.learn.training._outputs import count_correct
from ebbing.learn.training._state_file import State, decode_json, dump, encode_json, parse, with_prefix
from ebbing.learn.training._task_argument import bind_task, task_bound
from ebbing.learn.training._trainable_parameters import TrainableParameters
from ebbing.learn.training.batches import (
    Data,
    Pair,
    concatenated_batches,
    epoch_batches,
    split_inputs,
    validation_pair,
)
from ebbing.learn.training.optimization import MakeOptimizer, MakeScheduler, Optimization
from ebbing.learn.training.schedule import Checkpoint, Loss, ProgressCallback, Schedule, fit, task_loss


class BaseLearner(ManagedNetwork, ABC):
    """A network and the names of the tasks that it has learned.

    Attributes:
        kind: The name of the method.

    Args:
        network: The network, which is trained in place.
        schedule: The schedule of training.
    """

    kind: ClassVar[str]

    def __init__(self, network: nn.Module, schedule: Schedule) -> None:
        check_network(network)
        super().__init__(network)
        self.schedule = schedule
        self.tasks: list[str] = []
        self._custom_losses: set[str] = set()  # tasks that were learned with another loss than cross-entropy

    def __repr__(self) -> str:
        learned = ", ".join(map(repr, self.tasks)) or "none"
        return f"<{type(self).__name__} of a {type(self.network).__name__}, learned tasks: {learned}>"

    # Learning

    def learn(
        self,
        task: str,
        data: Data,
        *,
        validation: Data | None = None,
        loss: Loss = task_loss,
        optimizer: MakeOptimizer | None = None,
        scheduler: MakeScheduler | None = None,
        mixed_precision: torch.dtype | None = None,
        accumulate: int = 1,
        clip_norm: float | None = None,
        generator: torch.Generator | None = None,
        checkpoint: Checkpoint | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        """Learn a task by the method's schedule. If this is interrupted, nothing changes.

        Methods that protect learned tasks draw random examples to measure the inputs of each layer. For that they read
        an iterable of batches once more than there are epochs, except a DataLoader that shuffles.

        Args:
            task: Name of the task.
            data: A pair (inputs, labels) of tensors or NumPy arrays, or a dataset of such pairs, which is shuffled anew
                every epoch; or an iterable of batches, such as a DataLoader; or a `TaskData`. Inputs may be a
                dictionary of tensors, which the network takes as keywords; and a dictionary with "labels" is a pair.
            validation: Validation data for a schedule with patience; by default that of a `TaskData`.
            loss: The mean loss of outputs and labels; by default cross-entropy.
            optimizer: A function from the parameters to train to an optimizer, such as
                `lambda parameters: AdamW(parameters, lr=2e-5)`. Its learning rate takes the place of the schedule's.
            scheduler: A function from the optimizer to a scheduler of its learning rates, such as
                `lambda optimizer: LinearLR(optimizer)`; its step follows every step of the optimizer.
            mixed_precision: The type of the products of the forward pass, torch.bfloat16 or torch.float16.
            accumulate: The number of batches whose gradients make one step.
            clip_norm: The largest norm of the gradient of all parameters together.
            generator: The generator that shuffles and draws examples; by default one with seed 0.
            checkpoint: Where unfinished training is saved, and resumed from.
            progress: A function that is called after every epoch with the share of the task that is done and a
                short message.
        """
        generator = check_generator(generator)
        check_callbacks(progress, checkpoint)
        optimization = Optimization(optimizer, scheduler, mixed_precision, accumulate, clip_norm)
        data = as_batches(data, self._dtype, self.schedule.batch_size, generator)
        validation = self._validation(data, validation)
        with self._task_context(task, data, generator, loss) as parameters:
            fit(
                self.schedule,
                self.network,
                bind_task(self.network, len(self.tasks)),
                parameters,
                self._batches(data, generator, any_labels=loss is not task_loss),
                task=task,
                validation=None if validation is None else self._pair_to_device(validation),
                loss=loss,
                optimization=optimization,
                generator=generator,
                checkpoint=checkpoint,
                progress=progress,
            )

    @abstractmethod
    def _task_context(
        self, task: str, data: Data, generator: torch.Generator, loss: Loss
    ) -> AbstractContextManager[TrainableParameters]:
        """Return a context that yields the parameters to train, and in which the task is learned."""

    def _batches(
        self, data: Data, generator: torch.Generator | None, *, any_labels: bool = False
    ) -> Callable[[], Iterable[Pair]]:
        """Return a function that returns the batches of an epoch."""
        return epoch_batches(data, self.schedule.batch_size, generator, self._device, any_labels=any_labels)

    # Evaluation

    def outputs(self, task: str | None, inputs: Inputs) -> Tensor:
        """Return the network's outputs for inputs of a task.

        Args:
            task: Name of a learned task, or None for the current network, as for a task that has not been learned.
            inputs: Inputs, a tensor or NumPy array (n, ...), or a dictionary of them.

        Returns:
            Outputs, (n, ...): of a network that returns a dictionary or a `ModelOutput`, the logits, and of one that
            returns a tuple, its first tensor.

        Raises:
            ValueError: If `inputs` is neither a tensor nor an array, or the task has not been learned.
        """
        inputs = as_input_tensor(inputs, self._dtype)
        if not all(isinstance(part, Tensor) for part in input_tensors(inputs)):
            raise ValueError(
                f"inputs of type {type(inputs).__name__}: give a tensor, for example torch.as_tensor(inputs), or a "
                "dictionary of tensors"
            )
        with self._exclusive():
            self._check_weights()
            index = None if task is None else self._task_index(task)
            forward = bind_task(self.network, len(self.tasks) if index is None else index)
            with self._task_weights(index), torch.no_grad():
                batches = split_inputs(inputs, self.schedule.test_batch_size)
                return torch.cat([forward(self._copy_to_device(x)) for x in batches])

    def accuracy(self, task: str, data: Data) -> float:
        """Compute the accuracy on a task: the share of examples that are classified correctly.

        Classes (int64) are compared with the largest output; labels of -100 do not count. Floating-point labels are
        binary, and outputs are logits as in `learn`: an output above 0 predicts 1. For another loss or another kind of
        labels, use `outputs`.

        Args:
            task: Name of a learned task.
            data: Data in any form; of a `TaskData`, the test data is used.

        Returns:
            The accuracy, from 0 to 1.

        Raises:
            ValueError: If the task has not been learned, there are no examples, labels and outputs do not match, or
                outputs for floating-point labels are no logits.
        """
        if isinstance(data, TaskData):
            data = (data.test_inputs, data.test_labels)
        size = self.schedule.test_batch_size
        data = as_batches(data, self._dtype, size, None)
        correct = total = 0
        with self._exclusive():
            self._check_weights()
            index = self._task_index(task)
            forward = bind_task(self.network, index)
            with self._task_weights(index), torch.no_grad():
                for inputs, labels in epoch_batches(data, size, None, self._device, any_labels=True)():
                    check_classified(task, labels, custom_loss=task in self._custom_losses)
                    of_batch = count_correct(forward(self._copy_to_device(inputs)), labels)
                    correct, total = correct + of_batch[0], total + of_batch[1]
        if not total:
            raise ValueError("no examples: give at least one")
        return correct / total

    @contextmanager
    def evaluating(self, task: str) -> Iterator[nn.Module]:
        """Make the network that of a task, in evaluation mode; it is restored at the end.

        Args:
            task: Name of a learned task.

        Yields:
            The network with the task's weights.
        """
        reason = "the network has the weights of one task: leave the context of evaluating() first"
        with self._reserved(reason):
            self._check_weights()
            index, before = self._task_index(task), self._copy_values()
            with (
                self._restored_after(lambda: self._write_values(before)),
                self._task_weights(index),
                task_bound(self.network, index),
            ):
                yield self.network

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the state to a safetensors file, atomically.

        Args:
            path: Path of the file; if writing is interrupted, an existing file stays as it was.
        """
        write_atomic(Path(path), dump(self.state()))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Load a state from a file that `save` wrote; if that fails, nothing changes.

        Args:
            path: Path of the file.

        Raises:
            ValueError: If the file is damaged, or of another network or method.
        """
        try:
            state = parse(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)} is damaged or not a safetensors file: {error}") from None
        self.restore(state)

    def state(self) -> State:
        """Return a copy of everything that has been learned.

        Returns:
            Tensors by name, on the CPU.
        """
        with self._exclusive():
            self._check_weights()
            state = {f"network.{name}": value for name, value in self.network.state_dict().items()}
            state |= self._method_state()
            if self._custom_losses:
                state["custom_losses"] = encode_json(sorted(self._custom_losses))
            state["tasks"], state["method"] = encode_json(self.tasks), encode_json(self._describe())
            return {
                name: value.detach().cpu().clone(memory_format=torch.contiguous_format) for name, value in state.items()
            }

    def restore(self, state: State) -> None:
        """Restore a state that `state` returned, of a learner with the same network and method.

        Args:
            state: Tensors by name.
        """
        with self._exclusive():
            self._restore(state)

    def _restore(self, state: State) -> None:
        try:
            here = {name: self._to_device(value) for name, value in state.items()}
            tasks = decode_json(state["tasks"])
            method = decode_json(state["method"]) if "method" in state else {}
            settings = self._describe()  # early states have fewer
            if any(method.get(name, value) != value for name, value in settings.items()):
                raise ValueError(f"it is a state of {method}, but this learner is {settings}")
            apply = self._parse_method_state(here, len(tasks))
            network, current = with_prefix(here, "network."), self.network.state_dict()
            if unknown := sorted(network.keys() - current.keys()):
                raise ValueError(f"this network has no {unknown[0]!r}")
            for name, value in current.items():  # before anything is overwritten
                saved = network[name]
                if (saved.shape, saved.dtype) != (value.shape, value.dtype):
                    raise ValueError(f"{name} is {_describe_tensor(saved)} there and {_describe_tensor(value)} here")
        except (KeyError, RuntimeError, ValueError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else error
            raise ValueError(f"not the state of a learner with this network and method: {reason}") from None

        def finish() -> None:
            self.network.load_state_dict(network)
            self.tasks = tasks
            self._custom_losses = {*decode_json(state["custom_losses"])} if "custom_losses" in state else set()
            apply()

        self._pending_restore = finish  # if interrupted, it is completed before the learner is used again
        self._restore_network()

    # To be overridden by learners with task-specific values

    @contextmanager
    def _task_weights(self, task: int | None) -> Iterator[None]:
        """Make the network that of a task (None: one that has not been learned), in evaluation mode."""
        with preserved_modes(self.network):
            self.network.eval()
            yield

    def _check_weights(self) -> None:
        """Warn or raise an error if the network was changed from outside since the latest task."""
        return

    def _method_state(self) -> State:
        """Return the tensors of a state that are not the network's."""
        return {}

    def _parse_method_state(self, state: State, tasks: int) -> Callable[[], None]:
        """Check the tensors that `_method_state` returned, and return a function that restores them."""
        return lambda: None

    def _describe(self) -> dict[str, Any]:
        """Return the settings in which a state and the learner that restores it must agree."""
        return {"kind": self.kind}

    # Checks of arguments

    def _check_new_task(self, task: str) -> None:
        if self._busy:
            raise RuntimeError(self._busy)
        if not isinstance(task, str):
            raise ValueError(f"task {task!r}: give a name, a string")
        if task in self.tasks:
            raise ValueError(f"task {task!r} has already been learned; to learn it again, give it another name")

    def _task_index(self, task: str) -> int:
        if task not in self.tasks:
            learned = ", ".join(map(repr, self.tasks)) or "none"
            raise ValueError(f"task {task!r} has not been learned; learned tasks: {learned}")
        return self.tasks.index(task)

    def _validation(self, data: Data, validation: Data | None) -> Pair | None:
        """Return the given validation data, or else that of a `TaskData`."""
        if validation is None:
            return validation_pair(data)
        if self.schedule.patience is None:
            raise ValueError(
                "validation data is used only by a schedule with patience; set patience, or give no validation data"
            )
        return concatenated_batches(as_batches(validation, self._dtype, self.schedule.test_batch_size, None))

    def _pair_to_device(self, pair: Pair) -> Pair:
        return self._inputs_to_device(pair[0]), self._to_device(pair[1])


def _describe_tensor(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} of {tensor.dtype}"
