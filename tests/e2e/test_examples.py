"""The examples, run as users run them."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_protecting_a_model():
    command = [sys.executable, str(EXAMPLES / "protect_a_model.py"), "--images", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stderr
    lines = done.stdout.splitlines()[1:]
    rows = {line[:24].strip(): [float(number) for number in re.findall(r"[-+]?\d+\.\d+", line)] for line in lines}
    assert list(rows) == ["fine-tuning", "fine-tuning, task heads", "GPM", "TRGP free", "a copy for each task"]
    *_, plain, _ = rows["fine-tuning"]
    assert plain < -20  # so that there is something to protect from
    for name in ("GPM", "TRGP free", "a copy for each task"):
        *accuracies, average, transfer, _ = rows[name]
        assert abs(sum(accuracies) / 5 - average) < 0.1
        assert average > rows["fine-tuning, task heads"][5] + 10
        assert abs(transfer) < 2
