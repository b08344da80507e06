"""Digests of a user's files: every edit on which results may depend changes them, and nothing else does."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from torch import nn

from ebbing.learn import Sgd
from ebbing.learn._code_digest import code_digest
from ebbing.learn._network_digest import network_digest

HEAD = """
import cmath, enum, functools, logging, math, os, re, threading
from argparse import Namespace
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar
import numpy as np
import torch
from torch import nn
from ebbing.learn import Schedule, Sgd
"""
CLASS = """
@dataclass(frozen=True)
class Mine:
    version: ClassVar[int] = 1
    step: float = 0.1
"""
READS = CLASS + "    def learn(self, network, data, generator): return VALUE\n"

VALUES = {
    "loss function": "nn.CrossEntropyLoss(label_smoothing=NUMBER)",
    "tensor": "torch.tensor([0.5, NUMBER])",
    "array": "np.array([0.5, NUMBER])",
    "scalar of numpy": "np.float32(NUMBER)",
    "set": "{0.5, NUMBER}",
    "fraction": "Fraction('NUMBER')",
    "pattern": "re.compile('NUMBER')",
    "arguments": "Namespace(rate=NUMBER)",
    "settings": "Schedule(learning_rate=NUMBER)",
    "method": "Sgd(learning_rate=NUMBER)",
    "partial": "functools.partial(torch.optim.SGD, lr=NUMBER)",
    "bound method": "Sgd(learning_rate=NUMBER).learn",
    "slice": "slice(int(10 * NUMBER))",
    "range": "range(int(10 * NUMBER))",
}
"""Values of a global that `learn` reads, with the place of a number."""

NAMES = {
    "class of PyTorch": ("torch.optim.SGD", "torch.optim.Adam"),
    "function of PyTorch": ("torch.relu", "torch.tanh"),
    "function of PyTorch in Python": ("nn.functional.relu", "nn.functional.gelu"),
    "function of NumPy": ("np.sin", "np.cos"),
    "function of Python": ("min", "max"),
    "module": ("math", "cmath"),
    "data type": ("torch.float32", "torch.float64"),
    "device": ("torch.device('cpu')", "torch.device('meta')"),
}
"""Pairs of installed things, known by their names."""

TEXTS = {
    "class constant": CLASS + "    rate: ClassVar[float] = NUMBER\n    def learn(self, *args): return self.rate\n",
    "attribute of the class": CLASS
    + "    loss = nn.SmoothL1Loss(beta=NUMBER)\n    def learn(self, *args): return self.loss\n",
    "object": "class Rate:\n    def __init__(self, value): self.value = value\nVALUE = Rate(NUMBER)\n" + READS,
    "enumeration": "class Rate(enum.Enum):\n    ONE = NUMBER\nVALUE = Rate.ONE\n" + READS,
    "base class": CLASS.replace("class Mine", "class Base")
    + "class Mine(Base):\n    def __init__(self):\n        super().__init__(step=0)\n"
    "        object.__setattr__(self, 'rate', NUMBER)\n    def learn(self, *args): return self.rate\n",
    "enclosing function": "def make(value):\n    value = torch.tensor(value)\n"
    + "".join(f"    {line}\n" for line in READS.replace("VALUE", "value").splitlines())
    + "    return Mine\nMine = make(NUMBER)\n",
    "partial method": CLASS + "    def given(self, *args, rate): return rate\n"
    "    learn = functools.partialmethod(given, rate=NUMBER)\n",
    "dispatched function": "@functools.singledispatch\ndef VALUE(x): return 0\n@VALUE.register\n"
    "def _(x: int): return NUMBER\n" + READS,
    "private global": "__RATE = NUMBER\ndef VALUE(): return __RATE\n" + READS,
    "function in a field with slots": "def rate(): return NUMBER\n"
    "@dataclass(frozen=True, slots=True)\nclass Mine:\n    rate: object = rate\n    def settings(self): return {}\n",
    "function in a dictionary of a field": "def rate(): return NUMBER\n"
    "@dataclass(frozen=True)\nclass Mine:\n    rates: object = None\n"
    "    def __post_init__(self): object.__setattr__(self, 'rates', {'one': rate})\n"
    "    def settings(self): return {}\n",
    "default of an argument": CLASS
    + "    def learn(self, network, data, generator, rate=torch.tensor(NUMBER)): return rate\n",
    "field that is a function": "def rate(): return NUMBER\n" + CLASS + "    rate: object = rate\n"
    "    def settings(self): return {'rate': self.rate.__name__}\n    def learn(self, *args): return self.rate()\n",
}
"""Texts with the place of a number."""

IMPORTS = {
    "module in a package": "import rates.linear\n" + READS.replace("VALUE", "rates.linear.rate()"),
    "module by another name": "import rates.linear as used\n" + READS.replace("VALUE", "used.rate()"),
    "import in a function": READS.replace("return", "from rates.linear import rate; return").replace("VALUE", "rate()"),
    "import of a module in a function": READS.replace("return", "import rates.linear; return").replace(
        "VALUE", "rates.linear.rate()"
    ),
}
"""Texts that use the file rates/linear.py."""


@pytest.fixture
def digest(monkeypatch):
    """The digest of the class `Mine` of a file, as after a new start of Python."""

    def found(folder: Path, text: str, name: str = "mine", rate: str | None = None) -> str | None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(HEAD + text)
        if rate is not None:
            (folder / "rates").mkdir(exist_ok=True)
            (folder / "rates" / "linear.py").write_text(f"def rate(): return {rate}\n")
        with monkeypatch.context() as patch:
            for imported in (name, "rates", "rates.linear"):
                patch.delitem(sys.modules, imported, raising=False)
            patch.syspath_prepend(folder)
            result = code_digest(importlib.import_module(name).Mine())
            for imported in (name, "rates", "rates.linear"):
                sys.modules.pop(imported, None)
            return result

    return found


def made(text: str) -> str | None:
    """The digest of the class `Mine` of a text that is run as in a notebook."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + text, "<cell>", "exec", dont_inherit=True), scope)
    return code_digest(scope["Mine"]())


