"""Files that other programs write, and files that went wrong on the way."""

import contextlib
import io
import json
import math
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbing._limits import MOST_MATRIX_BYTES
from ebbing.io.error_matrices import read_matrix

NAN = math.nan
LOWER = [[0.9, NAN], [0.6, 0.8]]
FULL = [[0.1, 0.2], [0.9, 0.3], [0.6, 0.8]]


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    return write


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0.1,0.2\n0.9,0.3\n0.6,0.8\n", FULL, id="plain"),
        pytest.param("0.1;0.2\n0.9;0.3\n0.6;0.8", FULL, id="semicolons, no final newline"),
        pytest.param("0.1\t0.2\n0.9\t0.3\n0.6\t0.8\n", FULL, id="tabs"),
        pytest.param('"a; b","a \tb"\n0.1,0.2\n0.9,0.3\n0.6,0.8\n', FULL, id="other delimiters in quotes"),
        pytest.param('"a, ""b"";\nc", "d;"\n0.1,0.2\n0.9,0.3\n0.6,0.8\n', FULL, id="quotes and breaks in quotes"),
        pytest.param("after,a,b\nnone,0.1,0.2\na; b,0.9,0.3\nc;,0.6,0.8\n", FULL, id="semicolons in labels"),
        pytest.param('5" disk;6" disk\n0.1;0.2\n0.9;0.3\n0.6;0.8\n', FULL, id="quotes within names"),
        pytest.param("0.9\n0.6;0.8\n", LOWER, id="ragged, semicolons"),
        pytest.param(" 0.1 , 0.2\r\n0.9,0.3\r\n\r\n0.6,0.8\r\n\r\n", FULL, id="spaces, blank lines, Windows"),
        pytest.param("\ufeff0.1,0.2\n0.9,0.3\n0.6,0.8\n", FULL, id="byte order mark"),
        pytest.param("1e-1,2E-1\n.9,0.3\n0.6,0.8\n", FULL, id="exponents"),
        pytest.param("0.9\n0.6,0.8\n", LOWER, id="ragged"),
        pytest.param("0.9,\n0.6,0.8\n", LOWER, id="empty cell"),
        pytest.param("0.9,,\n0.6,0.8,\n", LOWER, id="trailing commas"),
        pytest.param("0.9,nan\n0.6,0.8\n", LOWER, id="nan"),
        pytest.param(",\n0.9,\n0.6,0.8\n", [[NAN, NAN], *LOWER], id="initial row not measured"),
        pytest.param("0.9,-\n0.6,0.8\n", LOWER, id="dash"),
        pytest.param("0.9,N/A\n0.6,0.8\n", LOWER, id="not available"),
        pytest.param("a,b\nx,0.9,null\ny,0.6,0.8\n", LOWER, id="null"),
        pytest.param("-,-\n0.9,-\n0.6,0.8\n", [[NAN, NAN], *LOWER], id="dashes in the initial row"),
        pytest.param("start,-,-\nx,0.9,-\ny,0.6,0.8\n", [[NAN, NAN], *LOWER], id="dashes after a label"),
        pytest.param("after,a,b\n-,0.1,0.2\na,0.9,0.3\nb,0.6,0.8\n", FULL, id="a dash for a label"),
        pytest.param("mnist,cifar10\n0.1,0.2\n0.9,0.3\n0.6,0.8\n", FULL, id="header"),
        pytest.param('"task 1","task 2"\n0.9,\n0.6,0.8\n', LOWER, id="quoted header"),
        pytest.param("initial,0.1,0.2\nfirst,0.9,0.3\nsecond,0.6,0.8\n", FULL, id="labels"),
        pytest.param("first,0.9\nsecond,0.6,0.8\n", LOWER, id="labels, ragged"),
        pytest.param("first,1\nsecond,0.6,0.8\n", [[1, NAN], [0.6, 0.8]], id="a label and a whole number"),
        pytest.param("task 1,task 2\n0.9\n0.6\n", [[0.9, NAN], [0.6, NAN]], id="a column without values"),
        pytest.param("after,mnist,cifar\ninitial,0.1,0.2\nm,0.9,0.3\nc,0.6,0.8\n", FULL, id="header and labels"),
        pytest.param("mnist,cifar\ninitial,0.1,0.2\nm,0.9,0.3\nc,0.6,0.8\n", FULL, id="header without corner"),
        pytest.param(",mnist,cifar\n0,0.1,0.2\n1,0.9,0.3\n2,0.6,0.8\n", FULL, id="empty corner"),
        pytest.param(",0,1\n0,0.1,0.2\n1,0.9,0.3\n2,0.6,0.8\n", FULL, id="data frame"),
        pytest.param(",0\n0,0.5\n", [[0.5]], id="data frame of one task"),
        pytest.param("after,task 1,task 2\n0,0.1,0.2\n1,0.9,0.3\n2,0.6,0.8\n", FULL, id="numbered tasks"),
        pytest.param("t,task1,task2\ninitial,0.1,0.2\n1,0.9,0.3\n2,0.6,0.8\n", FULL, id="initial, 1, 2"),
        pytest.param("t,1,2\n0,0.1,0.2\n1,0.9,0.3\n2,0.6,0.8\n", FULL, id="numbers for names"),
        pytest.param("task 1,task 2\n10,10\n20,30\n", [[10, 10], [20, 30]], id="whole numbers under numbered tasks"),
        pytest.param("base,inc1\n0.9,0.1\n0.6,0.8\n", [[0.9, 0.1], [0.6, 0.8]], id="numbered after a first name"),
        pytest.param("0,1\n1,0\n", [[0, 1], [1, 0]], id="whole numbers only"),
        pytest.param("one\n0.5\n", [[0.5]], id="one task with header"),
        pytest.param("1.0e-01 2.0e-01\n9.0e-01 3.0e-01\n6.0e-01 8.0e-01\n", FULL, id="spaces"),
        pytest.param("  0.9  nan\r\n  0.6  0.8 \r\n\r\n", LOWER, id="aligned columns"),
        pytest.param("0.9\n0.6 0.8\n", LOWER, id="spaces, ragged"),
        pytest.param("98%,,\n91%,97%,\n", [[98, NAN], [91, 97]], id="percent signs"),
        pytest.param("98 %\n91 %;97.5%\n", [[98, NAN], [91, 97.5]], id="percent signs after spaces"),
        pytest.param("98% nan\n91% 97%\n", [[98, NAN], [91, 97]], id="percent signs between spaces"),
        pytest.param(",0,1\n0,98%,\n1,91%,97%\n", [[98, NAN], [91, 97]], id="percent signs in a data frame"),
        pytest.param("10%,20.5%\n30%,40%\n", [[10, 20.5], [30, 40]], id="rising percentages"),
        pytest.param("98%\n", [[98]], id="a single percentage"),
        pytest.param("noise,5%,10%\n5%,0.9,\n10%,0.6,0.8\n", LOWER, id="percentages for names"),
    ],
)
def test_csv(write, text, expected):
    np.testing.assert_array_equal(read_matrix(write("m.csv", text)), expected)


