"""Figures, tables and verdicts made from the records in the repository."""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from ebbing.paper.recorded_results import comparison_result, fig2_result, sensitivity_result
from ebbing.paper.records import Record, RecordError, read_records
from ebbing.paper.reproduction import RECORDED, Options, ReproductionError, default_folder, reproduce
from ebbing.paper.table1 import TABLE1

REPRODUCED = Path(__file__).parents[3] / "reproduced"


@contextmanager
def silent(_name):
    yield lambda _share: None


def test_recorded_files_are_made_again_byte_for_byte(tmp_path):
    shutil.copytree(REPRODUCED / "records", tmp_path / "records")
    reproduce([], tmp_path, silent, Options(from_records=True, workers=1))
    made = [path for path in tmp_path.iterdir() if path.is_file() and path.stem != "verdicts"]
    assert {path.stem for path in made} == {*RECORDED, "fig2_theory"}
    assert {path.suffix for path in made} == {".csv", ".md", ".json", ".png", ".svg"}
    for path in made:
        assert path.read_bytes() == (REPRODUCED / path.name).read_bytes(), path.name
    here, there = (json.loads((folder / "verdicts.json").read_text())["verdicts"] for folder in (tmp_path, REPRODUCED))
    assert here == [verdict for verdict in there if verdict["target"] in RECORDED]


def test_targets_from_records_run_and_fail_in_processes(tmp_path):
    records = tmp_path / "records"
    records.mkdir()
    shutil.copy(REPRODUCED / "records" / "sensitivity.jsonl", records)
    (records / "ablations.jsonl").write_text("{}\n")
    with pytest.raises(ReproductionError) as failed:
        reproduce(["ablations", "sensitivity"], tmp_path, silent, Options(from_records=True))
    assert "line 1: this line is not a record" in str(failed.value.failures["ablations"])
    assert isinstance(failed.value.failures["ablations"], RecordError)
    for name in ("sensitivity.csv", "sensitivity.svg"):
        assert (tmp_path / name).read_bytes() == (REPRODUCED / name).read_bytes()
    there = json.loads((REPRODUCED / "verdicts.json").read_text())["verdicts"]
    assert [v.claim for v in failed.value.verdicts] == [v["claim"] for v in there if v["target"] == "sensitivity"]


def test_all_recorded_targets_run_and_no_others(tmp_path):
    (tmp_path / "records").mkdir()
    shutil.copy(REPRODUCED / "records" / "sensitivity.jsonl", tmp_path / "records")
    made = reproduce([], tmp_path, silent, Options(from_records=True))
    there = json.loads((REPRODUCED / "verdicts.json").read_text())["verdicts"]
    assert [v.claim for v in made] == [v["claim"] for v in there if v["target"] == "sensitivity"]


def test_a_folder_without_any_record_is_an_error(tmp_path):
    with pytest.raises(RecordError, match=r"from_records: .* has no records; name their folder by --out, or train"):
        reproduce([], tmp_path, silent, Options(from_records=True))
    assert not list(tmp_path.iterdir())


def test_the_default_folder_is_that_of_the_records(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert default_folder(recorded=True) == Path("results")
    (tmp_path / "reproduced" / "records").mkdir(parents=True)
    shutil.copy(REPRODUCED / "records" / "sensitivity.jsonl", "reproduced/records")
    assert default_folder(recorded=True) == Path("reproduced")
    assert default_folder(recorded=False) == Path("results")


def test_making_figures_leaves_the_records_alone(tmp_path):
    shutil.copytree(REPRODUCED / "records", tmp_path / "records")
    reproduce(["fig2"], tmp_path, silent, Options(from_records=True))
    drawn = (tmp_path / "fig2.svg").read_bytes()
    reproduce(["fig2"], tmp_path, silent, Options(from_records=True))
    assert (tmp_path / "fig2.svg").read_bytes() == drawn
    for path in (REPRODUCED / "records").iterdir():
        assert (tmp_path / "records" / path.name).read_bytes() == path.read_bytes()


def test_computed_targets_are_not_recorded(tmp_path):
    with pytest.raises(ValueError, match="from_records: fig1 is computed, not recorded"):
        reproduce(["fig1", "fig2"], tmp_path, silent, Options(from_records=True))


@pytest.mark.parametrize("target", RECORDED)
def test_a_folder_without_records_replaces_no_file(tmp_path, target):
    shutil.copy(REPRODUCED / "table1.md", tmp_path)
    with pytest.raises(RecordError, match=f"no run of {target} is recorded there; name the folder of records by --out"):
        reproduce([target], tmp_path, silent, Options(from_records=True))
    assert [path.name for path in tmp_path.iterdir()] == ["table1.md"]
    assert (tmp_path / "table1.md").read_bytes() == (REPRODUCED / "table1.md").read_bytes()


@pytest.mark.parametrize("target", ["fig2", "table1", "ablations"])
def test_quick_runs_do_not_replace_recorded_results(tmp_path, target):
    shutil.copytree(REPRODUCED / "records", tmp_path / "records")
    with pytest.raises(ValueError, match=rf"scale='quick': .* has the records of {target} at paper scale"):
        reproduce([target], tmp_path, silent)
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


def test_any_seeds_may_be_recorded():
    records = [record for record in read_records(REPRODUCED, "fig2") if record.seed in (1, 3)]
    result = fig2_result(records)
    assert result.seeds == (1, 3)
    assert all(len(matrices) == 2 for matrices in result.matrices.values())
    some = [r for r in read_records(REPRODUCED, "sensitivity") if r.seed == 2 or r.name == "as in Figure 2"]
    found = sensitivity_result(some)
    assert (found.seeds["as in Figure 2"], found.seeds["squared loss"]) == ((0, 1, 2), (2,))
    procedures = [verdict.procedure for verdict in found.verdicts()]
    assert procedures[0].startswith("as in Figure 2, 3 seeds,")
    assert procedures[-1].startswith("squared loss, 1 of 3 planned seeds,")


def test_unknown_and_missing_runs_raise():
    with pytest.raises(RecordError, match="fig2: no seed is recorded"):
        fig2_result([])
    some = [r for r in read_records(REPRODUCED, "sensitivity") if r.name != "squared loss"]
    with pytest.raises(RecordError, match="sensitivity, squared loss: no seed is recorded"):
        sensitivity_result(some)
    with pytest.raises(RecordError, match="no run called 'pmnist / magic'"):
        comparison_result(TABLE1, [Record("table1", "pmnist / magic", 0, {}, {})])
