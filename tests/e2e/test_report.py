"""The report in a real browser: every claim, its filter, its figures, and no way for texts to do harm."""

import json
import shutil
from pathlib import Path

import pytest
from browser import Tab, open_browser

from ebbing.report import report_page, write_report
from ebbing.report._claims import count_verdicts
from ebbing.report._page import all_claims
from ebbing.report._panels import read_rows
from ebbing.report._reproduction import reproduction_markdown

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
    assert tab.page.locator("#claim-rows tbody tr.claim").count() == len(mine) + len(trained)
    assert tab.faults == []
    assert tab.page.evaluate("window.hacked") is None
    assert tab.page.inner_text("#claim-rows tbody tr.claim td:nth-child(2) >> nth=0") == HOSTILE


def test_every_row_leads_to_its_evidence(tab):
    links = tab.page.eval_on_selector_all("#claim-rows a", "links => links.map(a => a.getAttribute('href').slice(1))")
    missing = [link for link in set(links) if tab.page.locator(f"section#{link}, tr#{link}").count() != 1]
    assert missing == []


def test_filter_shows_what_it_says(tab):
    tab.page.select_option("#status", "fails")
    statuses = tab.page.eval_on_selector_all(
        "#claim-rows tbody tr.claim:not([hidden])", "rows => [...new Set(rows.map(r => r.dataset.status))]"
    )
    assert statuses == ["fails"]
    tab.page.select_option("#status", "")
    tab.page.fill("#words", "lemma 2")
    assert tab.page.locator("#claim-rows tbody tr.claim:not([hidden])").count() >= 1
    tab.page.fill("#words", "no such words at all")
    assert tab.page.locator("#claim-rows tbody tr.claim:not([hidden])").count() == 0
    tab.page.fill("#words", "")


def test_figure_shows_the_numbers_of_the_file(tab, folder):
    drawn = tab.page.evaluate(
        "document.getElementById('figure-fig1').data.filter(t => t.mode === 'markers').flatMap(t => [...t.y])"
    )
    expected = [marker["mean"] for marker in json.loads((folder / "fig1.json").read_text())["markers"]]
    assert sorted(drawn) == sorted(expected)


def test_figure_of_theory_has_its_data_and_other_ratios(tab):
    rows = read_rows(REPRODUCED / "fig2_theory.csv")
    traces = tab.page.evaluate(
        "document.getElementById('figure-fig2-recorded1').data"
        ".map(t => ({name: t.name, shown: t.visible, x: [...t.x], y: [...t.y], error: [...t.error_y.array]}))"
    )
    for trace in traces:
        mine = [row for row in rows if trace["name"] == f"r = {float(row['r']):g}"]
        assert set(trace["x"]) <= {float(row["predicted"]) for row in mine}
        assert set(trace["y"]) <= {float(row["measured"]) for row in mine}
        assert trace["shown"] == (True if trace["name"] == "r = 0.5" else "legendonly")
        assert all(error > 0 for error in trace["error"])
    assert sum(len(trace["x"]) for trace in traces) == len(rows)
    assert tab.page.locator("#fig2-recorded a[download='fig2_theory.csv']").count() == 1


def test_figure_of_forecasts_has_every_order(tab):
    sets = json.loads((REPRODUCED / "forecast.json").read_text())["sets"]
    drawn = tab.page.evaluate(
        "document.getElementById('figure-forecast-recorded').data"
        ".filter(t => t.mode === 'markers').flatMap(t => [...t.y])"
    )
    measured = [sum(values) / len(values) for one in sets for values in one["forgetting"]]
    assert sorted(drawn) == pytest.approx(sorted(measured))


def test_numbers_at_the_top_lead_to_their_claims(tab):
    check_counts(tab)
    tab.page.click("#filter button[type=reset]")
    tab.settle()
    assert tab.page.locator("#claim-rows tbody tr.claim[hidden]").count() == 0


def check_counts(tab):
    for button in tab.page.locator(".counts button").all():
        button.click()
        tab.settle()
        shown = tab.page.locator("#claim-rows tbody tr.claim:not([hidden])").count()
        assert button.inner_text().startswith(f"{shown} ")
        assert tab.page.inner_text("#shown").startswith(f"{shown} of")


