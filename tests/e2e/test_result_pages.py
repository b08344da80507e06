"""The pages of results in a real browser: whatever tasks are called, nothing runs, loads or overflows."""

import html
import json
import re

import numpy as np
import pytest
from browser import Tab, open_browser
from command_line import answer, run  # noqa: F401 (fixtures)

import ebbing
from ebbing._tables import escape_control
from ebbing.report import result_page
from ebbing.runs import StreamRun

NAMES = [
    "<script>window.hacked=1</script>",
    "</style><img src=x onerror=window.hacked=1>",
    "\" onmouseover='window.hacked=1'",
    "javascript:window.hacked=1",
    "cats \u202eslac \u200f",
]
PROBLEM = ebbing.Problem.orthogonal(T=5, n=8, p=30, sigma=0.3, names=NAMES)


def make_results():
    """A result of every kind that a command shows, with names that try to do harm."""
    rng = np.random.default_rng(0)
    tasks = {name: (rng.standard_normal((30, 4)), rng.standard_normal(30)) for name in NAMES}
    forecast = ebbing.forecast("linear", tasks, train_size=8, test_size=8)
    found = ebbing.stakes(PROBLEM, seconds=1)
    curve = ebbing.order.replay_curve(PROBLEM)
    return {
        "expectation": ebbing.expect(PROBLEM),
        "simulation": ebbing.simulate_metrics(PROBLEM, 20),
        "stakes": found,
        "plan": found.plan,
        "front": ebbing.front(PROBLEM, seconds=1),
        "replay curve": curve,
        "replay plan": ebbing.best_replay(PROBLEM, 5),
        "replay order": ebbing.order.best_order_with_replay(PROBLEM, 2),
        "forecast": forecast,
        "forecast plan": forecast.best_order(),
        "metrics": ebbing.metrics.summary(np.where(np.tri(3), np.eye(3), np.nan), kind="accuracy"),
        "comparison": ebbing.metrics.compare_evaluations(
            {name: dict.fromkeys(NAMES, (score, 0.01)) for name, score in zip(NAMES[:2], (0.5, 0.4), strict=True)}
        ),
        "run": StreamRun(0, tuple(NAMES), rng.random((6, 5)), 5),
    }


@pytest.fixture(scope="module")
def results():
    return make_results()


@pytest.fixture(scope="module")
def pages(results):
    """Their pages by name: drawing the figures takes longer than anything that is done with a page."""
    return {name: result.to_html() for name, result in results.items()}


@pytest.fixture(scope="module")
def tab():
    with open_browser() as browser:
        yield Tab(browser)


def test_pages_are_harmless_and_complete(pages, tab, tmp_path):
    for name, page in pages.items():
        assert page.startswith("<!doctype html>"), name
        assert "<script" not in page.lower(), name
        assert "\u202e" not in page, name
        file = tmp_path / "page.html"
        file.write_text(page, encoding="utf-8")
        tab.open(file.as_uri())
        assert tab.page.locator("table").count() > 0, name
        assert tab.page.locator("figure svg").count() == (
            0 if name == "replay order" else tab.page.locator("figure").count()
        )
        assert tab.page.evaluate("window.hacked") is None, name
        assert tab.faults == [], name
        tab.page.set_viewport_size({"width": 360, "height": 740})
        assert tab.overflow <= 0, name
        tab.page.set_viewport_size({"width": 1280, "height": 900})


def test_every_page_begins_with_the_answer(results, pages):
    for name, result in results.items():
        sentence = result._answer()
        assert sentence.endswith(".") or name == "plan", name
        page = html.unescape(pages[name])
        assert escape_control(sentence) in page[: page.index("<table")], name


def test_expectation_says_what_is_forgotten_most(results):
    problem = ebbing.Problem.categories("AABB", n=50, p=100, sigma=0.3)
    e = ebbing.expect(problem)
    lost = e.errors[-1, :3] - np.diagonal(e.errors[1:])[:3]
    worst = problem.names[int(lost.argmax())]
    assert f"On average {e.forgetting:.4g} is expected to be forgotten; most of {worst}, from" in e._answer()
    identical = ebbing.expect(ebbing.Problem.identical(T=3, n=50, p=100))
    assert identical._answer().startswith("Nothing is expected to be forgotten; on average old tasks get better by")
    joint = ebbing.Curriculum.joint(problem)  # a single step: nothing to compare
    assert ebbing.expect(problem, joint)._answer() == ""


def test_many_tasks_are_explained_as_a_heat_map():
    page = ebbing.expect(ebbing.Problem.orthogonal(T=9, n=5, p=30)).to_html()
    assert "A row is a moment, a column a task" in page
    assert "A curve is the error" not in page


def test_names_are_shown_as_they_were_given(pages, tab, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(pages["expectation"], encoding="utf-8")
    text = tab.open(file.as_uri()).page.inner_text("main")
    for name in NAMES[:-1]:
        assert name in text
    assert "cats \\u202eslac \\u200f" in text


def test_page_has_the_numbers_of_the_summary(results, pages):
    for name, result in results.items():
        page = re.sub(r"<[^>]+>", " ", pages[name])
        numbers = re.findall(r"\d+\.\d{3,}", result.summary())
        assert [number for number in numbers if number not in page] == [], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_issue(results, tab, tmp_path, scheme):
    file = tmp_path / "page.html"
    file.write_text(result_page(results["stakes"], results["replay curve"]), encoding="utf-8")
    tab.page.emulate_media(color_scheme=scheme)
    assert tab.open(file.as_uri()).serious_issues() == []


@pytest.mark.parametrize(
    "command",
    [
        ("expect", "--tasks", "categories:AB", "-n", "5", "-p", "20"),
        ("order", "--tasks", "categories:AAB", "-n", "5", "-p", "20"),
        ("replay", "--tasks", "categories:AB", "-n", "5", "-p", "20"),
        ("metrics", "accuracies.csv", "--kind", "accuracy"),
        ("compare", "scores.json", "scores.json"),
    ],
    ids=lambda command: command[0],
)
def test_commands_write_pages(answer, tmp_path, command):  # noqa: F811
    (tmp_path / "accuracies.csv").write_text("a,b\n0.9,0.5\n0.7,0.9\n")
    (tmp_path / "scores.json").write_text('{"arc": [0.6, 0.01]}')
    json.loads(answer(*command, "--html", "page.html", "--json"))  # the page does not change what is printed
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "figure" in page
    assert f"ebbing {' '.join(command)} --html page.html" in page


def test_page_that_cannot_be_written_is_refused_at_once(run, tmp_path):  # noqa: F811
    done = run("metrics", "missing.csv", "--kind", "error", "--html", str(tmp_path))
    assert done.returncode != 0
    assert "this is a directory" in done.stderr


def test_the_answer_stands_before_pictures_and_tables():
    problem = ebbing.Problem.categories("AABB", n=50, p=100, sigma=0.3)
    page = result_page(ebbing.stakes(problem))
    sentence = "Learn A1 &gt; B1 &gt; A2 &gt; B2: the expected forgetting is 0.5213, proved to be the least"
    assert page.index(sentence) < page.index("<svg") < page.index("Each task in the recommended order")
    best = problem.reordered(ebbing.best_order(problem).order)
    kept = "Keep your order: its expected forgetting is 0.5213, and no order has less."
    assert kept in result_page(ebbing.stakes(best))
