"""Keys of a user's own classes: they change with the code and with what it builds, and with nothing else."""

import copy
import importlib.util
import subprocess
import sys
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toy_runs

from ebbing.learn import CustomTasks, Experiment, FiveLayers, Gpm, Sgd, prefix_tree
from ebbing.learn._code_digest import code_digest
from ebbing.runs import execute

store, trained = toy_runs.store, toy_runs.trained  # fixtures

MODULE = '''
"""A user's file."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import torch
from torch import nn

from ebbing.learn import TaskData

WIDTHS = [3, 4]
RATE = 0.1
KEPT = {}


def rate(step):
    return RATE / (1 + step)


@cache
def offset():
    return 0.0


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, WIDTHS[0]), nn.Linear(WIDTHS[0], 1)

    def forward(self, x):
        return self.last(self.first(x).relu())


@dataclass(frozen=True)
class MyNetwork:
    def build(self, seed):
        torch.manual_seed(seed)
        return Network()


@dataclass(frozen=True)
class MyTasks:
    fingerprint: str = "mine"

    def load(self, occurrence, seed):
        """Load the data."""
        inputs = torch.randn(6, 4, generator=torch.Generator().manual_seed(seed)) + offset()
        labels = (inputs[:, :1] > 0).float()
        return TaskData(inputs, labels, inputs, labels)


class MyLearner:
    def __init__(self, network):
        self.network, self.tasks = network, []

    def learn(self, task, data, **options):
        self.tasks.append(task)
        for parameter in self.network.parameters():
            parameter.data.mul_(1 - rate(len(self.tasks)))

    def outputs(self, task, inputs):
        return self.network(inputs).detach()  # a comment

    def state(self):
        return {**self.network.state_dict(), "count": torch.tensor(len(self.tasks))}

    def restore(self, state):
        self.tasks = ["x#0", "y#0"][: int(state.pop("count"))]
        self.network.load_state_dict(state)


@dataclass(frozen=True)
class MyMethod:
    version: ClassVar[int] = 1
    steps: int = 1

    def start(self, network):
        return MyLearner(network)
'''

NODES = prefix_tree([["x", "y"]], seed=0) + prefix_tree([["x", "y"]], seed=1)