def test_what_savetxt_writes(tmp_path):
    for name in ("m.csv", "m.txt"):
        np.savetxt(tmp_path / name, LOWER)
        np.testing.assert_array_equal(read_matrix(tmp_path / name), LOWER)
    np.savetxt(tmp_path / "m.txt", LOWER, delimiter=",")
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.txt"), LOWER)


def test_tsv(write):
    np.testing.assert_array_equal(read_matrix(write("m.TSV", "0.9\t\n0.6\t0.8\n")), LOWER)


ZEROS = "0.02,0,0\n0.09,0.03,0\n0.28,0.1,0.04\n"


def test_zeros_above_the_diagonal_get_a_warning(write):
    file = write("m.csv", ZEROS)
    message = (
        "m.csv: all entries above the diagonal are exactly 0 and count as measured, which changes upper_triangle_mean "
        "and, of errors, best_minus_last and past_best_minus_last; if they were not measured, read the file with "
        "unmeasured=0"
    )
    with pytest.warns(UserWarning, match=message) as said:
        assert read_matrix(file)[0, 1] == 0
    assert said[0].filename == __file__
    lower = read_matrix(file, unmeasured=0)
    np.testing.assert_array_equal(lower, np.where(np.tri(3), lower, NAN))
    assert not np.isnan(lower[np.tril_indices(3)]).any()


