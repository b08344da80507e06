"""What a store holds: counted by settings, as JSON, and as a table."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from ebbing.cli._runs_table import print_runs, seed_ranges
from ebbing.io.schema import runs_json
from ebbing.learn._current_names import current_names
from ebbing.runs import Store
from ebbing.runs.inventory import take_inventory


def about(seed=0, epochs=600, path=("a#0",)):
    return {
        "tasks": {"kind": "DigitTasks", "train_images": 200, "identity": "mnist-123"},
        "architecture": {"kind": "FiveLayers", "widths": [6, 16]},
        "method": {"kind": "Sgd", "epochs": epochs, "batch_size": None, "version": 7},
        "seed": seed,
        "path": list(path),
    }


@pytest.fixture
def store(tmp_path):
    """Two networks of seed 0, one of them with weights; one of seed 1; one of other epochs."""
    store = Store(tmp_path / "runs")
    what = (about(path=()), about(), about(seed=1), about(epochs=9))
    for key, described in zip("0123", what, strict=True):
        store.put(key * 64, {"a#0": 0.5}, 0.1, described, b"w" * 1000 if key == "0" else None)
    return store


def printed(inventory):
    text = io.StringIO()
    print_runs(inventory, Console(width=200, file=text))
    return text.getvalue()


def settings(**changes):
    return current_names({name: value for name, value in about(**changes).items() if name != "path"})


def test_entries_are_counted_by_settings_and_seed(store):
    content = runs_json(take_inventory(store.folder))
    assert list(content) == ["folder", "bytes", "freed", "groups"]
    assert (content["folder"], content["bytes"], content["freed"]) == (str(store.folder), store.size(), 0)
    found = {(group["settings"]["seed"], group["settings"]["method"]["epochs"]): group for group in content["groups"]}
    assert len(content["groups"]) == 3
    assert found[0, 600] == {"settings": settings(), "entries": 2}
    assert found[1, 600] == {"settings": settings(seed=1), "entries": 1}
    assert found[0, 9] == {"settings": settings(epochs=9), "entries": 1}
    assert json.loads(json.dumps(content)) == content


def test_the_table_has_a_row_for_all_seeds_of_the_same_settings(store):
    text = printed(take_inventory(store.folder))
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["DigitTasks", "train_images=200,", "FiveLayers", "widths=[6,", "16]"]
    assert ["Sgd", "epochs=600", "0-1", "3"] in lines
    assert ["Sgd", "epochs=9", "0", "1"] in lines
    for hidden in ("mnist-123", "version", "batch_size", "freed", "kind"):
        assert hidden not in text
    assert f"{store.size() / 1e6:.1f} MB in {store.folder}" in " ".join(text.split())


def test_shared_settings_are_shown_once(tmp_path):
    store = Store(tmp_path)
    for key, epochs in (("0" * 64, 5), ("1" * 64, 9)):
        method = {"kind": "Trgp", "samples": 300, "schedule": {"epochs": epochs, "batch_size": 10}}
        store.put(key, {}, None, about() | {"method": method}, None)
    text = printed(take_inventory(tmp_path))
    assert "Trgp schedule.epochs=5 " in text
    assert "Trgp schedule.epochs=9 " in text
    assert text.count("num_examples=300") == 1
    assert "\nall: num_examples=300 schedule.batch_size=10\n" in text


def test_equal_rows_show_their_hidden_settings(tmp_path):
    store = Store(tmp_path)
    for key, version, identity in (("0", 1, "mnist, version 1"), ("1", 2, "mnist, version 1"), ("2", 1, "other")):
        tasks, method = {"kind": "Split", "identity": identity}, {"kind": "Gpm", "version": version}
        store.put(key * 64, {}, None, about() | {"tasks": tasks, "method": method}, None)
    text = printed(take_inventory(tmp_path))
    assert "Gpm version=1 " in text
    assert "Gpm version=2 " in text
    assert "Split, FiveLayers widths=[6, 16] fingerprint=mnist, v" in text
    assert "Split, FiveLayers widths=[6, 16] fingerprint=other" in text


def test_a_setting_that_only_some_have_is_theirs(tmp_path):
    store = Store(tmp_path)
    methods = ({"kind": "TrgpPlus", "recency": 0.4}, {"kind": "TrgpPlus", "recency": None}, {"kind": "Gpm", "n": 1})
    for number, method in enumerate(methods):
        store.put(str(number) * 64, {}, None, about() | {"method": method}, None)
    text = printed(take_inventory(tmp_path))
    assert "TrgpPlus recency=0.4 " in text
    assert "\nall: n=1\n" in text


@pytest.mark.parametrize(
    ("seeds", "text"), [([], ""), ([3], "3"), ([1, 0], "0-1"), ([0, 2, 3, 4, 7], "0, 2-4, 7"), ([10, 9, 2], "2, 9-10")]
)
def test_seeds_in_short(seeds, text):
    assert seed_ranges(seeds) == text


def test_cleaning_weights_keeps_the_groups(store):
    before, after = take_inventory(store.folder), take_inventory(store.folder, "weights")
    assert after == replace(before, freed=1000, size=before.size - 1000)


def test_cleaning_all_leaves_nothing(store):
    size = store.size()
    inventory = take_inventory(store.folder, "all")
    assert (inventory.freed, inventory.size, inventory.groups) == (size, 0, ())
    text = " ".join(printed(replace(inventory, freed=2_500_000)).split())
    assert text == f"nothing trained in {store.folder}, 2.5 MB freed"
    assert " ".join(printed(take_inventory(store.folder)).split()) == f"nothing trained in {store.folder}"


def test_megabytes_are_millions_of_bytes(store):
    inventory = replace(take_inventory(store.folder), size=12_340_000, freed=60_000)
    assert f"12.3 MB in {store.folder}, 0.1 MB freed" in " ".join(printed(inventory).split())


def test_custom_data_shows_the_start_of_its_hash(tmp_path):
    store = Store(tmp_path)
    for key, identity in (("0" * 64, "abcdef0123456789"), ("1" * 64, "9876543210fedcba")):
        tasks = {"kind": "CustomTasks", "train_size": None, "identity": identity}
        store.put(key, {}, None, about() | {"tasks": tasks}, None)
    text = printed(take_inventory(tmp_path))
    assert "CustomTasks data=abcdef01, " in text
    assert "CustomTasks data=98765432, " in text


def test_settings_in_brackets_are_no_markup(tmp_path):
    Store(tmp_path).put("0" * 64, {}, None, about() | {"method": {"kind": "Mine", "note": "[red]x[/red]"}}, None)
    assert "Mine note=[red]x[/red]" in printed(take_inventory(tmp_path))


def test_an_entry_that_says_nothing_of_itself_is_counted(tmp_path):
    Store(tmp_path).put("0" * 64, {}, None, {}, None)
    inventory = take_inventory(tmp_path)
    assert runs_json(inventory)["groups"] == [{"settings": {}, "entries": 1}]
    assert "?" in printed(inventory)


def test_damaged_entries_are_not_counted(store):
    next(store.folder.glob("33/*.json")).write_text("{")
    with pytest.warns(UserWarning, match="is damaged"):
        assert len(take_inventory(store.folder).groups) == 2


def test_damaged_weights_are_named(store):
    weights = next(store.folder.glob("00/*.safetensors"))
    weights.write_bytes(b"other")
    with pytest.warns(UserWarning, match=f"{weights.name} is damaged"):
        assert len(take_inventory(store.folder).groups) == 3  # the results are not


@pytest.mark.parametrize("clean", ["everything", "", "Weights", "none"])
def test_other_values_of_clean_remove_nothing(store, clean):
    size = store.size()
    with pytest.raises(ValueError, match=rf"clean={clean!r}: give weights or all"):
        take_inventory(store.folder, clean)
    assert store.size() == size


@pytest.mark.parametrize("make", [None, lambda path: path.write_text("a file")], ids=["missing", "file"])
@pytest.mark.parametrize("clean", [None, "all"])
def test_a_missing_folder_raises_an_error(tmp_path, make, clean):
    path = tmp_path / "runs"
    if make:
        make(path)
    with pytest.raises(ValueError, match="runs: no such folder; name runs/ in a folder that --out named"):
        take_inventory(path, clean)
    assert path.exists() == bool(make)
