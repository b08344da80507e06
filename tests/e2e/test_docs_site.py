"""The documentation site, as a reader's browser sees it: every page is opened in headless chromium."""

import fcntl
import html
import os
import re
import runpy
import shutil
import subprocess
import sys
import time
import urllib.parse
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest
from browser import Tab, open_browser
from command_line import run_command

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "docs"
COMPLETE = BUILT / ".complete"  # written by `make docs` at the end
PACKAGES = runpy.run_path(str(ROOT / "docs" / "_docstrings.py"))["PACKAGES"]

# What a page shows once MathJax is done: links with their targets, anchors, formulas that failed.
OBSERVE = """async () => {
    if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
    return {
        links: [...document.querySelectorAll('a[href]')].map(a => a.href),
        anchors: [...document.querySelectorAll('[id]')].map(e => e.id),
        formulas: document.querySelectorAll('mjx-container').length,
        formulaErrors: [...document.querySelectorAll('mjx-merror')].map(e => e.textContent),
        rawFormulas: [...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container')).length,
        images: [...document.images].filter(i => !i.complete || i.naturalWidth === 0).map(i => i.src),
    };
}"""


def is_fresh() -> bool:
    """Whether build/docs was completed after the last change of any source."""
    if not COMPLETE.exists():
        return False
    sources = [*(ROOT / "docs").rglob("*"), *(ROOT / "src").rglob("*.py"), *(ROOT / "reproduced").glob("*.md")]
    newest = max(
        f.stat().st_mtime for f in sources if f.is_file() and "__pycache__" not in f.parts and f.suffix != ".svg"
    )
    return COMPLETE.stat().st_mtime > newest


@pytest.fixture(scope="module")
def site():
    """The folder of the built site; built here if it is not fresh."""
    pytest.importorskip("sphinx") if "CI" not in os.environ else import_module("sphinx")
    BUILT.parent.mkdir(exist_ok=True)
    with (BUILT.parent / "docs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests in other processes wait, and then find it fresh
        if not is_fresh():
            shutil.rmtree(BUILT, ignore_errors=True)  # pages of an earlier build may be stale
            started = time.time()
            command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "-b", "html", str(ROOT / "docs"), str(BUILT)]
            result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
            assert result.returncode == 0, result.stderr[-4000:]
            COMPLETE.touch()
            os.utime(COMPLETE, (started, started))  # a source that changed during the build makes it stale
    return BUILT


def read_source_page(file: Path) -> dict:
    """What a page of source code shows, read as text: it has no formulas, and one template makes all of them."""
    text = file.read_text()
    links = [
        urllib.parse.urljoin(file.as_uri(), html.unescape(href)) for href in re.findall(r'<a [^>]*href="([^"]*)"', text)
    ]
    nothing = dict.fromkeys(("formulaErrors", "rawFormulas", "images", "overflow", "faults"))
    return nothing | {"links": links, "anchors": re.findall(r' id="([^"]*)"', text), "formulas": 0}


@pytest.fixture(scope="module")
def observed(site):
    """By page: what the browser saw, and what went wrong."""
    *read, longest = sorted((site / "_modules").rglob("*.html"), key=lambda file: file.stat().st_size)
    pages = {file: read_source_page(file) for file in read}
    with open_browser() as browser:
        tab = Tab(browser)
        for file in sorted({longest, *site.rglob("*.html")} - set(read)):
            tab.faults.clear()
            tab.page.set_viewport_size({"width": 1280, "height": 900})
            tab.page.goto(file.as_uri())
            seen = tab.page.evaluate(OBSERVE)
            tab.page.set_viewport_size({"width": 390, "height": 800})
            pages[file] = seen | {"overflow": tab.overflow, "faults": list(tab.faults)}
        assert set(read_source_page(longest)["anchors"]) <= set(pages[longest]["anchors"])  # scripts add some
        local = {link.rstrip("#") for link in pages[longest]["links"] if link.startswith("file:")}
        assert {link for link in read_source_page(longest)["links"] if link.startswith("file:")} == local
    return pages


def by_page(observed, site, key):
    return {str(file.relative_to(site)): seen[key] for file, seen in observed.items() if seen[key]}


def test_pages_load_without_errors_or_external_requests(observed, site):
    assert len(observed) > 30
    assert by_page(observed, site, "faults") == {}
    assert by_page(observed, site, "images") == {}


def test_formulas_are_typeset_without_errors(observed, site):
    assert by_page(observed, site, "formulaErrors") == {}
    assert by_page(observed, site, "rawFormulas") == {}
    assert observed[site / "theory" / "recursion.html"]["formulas"] > 100


def test_internal_links_lead_to_existing_anchors(observed, site):
    broken = []
    for file, seen in observed.items():
        for link in set(seen["links"]):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme != "file":
                continue
            target, anchor = Path(urllib.parse.unquote(parts.path)), urllib.parse.unquote(parts.fragment)
            anchors = observed[target]["anchors"] if target in observed else []
            if not target.is_file() or (anchor and target.suffix == ".html" and anchor not in anchors):
                broken.append(f"{file.relative_to(site)}: {link.removeprefix(site.as_uri())}")
    assert broken == []


def test_pages_fit_a_telephone(observed, site):
    assert {page: width for page, width in by_page(observed, site, "overflow").items() if width > 1} == {}


def test_public_names_have_an_entry(site):
    pages = "".join(file.read_text() for file in (site / "reference").glob("*.html"))
    entries = {entry.rpartition(".")[2] for entry in re.findall(r'<dt class="[^"]*" id="(ebbing\.[\w.]+)"', pages)}
    missing = []
    for package in PACKAGES:
        if package.startswith("ebbing.integrations."):  # imports its library
            continue
        module = import_module(package)
        assert set(dir(module)) >= set(module.__all__)  # completion in a notebook shows them, too
        public = [name for name in module.__all__ if isinstance(getattr(module, name), type | FunctionType)]
        missing += [f"{package}.{name}" for name in public if name not in entries]
    assert missing == []


def test_program_of_the_cluster_page_runs_and_resumes(tmp_path):
    page = (ROOT / "docs" / "howto" / "cluster.md").read_text()
    (program,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "workers=2" in block]
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "program.py"]
    first = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True).stdout
    assert [line.split()[:3] for line in first.splitlines()] == [["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]]
    stored = {file: file.stat().st_mtime_ns for file in (tmp_path / "results" / "runs").rglob("*.json")}
    assert stored
    again = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True).stdout
    assert again == first
    assert {file: file.stat().st_mtime_ns for file in stored} == stored


def test_commands_of_the_pages_have_known_options():
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    blocks = [block for page in pages for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)]
    commands = [
        line.split("#")[0].split() for block in blocks for line in block.splitlines() if line.startswith("ebbing ")
    ]
    assert len(commands) > 15
    unknown = []
    for name in sorted({command[1] for command in commands}):
        help_text = run_command(name, "--help", folder=ROOT).stdout
        for command in commands:
            if command[1] == name:
                options = [word for word in command[2:] if re.match(r"--?[a-z]", word)]
                unknown += [" ".join(command) for option in options if not re.search(rf"{option}\b", help_text)]
    assert unknown == []
