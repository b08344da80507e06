"use strict";
/* The page: controls change the state, the state is computed and drawn, and kept in the address. */
(() => {
  const $ = (id) => document.getElementById(id);
  const FRAME = 5; // milliseconds of computing in the frame of a movement, and later; drawing comes on top
  const LATER = 8;
  const DRAG = "Drag a task, or use its arrow buttons.";

  let state = { ...DEFAULTS };
  let current = null; // what is shown
  let shown = null; // the state of it
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
      if (preparing) waiting = true;
      else prepare({ problem, pieces: Computation.prepare(problem), state: { ...state } }, began);
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
      $("main").classList.add("stale");
      busy = false;
    }
  }

  let preparing = null;
  let waiting = false;
  /** Compute the first numbers of a job, over several frames if need be, and then show it. */
  function prepare(job, began = null) {
    const start = began ?? performance.now();
    preparing = job;
    let { done } = job.pieces.next();
    while (!done && performance.now() - start < (began === null ? LATER : FRAME)) ({ done } = job.pieces.next());
    if (!done) requestAnimationFrame(() => prepare(job));
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
    shown = { ...job.state };
    $("message").textContent = "";
    $("main").classList.remove("stale");
    orderList.draw(current.problem, move);
    forgetOrderFound(job.state);
    view.drawNumbers(current, shown);
    proceed(current, began);
  }

  /** Make the curves finer, frame by frame, unless the controls have moved on. */
  function proceed(computation, began = null) {
    if (computation !== current || scheduled || preparing) return;
    const start = began ?? performance.now();
    complainOr(() => {
      const wasRough = computation.isRough;
      computation.work(began === null ? LATER : FRAME - (performance.now() - start));
      if (wasRough && !computation.isRough) view.drawNumbers(computation, shown);
      view.drawProgress(computation);
    });
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
    const most = state.unequal ? Math.max(...state.unequal.n) : state.n;
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

  let found = null; // the problem, without its order, in which the best order was found
  const withoutOrder = (some) => JSON.stringify({ ...some, order: null });

  function sayOrder(text) {
    $("order-result").textContent = text;
    found = withoutOrder(state);
  }

  /** What was said about the orders of another problem is no longer true. */
  function forgetOrderFound(some) {
    if (found !== withoutOrder(some)) $("order-result").textContent = DRAG;
  }

  function move(from, to) {
    const order = [...current.problem.order];
    order.splice(to, 0, ...order.splice(from, 1));
    sayOrder("");
    update({ order });
  }

  function searchOrder(objective) {
    const { problem } = current;
    const letter = objective === "forgetting" ? "F" : "G";
    const given = problems.totals(problem, { order: [...Array(problem.T).keys()] })[letter];
    const best = orders.best(problem, problem.n, objective, problem.memory, problem.learner);
    sayOrder(view.orderFound({ best, given, letter }));
    if (best.order) update({ order: best.order });
  }

  // ------------------------------------------------------------------ controls

  function startFrom(changes, notice = "") {
    $("notice").textContent = notice;
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
    $("notice").textContent = "";
    ownState(changes);
  }

  function chooseTasks(kind) {
    const changes = { kind, order: null, names: null, unequal: null };
    const examples = { gram: "1, 0.5, 0\n0.5, 1, 0\n0, 0, 1", distances: "0, 1, 1.4\n1, 0, 1\n1.4, 1, 0" };
    if (kind in examples && !state.matrix.trim()) changes.matrix = examples[kind];
    $("notice").textContent = "";
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
    on("given-order", "click", () => { sayOrder(DRAG); update({ order: null }); });
    on("theme", "click", () => {
      const chosen = document.documentElement.dataset.theme;
      const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      document.documentElement.dataset.theme = dark ? "light" : "dark";
    });
    for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => clipboard.copy($(button.dataset.copy).textContent, button));
    on("link", "click", (_, event) => clipboard.copy(location.href, event.target));
    on("save-tasks", "click", (_, event) => clipboard.save("tasks.csv", event.target.dataset.text));
    window.addEventListener("hashchange", restore);
    charts.watch([...document.querySelectorAll("[id^=chart-]")], () => { if (current) { view.drawNumbers(current, shown); view.drawProgress(current); } });
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

  window.ebbing = { engine, deviations, orders, frames: [], get busy() { return busy; }, get preparing() { return scheduled || preparing !== null || Boolean(current?.isRough); }, get state() { return state; }, get current() { return current; } };
  connect();
  if (location.hash.length > 1) restore();
  else usePreset(GIVEN ? "given" : "0-0");
})();
