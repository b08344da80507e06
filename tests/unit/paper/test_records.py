"""Records of finished runs: read, added to, never lost."""

import dataclasses

import pytest

from ebbing.paper.records import Record, RecordError, add_records, read_records


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
    with pytest.raises(RecordError, match="seed 0: a run with other"):
        add_records(tmp_path, [record("new"), record(**changes)])
    assert (tmp_path / "records" / "fig2.jsonl").read_bytes() == before


def test_every_damaged_byte_is_noticed(tmp_path):
    add_records(tmp_path, [record(), record(seed=1)])
    file = tmp_path / "records" / "fig2.jsonl"
    whole = file.read_bytes()
    line = whole.index(b"\n")
    for place in range(line + 1, len(whole) - 1, 7):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises((RecordError, UnicodeDecodeError), match=r"line 2|decode"):
            read_records(tmp_path, "fig2")