def test_unmeasured_keeps_what_was_measured_of_the_initial_model(write):
    measured = read_matrix(write("m.csv", "0.5,0.0\n0.0,-1.0\n0.0,0.8\n"), unmeasured=0)
    np.testing.assert_array_equal(measured, [[0.5, 0], [0, -1], [0, 0.8]])
    other = read_matrix(write("m.csv", "-1.0,-1.0\n0.0,-1.0\n0.0,0.8\n"), unmeasured=-1)
    np.testing.assert_array_equal(other, [[NAN, NAN], [0, NAN], [0, 0.8]])


def test_minus_one_above_the_diagonal_gets_a_warning(write):
    file = write("m.csv", "0.9,-1\n0.6,0.8\n")
    with pytest.warns(UserWarning, match="exactly -1 and count as measured, .* read the file with unmeasured=-1$"):
        read_matrix(file)
    np.testing.assert_array_equal(read_matrix(file, unmeasured=-1), LOWER)
    with pytest.warns(UserWarning, match="exactly -1 and count as measured"):
        read_matrix(write("m.json", '{"accuracies": [[0.9, -1], [0.6, 0.8]]}'))


def test_zeros_of_logs_and_records_were_measured(write):
    log = "eval_exp,training_exp,eval_accuracy\n0,0,0.9\n1,0,0.0\n0,1,0.5\n1,1,0.8\n"
    np.testing.assert_array_equal(read_matrix(write("eval_results.csv", log)), [[0.9, 0], [0.5, 0.8]])
    record = '{"schema": "ebbing.matrix/1", "accuracies": [[0.5, 0.5], [0.9, 0.0], [0.5, 0.8]]}'
    np.testing.assert_array_equal(read_matrix(write("run.json", record)), [[0.5, 0.5], [0.9, 0], [0.5, 0.8]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.9,abc\n0.6,0.8\n", "line 1, cell 2: 'abc' is not a finite number"),
        ("a,b\n\n0.9,\n0.6,0.8x\n", "line 4, cell 2: '0.8x' is not"),
        ("first,0.9\nsecond,0.6,?\n", r"line 2, cell 3: '\?' is not"),
        ("0.9\n0.6,inf\n", "line 2, cell 2: 'inf' is not a finite number"),
        ("0,9;0,1\n0,6;0,8\n", "line 2, cell 2: '0,8' is not a finite number; use a decimal point"),
        ("a b\n0.1 0.2\n0.3 0.4\n", "spaces are read only between numbers: leave out names, or write commas"),
        ("98%,\n91%,0.97\n", "line 2, cell 2: '0.97' has no percent sign, and others have"),
        ("98%,\n0.91,0.97\n", "line 2, cell 1: '0.91' has no percent sign"),
        ("98%,\n0.91,97%\n", "line 2, cell 1: '0.91' has no percent sign, and others have; write all numbers with"),
        ("t,a,b\nx,98%,5\ny,91%,97%\n", "line 2, cell 3: '5' has no percent sign"),
        ("0.9,0.1,0.2\n0.6,0.8,0.3\n", "2 rows and 3 columns of numbers; T tasks need T columns and T rows"),
        ("1.5\n1.5\n1.5\n", "3 rows and 1 columns"),
        ("\n\n  \n", "no rows"),
        ("task 1,task 2\n", "line 1 is a header, and no rows follow it; give one line per row"),
        ("\nafter;task 1;task 2\n", "line 2 is a header, and no rows follow it"),
        ("0.9x,0.8x\n", "line 1, cell 2: '0.8x' is not a finite number"),
        ('0.9,"0.1\n0.6,0.8\n', "line 2: unexpected end of data"),
        ("0,1\n0.1,0.2\n0.9,0.8\n", r"line 1: 0, 1, \.\.\. may be column names or data; write names as text"),
        ("0,0.1,0.2\n1,0.9,0.3\n2,0.6,0.8\n", r"first column \(0, 1, \.\.\.\) may be row names or data"),
        ("after,mnist,cifar\n0,0.1,0.2\n1,0.9,0.3\n2,0.6,0.8\n", "may be row names or data"),
        ("after,mnist,cifar\n0,10,20\n100,90,30\n200,60,80\n", "may be row names or data"),
        ("\0\0\0,\0\n\0,\0", "line|columns"),
    ],
)
def test_bad_csv_raises_an_error_with_its_place(write, text, message):
    file = write("m.csv", text)
    with pytest.raises(ValueError, match=message) as caught:
        read_matrix(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([[0.9], [0.6, 0.8]], LOWER),
        ([[0.9, None], [0.6, 0.8]], LOWER),
        ([[0.9, NAN], [0.6, 0.8]], LOWER),
        ([[], [0.9], [0.6, 0.8]], [[NAN, NAN], *LOWER]),
        ([[90, 10], [60, 80]], [[90, 10], [60, 80]]),
        ({"errors": LOWER}, LOWER),
        ({"accuracies": LOWER, "seed": 3, "note": "run 1"}, LOWER),
        ({"matrix": LOWER, "names": ["a", "b"]}, LOWER),
    ],
)
def test_json(write, content, expected):
    np.testing.assert_array_equal(read_matrix(write("m.json", json.dumps(content))), expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[0.9], [0.6, 0.8", r"not valid JSON .*half-written"),
        ("[" * 100_000, "not valid JSON|list of rows"),
        ("[]", "0 rows and 0 columns"),
        ("[[]]", "1 rows and 0 columns"),
        ("[0.9, 0.6]", "a matrix is a list of rows"),
        ("0.9", "holds 0.9; a matrix is a list of rows"),
        ('{"errors": "none"}', "holds 'none'; a matrix is a list of rows"),
        ('{"errors": [[1]], "accuracies": [[1]]}', r"holds \['errors', 'accuracies'\]; name one matrix"),
        ('{"a": [[1]], "b": [[1]]}', "name one matrix errors, accuracies or matrix"),
        ("{}", r"holds \[\]; name one matrix"),
        ('[[0.9], [0.6, "0.8"]]', "row 2, cell 2: '0.8' is not a finite number; null means missing"),
        ("[[true]]", "row 1, cell 1: True is not"),
        ("[[[1]]]", r"row 1, cell 1: \[1\] is not"),
        ("[[1], [1, 1e999]]", "row 2, cell 2: inf is not"),
        ("[[1" + "0" * 400 + "]]", r"row 1, cell 1: 1000.* is not a finite number"),
        ("[[1" + "0" * 5000 + "]]", "not valid JSON"),
    ],
)
def test_bad_json_raises_an_error(write, text, message):
    file = write("m.json", text)
    with pytest.raises(ValueError, match=message) as caught:
        read_matrix(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.npy", npy(np.array(FULL))),
        ("m.npz", npz(arr_0=FULL)),
        ("m.npz", npz(errors=FULL, seed=3)),
        ("m.npz", npz(accuracies=np.asfortranarray(FULL), weights=np.ones(5))),
    ],
)
def test_numpy(write, name, content):
    found = read_matrix(write(name, content))
    np.testing.assert_array_equal(found, FULL)
    assert found.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16])
