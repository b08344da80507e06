"use strict";
/* Draws a computation: the charts, the answer in words, and the lines that give the same numbers elsewhere. */
const view = (() => {
  const $ = (id) => document.getElementById(id);
  const { format } = charts;
  const whole = (x) => x.toLocaleString("en-US");
  const NAMES = { start: "initial model", gaps: "other tasks", conflict: "conflict within a batch", noise: "label noise" };

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

  const quantile = (values, share) => {
    const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
    return sorted.length ? sorted[Math.floor((sorted.length - 1) * share)] : 1;
  };

  /** The place of a descent floor: a lowest point right of p = n, from which the curve rises again; null if there is none. */
  function floorOf(sizes, values, n) {
    const right = sizes.map((_, i) => i).filter((i) => sizes[i] > n && Number.isFinite(values[i]));
    if (!right.length) return null;
    const least = right.reduce((best, i) => (values[i] < values[best] ? i : best), right[0]);
    const end = right[right.length - 1];
    return least !== right[0] && least !== end && values[end] - values[least] > 1e-3 * Math.abs(values[least]) ? least : null;
  }

  function drawCurves(computation) {
    const { problem, result } = computation;
    const { x: sizes, F, G, Fstd, Gstd } = computation.points("curve");
    const n = Math.max(...problem.n);
    const xRange = [sizes[0], Math.max(sizes[sizes.length - 1], sizes[0] + 1)];
    const toTheEnd = ["minimum-norm", "averaged"].includes(problem.learner.name);
    const noisy = problem.variance.some((v) => v > 0);
    const breaks = (i) => toTheEnd && noisy && !problem.memory && i > 0 && sizes[i - 1] < n && sizes[i] >= n;
    const verticals = [{ x: n, text: "p = n" }, { x: problem.p, text: `p = ${whole(problem.p)}`, top: true, className: "here" }];
    const band = (mean, std, low = -Infinity) => (computation.hasSpread ? [mean.map((m, i) => Math.max(m - std[i], low)), mean.map((m, i) => m + std[i])] : null);
    const readings = (letter, mean, std) => sizes.map((p, i) => `p = ${whole(p)}: ${letter} = ${format(mean[i])}${computation.hasSpread ? ` ± ${format(std[i])}` : ""}`);
    const chart = (letter, mean, std, options) => {
      const floor = floorOf(sizes, mean, n);
      const marks = [{ x: problem.p, y: result[letter], text: `${letter} = ${format(result[letter])}`, className: letter }];
      if (floor !== null && sizes[floor] !== problem.p) marks.push({ x: sizes[floor], y: mean[floor], text: `floor ${format(mean[floor])}`, dy: 18, className: letter });
      charts.put($(`chart-${letter}`), {
        id: letter, x: xRange, xlog: true, xlabel: "number of parameters p", verticals, marks, readings: readings(letter, mean, std), ...options,
        series: [{ x: sizes, y: mean, breaks, band: band(mean, std, letter === "G" ? 1e-300 : -Infinity), className: letter }],
      });
    };
    const usual = 3 * Math.max(quantile(F.map(Math.abs), 0.85), 1e-12);
    const shown = F.filter((f) => Math.abs(f) <= usual);
    chart("F", F, Fstd, {
      title: `Forgetting F against the number of parameters; F is ${format(result.F)} at p = ${problem.p}`,
      y: range(Number.isFinite(result.F) ? [...shown, result.F] : shown, { zero: true }),
    });
    const cap = 6 * quantile(G, 0.8);
    chart("G", G, Gstd, {
      title: `Generalization error G against the number of parameters; G is ${format(result.G)} at p = ${problem.p}`,
      y: range([...G.filter((g) => g <= cap), result.G], { log: true }), ylog: true,
    });
  }

  function drawReplay(computation) {
    const { problem, result } = computation;
    const { x: memories, F, G } = computation.points("replay");
    const n = Math.max(...problem.n);
    const usual = Math.max(...[F[0], G[0]].filter(Number.isFinite).map(Math.abs), 1e-12);
    const visible = [...F, ...G].filter((x) => x <= 3 * usual && x >= -1.5 * usual);
    const [leastF, leastG] = [F, G].map((values) => values.reduce((best, v, i) => (v < values[best] || !Number.isFinite(values[best]) ? i : best), 0));
    const here = problem.memory / n;
    charts.put($("chart-replay"), {
      id: "replay", title: `F and G against the old data per old task; the least F is ${format(F[leastF])} at ${memories[leastF]} samples, the least G ${format(G[leastG])} at ${memories[leastG]}`,
      x: [0, 1], y: range(visible, { zero: true }), xlabel: "samples of each old task, as a share of n",
      series: [{ x: memories.map((m) => m / n), y: F, className: "F" }, { x: memories.map((m) => m / n), y: G, className: "G" }],
      readings: memories.map((m, i) => `${m} samples: F = ${format(F[i])}, G = ${format(G[i])}`),
      marks: [
        { x: memories[leastG] / n, y: G[leastG], text: `least G: ${memories[leastG]} samples`, className: "G", dy: -8 },
        { x: memories[leastF] / n, y: F[leastF], text: `least F: ${memories[leastF]} samples`, className: "F", dy: 18 },
        { x: here, y: result.F, className: "F" }, { x: here, y: result.G, className: "G" },
      ],
    });
    $("replay-note").hidden = problem.learner.name !== "one-pass-sgd";
  }

  function drawParts({ problem, result }) {
    const bar = (name, total, terms) => ({ name, total, parts: engine.PARTS.map((part) => ({ value: terms[part], className: part, name: NAMES[part] })) });
    const words = (terms) => engine.PARTS.map((part) => `${NAMES[part]} ${format(terms[part])}`).join(", ");
    $("chart-terms").innerHTML = charts.stacks({
      title: `Parts of F: ${words(result.terms.F)}. Parts of G: ${words(result.terms.G)}.`,
      rows: [bar("forgetting F", result.F, result.terms.F), bar("generalization error G", result.G, result.terms.G)],
    });
    const names = problem.order.map((i) => problem.names[i]);
    $("chart-matrix").innerHTML = charts.heatMap({
      title: "Error on each task after each step", values: result.errors.map((row) => problem.order.map((i) => row[i])), columnNames: names,
      rowNames: ["at first", ...names.map((name) => `after ${name}`)], outlined: (t, j) => t > 0 && result.learned[problem.order[j]] === t,
    });
    const steps = result.curve.map((_, i) => i + 1).slice(1);
    charts.put($("chart-curve"), {
      id: "curve", title: "Forgetting after each step", x: [1, Math.max(problem.T, 3)], xlabel: "tasks learned",
      xticks: Array.from({ length: problem.T }, (_, i) => i + 1).filter((i) => i % Math.ceil(problem.T / 10) === 0),
      y: range(result.curve, { zero: true }), series: [{ x: steps, y: result.curve.slice(1), className: "F" }],
      readings: steps.map((t) => `after ${t} tasks: F = ${format(result.curve[t - 1])}`),
      marks: steps.map((x) => ({ x, y: result.curve[x - 1], className: "F" })),
    });
    const plain = !problem.memory && problem.learner.name === "minimum-norm";
    const band = plain ? "Band: one standard deviation of a single run, exact." : "The spread of single runs is known for minimum norm without old data only.";
    for (const note of document.querySelectorAll(".band-note")) note.textContent = band;
    $("peak-note").hidden = !plain;
  }

  function answer(computation) {
    const { result, problem, std } = computation;
    const p = $("answer");
    p.textContent = "";
    const add = (text, bold) => p.append(bold ? Object.assign(document.createElement("b"), { textContent: text }) : text);
    if (!Number.isFinite(result.G) || !Number.isFinite(result.F)) {
      add("The expected errors are infinite here: a step has as many samples as the model has parameters (within 1), and its labels are noisy. Move p, n or the old data, or learn with ridge.");
      return;
    }
    const old = problem.order.slice(0, -1);
    const mean = (f) => old.reduce((sum, i) => sum + f(i), 0) / old.length;
    const end = result.errors[result.errors.length - 1];
    add(result.F > 0 ? "Forgotten: " : "Nothing is forgotten on average: ");
    add(`F = ${format(result.F)}`, true);
    if (std && Number.isFinite(std.F)) add(` (± ${format(std.F)} in a single run)`);
    add(`. The error on an old task starts at ${format(mean((i) => problem.start[i]))}, is ${format(mean((i) => result.errors[result.learned[i]][i]))} when it has just been learned, and ${format(mean((i) => end[i]))} at the end. Over all tasks the error is `);
    add(`G = ${format(result.G)}`, true);
    if (std && Number.isFinite(std.G)) add(` (± ${format(std.G)})`);
    add(".");
    if (problem.memory) {
      const without = problems.totals(problem, { memory: 0 });
      add(` Without old data: F = ${format(without.F)}, G = ${format(without.G)}.`);
    }
  }

  /** The order that a search found: {best, given, letter}. */
  function orderFound({ best, given, letter }) {
    if (!best.order) return "Every order has an infinite expected error here: move p or n.";
    const orders = whole(best.orders);
    const same = best.worst - best.value <= 1e-9 * Math.max(Math.abs(best.worst), Math.abs(best.value), 1e-300);
    if (same) return `All ${orders} orders have the same ${letter} = ${format(best.value)}: order does not matter here.`;
    return `Best of all ${orders} orders: ${letter} = ${format(best.value)}. As given: ${format(given)}; a random order: ${format(best.mean)}; the worst: ${format(best.worst)}. Gained: ${format(given - best.value)}.`;
  }

  /** What does not change while curves get finer. */
  function drawNumbers(computation, state) {
    drawParts(computation);
    answer(computation);
    recipes.show(computation, state);
  }

  return { drawNumbers, drawCurves, drawReplay, orderFound };
})();
