"""Ways to a forecast: a network and data, precomputed features, or data alone: `forecast`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ebbing._extras import check_installed
from ebbing._progress import Progress, reporting
from ebbing._validate import Array
from ebbing.forecasting._forecast import Forecast
from ebbing.forecasting._notes import describe_doubts
from ebbing.forecasting.examples import Examples
from ebbing.forecasting.extent import Extent
from ebbing.forecasting.fitting import trained_to, training_time
from ebbing.forecasting.kernels import linear_kernel, mean_diagonal, normalize, random_feature_kernel
from ebbing.forecasting.recursion import KernelModel, Loss
from ebbing.forecasting.targets import BINARY, Targets

MOST_ROWS = 8000
"""Rows of a forecast, if sizes are not given: its kernel then takes half a gigabyte at most."""

MOST_EXAMPLES = 200
"""Training and test examples of each task, if sizes are not given."""

_KERNELS_HELD = 4
"""Matrices of the size of the kernel that a forecast holds at once, at most."""

_KERNELS = {
    "linear": (linear_kernel, "linear model of the inputs"),
    "random features": (random_feature_kernel, "random features of the inputs"),
}


def forecast(
    network: Any,
    tasks: Mapping[str, Any] | Examples,
    *,
    train_size: int | None = None,
    test_size: int | None = None,
    ridge: float = 0.0,
    time: float | None = None,
    learning_rate: float | None = None,
    steps: int | None = None,
    training_accuracy: float | None = None,
    training_error: float | None = None,
    loss: Loss | None = None,
    seed: int = 0,
    memory: float = 2e9,
    progress: Progress | bool = True,
) -> Forecast:
    """Predict what a model will forget when it learns tasks one after another. Nothing is trained.

    The model is the paper's: each task is learned to the solution nearest to where it starts. Its features are the
    gradients of the network's outputs at the present weights, so that it is exact for a linear head on frozen features,
    and an approximation for a network that moves far from where it starts.

    Args:
        network: A PyTorch network; only parameters with `requires_grad` count, and weights in half precision are
            copied to float32. Several networks: their kernels are averaged, which helps for networks with random
            weights. "linear": the inputs are features (of a frozen backbone, say) and a linear head is trained.
            "random features": a generic model of tabular data.
        tasks: Data by task: {"train": data, "test": data}, or data alone, of which a part is held out. Data is a pair
            (inputs, labels) of tensors or arrays, a Dataset or a DataLoader. Labels are whole numbers for classes, 0
            and 1 for yes or no, or floating-point numbers for regression. Or `Examples` that were read before.
        train_size: Training examples of each task, chosen at random; None for 200, fewer for more than 20 tasks.
        test_size: Test examples of each task; None for as many.
        ridge: A penalty on the distance from the previous weights, in units of the mean squared gradient.
        time: How long each task is trained, for those who stop early: learning rate times steps, in units of one over
            the mean squared gradient. None: until the task is fitted.
        learning_rate: The learning rate of plain gradient descent (not of Adam) on the cross-entropy, on the mean
            squared error for regression. With `steps` it gives the time, for a pretrained network that is trained
            briefly.
        steps: Gradient steps for each task: epochs times batches.
        training_accuracy: The accuracy on its training data at which training leaves a task, from 0 to 1, for those
            who stop early, with any optimizer. None: until the task is fitted.
        training_error: The same as a mean squared error, of probabilities for labels of yes or no and classes.
        loss: What training minimizes: "cross-entropy" for labels 0 and 1, or "squared". None: the cross-entropy for
            labels 0 and 1, otherwise the squared error.
        seed: The seed of the choice of examples.
        memory: Bytes that stored gradients may take.
        progress: True for a progress bar on a terminal, False for none, or a function that is called with the share of
            the work that is done.

    Returns:
        The forecast.

    Raises:
        ValueError: If the arguments that say how far tasks are trained contradict each other, or one of `learning_rate`
            and `steps` is missing; or if the network or the data cannot be used.

    Example:
        >>> random = np.random.default_rng(0)
        >>> inputs = random.standard_normal((300, 20))
        >>> tasks = {name: (inputs, inputs @ random.standard_normal(20) > 0) for name in ("cats", "dogs", "cars")}
        >>> found = forecast("linear", tasks)
        >>> found.errors(["cats", "dogs"]).round(2).tolist()
        [[0.25, 0.25], [0.1, 0.39], [0.45, 0.02]]
    """
    extent = Extent(learning_rate, steps, training_accuracy, training_error, time, ridge)
    time = extent.time
    examples = choose_examples(tasks, train_size=train_size, test_size=test_size, seed=seed)
    if isinstance(network, str):
        kernel, targets, outputs, source = _without_network(network, examples)
        scale, rounding = mean_diagonal(kernel), float(np.finfo(np.float64).eps)
    else:
        with reporting(progress, "kernel") as report:
            kernel, targets, outputs, source, scale, rounding = _of_networks(network, examples, memory, report)
    loss = _loss(loss, targets)
    if extent.learning_rate is not None and extent.steps is not None:
        time = training_time(targets, extent.learning_rate, extent.steps, scale, of_outputs=loss == "cross-entropy")
    start = np.mean(outputs if loss == "cross-entropy" else [targets.predictions(one) for one in outputs], axis=0)
    model = KernelModel(
        normalize(kernel),
        start,
        targets,
        examples.train,
        examples.test,
        extent.ridge,
        time,
        loss=loss,
        rounding=rounding,
    )
    model = trained_to(model, extent)
    notes = describe_doubts(model, examples.names, extent)
    return Forecast(examples.names, model, source, extent.describe(targets.kind), notes, scale)


def _targets(examples: Examples, outputs: int | None = None) -> Targets:
    """Return the targets of all tasks; an error names the first task whose labels do not fit the network's outputs."""
    for name, *rows in zip(examples.names, examples.train, examples.test, strict=True):
        try:
            Targets.of(examples.labels[np.concatenate(rows)], outputs)
        except ValueError as error:
            raise ValueError(f"task {name!r}: {error}") from None
    return Targets.of(examples.labels, outputs)


