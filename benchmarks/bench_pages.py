"""Pages: how long the report takes to make from records and how large it is; how long the explorer computes a frame."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from ebbing import Problem, expect
from ebbing.explorer import write_explorer
from ebbing.report import write_report
from harness import Row, at_most

REPRODUCED = Path(__file__).parents[1] / "reproduced"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# Moves a slider at every third frame, as a hand does; returns the number of frames in which something was computed.
MOVE = """async (slider) => {
    const frame = () => new Promise(requestAnimationFrame);
    const control = document.getElementById(slider);
    let frames = 0;
    for (let i = 0; i < 60; i++) {
        control.value = Number(control.max) * (0.3 + 0.005 * i);
        control.dispatchEvent(new Event("input"));
        for (let k = 0; k < 3; k++) await frame();
        frames += ebbing.frames.length;
    }
    return frames;
}"""


def report_from_records() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in REPRODUCED.iterdir():
            if file.is_file():
                shutil.copy(file, folder)
        began = time.perf_counter()
        page = write_report(folder)
        took = time.perf_counter() - began
        size = page.stat().st_size / 1e6
        made = (folder / "REPRODUCTION.md").read_text("utf-8")
        assert made.count("| Theorem 1 |") == 1
    return [at_most("report.html from records", took, 10, " s"), at_most("size of report.html", size, 8, " MB")]


def explorer_frames(learner: str, memory: int = 0) -> Row:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        file = Path(name) / "explorer.html"
        write_explorer(file)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        processor = tab.context.new_cdp_session(tab)
        processor.send(
            "Performance.enable", {"timeDomain": "threadTicks"}
        )  # of this page alone, on a busy machine, too
        tab.goto(
            f"{file.as_uri()}#kind=orthogonal&T=20&n=50&p=100&sigma=0.3&learner={learner}&penalty=10&time=0.01"
            f"&rate=0.00001&steps=20&memory={memory}"
        )
        tab.evaluate(MOVE, "p")  # compiles
        before = seconds_of_scripts(processor)
        frames = tab.evaluate(MOVE, "p")
        milliseconds = 1e3 * (seconds_of_scripts(processor) - before) / frames
        state, F = tab.evaluate("[ebbing.state, ebbing.current.result.F]")
        browser.close()
    if learner == "minimum-norm" and not memory:
        assert abs(F - expect(Problem.orthogonal(T=20, n=50, p=state["p"], sigma=0.3)).forgetting) < 1e-11
    how = f"{learner}, with old data" if memory else learner
    return at_most(f"explorer, T = 20, {how}: computing in a frame while a slider moves", milliseconds, 16, " ms")


def seconds_of_scripts(processor) -> float:
    """Return the time that the page's scripts have had a processor."""
    found = processor.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in found if metric["name"] == "ScriptDuration")


def run() -> list[Row]:
    frames = [
        explorer_frames("minimum-norm"),
        explorer_frames("minimum-norm", memory=7),
        explorer_frames("averaged", memory=7),
    ]
    slow = [explorer_frames(learner, memory=7) for learner in ("ridge", "gradient-flow", "gradient-steps")]
    return [*report_from_records(), *frames, explorer_frames("ridge"), *slow]
