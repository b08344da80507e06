"use strict";
/* The page: controls change the state, the state is computed and drawn, and kept in the address. */
(() => {
  const $ = (id) => document.getElementById(id);
  const FRAME = 5; // milliseconds of computing in the frame of a movement, and later; drawing comes on top
  const LATER = 8;
  const SLOW = 3; // where a piece of work takes some itself
  const DRAG = "Drag a task, or use its arrow buttons.";

  let state = { ...DEFAULTS };
  let current = null;
  let busy = false;

  /** Sliders whose steps are equal ratios: the last step, the range, and whether numbers are whole. */
  const LOGARITHMIC = {
    n: [300, [1, 1000], true], p: [600, [2, 1e6], true], penalty: [210, [0.01, 1e5]], time: [240, [1e-5, 10]],
    rate: [300, [1e-6, 0.1]], steps: [150, [1, 1000], true],
  };
  const PLAIN = ["T", "angle", "sigma", "memory", "weight"];

  function fromSlider(key, value) {
    const [max, [low, high], whole] = LOGARITHMIC[key];
    const number = low * (high / low) ** (value / max);
    return whole ? Math.round(number) : Number(number.toPrecision(2));
  }

  function toSlider(key, value) {
    const [max, [low, high]] = LOGARITHMIC[key];
    return Math.round((Math.log(value / low) / Math.log(high / low)) * max);
  }

  // ------------------------------------------------------------------ from the state to the page

  let scheduled = false;
  function update(changes = {}) {
    Object.assign(state, changes);
    if (!state.unequal && state.memory > state.n) state.memory = state.n;
    busy = true;
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; render(); });
  }

  /** Draw what the controls say, or as soon as what is being prepared is drawn. */
  function render() {
    const began = performance.now();
    window.ebbing.frames = [];
    complainOr(() => {
      const problem = problems.problemOf(state);
      state.order = problem.order.every((i, place) => i === place) ? null : problem.order;
      const sizes = learners.isSlow(problem.learner) ? problems.batchSizes(problem) : [];
      if (preparing) waiting = true;
      else prepare({ problem, sizes, state: { ...state } }, began);
    });
    showControls();
    history.replaceState(null, "", address.write(state));
    window.ebbing.frames.push(performance.now() - began);
  }

  function complainOr(action) {
    try {
      action();
    } catch (error) {
      if (!(error instanceof problems.Complaint)) throw error;
      $("message").textContent = error.message;
      $("results").classList.add("stale");
      busy = false;
    }
  }

  let preparing = null;
  let waiting = false;
  /** Compute the integrals of a job's steps over several frames, and then show it. */
  function prepare(job, began = null) {
    const start = began ?? performance.now();
    preparing = job;
    while (job.sizes.length && performance.now() - start < FRAME) {
      try {
        learners.rates(job.sizes.pop(), job.problem.p, job.problem.learner);
      } catch (error) {
        if (!(error instanceof wishart.Unknown)) throw error; // said when the job is shown
      }
    }
    if (job.sizes.length) requestAnimationFrame(() => prepare(job));
    else {
      preparing = null;
      complainOr(() => show(job, start));
      if (waiting) {
        waiting = false;
        update();
      }
    }
    if (began === null) window.ebbing.frames.push(performance.now() - start);
  }

  function show(job, began) {
    current = new Computation(job.problem);
    $("message").textContent = "";
    $("results").classList.remove("stale");
    drawOrder(current.problem);
    view.drawNumbers(current, job.state);
    proceed(current, began);
  }

  /** Make the curves finer, frame by frame, unless the controls have moved on. */
  function proceed(computation, began = null) {
    if (computation !== current || scheduled || preparing) return;
    const start = began ?? performance.now();
    if (began === null) computation.work(computation.slow ? SLOW : LATER);
    else if (!computation.slow) computation.work(FRAME - (performance.now() - start));
    view.drawProgress(computation);
    if (began === null) window.ebbing.frames.push(performance.now() - start);
    busy = !computation.isDone;
    if (busy) requestAnimationFrame(() => proceed(computation));
  }

  function showControls() {
    const fits = (words, value) => words === undefined || words.split(" ").includes(value);
    for (const node of document.querySelectorAll("[data-for], [data-learner]")) {
      node.hidden = !fits(node.dataset.for, state.kind) || !fits(node.dataset.learner, state.learner);
    }
    for (const id of ["kind", "learner"]) $(id).value = state[id];
    for (const id of ["labels", "matrix"]) if (document.activeElement !== $(id)) $(id).value = state[id];
    const most = current ? Math.max(...current.problem.n) : state.n;
    const shown = {
      angle: `${state.angle}°`, memory: `${state.memory} of ${most}`,
      n: state.unequal ? "as in the file" : state.n.toLocaleString("en-US"), p: state.p.toLocaleString("en-US"),
      sigma: state.unequal ? "as in the file" : state.sigma,
    };
    $("memory").max = most;
    for (const key of PLAIN) $(key).value = state[key];
    for (const key of Object.keys(LOGARITHMIC)) $(key).value = toSlider(key, state[key]);
    for (const key of [...PLAIN, ...Object.keys(LOGARITHMIC)]) {
      const text = String(shown[key] ?? state[key]);
      $(`${key}-value`).textContent = text;
      $(key).setAttribute("aria-valuetext", text);
    }
  }

  // ------------------------------------------------------------------ order

  function drawOrder(problem) {
    const list = $("order");
    const shown = JSON.stringify([problem.order, problem.names]);
    if (list.dataset.shown === shown) return;
    list.dataset.shown = shown;
    const focused = document.activeElement?.dataset?.move;
    list.textContent = "";
    problem.order.forEach((task, place) => {
      const item = document.createElement("li");
      item.draggable = true;
      const button = (label, to, sign) => {
        const b = Object.assign(document.createElement("button"), { type: "button", textContent: sign, disabled: to < 0 || to >= problem.T });
        b.setAttribute("aria-label", `${problem.names[task]}: learn ${label}`);
        b.dataset.move = `${task}:${label}`;
        b.addEventListener("click", () => move(place, to));
        return b;
      };
      const name = Object.assign(document.createElement("span"), { textContent: problem.names[task], title: problem.names[task] });
      item.append(button("earlier", place - 1, "◀"), name, button("later", place + 1, "▶"));
      item.addEventListener("dragstart", (event) => { event.dataTransfer.setData("text/plain", String(place)); event.dataTransfer.effectAllowed = "move"; });
      item.addEventListener("dragover", (event) => { event.preventDefault(); item.classList.add("over"); });
      item.addEventListener("dragleave", () => item.classList.remove("over"));
      item.addEventListener("drop", (event) => {
        if (event.dataTransfer.files.length) return; // a matrix, for the whole page
        event.preventDefault();
        event.stopPropagation();
        const from = Number(event.dataTransfer.getData("text/plain") || NaN);
        if (Number.isInteger(from) && from >= 0 && from < problem.T) move(from, place);
      });
      list.append(item);
    });
    if (focused) {
      const wanted = [...list.querySelectorAll("button")].find((b) => b.dataset.move === focused);
      (wanted?.disabled ? wanted.parentElement.querySelector("button:not(:disabled)") : wanted)?.focus();
    }
    for (const id of ["best-forgetting", "best-generalization"]) {
      $(id).disabled = problem.T > 8;
    }
    $("order-limit").hidden = problem.T <= 8;
  }

  function move(from, to) {
    const order = [...current.problem.order];
    order.splice(to, 0, ...order.splice(from, 1));
    $("order-result").textContent = "";
    update({ order });
  }

  function searchOrder(objective) {
    const { problem } = current;
    const letter = objective === "forgetting" ? "F" : "G";
    const given = problems.totals(problem, { order: [...Array(problem.T).keys()] })[letter];
    const best = orders.best(problem, problem.n, objective, problem.memory, problem.learner);
    $("order-result").textContent = view.orderFound({ best, given, letter });
    if (best.order) update({ order: best.order });
  }

  // ------------------------------------------------------------------ controls

  function startFrom(changes, notice = "") {
    $("notice").textContent = notice;
    $("order-result").textContent = DRAG;
    state = { ...DEFAULTS, ...changes };
    update();
  }

  function usePreset(value) {
    $("preset").value = value;
    if (value === "given") { startFrom(GIVEN); return; }
    const [group, index] = value.split("-").map(Number);
    const preset = PRESETS[group].cases[index];
    startFrom(preset.state, preset.notice);
  }

  /** The user goes on from a preset: it is no longer the one that is named. */
  function ownState(changes) {
    $("preset").value = "own";
    update(changes);
  }

  function chooseLearner(name) {
    const changes = { learner: name };
    const steps = current ? Math.max(...current.problem.n) + state.memory * (current.problem.T - 1) : state.n;
    const rounded = (x) => Number(x.toPrecision(1));
    if (name === "gradient-steps") changes.rate = rounded(1 / (Math.sqrt(steps) + Math.sqrt(state.p)) ** 2);
    if (name === "one-pass-sgd") Object.assign(changes, { rate: rounded(0.7 / (state.p + 2)), memory: 0 });
    ownState(changes);
  }

  function chooseTasks(kind) {
    const changes = { kind, order: null, names: null, unequal: null };
    const examples = { gram: "1, 0.5, 0\n0.5, 1, 0\n0, 0, 1", distances: "0, 1, 1.4\n1, 0, 1\n1.4, 1, 0" };
    if (kind in examples && !state.matrix.trim()) changes.matrix = examples[kind];
    ownState(changes);
  }

  function readFile(file) {
    if (file.size > 100_000) {
      $("message").textContent = `${problems.visible(file.name)} has ${file.size} bytes: a matrix of at most 30 tasks has fewer than 100,000.`;
      return;
    }
    file.text().then((text) => ownState({ kind: state.kind === "distances" ? "distances" : "gram", matrix: text, order: null, names: null, unequal: null }));
  }

  function connect() {
    if (GIVEN) $("preset").append(new Option("the given problem", "given"));
    PRESETS.forEach(({ group, cases }, g) => {
      const node = Object.assign(document.createElement("optgroup"), { label: group });
      cases.forEach((preset, i) => node.append(new Option(preset.name, `${g}-${i}`)));
      $("preset").append(node);
    });
    $("preset").append(new Option("your own choice", "own"));
    const on = (id, type, action) => $(id).addEventListener(type, (event) => action(event.target.value, event));
    on("preset", "change", (value) => { if (value !== "own") usePreset(value); });
    on("kind", "change", chooseTasks);
    on("learner", "change", chooseLearner);
    on("labels", "input", (labels) => ownState({ labels, order: null }));
    on("matrix", "input", (matrix) => ownState({ matrix, order: null, names: null, unequal: null }));
    const changesOf = { n: { unequal: null }, sigma: { unequal: null }, T: { order: null } };
    for (const key of PLAIN) on(key, "input", (value) => ownState({ [key]: Number(value), ...changesOf[key] }));
    for (const key of Object.keys(LOGARITHMIC)) on(key, "input", (value) => ownState({ [key]: fromSlider(key, value), ...changesOf[key] }));
    on("file", "change", (_, event) => { if (event.target.files[0]) readFile(event.target.files[0]); event.target.value = ""; });
    on("best-forgetting", "click", () => searchOrder("forgetting"));
    on("best-generalization", "click", () => searchOrder("generalization"));
    on("given-order", "click", () => { $("order-result").textContent = DRAG; update({ order: null }); });
    on("theme", "click", () => {
      const chosen = document.documentElement.dataset.theme;
      const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      document.documentElement.dataset.theme = dark ? "light" : "dark";
    });
    for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => clipboard.copy($(button.dataset.copy).textContent, button));
    on("link", "click", (_, event) => clipboard.copy(location.href, event.target));
    on("save-tasks", "click", (_, event) => clipboard.save("tasks.csv", event.target.dataset.text));
    window.addEventListener("hashchange", restore);
    charts.watch([...document.querySelectorAll("[id^=chart-]")], () => { if (current) { view.drawNumbers(current, state); view.drawProgress(current); } });
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer?.files?.[0]) readFile(event.dataTransfer.files[0]);
    });
  }

  function restore() {
    const found = address.read(location.hash);
    $("preset").value = "own";
    startFrom(found.state);
    if (found.complaint) requestAnimationFrame(() => ($("message").textContent = found.complaint));
  }

  window.ebbing = { engine, deviations, orders, frames: [], get busy() { return busy; }, get preparing() { return scheduled || preparing !== null; }, get state() { return state; }, get current() { return current; } };
  connect();
  if (location.hash.length > 1) restore();
  else usePreset(GIVEN ? "given" : "0-0");
})();
