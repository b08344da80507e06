"""Values that a user's code reads: another value has another digest, and use of it leaves the digest as it is."""

from typing import Any

import pytest

from ebbing.learn._code_digest import code_digest

HEAD = """
import collections, datetime, functools, io, threading
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
import numpy as np
import torch
from torch import nn
from tqdm import tqdm

def one(*args): return 1

@dataclass(frozen=True)
class Layer:
    width: int

class Config(dict):
    def __init__(self, rate): self.rate = rate

class Rates(list):
    def __init__(self, rate): self.rate = rate

class scaled:
    def __init__(self, function, factor):
        functools.update_wrapper(self, function)
        self.function, self.factor = function, factor
    def __call__(self, *args): return self.factor * self.function(*args)

class Around:
    def __init__(self, function, factor): self.__dict__ |= {"function": function, "factor": factor}
    def __getattr__(self, name): return getattr(self.function, name)
    def __call__(self, *args): return self.factor * self.function(*args)

class ByKey:
    def __init__(self, factor): self.__dict__["held"] = {"factor": factor}
    def __getattr__(self, name): return self.held[name]
    def __call__(self): return self.factor
"""

READS = """
@dataclass(frozen=True)
class Mine:
    def learn(self, network, data, generator): return VALUE
"""

PAIRS = {
    "set of settings": ("{Layer(3), Layer(5)}", "{Layer(4), Layer(5)}"),
    "set of sets": ("{frozenset({1, 2})}", "{frozenset({1, 3})}"),
    "sets that are split otherwise": ("[{1}, {2}]", "[{1, 2}, set()]"),
    "settings as a key": ("{Layer(3): 1}", "{Layer(4): 1}"),
    "path as a key": ("{Path('a'): 1}", "{Path('b'): 1}"),
    "pair as a key": ("{(datetime.date(2020, 1, 1), 1): 1}", "{(datetime.date(2021, 1, 1), 1): 1}"),
    "attribute of a dictionary": ("Config(1)", "Config(2)"),
    "attribute of a list": ("Rates(1)", "Rates(2)"),
    "names of fields": ("namedtuple('Sizes', 'a b')(1, 2)", "namedtuple('Sizes', 'b a')(1, 2)"),
    "default of a dictionary": ("defaultdict(int)", "defaultdict(one)"),
    "length of a queue": ("deque([1], maxlen=2)", "deque([1], maxlen=3)"),
    "view of a dictionary": ("{'a': 1}.values()", "{'a': 2}.values()"),
    "attribute of a decorator": ("scaled(one, 2)", "scaled(one, 3)"),
    "attribute beside a function": ("Around(one, 2)", "Around(one, 3)"),
    "attribute by key": ("ByKey(1)", "ByKey(2)"),
    "seed of NumPy": ("np.random.default_rng(0)", "np.random.default_rng(1)"),
    "generator of NumPy": (
        "np.random.Generator(np.random.PCG64(0))",
        "np.random.Generator(np.random.Philox(0))",
    ),
    "seed of PyTorch": ("torch.Generator().manual_seed(0)", "torch.Generator().manual_seed(1)"),
}
"""Values of a global that `learn` reads."""

TEXTS = {
    "dictionary": "class Own(dict):\n    def rate(self): return NUMBER\nVALUE = Own()\n",
    "list": "class Own(list):\n    def rate(self): return NUMBER\nVALUE = Own()\n",
    "string": "class Own(str):\n    def rate(self): return NUMBER\nVALUE = Own()\n",
    "number": "class Own(float):\n    def rate(self): return NUMBER\nVALUE = Own()\n",
    "named tuple": "class Own(NamedTuple):\n    a: int = 1\n    def rate(self): return NUMBER\nVALUE = Own()\n",
    "path": "class Own:\n    def __fspath__(self): return 'a' * NUMBER\nVALUE = Own()\n",
    "partial": "class Own(functools.partial):\n    def rate(self): return NUMBER\nVALUE = Own(one)\n",
    "tensor": "class Own(torch.Tensor):\n    def rate(self): return NUMBER\nVALUE = Own()\n",
    "array": "class Own(np.ndarray):\n    def rate(self): return NUMBER\nVALUE = np.ones(2).view(Own)\n",
    "mapping": "class Own(collections.abc.Mapping):\n    def __getitem__(self, key): return NUMBER\n"
    "    def __len__(self): return 0\n    def __iter__(self): return iter(())\nVALUE = Own()\n",
    "decorator": "class Own:\n    def __init__(self, f): functools.update_wrapper(self, f)\n"
    "    def __call__(self): return NUMBER\nVALUE = Own(one)\n",
    "class of a class": "class Kind(type):\n    rate = NUMBER\nclass VALUE(metaclass=Kind): pass\n",
}
"""Values of classes of the user's, with the place of a number."""

USES = {
    "progress bar": ("tqdm(total=3, file=io.StringIO())", "VALUE.update()"),
    "thread": ("threading.Thread(target=one)", "VALUE.start(); VALUE.join()"),
}
"""Values of a global that `learn` reads, and what uses them."""


def made(text: str, use: str = "") -> str | None:
    """The digest of the class `Mine` of a text that is run as in a notebook."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + text + READS, "<cell>", "exec", dont_inherit=True), scope)
    exec(use, scope)
    return code_digest(scope["Mine"]())


@pytest.mark.parametrize("what", PAIRS)
def test_another_value_changes_the_digest(what):
    one, other, again = (made(f"VALUE = {value}") for value in (*PAIRS[what], PAIRS[what][0]))
    assert one == again != other


@pytest.mark.parametrize("what", TEXTS)
def test_edited_class_of_a_value_changes_the_digest(what):
    one, other, again = (made(TEXTS[what].replace("NUMBER", number)) for number in "121")
    assert one == again != other


@pytest.mark.parametrize(
    ("value", "use"),
    [
        ("np.random.default_rng(0)", "VALUE.random(3)"),
        ("torch.Generator().manual_seed(0)", "torch.rand(3, generator=VALUE)"),
    ],
)
def test_generators_that_have_gone_on_change_the_digest(value, use):
    assert made(f"VALUE = {value}", use) != made(f"VALUE = {value}") == made(f"VALUE = {value}")


@pytest.mark.parametrize("what", USES)
def test_use_of_a_value_leaves_the_digest(what):
    value, use = USES[what]
    assert made(f"VALUE = {value}", use) == made(f"VALUE = {value}")


def test_members_of_sets_may_refer_to_the_set():
    text = "class Node:\n    def __init__(self, name): self.name, self.near = name, set()\n"
    text += "VALUE = [Node(k) for k in range(20)]\nfor node in VALUE: node.near |= {*VALUE}\n"
    assert made(text) == made(text)
