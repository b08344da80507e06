"""The explorer in a real browser: its numbers are Python's, and every control, preset and link works."""

import itertools
import json
import shlex

import numpy as np
import pytest
from browser import Tab, open_browser
from command_line import answer, run  # noqa: F401 (fixtures)

import ebbing
from ebbing.explorer import explorer_page, write_explorer

HOSTILE = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"
REVERSED = "cats \u202eslac \u200f"

LEARNERS = {
    "minimum-norm": ebbing.MinimumNorm,
    "ridge": ebbing.Ridge,
    "gradient-steps": ebbing.GradientSteps,
    "gradient-flow": ebbing.GradientFlow,
    "averaged": ebbing.Averaged,
    "one-pass-sgd": ebbing.OnePassSgd,
}


class Explorer(Tab):
    """A tab with the explorer."""

    def settle(self, until="!ebbing.preparing"):
        """Wait until the numbers are drawn; curves get finer after that, until "!ebbing.busy"."""
        self.page.evaluate(
            f"() => new Promise(f => {{ const later = requestAnimationFrame, look = () => {until}"
            " ? later(() => later(f)) : later(look); look(); })"
        )

    def slide(self, control, value):
        self.page.evaluate(
            "([id, value]) => { const e = document.getElementById(id); e.value = value;"
            " e.dispatchEvent(new Event('input')); }",
            [control, value],
        )
        self.settle()

    def choose(self, control, value):
        self.page.select_option(control, value)
        self.settle()

    @property
    def state(self):
        return self.page.evaluate("ebbing.state")

    @property
    def result(self):
        return self.page.evaluate(
            "() => ({F: ebbing.current.result.F, G: ebbing.current.result.G, p: ebbing.state.p, n: ebbing.state.n,"
            " message: document.getElementById('message').textContent,"
            " answer: document.getElementById('answer').textContent})"
        )


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    file = tmp_path_factory.mktemp("explorer") / "explorer.html"
    write_explorer(file)
    return file.as_uri()


@pytest.fixture(scope="module")
def shared(browser, address):
    """One page for all tests: opening one takes longer than most of them."""
    return Explorer(browser).open(address)


@pytest.fixture
def tab(shared):
    shared.choose("#preset", "0-0")
    yield shared
    assert shared.faults == []
    assert shared.page.evaluate("window.hacked") is None


@pytest.fixture
def other_tab(browser):
    tab = Explorer(browser)
    yield tab
    assert tab.faults == []
    assert tab.page.evaluate("window.hacked") is None
    tab.page.close()


COMPUTE = """cases => cases.map(c => {
    const problem = {...ebbing.engine.fromGram(c.gram), p: c.p, variance: c.sigma.map(s => s * s)};
    const order = [...c.n.keys()];
    const plan = c.memory ? ebbing.engine.replay(c.n, order, c.memory) : ebbing.engine.sequential(c.n, order);
    const plain = ebbing.engine.expect(problem, ebbing.engine.sequential(c.n, order));
    const mixed = ebbing.engine.expect(problem, plan, c.learner);
    const totals = ebbing.engine.totals(problem, plan, c.learner);
    const plainStd = ebbing.deviations.of(problem, ebbing.engine.sequential(c.n, order), {name: "minimum-norm"});
    const isKnown = ebbing.deviations.isKnown(c.learner);
    const std = isKnown ? ebbing.deviations.of(problem, plan, c.learner) : {F: null, G: null};
    const terms = e => [...Object.values(e.terms.F), ...Object.values(e.terms.G)];
    const flat = e => [e.F, e.G, ...terms(e), ...e.errors.flatMap(r => [...r])];
    return {plain: flat(plain), mixed: flat(mixed), totals: [totals.F, totals.G], std: [std.F, std.G],
        plainStd: [plainStd.F, plainStd.G]};
})"""


