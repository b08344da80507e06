"""Problems as people write them: TOML files in every form, the command line's short forms, and slips of the pen."""

import sys
from pathlib import Path

import numpy as np
import pytest

import ebbing
from ebbing import expect
from ebbing.io.problems import parse_numbers, parse_problem, parse_tasks, read_distances, read_problem
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
    assert len(alternatives) == 5
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


REFUSED = {
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
    HEAD + "orthogonal = 2\nnoise = 0.3": "noise is not known here; known: p, n, sigma",
    HEAD + "orthogonal = 2\nP = 100": "P is not known here",
    HEAD + "[problem]\northogonal = 2": "problem is not known here",
    HEAD + "orthogonal = 2\nnorms = [1, 1]": "norms goes with distances, not with orthogonal; leave it out",
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
    "p = 100\nn = nan\northogonal = 2": "n = nan",
    "p = 100\nn = 50.5\northogonal = 2": "n=50.5: give a whole number",
    "p = 100.5\nn = 50\northogonal = 2": "p=100.5: give a whole number",
    "p = 100\nn = 50\nsigma = inf\northogonal = 2": "sigma = inf: every entry must be finite",
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
    "p = 100\nn = [50, 50, 50]\northogonal = 2": r"n has shape \(3,\)",
    f"p = 100\nn = {10**400}\northogonal = 2": "n",
    f"p = {10**400}\nn = 50\northogonal = 2": "p",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=[repr(text[-40:]) for text in REFUSED])
def test_refused_in_one_line_that_names_the_file(read, text, message):
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


def test_missing_files_and_directories_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_problem(tmp_path / "none.toml")
    with pytest.raises(IsADirectoryError):
        read_problem(Path(tmp_path))


# ---------------------------------------------------------------- short forms of the command line


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("orthogonal:8", {"orthogonal": 8}),
        ("identical:1", {"identical": 1}),
        ("categories:ABAB", {"categories": "ABAB"}),
        ("categories:A:B", {"categories": "A:B"}),
        ("orthogonal:008", {"orthogonal": 8}),
    ],
)
def test_tasks(text, content):
    assert parse_tasks(text) == content


@pytest.mark.parametrize(
    "text",
    [
        *("", ":", "8", "orthogonal", "orthogonal:", "orthogonal:x", "orthogonal:-8", "orthogonal:8.0", "orthogonal:²"),
        *("Orthogonal:8", "orthogonal 8", "categories", "categories:", "gram:8", "vectors:[[1]]", "file.toml"),
    ],
)
def test_no_tasks(text):
    with pytest.raises(ValueError, match=r"tasks .*: give orthogonal:8, identical:8 or categories:ABAB, or .* TOML"):
        parse_tasks(text)


def test_no_task_at_all_is_left_to_the_problem():
    with pytest.raises(ValueError, match="T=0: give a whole number"):
        parse_problem({"p": 100, "n": 50} | parse_tasks("orthogonal:0"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50", 50.0),
        ("5e1", 50.0),
        (" 50 ", 50.0),
        ("-1", -1.0),
        ("50,60", [50.0, 60.0]),
        ("50, 60", [50.0, 60.0]),
        ("0.1,0.2,0.3", [0.1, 0.2, 0.3]),
    ],
)
def test_numbers(text, value):
    assert parse_numbers("n", text) == value


@pytest.mark.parametrize("text", ["", ",", "50,", ",50", "x", "50;60", "50 60", "[50]", "0x10", "1/2", "50%"])
def test_no_numbers(text):
    with pytest.raises(ValueError, match=r"n=.*: give a number, or one per task separated by commas"):
        parse_numbers("n", text)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999"])
def test_infinite_numbers_are_left_to_the_problem(text):
    with pytest.raises(ValueError, match=r"n = .*finite"):
        parse_problem({"p": 100, "n": parse_numbers("n", text), "orthogonal": 2})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"cats, large",dogs\n0,1.5\n1.5,0\n', ["cats, large", "dogs"]),
        ("\ncats,dogs\n0,1.5\n1.5,0\n", ["cats", "dogs"]),
        ("task;cats;dogs\ncats;0;1\ndogs;1;0\n", ["cats", "dogs"]),
        ("cats,0,1.5\ndogs,1.5,0\n", None),
        ("0,1.5\n1.5,0\n", None),
    ],
)
def test_names_of_distances(tmp_path, text, names):
    file = tmp_path / "distances.csv"
    file.write_text(text)
    found = read_distances(file)
    assert np.shape(found["distances"]) == (2, 2)
    assert found.get("names") == names