def imported(folder, text) -> Any:
    """Import a version of the user's file."""
    file = folder / f"mine_{len(list(folder.glob('*.py')))}.py"
    file.write_text(text)
    spec: Any = importlib.util.spec_from_file_location("mine", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mine"] = module  # as after a new start of Python
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def experiment(tmp_path):
    """The experiment of a version of the user's file."""

    def made(*change: str, steps: int = 1) -> Experiment:
        text = MODULE.replace(change[0], change[1]) if change else MODULE
        assert bool(change) == (text != MODULE)
        module = imported(tmp_path, text)
        return Experiment(module.MyTasks(), module.MyNetwork(), module.MyMethod(steps=steps))

    yield made
    sys.modules.pop("mine", None)


EDITS = {
    "build": ("torch.manual_seed(seed)", "torch.manual_seed(seed + 1)"),
    "module that build uses": ("nn.Linear(4, WIDTHS[0])", "nn.Linear(4, WIDTHS[0], bias=False)"),
    "forward": ("self.first(x).relu()", "self.first(x).tanh()"),
    "list of widths": ("WIDTHS = [3, 4]", "WIDTHS = [5, 4]"),
    "learner": ("parameter.data.mul_", "parameter.data.add_"),
    "function that the learner calls": ("RATE / (1 + step)", "RATE / (2 + step)"),
    "constant that a function reads": ("RATE = 0.1", "RATE = 0.2"),
    "cached function": ("return 0.0", "return 1.0"),
    "tasks": ("inputs[:, :1] > 0", "inputs[:, :1] > 0.5"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_code_is_trained_again(experiment, store, trained, edit):
    before = execute(experiment(), NODES, store)
    trained.clear()
    after = execute(experiment(*EDITS[edit]), NODES, store)
    assert len(trained) == len(NODES)
    assert after != before
    trained.clear()
    assert execute(experiment(), NODES, store) == before  # the old results are still there
    assert trained == []


@pytest.mark.parametrize(
    "edit",
    [
        ("  # a comment", "  # another comment\n\n"),
        ('"""Load the data."""', '"""Make up the data."""'),
        ('"""A user\'s file."""', "UNUSED = 3"),
        ("steps: int = 1", "steps: int = 2"),  # a default; the value is a setting
    ],
)
def test_edits_that_change_nothing_keep_results(experiment, store, trained, edit):
    before = execute(experiment(), NODES, store)
    trained.clear()
    assert execute(experiment(*edit), NODES, store) == before
    assert trained == []


def test_code_of_ebbing_has_no_digest():
    tasks = CustomTasks(
        train={"a": (torch.ones(2, 1), torch.ones(2, 1))}, test={"a": (torch.ones(2, 1), torch.ones(2, 1))}
    )
    assert [code_digest(part) for part in (tasks, FiveLayers(), Sgd(), Gpm())] == [None] * 4


def test_ebbings_method_with_a_users_part_has_a_digest(tmp_path):
    @dataclass(frozen=True)
    class Holding(Sgd):
        held: object = None

    found = [code_digest(Holding(held=imported(tmp_path, text).MyTasks())) for text in (MODULE, MODULE)]
    edited = MODULE.replace("> 0)", "> 1)")
    assert found[0] == found[1] != code_digest(Holding(held=imported(tmp_path, edited).MyTasks()))


def test_digest_is_the_same_in_every_process(tmp_path):
    text = MODULE + "\nNAMES = frozenset('abcdefgh')\nMyMethod.kinds = NAMES\n"
    here = code_digest(imported(tmp_path, text).MyMethod())
    (tmp_path / "mine.py").write_text(text)
    program = "import mine, ebbing.learn._code_digest as d; print(d.code_digest(mine.MyMethod()))"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == here


class Color(Enum):
    RED = 1


class OtherColor(Enum):
    RED = 2


OtherColor.__qualname__ = Color.__qualname__
CONSTANTS = {
    "set": ({1, 2}, {1, 3}),
    "set in a list": ([{1}], [{2}]),
    "range": (range(5), range(6)),
    "slice": (slice(3), slice(4)),
    "path": (Path("mine"), Path("yours")),
    "array": (np.array([0.1307, 0.3081]), np.array([0.5, 0.5])),
    "array of another type": (np.array([1]), np.array([1.0])),
    "array of objects": (np.array([{1}, 2], dtype=object), np.array([{3}, 2], dtype=object)),
    "number of NumPy": (np.int64(1), np.int64(2)),
    "tensor": (torch.tensor([0.5]), torch.tensor([0.25])),
    "sparse tensor": (torch.eye(2).to_sparse(), 2 * torch.eye(2).to_sparse()),
    "type of tensors": (torch.float32, torch.float64),
    "type of arrays": (np.dtype("f4"), np.dtype("f8")),
    "member of an enumeration": (Color.RED, OtherColor.RED),
}


@pytest.mark.parametrize("kind", CONSTANTS)
def test_constants_of_a_users_file_count(kind):
    digests = []
    for constant in (*CONSTANTS[kind], copy.deepcopy(CONSTANTS[kind][0])):
        scope: dict[str, Any] = {"__name__": "__main__", "CONSTANT": constant}
        exec("class Typed:\n    def load(self, occurrence, seed):\n        return CONSTANT", scope)
        digests.append(code_digest(scope["Typed"]()))
    assert digests[0] == digests[2] != digests[1]


def test_class_without_a_file_has_a_digest():
    digests = []
    for factor in (2, 3, 2):
        scope: dict[str, Any] = {"__name__": "__main__"}
        exec(f"class Typed:\n    def learn(self, network):\n        return {factor} * network", scope)
        digests.append(code_digest(scope["Typed"]()))
    assert digests[0] == digests[2] != digests[1]


def test_networks_built_without_the_seed_raise(experiment, store):
    careless = experiment("        torch.manual_seed(seed)\n", "")
    with pytest.raises(ValueError, match=r"build\(seed\) gave two different networks for the same seed"):
        execute(careless, NODES, store)


def test_networks_that_count_themselves_raise(experiment, store):
    counting = experiment("        super().__init__()\n", "        super().__init__()\n        WIDTHS.append(5)\n")
    with pytest.raises(ValueError, match=r"that modules read was .*, then .*; let it depend"):
        execute(counting, NODES, store)


def test_settings_that_training_changes_give_no_old_result(experiment, store, trained):
    learn = "    def learn(self, task, data, **options):\n"
    made = experiment(learn, f"{learn}        KEPT['temperature'] = 0.1\n")  # as annealing does
    execute(made, NODES, store)
    trained.clear()
    execute(made, NODES, store)  # begins at 0.1
    assert len(trained) == len(NODES)


def test_data_that_is_read_once_enters_the_key_of_every_seed(experiment):
    reads = "    @property\n    def fingerprint(self):\n        return KEPT.setdefault('data', 'mine')\n"
    made = experiment('    fingerprint: str = "mine"\n', reads)
    assert made.describe(0)["tasks"] == made.describe(1)["tasks"]


def test_describing_leaves_the_global_generator_alone(experiment):
    made = experiment()
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    made.describe()
    assert torch.equal(torch.rand(3), expected)


def test_initial_network_of_the_seed_enters_the_key(experiment):
    made = experiment()
    built = [made.describe(seed)["architecture"].pop("built") for seed in (0, 1, 0)]
    assert built[0] == built[2] != built[1]
    assert "built" not in replace(made, architecture=FiveLayers()).describe()["architecture"]
