"""Records of finished runs: read, added to, never lost."""

import dataclasses
import multiprocessing

import pytest

from ebbing.paper.records import Record, RecordError, add_records, check_settings, read_records


def record(name="a / b", seed=0, **changes):
    values = {
        "settings": {"epochs": 5},
        "result": {"errors": [[0.1, 0.25], [1 / 3, 0.0]]},
        "provenance": {"commit": "x"},
    }
    return Record("fig2", name, seed, **values | changes)


def test_records_are_read_as_written_in_order(tmp_path):
    new = [record("b"), record("a", 1), record("a", 0)]
    assert add_records(tmp_path, new) == 3
    assert read_records(tmp_path, "fig2") == [new[2], new[1], new[0]]
    assert read_records(tmp_path, "table1") == []


def test_adding_a_seed_keeps_the_lines_of_the_others(tmp_path):
    add_records(tmp_path, [record(seed=0)])
    file = tmp_path / "records" / "fig2.jsonl"
    before = file.read_text()
    add_records(tmp_path, [record(seed=1)])
    assert file.read_text().startswith(before)


def test_the_same_run_twice_is_one_record(tmp_path):
    add_records(tmp_path, [record()])
    again = dataclasses.replace(record(), provenance={"commit": "y"})
    assert add_records(tmp_path, [again]) == 0
    assert read_records(tmp_path, "fig2")[0].provenance == {"commit": "x"}


@pytest.mark.parametrize(
    "changes", [{"settings": {"epochs": 6}}, {"result": {"errors": [[0.1, 0.25], [1 / 3, 1e-17]]}}]
)
def test_a_contradicting_run_raises_and_writes_nothing(tmp_path, changes):
    add_records(tmp_path, [record()])
    before = (tmp_path / "records" / "fig2.jsonl").read_bytes()
    with pytest.raises(RecordError, match=r"seed 0: (recorded with other settings|two runs with the same settings)"):
        add_records(tmp_path, [record("new"), record(**changes)])
    assert (tmp_path / "records" / "fig2.jsonl").read_bytes() == before


def test_every_damaged_byte_is_noticed(tmp_path):
    add_records(tmp_path, [record(), record(seed=1)])
    file = tmp_path / "records" / "fig2.jsonl"
    whole = file.read_bytes()
    line = whole.index(b"\n")
    for place in range(line + 1, len(whole) - 1, 7):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(RecordError, match=r"fig2\.jsonl(, line 2)?: .*restore"):
            read_records(tmp_path, "fig2")


def write_lines(folder, *records):
    """Write records as a careless merge of two branches leaves them."""
    file = folder / "records" / "fig2.jsonl"
    file.parent.mkdir()
    file.write_text("".join(f"{one.to_line()}\n" for one in records))


def test_a_run_that_is_there_twice_counts_once(tmp_path):
    again = dataclasses.replace(record(), provenance={"commit": "y"})
    write_lines(tmp_path, record(seed=1), record(), again)
    assert read_records(tmp_path, "fig2") == [record(), record(seed=1)]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (record(result={"errors": []}), r"two runs with the same settings gave different results"),
        (record(settings={"epochs": 6}), r"recorded with other settings"),
        (dataclasses.replace(record(seed=1), target="table1"), r"a record of table1; move the line"),
    ],
)
def test_lines_that_contradict_each_other_raise(tmp_path, other, reason):
    write_lines(tmp_path, record(), other)
    with pytest.raises(RecordError, match=rf"fig2\.jsonl, line 2: .*{reason}"):
        read_records(tmp_path, "fig2")


def test_disagreement_names_both_runs_and_the_setting(tmp_path):
    versions = {"python": "3.11.7", "torch": "2.13.0"}
    add_records(tmp_path, [record(provenance={"commit": "abc", "versions": versions, "when": "2026-11-16"})])
    other = record(result={"errors": []}, provenance={"commit": "def", "versions": versions | {"torch": "3.0"}})
    with pytest.raises(RecordError) as caught:
        add_records(tmp_path, [other])
    for words in ("commit abc, python 3.11.7, torch 2.13.0, 2026-11-16", "commit def, python 3.11.7, torch 3.0"):
        assert words in str(caught.value)
    with pytest.raises(RecordError, match=r"method\.epochs was 5 and is 6"):
        check_settings(record(settings={"method": {"epochs": 5, "a": 1}}), {"method": {"a": 1, "epochs": 6}})


def _add_some(folder, first):
    for seed in range(first, first + 10):
        add_records(folder, [record(seed=seed)])


def test_processes_that_add_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_add_some, args=(tmp_path, first)) for first in (0, 10, 20)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [found.seed for found in read_records(tmp_path, "fig2")] == list(range(30))
