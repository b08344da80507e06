"""A few of the hostile command lines of tests/helpers/fuzzing_processes.py, each in a process of its own."""

import os

import pytest
from fuzzing_processes import command_line, finding

SEED = int(os.environ.get("EBBING_FUZZ_SEED", "0"))


@pytest.mark.parametrize("case", range(int(os.environ.get("EBBING_FUZZ_PROCESSES", "3"))))
def test_hostile_command_lines_end_well(case, tmp_path):
    assert finding(*command_line(SEED, case), tmp_path) == ""


@pytest.mark.parametrize("treatment", ["head", "no stdout"])
def test_output_that_nobody_reads_is_no_failure(treatment, tmp_path):
    arguments = ["replay", "--tasks", "categories:AAB", "-n", "20", "-p", "60", "--seconds", "0.2"]
    assert finding(arguments, {"PYTHONUNBUFFERED": "1"}, treatment, tmp_path) == ""
