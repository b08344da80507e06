"""Digests of networks: results of a network are not found under the key of another one.

Networks are the same if their modules have the same classes, code, attributes and weights. Attributes are whatever a
module was given beside its weights: numbers, flags, activation functions, configurations of other libraries. What they
refer to is followed, such as the fields of a configuration. An attribute that does not matter to the results, such as a
time of day, makes a network another one; that costs a training, and never gives the results of another network.
"""

from __future__ import annotations

import hashlib

from torch import nn

from ebbing.learn._description import Description, deep_recursion


@deep_recursion()
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
    description = Description()
    description.add_network(network)
    return hashlib.sha256("\n".join(description.lines).encode()).hexdigest()[:32]