def random_learner(rng, N, p):
    """Any learner, with numbers at which it neither diverges nor does nothing."""
    name = str(rng.choice(list(LEARNERS)))
    numbers = {
        "minimum-norm": {},
        "ridge": {"penalty": 10 ** rng.uniform(-1, 3)},
        "gradient-steps": {"rate": rng.uniform(0.1, 1.9) / (N**0.5 + p**0.5) ** 2, "steps": int(rng.integers(1, 60))},
        "gradient-flow": {"time": 10 ** rng.uniform(-4, 0)},
        "averaged": {"weight": rng.uniform(0.05, 1)},
        "one-pass-sgd": {"rate": rng.uniform(0.1, 1.9) / (p + 2)},
    }[name]
    return {"name": name} | numbers


def random_case(rng):
    T = int(rng.integers(2, 7))
    vectors = rng.standard_normal((T, int(rng.integers(1, 6)))) * rng.uniform(0.1, 3)
    if rng.random() < 0.3:
        vectors[-1] = vectors[0]
    n = rng.integers(1, 40, T)
    memory, p = int(rng.integers(0, 15)), int(rng.integers(8, 120))
    while any(abs(p - N) <= 3 for t in range(T) for N in (n[t], n[t] + t * memory)):
        p += 1
    learner = random_learner(rng, max(n[t] + t * memory for t in range(T)), p)
    if learner["name"] == "one-pass-sgd":
        memory = 0  # mixtures are not known
    sigma = rng.uniform(0, 1, T) * (rng.random() < 0.8)
    return {
        "gram": (vectors @ vectors.T).tolist(), "n": n.tolist(), "p": p, "sigma": sigma.tolist(), "memory": memory,
        "learner": learner,
    }  # fmt: skip


def python_numbers(case):
    problem = ebbing.Problem(gram=case["gram"], n=case["n"], p=case["p"], sigma=case["sigma"])
    plan = ebbing.Curriculum.replay(problem, memory=case["memory"]) if case["memory"] else None
    numbers = {key.replace("rate", "learning_rate"): value for key, value in case["learner"].items() if key != "name"}
    plain = ebbing.expect(problem)
    mixed = ebbing.expect(problem, plan, learner=LEARNERS[case["learner"]["name"]](**numbers))

    def flat(e):
        t = e.terms
        terms = [t.F1, t.F2, getattr(t, "F4", 0), t.F3, t.G1, t.G2, getattr(t, "G4", 0), t.G3]
        return [e.forgetting, e.generalization, *terms, *e.errors.ravel()]

    return {
        "plain": flat(plain),
        "mixed": flat(mixed),
        "totals": [mixed.forgetting, mixed.generalization],
        "plainStd": [plain.forgetting_std, plain.generalization_std],
        "std": [mixed.forgetting_std, mixed.generalization_std],
    }


def assert_equal_to_python(cases, found):
    for case, numbers in zip(cases, found, strict=True):
        for key, values in python_numbers(case).items():
            expected = np.array(values)
            if np.isnan(expected).all():  # deviations that are not known
                assert numbers[key] == [None] * len(expected), (key, case)
                continue
            difference = np.abs(np.subtract(numbers[key], expected))
            assert np.all(difference <= 1e-12 * (np.abs(expected) + np.abs(expected).max())), (key, case)


@pytest.mark.filterwarnings("ignore:.*which are rare")
def test_thousand_random_problems_equal_python(tab):
    rng = np.random.default_rng(20)
    cases = [random_case(rng) for _ in range(1000)]
    assert {case["learner"]["name"] for case in cases} == set(LEARNERS)
    assert_equal_to_python(cases, tab.page.evaluate(COMPUTE, cases))