def test_own_methods_are_not_counted_as_the_papers():
    rows = [row for row in all_claims(REPRODUCED, None) if row.target == "table1"]
    assert {row.group for row in rows} == {"networks", "beyond"}
    assert all(row.group == "beyond" for row in rows if "TRGP free" in row.claim)
    assert any("TRGP+ is more accurate than TRGP" in row.claim for row in rows if row.group == "networks")


def test_undecided_claims_say_to_which_side_they_lean(tmp_path):
    verdicts = json.loads((REPRODUCED / "verdicts.json").read_text())["verdicts"]
    entry = next(entry for entry in verdicts if entry["target"] == "fig2" and entry["holds"] is None)
    bounds = {"between +0.01 and +0.20": "undecided, leans yes", "between -0.20 and -0.01": "undecided, leans no",
              "between -0.01 and +0.20": "undecided", "": "undecided"}  # fmt: skip
    entries = [entry | {"bounds": text} for text in bounds]
    (tmp_path / "verdicts.json").write_text(json.dumps({"verdicts": entries}))
    assert [row.verdict for row in all_claims(tmp_path, None)] == list(bounds.values())


def test_groups_are_filtered(tab):
    tab.page.select_option("#group", "erratum")
    sources = tab.page.eval_on_selector_all(
        "#claim-rows tbody tr.claim:not([hidden]) td:first-child", "cells => cells.map(c => c.textContent)"
    )
    assert len(sources) > 10
    assert all("erratum E" in source for source in sources)
    assert tab.page.locator("#claim-rows tr.group:not([hidden])").count() == 1
    tab.page.select_option("#group", "")


def test_every_statement_of_the_paper_has_a_row():
    text = (REPRODUCED / "REPRODUCTION.md").read_text("utf-8")
    statements = ["Lemma 1", "Lemma 2", "Theorem 1", "Theorem 2", "Corollary of Theorem 1", "Prop. C.1", "Prop. order1",
                  "Prop. order2", "Prop. order3", "Figure 1", "Figure 2 (a)", "Figure 2 (b)", "Figure 2 (c)",
                  "Figure 2 (d)", "Table 1", "tables of orders"]  # fmt: skip
    assert [name for name in statements if f"| {name}" not in text] == []
    assert [k for k in range(1, 18) if f"erratum E{k} |" not in text] == []


def test_reproduction_file_is_made_of_the_verdicts():
    made = reproduction_markdown(all_claims(REPRODUCED, None), {})
    assert made == (REPRODUCED / "REPRODUCTION.md").read_text("utf-8")
    verdicts = json.loads((REPRODUCED / "verdicts.json").read_text())["verdicts"]
    heads_and_counts = 2 * made.count("\n|---") - 1
    assert made.count("\n| ") == len(verdicts) + heads_and_counts


def test_quick_and_recorded_results_stand_side_by_side(folder, tmp_path):
    for file in REPRODUCED.glob("fig2*"):
        shutil.copy(file, tmp_path)
    verdicts = json.loads((REPRODUCED / "verdicts.json").read_text())["verdicts"]
    mine = [entry for entry in verdicts if entry["target"] == "fig2"]
    (tmp_path / "verdicts.json").write_text(json.dumps({"verdicts": mine}))
    page = report_page(tmp_path, recorded=REPRODUCED)
    quick, recorded, other = (
        page.index(f'<section id="{name}"') for name in ("fig2", "fig2-recorded", "table1-recorded")
    )
    assert quick < recorded < other
    assert page.count('data-label="recorded, paper scale"') > page.count('data-label="this run"') == len(mine)


def test_claims_that_are_run_small_and_recorded_count_once(tab, tmp_path):
    verdicts = json.loads((REPRODUCED / "verdicts.json").read_text())["verdicts"]
    small = [entry | {"holds": None} for entry in verdicts if entry["target"] == "fig2"]
    (tmp_path / "verdicts.json").write_text(json.dumps({"verdicts": small}))
    rows = all_claims(tmp_path, REPRODUCED)
    assert sum(row.target == "fig2" for row in rows) == 2 * len(small)
    recorded = [row for row in all_claims(REPRODUCED, None) if row.target not in ("claims", "fig1", "tables", "rules")]
    assert count_verdicts(rows) == count_verdicts(recorded)
    page = write_report(tmp_path, recorded=REPRODUCED)
    other = Tab(tab.page.context.browser).open(page.as_uri())
    check_counts(other)
    other.page.select_option("#status", "")  # a choice of one's own shows both
    other.page.select_option("#group", "networks")
    shown = other.page.locator("#claim-rows tbody tr.claim:not([hidden])").count()
    assert shown == sum(row.group == "networks" for row in rows)
    other.page.close()


