"""Files of data that a reproduction writes."""

import csv

import numpy as np

from ebbing.paper._output import write_csv


def test_csv_keeps_every_text_and_number(tmp_path):
    texts = ["plain", "a, b", 'a "quoted" word', "two\nlines", '"']
    rows = [*([text, np.float64(1 / 3)] for text in texts), [None, 2]]
    write_csv(tmp_path / "new.csv", ["text", "value, in %"], rows)
    with (tmp_path / "new.csv").open(newline="") as file:
        header, *found = csv.reader(file)
    assert header == ["text", "value, in %"]
    assert found == [*([text, "0.3333333333333333"] for text in texts), ["", "2"]]
    assert b"\r" not in (tmp_path / "new.csv").read_bytes()
