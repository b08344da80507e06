"""Entry points that users name as `module:function`: their tasks, and the function that builds their network."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebbing._extras import check_installed
from ebbing._tables import count_of, with_article

if TYPE_CHECKING:
    from torch import nn


def call_by_name(name: str) -> Any:
    """Import a module, also from the current folder, and call a function of it.

    Args:
        name: The module and the function, which takes no arguments: "mypackage.module:build".

    Returns:
        What the function returns.

    Raises:
        ValueError: If there is no such module or function, or it fails; the message has its error.

    Example:
        >>> import os
        >>> call_by_name("os:getcwd") == os.getcwd()
        True
    """
    module, _, function = name.partition(":")
    if not module or not function:
        raise ValueError(f"{name!r}: give a module and a function in it, such as mypackage.module:build")
    if module.endswith(".py"):
        dotted = module.removesuffix(".py").replace("/", ".").lstrip(".")
        raise ValueError(f"{name!r}: this is a file; give the module, such as {dotted}:{function}")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise ValueError(f"{name!r}: importing it failed: {error}; install what it needs") from error
        raise ValueError(
            f"{name!r}: there is no module {error.name!r}, neither installed nor in this folder; give "
            "mypackage.module:build"
        ) from None
    except Exception as error:  # the user's code may raise anything
        raise ValueError(f"{name!r}: importing it failed: {describe(error)}") from error
    target = getattr(found, function, None)
    if not callable(target) or hasattr(type(target), "forward"):  # a network is callable, too
        what = (
            "there is no such function"
            if target is None
            else f"this is {with_article(type(target).__name__)}, not a function"
        )
        raise ValueError(f"{name!r}: {what}; name a function without arguments")
    try:
        return target()
    except Exception as error:
        raise ValueError(f"{name!r}: the function failed: {describe(error)}") from error


def describe(error: BaseException) -> str:
    """Return an error in one line.

    Args:
        error: The error.

    Returns:
        Its kind and the first line of its message.

    Example:
        >>> describe(KeyError("width"))
        "KeyError: 'width'"
    """
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def tasks_by_name(name: str) -> Mapping[str, Any]:
    """Return the tasks that a function of the user gives.

    Args:
        name: "module:function".

    Returns:
        Data by task, as `ebbing.forecast` takes it.

    Raises:
        ValueError: If the function does not return two tasks or more.
    """
    tasks = call_by_name(name)
    if not isinstance(tasks, Mapping) or len(tasks) < 2:
        shown = f"{len(tasks)} task" if isinstance(tasks, Mapping) else type(tasks).__name__
        raise ValueError(f"{name!r} returns {shown}: it must return a dictionary of two tasks or more: {{name: data}}")
    return tasks


def is_entry_point(tasks: str) -> bool:
    """Return whether tasks are given as "module:function", and not as a folder.

    Args:
        tasks: What the user gave.

    Returns:
        True if they are.

    Example:
        >>> is_entry_point("mypackage.module:tasks"), is_entry_point("tasks/")
        (True, False)
    """
    return ":" in tasks and not Path(tasks).exists()


def load_tasks(tasks: str, label: str = "label", classes: str | None = None) -> Mapping[str, Any]:
    """Return the tasks that a user gives as a folder or as a function.

    Args:
        tasks: A folder with one file per task, or "module:function".
        label: The column of labels in the files.
        classes: The names of the classes, separated by commas, in the order of the network's outputs, if labels are
            names.

    Returns:
        Data by task, as `ebbing.forecast` takes it.

    Raises:
        ValueError: If they cannot be read, or there are fewer than two.
    """
    from ebbing.io.task_files import read_task_files

    names = None if classes is None else [name.strip() for name in classes.split(",")]
    if not is_entry_point(tasks):
        return read_task_files(Path(tasks), label, names)
    if names is not None:
        raise ValueError(f"classes={classes}: the labels of {tasks} are numbers already; names are for labels in files")
    return tasks_by_name(tasks)


def network_by_name(name: str, weights: Path | None = None, *, seed: int = 0) -> nn.Module:
    """Return the network that a function of the user builds.

    Args:
        name: "module:function".
        weights: A safetensors file of all its weights; None for those that the function gives it.
        seed: The seed of PyTorch while the function runs, so that it gives the same random weights each time.

    Returns:
        The network.

    Raises:
        ValueError: If the function returns something else, or the weights are not those of the network.
    """
    check_installed("torch", "--model")
    from torch import manual_seed, nn, random

    with random.fork_rng(devices=[]):
        manual_seed(seed)
        network = call_by_name(name)
    if not isinstance(network, nn.Module):
        raise ValueError(f"{name!r} returns {type(network).__name__}: it must return a PyTorch network (nn.Module)")
    if weights is not None:
        _load_weights(network, weights)
    return network


def _load_weights(network: nn.Module, file: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load_model

    if not file.is_file():
        raise ValueError(f"{file}: no such file; give the weights of the network as safetensors")
    try:
        missing, unexpected = load_model(network, file, strict=False)  # knows weights that are shared
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{file}: cannot be read as safetensors ({describe(error)})") from None
    except RuntimeError as error:  # the first line says whose weights, the second which
        reason = (str(error).splitlines() or [""])[-1].strip()
        raise ValueError(f"{file}: these are not weights of {type(network).__name__}: {reason}") from None
    if missing or unexpected:
        what = f"lacks {sorted(missing)[0]!r}" if missing else f"has {sorted(unexpected)[0]!r}, which is not in it"
        raise ValueError(
            f"{file}: these are not weights of {type(network).__name__}: the file {what}; "
            f"{count_of(len(missing), 'tensor')} {'is' if len(missing) == 1 else 'are'} missing and {len(unexpected)} "
            "too many"
        )
