"""The report in a real browser: every claim, its filter, its figures, and no way for texts to do harm."""

import json
import shutil
from pathlib import Path

import pytest
from browser import Tab, open_browser

from ebbing.report import report_page, write_report

REPRODUCED = Path(__file__).parents[2] / "reproduced"
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with claims and Figure 1, one hostile claim, and a target that failed."""
    folder = tmp_path_factory.mktemp("results")
    for name in ("claims.json", "fig1.json", "fig1.csv", "fig1.svg"):
        shutil.copy(REPRODUCED / name, folder / name)
    verdicts = json.loads((REPRODUCED / "verdicts.json").read_text())["verdicts"]
    mine = [entry for entry in verdicts if entry["target"] in ("claims", "fig1")]
    mine[0] |= {"claim": HOSTILE, "source": HOSTILE}
    (folder / "verdicts.json").write_text(json.dumps({"verdicts": mine}))
    write_report(folder, recorded=REPRODUCED, failures={"rules": f"no space left {HOSTILE}"})
    return folder


@pytest.fixture(scope="module")
def tab(folder):
    with open_browser() as browser:
        tab = Tab(browser).open((folder / "report.html").as_uri())
        tab.page.wait_for_selector("#figure-fig1 .plotly")
        yield tab


def test_report_has_every_claim_and_no_faults(tab, folder):
    mine = json.loads((folder / "verdicts.json").read_text())["verdicts"]
    recorded = json.loads((REPRODUCED / "verdicts.json").read_text())["verdicts"]
    trained = [e for e in recorded if e["target"] not in ("claims", "fig1", "tables", "rules")]
    assert tab.page.locator("#claim-rows tbody tr").count() == len(mine) + len(trained)
    assert tab.faults == []
    assert tab.page.evaluate("window.hacked") is None
    assert tab.page.inner_text("#claim-rows tbody tr:first-child td:nth-child(2)") == HOSTILE


def test_every_row_leads_to_its_evidence(tab):
    links = tab.page.eval_on_selector_all("#claim-rows a", "links => links.map(a => a.getAttribute('href').slice(1))")
    missing = [link for link in set(links) if tab.page.locator(f"section#{link}").count() != 1]
    assert missing == []


def test_filter_shows_what_it_says(tab):
    tab.page.select_option("#status", "fails")
    statuses = tab.page.eval_on_selector_all(
        "#claim-rows tbody tr:not([hidden])", "rows => [...new Set(rows.map(r => r.dataset.status))]"
    )
    assert statuses == ["fails"]
    tab.page.select_option("#status", "")
    tab.page.fill("#words", "lemma 2")
    assert tab.page.locator("#claim-rows tbody tr:not([hidden])").count() >= 1
    tab.page.fill("#words", "no such words at all")
    assert tab.page.locator("#claim-rows tbody tr:not([hidden])").count() == 0
    tab.page.fill("#words", "")


def test_figure_shows_the_numbers_of_the_file(tab, folder):
    drawn = tab.page.evaluate(
        "document.getElementById('figure-fig1').data.filter(t => t.mode === 'markers').flatMap(t => [...t.y])"
    )
    expected = [marker["mean"] for marker in json.loads((folder / "fig1.json").read_text())["markers"]]
    assert sorted(drawn) == sorted(expected)


def test_failed_part_is_named_and_others_stand(tab):
    assert "rules" in tab.page.inner_text("header .failed")
    assert "no space left" in tab.page.inner_text("#rules .failed")


def test_report_fits_a_telephone(tab):
    tab.page.set_viewport_size({"width": 360, "height": 740})
    tab.settle()
    assert tab.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    tab.page.set_viewport_size({"width": 1280, "height": 900})


def test_report_is_below_eight_megabytes(folder):
    assert (folder / "report.html").stat().st_size < 8_000_000


def test_folder_without_verdicts_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has no verdicts\.json: run ebbing reproduce"):
        report_page(tmp_path)