@pytest.mark.parametrize("what", [*VALUES, *TEXTS])
def test_edited_number_changes_the_digest(what):
    text = f"VALUE = {VALUES[what]}\n{READS}" if what in VALUES else TEXTS[what]
    one, other, again = (made(text.replace("NUMBER", number)) for number in ("0.1", "0.2", "0.1"))
    assert one == again != other


@pytest.mark.parametrize("what", NAMES)
def test_another_installed_thing_changes_the_digest(what):
    one, other, again = (made(f"VALUE = {name}\n{READS}") for name in (*NAMES[what], NAMES[what][0]))
    assert one == again != other


@pytest.mark.parametrize("other", ["x, *y", "x, **y", "x, *, y"])
def test_another_kind_of_argument_changes_the_digest(other):
    assert made(f"def VALUE(x, y): return y\n{READS}") != made(f"def VALUE({other}): return y\n{READS}")


def test_globals_named_like_a_local_variable_do_not_count():
    text = f"def VALUE(x):\n    rate = x\n    return [rate for _ in range(3)]\n{READS}"
    assert made(text) == made(f"rate = 1\n{text}")


def test_attributes_that_are_no_fields_change_the_digest():
    class Forgetful(Sgd):  # no dataclass: its fields are those of Sgd
        def __init__(self, rate):
            super().__init__()
            object.__setattr__(self, "rate", rate)

    one, other, again = (code_digest(Forgetful(rate)) for rate in (0.1, 0.2, 0.1))
    assert one == again != other


def test_another_installed_base_changes_the_digest():
    text = "class VALUE(nn.ReLU):\n    pass\n" + READS
    assert made(text) != made(text.replace("ReLU", "Tanh"))


