"""A part of the generated inputs of tests/helpers/fuzzing.py, without searches for orders."""

import os

import pytest
from fuzzing import fuzz

SEED = int(os.environ.get("EBBING_FUZZ_SEED", "0"))
INPUTS = int(os.environ.get("EBBING_FUZZ_INPUTS", "1000"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork in a process with threads, as pytest-xdist's has
def test_generated_inputs_give_results_or_clear_errors():
    findings = fuzz(0, INPUTS, SEED, orders=False)
    assert not findings, "\n".join(f"{f['seed']}/{f['case']} ({f['kind']}): {f['finding'][-600:]}" for f in findings)
