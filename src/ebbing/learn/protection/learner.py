"""A network that learns tasks one after another by gradient projection, and answers for each of them afterwards.

    learner = Trgp().start(network)
    learner.learn("cats", (inputs, labels))        # or any DataLoader
    learner.learn("dogs", loader)
    learner.accuracy("cats", test_loader)
    learner.save("learner.safetensors")

Each task keeps a little for itself (changes in protected directions, biases, normalizations, the modules named in
own=), so a task's name is needed whenever the network is to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from typing import Any, cast, get_args

import torch
from torch import Tensor, nn

from ebbing.learn.batches import (
    Data,
    Pair,
    check_labels,
    examples_of,
    in_step,
    modes_kept,
    pair_of,
    some_of,
)
from ebbing.learn.buffers import buffers_back, refuse_reshaped, shapes_of
from ebbing.learn.protection.finding import find
from ebbing.learn.protection.guards import (
    Fingerprint,
    fingerprint,
    kinds,
    module_by_module,
    refuse_changed,
    refuse_compiled,
    refuse_imprecise,
    refuse_other_uses,
    resting,
    warn_of_changes,
)
from ebbing.learn.protection.layers import Block, Known, standing
from ebbing.learn.protection.measuring import FEW, Loss, gradients_of, inputs_of
from ebbing.learn.protection.motion import Trusted, exactly
from ebbing.learn.protection.projection import Departure, Projection
from ebbing.learn.schedule import loss_of
from ebbing.learn.statefile import State, packed, part_of, unpacked
from ebbing.learn.tasks import Sample
from ebbing.learn.taught import Taught, Trained
from ebbing.learn.told import forward_for, told
from ebbing.learn.unfit import refuse_inference_mode


class Learner(Taught):
    """The network, what it has learnt, and what it must not forget."""

    def __init__(self, network: nn.Module, method: Projection) -> None:
        super().__init__(network, method.schedule)
        self.method = method
        refuse_compiled(network)
        self.layers, self._norms, self._owned, biases = find(network, method.own)
        refuse_imprecise(self.layers)
        # Whatever else moves (running statistics of a module of one's own, say) is each task's own, too.
        elsewhere = {*self._owned, *self._norms, *dict(network.named_parameters())}
        buffers = [name for name, _ in network.named_buffers() if name not in elsewhere]
        self._fresh = self._copied(self._owned + buffers)
        self._at_start = kinds(network)
        self._left: Fingerprint | None = None  # of the layers' weights after the latest task
        self._own_names = self._owned + biases + buffers + (self._norms if method.norms == "own" else [])
        self._own: list[dict[str, Tensor]] = []
        self.trusted: list[dict[str, list[str]]] = []  # for every task learnt, by layer: the old tasks it trusts
        for setting, values in (("samples", method.samples), ("threshold", method.threshold.first)):
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

    def _learning(self, task: str, data: Data, random: torch.Generator) -> AbstractContextManager[Trained]:
        return self.task(task, examples_of(data, max(self._samples()), random))

    def _batches(self, data: Data, random: torch.Generator | None) -> Callable[[], Iterable[Pair]]:
        """The batches of an epoch. Where the first layer is linear, it is told what it would make of each of them.

        Turning every input once per task instead of once per epoch saves up to half of a step on small networks.
        """
        layer, size = self.layers[0], self.schedule.batch_size
        plain = super()._batches(data, random)
        rotation = layer.moving[0].rotation
        if not isinstance(data, Sample | tuple) or not isinstance(layer.module, nn.Linear) or rotation is None:
            return plain
        inputs, labels = pair_of(cast(Sample | Pair, data))
        if inputs.ndim != 2 or inputs.shape[1] != len(rotation) or inputs.dtype != rotation.dtype:
            return plain
        check_labels(labels)
        with exactly(rotation):
            turned = torch.cat([self._here(part) @ rotation for part in inputs.split(4096)])

        def epoch() -> Iterator[Pair]:
            for batch in in_step((inputs, turned, labels), size, random):
                given, coordinates, wanted = map(self._here, batch)
                layer.known = Known(given, coordinates, given._version)
                yield given, wanted

        return epoch

    @contextmanager
    def task(self, task: str, examples: Pair, loss: Loss = loss_of) -> Iterator[Trained]:
        """Learn a task by your own loop: inside the context the network moves only as it may.

        Yields what is to be trained, by any optimizer. At the end the task is remembered, by what its examples show
        (inputs and labels; if there are more than `samples`, as many of them by chance). If the context is left by an
        exception, everything is as it was before.
        loss: a mean over examples, of outputs and labels, whose gradient tells which old tasks are trusted.
        """
        refuse_inference_mode()
        with self._lock, torch.enable_grad():
            self._check_new(task)
            self._put_back()
            refuse_compiled(self.network)
            refuse_changed(self.network, self._at_start)
            self._left = warn_of_changes(self.layers, self._left, stacklevel=5)
            inputs, labels = (self._here(part) for part in some_of(pair_of(examples), max(self._samples())))
            if not inputs.isfinite().all():
                raise ValueError(
                    f"inputs of task {task!r} are not all finite: a NaN would spread into everything learnt"
                )
            undo, shapes = self._undoing(), shapes_of(self.network)
            if not self.tasks:  # weights may have been loaded since start()
                self._fresh = self._copied(self._fresh)
            words = "a task is being learnt: leave the context of task() before anything else is asked"
            try:
                with self._occupied(words), modes_kept(self.network), self._norms_standing(), module_by_module():
                    self._mend = undo
                    with exactly(self.layers[0].module.weight):
                        parameters = self._started(inputs, labels, loss)
                    with resting(self.layers, parameters), told(self.network, len(self.tasks)):
                        self.network.train()
                        yield parameters
                parameters.refuse_infinite(task)
                refuse_reshaped(self.network, shapes)
                with exactly(self.layers[0].module.weight), module_by_module():
                    self._finish(task, inputs)
                self._mend = None
            except BaseException:
                self._mend = undo
                self._put_back()
                raise

    def _started(self, inputs: Tensor, labels: Tensor, loss: Loss) -> Trained:
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
            started = layer.start(chosen, self.method.form, from_latest=self.method.from_latest)
            names = [""] if len(started) == 1 else [f".{i}" for i in range(len(started))]
            named |= {f"{layer.name}.weight{name}": value for name, value in zip(names, started, strict=True)}
        refuse_other_uses(self.layers, forward_for(self.network, len(self.tasks)), self.network, inputs[:FEW])
        return Trained(named | self._free_parameters())

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
        put_buffers_back = buffers_back(self.network)
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
            put_buffers_back()
            del self.tasks[count:], self._own[count:], self.trusted[count:]
            self._left = left

        return undo

    def _norms_standing(self) -> AbstractContextManager[None]:
        """After the first task frozen norms keep their running statistics, too."""
        frozen = self.method.norms == "frozen" and bool(self.tasks)
        return standing(self.network, {name.rpartition(".")[0] for name in self._norms} if frozen else ())

    def _free_parameters(self) -> dict[str, nn.Parameter]:
        names = list(self._own_names)
        if self.method.norms == "shared" or (self.method.norms == "frozen" and not self.tasks):
            names += self._norms
        values = self._values()
        candidates = ((name, values[name]) for name in names)
        return {n: value for n, value in candidates if isinstance(value, nn.Parameter) and value.requires_grad}

    def _trusted(self, inputs: Tensor, labels: Tensor, loss: Loss) -> list[list[list[Trusted]]]:
        """For every layer and block, the old tasks to be scaled: those whose subspaces hold the new task's gradient."""
        nobody: list[list[list[Trusted]]] = [[[] for _ in layer.blocks] for layer in self.layers]
        if not self.tasks or not self.method.trusting:
            return nobody
        forward = forward_for(self.network, len(self.tasks))
        gradients = gradients_of(self.network, forward, self.layers, (inputs, labels), loss)
        trusted = []
        for layer, gradient in zip(self.layers, gradients, strict=True):
            parts = gradient.flatten(1).chunk(layer.groups)
            trusted.append([self._trusted_by(part, block) for part, block in zip(parts, layer.blocks, strict=True)])
        return nobody if self.method.departs("first layer decides") and not any(trusted[0]) else trusted

    def _trusted_by(self, gradient: Tensor, block: Block) -> list[Trusted]:
        inside = []
        for subspace in block.subspaces:
            parts = gradient @ block.basis[:, subspace.columns], gradient @ subspace.others
            inside.append(float(torch.cat(parts, dim=1).norm()))
        chosen = self.method.trust(float(gradient.norm()), inside)
        return [Trusted(j, block.subspaces[j], weight) for j, weight in sorted(chosen.items())]

    def _remember(self, inputs: Tensor) -> None:
        """Measure what the task just learnt uses of every layer's inputs, and protect it."""
        task = len(self.tasks) - 1
        with self._as(task, shared=self.method.departs("shared weights measured")), torch.no_grad():
            seen = inputs_of(self.network, forward_for(self.network, task), self.layers, inputs, self._samples())
        for number, layer in enumerate(self.layers):
            for block, R in zip(layer.blocks, layer.representation(seen.pop(layer.name)), strict=True):
                if not R.isfinite().all():
                    raise FloatingPointError(f"inputs of layer {layer.name!r} are not all finite: nothing to go by")
                growth = self.method.grow(number, task, block.basis, R)
                block.protect(growth, leave_out_strongest=self.method.departs("strongest unprotected"))

    def _samples(self) -> list[int]:
        samples = self.method.samples
        return list(samples) if isinstance(samples, tuple) else [samples] * len(self.layers)

    # Answering

    def _notice(self) -> None:
        if self.tasks:
            self._left = warn_of_changes(self.layers, self._left, stacklevel=4)

    @contextmanager
    def _as(self, task: int | None, *, shared: bool = False) -> Iterator[None]:
        """The network as it is for a task (None: one not learnt yet); shared: but for its changes of the weights."""
        weights = [[weight.clone() for weight in layer.weights] for layer in self.layers]
        before = self._copied(self._own_names)

        def put_back() -> None:
            for layer, parts in zip(self.layers, weights, strict=True):
                layer.set_weights(parts)
            self._write(before)

        with modes_kept(self.network), self._borrowed(put_back):
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
        state = {f"fresh.{name}": value for name, value in self._fresh.items()} | {"trusted": packed(self.trusted)}
        for t, own in enumerate(self._own):
            state |= {f"own.{t}.{name}": value for name, value in own.items()}
        for layer in self.layers:
            for b, block in enumerate(layer.blocks):
                state |= {f"layer.{layer.name}.{b}.{name}": value for name, value in block.state().items()}
        return state

    def _taking_over(self, state: State, tasks: int) -> Callable[[], None]:
        here = self._values()
        fresh = {name: state[f"fresh.{name}"] for name in self._fresh}
        own = [part_of(state, f"own.{t}.") for t in range(tasks)]
        for values in own:
            if missing := sorted({*self._own_names} - values.keys() - fresh.keys()):
                raise ValueError(f"a task has no {missing[0]!r} of its own")
        for name, value in chain(fresh.items(), *(values.items() for values in own)):
            if name not in {*self._own_names, *fresh} or value.shape != here[name].shape:
                raise ValueError(f"{name} of shape {tuple(value.shape)} is not each task's own here")
        trusted = (
            unpacked(state["trusted"]) if "trusted" in state else [{} for _ in range(tasks)]
        )  # early ones have none
        blocks = []
        for layer in self.layers:
            states = [part_of(state, f"layer.{layer.name}.{b}.") for b in range(len(layer.blocks))]
            blocks.append([Block.from_state(part, tasks, layer.weights[0]) for part in states])
        known = tuple(f"layer.{layer.name}.{b}." for layer in self.layers for b in range(len(layer.blocks)))
        if others := sorted(name for name in part_of(state, "layer.") if not f"layer.{name}".startswith(known)):
            raise ValueError(f"it protects more layers than there are here to be protected: {others[0]!r}")

        def take_over() -> None:
            self._fresh, self._own, self.trusted = fresh, own, trusted
            for layer, restored in zip(self.layers, blocks, strict=True):
                layer.blocks = restored
            self._left = fingerprint(self.layers)

        return take_over

    def _describe(self) -> dict[str, Any]:
        method = self.method
        departures = [departure for departure in get_args(Departure) if method.departs(departure)]
        return {"kind": type(method).__name__, "own": list(method.own), "norms": method.norms} | {
            "as_published": departures
        }
