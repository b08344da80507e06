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

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from ebbing.learn.batches import Data, Pair, batches_of, examples_of, forward_for, modes_kept, pair_of
from ebbing.learn.layers import Block, find, standing, takes_inputs_alone, watching
from ebbing.learn.motion import Trusted
from ebbing.learn.projection import Projection
from ebbing.learn.schedule import Checkpoint, Watch, fit, loss_of
from ebbing.learn.tasks import Sample
from ebbing.learn.taught import Taught, part_of


class Learner(Taught):
    """The network, what it has learnt, and what it must not forget."""

    def __init__(self, network: nn.Module, method: Projection) -> None:
        super().__init__(network, method.schedule)
        self.method = method
        self.layers, self._norms, owned, biases = find(network, method.own)
        self._fresh = self._copied(owned)  # biases go on from the last task's
        self._parameters = {name: (id(value), value.requires_grad) for name, value in network.named_parameters()}
        self._own_names = owned + biases + (self._norms if method.norms == "own" else [])
        self._own: list[dict[str, Tensor]] = []
        for setting, values in (("samples", method.samples), ("threshold", method.threshold.first)):
            if isinstance(values, tuple) and len(values) != len(self.layers):
                names = ", ".join(layer.name for layer in self.layers)
                raise ValueError(f"{setting}={values}: give one number, or one for each of the layers {names}")

    # Learning

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
        """Learn a task by the method's schedule; older ones stay as they are. Nothing changes if this is interrupted.

        data: a pair of tensors, shuffled anew every epoch by `random`; or anything that yields batches, such as a
        DataLoader, which must shuffle (what its first batches use of each layer is what gets protected); or a `Sample`.
        """
        schedule = self.method.schedule
        random = random if random is not None else torch.Generator().manual_seed(0)
        examples = examples_of(data, max(self._samples()), random)
        validation = self._validation(data, validation)
        with self.task(task, examples) as parameters:
            if schedule.patience is None:
                data, validation = self._turned(data, self._here(examples[0])), None
            fit(
                schedule,
                self.network,
                forward_for(self.network, len(self.tasks)),
                parameters,
                batches_of(data, schedule.batch_size, random, self._device),
                task=task,
                validation=None if validation is None else self._pair_here(validation),
                random=random,
                checkpoint=checkpoint,
                watch=watch,
            )

    @contextmanager
    def task(self, task: str, examples: Pair) -> Iterator[list[nn.Parameter]]:
        """Learn a task by your own loop: inside the context the network moves only as it may.

        Yields what is to be trained, by any optimizer. At the end the task is remembered, by what its examples (inputs
        and labels, a few hundred) show. If the context is left by an exception, everything is as it was before.
        """
        self._check_new(task)
        self._check_unchanged()
        inputs, labels = (self._here(part) for part in pair_of(examples))
        if not inputs.isfinite().all():
            raise ValueError(f"inputs of task {task!r} are not all finite: a NaN would spread into everything learnt")
        undo = self._undoing()
        words = "a task is being learnt: leave the context of task() before anything else is asked"
        try:
            with self._occupied(words), modes_kept(self.network), self._norms_standing():
                self._write(self._fresh)
                trusted = self._trusted(inputs, labels)
                parameters = [
                    parameter
                    for layer, chosen in zip(self.layers, trusted, strict=True)
                    for parameter in layer.start(chosen, self.method.form)
                ] + self._free_parameters()
                self._refuse_other_uses(inputs)
                self.network.train()
                yield parameters
            if not all(parameter.isfinite().all() for parameter in parameters):
                raise FloatingPointError(f"weights after task {task!r} are not all finite; the task is not remembered")
            for layer in self.layers:
                layer.finish()
            own = self._copied(self._own_names)
            # Of ten heads, say, a task changes one: the others need no copy.
            changed = (n for n, v in own.items() if n not in self._fresh or not torch.equal(v, self._fresh[n]))
            self._own.append({name: own[name] for name in changed})
            self.tasks.append(task)
            self._remember(inputs)
        except BaseException:
            undo()
            raise

    def _refuse_other_uses(self, inputs: Tensor) -> None:
        """A layer in motion does without its module's weight: wherever else that is used, it would not be trained."""
        self.network.eval()
        outputs = forward_for(self.network, len(self.tasks))(inputs.clone())  # which the network may change in place
        if not isinstance(outputs, Tensor):
            raise ValueError(f"the network returns a {type(outputs).__name__}: let it return one tensor")
        if not outputs.requires_grad:
            return
        weights = [layer.module.weight for layer in self.layers]
        used = torch.autograd.grad(outputs.sum(), weights, allow_unused=True)
        for layer, gradient in zip(self.layers, used, strict=True):
            if gradient is not None:
                raise ValueError(
                    f"the weight of layer {layer.name!r} is used outside of the layer's own forward, where it cannot "
                    "be protected; call the layer itself, or name it in own= to give each task its own copy"
                )

    def _undoing(self) -> Callable[[], None]:
        """A function that makes everything as it is now."""
        buffers = (name for name, _ in self.network.named_buffers())
        names = dict.fromkeys((*self._own_names, *self._norms, *buffers))
        values = self._copied(names)
        weights = [[weight.clone() for weight in layer.weights] for layer in self.layers]
        bases = [[block.basis for block in layer.blocks] for layer in self.layers]
        count = len(self.tasks)

        def undo() -> None:
            for layer, parts, old in zip(self.layers, weights, bases, strict=True):
                layer.stop()
                layer.set_weights(parts)
                for block, basis in zip(layer.blocks, old, strict=True):
                    block.basis = basis
                    del block.subspaces[count:], block.changes[count:]
            self._write(values)
            del self.tasks[count:], self._own[count:]

        return undo

    def _norms_standing(self) -> AbstractContextManager[None]:
        """After the first task frozen norms keep their running statistics, too."""
        frozen = self.method.norms == "frozen" and bool(self.tasks)
        return standing(self.network, {name.rpartition(".")[0] for name in self._norms} if frozen else ())

    def _free_parameters(self) -> list[nn.Parameter]:
        names = list(self._own_names)
        if self.method.norms == "shared" or (self.method.norms == "frozen" and not self.tasks):
            names += self._norms
        values = self._values()
        candidates = (values[name] for name in names)
        return [value for value in candidates if isinstance(value, nn.Parameter) and value.requires_grad]

    def _trusted(self, inputs: Tensor, labels: Tensor) -> list[list[list[Trusted]]]:
        """For every layer and block, the old tasks to be scaled: those whose subspaces hold the new task's gradient."""
        nobody: list[list[list[Trusted]]] = [[[] for _ in layer.blocks] for layer in self.layers]
        if not self.tasks or not self.method.trusting:
            return nobody
        self.network.eval()
        loss = loss_of(forward_for(self.network, len(self.tasks))(inputs.clone()), labels)
        gradients = torch.autograd.grad(loss, [layer.module.weight for layer in self.layers], allow_unused=True)
        trusted = []
        for layer, gradient in zip(self.layers, gradients, strict=True):
            whole = torch.zeros_like(layer.module.weight) if gradient is None else gradient
            parts = whole.flatten(1).chunk(layer.groups)
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
        shared = self.method.departs("shared weights measured")
        with self._as(task, shared=shared), watching(self.layers) as seen, torch.no_grad():
            forward_for(self.network, task)(inputs.clone())
        for number, (layer, samples) in enumerate(zip(self.layers, self._samples(), strict=True)):
            given = [_of_first(samples, len(inputs), call) for call in seen.pop(layer.name)]
            for block, R in zip(layer.blocks, layer.representation(given), strict=True):
                if not R.isfinite().all():
                    raise FloatingPointError(f"inputs of layer {layer.name!r} are not all finite: nothing to go by")
                growth = self.method.grow(number, task, block.basis, R)
                block.protect(growth, leave_out_strongest=self.method.departs("strongest unprotected"))

    def _turned(self, data: Data, examples: Tensor) -> Data:
        """The data in the coordinates of the first layer, if that is all the network does with them.

        Turning every input once per task instead of once per epoch saves up to half of a step on small networks.
        """
        layer, moving = self.layers[0], self.layers[0].moving[0]
        if not isinstance(data, Sample | tuple) or not isinstance(layer.module, nn.Linear) or moving.rotation is None:
            return data
        inputs, labels = pair_of(cast(Sample | Pair, data))
        if inputs.ndim != 2 or inputs.shape[1] != layer.module.in_features or not inputs.is_floating_point():
            return data
        forward = forward_for(self.network, len(self.tasks))
        if not takes_inputs_alone(forward, self.network, layer, examples):
            return data
        self.network.eval()
        with torch.no_grad():
            expected = forward(examples.clone())
            moving.turned = True
            # A use of the inputs that has no gradient would show here: in other outputs, or in what a network refuses.
            try:
                found = forward(examples @ moving.rotation)
                same = torch.allclose(found, expected, rtol=1e-3, atol=1e-3 * float(expected.abs().max()))
            except Exception:
                same = False
        if not same:
            moving.turned = False
            return data
        return torch.cat([self._here(part) @ moving.rotation for part in inputs.split(4096)]), labels

    def _samples(self) -> list[int]:
        samples = self.method.samples
        return list(samples) if isinstance(samples, tuple) else [samples] * len(self.layers)

    # Answering

    @contextmanager
    def _as(self, task: int | None, *, shared: bool = False) -> Iterator[None]:
        """The network as it is for a task (None: one not learnt yet); shared: but for its changes of the weights."""
        weights = [[weight.clone() for weight in layer.weights] for layer in self.layers]
        before = self._copied(self._own_names)
        with modes_kept(self.network):
            try:
                if task is not None:
                    self._write(self._fresh | self._own[task])
                if task is not None and not shared:
                    for layer, parts in zip(self.layers, weights, strict=True):
                        together = zip(layer.blocks, parts, strict=True)
                        layer.set_weights(block.effective(weight, task) for block, weight in together)
                self.network.eval()
                yield
            finally:
                for layer, parts in zip(self.layers, weights, strict=True):
                    layer.set_weights(parts)
                self._write(before)

    # Keeping

    def _kept(self) -> dict[str, Tensor]:
        state = {f"fresh.{name}": value for name, value in self._fresh.items()}
        for t, own in enumerate(self._own):
            state |= {f"own.{t}.{name}": value for name, value in own.items()}
        for layer in self.layers:
            for b, block in enumerate(layer.blocks):
                state |= {f"layer.{layer.name}.{b}.{name}": value for name, value in block.state().items()}
        return state

    def _taking_over(self, state: dict[str, Tensor], tasks: int) -> Callable[[], None]:
        fresh = {name: state[f"fresh.{name}"] for name in self._fresh}
        own = [part_of(state, f"own.{t}.") for t in range(tasks)]
        blocks = []
        for layer in self.layers:
            states = [part_of(state, f"layer.{layer.name}.{b}.") for b in range(len(layer.blocks))]
            blocks.append([Block.from_state(part, tasks, layer.weights[0]) for part in states])

        def take_over() -> None:
            self._fresh, self._own = fresh, own
            for layer, restored in zip(self.layers, blocks, strict=True):
                layer.blocks = restored

        return take_over

    def _describe(self) -> dict[str, Any]:
        method = self.method
        return {"kind": type(method).__name__, "own": list(method.own), "norms": method.norms}

    # Small things

    def _check_unchanged(self) -> None:
        """Layers and parameters were found when the learner was made; another network would be learnt in part."""
        now = {name: (id(value), value.requires_grad) for name, value in self.network.named_parameters()}
        changed = sorted(name for name in {*now, *self._parameters} if now.get(name) != self._parameters.get(name))
        if changed:
            raise ValueError(
                f"parameter {changed[0]!r} has been added, removed, replaced, frozen or set free since start(): make "
                "the network as it is to be (with all its heads) before, or start another learner"
            )


def _of_first(samples: int, examples: int, given: Tensor) -> Tensor:
    """What belongs to the first examples, if a layer is given the same number of rows for each, one after the other."""
    rows, rest = divmod(len(given), examples)
    return given if rest else given[: samples * rows]
