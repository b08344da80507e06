"""Architectures of the paper's experiments.

`FiveLayers` is the network of Figure 2; `MLP` and `SmallAlexNet` are those of Table 1.
"""

from ebbing.learn.networks.dropout import Dropout
from ebbing.learn.networks.five_layers import FiveLayers
from ebbing.learn.networks.mlp import MLP
from ebbing.learn.networks.small_alexnet import SmallAlexNet

__all__ = ["MLP", "Dropout", "FiveLayers", "SmallAlexNet"]
