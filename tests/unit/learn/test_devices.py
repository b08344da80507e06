"""Training on another device than the CPU: `device_cases`, in a process of their own.

A fake device stands for a GPU where there is none (`fake_device`): it computes on the CPU, and is as strict as a GPU.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("device", ["fake", pytest.param("cuda", marks=GPU)])
def test_training_on_another_device(device):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "device_cases.py"],
        cwd=Path(__file__).parent,
        env=os.environ | {"DEVICE": device},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
