"""The learner of gradient projection: a network that learns tasks one after another and protects the old ones.

    learner = Trgp().start(network)
    learner.learn("cats", (inputs, labels))        # or any DataLoader
    learner.learn("dogs", loader)
    learner.accuracy("cats", test_loader)
    learner.save("learner.safetensors")

Each task has a few task-specific values (weight updates in protected directions, biases, norms, the modules named in
per_task=), so every question to the learner names the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ebbing._modes import preserved_modes
from ebbing.learn._inputs import Inputs, first_inputs, input_tensors
from ebbing.learn.projection._activations import batch_size, layer_inputs, weight_gradients
from ebbing.learn.projection._autograd import no_autocast
from ebbing.learn.projection._integrity import (
    Fingerprint,
    check_precision,
    check_same_parameters,
    check_single_use,
    check_supported,
    checked_optimizers,
    fingerprint,
    parameter_signatures,
    unchanged_weights,
    warn_if_changed,
)
from ebbing.learn.projection._layer_discovery import discover_layers
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._memory import Memory, parse_memory
from ebbing.learn.projection._protection import check_settings, parametrize_layers, protect_layers
from ebbing.learn.projection._rotated_data import rotated_batches
from ebbing.learn.projection._rules import ProjectionRules, describe_rules
from ebbing.learn.projection._snapshot import copy_weights, effective_weights, snapshot_layers, write_weights
from ebbing.learn.projection._trust_region import TrustRegion, empty_trust_region, select_trust_region, trusted_names
from ebbing.learn.training._arguments import as_examples
from ebbing.learn.training._buffers import buffer_shapes, check_buffer_shapes, snapshot_buffers
from ebbing.learn.training._modes import frozen_modules, no_fast_path
from ebbing.learn.training._network_checks import check_not_inference_mode
from ebbing.learn.training._next_tokens import loss_of
from ebbing.learn.training._state_file import State
from ebbing.learn.training._task_argument import bind_task, task_bound
from ebbing.learn.training.base_learner import BaseLearner, TrainableParameters
from ebbing.learn.training.batches import Data, Pair, draw_examples
from ebbing.learn.training.schedule import Loss, task_loss

MAX_CHECKED = 64
"""The number of examples on which the use of weights is checked."""


class ProjectionLearner(BaseLearner):
    """A network that learns tasks by gradient projection; `ProjectionMethod.start` creates it.

    Args:
        network: The network. It is trained in place.
        method: The method, a `ProjectionMethod`, with its settings.

    Attributes:
        method: The method, with its settings.
        layers: The protected layers, in the order of the network.
        trusted: For every learned task, by layer, the names of the old tasks that it trusts.

    Raises:
        ValueError: If the network has a part that can be neither protected nor copied for each task, or if a setting
            by layer does not have one value per layer.
    """

    method: ProjectionRules
    layers: list[Layer]
    trusted: list[dict[str, list[str]]]

    def __init__(self, network: nn.Module, method: ProjectionRules) -> None:
        super().__init__(network, method.schedule)
        self.method = method
        check_supported(network)
        self.layers, self._norms, self._per_task, biases = discover_layers(network, method.per_task)
        check_precision(self.layers)
        # Buffers outside of norms, such as running statistics of a custom module, are task-specific, too.
        handled = {*self._per_task, *self._norms, *dict(network.named_parameters())}
        buffers = [name for name, _ in network.named_buffers() if name not in handled]
        self._initial_values = self._copy_values(self._per_task + buffers)
        self._signatures = parameter_signatures(network)
        self._fingerprint: Fingerprint | None = None  # of the layers' weights after the latest task
        task_specific_norms = self._norms if method.norms == "per_task" else []
        self._task_specific = self._per_task + biases + buffers + task_specific_norms  # names
        self._task_values: list[dict[str, Tensor]] = []  # for every learned task, by name
        self.trusted = []
        check_settings(method, self.layers)

    def __repr__(self) -> str:
        protected = ", ".join(f"{name} {share:.0%}" for name, share in self.protected.items())
        return f"{super().__repr__()[:-1]}, {type(self.method).__name__} protects {protected}>"

    @property
    def protected(self) -> dict[str, float]:
        """By layer, the share of its input directions that are protected."""
        return {layer.name: layer.protected_share for layer in self.layers}

    # Learning

    def _task_context(
        self, task: str, data: Data, generator: torch.Generator, loss: Loss
    ) -> AbstractContextManager[TrainableParameters]:
        return self.task(task, draw_examples(data, max(self._num_examples()), generator), loss)

    def _batches(
        self, data: Data, generator: torch.Generator | None, *, any_labels: bool = False
    ) -> Callable[[], Iterable[Pair]]:
        """Return a function that yields the batches of an epoch, rotated in advance where the first layer is linear."""
        plain_batches = super()._batches(data, generator, any_labels=any_labels)
        size = self.schedule.batch_size
        return rotated_batches(self.layers[0], data, size, generator, any_labels=any_labels) or plain_batches

    @contextmanager
    def task(self, task: str, examples: Data, loss: Loss = task_loss) -> Iterator[TrainableParameters]:
        """Open a context for learning a task by a custom loop; inside, old tasks are protected.

        At the end of the context the task is stored, and the directions that its examples use are protected. If an
        exception leaves the context, everything is as it was before.

        Args:
            task: The name of the new task.
            examples: Inputs and labels of the task, in any form that `learn` takes. If there are more than
                `num_examples`, a random part is used.
            loss: The mean loss of outputs and labels. Its gradient determines which old tasks are trusted.

        Yields:
            The parameters to train, by any optimizer.

        Raises:
            ValueError: If inputs are not finite, or if the network cannot be protected.
        """
        check_not_inference_mode()
        with self._lock, torch.enable_grad():
            self._check_new_task(task)
            self._restore_network()
            check_supported(self.network)
            check_same_parameters(self.network, self._signatures)
            self._fingerprint = warn_if_changed(self.layers, self._fingerprint)
            pair = as_examples(examples, max(self._num_examples()), self._dtype, self.schedule.batch_size)
            inputs, labels = self._pair_to_device(pair)
            if not all(part.isfinite().all() for part in input_tensors(inputs)):
                raise ValueError(f"inputs of task {task!r} are not all finite: remove NaN and infinite values")
            undo = self._snapshot()
            if not self.tasks:  # weights may have been loaded since start()
                self._initial_values = self._copy_values(self._initial_values)
            reason = "a task is being learned: leave the context of task() first"
            try:
                with self._reserved(reason), preserved_modes(self.network), self._frozen_norms(), no_fast_path():
                    self._pending_restore = undo
                    with no_autocast(self.layers[0].weight):
                        parameters = self._start_task(task, inputs, labels, loss)
                    shapes = buffer_shapes(self.network)
                    with (
                        unchanged_weights(self.layers, parameters),
                        checked_optimizers(self.layers),
                        task_bound(self.network, len(self.tasks)),
                    ):
                        self.network.train()
                        yield parameters
                parameters.check_finite(task)
                check_buffer_shapes(self.network, shapes)
                with no_autocast(self.layers[0].weight), no_fast_path():
                    self._finish_task(task, inputs)
                if loss is not task_loss:
                    self._custom_losses.add(task)
                self._pending_restore = None
            except BaseException:
                self._pending_restore = undo
                self._restore_network()
                raise

    def _start_task(self, task: str, inputs: Inputs, labels: Tensor, loss: Loss) -> TrainableParameters:
        """Select the trusted tasks, parametrize every layer, and return the parameters to train."""
        self._write_values({name: self._initial_values[name] for name in self._per_task})
        trust_region = self._select_trust_region(inputs, labels, loss_of(self.network, loss))
        self.trusted.append(trusted_names(self.layers, trust_region, self.tasks))
        named = parametrize_layers(self.method, self.layers, trust_region, task)
        forward = bind_task(self.network, len(self.tasks))
        some = first_inputs(inputs, batch_size(self.network) or MAX_CHECKED)
        check_single_use(self.layers, forward, self.network, some, self.method.per_task)
        return TrainableParameters(named | self._other_parameters())

    def _finish_task(self, task: str, inputs: Inputs) -> None:
        """Remove the parametrizations, store the task-specific values, and protect the task."""
        for layer in self.layers:
            layer.finish()
        values, initial = self._copy_values(self._task_specific), self._initial_values
        # Of ten heads, for example, a task changes one: the others need no copy.
        changed = (name for name, v in values.items() if name not in initial or not torch.equal(v, initial[name]))
        self._task_values.append({name: values[name] for name in changed})
        self.tasks.append(task)
        self._protect_latest(inputs)
        self._fingerprint = fingerprint(self.layers)

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores everything to the current state."""
        parameters = dict(self.network.named_parameters())
        values = self._copy_values(name for name in {*self._task_specific, *self._norms} if name in parameters)
        restore_buffers, count = snapshot_buffers(self.network), len(self.tasks)
        restore_layers, latest_fingerprint = snapshot_layers(self.layers, count), self._fingerprint

        def undo() -> None:
            restore_layers()
            self._write_values(values)
            restore_buffers()
            del self.tasks[count:], self._task_values[count:], self.trusted[count:]
            self._fingerprint = latest_fingerprint

        return undo

    def _frozen_norms(self) -> AbstractContextManager[None]:
        """Return a context that freezes norms, including running statistics, after the first task if so set."""
        frozen = self.method.norms == "frozen" and bool(self.tasks)
        return frozen_modules(self.network, {name.rpartition(".")[0] for name in self._norms} if frozen else ())

    def _other_parameters(self) -> dict[str, nn.Parameter]:
        """Return the trained parameters besides the layers' weights: task-specific ones and, if trained, norms."""
        names = list(self._task_specific)
        if self.method.norms == "shared" or (self.method.norms == "frozen" and not self.tasks):
            names += self._norms
        values = self._values()
        candidates = ((name, values[name]) for name in names)
        return {n: value for n, value in candidates if isinstance(value, nn.Parameter) and value.requires_grad}

    def _select_trust_region(self, inputs: Inputs, labels: Tensor, loss: Loss) -> TrustRegion:
        """Return, for every layer and block, the trusted tasks: those whose subspaces hold the new task's gradient."""
        if not self.tasks or not self.method.uses_trust_region:
            return empty_trust_region(self.layers)
        forward = bind_task(self.network, len(self.tasks))
        gradients = weight_gradients(self.network, forward, self.layers, (inputs, labels), loss)
        return select_trust_region(self.method, self.layers, gradients)

    def _protect_latest(self, inputs: Inputs) -> None:
        """Measure which input directions of every layer the latest task uses, and protect them."""
        task = len(self.tasks) - 1
        with self._task_weights(task, shared=self.method.reproduces("shared weights measured")), torch.no_grad():
            forward = bind_task(self.network, task)
            recorded = layer_inputs(self.network, forward, self.layers, inputs, self._num_examples())
        protect_layers(self.method, self.layers, task, recorded)

    def _num_examples(self) -> list[int]:
        """Return the number of examples for each layer."""
        num_examples = self.method.num_examples
        return list(num_examples) if isinstance(num_examples, tuple) else [num_examples] * len(self.layers)

    # Evaluation

    def _check_weights(self) -> None:
        if self.tasks:
            self._fingerprint = warn_if_changed(self.layers, self._fingerprint)

    @contextmanager
    def _task_weights(self, task: int | None, *, shared: bool = False) -> Iterator[None]:
        """Put the weights of a task into the network; with `shared`, without its updates of the layers' weights."""
        weights, before = copy_weights(self.layers), self._copy_values(self._task_specific)

        def restore() -> None:
            write_weights(self.layers, weights)
            self._write_values(before)

        with preserved_modes(self.network), no_fast_path(), self._restored_after(restore):
            if task is not None:
                self._write_values(self._initial_values | self._task_values[task])
            if task is not None and not shared:
                write_weights(self.layers, effective_weights(self.layers, weights, task))
            self.network.eval()
            yield

    # Saving and loading

    def _method_state(self) -> State:
        blocks = [layer.blocks for layer in self.layers]
        return Memory(self._initial_values, self._task_values, self.trusted, blocks).state(self.layers)

    def _parse_method_state(self, state: State, tasks: int) -> Callable[[], None]:
        names = {"initial": [*self._initial_values], "task_specific": self._task_specific}
        memory = parse_memory(state, tasks, self.layers, current=self._values(), **names)

        def apply() -> None:
            self._initial_values, self._task_values = memory.initial_values, memory.task_values
            self.trusted = memory.trusted
            for layer, blocks in zip(self.layers, memory.blocks, strict=True):
                layer.set_blocks(blocks)
            self._fingerprint = fingerprint(self.layers)

        return apply

    def _describe(self) -> dict[str, Any]:
        return describe_rules(self.method)
