"""Presets: experiments with the published settings for a stream and a method.

The settings for Permuted MNIST and Split CIFAR-100 are those of GPM, of TRGP and of the paper. Rotated and Split MNIST
have no published settings for these methods and use those of Permuted MNIST. The settings of "trgp-free", which is not
in the paper, were chosen by measurements (docs/theory/methods.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

from ebbing.learn.experiment import Experiment
from ebbing.learn.methods import Copies, FineTuning, Gpm, LowRank, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.methods.trgp_free import StartFrom
from ebbing.learn.networks import MLP, SmallAlexNet
from ebbing.learn.projection.threshold import Threshold
from ebbing.learn.tasks import STREAMS, PermutedMnist, RotatedMnist, SplitCifar100, SplitMnist
from ebbing.learn.training.schedule import Schedule

StreamName = Literal["pmnist", "rmnist", "smnist", "cifar100"]
MethodName = Literal["fine-tuning", "copies", "low-rank", "gpm", "trgp", "trgp+", "trgp-free"]

METHODS: tuple[MethodName, ...] = get_args(MethodName)
"""The short names of all methods."""

AnyStream = PermutedMnist | RotatedMnist | SplitMnist | SplitCifar100
AnyMethod = FineTuning | Copies | LowRank | Gpm | Trgp


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
    """Return an experiment with the published settings for a stream and a method, some of them changed.

    Args:
        stream: A stream, or the short name of one with its default settings.
        method: The short name of a method.
        as_published: For "trgp" and "trgp+": reproduce the authors' code where it departs from their papers. One
            departure is in all presets: the direction that crosses the threshold is not protected.
        weights: For "trgp+": the weights of the trusted tasks, the most recent one first.
        recency: For "trgp+": r, for weights proportional to r^(t-j) instead.
        start_from: For "trgp-free": the weights from which a task starts.
        epochs: Epochs of each task, if other than published.

    Returns:
        The experiment: stream, architecture and method.

    Raises:
        ValueError: If the stream or the method is unknown, or the method does not have one of the settings.

    Example:
        >>> preset(PermutedMnist(tasks=3), "trgp+").method.weights
        (1.2, 0.8)
    """
    if isinstance(stream, str):
        stream = stream_by_name(stream)
    if method not in METHODS:
        raise ValueError(f"method {method!r}: give one of {', '.join(METHODS)}")
    if method != "trgp+" and (weights is not None or recency is not None):
        raise ValueError(f"weights or recency for method {method!r}: only trgp+ takes them")
    if method != "trgp-free" and start_from is not None:
        raise ValueError(
            f"start_from for method {method!r}: only trgp-free has a choice of the weights from which a task starts"
        )
    if weights is not None and recency is not None:
        raise ValueError("weights and recency: give only one of them, since recency determines the weights")
    if method not in ("trgp", "trgp+") and as_published:
        raise ValueError(
            f"as_published for method {method!r}: only trgp and trgp+ have a published variant; leave it out, as other "
            "methods have one form"
        )
    cifar = isinstance(stream, SplitCifar100)
    settings: AnyMethod = (_cifar100 if cifar else _mnist)(method, as_published)
    if epochs is not None:
        settings = replace(settings, schedule=replace(settings.schedule, epochs=epochs))
    if isinstance(settings, TrgpPlus) and weights is not None:
        settings = replace(settings, weights=weights, max_trusted=len(weights))
    if isinstance(settings, TrgpPlus) and recency is not None:
        settings = replace(settings, recency=recency)
    if isinstance(settings, TrgpFree) and start_from is not None:
        settings = replace(settings, start_from=start_from)
    if cifar:
        network = SmallAlexNet(tasks=stream.tasks, classes=stream.classes)
    else:
        network = MLP((784, 100, 100, stream.classes))
    return Experiment(stream, network, settings)


def stream_by_name(name: str, **settings: Any) -> AnyStream:
    """Return a stream by its short name.

    Args:
        name: The short name of a stream.
        **settings: Fields of the stream; those that are None keep their defaults.

    Returns:
        The stream.

    Raises:
        ValueError: If the name is unknown.

    Example:
        >>> stream_by_name("smnist", tasks=3, test_images=None).names
        ('0', '1', '2')
    """
    if name not in STREAMS:
        raise ValueError(f"stream {name!r}: give one of {', '.join(STREAMS)}")
    return STREAMS[name](**{key: value for key, value in settings.items() if value is not None})


def _mnist(method: MethodName, as_published: bool) -> AnyMethod:
    schedule = Schedule(learning_rate=0.01, epochs=5, batch_size=10)
    threshold = Threshold((0.95, 0.99, 0.99), growth=0.0, include_crossing=False)
    published: dict[str, Any] = {"as_published": True, "norms": "shared", "latest_only_at": (2,)}
    options = published if as_published else {}
    if method == "fine-tuning":
        return FineTuning(schedule)
    if method == "copies":
        return Copies(schedule)
    if method == "low-rank":
        return LowRank(schedule)
    if method == "gpm":
        return Gpm(schedule, threshold, num_examples=300)
    if method == "trgp-free":  # protecting more does not slow its learning
        return TrgpFree(
            schedule,
            Threshold((0.98, 0.99, 0.99), growth=0.0, include_crossing=False),
            num_examples=3000,
            trust_threshold=0.2,
        )
    kind = Trgp if method == "trgp" else TrgpPlus
    return kind(schedule, threshold, num_examples=300, trust_threshold=0.2, **options)


def _cifar100(method: MethodName, as_published: bool) -> AnyMethod:
    schedule = Schedule(learning_rate=0.01, epochs=200, batch_size=64, patience=6, factor=0.5, min_learning_rate=1e-5)
    threshold = Threshold(0.97, growth=0.003, include_crossing=False)
    num_examples, per_task = (24, 100, 100, 125, 125), ("heads",)
    options: dict[str, Any] = {"as_published": True, "norms": "shared"} if as_published else {}
    if method == "fine-tuning":
        return FineTuning(schedule)
    if method == "copies":
        return Copies(schedule)
    if method == "low-rank":
        return LowRank(schedule, per_task)
    if method == "gpm":
        return Gpm(schedule, threshold, num_examples, per_task)
    kind = {"trgp": Trgp, "trgp+": TrgpPlus, "trgp-free": TrgpFree}[method]
    return kind(schedule, threshold, num_examples, per_task, trust_threshold=0.5, **options)