def random_curriculum(rng):
    """Any mixtures, repeats and joint steps, learned to the end or averaged; some next to p = N."""
    T, S, most = int(rng.integers(2, 8)), int(rng.integers(2, 9)), int(10 ** rng.uniform(0.5, 3))
    vectors = rng.standard_normal((T, int(rng.integers(1, 6)))) * 10 ** rng.uniform(-2, 2)
    samples = rng.integers(1, most, (S, T)) * (rng.random((S, T)) < 0.4)
    samples[samples.sum(axis=1) == 0, 0] = most
    learner = {"name": "averaged", "weight": rng.uniform(0.05, 1)} if rng.random() < 0.5 else {"name": "minimum-norm"}
    p = int(samples[-1].sum()) + 3 if rng.random() < 0.2 else int(10 ** rng.uniform(1, 4))
    while any(abs(p - N) <= 1 for N in samples.sum(axis=1)):
        p += 2
    return {
        "gram": (vectors @ vectors.T).tolist(), "samples": samples.tolist(), "p": p,
        "sigma": (rng.uniform(0, 1, T) * (rng.random() < 0.8)).tolist(), "learner": learner,
    }  # fmt: skip


def test_deviations_of_any_steps_equal_python(tab):
    rng = np.random.default_rng(21)
    cases = [random_curriculum(rng) for _ in range(200)]
    found = tab.page.evaluate(
        """cases => cases.map(c => {
            const problem = {...ebbing.engine.fromGram(c.gram), p: c.p, variance: c.sigma.map(s => s * s)};
            const {F, G} = ebbing.deviations.of(problem, c.samples, c.learner);
            return [F, G].map(x => x === Infinity ? "inf" : x);
        })""",
        cases,
    )
    infinite = 0
    for case, seen in zip(cases, np.array(found, dtype=float), strict=True):
        problem = ebbing.Problem(gram=case["gram"], n=1, p=case["p"], sigma=case["sigma"])
        steps = [{task: count for task, count in enumerate(row) if count} for row in case["samples"]]
        weight = case["learner"].get("weight")
        learner = ebbing.MinimumNorm() if weight is None else ebbing.Averaged(weight)
        e = ebbing.expect(problem, ebbing.Curriculum(steps), learner=learner)
        assert seen == pytest.approx([e.forgetting_std, e.generalization_std], rel=1e-12), case
        infinite += bool(np.isinf(seen).any())
    assert 10 < infinite < 100


def test_ridge_of_many_samples_equals_python(tab):
    problem = {"gram": [[1.0, 0.3], [0.3, 2.0]], "n": [1000, 700], "sigma": [0.3, 0.5]}
    cases = [problem | {"p": p, "memory": m, "learner": {"name": "ridge", "penalty": 50.0}}
             for p, m in ((300, 0), (900, 0), (100_000, 30))]  # fmt: skip
    assert_equal_to_python(cases, tab.page.evaluate(COMPUTE, cases))


def test_sliders_show_the_librarys_numbers(tab):
    for control, value in (("n", 250), ("p", 333), ("sigma", 0.75), ("T", 13)):
        tab.slide(control, value)
        seen, state = tab.result, tab.state
        e = ebbing.expect(ebbing.Problem.orthogonal(T=state["T"], n=state["n"], p=state["p"], sigma=state["sigma"]))
        assert seen["F"] == pytest.approx(e.forgetting, rel=1e-12, abs=1e-12)
        assert seen["G"] == pytest.approx(e.generalization, rel=1e-12)
        assert f"{e.generalization:.3g}"[:4] in seen["answer"]


def test_curves_are_the_librarys_numbers(tab):
    tab.settle("!ebbing.busy")
    curve = tab.page.evaluate("ebbing.current.points('curve')")
    replay = tab.page.evaluate("ebbing.current.points('replay')")
    assert len(curve["x"]) > 100
    problem = ebbing.Problem.orthogonal(T=8, n=50, p=100, sigma=0.3)
    for i in range(0, len(curve["x"]), 10):
        e = ebbing.expect(problem.replace(p=curve["x"][i]))
        assert curve["F"][i] == pytest.approx(e.forgetting, rel=1e-11, abs=1e-12)
        assert curve["Gstd"][i] == pytest.approx(e.generalization_std, rel=1e-9)
    e = ebbing.expect(problem, ebbing.Curriculum.replay(problem, memory=replay["x"][10]))
    assert replay["G"][10] == pytest.approx(e.generalization, rel=1e-12)


