"""Digests of networks: results of a network are not found under the key of another one.

Networks are the same if their modules have the same classes, code, attributes and weights. Attributes are whatever a
module was given beside its weights: numbers, flags, activation functions, configurations of other libraries. What they
refer to is followed, such as the fields of a configuration. An attribute that does not matter to the results, such as a
time of day, makes a network another one; that costs a training, and never gives the results of another network.
"""

from __future__ import annotations

from torch import nn

from ebbing.learn._description import Description, deep_recursion, digest_of


def network_digest(network: nn.Module) -> str:
    """Return a digest of everything that determines what a network computes and how it learns.

    Args:
        network: The network.

    Returns:
        The first 32 hexadecimal digits of a SHA-256 over classes, code and attributes of modules, and over names,
        types, shapes, values and ties of parameters and buffers.

    Example:
        >>> network = nn.Linear(2, 1)
        >>> before = network_digest(network)
        >>> network.temperature = 2.0
        >>> network_digest(network) == before
        False
    """
    return digest_of(network_lines(network))


@deep_recursion()
def network_lines(network: nn.Module) -> list[str]:
    """Return the lines that describe a network, its weights first.

    Args:
        network: The network.

    Returns:
        The lines.
    """
    description = Description()
    description.add_network(network)
    return description.lines