def test_report_stands_without_the_data_of_a_part(tmp_path):
    shutil.copy(REPRODUCED / "verdicts.json", tmp_path)
    assert '<section id="claims"' in report_page(tmp_path)


def copy_of_records(folder):
    """A folder with the records of Figure 2, its verdicts, and those of Table 1 without records."""
    (folder / "records").mkdir()
    shutil.copy(REPRODUCED / "records" / "fig2.jsonl", folder / "records")
    verdicts = json.loads((REPRODUCED / "verdicts.json").read_text())["verdicts"]
    mine = [entry for entry in verdicts if entry["target"] in ("fig2", "table1")]
    (folder / "verdicts.json").write_text(json.dumps({"verdicts": mine}))
    return folder


def test_recorded_claims_are_counted_once(tmp_path):
    rows = all_claims(copy_of_records(tmp_path), REPRODUCED)
    expected = [row for row in all_claims(REPRODUCED, None) if row.target == "fig2"]
    assert [row for row in rows if row.target == "fig2"] == expected


def test_only_what_has_records_is_labeled_recorded(tmp_path):
    rows = all_claims(copy_of_records(tmp_path), None)
    labels = {target: {row.label for row in rows if row.target == target} for target in ("fig2", "table1")}
    assert labels == {"fig2": {"recorded, paper scale"}, "table1": {"this run"}}


@pytest.mark.parametrize("damage", ["[", "[]", "\0"])
def test_damaged_data_are_named(tmp_path, damage):
    shutil.copy(REPRODUCED / "verdicts.json", tmp_path)
    (tmp_path / "claims.json").write_text(damage)
    with pytest.raises(ValueError, match=r"claims\.json: not as a reproduction wrote it"):
        report_page(tmp_path)


def test_report_says_what_came_from_the_store(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "run")
    for file in REPRODUCED.glob("fig2*"):
        shutil.copy(file, tmp_path / "run")
    content = json.loads((REPRODUCED / "fig2.json").read_text())
    content["provenance"] |= {"networks": {"trained": 7, "found": 164}}
    (tmp_path / "run" / "fig2.json").write_text(json.dumps(content))
    assert "networks: 7 trained, 164 found" in report_page(tmp_path / "run")


def test_failed_part_is_named_and_others_stand(tab):
    assert "rules" in tab.page.inner_text("header .failed")
    assert "no space left" in tab.page.inner_text("#rules .failed")


def test_report_fits_a_telephone(tab):
    tab.page.set_viewport_size({"width": 360, "height": 740})
    tab.settle()
    assert tab.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    tab.page.set_viewport_size({"width": 1280, "height": 900})


def test_report_prints_dark_on_white(tab):
    tab.page.emulate_media(media="print", color_scheme="dark")
    tab.settle()
    ink = "getComputedStyle(document.querySelector('#figure-fig1 .xtick text')).fill"
    assert tab.page.evaluate(ink) == "rgb(28, 37, 48)"
    assert (
        tab.page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor") == "rgb(255, 255, 255)"
    )
    tab.page.emulate_media(media="screen", color_scheme="light")
    tab.settle()


def test_report_is_below_eight_megabytes(folder):
    assert (folder / "report.html").stat().st_size < 8_000_000


def test_folder_without_verdicts_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has no verdicts\.json: run ebbing reproduce"):
        report_page(tmp_path)


def test_axe_finds_no_serious_issue(tab):
    """The last test of this page: it keeps one row of each kind and no points, because axe-core looks at each."""
    tab.page.evaluate(
        """for (const body of document.querySelectorAll("tbody")) {
            const kinds = new Set();
            for (const row of [...body.rows]) {
                const kind = `${row.className} ${row.dataset.status} ${row.dataset.group}`;
                if (kinds.has(kind)) row.remove();
                kinds.add(kind);
            }
        }
        for (const picture of document.querySelectorAll(".main-svg")) picture.replaceChildren();"""
    )
    assert tab.page.locator("#claim-rows tr.claim").count() > 5
    assert tab.serious_issues() == []
    tab.page.click("#theme")
    assert tab.page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert tab.serious_issues("color-contrast") == []
