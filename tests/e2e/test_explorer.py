"""The explorer in a real browser: its numbers are Python's, and every control, preset and link works."""

import json

import numpy as np
import pytest
from browser import Tab, open_browser

import ebbing
from ebbing.explorer import explorer_page, write_explorer

HOSTILE = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    file = tmp_path_factory.mktemp("explorer") / "explorer.html"
    write_explorer(file)
    return file.as_uri()


class Explorer(Tab):
    """A tab with the explorer."""

    def slide(self, control, value):
        self.page.evaluate(
            "([id, value]) => { const e = document.getElementById(id); e.value = value;"
            " e.dispatchEvent(new Event('input')); }",
            [control, value],
        )
        self.settle()

    @property
    def result(self):
        return self.page.evaluate(
            "() => ({F: ebbing.current.result.F, G: ebbing.current.result.G, p: ebbing.state.p, n: ebbing.state.n,"
            " message: document.getElementById('message').textContent,"
            " answer: document.getElementById('answer').textContent})"
        )


@pytest.fixture
def tab(browser, address):
    tab = Explorer(browser).open(address)
    yield tab
    assert tab.faults == []
    assert tab.page.evaluate("window.hacked") is None
    tab.page.close()


COMPUTE = """cases => cases.map(c => {
    const problem = {...ebbing.engine.fromGram(c.gram), p: c.p, variance: c.sigma.map(s => s * s)};
    const order = [...c.n.keys()];
    const plain = ebbing.engine.expect(problem, ebbing.engine.sequential(c.n, order));
    const mixed = ebbing.engine.expect(problem, ebbing.engine.replay(c.n, order, c.memory), c.weight);
    const std = ebbing.engine.deviations(problem, c.n);
    const terms = e => [...Object.values(e.terms.F), ...Object.values(e.terms.G)];
    const flat = e => [e.F, e.G, ...terms(e), ...e.errors.flatMap(r => [...r])];
    return {plain: flat(plain), mixed: flat(mixed), std: [std.F, std.G]};
})"""


def random_case(rng):
    T = int(rng.integers(2, 9))
    vectors = rng.standard_normal((T, int(rng.integers(1, 6)))) * rng.uniform(0.1, 3)
    if rng.random() < 0.3:
        vectors[-1] = vectors[0]
    n = rng.integers(1, 60, T)
    memory, p = int(rng.integers(1, 30)), int(rng.integers(8, 300))
    forbidden = {int(N) for t in range(T) for N in (n[t], n[t] + t * memory)}
    while any(abs(p - N) <= 3 for N in forbidden):
        p += 1
    sigma = rng.uniform(0, 1, T) * (rng.random() < 0.8)
    return {
        "gram": (vectors @ vectors.T).tolist(), "n": n.tolist(), "p": p, "sigma": sigma.tolist(), "memory": memory,
        "weight": float(rng.choice([1.0, rng.uniform(0.05, 1)])),
    }  # fmt: skip


def python_numbers(case):
    problem = ebbing.Problem(gram=case["gram"], n=case["n"], p=case["p"], sigma=case["sigma"])
    plan = ebbing.Curriculum.replay(problem, memory=case["memory"])
    plain, mixed = ebbing.expect(problem), ebbing.expect(problem, plan, learner=ebbing.Averaged(case["weight"]))

    def flat(e):
        t = e.terms
        terms = [t.F1, t.F2, t.F4, t.F3, t.G1, t.G2, t.G4, t.G3]
        return [e.forgetting, e.generalization, *terms, *e.errors.ravel()]

    return {"plain": flat(plain), "mixed": flat(mixed), "std": [plain.forgetting_std, plain.generalization_std]}


def test_thousand_random_problems_equal_python(tab):
    rng = np.random.default_rng(20)
    cases = [random_case(rng) for _ in range(1000)]
    for case, found in zip(cases, tab.page.evaluate(COMPUTE, cases), strict=True):
        expected = python_numbers(case)
        for key in ("plain", "mixed", "std"):
            scale = max(map(abs, expected[key]))
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-12, atol=1e-12 * scale, err_msg=str(case))


def test_sliders_show_the_librarys_numbers(tab):
    for control, value in (("n", 250), ("p", 333), ("sigma", 0.75), ("T", 13)):
        tab.slide(control, value)
        seen = tab.result
        state = tab.page.evaluate("ebbing.state")
        e = ebbing.expect(ebbing.Problem.orthogonal(T=state["T"], n=state["n"], p=state["p"], sigma=state["sigma"]))
        assert seen["F"] == pytest.approx(e.forgetting, rel=1e-12, abs=1e-12)
        assert seen["G"] == pytest.approx(e.generalization, rel=1e-12)
        assert f"{e.generalization:.3g}"[:4] in seen["answer"]


def test_every_preset_draws_and_its_python_lines_run(tab):
    values = tab.page.eval_on_selector_all("#preset option", "options => options.map(o => o.value)")
    presets = [value for value in values if value != "own"]
    assert len(presets) >= 10
    for value in presets:
        tab.page.select_option("#preset", value)
        tab.settle()
        assert tab.page.inner_text("#notice")
        assert tab.result["message"] == ""
        assert tab.page.locator("#results svg").count() == 6
        names = {}
        exec(tab.page.inner_text("#python"), names)
        assert names["e"].forgetting == pytest.approx(tab.result["F"], rel=1e-12, abs=1e-12)
        assert names["e"].generalization == pytest.approx(tab.result["G"], rel=1e-12)