def test_other_numbers_become_float64(write, dtype):
    assert read_matrix(write("m.npy", npy(np.ones((2, 2), dtype=dtype)))).dtype == np.float64


@pytest.mark.parametrize("name", ["m.csv", "m.json"])
def test_text_of_too_many_lines_is_not_parsed(write, name):
    """A short line takes 300 times its length: four million of them took 1.4 GB."""
    with pytest.raises(ValueError, match="100,001 lines; no more than 100,000 are read"):
        read_matrix(write(name, "1\n" * 100_001))


def test_signaling_nan_is_nan(write):
    """Found by fuzzing: its conversion gave a warning."""
    array = np.array([[0x7FA00000, 0], [0, 0]], dtype=np.uint32).view(np.float32)
    np.testing.assert_array_equal(read_matrix(write("m.npy", npy(array))), [[NAN, 0], [0, 0]])


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a file was unpickled",))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.npy", b"not numpy at all", "not a readable NumPy file"),
        ("m.npz", b"PK\x03\x04 half a zip", "not a readable NumPy file"),
        (
            "m.npy",
            npy(np.array([[Bomb()]], dtype=object), allow_pickle=True),
            "2-D array of object",
        ),
        ("m.npz", npz(a=FULL, b=FULL), r"holds \['a', 'b'\]; name one matrix"),
        ("m.npz", npz(), r"holds \[\]; name one matrix"),
        ("m.npy", npy(np.ones((5, 3, 2))), "holds a 3-D array of float64; a matrix is a 2-D array"),
        ("m.npy", npy(np.float64(1)), "holds a 0-D array"),
        ("m.npy", npy(np.array([["a"]])), "2-D array of <U1"),
        ("m.npy", npy(np.array([[True]])), "2-D array of bool"),
        ("m.npy", npy(np.ones((2, 3))), "2 rows and 3 columns"),
        ("m.npy", npy(np.ones((0, 0))), "0 rows and 0 columns|not a readable"),
    ],
)
def test_bad_numpy_files_raise_an_error(write, name, content, message):
    file = write(name, content)
    with pytest.raises(ValueError, match=message) as caught:
        read_matrix(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("name", ["m.npy", "m.npz"])
def test_half_written_numpy_files_raise_an_error(write, name):
    whole = npy(np.array(FULL)) if name == "m.npy" else npz(errors=FULL)
    for length in range(1, len(whole), 7):
        with pytest.raises(ValueError, match="not a readable NumPy file"):
            read_matrix(write(name, whole[:length]))


def test_a_damaged_archive_raises_an_error(write):
    damaged = bytearray(npz(errors=FULL))
    damaged[damaged.index(np.array(FULL).tobytes())] ^= 0xFF
    with pytest.raises(ValueError, match=r"not a readable NumPy file .*CRC"):
        read_matrix(write("m.npz", bytes(damaged)))


def test_an_archive_without_arrays_raises_an_error(write):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("errors", "0.9,0.1")
    with pytest.raises(ValueError, match=r"m\.npz: holds no array; a matrix is"):
        read_matrix(write("m.npz", buffer.getvalue()))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "npy", "npz"])
