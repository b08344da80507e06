"""Problems as people write them: TOML files in every form, matrix files, and slips of the pen."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import ebbing
from ebbing import expect
from ebbing.io import read_ground_truths, read_problem
from ebbing.problem import Problem

HEAD = "p = 100\nn = 50\nsigma = 0.3\n"


@pytest.fixture
def read(tmp_path):
    def read(content: str | bytes) -> Problem:
        file = tmp_path / "problem.toml"
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_problem(file)

    return read


def assert_same(a: Problem, b: Problem):
    for name in ("gram", "gaps", "n", "sigma", "unmodeled"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert (a.p, a.names) == (b.p, b.names)


COMMON = {"n": 50, "p": 100, "sigma": 0.3}
FORMS = {
    "orthogonal = 8": Problem.orthogonal(8, **COMMON),
    "orthogonal = 8\nnorm = 2": Problem.orthogonal(8, norm=2, **COMMON),
    "identical = 3": Problem.identical(3, **COMMON),
    "identical = 3\nnorm = 0.5": Problem.identical(3, norm=0.5, **COMMON),
    "identical = 3\nnorm = 0": Problem.identical(3, norm=0, **COMMON),
    'categories = "ABAB"': Problem.categories("ABAB", **COMMON),
    'categories = ["cat", "dog"]\nnorm = 3': Problem.categories(["cat", "dog"], norm=3, **COMMON),
    "vectors = [[1, 0], [0.6, 0.8]]": Problem.from_vectors([[1, 0], [0.6, 0.8]], **COMMON),
    "vectors = [[1, 0], [0.6, 0.8]]\ninitial = [0, 0.5]": Problem.from_vectors(
        [[1, 0], [0.6, 0.8]], initial=[0, 0.5], **COMMON
    ),
    "gram = [[1, 0.6], [0.6, 1]]": Problem(gram=[[1, 0.6], [0.6, 1]], n=50, p=100, sigma=0.3),
    "gram = [[1, 0], [0, 1]]\ninitial = [1, 1, 0]": Problem.from_gram([[1, 0], [0, 1]], initial=[1, 1, 0], **COMMON),
    "distances = [[0, 0.9], [0.9, 0]]\nnorms = [1, 1]": Problem.from_distances([[0, 0.9], [0.9, 0]], [1, 1], **COMMON),
    "distances = [[0, 0.9], [0.9, 0]]": Problem.from_distances([[0, 0.9], [0.9, 0]], **COMMON),
    "cosines = [[1, 0.5], [0.5, 1]]": Problem.from_cosines([[1, 0.5], [0.5, 1]], **COMMON),
    "cosines = [[1, 0.5], [0.5, 1]]\nnorms = [1, 3]": Problem.from_cosines([[1, 0.5], [0.5, 1]], [1, 3], **COMMON),
    "distances = [[0, 0.9], [0.9, 0]]\ntolerance = 0.1": Problem.from_distances([[0, 0.9], [0.9, 0]], **COMMON),
    "distances = [[0, 0.9], [0.9, 0]]\nnorms = 2": Problem.from_distances([[0, 0.9], [0.9, 0]], 2, **COMMON),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form(read, form):
    assert_same(read(HEAD + form), FORMS[form])


def test_the_format_shown_in_the_documentation_is_read(read):
    documentation = sys.modules["ebbing.io.problems"].__doc__ or ""
    example = "\n".join(line for line in documentation.splitlines() if line.startswith("    "))
    problem = read(example)
    assert (problem.T, problem.p, problem.n[0], problem.sigma[0]) == (8, 100, 50, 0.3)
    alternatives = [line.strip(" #") for line in example.splitlines() if line.strip().startswith("#")]
    assert len(alternatives) == 6
    for line in alternatives:
        assert read(HEAD + line.split("#")[0]).T >= 2


def test_one_value_per_task_names_and_missing_features(read):
    text = 'p = 1e2\nn = [50, 60.0]\nsigma = [0.1, 1]\nunmodeled = [0, 2.5]\nnames = ["a", "b"]\northogonal = 2\n'
    problem = read(text)
    assert_same(
        problem,
        Problem.orthogonal(2, p=100, n=[50, 60], sigma=[0.1, 1], unmodeled=[0, 2.5], names=["a", "b"]),
    )


def test_noise_is_optional(read):
    assert not read("p = 100\nn = 50\northogonal = 2").noise_variance.any()


def test_names_in_any_language(read):
    assert read(HEAD + 'orthogonal = 2\nnames = ["Hund", "çà"]').names == ("Hund", "çà")


def test_paths_may_be_text(tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text(HEAD + "orthogonal = 2")
    assert read_problem(str(file)).T == 2
    assert ebbing.read_problem(file).T == 2


def test_expectations_of_a_file(read):
    assert expect(read(HEAD + "orthogonal = 8")).forgetting == pytest.approx(1.02141, abs=5e-6)


ERRORS = {
    # no TOML
    "p = ": "is not a TOML file",
    "hello": "is not a TOML file",
    "p = 1\np = 2": "is not a TOML file",
    "{}": "is not a TOML file",
    # entries
    "": "p is missing; give a whole number; n is missing",
    "p = 100\northogonal = 2": "n is missing; give a whole number, or a list with one per task",
    HEAD: "give the ground truths in one way, by one of orthogonal.*here: none",
    HEAD + "orthogonal = 2\nidentical = 2": "in one way.*here: orthogonal, identical",
    HEAD + "orthogonal = 2\ngram = [[1]]\nvectors = [[1]]": "here: orthogonal, vectors, gram",
    HEAD + "orthogonal = 2\nnoise = 0.3": r"noise is not known here \(did you mean sigma\?\); known: p, n, sigma",
    HEAD + "orthogonal = 2\nsigmas = 0.3": r"sigmas is not known here \(did you mean sigma\?\)",
    HEAD + "orthogonal = 2\nSamples = 0.3": r"Samples is not known here \(did you mean n\?\)",
    HEAD + "orthogonal = 2\ncolor = 0.3": r"color is not known here; known: ",
    HEAD + "orthogonal = 2\nP = 100": "P is not known here",
    HEAD
    + "[problem]\northogonal = 2": r"problem is not known here: entries stand at the top of the file, without tables",
    HEAD + "orthogonal = 2\nnorms = [1, 1]": "norms goes with distances or cosines, not with orthogonal; leave it out",
    HEAD + "vectors = [[1]]\nnorm = 1": "norm goes with orthogonal or identical or categories, not with vectors",
    HEAD + "distances = [[0]]\nnorms = 1\ninitial = [1]": "initial goes with vectors or gram, not with distances",
    # types
    'p = "100"\nn = 50\northogonal = 2': "p = '100': give a whole number",
    "p = true\nn = 50\northogonal = 2": "p = True: give a whole number",
    "p = [100]\nn = 50\northogonal = 2": r"p = \[100\]: give a whole number",
    "p = 1979-05-27\nn = 50\northogonal = 2": "p = .*1979.*: give a whole number",
    "p = 100\nn = true\northogonal = 2": "n = True: give a whole number, or a list",
    "p = 100\nn = [50, true]\northogonal = 2": "n = .*True.*: give a whole number, or a list",
    'p = 100\nn = "50"\northogonal = 2': "n = '50': give a whole number, or a list",
    "p = 100\nn = [[50, 50]]\northogonal = 2": "n = .*: give a whole number, or a list",
    "p = 100\nn = 50\nsigma = {}\northogonal = 2": "sigma = .*: give a number, or a list",
    HEAD + 'orthogonal = "8"': "orthogonal = '8': give a number of tasks",
    HEAD + "categories = 5": "categories = 5: give a string with one letter per task",
    HEAD + "categories = [1, 2]": "categories = .*: give a string",
    HEAD + "vectors = [1, 2]": "vectors = .*: give a list with one list of numbers per task",
    HEAD + "gram = 1": "gram = 1: give a list with one list of numbers per task",
    HEAD + 'gram = [["a"]]': "gram = .*: give a list with one list",
    HEAD + "orthogonal = 2\nnames = [1, 2]": "names = .*: give a list of strings",
    HEAD + 'orthogonal = 2\nnorm = "1"': "norm = '1': give a number",
    # values, in the problem's own words
    "p = nan\nn = 50\northogonal = 2": "p=nan: give a whole number",
    "p = 100\nn = nan\northogonal = 2": "n=nan",
    "p = 100\nn = 50.5\northogonal = 2": "n=50.5: give a whole number",
    "p = 100.5\nn = 50\northogonal = 2": "p=100.5: give a whole number",
    "p = 100\nn = 50\nsigma = inf\northogonal = 2": "sigma=inf: give a finite number",
    "p = 100\nn = 50\nsigma = -1\northogonal = 2": "sigma=-1: must not be negative",
    HEAD + "orthogonal = 2.5": "T=2.5: give a whole number",
    HEAD + "orthogonal = 0": "T=0: give a whole number",
    HEAD + "orthogonal = 200": "span 200 dimensions",
    HEAD + 'categories = ""': "no labels",
    HEAD + "gram = [[1, 0], [0]]": "gram is not an array of numbers.*unequal length",
    HEAD + "gram = [[1, nan], [nan, 1]]": r"gram\[0, 1\] = nan",
    HEAD + "gram = [[1, 2], [2, 1]]": "eigenvalue -1",
    HEAD + "gram = []": r"gram has shape \(0,\)",
    HEAD + "distances = [[0, 5], [5, 0]]\nnorms = 1": "Euclidean",
    HEAD + "vectors = [[1, 2]]\ninitial = [1]": "initial has shape",
    HEAD + 'orthogonal = 2\nnames = ["a", "a"]': "names must differ",
    "p = 100\nn = [50, 50, 50]\northogonal = 2": r"n=\[50, 50, 50\]: 3 numbers for 2 tasks",
    f"p = 100\nn = {10**400}\northogonal = 2": "n",
    f"p = {10**400}\nn = 50\northogonal = 2": "p",
}


@pytest.mark.parametrize(("text", "message"), ERRORS.items(), ids=[repr(text[-40:]) for text in ERRORS])
def test_errors_are_one_line_that_names_the_file(read, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(text)
    assert "problem.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "pydantic" not in str(caught.value).lower()


@pytest.mark.parametrize(
    "content", [bytes(range(256)), b"\xff\xfe\x00", b"\x00" * 100, b"PK\x03\x04", b"\x89PNG\r\n\x1a\n"]
)
def test_binary_files(read, content):
    with pytest.raises(ValueError, match=r"problem\.toml is not a TOML file"):
        read(content)


def test_deeply_nested_files(read):
    with pytest.raises(ValueError, match=r"problem\.toml"):
        read(HEAD + "gram = " + "[" * 20_000 + "]" * 20_000)


def test_numbers_of_too_many_digits(read):
    with pytest.raises(ValueError, match="digits"):
        read(f"p = {'9' * 5000}\nn = 50\northogonal = 2")


def test_missing_files_and_directories_differ(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.toml: no such file"):
        read_problem(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="this is a directory; name a TOML file in it"):
        read_problem(Path(tmp_path))


# ---------------------------------------------------------------- matrix files


@pytest.mark.parametrize("form", ["distances", "gram"])
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"cats, large",dogs\n0,1.5\n1.5,0\n', ["cats, large", "dogs"]),
        ("\ncats,dogs\n0,1.5\n1.5,0\n", ["cats", "dogs"]),
        ("task;cats;dogs\ncats;0;1\ndogs;1;0\n", ["cats", "dogs"]),
        ("cats,0,1.5\ndogs,1.5,0\n", ["cats", "dogs"]),
        ("0,1.5\n1.5,0\n", None),
    ],
)
def test_square_files_name_the_tasks(tmp_path, text, names, form):
    file = tmp_path / "matrix.csv"
    file.write_text(text)
    found = read_ground_truths(file, form)
    assert np.shape(found[form]) == (2, 2)
    assert found.get("names") == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cats,1,0,2\ndogs,0.6,0.8,0\n", ["cats", "dogs"]),
        ("task,x,y,z\ncats,1,0,2\ndogs,0.6,0.8,0\n", ["cats", "dogs"]),
        ("x,y,z\n1,0,2\n0.6,0.8,0\n", None),  # names of features
        ("1,0,2\n0.6,0.8,0\n", None),
    ],
)
def test_rows_of_vectors_name_the_tasks(tmp_path, text, names):
    file = tmp_path / "vectors.csv"
    file.write_text(text)
    found = read_ground_truths(file, "vectors")
    assert found["vectors"] == [[1, 0, 2], [0.6, 0.8, 0]]
    assert found.get("names") == names


@pytest.mark.parametrize("suffix", ["json", "npy", "npz"])
def test_ground_truths_in_other_formats(tmp_path, suffix):
    file, vectors = tmp_path / f"vectors.{suffix}", [[1.0, 0.0, 2.0], [0.5, 0.25, 0.0]]
    match suffix:
        case "json":
            file.write_text(json.dumps({"vectors": vectors, "names": ["a", "b"], "note": "mine"}))
        case "npy":
            np.save(file, vectors)
        case "npz":
            np.savez(file, vectors=vectors, names=np.array(["a", "b"]))
    names = {} if suffix == "npy" else {"names": ["a", "b"]}
    assert read_ground_truths(file, "vectors") == {"vectors": vectors} | names


def test_distances_that_are_not_square_name_their_shape(tmp_path):
    file = tmp_path / "distances.csv"
    file.write_text("0,1.5,2\n1.5,0,1\n")
    with pytest.raises(ValueError, match=r"distances\.csv: 2 rows and 3 columns; a matrix of distances has one row"):
        read_ground_truths(file, "distances")


def test_a_matrix_file_read_as_toml_names_its_reader(tmp_path):
    file = tmp_path / "distances.csv"
    file.write_text("0,1.5\n1.5,0\n")
    with pytest.raises(ValueError, match=r"is not a TOML file.*read_matrix_problem reads a problem"):
        read_problem(file)


def test_square_matrices_tell_names_from_whole_numbers(tmp_path):
    file = tmp_path / "d.csv"
    file.write_text("a,b,c\n0,1,2\n1,0,1.5\n2,1.5,0\n")
    assert read_ground_truths(file, "distances") == {
        "distances": [[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]],
        "names": ["a", "b", "c"],
    }
    file.write_text(",1,2\n1,0,3\n2,3,0\n")
    assert read_ground_truths(file, "distances")["distances"] == [[0.0, 3.0], [3.0, 0.0]]


def test_row_names_that_differ_from_the_header_raise(tmp_path):
    file = tmp_path / "d.csv"
    file.write_text(",a,b\nb,0,1\na,1,0\n")
    with pytest.raises(ValueError, match="the rows are named b, a but the columns a, b; give both in the same order"):
        read_ground_truths(file, "distances")


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#" * 2_000_001, "more than 2,000,000 bytes.*--distances"),
        ("a" + ".a" * 200 + " = 1", "more than 100 keys, or parts of a key"),
        ('"a"' + ' . "a"' * 200 + " = 1", "more than 100 keys, or parts of a key"),
        ("[a" + ".a" * 200 + "]", "more than 100 keys, or parts of a key"),
        ("".join(f"[t{k}]\n" for k in range(101)), "more than 100 keys"),
        ("x = {" + ", ".join(f"k{k} = 1" for k in range(101)) + "}", "more than 100 keys"),
        ("".join(f"k{k} = 1\n" for k in range(8)), "k0, k1, k2, k3, k4 and 3 more are not known here"),
    ],
)
def test_what_would_take_much_memory_is_not_parsed(read, text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


def test_dots_and_equal_signs_in_names_are_no_keys(read):
    names = ["a." * 300, "=" * 300]
    problem = read(HEAD + f"orthogonal = 2\nnames = {json.dumps(names)}\n# {'=' * 300}\n")
    assert problem.names == tuple(names)
    assert read(HEAD + "vectors = [\n" + "[0.5],\n" * 150 + "[0.5]\n]").T == 151


def test_a_pipe_without_a_writer_is_empty(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ValueError, match="p is missing"):
        read_problem(tmp_path / "pipe.toml")


def test_an_error_shows_the_beginning_of_a_long_entry(read):
    with pytest.raises(ValueError, match="give a list with one list") as caught:
        read(HEAD + "gram = [" + '"x",' * 10_000 + "]")
    assert len(str(caught.value)) < 400