def _loss(loss: Loss | None, targets: Targets) -> Loss:
    """Return the loss that is meant."""
    if loss not in (None, "squared", "cross-entropy"):
        raise ValueError(f"loss={loss!r}: give 'squared' or 'cross-entropy'")
    if loss == "cross-entropy" and targets.kind not in BINARY:
        raise ValueError(
            f"loss='cross-entropy' is for labels 0 and 1, not for labels of the kind {targets.kind!r}: leave it out"
        )
    return loss or ("cross-entropy" if targets.kind in BINARY else "squared")


def choose_examples(
    tasks: Mapping[str, Any] | Examples, *, train_size: int | None = None, test_size: int | None = None, seed: int = 0
) -> Examples:
    """Return the examples that a forecast uses.

    Args:
        tasks: Data by task, as for `forecast`; examples that were chosen already are returned as they are.
        train_size: As for `forecast`.
        test_size: As for `forecast`.
        seed: As for `forecast`.

    Returns:
        The examples.

    Raises:
        ValueError: If a size is given for examples that were chosen already.
    """
    if isinstance(tasks, Examples):
        for name, size in (("train_size", train_size), ("test_size", test_size)):
            if size is not None:
                raise ValueError(f"{name}={size}: these Examples were chosen already; give it to Examples.read")
        return tasks
    most = min(MOST_EXAMPLES, max(2, MOST_ROWS // (2 * max(len(tasks), 1)))) if isinstance(tasks, Mapping) else 1
    train_size = most if train_size is None else train_size
    return Examples.read(
        tasks, train_size=train_size, test_size=train_size if test_size is None else test_size, seed=seed
    )


def forecast_memory(
    network: Any,
    tasks: Mapping[str, Any] | Examples,
    *,
    train_size: int | None = None,
    test_size: int | None = None,
    memory: float = 2e9,
) -> float:
    """Return about how many bytes a forecast of one network will take besides the data, before it is made.

    Args:
        network: As for `forecast`, one network.
        tasks: As for `forecast`.
        train_size: As for `forecast`.
        test_size: As for `forecast`.
        memory: Bytes that stored gradients may take.

    Returns:
        The stored gradients, and four matrices of the size of the kernel.

    Example:
        >>> tasks = {name: (np.ones((1000, 20)), np.ones(1000)) for name in ("cats", "dogs")}
        >>> forecast_memory("linear", tasks)  # 800 examples
        20480000.0
    """
    examples = choose_examples(tasks, train_size=train_size, test_size=test_size)
    gradients = 0.0
    if not isinstance(network, str):
        from ebbing.forecasting._network import check_examples_are_independent, check_network
        from ebbing.forecasting._tangent_kernel import kernel_cost

        check_examples_are_independent(network)
        check_network(network, examples.inputs)
        gradients = kernel_cost(network, examples.inputs, memory=memory).bytes_per_pass
    return gradients + _KERNELS_HELD * 8.0 * examples.rows**2


def _without_network(name: str, examples: Examples) -> tuple[Array, Targets, list[Array], str]:
    if name not in _KERNELS:
        raise ValueError(f"network={name!r}: give a PyTorch network, 'linear' or 'random features'")
    if isinstance(examples.inputs, dict):
        raise ValueError(f"network={name!r}: inputs are arrays by name; give one array of features")
    kernel, source = _KERNELS[name]
    targets = _targets(examples)
    start = np.zeros_like(targets.values)  # the outputs of a linear head that knows nothing
    return kernel(examples.inputs), targets, [start], source


def _of_networks(
    network: Any, examples: Examples, memory: float, progress: Progress
) -> tuple[Array, Targets, list[Array], str, float, float]:
    check_installed("torch", "a forecast of a network")
    from torch import nn

    from ebbing.forecasting._network import (
        OutputDifference,
        check_examples_are_independent,
        check_logits,
        check_network,
        in_single_precision,
        network_outputs,
        rounding_error,
    )
    from ebbing.forecasting._tangent_kernel import tangent_kernel

    networks = list(network) if isinstance(network, Sequence) and not isinstance(network, nn.Module) else [network]
    for one in networks:
        if isinstance(one, type):
            raise ValueError(f"network={one.__name__}, a class: give a network of this class, {one.__name__}(...)")
        if not isinstance(one, nn.Module):
            raise ValueError(
                f"network={type(one).__name__}: give a PyTorch network (nn.Module), several of them, 'linear' or "
                "'random features'"
            )
    if not networks:
        raise ValueError("network: an empty list; give at least one network")
    networks = [in_single_precision(getattr(one, "_orig_mod", one)) for one in networks]  # of torch.compile
    for one in networks:
        check_examples_are_independent(one)
        check_network(one, examples.inputs)
    outputs = [network_outputs(one, examples.inputs) for one in networks]
    targets = _targets(examples, outputs[0].shape[1])
    if targets.kind != "regression":
        check_logits(networks[0], outputs[0])
    if targets.kind == "two classes":
        networks, outputs = [OutputDifference(one) for one in networks], [one[:, 1:] - one[:, :1] for one in outputs]
    kernel, scale = np.zeros((examples.rows, examples.rows)), 0.0
    for k, one in enumerate(networks):

        def report(share: float, k: int = k) -> None:
            progress((k + share) / len(networks))

        own = tangent_kernel(one, examples.inputs, memory=memory, progress=report)
        kernel += normalize(own) / len(networks)
        scale += mean_diagonal(own) / len(networks)
    size = sum(p.numel() for p in networks[0].parameters() if p.requires_grad)
    several = f" of {len(networks)} networks" if len(networks) > 1 else ""
    source = f"tangent kernel{several} at the present weights, {size:,} trained parameters"
    return kernel, targets, outputs, source, scale, max(rounding_error(one) for one in networks)
