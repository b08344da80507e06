"""Texts by topic."""

import pytest

from ebbing.data import DataError, fortunes


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pets").write_text("Cats sleep.\n%\n100% of dogs\nbark.\n%\n\n%\nCats sleep.\n", encoding="utf-8")
    (tmp_path / "food").write_text("%\nBread – and butter.\n% \nstill the same text\n%", encoding="utf-8")
    (tmp_path / "pets.dat").write_bytes(b"\x00\x01\xff")
    (tmp_path / "pets.u8").symlink_to("pets")
    return tmp_path


def test_texts_stand_between_percent_signs(folder):
    found = fortunes(folder=folder)
    assert list(found) == ["food", "pets"]
    assert found["pets"] == ("Cats sleep.", "100% of dogs\nbark.")  # each once, none empty
    assert found["food"] == ("Bread – and butter.\n% \nstill the same text",)


def test_topics_keep_the_order_asked_for(folder):
    assert list(fortunes(["pets", "food"], folder)) == ["pets", "food"]


def test_missing_topics_and_folders_say_what_to_do(folder, tmp_path):
    with pytest.raises(DataError, match="has no topic 'cars'; it has food, pets"):
        fortunes(["cars"], folder)
    with pytest.raises(DataError, match="apt-get install fortunes"):
        fortunes(folder=tmp_path / "nowhere")
    (folder / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not a UTF-8 text"):
        fortunes(["binary"], folder)
