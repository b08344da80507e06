"""Tasks of random inputs with linear labels, and a small network that learns them."""

import numpy as np
import torch
from torch import nn


def tasks(T=3, n=60, d=12, seed=0, kind="yes or no"):
    random = np.random.default_rng(seed)
    found = {}
    for name in "abcdefghijklm"[:T]:
        x = random.standard_normal((n, d)).astype(np.float32)
        y = x @ random.standard_normal(d)
        found[name] = (x, {"yes or no": (y > 0).astype(int), "classes": np.digitize(y, [-1, 1])}.get(kind, y))
    return found


def perceptron(outputs=1, d=12):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, outputs))