@pytest.mark.parametrize(("n", "patience"), [(60, 1e6), (120, 0)])
def test_curves_of_ridge_have_the_digits_they_claim(tab, address, n, patience):
    """All digits when the controls rest; four of those for which there was no time, and the page says so."""
    tab.open(address)
    tab.page.evaluate(f"Computation.PATIENCE = {patience}")
    tab.page.evaluate(f"location.hash = 'kind=orthogonal&T=3&n={n}&p=150&sigma=0.3&learner=ridge&penalty=20'")
    tab.settle(f"ebbing.state.n === {n} && !ebbing.busy")
    problem = ebbing.Problem.orthogonal(T=3, n=n, p=150, sigma=0.3)
    curve = tab.page.evaluate("ebbing.current.points('curve')")
    coarse = tab.page.evaluate("[...ebbing.current.coarse.curve]")
    assert all(min(n, p) > 42 for p in coarse)
    assert bool(coarse) == (patience == 0)
    for i in range(0, len(curve["x"]), 6):
        e = ebbing.expect(problem.replace(p=curve["x"][i]), learner=ebbing.Ridge(20))
        rel = 1e-3 if curve["x"][i] in coarse else 1e-9
        assert curve["F"][i] == pytest.approx(e.forgetting, rel=rel, abs=rel / 10)
        assert curve["G"][i] == pytest.approx(e.generalization, rel=rel)
    assert tab.result["F"] == pytest.approx(ebbing.expect(problem, learner=ebbing.Ridge(20)).forgetting, rel=1e-12)
    assert ("four digits" in tab.page.inner_text("#chart-F + .hint")) == bool(coarse)


@pytest.mark.parametrize(
    "learner", ["ridge&penalty=20", "gradient-flow&time=0.5", "gradient-steps&rate=0.0005&steps=30"]
)
def test_first_numbers_are_rough_and_said_to_be(tab, address, learner):
    """While a slider moves, numbers are approximate and marked; at rest they are Python's."""
    tab.open(address)
    rough = tab.page.evaluate(
        """fragment => new Promise(done => {
            location.hash = fragment;
            const look = () => ebbing.state.n === 120 && ebbing.current.problem.n[0] === 120
                ? done([ebbing.current.isRough, ebbing.current.result.F, document.getElementById("tile-F").textContent,
                        document.getElementById("answer").textContent, document.getElementById("python").textContent])
                : requestAnimationFrame(look);
            look();
        })""",
        f"kind=orthogonal&T=4&n=120&p=160&sigma=0.3&memory=9&learner={learner}",
    )
    tab.settle()
    assert rough[0]
    assert rough[1] == pytest.approx(tab.result["F"], rel=1e-2)
    assert rough[2].startswith("≈ ")
    assert "Approximate while you move" in rough[3]
    assert "#" not in rough[4]
    assert "≈" not in tab.page.inner_text("#tile-F")
    names = {}
    exec(tab.page.inner_text("#python"), names)
    assert tab.result["F"] == pytest.approx(names["e"].forgetting, rel=1e-12)
    assert tab.result["G"] == pytest.approx(names["e"].generalization, rel=1e-12)


def test_pieces_of_work_are_small(tab):
    """No piece of an integral takes more steps of the recurrence than fit into a frame, whatever the sizes."""
    pieces = tab.page.evaluate(
        """() => [[2000, 2500, {name: "gradient-flow", time: 3}], [3000, 3100, {name: "ridge", penalty: 1e-3}]].map(
            ([N, p, learner]) => [...learners.prepare(N, p, learner)].length)"""
    )
    assert min(pieces) > 100


def test_orders_found_for_another_problem_are_not_shown(tab):
    tab.page.click("#best-generalization")
    tab.settle()
    assert "All 40,320 orders have the same G" in tab.page.inner_text("#order-result")
    tab.slide("sigma", 1)
    assert tab.page.inner_text("#order-result") == "Drag a task, or use its arrow buttons."


