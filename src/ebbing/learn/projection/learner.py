"""A network that learns tasks one after another by gradient projection, and answers for each of them afterwards.

    learner = Trgp().start(network)
    learner.learn("cats", (inputs, labels))        # or any DataLoader
    learner.learn("dogs", loader)
    learner.accuracy("cats", test_loader)
    learner.save("learner.safetensors")

Each task keeps a little for itself (changes in protected directions, biases, normalizations, the modules named in
per_task=), so a task's name is needed whenever the network is to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from typing import Any, cast, get_args

import torch
from torch import Tensor, nn

from ebbing.learn.projection._activations import PASS_SIZE, Loss, layer_inputs, weight_gradients
from ebbing.learn.projection._integrity import (
    Fingerprint,
    check_not_compiled,
    check_precision,
    check_same_parameters,
    check_single_use,
    fingerprint,
    frozen_weights,
    no_fast_path,
    parameter_signatures,
    warn_if_changed,
)
from ebbing.learn.projection._layer_discovery import discover_layers
from ebbing.learn.projection._layers import Block, RotatedBatch, frozen_statistics
from ebbing.learn.projection._parametrization import TrustedTask, no_autocast
from ebbing.learn.projection.method import Departure, ProjectionMethod
from ebbing.learn.tasks.base import TaskData
from ebbing.learn.training._buffers import buffer_shapes, check_buffer_shapes, snapshot_buffers
from ebbing.learn.training._network_checks import check_not_inference_mode
from ebbing.learn.training._state_file import State, decode_json, encode_json, with_prefix
from ebbing.learn.training._task_argument import bind_task, task_bound
from ebbing.learn.training.base_learner import BaseLearner, TrainableParameters
from ebbing.learn.training.batches import (
    Data,
    Pair,
    check_labels,
    draw_examples,
    preserved_modes,
    shuffled_batches,
    subsample,
    training_pair,
)
from ebbing.learn.training.schedule import task_loss


class Learner(BaseLearner):
    """The network, what it has learned, and what it must not forget."""

    def __init__(self, network: nn.Module, method: ProjectionMethod) -> None:
        super().__init__(network, method.schedule)
        self.method = method
        check_not_compiled(network)
        self.layers, self._norms, self._owned, biases = discover_layers(network, method.per_task)
        check_precision(self.layers)
        # Whatever else moves (running statistics of a module of one's own, say) is each task's own, too.
        elsewhere = {*self._owned, *self._norms, *dict(network.named_parameters())}
        buffers = [name for name, _ in network.named_buffers() if name not in elsewhere]
        self._fresh = self._copied(self._owned + buffers)
        self._at_start = parameter_signatures(network)
        self._left: Fingerprint | None = None  # of the layers' weights after the latest task
        self._own_names = self._owned + biases + buffers + (self._norms if method.norms == "per_task" else [])
        self._own: list[dict[str, Tensor]] = []
        self.trusted: list[dict[str, list[str]]] = []  # for every task learned, by layer: the old tasks it trusts
        for setting, values in (("num_examples", method.num_examples), ("threshold", method.threshold.share)):
            if isinstance(values, tuple) and len(values) != len(self.layers):
                names = ", ".join(layer.name for layer in self.layers)
                raise ValueError(f"{setting}={values}: give one number, or one for each of the layers {names}")

    @property
    def protected(self) -> dict[str, float]:
        """By layer, the share of its input directions in which weights no longer move for all tasks."""
        return {
            layer.name: sum(block.basis.shape[1] / len(block.basis) for block in layer.blocks) / len(layer.blocks)
            for layer in self.layers
        }

    # Learning

    def _learning(self, task: str, data: Data, random: torch.Generator) -> AbstractContextManager[TrainableParameters]:
        return self.task(task, draw_examples(data, max(self._num_examples()), random))

    def _batches(self, data: Data, random: torch.Generator | None) -> Callable[[], Iterable[Pair]]:
        """The batches of an epoch. Where the first layer is linear, it is told what it would make of each of them.

        Turning every input once per task instead of once per epoch saves up to half of a step on small networks.
        """
        layer, size = self.layers[0], self.schedule.batch_size
        plain = super()._batches(data, random)
        rotation = layer.moving[0].rotation
        if not isinstance(data, TaskData | tuple) or not isinstance(layer.module, nn.Linear) or rotation is None:
            return plain
        inputs, labels = training_pair(cast(TaskData | Pair, data))
        if inputs.ndim != 2 or inputs.shape[1] != len(rotation) or inputs.dtype != rotation.dtype:
            return plain
        check_labels(labels)
        with no_autocast(rotation):
            turned = torch.cat([self._to_device(part) @ rotation for part in inputs.split(4096)])

        def epoch() -> Iterator[Pair]:
            for batch in shuffled_batches((inputs, turned, labels), size, random):
                given, coordinates, wanted = map(self._to_device, batch)
                layer.known = RotatedBatch(given, coordinates, given._version)
                yield given, wanted

        return epoch

    @contextmanager
    def task(self, task: str, examples: Pair, loss: Loss = task_loss) -> Iterator[TrainableParameters]:
        """Learn a task by your own loop: inside the context the network moves only as it may.

        Yields what is to be trained, by any optimizer. At the end the task is remembered, by what its examples show
        (inputs and labels; if there are more than `num_examples`, as many of them by chance). If the context is left by an
        exception, everything is as it was before.
        loss: a mean over examples, of outputs and labels, whose gradient tells which old tasks are trusted.
        """
        check_not_inference_mode()
        with self._lock, torch.enable_grad():
            self._check_new(task)
            self._restore_network()
            check_not_compiled(self.network)
            check_same_parameters(self.network, self._at_start)
            self._left = warn_if_changed(self.layers, self._left, stacklevel=5)
            inputs, labels = (
                self._to_device(part) for part in subsample(training_pair(examples), max(self._num_examples()))
            )
            if not inputs.isfinite().all():
                raise ValueError(
                    f"inputs of task {task!r} are not all finite: a NaN would spread into everything learned"
                )
            undo, shapes = self._undoing(), buffer_shapes(self.network)
            if not self.tasks:  # weights may have been loaded since start()
                self._fresh = self._copied(self._fresh)
            words = "a task is being learned: leave the context of task() before anything else is asked"
            try:
                with self._occupied(words), preserved_modes(self.network), self._norms_frozen(), no_fast_path():
                    self._pending_restore = undo
                    with no_autocast(self.layers[0].module.weight):
                        parameters = self._started(inputs, labels, loss)
                    with frozen_weights(self.layers, parameters), task_bound(self.network, len(self.tasks)):
                        self.network.train()
                        yield parameters
                parameters.check_finite(task)
                check_buffer_shapes(self.network, shapes)
                with no_autocast(self.layers[0].module.weight), no_fast_path():
                    self._finish(task, inputs)
                self._pending_restore = None
            except BaseException:
                self._pending_restore = undo
                self._restore_network()
                raise

    def _started(self, inputs: Tensor, labels: Tensor, loss: Loss) -> TrainableParameters:
        """Set the network in motion."""
        self._write({name: self._fresh[name] for name in self._owned})
        named: dict[str, nn.Parameter] = {}
        trusted = self._trusted(inputs, labels, loss)
        self.trusted.append(
            {
                layer.name: [self.tasks[j] for j in sorted({one.task for block in chosen for one in block})]
                for layer, chosen in zip(self.layers, trusted, strict=True)
            }
        )
        for layer, chosen in zip(self.layers, trusted, strict=True):
            started = layer.start(
                chosen, self.method.parametrization, starts_from_latest=self.method.starts_from_latest
            )
            names = [""] if len(started) == 1 else [f".{i}" for i in range(len(started))]
            named |= {f"{layer.name}.weight{name}": value for name, value in zip(names, started, strict=True)}
        check_single_use(self.layers, bind_task(self.network, len(self.tasks)), self.network, inputs[:PASS_SIZE])
        return TrainableParameters(named | self._free_parameters())

    def _finish(self, task: str, inputs: Tensor) -> None:
        """Leave motion, and remember the task."""
        for layer in self.layers:
            layer.finish()
        own = self._copied(self._own_names)
        # Of ten heads, say, a task changes one: the others need no copy.
        changed = (n for n, v in own.items() if n not in self._fresh or not torch.equal(v, self._fresh[n]))
        self._own.append({name: own[name] for name in changed})
        self.tasks.append(task)
        self._remember(inputs)
        self._left = fingerprint(self.layers)

    def _undoing(self) -> Callable[[], None]:
        """A function that makes everything as it is now."""
        parameters = dict(self.network.named_parameters())
        values = self._copied(name for name in {*self._own_names, *self._norms} if name in parameters)
        restore_buffers = snapshot_buffers(self.network)
        weights = [[weight.clone() for weight in layer.weights] for layer in self.layers]
        bases = [[block.basis for block in layer.blocks] for layer in self.layers]
        count, left = len(self.tasks), self._left

        def undo() -> None:
            for layer, parts, old in zip(self.layers, weights, bases, strict=True):
                layer.stop()
                layer.set_weights(parts)
                for block, basis in zip(layer.blocks, old, strict=True):
                    block.basis = basis
                    del block.subspaces[count:], block.changes[count:]
            self._write(values)
            restore_buffers()
            del self.tasks[count:], self._own[count:], self.trusted[count:]
            self._left = left

        return undo

    def _norms_frozen(self) -> AbstractContextManager[None]:
        """After the first task frozen norms keep their running statistics, too."""
        frozen = self.method.norms == "frozen" and bool(self.tasks)
        return frozen_statistics(self.network, {name.rpartition(".")[0] for name in self._norms} if frozen else ())

    def _free_parameters(self) -> dict[str, nn.Parameter]:
        names = list(self._own_names)
        if self.method.norms == "shared" or (self.method.norms == "frozen" and not self.tasks):
            names += self._norms
        values = self._values()
        candidates = ((name, values[name]) for name in names)
        return {n: value for n, value in candidates if isinstance(value, nn.Parameter) and value.requires_grad}

    def _trusted(self, inputs: Tensor, labels: Tensor, loss: Loss) -> list[list[list[TrustedTask]]]:
        """For every layer and block, the old tasks to be scaled: those whose subspaces hold the new task's gradient."""
        nobody: list[list[list[TrustedTask]]] = [[[] for _ in layer.blocks] for layer in self.layers]
        if not self.tasks or not self.method.can_trust:
            return nobody
        forward = bind_task(self.network, len(self.tasks))
        gradients = weight_gradients(self.network, forward, self.layers, (inputs, labels), loss)
        trusted = []
        for layer, gradient in zip(self.layers, gradients, strict=True):
            parts = gradient.flatten(1).chunk(layer.groups)
            trusted.append([self._trusted_by(part, block) for part, block in zip(parts, layer.blocks, strict=True)])
        return nobody if self.method.departs("first layer decides") and not any(trusted[0]) else trusted

    def _trusted_by(self, gradient: Tensor, block: Block) -> list[TrustedTask]:
        inside = []
        for subspace in block.subspaces:
            parts = gradient @ block.basis[:, subspace.columns], gradient @ subspace.others
            inside.append(float(torch.cat(parts, dim=1).norm()))
        chosen = self.method.select_trusted(float(gradient.norm()), inside)
        return [TrustedTask(j, block.subspaces[j], weight) for j, weight in sorted(chosen.items())]

    def _remember(self, inputs: Tensor) -> None:
        """Measure what the task just learned uses of every layer's inputs, and protect it."""
        task = len(self.tasks) - 1
        with self._as(task, shared=self.method.departs("shared weights measured")), torch.no_grad():
            seen = layer_inputs(self.network, bind_task(self.network, task), self.layers, inputs, self._num_examples())
        for number, layer in enumerate(self.layers):
            for block, R in zip(layer.blocks, layer.representation(seen.pop(layer.name)), strict=True):
                if not R.isfinite().all():
                    raise FloatingPointError(f"inputs of layer {layer.name!r} are not all finite: nothing to go by")
                growth = self.method.select_directions(number, task, block.basis, R)
                block.protect(growth, leave_out_strongest=self.method.departs("strongest unprotected"))

    def _num_examples(self) -> list[int]:
        num_examples = self.method.num_examples
        return list(num_examples) if isinstance(num_examples, tuple) else [num_examples] * len(self.layers)

    # Answering

    def _check_weights(self) -> None:
        if self.tasks:
            self._left = warn_if_changed(self.layers, self._left, stacklevel=4)

    @contextmanager
    def _as(self, task: int | None, *, shared: bool = False) -> Iterator[None]:
        """The network as it is for a task (None: one not learned yet); shared: but for its changes of the weights."""
        weights = [[weight.clone() for weight in layer.weights] for layer in self.layers]
        before = self._copied(self._own_names)

        def put_back() -> None:
            for layer, parts in zip(self.layers, weights, strict=True):
                layer.set_weights(parts)
            self._write(before)

        with preserved_modes(self.network), self._borrowed(put_back):
            if task is not None:
                self._write(self._fresh | self._own[task])
            if task is not None and not shared:
                for layer, parts in zip(self.layers, weights, strict=True):
                    together = zip(layer.blocks, parts, strict=True)
                    layer.set_weights(block.effective(weight, task) for block, weight in together)
            self.network.eval()
            yield

    # Keeping

    def _kept(self) -> State:
        state = {f"fresh.{name}": value for name, value in self._fresh.items()} | {"trusted": encode_json(self.trusted)}
        for t, own in enumerate(self._own):
            state |= {f"own.{t}.{name}": value for name, value in own.items()}
        for layer in self.layers:
            for b, block in enumerate(layer.blocks):
                state |= {f"layer.{layer.name}.{b}.{name}": value for name, value in block.state().items()}
        return state

    def _read_state(self, state: State, tasks: int) -> Callable[[], None]:
        here = self._values()
        fresh = {name: state[f"fresh.{name}"] for name in self._fresh}
        own = [with_prefix(state, f"own.{t}.") for t in range(tasks)]
        for values in own:
            if missing := sorted({*self._own_names} - values.keys() - fresh.keys()):
                raise ValueError(f"a task has no {missing[0]!r} of its own")
        for name, value in chain(fresh.items(), *(values.items() for values in own)):
            if name not in {*self._own_names, *fresh} or value.shape != here[name].shape:
                raise ValueError(f"{name} of shape {tuple(value.shape)} is not each task's own here")
        trusted = (
            decode_json(state["trusted"]) if "trusted" in state else [{} for _ in range(tasks)]
        )  # early ones have none
        blocks = []
        for layer in self.layers:
            states = [with_prefix(state, f"layer.{layer.name}.{b}.") for b in range(len(layer.blocks))]
            blocks.append([Block.from_state(part, tasks, layer.weights[0]) for part in states])
        known = tuple(f"layer.{layer.name}.{b}." for layer in self.layers for b in range(len(layer.blocks)))
        if others := sorted(name for name in with_prefix(state, "layer.") if not f"layer.{name}".startswith(known)):
            raise ValueError(f"it protects more layers than there are here to be protected: {others[0]!r}")

        def apply() -> None:
            self._fresh, self._own, self.trusted = fresh, own, trusted
            for layer, restored in zip(self.layers, blocks, strict=True):
                layer.blocks = restored
            self._left = fingerprint(self.layers)

        return apply

    def _describe(self) -> dict[str, Any]:
        method = self.method
        departures = [departure for departure in get_args(Departure) if method.departs(departure)]
        return {"kind": type(method).__name__, "per_task": list(method.per_task), "norms": method.norms} | {
            "as_published": departures
        }