def test_link_restores_the_state(tab, browser):
    tab.page.select_option("#kind", "categories")
    tab.page.fill("#labels", "AABBC")
    tab.slide("memory", 7)
    tab.page.click("#order li:first-child button:last-child")
    tab.settle()
    before = tab.result
    other = Explorer(browser).open(tab.page.url)
    assert other.result == before
    assert other.page.inner_text("#python") == tab.page.inner_text("#python")
    assert "reordered([1, 0, 2, 3, 4])" in tab.page.inner_text("#python")
    other.page.close()


def test_best_order_is_the_proved_one(tab):
    tab.page.select_option("#kind", "categories")
    tab.page.fill("#labels", "AABBC")
    tab.slide("p", 300)
    tab.page.click("#best-forgetting")
    tab.settle()
    state = tab.page.evaluate("ebbing.state")
    problem = ebbing.Problem.categories("AABBC", n=state["n"], p=state["p"], sigma=state["sigma"])
    assert tab.result["F"] == pytest.approx(ebbing.best_order(problem, objective="forgetting").value, rel=1e-12)
    assert "Best of all 120 orders" in tab.page.inner_text("#order-result")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Paste a square matrix"),
        ("hello", "not a number"),
        ("1, 2\n3", "Row 2 has 1 numbers"),
        ("1, 0\n1, 1", "not symmetric"),
        ("1, 5\n5, 1", "No vectors have these inner products"),
        ("1, x\nx, 1", "is not a"),
        ("1, 1e999\n1e999, 1", "is not a"),
        (HOSTILE, "not a number"),
    ],
)
def test_pasted_nonsense_gets_a_message(tab, text, message):
    tab.page.select_option("#kind", "gram")
    tab.page.fill("#matrix", text)
    tab.settle()
    assert message in tab.result["message"]
    tab.page.fill("#matrix", "a, b\n1, 0.5\n0.5, 1")
    tab.settle()
    assert tab.result["message"] == ""


def test_hostile_addresses_and_names_are_harmless(browser, address, tmp_path):
    tab = Explorer(browser).open(f"{address}#kind=categories&labels={HOSTILE}&n=1e99&order=9-9&p=<script>")
    assert "give a whole number" in tab.page.inner_text("#message") or tab.result["answer"]
    assert tab.page.evaluate("window.hacked") is None
    names = [HOSTILE, "</script><script>window.hacked=1</script>", "猫"]
    file = tmp_path / "named.html"
    write_explorer(file, ebbing.Problem.orthogonal(T=3, n=5, p=20, names=names))
    tab.open(file.as_uri())
    assert tab.page.locator("#order li span").all_inner_texts() == names
    assert tab.page.evaluate("window.hacked") is None
    assert tab.faults == []
    tab.page.close()


def test_given_problem_with_unequal_tasks_is_exact(browser, tmp_path):
    problem = ebbing.Problem(gram=[[1, 0.5, 0], [0.5, 2, 0.1], [0, 0.1, 1]], n=[10, 90, 30], p=50, sigma=[0.1, 0, 0.5])
    file = tmp_path / "given.html"
    write_explorer(file, problem)
    tab = Explorer(browser).open(file.as_uri())
    assert tab.result["F"] == pytest.approx(ebbing.expect(problem).forgetting, rel=1e-12)
    tab.page.close()


def test_page_fits_a_telephone_and_works_in_the_dark(browser, address):
    tab = Explorer(browser, color_scheme="dark")
    tab.page.set_viewport_size({"width": 360, "height": 740})
    tab.open(address)
    assert tab.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    background = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.page.click("#theme")
    assert tab.page.evaluate("getComputedStyle(document.body).backgroundColor") != background
    assert tab.faults == []
    tab.page.close()


def test_keyboard_alone_suffices(tab):
    tab.page.focus("#p")
    before = tab.result
    for _ in range(5):
        tab.page.keyboard.press("ArrowRight")
    tab.settle()
    assert tab.result["p"] > before["p"]
    tab.page.focus("#order li:first-child button:last-child")
    tab.page.keyboard.press("Enter")
    tab.settle()
    assert tab.page.evaluate("ebbing.state.order")[:2] == [1, 0]
    tab.page.keyboard.press("Enter")  # the focus follows the task
    tab.settle()
    assert tab.page.evaluate("ebbing.state.order")[:3] == [1, 2, 0]
    unlabeled = tab.page.evaluate(
        "[...document.querySelectorAll('input,select,textarea')].filter(e => !e.labels.length).map(e => e.id)"
    )
    assert unlabeled == []


def test_too_many_tasks_are_refused():
    with pytest.raises(ValueError, match="2 to 30 tasks, not 31"):
        explorer_page(ebbing.Problem.orthogonal(T=31, n=5, p=50))
    with pytest.raises(ValueError, match="2 to 30 tasks, not 1"):
        explorer_page(ebbing.Problem.orthogonal(T=1, n=5, p=50))


def test_page_is_small_and_self_contained():
    page = explorer_page()
    assert len(page) < 150_000
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert json.dumps(ebbing.__version__)[1:-1] in page
