"""Runs the tests in tests/libraries, those of Avalanche in a process of their own.

These libraries take seconds to import, which every worker of the test suite would spend on collecting their tests; and
Avalanche is imported with stand-ins, which no other library should see. Lightning imports transformers itself.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = {
    "avalanche": ["test_avalanche.py"],
    "lightning and transformers": ["test_lightning.py", "test_transformers.py", "test_protected_trainer.py"],
}


@pytest.mark.parametrize("libraries", TESTS)
def test_integration(libraries):
    files = [f"tests/libraries/{name}" for name in TESTS[libraries]]
    options = ["-o", "addopts=--import-mode=importlib", "-o", "pythonpath=tests/helpers tests/libraries"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def test_every_file_is_run():
    found = {file.name for file in (ROOT / "tests" / "libraries").glob("test_*.py")}
    assert found == {name for names in TESTS.values() for name in names}