def test_infinite_errors_are_said_in_words(tab, address):
    tab.open(f"{address}#kind=orthogonal&T=4&n=50&p=50&sigma=0.3")
    assert "infinite here" in tab.result["answer"]
    assert "not defined" in tab.page.inner_text("#tile-words")
    tab.settle("!ebbing.busy")
    assert "No amount of old data" in tab.page.inner_text("#replay-answer")
    assert tab.page.locator("#chart-replay").is_hidden()
    assert "# nan, inf" in tab.page.inner_text("#python")


def test_curve_that_ends_says_why(tab):
    tab.choose("#preset", "1-7")
    tab.settle("!ebbing.busy")
    assert "this learning rate is too large" in tab.page.inner_text("#chart-F + .hint")


def test_words_in_charts_do_not_cover_each_other(tab):
    for preset in ("0-0", "0-5", "0-10", "1-1", "1-3", "1-9"):
        tab.choose("#preset", preset)
        tab.settle("!ebbing.busy")
        for chart in ("F", "G", "replay"):
            boxes = tab.page.eval_on_selector_all(
                f"#chart-{chart} text:not(.tick):not(.label)",
                "nodes => nodes.map(n => n.getBoundingClientRect()).map(b => [b.left, b.right, b.top, b.bottom])",
            )
            for a, b in itertools.combinations(boxes, 2):
                across, down = min(a[1], b[1]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[2], b[2])
                assert across < 3 or down < 5, (preset, chart)


def test_every_preset_draws_and_its_lines_run(tab, tmp_path, answer):  # noqa: F811
    values = tab.page.eval_on_selector_all("#preset option", "options => options.map(o => o.value)")
    presets = [value for value in values if value != "own"]
    assert len(presets) >= 20
    commands = []
    for value in presets:
        tab.choose("#preset", value)
        assert tab.page.inner_text("#notice")
        assert tab.result["message"] == ""
        assert tab.page.locator("#results svg").count() == 7
        names = {}
        exec(tab.page.inner_text("#python"), names)
        assert names["e"].forgetting == pytest.approx(tab.result["F"], rel=1e-12, abs=1e-12)
        assert names["e"].generalization == pytest.approx(tab.result["G"], rel=1e-12)
        file = tab.page.get_attribute("#save-tasks", "data-text")
        commands.append((tab.page.inner_text("#command"), file, tab.result["F"]))
    for command, file, F in [c for c in commands if c[1] and "angle" not in c[0]][-1:] + [
        c for c in commands if "--replay" in c[0]
    ][-1:]:
        (tmp_path / "tasks.csv").write_text(file)
        output = json.loads(answer(*shlex.split(command)[1:], "--json"))
        assert output["forgetting"]["mean"] == pytest.approx(F, rel=1e-12)


def test_link_restores_the_state(tab, other_tab):
    tab.choose("#kind", "categories")
    tab.page.fill("#labels", "AABBC")
    tab.choose("#learner", "ridge")
    tab.slide("penalty", 100)
    tab.slide("memory", 7)
    tab.page.click("#order li:first-child button:last-child")
    tab.settle()
    other_tab.open(tab.page.url)
    assert other_tab.result == tab.result
    assert other_tab.page.inner_text("#python") == tab.page.inner_text("#python")
    assert "reordered([1, 0, 2, 3, 4])" in tab.page.inner_text("#python")


