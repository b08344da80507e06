"""The base class of learners: a network that learns tasks one after another, is evaluated on each, and is saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor, nn

from ebbing._modes import preserved_modes
from ebbing.learn._inputs import Inputs
from ebbing.learn.tasks.base import TaskData
from ebbing.learn.training._arguments import (
    as_batches,
    as_inputs,
    as_validation,
    check_callbacks,
    check_classified,
    check_generator,
)
from ebbing.learn.training._modes import no_fast_path
from ebbing.learn.training._network_checks import check_network
from ebbing.learn.training._next_tokens import align_tokens, loss_of
from ebbing.learn.training._outputs import count_correct
from ebbing.learn.training._persistence import PersistentNetwork
from ebbing.learn.training._regression import squared_error
from ebbing.learn.training._task_argument import bind_task, task_bound
from ebbing.learn.training._task_names import check_name, check_new_name, task_number
from ebbing.learn.training._trainable_parameters import TrainableParameters
from ebbing.learn.training.batches import Data, Pair, epoch_batches, split_inputs
from ebbing.learn.training.optimization import MakeOptimizer, MakeScheduler, Optimization
from ebbing.learn.training.schedule import Checkpoint, Loss, ProgressCallback, Schedule, fit, task_loss


class BaseLearner(PersistentNetwork, ABC):
    """A network and the names of the tasks that it has learned.

    Args:
        network: The network, which is trained in place.
        schedule: The schedule of training.
    """

    def __init__(self, network: nn.Module, schedule: Schedule) -> None:
        check_network(network)
        super().__init__(network)
        self.schedule = schedule

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

        Methods that protect learned tasks measure the inputs of each layer on random examples. To draw these, they read
        an iterable of batches once more than there are epochs; of a DataLoader that shuffles, only the first batches.

        Args:
            task: Name of the task.
            data: A pair (inputs, labels) of tensors, NumPy arrays or pandas tables, or a dataset of pairs, which is
                shuffled anew every epoch; or an iterable of batches, such as a DataLoader; or a `TaskData`. Inputs may
                be a dictionary of tensors, which the network takes as keywords. A dictionary that also has "labels"
                counts as a pair.
            validation: Validation data for a schedule with patience; by default that of a `TaskData`.
            loss: The mean loss of outputs and labels; by default cross-entropy, and the squared error for a `TaskData`
                of regression. Causal language models of transformers take `labels=input_ids`, as their own loss does:
                outputs predict the next token.
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
        check_name(task, "learn('first', (inputs, labels))")
        generator = check_generator(generator)
        check_callbacks(progress, checkpoint)
        optimization = Optimization(optimizer, scheduler, mixed_precision, accumulate, clip_norm)
        if loss is task_loss and isinstance(data, TaskData) and data.regression:
            loss = squared_error
        data = as_batches(data, self._dtype, self.schedule.batch_size, generator)
        pair = as_validation(validation, data, self._dtype, self.schedule.test_batch_size, self.schedule.patience)
        with self._task_context(task, data, generator, loss) as parameters:
            fit(
                self.schedule,
                self.network,
                bind_task(self.network, len(self.tasks)),
                parameters,
                self._batches(data, generator, any_labels=loss is not task_loss),
                task=task,
                validation=None if pair is None else self._pair_to_device(pair),
                loss=loss_of(self.network, loss),
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
            inputs: Inputs, a tensor, a NumPy array (n, ...) or a pandas DataFrame, or a dictionary of them.

        Returns:
            Outputs, (n, ...): of a network that returns a dictionary or a `ModelOutput`, the logits, and of one that
            returns a tuple, its first tensor.

        Raises:
            ValueError: If `inputs` is neither a tensor nor an array, or the task has not been learned.
        """
        if task is not None:
            check_name(task, "outputs('first', inputs)")
        inputs = as_inputs(inputs, self._dtype)
        with self._exclusive():
            self._check_weights()
            index = None if task is None else task_number(task, self.tasks)
            forward = bind_task(self.network, len(self.tasks) if index is None else index)
            with self._task_weights(index), torch.no_grad():
                batches = split_inputs(inputs, self.schedule.test_batch_size)
                return torch.cat([forward(self._copy_to_device(x)) for x in batches])

    def accuracy(self, task: str, data: Data) -> float:
        """Compute the accuracy on a task: the share of examples that are classified correctly.

        Classes (integers) are compared with the largest output; labels of -100 do not count. Floating-point labels are
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
        check_name(task, "accuracy('first', (inputs, labels))")
        if isinstance(data, TaskData):
            data = (data.test_inputs, data.test_labels)
        size, counts = self.schedule.test_batch_size, torch.zeros(2, dtype=torch.long)  # correct ones, and all
        data = as_batches(data, self._dtype, size, None)
        with self._exclusive():
            self._check_weights()
            index = task_number(task, self.tasks)
            forward = bind_task(self.network, index)
            with self._task_weights(index), torch.no_grad():
                for inputs, labels in epoch_batches(data, size, None, self._device, any_labels=True)():
                    check_classified(task, labels, custom_loss=task in self._custom_losses)
                    outputs = forward(self._copy_to_device(inputs))
                    counts += torch.tensor(count_correct(*align_tokens(self.network, outputs, labels)))
        if not counts[1]:
            raise ValueError("no examples: give at least one")
        return int(counts[0]) / int(counts[1])

    @contextmanager
    def evaluating(self, task: str) -> Iterator[nn.Module]:
        """Give the network the weights of a task, in evaluation mode, while a `with` block runs.

        Args:
            task: Name of a learned task.

        Yields:
            The network with the task's weights. Its own weights and mode are restored at the end.
        """
        reason = "the network has the weights of one task: leave the context of evaluating() first"
        with self._reserved(reason):
            self._check_weights()
            index, before = task_number(task, self.tasks), self._copy_values()
            with (
                self._restored_after(lambda: self._write_values(before)),
                self._task_weights(index),
                task_bound(self.network, index),
            ):
                yield self.network

    @contextmanager
    def _task_weights(self, task: int | None) -> Iterator[None]:
        """Make the network that of a task (None: one that has not been learned), in evaluation mode."""
        with preserved_modes(self.network), no_fast_path():
            self.network.eval()
            yield

    def _check_new_task(self, task: str) -> None:
        if self._busy:
            raise RuntimeError(self._busy)
        check_new_name(task, self.tasks)