def test_missing_empty_directory(tmp_path, write, suffix):
    with pytest.raises(FileNotFoundError, match=rf"none\.{suffix}: no such file"):
        read_matrix(tmp_path / f"none.{suffix}")
    with pytest.raises(ValueError, match=rf"empty\.{suffix}: 0 bytes"):
        read_matrix(write(f"empty.{suffix}", ""))
    (tmp_path / f"folder.{suffix}").mkdir()
    with pytest.raises(ValueError, match=rf"folder\.{suffix}: this is a directory"):
        read_matrix(str(tmp_path / f"folder.{suffix}"))


def test_an_unknown_format_raises_an_error(write):
    with pytest.raises(ValueError, match=r"m\.xlsx: the name does not tell the format; it should end in \.csv, "):
        read_matrix(write("m.xlsx", "0.9"))


@pytest.mark.parametrize("name", ["m.csv", "m.json"])
def test_text_in_another_encoding_raises_an_error(write, name):
    with pytest.raises(ValueError, match=r"not a text file \(byte 0 is not UTF-8\)"):
        read_matrix(write(name, "0.9,0.1\n0.6,0.8\n".encode("utf-16")))


def test_a_huge_ragged_file_is_not_padded(write):
    rows = 20_000  # padded: 3.2 GB
    with pytest.raises(ValueError, match="20000 rows and 20000 columns; no more than 4,000,000 cells"):
        read_matrix(write("m.json", json.dumps([[1]] * (rows - 1) + [[1] * rows])))
    with pytest.raises(ValueError, match="20000 rows and 20000 columns; no more than"):
        read_matrix(write("m.csv", "1\n" * (rows - 1) + "1," * (rows - 1) + "1"))