@pytest.mark.parametrize(("learner", "memory"), [("minimum-norm", 0), ("averaged", 5), ("ridge", 3)])
def test_best_order_beats_all_others(tab, learner, memory):
    tab.choose("#kind", "categories")
    tab.page.fill("#labels", "AABBC")
    tab.choose("#learner", learner)
    tab.slide("memory", memory)
    tab.slide("p", 300)
    state = tab.state
    problem = ebbing.Problem.categories("AABBC", n=state["n"], p=state["p"], sigma=state["sigma"])
    how = {"minimum-norm": ebbing.MinimumNorm(), "averaged": ebbing.Averaged(0.5), "ridge": ebbing.Ridge(10)}[learner]

    def forgetting(order):
        tasks = problem.reordered(order)
        return ebbing.expect(tasks, ebbing.Curriculum.replay(tasks, memory) if memory else None, learner=how).forgetting

    tab.page.click("#best-forgetting")
    tab.settle()
    best = min(forgetting(list(order)) for order in itertools.permutations(range(5)))
    assert tab.result["F"] == pytest.approx(best, rel=1e-11)
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
        ("a, b, c\n1, 0\n0, 1", "first line has 3 names"),
        (HOSTILE, "not a number"),
    ],
)
def test_pasted_nonsense_gets_a_message(tab, text, message):
    tab.choose("#kind", "gram")
    tab.page.fill("#matrix", text)
    tab.settle()
    assert message in tab.result["message"]
    tab.page.fill("#matrix", "a, b\n1, 0.5\n0.5, 1")
    tab.settle()
    assert tab.result["message"] == ""


def test_matrix_from_a_file_is_read(tab, tmp_path):
    file = tmp_path / "distances.csv"
    file.write_text("news,code,math\n0,3,4\n3,0,5\n4,5,0\n")
    tab.choose("#kind", "distances")
    tab.page.set_input_files("#file", file)
    tab.page.wait_for_timeout(50)
    tab.settle()
    state = tab.state
    assert tab.page.locator("#order li span").all_inner_texts() == ["news", "code", "math"]
    distances = [[0, 3, 4], [3, 0, 5], [4, 5, 0]]
    norms = [square**0.5 for square in tab.page.evaluate("[...ebbing.current.problem.start]")]
    problem = ebbing.Problem.from_distances(distances, norms=norms, n=state["n"], p=state["p"], sigma=state["sigma"])
    assert tab.result["F"] == pytest.approx(ebbing.expect(problem).forgetting, rel=1e-9)
    (tmp_path / "large.csv").write_text("1," * 60_000)
    tab.page.set_input_files("#file", tmp_path / "large.csv")
    assert "fewer than 100,000" in tab.page.inner_text("#message")


def test_unknown_expectations_get_a_message(tab):
    tab.choose("#learner", "gradient-steps")
    assert tab.result["message"] == ""
    tab.slide("rate", 300)
    assert "gradient steps diverge above a rate of" in tab.result["message"]


def test_hostile_addresses_and_names_are_harmless(other_tab, address, tmp_path):
    other_tab.open(
        f"{address}#toString=1&kind=categories&labels={HOSTILE}&n=1e99&order=9-9&p=<script>&__proto__=1&names={HOSTILE}"
    )
    assert "give a whole number" in other_tab.page.inner_text("#message")
    names = [
        HOSTILE,
        "</script><script>window.hacked=1</script>",
        "</style>",
        "javascript:window.hacked=1",
        "猫",
        REVERSED,
    ]
    file = tmp_path / "named.html"
    write_explorer(file, ebbing.Problem.orthogonal(T=6, n=5, p=20, names=names))
    other_tab.open(file.as_uri())
    shown = [*names[:-1], "cats \\u202eslac \\u200f"]
    assert other_tab.page.locator("#order li span").all_inner_texts() == shown
    other_tab.open(other_tab.page.url)  # the link has the names, too
    assert other_tab.page.locator("#order li span").all_inner_texts() == shown
    other_tab.open(f"{address}#kind=gram&matrix={REVERSED.replace(' ', '')},b%0A1,0%0A0,1")
    assert "\u202e" not in other_tab.page.inner_text("#order")


