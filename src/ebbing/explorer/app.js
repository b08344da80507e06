"use strict";
/* The page: reads the controls, computes with `engine`, draws with `charts`, keeps its state in the address. */
(() => {
  const $ = (id) => document.getElementById(id);
  const { format } = charts;

  const DEFAULTS = {
    kind: "orthogonal", labels: "AABB", angle: 60, matrix: "", names: null, T: 8, n: 50, p: 100, sigma: 0.3, memory: 0, weight: 1,
    order: null, unequal: null,
  };

  const PRESETS = [
    { name: "Orthogonal tasks (Figure 1 b, d)", state: {}, notice: "More parameters mean less forgetting: the curve falls on the right of p = n." },
    { name: "Identical tasks (Figure 1 a, c)", state: { kind: "identical", sigma: 0.3 }, notice: "F is negative: learning the same task again improves what was learned before." },
    { name: "Identical tasks, much noise", state: { kind: "identical", sigma: 1 }, notice: "The green part, noise, makes even identical tasks forget just above p = n." },
    { name: "Fewer parameters than samples", state: { p: 20 }, notice: "Left of p = n the model keeps nothing of older tasks: F is the full distance between tasks." },
    { name: "At the threshold", state: { p: 55, sigma: 0.5 }, notice: "Just above p = n noise dominates everything. Move p in either direction." },
    { name: "Two tasks with an angle", state: { kind: "angle", angle: 60, sigma: 0.1, p: 200 }, notice: "Move the angle: opposite tasks (180°) destroy each other, but forgetting does not simply follow similarity." },
    { name: "Two categories, in blocks", state: { kind: "categories", labels: "AABB", p: 200 }, notice: "Press “Order of least forgetting”: alternating the categories forgets less (Section 5.2)." },
    { name: "One special task", state: { kind: "categories", labels: "BAAAAA", p: 100 }, notice: "Drag B: in the first half of the sequence is best (Proposition on one special task)." },
    { name: "Replay helps", state: { T: 4, p: 20, n: 100, sigma: 0.3, memory: 30 }, notice: "With more samples than parameters, old data is all that keeps old tasks: both curves of “How much old data?” fall." },
    { name: "Replay hurts", state: { T: 4, p: 1000, n: 100, sigma: 0.3, memory: 50 }, notice: "A large model has room for all tasks. Old data of unrelated tasks adds conflict to each batch: F and G rise with it." },
    { name: "Replay at the threshold", state: { T: 4, p: 100, n: 50, sigma: 0.5, memory: 12 }, notice: "Old data makes the batch as large as the model (N near p): noise and conflict explode." },
    { name: "Averaging instead of replay", state: { T: 6, p: 100, n: 80, sigma: 0.3, weight: 0.5 }, notice: "Averaging new with old weights (model merging) trades learning for memory." },
  ];

  const N_RANGE = [1, 1000];
  const P_RANGE = [2, 1e6];
  const fromSlider = (value, max, [low, high]) => Math.round(low * (high / low) ** (value / max));
  const toSlider = (value, max, [low, high]) => Math.round((Math.log(value / low) / Math.log(high / low)) * max);

  let state = { ...DEFAULTS };
  let current = null;

  // ------------------------------------------------------------------ the problem that the controls describe

  class Complaint extends Error {}

  function parseMatrix(text) {
    const rows = text.trim().split(/[\n;]+/).map((line) => line.trim().replace(/^\[+|\]+,?$/g, "").split(/[\s,\t]+/).filter((cell) => cell !== ""));
    if (!rows.length || !rows[0].length) throw new Complaint("Paste a square matrix: one row per line, numbers separated by commas or spaces.");
    let names = null;
    if (rows[0].some((cell) => !Number.isFinite(Number(cell)))) {
      names = rows.shift();
      if (!rows.length) throw new Complaint(`“${names[0]}” is not a number.`);
    }
    const values = rows.map((row, i) => row.map((cell, j) => {
      const number = Number(cell);
      if (!Number.isFinite(number)) throw new Complaint(`Row ${i + 1}, column ${j + 1}: “${cell}” is not a finite number.`);
      return number;
    }));
    const T = values.length;
    if (T < 2 || T > 30) throw new Complaint(`The matrix has ${T} row${T === 1 ? "" : "s"}: give 2 to 30, one per task.`);
    values.forEach((row, i) => {
      if (row.length !== T) throw new Complaint(`Row ${i + 1} has ${row.length} numbers: a square matrix of ${T} tasks has ${T}.`);
    });
    const largest = Math.max(...values.flat().map(Math.abs));
    for (let i = 0; i < T; i++) {
      for (let j = 0; j < i; j++) {
        if (Math.abs(values[i][j] - values[j][i]) > 1e-9 * largest) {
          throw new Complaint(`The matrix is not symmetric: row ${i + 1}, column ${j + 1} is ${values[i][j]}, but ${values[j][i]} across the diagonal.`);
        }
      }
    }
    return { values, names: names && names.length === T ? names : null };
  }

  /** The smallest pivot of a Cholesky factorization: negative if no vectors have these inner products. */
  function rankOf(gram) {
    const A = gram.map((row) => [...row]);
    const T = A.length;
    const largest = Math.max(...A.map((row, i) => Math.abs(row[i])), 1e-300);
    let rank = 0;
    const left = new Set(A.keys());
    while (left.size) {
      let pivot = -1;
      for (const i of left) if (pivot < 0 || A[i][i] > A[pivot][pivot]) pivot = i;
      if (A[pivot][pivot] <= 1e-9 * largest) break;
      rank += 1;
      left.delete(pivot);
      for (const i of left) for (const j of left) A[i][j] -= (A[i][pivot] * A[pivot][j]) / A[pivot][pivot];
    }
    for (const i of left) {
      for (const j of left) if (Math.abs(A[i][j]) > 1e-6 * largest) return { rank: T, possible: false };
    }
    return { rank, possible: true };
  }

  function tasksOf(s) {
    const eye = (T, f) => Array.from({ length: T }, (_, i) => Array.from({ length: T }, (_, j) => f(i, j)));
    const numbered = (T) => Array.from({ length: T }, (_, i) => `task ${i + 1}`);
    switch (s.kind) {
      case "orthogonal": return { gram: eye(s.T, (i, j) => (i === j ? 1 : 0)), names: numbered(s.T) };
      case "identical": return { gram: eye(s.T, () => 1), names: numbered(s.T) };
      case "angle": {
        const cosine = s.angle === 90 ? 0 : Math.cos((s.angle * Math.PI) / 180);
        return { gram: [[1, cosine], [cosine, 1]], names: numbered(2) };
      }
      case "categories": {
        const labels = [...s.labels.replace(/\s/g, "")];
        if (labels.length < 2 || labels.length > 30) throw new Complaint(`Give one letter per task, 2 to 30 of them, such as AABB; not ${labels.length}.`);
        const count = {};
        const names = labels.map((label) => `${label}${/\d/.test(labels.join("")) ? "." : ""}${(count[label] = (count[label] ?? 0) + 1)}`);
        return { gram: eye(labels.length, (i, j) => (labels[i] === labels[j] ? 1 : 0)), names };
      }
      default: {
        const { values, names } = parseMatrix(s.matrix);
        const T = values.length;
        let gram = values;
        if (s.kind === "distances") {
          values.forEach((row, i) => {
            if (row[i] !== 0) throw new Complaint(`Row ${i + 1}, column ${i + 1} is ${row[i]}: a task is at distance 0 from itself.`);
            if (row.some((x) => x < 0)) throw new Complaint(`Row ${i + 1} has a negative distance.`);
          });
          const squares = values.map((row) => row.map((x) => x * x));
          const means = squares.map((row) => row.reduce((a, b) => a + b, 0) / T);
          const mean = means.reduce((a, b) => a + b, 0) / T;
          gram = squares.map((row, i) => row.map((d, j) => (means[i] + means[j] - mean - d) / 2));
        }
        return { gram, names: s.names?.length === T ? s.names : names ?? numbered(T) };
      }
    }
  }

  function problemOf(s) {
    const { gram, names } = tasksOf(s);
    const { rank, possible } = rankOf(gram);
    if (!possible) {
      throw new Complaint(s.kind === "distances" ? "No points have these distances: check the matrix." : "No vectors have these inner products: the matrix has a negative eigenvalue.");
    }
    if (s.p < rank) throw new Complaint(`p = ${s.p}: the tasks span ${rank} dimensions and need p of at least ${rank}.`);
    const T = gram.length;
    const unequal = s.unequal && s.unequal.n.length === T ? s.unequal : null;
    const n = unequal ? unequal.n : new Array(T).fill(s.n);
    const sigma = unequal ? unequal.sigma : new Array(T).fill(s.sigma);
    const order = Array.isArray(s.order) && s.order.length === T && new Set(s.order).size === T && s.order.every((i) => Number.isInteger(i) && i >= 0 && i < T)
      ? s.order : [...Array(T).keys()];
    return { ...engine.fromGram(gram), gram, names, rank, n, p: s.p, variance: sigma.map((x) => x * x), sigma, order };
  }

  // ------------------------------------------------------------------ computing

  function evaluate(problem, memory, weight, p = problem.p) {
    const at = { ...problem, p };
    const samples = memory ? engine.replay(problem.n, problem.order, memory) : engine.sequential(problem.n, problem.order);
    return engine.expect(at, samples, weight);
  }

  function parameterGrid(problem) {
    const largest = Math.max(...problem.n);
    const low = Math.max(problem.rank, 2, Math.round(Math.min(largest / 6, problem.p)));
    const high = Math.max(largest * 40, problem.p * 1.3);
    const points = problem.T > 12 ? 70 : 110;
    const found = new Set([problem.p]);
    for (let i = 0; i <= points; i++) found.add(Math.round(low * (high / low) ** (i / points)));
    for (const d of [2, 3, 4, 6]) for (const side of [-d, d]) if (largest + side >= low) found.add(largest + side);
    return [...found].sort((a, b) => a - b);
  }

  function compute(s) {
    const problem = problemOf(s);
    const T = problem.T;
    const result = evaluate(problem, s.memory, s.weight);
    const grid = parameterGrid(problem);
    const plain = !s.memory && s.weight === 1;
    const inOrder = engine.reordered(problem, problem.order);
    const nInOrder = problem.order.map((i) => problem.n[i]);
    const curves = { p: grid, F: [], G: [], Fstd: [], Gstd: [] };
    for (const p of grid) {
      const e = evaluate(problem, s.memory, s.weight, p);
      const std = plain ? engine.deviations({ ...inOrder, p }, nInOrder) : { F: 0, G: 0 };
      curves.F.push(e.F); curves.G.push(e.G); curves.Fstd.push(std.F); curves.Gstd.push(std.G);
    }
    const most = Math.max(...problem.n);
    const memories = [...new Set(Array.from({ length: 41 }, (_, i) => Math.round((most * i) / 40)))];
    const replays = memories.map((memory) => evaluate(problem, memory, s.weight));
    const std = plain ? engine.deviations(inOrder, nInOrder) : null;
    return { problem, T, result, curves, memories, replays, std, plain };
  }

  // ------------------------------------------------------------------ drawing

  function range(values, { zero = false, log = false } = {}) {
    const finite = values.filter((x) => Number.isFinite(x) && (!log || x > 0)).sort((a, b) => a - b);
    if (!finite.length) return log ? [0.1, 1] : [0, 1];
    let low = finite[0];
    let high = finite[finite.length - 1];
    if (log) return [low / 1.4, Math.max(high, low * 2) * 1.4];
    if (zero) { low = Math.min(low, 0); high = Math.max(high, 0); }
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    return [low - room, high + room];
  }

  const atMost = (values, quantile) => {
    const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
    return sorted.length ? sorted[Math.floor((sorted.length - 1) * quantile)] : 1;
  };

  function draw(c, s) {
    const { problem, result, curves } = c;
    const n = Math.max(...problem.n);
    const xRange = [curves.p[0], curves.p[curves.p.length - 1]];
    const crosses = (values) => (i) => i > 0 && !s.memory && curves.p[i - 1] < n && curves.p[i] >= n && problem.variance.some((v) => v > 0) && Number.isFinite(values[i]);
    const threshold = { x: n, text: "p = n" };
    const here = { x: problem.p, text: `p = ${problem.p.toLocaleString("en-US")}`, top: true, className: "here" };

    const shown = curves.F.filter((x) => Math.abs(x) <= 3 * Math.max(Math.abs(atMost(curves.F.map(Math.abs), 0.85)), 1e-12));
    $("chart-F").innerHTML = charts.lines({
      id: "F", title: `Forgetting F against the number of parameters; F is ${format(result.F)} at p = ${problem.p}`,
      x: xRange, xlog: true, y: range([...shown, ...(Number.isFinite(result.F) ? [result.F] : [])], { zero: true }), xlabel: "number of parameters p",
      series: [{ x: curves.p, y: curves.F, breaks: crosses(curves.F), band: c.plain ? [curves.F.map((f, i) => f - curves.Fstd[i]), curves.F.map((f, i) => f + curves.Fstd[i])] : null, className: "F" }],
      verticals: [threshold, here], marks: [{ x: problem.p, y: result.F, text: `F = ${format(result.F)}`, className: "F" }],
    });
    const cap = 6 * atMost(curves.G, 0.8);
    const floor = curves.p.reduce((best, p, i) => (curves.G[i] < curves.G[best] ? i : best), 0);
    const isFloor = floor > 0 && floor < curves.p.length - 1;
    $("chart-G").innerHTML = charts.lines({
      id: "G", title: `Generalization error G against the number of parameters; G is ${format(result.G)} at p = ${problem.p}`,
      x: xRange, xlog: true, y: range([...curves.G.filter((g) => g <= cap), ...(Number.isFinite(result.G) ? [result.G] : [])], { log: true }), ylog: true, xlabel: "number of parameters p",
      series: [{ x: curves.p, y: curves.G, breaks: crosses(curves.G), band: c.plain ? [curves.G.map((g, i) => Math.max(g - curves.Gstd[i], 1e-300)), curves.G.map((g, i) => g + curves.Gstd[i])] : null, className: "G" }],
      verticals: [threshold, here],
      marks: [{ x: problem.p, y: result.G, text: `G = ${format(result.G)}`, className: "G" }, ...(isFloor ? [{ x: curves.p[floor], y: curves.G[floor], text: "least", dy: 18, className: "G" }] : [])],
    });

    const named = { start: "initial model", gaps: "other tasks", conflict: "conflict within a batch", noise: "label noise" };
    const bar = (name, total, terms) => ({ name, total, parts: engine.PARTS.map((part) => ({ value: terms[part], className: part, name: named[part] })) });
    $("chart-terms").innerHTML = charts.stacks({
      title: `Parts of F: ${engine.PARTS.map((k) => `${named[k]} ${format(result.terms.F[k])}`).join(", ")}. Parts of G: ${engine.PARTS.map((k) => `${named[k]} ${format(result.terms.G[k])}`).join(", ")}.`,
      rows: [bar("forgetting F", result.F, result.terms.F), bar("generalization error G", result.G, result.terms.G)],
    });

    const F = c.replays.map((e) => e.F);
    const G = c.replays.map((e) => e.G);
    const ratio = c.memories.map((m) => m / n);
    const usual = Math.max(...[F[0], G[0]].filter(Number.isFinite).map(Math.abs), 1e-12);
    const visible = [...F, ...G].filter((x) => x <= 3 * usual && x >= -1.5 * usual);
    const least = c.memories.reduce((best, _, i) => (G[i] < G[best] ? i : best), 0);
    $("chart-replay").innerHTML = charts.lines({
      id: "replay", title: `F and G against the old data per old task; the least G is ${format(G[least])} at ${c.memories[least]} samples`,
      x: [0, 1], y: range(visible, { zero: true }), xlabel: "samples of each old task, as a share of n",
      series: [{ x: ratio, y: F, className: "F" }, { x: ratio, y: G, className: "G" }],
      marks: [{ x: ratio[least], y: G[least], text: `least G: ${c.memories[least]} samples`, className: "G", dy: 18 }, { x: s.memory / n, y: result.F, className: "F" }, { x: s.memory / n, y: result.G, className: "G" }],
    });

    const order = problem.order;
    const names = order.map((i) => problem.names[i]);
    $("chart-matrix").innerHTML = charts.heatMap({
      title: "Error on each task after each step", values: result.errors.map((row) => order.map((i) => row[i])), columnNames: names,
      rowNames: ["at first", ...names.map((name) => `after ${name}`.slice(0, 14))], outlined: (t, j) => t > 0 && result.learned[order[j]] === t,
    });
    const steps = result.curve.map((_, i) => i + 1).slice(1);
    $("chart-curve").innerHTML = charts.lines({
      id: "curve", title: "Forgetting after each step", x: [1, Math.max(problem.T, 3)], xticks: Array.from({ length: problem.T }, (_, i) => i + 1).filter((i) => i % Math.ceil(problem.T / 10) === 0),
      y: range(result.curve, { zero: true }), xlabel: "tasks learned", series: [{ x: steps, y: result.curve.slice(1), className: "F" }],
      marks: steps.map((x) => ({ x, y: result.curve[x - 1], className: "F" })),
    });
    for (const note of document.querySelectorAll(".band-note")) note.textContent = c.plain ? "" : " (shown without replay and averaging only)";
    answer(c, s);
    code(c, s);
  }

  function answer(c, s) {
    const { result, problem, std } = c;
    const p = $("answer");
    p.textContent = "";
    const add = (text, bold) => p.append(bold ? Object.assign(document.createElement("b"), { textContent: text }) : text);
    if (!Number.isFinite(result.G) || !Number.isFinite(result.F)) {
      add("The expected errors are infinite here: a step has as many samples as the model has parameters (within 1), and its labels are noisy. Move p, n or the old data.");
      return;
    }
    const start = problem.start.reduce((a, b) => a + b, 0) / problem.T;
    const old = problem.order.slice(0, -1);
    const learned = old.reduce((sum, i) => sum + result.errors[result.learned[i]][i], 0) / old.length;
    const end = old.reduce((sum, i) => sum + result.errors[result.errors.length - 1][i], 0) / old.length;
    add(result.F > 0 ? "Forgotten: " : "Nothing is forgotten on average: ");
    add(`F = ${format(result.F)}`, true);
    if (std && Number.isFinite(std.F)) add(` (± ${format(std.F)} in a single run)`);
    add(`. The error on an old task starts at ${format(start)}, is ${format(learned)} when it has just been learned, and ${format(end)} at the end. Over all tasks the error is `);
    add(`G = ${format(result.G)}`, true);
    if (std && Number.isFinite(std.G)) add(` (± ${format(std.G)})`);
    add(".");
    if (s.memory && Number.isFinite(c.replays[0].F)) {
      add(` Without old data: F = ${format(c.replays[0].F)}, G = ${format(c.replays[0].G)}.`);
    }
  }

  function code(c, s) {
    const { problem } = c;
    const identity = problem.order.every((i, place) => i === place);
    const equal = (values) => values.every((x) => x === values[0]);
    const list = (values) => (equal(values) ? String(values[0]) : `[${values.join(", ")}]`);
    const sizes = `n=${list(problem.n)}, p=${problem.p}, sigma=${list(problem.sigma)}`;
    const rows = `[${problem.gram.map((row) => `[${row.join(", ")}]`).join(", ")}]`;
    const quote = (text) => JSON.stringify(text);
    const make = {
      orthogonal: () => `ebbing.Problem.orthogonal(T=${problem.T}, ${sizes})`,
      identical: () => `ebbing.Problem.identical(T=${problem.T}, ${sizes})`,
      categories: () => `ebbing.Problem.categories(${quote(s.labels.replace(/\s/g, ""))}, ${sizes})`,
    }[s.kind] ?? (() => `ebbing.Problem(gram=${rows}, ${sizes})`);
    const lines = ["import ebbing", `problem = ${make()}`];
    if (!identity) lines.push(`problem = problem.reordered([${problem.order.join(", ")}])`);
    const plan = s.memory ? `, ebbing.Curriculum.replay(problem, memory=${s.memory})` : "";
    const learner = s.weight < 1 ? `, learner=ebbing.Averaged(${s.weight})` : "";
    lines.push(`e = ebbing.expect(problem${plan}${learner})`, `e.forgetting, e.generalization  # ${c.result.F}, ${c.result.G}`);
    $("python").textContent = lines.join("\n");
    const commas = (values) => (equal(values) ? String(values[0]) : values.join(","));
    let command = null;
    const tasks = { orthogonal: `orthogonal:${problem.T}`, identical: `identical:${problem.T}`, categories: `categories:${problem.order.map((i) => [...s.labels.replace(/\s/g, "")][i]).join("")}` }[s.kind];
    const harmless = s.kind !== "categories" || /^[A-Za-z]+$/.test(s.labels.replace(/\s/g, ""));
    if (tasks && harmless && !s.memory && s.weight === 1 && equal(problem.n) && equal(problem.sigma)) {
      command = `ebbing expect --tasks ${tasks} -n ${commas(problem.n)} -p ${problem.p} --sigma ${commas(problem.sigma)}`;
    }
    $("command").parentElement.hidden = command === null;
    $("command").textContent = command ?? "";
  }

  // ------------------------------------------------------------------ controls, order, address

  function drawOrder(problem) {
    const list = $("order");
    const focused = document.activeElement?.dataset?.move;
    list.textContent = "";
    problem.order.forEach((task, place) => {
      const item = document.createElement("li");
      item.draggable = true;
      item.dataset.place = place;
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
        event.preventDefault();
        event.stopPropagation();
        const from = Number(event.dataTransfer.getData("text/plain"));
        if (Number.isInteger(from) && from >= 0 && from < problem.T) move(from, place);
      });
      list.append(item);
    });
    if (focused) [...list.querySelectorAll("button")].find((b) => b.dataset.move === focused)?.focus();
    for (const id of ["best-forgetting", "best-generalization"]) {
      $(id).disabled = problem.T > 8;
      $(id).title = problem.T > 8 ? "All orders are compared for up to 8 tasks; for more: ebbing order" : "";
    }
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
    const given = evaluate({ ...problem, order: [...Array(problem.T).keys()] }, 0, 1)[letter];
    const best = engine.bestOrder(problem, problem.n, objective);
    if (!best.order) { $("order-result").textContent = "Every order has an infinite expected error here: move p or n."; return; }
    const same = best.worst - best.value <= 1e-9 * Math.max(Math.abs(best.worst), Math.abs(best.value), 1e-300);
    $("order-result").textContent = same
      ? `All ${best.orders.toLocaleString("en-US")} orders have the same ${letter} = ${format(best.value)}: order does not matter here.`
      : `Best of all ${best.orders.toLocaleString("en-US")} orders: ${letter} = ${format(best.value)}. As given: ${format(given)}; a random order: ${format(best.mean)}; the worst: ${format(best.worst)}. (Without old data and averaging.)`;
    update({ order: best.order });
  }

  const NUMBERS = { T: [2, 20, true], n: [1, 1e6, true], p: [2, 1e9, true], sigma: [0, 1e3], memory: [0, 1e6, true], weight: [0.05, 1], angle: [0, 180] };

  function readAddress() {
    const found = {};
    const query = new URLSearchParams(location.hash.slice(1));
    for (const [key, value] of query) {
      if (key in NUMBERS) {
        const [low, high, whole] = NUMBERS[key];
        const number = Number(value);
        if (value.trim() !== "" && number >= low && number <= high && (!whole || Number.isInteger(number))) found[key] = number;
        else found.problem = `The address has ${key}=${value.slice(0, 40)}: give ${whole ? "a whole number" : "a number"} from ${low} to ${high}.`;
      } else if (key === "order") found.order = value.split("-").map(Number);
      else if (key === "kind" && [...$("kind").options].some((o) => o.value === value)) found.kind = value;
      else if (key === "labels" || key === "matrix") found[key] = value.slice(0, 20000);
    }
    return found;
  }

  function writeAddress() {
    const query = new URLSearchParams();
    const wanted = { orthogonal: ["T"], identical: ["T"], categories: ["labels"], angle: ["angle"], gram: ["matrix"], distances: ["matrix"] }[state.kind];
    for (const key of ["kind", ...wanted, "n", "p", "sigma", "memory", "weight"]) query.set(key, state[key]);
    if (state.order) query.set("order", state.order.join("-"));
    history.replaceState(null, "", `#${query}`);
  }

  function showControls() {
    for (const node of document.querySelectorAll("[data-for]")) node.hidden = !node.dataset.for.split(" ").includes(state.kind);
    $("kind").value = state.kind;
    if (document.activeElement !== $("labels")) $("labels").value = state.labels;
    if (document.activeElement !== $("matrix")) $("matrix").value = state.matrix;
    $("T").value = state.T; $("T-value").textContent = state.T;
    $("angle").value = state.angle; $("angle-value").textContent = `${state.angle}°`;
    $("n").value = toSlider(state.n, 300, N_RANGE); $("n-value").textContent = state.unequal ? "as in the file" : state.n.toLocaleString("en-US");
    $("p").value = toSlider(state.p, 600, P_RANGE); $("p-value").textContent = state.p.toLocaleString("en-US");
    $("sigma").value = state.sigma; $("sigma-value").textContent = state.unequal ? "as in the file" : state.sigma;
    const most = current ? Math.max(...current.problem.n) : state.n;
    $("memory").max = most; $("memory").value = state.memory; $("memory-value").textContent = `${state.memory} of ${most}`;
    $("weight").value = state.weight; $("weight-value").textContent = state.weight;
  }

  let scheduled = false;
  function update(changes = {}) {
    Object.assign(state, changes);
    if (!state.unequal && state.memory > state.n) state.memory = state.n;
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; render(); });
  }

  function render() {
    const began = performance.now();
    try {
      current = compute(state);
      state.order = current.problem.order.every((i, place) => i === place) ? null : current.problem.order;
      $("message").textContent = "";
      $("results").classList.remove("stale");
      drawOrder(current.problem);
      draw(current, state);
    } catch (error) {
      if (!(error instanceof Complaint)) throw error;
      $("message").textContent = error.message;
      $("results").classList.add("stale");
    }
    showControls();
    writeAddress();
    window.ebbing.lastFrame = performance.now() - began;
  }

  function usePreset(index) {
    const preset = PRESETS[index];
    $("notice").textContent = preset.notice;
    $("order-result").textContent = "Drag a task, or use its arrow buttons.";
    state = { ...DEFAULTS, ...preset.state };
    update();
  }

  function copy(text, button) {
    const label = button.textContent;
    const done = (said) => { button.textContent = said; setTimeout(() => (button.textContent = label), 1500); };
    const fallback = () => {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area); area.select();
      const worked = document.execCommand("copy"); area.remove(); done(worked ? "Copied" : "Select and copy by hand");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => done("Copied"), fallback);
    else fallback();
  }

  function connect() {
    PRESETS.forEach((preset, i) => $("preset").append(new Option(preset.name, i)));
    if (GIVEN) $("preset").prepend(new Option("the given problem", "given"));
    $("preset").append(new Option("…", "own", false, false));
    const own = () => { $("preset").value = "own"; $("notice").textContent = ""; };
    $("preset").addEventListener("change", (event) => {
      if (event.target.value === "given") useGiven();
      else if (event.target.value !== "own") usePreset(Number(event.target.value));
    });
    $("kind").addEventListener("change", (event) => {
      own();
      const changes = { kind: event.target.value, order: null, names: null, unequal: null };
      if (["gram", "distances"].includes(changes.kind) && !state.matrix.trim()) {
        changes.matrix = changes.kind === "gram" ? "1, 0.5, 0\n0.5, 1, 0\n0, 0, 1" : "0, 1, 1.4\n1, 0, 1\n1.4, 1, 0";
      }
      update(changes);
    });
    $("labels").addEventListener("input", (event) => { own(); update({ labels: event.target.value, order: null }); });
    $("matrix").addEventListener("input", (event) => { own(); update({ matrix: event.target.value, order: null, names: null, unequal: null }); });
    $("n").addEventListener("input", (event) => { own(); update({ n: fromSlider(event.target.value, 300, N_RANGE), unequal: null }); });
    $("p").addEventListener("input", (event) => { own(); update({ p: fromSlider(event.target.value, 600, P_RANGE) }); });
    $("T").addEventListener("input", (event) => { own(); update({ T: Number(event.target.value), order: null }); });
    for (const key of ["angle", "memory", "weight"]) $(key).addEventListener("input", (event) => { own(); update({ [key]: Number(event.target.value) }); });
    $("sigma").addEventListener("input", (event) => { own(); update({ sigma: Number(event.target.value), unequal: null }); });
    $("best-forgetting").addEventListener("click", () => searchOrder("forgetting"));
    $("best-generalization").addEventListener("click", () => searchOrder("generalization"));
    $("given-order").addEventListener("click", () => { $("order-result").textContent = ""; update({ order: null }); });
    $("theme").addEventListener("click", () => {
      const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      document.documentElement.dataset.theme = dark ? "light" : "dark";
    });
    for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy($(button.dataset.copy).textContent, button));
    $("link").addEventListener("click", (event) => copy(location.href, event.target));
    window.addEventListener("hashchange", () => { state = { ...DEFAULTS, ...readAddress() }; own(); update(); });
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      const file = event.dataTransfer?.files?.[0];
      event.preventDefault();
      if (!file) return;
      if (file.size > 100_000) { $("message").textContent = `${file.name} has ${file.size} bytes: a matrix of at most 30 tasks has fewer than 100,000.`; return; }
      file.text().then((text) => {
        own();
        update({ kind: state.kind === "distances" ? "distances" : "gram", matrix: text, order: null, names: null, unequal: null });
      });
    });
  }

  function useGiven() {
    $("notice").textContent = "";
    $("preset").value = "given";
    state = { ...DEFAULTS, ...GIVEN };
    update();
  }

  window.ebbing = { engine, lastFrame: 0, get state() { return state; }, get current() { return current; } };
  connect();
  const address = location.hash.length > 1 ? readAddress() : null;
  if (address) {
    state = { ...DEFAULTS, ...address };
    delete state.problem;
    $("preset").value = "own";
    update();
    if (address.problem) requestAnimationFrame(() => requestAnimationFrame(() => ($("message").textContent = address.problem)));
  } else if (GIVEN) useGiven();
  else usePreset(0);
})();
