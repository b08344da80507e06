"""Files of tasks: what is read, and that every bad file is named with the reason."""

import numpy as np
import pandas as pd
import pytest

from ebbing.io.task_files import read_task_files, reorder_tasks, split_names

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 1, 0])
CSV = "a,b,label\n" + "".join(f"{a:g},{b:g},{y}\n" for (a, b), y in zip(X, Y, strict=True))


@pytest.fixture
def folder(tmp_path):
    """A folder with one good task."""
    np.savez(tmp_path / "a.npz", inputs=X, labels=Y)
    return tmp_path


def write_parquet(file, **columns):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), file)


def test_formats_give_the_same_data(folder):
    (folder / "b.csv").write_text(CSV)
    (folder / "c.csv").write_text("\ufeff" + CSV.replace(",", ";"), encoding="utf-8")
    write_parquet(folder / "d.parquet", a=X[:, 0], label=Y, b=X[:, 1])
    tasks = read_task_files(folder)
    assert list(tasks) == ["a", "b", "c", "d"]
    for data in tasks.values():
        assert list(data) == ["train"]
        assert (data["train"][0] == X).all()
        assert (data["train"][1] == Y).all()
        assert data["train"][1].dtype.kind == "i"


def test_marks_within_quoted_names_do_not_separate(folder):
    (folder / "a.npz").unlink()
    for name in ("b", "c"):
        (folder / f"{name}.csv").write_text(CSV.replace("a,", '"a; in\tcm",', 1))
    assert (read_task_files(folder)["b"]["train"][0] == X).all()


def test_test_data_of_an_npz_file_is_kept(folder):
    np.savez(folder / "b.npz", inputs=X, labels=Y, test_inputs=X[:2], test_labels=Y[:2])
    assert read_task_files(folder)["b"]["test"][0].shape == (2, 2)


def test_numbers_in_names_are_numbers_and_others_are_left_out(folder):
    for name in ("task 10.npz", "task 2.npz", ".hidden.npz", "b.NPZ"):
        with (folder / name).open("wb") as file:
            np.savez(file, inputs=X, labels=Y)
    (folder / "notes.txt").write_text("not a task")
    assert list(read_task_files(folder)) == ["a", "b", "task 2", "task 10"]


def test_names_of_classes_are_numbers_in_their_order(folder):
    names = np.array(["no", "yes"])[Y]
    np.savez(folder / "a.npz", inputs=X, labels=names, test_inputs=X[:2], test_labels=names[:2])
    (folder / "b.csv").write_text("a,b,label\n" + "".join(f"{a},{b},{y}\n" for (a, b), y in zip(X, names, strict=True)))
    write_parquet(folder / "c.parquet", a=X[:, 0], b=X[:, 1], label=names.tolist())
    tasks = read_task_files(folder, classes=["no", "yes"])
    assert all((data["train"][1] == Y).all() for data in tasks.values())
    assert (tasks["a"]["test"][1] == Y[:2]).all()
    reversed_classes = read_task_files(folder, classes=["yes", "no"])
    assert all((data["train"][1] == 1 - Y).all() for data in reversed_classes.values())


@pytest.mark.parametrize("kind", ["npz", "csv", "parquet"])
def test_labels_that_are_none_of_the_classes_raise(folder, kind):
    (folder / "z.csv").write_text("a,b,label\n1,2,no\n3,4,no\n")
    if kind == "npz":
        np.savez(folder / "a.npz", inputs=X[:2], labels=np.array(["no", "yes"]))
    else:
        (folder / "a.npz").unlink()
    if kind == "csv":
        (folder / "a.csv").write_text("a,b,label\n1,2,no\n3,4,yes\n")
    if kind == "parquet":
        write_parquet(folder / "a.parquet", a=[1, 2], b=[3, 4], label=["no", "yes"])
    with pytest.raises(ValueError, match=rf"a\.{kind}.* has 'yes' in example 2: classes=no,maybe must name every"):
        read_task_files(folder, classes=["no", "maybe"])


@pytest.mark.parametrize("classes", [["no"], ["no", ""], ["no", "no"]])
def test_classes_that_are_no_names_raise(folder, classes):
    with pytest.raises(ValueError, match=f"classes={','.join(classes)}: give two names or more, each once"):
        read_task_files(folder, classes=classes)


