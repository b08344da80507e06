"""Figures, tables and verdicts made from the records in the repository."""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from ebbing.paper.recorded_results import comparison_result, fig2_result, sensitivity_result
from ebbing.paper.records import Record, RecordError, read_records
from ebbing.paper.reproduction import RECORDED, Options, reproduce
from ebbing.paper.table1 import TABLE1

REPRODUCED = Path(__file__).parents[3] / "reproduced"


@contextmanager
def silent(_name):
    yield lambda _share: None


def test_recorded_files_are_made_again_byte_for_byte(tmp_path):
    shutil.copytree(REPRODUCED / "records", tmp_path / "records")
    reproduce([], tmp_path, silent, Options(from_records=True))
    made = [path for path in tmp_path.iterdir() if path.suffix in (".csv", ".md", ".json") and path.stem != "verdicts"]
    assert {path.stem for path in made} == set(RECORDED)
    for path in made:
        assert path.read_bytes() == (REPRODUCED / path.name).read_bytes(), path.name
    here, there = (json.loads((folder / "verdicts.json").read_text())["verdicts"] for folder in (tmp_path, REPRODUCED))
    assert here == [verdict for verdict in there if verdict["target"] in RECORDED]


def test_making_figures_leaves_the_records_alone(tmp_path):
    shutil.copytree(REPRODUCED / "records", tmp_path / "records")
    reproduce(["fig2"], tmp_path, silent, Options(from_records=True))
    for path in (REPRODUCED / "records").iterdir():
        assert (tmp_path / "records" / path.name).read_bytes() == path.read_bytes()


def test_computed_targets_are_not_recorded(tmp_path):
    with pytest.raises(ValueError, match="from_records: fig1 is computed, not recorded"):
        reproduce(["fig1", "fig2"], tmp_path, silent, Options(from_records=True))


def test_an_empty_store_does_not_replace_a_table(tmp_path):
    shutil.copy(REPRODUCED / "table1.md", tmp_path)
    with pytest.raises(ValueError, match="has no finished run of table1, and an empty table would replace"):
        reproduce(["table1"], tmp_path, silent, Options(scale="paper", stored=True))
    assert (tmp_path / "table1.md").read_bytes() == (REPRODUCED / "table1.md").read_bytes()


def test_missing_seeds_and_unknown_runs_raise():
    fig2 = read_records(REPRODUCED, "fig2")
    with pytest.raises(RecordError, match="recorded seeds are 1, 2"):
        fig2_result([record for record in fig2 if record.seed in (1, 2)])
    with pytest.raises(RecordError, match="recorded seeds are none"):
        fig2_result([])
    some = [r for r in read_records(REPRODUCED, "sensitivity") if r.seed == 0 or r.name == "as in Figure 2"]
    with pytest.raises(RecordError, match=r"the variants have \[1, 3\] seeds"):
        sensitivity_result(some)
    with pytest.raises(RecordError, match="no run called 'pmnist / magic'"):
        comparison_result(TABLE1, [Record("table1", "pmnist / magic", 0, {}, {})])
