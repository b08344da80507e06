"""Functions that users name: a failing import is told from a missing module."""

import pytest
import torch

from ebbing.io.entry_points import call_by_name, network_by_name, tasks_by_name


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A function that writes a module into the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def module(name, text):
        (tmp_path / f"{name}.py").write_text(text)

    return module


def test_a_module_of_the_current_folder_is_found(module):
    module("of_this_folder", "def f(): return 5")
    assert call_by_name("of_this_folder:f") == 5


def test_failures_of_an_import_are_told_apart(module):
    module("needs_more", "import a_module_that_nobody_has")
    module("fails", "1 / 0")
    with pytest.raises(ValueError, match="importing it failed: No module named 'a_module_that_nobody_has'; install"):
        call_by_name("needs_more:f")
    with pytest.raises(ValueError, match="importing it failed: ZeroDivisionError: division by zero"):
        call_by_name("fails:f")
    with pytest.raises(ValueError, match="there is no module 'no_package'"):
        call_by_name("no_package.module:f")


def test_values_are_not_functions(module):
    module("has_a_value", "f = 5\ndef one(): return {'a': 1}")
    with pytest.raises(ValueError, match="this is an int, not a function"):
        call_by_name("has_a_value:f")
    with pytest.raises(ValueError, match="returns 1 task: it must return a dictionary of two"):
        tasks_by_name("has_a_value:one")


def test_networks_and_files_are_not_functions(module):
    module("has_a_network", "import torch\nnetwork = torch.nn.Linear(3, 2)")
    with pytest.raises(ValueError, match="this is a Linear, not a function; name a function without arguments"):
        network_by_name("has_a_network:network")
    with pytest.raises(ValueError, match=r"this is a file; give the module, such as mine\.networks:build"):
        network_by_name("./mine/networks.py:build")


def test_random_weights_depend_on_the_seed_alone(module):
    module("builds", "import torch\ndef build(): return torch.nn.Linear(3, 2)")
    state = torch.get_rng_state()
    first, again, other = (network_by_name("builds:build", seed=seed).state_dict()["weight"] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)