def test_labels_with_fractions_are_floating_point(folder):
    (folder / "b.csv").write_text("a,b,y\n1,2,0.5\n3,4,1\n")
    (folder / "a.npz").unlink()
    (folder / "c.csv").write_text("a,b,y\n1,2,1.0\n3,4,1\n")
    assert [data["train"][1].dtype.kind for data in read_task_files(folder, label="y").values()] == ["f", "f"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "an empty file"),
        ("\n\n", "no examples"),
        ("a,b,label\n", "no examples"),
        ("a,b,label\n1,2,0\n1,nan,1\n", "column 'b' has 'nan' in example 2; every number must be finite: fill it in"),
        ("a,b,label\n1,2,0\n1,NA,1\n", "column 'b' has 'NA' in example 2; every number must be finite: fill it in"),
        ("a,b,label\n1,2,0\n1,-inf,1\n", "column 'b' has '-inf' in example 2; every number must be finite"),
        ("a,b,label\n1,2,0\n1,3,\n", "column 'label' has no value in example 2; every number must be finite"),
        (
            "a,b,label\n1,2,0\n1,,1\n",
            "column 'b' has no value in example 2; every number must be finite: fill it in, or leave",
        ),
        (
            "a,b,label\n1,2,0\n1,cat,1\n",
            "column 'b' has 'cat' in example 2; every cell must be a number: write words as columns of 0 and 1",
        ),
        ("a,b,label\n1,2,cat\n1,3,dog\n", "column 'label' has 'cat' in example 1; .*write classes as 0, 1"),
        ("a,b,label\n1,2,0\n1,2\n", "line 3 has 2 cells, the first 3"),
        ("a,b,target\n1,2,0\n1,2,1\n", "no column is called 'label', but a, b, target; .*--label"),
        ("a,target\n1,yes\n1,no\n", "no column is called 'label', but a, target; .*--label"),
        (
            f"{','.join('abcdefghij')},target\n{'1,' * 10}0\n",
            "no column .* but a, b, c, d, e, f, g, ..., target; ",
        ),
        ("label\n1\n0\n", "no column but the label"),
        ("a,a,label\n1,2,0\n1,2,1\n", "two columns are called 'a'"),
        ("a,b,c,label\n1,2,3,0\n1,2,3,1\n", "an example of inputs has 3 numbers, but in a.npz 2 numbers"),
        ("a,b,label\n1,2,0\n", "one example; give two at least"),
        ('a,b,label\n1,"2,0\n', "not a readable CSV file"),
    ],
)
def test_bad_csv_files_are_named_with_the_reason(folder, text, reason):
    (folder / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"bad\.csv: (.*\()?{reason}"):
        read_task_files(folder)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"inputs": X}, "has no array 'labels', but inputs"),
        ({}, "has no array 'inputs', but nothing"),
        ({"inputs": X, "labels": Y, "test_inputs": X}, "has no array 'test_labels'"),
        ({"inputs": X, "labels": Y, "test_labels": Y}, "has no array 'test_inputs'"),
        ({"inputs": X, "labels": Y[:3]}, "6 inputs, but 3 labels"),
        ({"inputs": X[:0], "labels": Y[:0]}, r"inputs of shape \(0, 2\) are empty"),
        ({"inputs": X[:, :0], "labels": Y}, r"inputs of shape \(6, 0\) are empty"),
        ({"inputs": X, "labels": np.where(Y, np.nan, 0.0)}, "labels has nan in example 2"),
        ({"inputs": X + np.inf, "labels": Y}, "inputs has inf in example 1"),
        ({"inputs": X[:, :1], "labels": Y}, "an example of inputs has 1 number, but in a.npz 2 numbers"),
        ({"inputs": X[:, :, None], "labels": Y}, r"an example of inputs has shape \(2, 1\), but in a.npz 2 numbers"),
        ({"inputs": X, "labels": Y, "test_inputs": X[:, :1], "test_labels": Y}, "an example of test_inputs has 1 num"),
        ({"inputs": X, "labels": np.eye(6)}, "an example of labels has 6 numbers, but in a.npz one number"),
        ({"inputs": X.astype(str), "labels": Y}, "inputs: text, such as '.*'; give numbers"),
        (
            {"inputs": X, "labels": np.where(Y, "cat", "dog")},
            "labels: text, such as 'dog'; give numbers: classes as 0, 1, 2, ..., alike in all tasks",
        ),
        ({"inputs": X, "labels": Y.astype(complex)}, "labels is 1-D of complex128; give one row of numbers each"),
        ({"inputs": np.array([{}, {}]), "labels": Y}, "not a readable npz file"),
    ],
)
def test_bad_npz_files_are_named_with_the_reason(folder, arrays, reason):
    np.savez(folder / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=rf"bad\.npz: {reason}"):
        read_task_files(folder)


@pytest.mark.parametrize("name", ["bad.npz", "bad.parquet", "bad.csv"])
def test_files_of_noise_and_cut_off_files_are_refused(folder, name):
    (folder / name).write_bytes(bytes(range(256)) * 4)
    with pytest.raises(ValueError, match=rf"{name}: not a"):
        read_task_files(folder)
    (folder / name).write_bytes((folder / "a.npz").read_bytes()[:-30])
    with pytest.raises(ValueError, match=rf"{name}: not a"):
        read_task_files(folder)