def test_saved_tasks_keep_their_names(other_tab, address, tmp_path):
    names = ['a, "b"; c', HOSTILE, "news", "x" * 300, "猫 🐈"]
    file = tmp_path / "named.html"
    write_explorer(file, ebbing.Problem.orthogonal(T=5, n=5, p=20, names=names))
    other_tab.open(file.as_uri())
    saved = other_tab.page.get_attribute("#save-tasks", "data-text")
    other_tab.open(f"{address}#kind=gram")
    other_tab.page.fill("#matrix", saved)
    other_tab.settle()
    assert other_tab.result["message"] == ""
    assert other_tab.page.locator("#order li span").all_inner_texts() == names
    assert other_tab.overflow <= 0


def test_given_problem_with_unequal_tasks_is_exact(other_tab, address, tmp_path):
    problem = ebbing.Problem(gram=[[1, 0.5, 0], [0.5, 2, 0.1], [0, 0.1, 1]], n=[10, 90, 30], p=50, sigma=[0.1, 0, 0.5])
    file = tmp_path / "given.html"
    write_explorer(file, problem)
    other_tab.open(file.as_uri())
    F = ebbing.expect(problem).forgetting
    assert other_tab.result["F"] == pytest.approx(F, rel=1e-12)
    other_tab.open(address + other_tab.page.evaluate("location.hash"))  # restored in any copy of the page
    assert other_tab.result["F"] == pytest.approx(F, rel=1e-12)


def test_page_fits_a_telephone_and_works_in_the_dark(browser, address):
    tab = Explorer(browser, color_scheme="dark")
    tab.page.set_viewport_size({"width": 360, "height": 740})
    tab.open(address)
    assert tab.overflow <= 0
    background = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert tab.serious_issues() == []
    tab.page.click("#theme")
    assert tab.page.evaluate("getComputedStyle(document.body).backgroundColor") != background
    assert tab.faults == []
    tab.page.close()


def test_axe_finds_no_serious_issue(tab):
    assert tab.serious_issues() == []
    tab.choose("#kind", "gram")
    tab.choose("#learner", "gradient-steps")
    assert tab.serious_issues() == []


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
    assert tab.state["order"][:2] == [1, 0]
    tab.page.keyboard.press("Enter")  # the focus follows the task
    tab.settle()
    assert tab.state["order"][:3] == [1, 2, 0]
    unlabeled = tab.page.evaluate(
        "[...document.querySelectorAll('input,select,textarea')]"
        ".filter(e => !e.labels.length && !e.getAttribute('aria-label')).map(e => e.id)"
    )
    assert unlabeled == []


def test_every_control_is_reached_by_the_tab_key(tab):
    tab.page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(60):
        tab.page.keyboard.press("Tab")
        reached.add(tab.page.evaluate("document.activeElement.id || document.activeElement.dataset.copy || ''"))
    controls = {"theme", "preset", "kind", "T", "n", "p", "sigma", "memory", "learner", "best-forgetting",
                "best-generalization", "given-order", "python", "command", "link"}  # fmt: skip
    assert controls - reached == set()


def test_tasks_are_dragged_to_another_place(tab):
    tab.page.drag_and_drop("#order li:nth-child(1) span", "#order li:nth-child(3) span")
    tab.settle()
    assert tab.state["order"][:3] == [1, 2, 0]


def test_pointer_reads_off_a_curve(tab):
    tab.page.hover("#chart-F svg")
    assert "F = " in tab.page.text_content("#chart-F .reading text")


def test_colors_can_be_told_apart_by_the_color_blind(tab):
    """The four parts keep a distance in lightness or hue under each kind of dichromacy (Machado et al. 2009)."""
    matrices = {
        "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    }
    for theme in ("light", "dark"):
        tab.page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        read = "[...document.querySelectorAll('.legend .key.part')].map(e => getComputedStyle(e).backgroundColor)"
        colors = [json.loads(f"[{color[4:-1]}]") for color in tab.page.evaluate(read)]
        assert len(colors) == 4
        linear = (np.array(colors) / 255) ** 2.2
        for kind, matrix in matrices.items():
            seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
            closest = min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
            assert closest > 0.12, f"{theme}, {kind}: {closest:.2f}"
    tab.page.evaluate("delete document.documentElement.dataset.theme")


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
