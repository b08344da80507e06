"""Streams, networks and methods that belong together, with the settings that were published for them.

Permuted MNIST and Split CIFAR-100: GPM's, TRGP's and the paper's. Rotated and Split MNIST have no published setting for
these methods and take those of Permuted MNIST. What the paper has not ("trgp-free") is set as measurements say
(docs/methods.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

from ebbing.learn.experiment import Experiment
from ebbing.learn.methods import Copies, FineTuning, Gpm, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.methods.trgp_free import StartFrom
from ebbing.learn.networks.table1 import MLP, SmallAlexNet
from ebbing.learn.projection.method import Threshold
from ebbing.learn.tasks.streams import STREAMS, PermutedMnist, RotatedMnist, SplitCifar100, SplitMnist
from ebbing.learn.training.schedule import Schedule

StreamName = Literal["pmnist", "rmnist", "smnist", "cifar100"]
MethodName = Literal["sgd", "copies", "gpm", "trgp", "trgp+", "trgp-free"]

METHODS: tuple[MethodName, ...] = get_args(MethodName)

AnyStream = PermutedMnist | RotatedMnist | SplitMnist | SplitCifar100
AnyMethod = FineTuning | Copies | Gpm | Trgp


def preset(
    stream: AnyStream | StreamName,
    method: MethodName,
    *,
    as_published: bool = False,
    weights: tuple[float, ...] | None = None,
    recency: float | None = None,
    start_from: StartFrom | None = None,
    epochs: int | None = None,
) -> Experiment:
    """The training of a stream (or of a whole one by name) by a method, with the published settings or others.

    >>> preset(PermutedMnist(tasks=3), "trgp+").method.weights
    (1.2, 0.8)
    """
    if isinstance(stream, str):
        stream = stream_by_name(stream)
    if method not in METHODS:
        raise ValueError(f"method {method!r}: there is {', '.join(METHODS)}")
    if method != "trgp+" and (weights is not None or recency is not None):
        raise ValueError(f"method {method!r} has no weights: weights and recency are TRGP+'s")
    if method != "trgp-free" and start_from is not None:
        raise ValueError(f"start_from for method {method!r}: only trgp-free has a choice of where a task begins")
    if weights is not None and recency is not None:
        raise ValueError("weights and recency: give one of them, recency makes the weights")
    if method not in ("trgp", "trgp+") and as_published:
        raise ValueError(f"as_published for method {method!r}: only TRGP and TRGP+ depart from what was published")
    cifar = isinstance(stream, SplitCifar100)
    chosen: AnyMethod = (_cifar100 if cifar else _mnist)(method, as_published)
    if epochs is not None:
        chosen = replace(chosen, schedule=replace(chosen.schedule, epochs=epochs))
    if isinstance(chosen, TrgpPlus) and weights is not None:
        chosen = replace(chosen, weights=weights, max_trusted=len(weights))
    if isinstance(chosen, TrgpPlus) and recency is not None:
        chosen = replace(chosen, recency=recency)
    if isinstance(chosen, TrgpFree) and start_from is not None:
        chosen = replace(chosen, start_from=start_from)
    if cifar:
        network = SmallAlexNet(tasks=stream.tasks, classes=stream.classes)
    else:
        network = MLP((784, 100, 100, stream.classes))
    return Experiment(stream, network, chosen)


def stream_by_name(name: str, **settings: Any) -> AnyStream:
    """A stream by its short name; settings that are None stay as they are.

    >>> stream_by_name("smnist", tasks=3, test_images=None).names
    ('0', '1', '2')
    """
    if name not in STREAMS:
        raise ValueError(f"stream {name!r}: there is {', '.join(STREAMS)}")
    return STREAMS[name](**{key: value for key, value in settings.items() if value is not None})


def _mnist(method: MethodName, as_published: bool) -> AnyMethod:
    schedule = Schedule(learning_rate=0.01, epochs=5, batch_size=10)
    threshold = Threshold((0.95, 0.99, 0.99), growth=0.0, include_crossing=False)
    published: dict[str, Any] = {"as_published": True, "norms": "shared", "latest_only_at": (2,)}
    more = published if as_published else {}
    if method == "sgd":
        return FineTuning(schedule)
    if method == "copies":
        return Copies(schedule)
    if method == "gpm":
        return Gpm(schedule, threshold, num_examples=300)
    if method == "trgp-free":  # what it learns does not suffer if more is protected
        return TrgpFree(
            schedule,
            Threshold((0.98, 0.99, 0.99), growth=0.0, include_crossing=False),
            num_examples=3000,
            trust_threshold=0.2,
        )
    kind = Trgp if method == "trgp" else TrgpPlus
    return kind(schedule, threshold, num_examples=300, trust_threshold=0.2, **more)


def _cifar100(method: MethodName, as_published: bool) -> AnyMethod:
    schedule = Schedule(learning_rate=0.01, epochs=200, batch_size=64, patience=6, factor=0.5, min_learning_rate=1e-5)
    threshold, num_examples, own = (
        Threshold(0.97, growth=0.003, include_crossing=False),
        (24, 100, 100, 125, 125),
        ("heads",),
    )
    more: dict[str, Any] = {"as_published": True, "norms": "shared"} if as_published else {}
    if method == "sgd":
        return FineTuning(schedule)
    if method == "copies":
        return Copies(schedule)
    if method == "gpm":
        return Gpm(schedule, threshold, num_examples, own)
    kind = {"trgp": Trgp, "trgp+": TrgpPlus, "trgp-free": TrgpFree}[method]
    return kind(schedule, threshold, num_examples, own, trust_threshold=0.5, **more)
