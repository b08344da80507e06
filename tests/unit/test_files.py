"""Writing of files: links, devices and FIFOs stay what they are, and errors name the path of the user."""

import errno
import os
import threading
from pathlib import Path

import pytest

from ebbing._files import check_new_files, write_atomic


def test_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "kept").mkdir()
    target, link = tmp_path / "kept" / "page.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    write_atomic(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert os.listdir(tmp_path / "kept") == ["page.html"]


def test_link_to_a_new_file_creates_that_file(tmp_path):
    link = tmp_path / "link.html"
    link.symlink_to("folder/page.html")
    write_atomic(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "page.html").read_text() == "new"


def test_links_in_a_circle_raise_and_stay(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match="symbolic links"):
        write_atomic(link, "new")
    assert link.is_symlink()


def test_fifo_is_written_to_and_not_replaced(tmp_path):
    fifo, read = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()), daemon=True)
    reader.start()
    write_atomic(fifo, "new")
    reader.join(10)
    assert read == ["new"]
    assert fifo.is_fifo()


def test_device_is_written_to_through_a_link(tmp_path):
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    write_atomic(link, "new")
    assert link.is_symlink()
    assert Path(os.devnull).is_char_device()


def full(_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_error_names_the_path_that_was_given(tmp_path, monkeypatch):
    with pytest.raises(OSError, match=r"'/proc/x\.html'$") as raised:
        write_atomic(Path("/proc/x.html"), "new")
    assert raised.value.filename == "/proc/x.html"
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as raised:
        write_atomic(tmp_path / "x.html", "new")
    assert raised.value.filename == str(tmp_path / "x.html")
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        write_atomic(tmp_path, "new")


def test_folder_is_tried_and_left_as_it_was(tmp_path):
    check_new_files(tmp_path)
    assert os.listdir(tmp_path) == []
    with pytest.raises(OSError, match="/proc"):
        check_new_files(Path("/proc"))
