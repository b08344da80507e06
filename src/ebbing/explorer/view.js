"use strict";
/* Draws a computation: the charts, the answer in words, and the lines that give the same numbers elsewhere. */
const view = (() => {
  const $ = (id) => document.getElementById(id);
  const { format } = charts;
  const whole = (x) => x.toLocaleString("en-US");
  const NAMES = { start: "initial model", gaps: "other tasks", conflict: "conflict within a step", noise: "label noise" };

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

  /** The place of a descent floor: a lowest point right of the peaks, from which the curve rises again; null if there is none. */
  function floorOf(sizes, values, n) {
    const right = sizes.map((_, i) => i).filter((i) => sizes[i] > n && Number.isFinite(values[i]));
    if (!right.length) return null;
    const least = right.reduce((best, i) => (values[i] < values[best] ? i : best), right[0]);
    const end = right[right.length - 1];
    return least !== right[0] && least !== end && values[end] - values[least] > 1e-3 * Math.abs(values[least]) ? least : null;
  }

  /** Whether charts can be drawn; those that cannot yet are shown as late. */
  function isReady(computation, which, ids) {
    for (const id of ids) $(id).classList.toggle("late", !computation.isWhole(which));
    return computation.isWhole(which);
  }

  function drawCurves(computation) {
    if (!isReady(computation, "curve", ["chart-F", "chart-G"])) return;
    const { problem, result } = computation;
    const { x: sizes, F, G, Fstd, Gstd } = computation.points("curve");
    const n = Math.max(...problem.n);
    const xRange = [sizes[0], Math.max(sizes[sizes.length - 1], sizes[0] + 1)];
    const peaks = isPeaked(problem) ? problems.batchSizes(problem).sort((a, b) => a - b) : [];
    const breaks = (i) => i > 0 && peaks.some((N) => sizes[i - 1] < N && sizes[i] >= N);
    const verticals = [...new Set([n, ...peaks])].map((N) => ({ x: N, text: N === n ? "p = n" : "" }));
    verticals.push({ x: problem.p, text: `p = ${whole(problem.p)}`, top: true, className: "here" });
    const band = (mean, std, low = -Infinity) => (computation.hasSpread ? [mean.map((m, i) => Math.max(m - std[i], low)), mean.map((m, i) => m + std[i])] : null);
    const readings = (letter, mean, std) => sizes.map((p, i) => `p = ${whole(p)}: ${letter} = ${format(mean[i])}${computation.hasSpread ? ` ± ${format(std[i])}` : ""}`);
    const chart = (letter, mean, std, options) => {
      const floor = floorOf(sizes, mean, Math.max(n, ...peaks));
      const marks = [{ x: problem.p, y: result[letter], text: `${letter} = ${format(result[letter])}`, className: letter }];
      if (floor !== null && Math.abs(Math.log(sizes[floor] / problem.p)) > 0.2) marks.push({ x: sizes[floor], y: mean[floor], text: `floor ${format(mean[floor])}`, className: letter });
      charts.put($(`chart-${letter}`), {
        id: letter, x: xRange, xlog: true, xlabel: "number of parameters p (log scale)", verticals, marks, readings: readings(letter, mean, std), ...options,
        series: [{ x: sizes, y: mean, breaks, band: band(mean, std, letter === "G" ? 1e-300 : -Infinity), className: letter }],
      });
    };
    const usual = 3 * Math.max(quantile(F.map(Math.abs), 0.85), 1e-12);
    const shown = F.filter((f) => Math.abs(f) <= usual);
    chart("F", F, Fstd, {
      ylabel: "forgetting F: rise of the error",
      title: `Forgetting F against the number of parameters; F is ${format(result.F)} at p = ${problem.p}`,
      y: range(Number.isFinite(result.F) ? [...shown, result.F] : shown, { zero: true }),
    });
    const cap = 6 * quantile(G, 0.8);
    chart("G", G, Gstd, {
      ylabel: "error G at the end (log scale)",
      title: `Error G at the end against the number of parameters; G is ${format(result.G)} at p = ${problem.p}`,
      y: range([...G.filter((g) => g <= cap), result.G], { log: true }), ylog: true,
    });
    const last = G.findLastIndex((g) => !Number.isNaN(g));
    setAll("end-note", last >= 0 && last < G.length - 1 ? `The curve ends at p = ${whole(sizes[last])}: in a larger model this learning rate is too large, and errors grow without bound.` : "");
  }

  /** Whether errors explode where a step has as many samples as the model has parameters. */
  const isPeaked = ({ learner, variance, memory, rank }) => deviations.isKnown(learner) && (variance.some((v) => v > 0) || (memory > 0 && rank > 1));

  /** Numbers of old samples at which a step has as many samples as the model has parameters, where noise explodes. */
  function explosions({ problem }) {
    if (!isPeaked({ ...problem, memory: 1 })) return [];
    const found = problem.order.map((task, place) => (problem.p - problem.n[task]) / place).slice(1);
    return [...new Set(found)].filter((m) => m > 0 && m <= Math.max(...problem.n));
  }

  function drawReplay(computation) {
    if (!isReady(computation, "replay", ["chart-replay"])) return;
    const { problem, result } = computation;
    const { x, F, G, Fstd, Gstd } = computation.points("replay");
    const n = Math.max(...problem.n);
    const first = [F[0], G[0]].filter(Number.isFinite).map(Math.abs);
    const usual = first.length ? Math.max(...first, 1e-12) : Infinity;
    const visible = [...F, ...G].filter((v) => Number.isFinite(v) && v <= 3 * usual && v >= -1.5 * usual);
    const least = (values) => values.reduce((best, v, i) => (v < values[best] || !Number.isFinite(values[best]) ? i : best), 0);
    const [leastF, leastG] = [least(F), least(G)];
    const poles = explosions(computation);
    const breaks = (i) => i > 0 && poles.some((m) => m > x[i - 1] && m < x[i]);
    const y = range(visible, { zero: true });
    const shown = (std) => (std > y[1] - y[0] ? 0 : std); // a band beyond the picture would hide the rest of it
    const band = (mean, std) => (computation.hasSpread ? [mean.map((m, i) => m - shown(std[i])), mean.map((m, i) => m + shown(std[i]))] : null);
    const samples = (m) => (m ? `${whole(m)} sample${m === 1 ? "" : "s"}` : "no old data");
    charts.put($("chart-replay"), {
      id: "replay", title: `Forgetting F and error G against the old data per old task; the least F is ${format(F[leastF])} with ${samples(x[leastF])}, the least G ${format(G[leastG])} with ${samples(x[leastG])}`,
      x: [0, n], y, xlabel: `samples of each old task (new task: ${whole(n)})`, ylabel: "forgetting F, and error G at the end",
      verticals: poles.filter((m, i) => i < 8).map((m) => ({ x: m, text: "" })), // later ones crowd at the left
      series: [
        { x, y: F, breaks, band: band(F, Fstd), className: "F", name: "forgetting F" },
        { x, y: G, breaks, band: band(G, Gstd), className: "G", name: "error G" },
      ],
      readings: x.map((m, i) => `${samples(m)}: F = ${format(F[i])}, G = ${format(G[i])}`),
      marks: [
        { x: x[leastG], y: G[leastG], text: `least error: ${samples(x[leastG])}`, className: "G" },
        { x: x[leastF], y: F[leastF], text: `least forgetting: ${samples(x[leastF])}`, className: "F" },
        { x: problem.memory, y: result.F, className: "F" }, { x: problem.memory, y: result.G, className: "G" },
      ],
    });
    $("replay-answer").textContent = replayAnswer({ x, F, G, leastF, leastG, n });
    $("explosion-note").hidden = !poles.length;
    $("chart-replay").hidden = problem.learner.name === "one-pass-sgd" || !visible.length;
    $("replay-hint").hidden = $("chart-replay").hidden;
  }

  function replayAnswer({ x, F, G, leastF, leastG, n }) {
    if (x.length < 2) return "Not known for one pass of SGD: on a mixture of tasks it depends on the order of their samples.";
    if (!Number.isFinite(G[leastG])) return "No amount of old data makes the expected error finite: the first step alone has as many samples as the model has parameters. Move p or n.";
    const share = (m) => `${whole(m)} sample${m === 1 ? "" : "s"} of each old task (${Math.round((100 * m) / n)}% of n)`;
    const alone = leastF && F[0] > 0 && F[leastF] > 0 ? ` Forgetting alone is least with ${share(x[leastF])}: ${format(F[leastF])} instead of ${format(F[0])}, at an error of ${format(G[leastF])}.` : "";
    if (!leastG) return `None: the error at the end is least without old data, ${format(G[0])}.${alone}`;
    if (G[0] - G[leastG] < 0.005 * G[0]) return `It hardly matters: the error at the end is ${format(G[0])} without old data, and at most ${format(G[0] - G[leastG])} lower with it.${alone}`;
    const forgotten = F[leastG] < 0 ? `F is ${format(F[leastG])} there: errors are larger just after learning than at the end.` : `Forgetting is ${format(F[leastG])} instead of ${format(F[0])}.`;
    return `The error at the end is least with ${share(x[leastG])}: ${format(G[leastG])} instead of ${format(G[0])} without old data. ${forgotten}`;
  }

  function drawParts({ problem, result }) {
    const bar = (name, total, terms) => ({ name, total, parts: engine.PARTS.map((part) => ({ value: terms[part], className: part, name: NAMES[part] })) });
    const words = (terms) => engine.PARTS.map((part) => `${NAMES[part]} ${format(terms[part])}`).join(", ");
    pictures.stacks($("chart-terms"), {
      title: `Parts of F: ${words(result.terms.F)}. Parts of G: ${words(result.terms.G)}.`,
      rows: [bar("forgetting F", result.F, result.terms.F), bar("error G at the end", result.G, result.terms.G)],
    });
    const names = problem.order.map((i) => problem.names[i]);
    pictures.heatMap($("chart-matrix"), {
      title: "Error on each task after each step", values: result.errors.map((row) => problem.order.map((i) => row[i])), columnNames: names,
      rowNames: ["at first", ...names.map((name) => `after ${name}`)], outlined: (t, j) => t > 0 && result.learned[problem.order[j]] === t,
    });
    const rows = problem.order.map((i) => ({ name: problem.names[i], from: result.errors[result.learned[i]][i], to: result.errors.at(-1)[i] }));
    pictures.arrows($("chart-tasks"), {
      title: `Error on each task: ${rows.map((row) => `${row.name} ${format(row.from)} when just learned, ${format(row.to)} at the end`).join("; ")}`,
      rows, x: range(rows.flatMap((row) => [row.from, row.to]), { zero: true }), xlabel: "error (squared distance to the solution)",
    });
    $("curve-card").hidden = problem.T < 3 || !result.curve.some(Number.isFinite); // two tasks have a single number
    $("terms-card").classList.toggle("wide", $("curve-card").hidden);
    $("terms-card").hidden = !Number.isFinite(result.G);
    $("tasks-card").hidden = !rows.some(({ to }) => Number.isFinite(to));
    const steps = result.curve.map((_, i) => i + 1).slice(1);
    charts.put($("chart-curve"), {
      id: "curve", title: "Forgetting after each step", x: [1, Math.max(problem.T, 3)], xlabel: "tasks learned so far", ylabel: "forgetting F: rise of the error",
      xticks: Array.from({ length: problem.T }, (_, i) => i + 1).filter((i) => i % Math.ceil(problem.T / 10) === 0),
      y: range(result.curve, { zero: true }), series: [{ x: steps, y: result.curve.slice(1), className: "F" }],
      readings: steps.map((t) => `after ${t} tasks: F = ${format(result.curve[t - 1])}`),
      marks: steps.map((x) => ({ x, y: result.curve[x - 1], className: "F" })),
    });
  }

  const setAll = (className, text) => { for (const note of document.getElementsByClassName(className)) note.textContent = text; };

  function drawNotes({ problem, hasSpread }) {
    setAll("band-note", hasSpread ? "Band: one standard deviation of a single run, exact." : "How far single runs scatter is not known for this way of learning.");
    $("peak-note").hidden = !isPeaked(problem);
  }

  /** How many digits the curves have: all, but where they would take too long. */
  function drawDigits({ coarse, isDone }) {
    for (const which of ["curve", "replay"]) {
      const words = isDone ? "Parts of this curve are computed to four digits; the numbers in the text to all." : "The curve is computed to four digits as yet.";
      setAll(`digits-note ${which}`, coarse[which].size ? words : "");
    }
  }

  /** The two numbers at the top. */
  function drawTiles({ result, std, isRough }) {
    const about = isRough ? "≈ " : "";
    for (const letter of ["F", "G"]) {
      const spread = Number.isFinite(result[letter]) && std && Number.isFinite(std[letter]) ? ` ± ${format(std[letter])}` : "";
      $(`tile-${letter}`).textContent = `${about}${format(result[letter])}${spread}`;
    }
    const words = { true: "forgetting F: below 0, errors on old tasks fall", false: "forgetting F: how much errors on old tasks rise" };
    $("tile-words").textContent = Number.isNaN(result.F) ? "forgetting F: not defined, ∞ − ∞" : words[result.F < 0];
  }

  function answer({ result, problem, std, isRough, without }) {
    const p = $("answer");
    p.textContent = "";
    const add = (text, bold) => p.append(bold ? Object.assign(document.createElement("b"), { textContent: text }) : text);
    if (!Number.isFinite(result.G) || !Number.isFinite(result.F)) {
      add("The expected errors are infinite here: a step has as many samples as the model has parameters (within 1), and its labels are noisy. Move p, n or the old data, or learn with ridge.");
      return;
    }
    const old = problem.order.slice(0, -1);
    const mean = (f) => old.reduce((sum, i) => sum + f(i), 0) / old.length;
    const end = result.errors.at(-1);
    const [before, learned, last] = [mean((i) => problem.start[i]), mean((i) => result.errors[result.learned[i]][i]), mean((i) => end[i])];
    add(`The error on an old task is ${format(before)} before learning, ${format(learned)} when it has just been learned, and ${format(last)} at the end. `);
    if (result.F > 0) add(`So F = ${format(result.F)} is forgotten`, true);
    else add(`So nothing is forgotten on average: F = ${format(result.F)}`, true);
    add(`${last > before ? ": the model ends up worse on old tasks than if it had learned nothing" : ""}. Over ${problem.T === 2 ? "both" : `all ${problem.T}`} tasks, the error at the end is `);
    add(`G = ${format(result.G)}`, true);
    add(std && Number.isFinite(std.F) && Number.isFinite(std.G) ? `. A single run differs from these by about ${format(std.F)} in F and ${format(std.G)} in G.` : ".");
    if (without) add(` Without old data: F = ${format(without.F)}, G = ${format(without.G)}.`);
    if (isRough) add(" Approximate while you move; exact numbers follow.");
  }

  /** The order that a search found: {best, given, letter}. */
  function orderFound({ best, given, letter }) {
    if (!best.order) return "Every order has an infinite expected error here: move p or n.";
    const orders = whole(best.orders);
    const same = best.worst - best.value <= 1e-9 * Math.max(Math.abs(best.worst), Math.abs(best.value), 1e-300);
    if (same) return `All ${orders} orders have the same ${letter} = ${format(best.value)}: order does not matter here.`;
    return `Best of all ${orders} orders: ${letter} = ${format(best.value)}. As given: ${format(given)}; a random order: ${format(best.mean)}; the worst: ${format(best.worst)}. ${given - best.value > 1e-9 * Math.abs(given) ? `Gained over the order as given: ${format(given - best.value)}.` : "The order as given is as good."}`;
  }

  /** What changes while curves get finer. */
  function drawProgress(computation) {
    drawCurves(computation);
    drawReplay(computation);
    drawDigits(computation);
  }

  /** What does not. */
  function drawNumbers(computation, state) {
    drawParts(computation);
    drawNotes(computation);
    drawTiles(computation);
    answer(computation);
    recipes.show(computation, state);
  }

  return { drawNumbers, drawProgress, orderFound };
})();