def test_a_file_too_large_for_a_matrix_is_not_read(tmp_path):
    file = tmp_path / "m.csv"
    with file.open("wb") as sparse:
        sparse.truncate(MOST_MATRIX_BYTES + 1)
    with pytest.raises(ValueError, match="100,000,001 bytes"):
        read_matrix(file)


NEARLY_CSV = st.text(alphabet="0123456789.,;\t\n\"-eE ntask'\0", max_size=60).map(str.encode)


def header_only(shape, descr="<f8"):
    """An npy file of a shape, without its data."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def archive_of(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("shape", "descr", "message"),
    [
        ((20_000, 20_000), "<f8", "20000 rows and 20000 columns; no more than 4,000,000 cells"),
        ((10**9,), "<f8", "1-D array of float64"),
        ((10**9, 2), "|O", "2-D array of object"),
        ((2, 2), "<U100000000", "2-D array of <U100000000"),
    ],
)
def test_arrays_are_refused_by_their_header(write, shape, descr, message):
    """There is no data to read: only the header can have been looked at."""
    header = header_only(shape, descr)
    for name, content in (("m.npy", header), ("m.npz", archive_of(errors=header))):
        with pytest.raises(ValueError, match=message):
            read_matrix(write(name, content))


def test_names_and_contents_of_archives_are_limited(write):
    names = header_only((10**6,), "<U1000")
    with pytest.raises(ValueError, match="names of 4,000,000,000 bytes; at most"):
        read_matrix(write("m.npz", archive_of(errors=npy(np.eye(2)), names=names)))
    many = archive_of(errors=npy(np.eye(2)), **{f"a{k}": b"" for k in range(3000)})
    with pytest.raises(ValueError, match="an archive of too many arrays"):
        read_matrix(write("m.npz", many))


@pytest.mark.parametrize(("name", "piece"), [("m.csv", ";"), ("m.csv", ","), ("m.json", "[],"), ("m.json", "{")])
def test_text_of_too_many_cells_is_not_parsed(write, name, piece):
    file = write(name, piece * 4_300_000)
    with pytest.raises(ValueError, match="more than 4,000,000 cells; no more are read"):
        read_matrix(file)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "npy", "npz"])
@settings(max_examples=150, deadline=None)
@given(content=st.one_of(st.binary(min_size=1, max_size=80), NEARLY_CSV))
def test_any_bytes_give_a_matrix_or_a_value_error_with_the_path(tmp_path_factory, suffix, content):
    file = tmp_path_factory.getbasetemp() / f"any.{suffix}"
    file.write_bytes(content)
    try:
        found = read_matrix(file)
    except ValueError as problem:
        if str(file) not in str(problem):
            raise
    else:
        assert found.shape[0] - found.shape[1] in (0, 1)
        assert not np.isinf(found).any()


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0), byte=st.integers(0, 255), archive=st.booleans())
def test_one_wrong_byte_gives_a_matrix_or_a_value_error(tmp_path_factory, place, byte, archive):
    file = tmp_path_factory.getbasetemp() / "flipped.npy"
    content = bytearray(npz(errors=FULL) if archive else npy(np.array(FULL)))
    content[place % len(content)] = byte
    file.write_bytes(content)
    with contextlib.suppress(ValueError):
        assert read_matrix(file).ndim == 2