def test_bad_parquet_columns_are_named(folder):
    write_parquet(folder / "b.parquet", a=["x", "y"], b=[1, 2], label=[0, 1])
    with pytest.raises(ValueError, match=r"b\.parquet: column 'a' holds (large_)?string"):
        read_task_files(folder)
    write_parquet(folder / "b.parquet", a=[1, 2], b=[1, 2], label=["cat", "dog"])
    with pytest.raises(
        ValueError, match=r"b\.parquet: column 'label': text, such as 'cat'; give numbers: classes as 0"
    ):
        read_task_files(folder)
    write_parquet(folder / "b.parquet", a=[1.0, None], b=[1, 2], label=[0, 1])
    with pytest.raises(ValueError, match=r"b\.parquet: column 'a' has no value in row 2"):
        read_task_files(folder)


def test_columns_must_be_the_same_in_all_tables(folder):
    (folder / "a.npz").unlink()
    (folder / "b.csv").write_text(CSV)
    (folder / "c.csv").write_text(CSV.replace("a,b", "b,a"))
    with pytest.raises(ValueError, match=r"c\.csv: column 1 of the inputs is 'b', but in b\.csv 'a'"):
        read_task_files(folder)


def test_folders_without_two_tasks_are_refused(folder):
    with pytest.raises(ValueError, match=r"holds a\.npz alone; a forecast needs two"):
        read_task_files(folder)
    (folder / "a.csv").write_text(CSV)
    with pytest.raises(ValueError, match="two files of one task"):
        read_task_files(folder)
    with pytest.raises(ValueError, match="no such folder"):
        read_task_files(folder / "nothing")
    with pytest.raises(ValueError, match="this is a file"):
        read_task_files(folder / "a.csv")


@pytest.mark.parametrize(
    ("order", "wrong"),
    [
        ("a", "'b' is missing"),
        ("a,b,b", "'b' is named twice"),
        ("a,c", "there is no task 'c'"),
        ("", "there is no task ''"),
    ],
)
def test_an_order_names_every_task_once(order, wrong):
    with pytest.raises(ValueError, match=f"order='{order}': {wrong}; name every task once"):
        reorder_tasks({"a": 1, "b": 2}, order)


def test_an_archive_that_unpacks_beyond_memory_is_refused(folder, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 2**10)  # a megabyte
    np.savez_compressed(folder / "bad.npz", inputs=np.zeros((2000, 100)), labels=np.zeros(2000))
    with pytest.raises(ValueError, match=r"bad\.npz: not a readable npz file \(the arrays of .* take"):
        read_task_files(folder)


def test_an_unknown_compression_is_an_error_in_words(folder):
    content = bytearray((folder / "a.npz").read_bytes())
    place = content.rfind(b"PK\1\2")
    content[place + 10] = 99  # the method of compression of the last array
    (folder / "bad.npz").write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"bad\.npz: not a readable npz file \(That compression method"):
        read_task_files(folder)


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_of_a_pandas_frame_is_left_out(folder, name):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": Y})
    frame.to_csv(folder / "b.csv", index_label=name)
    frame.to_csv(folder / "c.csv", index=False)
    frame.to_csv(folder / "d.csv", index_label=name)
    with pytest.warns(
        UserWarning, match=r"^b\.csv and 1 more: the index of a pandas frame.* write files with index=False"
    ):
        found = read_task_files(folder)
    assert all(np.array_equal(data["train"][0], X) for data in found.values())


def test_a_first_column_that_does_not_count_needs_a_name(folder):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": Y})
    frame.iloc[::-1].to_csv(folder / "b.csv")  # the index of a shuffled frame
    with pytest.raises(ValueError, match=r"b\.csv: the first column has no name; .*index=False; .*give it a name"):
        read_task_files(folder)
    frame.index = [f"row {k}" for k in range(6)]
    frame.to_csv(folder / "b.csv")
    with pytest.raises(ValueError, match=r"b\.csv: the first column has no name"):
        read_task_files(folder)


@pytest.mark.filterwarnings("error")
def test_inputs_that_count_are_kept_if_they_have_a_name(folder):
    (folder / "b.csv").write_text("day,b,label\n0,5,0\n1,6,1\n2,7,1\n")
    assert read_task_files(folder)["b"]["train"][0][:, 0].tolist() == [0, 1, 2]


def test_the_index_of_a_parquet_file_is_left_out(folder):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": Y}, index=[3, 1, 4, 5, 9, 2])
    frame.to_parquet(folder / "b.parquet", engine="pyarrow")
    with pytest.warns(UserWarning, match=r"b\.parquet: the index of a pandas frame"):
        found = read_task_files(folder)
    assert np.array_equal(found["b"]["train"][0], X)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a, b", ["a", "b"]),
        ("mail, q1, mail", ["mail, q1", "mail"]),
        ("mail,mail, q1", ["mail", "mail, q1"]),
        ("mail, q1, chat, q1", ["mail, q1, chat", "q1"]),
        ("mail, q2", ["mail", "q2"]),
        ("", [""]),
    ],
)
def test_names_with_commas_are_recognized(text, names):
    assert split_names(text, {"a", "b", "mail", "mail, q1", "mail, q1, chat"}) == names