@pytest.mark.parametrize("what", IMPORTS)
def test_edited_import_changes_the_digest(tmp_path, digest, what):
    one, other, again = (
        digest(tmp_path / str(k), IMPORTS[what], rate=rate) for k, rate in enumerate(("0.1", "0.2", "0.1"))
    )
    assert one == again != other


NOISE = (
    "VALUE = nn.SmoothL1Loss(beta=0.1)\nlog, lock = logging.getLogger(__name__), threading.Lock()\n"
    "HERE = os.path.dirname(__file__)\ndef help():\n    class Inner:\n        'A docstring.'\n    return Inner\n"
) + READS.replace("return", "log.info(__file__, lock, os.environ, help()); return")


def test_digest_does_not_depend_on_places_and_comments(tmp_path, digest):
    expected = digest(tmp_path / "one", NOISE)
    assert digest(tmp_path / "another" / "place", NOISE) == expected
    assert digest(tmp_path / "one", NOISE, name="renamed") == expected
    commented = "# A comment.\n\n" + NOISE.replace("A docstring.", "Another docstring.")
    assert digest(tmp_path / "commented", commented) == expected


def test_modules_of_a_package_may_refer_to_each_other(tmp_path, monkeypatch):
    names = [f"part_{k}" for k in range(14)]
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").touch()
    imports = "".join(f"from parts import {name}\n" for name in names)
    for name in names:
        (tmp_path / "parts" / f"{name}.py").write_text(f"{imports}RATE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = f"import parts\n{imports}{READS}".replace("VALUE", " + ".join(f"parts.{name}.RATE" for name in names))
    digests = [made(text)]
    for module in (importlib.import_module(f"parts.{name}") for name in (names[-1], names[0])):
        monkeypatch.setattr(module, "RATE", 2)
        digests.append(made(text))
    assert len({*digests}) == 3


PLACES = ("__file__", "os.path.dirname(__file__)", "pathlib.Path(__file__).resolve().parent.parent / 'data'")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "text", ["VALUE = PLACE\n" + READS, READS.replace("return", "return self.DATA;") + "    DATA = PLACE\n"]
)
def test_digest_does_not_depend_on_the_folder_of_the_file(tmp_path, digest, text, place):
    one, another = (
        digest(tmp_path / name, "import pathlib\n" + text.replace("PLACE", place)) for name in ("one", "other")
    )
    assert one == another
    elsewhere = digest(tmp_path / "one", "import pathlib\n" + text.replace("PLACE", f"str({place}) + 's'"))
    assert elsewhere != one


def test_a_users_file_may_be_named_like_one_of_python(tmp_path, digest):
    found = digest(tmp_path / "one", NOISE, name="test")
    assert found == digest(tmp_path / "one", NOISE)
    assert found != digest(tmp_path / "two", NOISE.replace("beta=0.1", "beta=0.2"), name="test")


def test_script_under_a_profiler_has_the_same_digest(tmp_path, digest):
    expected = digest(tmp_path, NOISE)
    shown = "\nfrom ebbing.learn._code_digest import code_digest\nprint(code_digest(Mine()))\n"
    (tmp_path / "script.py").write_text(HEAD + NOISE + shown)
    command = [sys.executable, "-m", "cProfile", "script.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout.split()[0] == expected


def test_classes_run_from_a_text_without_a_module_have_digests():
    digests = []
    for factor in (2, 3, 2):
        scope: dict[str, Any] = {}  # Python then takes the module for its own builtins
        exec(f"class Typed:\n    def learn(self, network):\n        return {factor} * network", scope)
        digests.append(code_digest(scope["Typed"]()))
    assert digests[0] == digests[2] != digests[1]


def test_functions_without_a_module_have_digests():
    found = []
    for function in (lambda x: 2 * x, lambda x: 3 * x):
        network = nn.Identity()
        network.extra = FunctionType(function.__code__, {})  # type: ignore[assignment]
        found.append(network_digest(network))
    assert found[0] != found[1]
