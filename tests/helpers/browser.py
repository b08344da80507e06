"""A real browser for tests of pages: Debian's chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.resources import files
from typing import Self

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--allow-file-access-from-files"]

SERIOUS = """async (rules) => {
    const settings = {resultTypes: ["violations"], ...(rules ? {runOnly: {type: "rule", values: rules}} : {})};
    const found = await axe.run(document, settings);
    return found.violations.filter(v => ["serious", "critical"].includes(v.impact))
        .map(v => `${v.id}: ${v.help}: ` + v.nodes.slice(0, 3).map(n => n.html.slice(0, 150)).join(" "));
}"""


@contextmanager
def open_browser() -> Iterator:
    """A headless chromium. Without one, tests are skipped, but fail in CI."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if "CI" not in os.environ:
        if chromium is None:
            pytest.skip("chromium is not installed: apt-get install chromium")
        pytest.importorskip("playwright", reason="playwright is not installed")
    assert chromium is not None, "chromium is not installed: apt-get install chromium"
    with import_module("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """A page in the browser; `faults` lists errors of the console and requests that leave the page."""

    def __init__(self, browser, **settings) -> None:
        self.page = browser.new_page(viewport={"width": 1280, "height": 900}, **settings)
        self.faults: list[str] = []
        self.page.on("console", lambda m: self.faults.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("requestfailed", lambda request: self.faults.append(f"failed: {request.url}"))
        self.page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:", "blob:", "about:")) else self.faults.append(r.url),
        )

    def open(self, address: str) -> Self:
        """Open an address from the beginning, even if only its fragment differs."""
        self.page.goto("about:blank")
        self.page.goto(address)
        self.settle()
        return self

    def serious_issues(self, *rules: str) -> list[str]:
        """What axe-core finds that keeps people from using the page, by some rules or all."""
        if "CI" not in os.environ:
            pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
        script = files("axe_playwright_python") / "axe.min.js"
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(script.read_text("utf-8"))
        return self.page.evaluate(SERIOUS, list(rules) or None)

    @property
    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")

    def settle(self) -> None:
        """Wait until the page has drawn what was asked for."""
        self.page.evaluate("() => new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))")
