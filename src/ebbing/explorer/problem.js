"use strict";
/* From the state of the controls to a problem: tasks, their Gram matrix and sizes. Bad input is a Complaint. */
const problems = (() => {
  const MOST_TASKS = 30;
  const FORM = "a square matrix: one row per line, numbers separated by commas or spaces";

  class Complaint extends Error {}

  /** Text of users with characters that hide or reverse text shown as escapes, as ebbing does everywhere. */
  const visible = (text) =>
    String(text).replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (c) =>
      `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);

  /** The names in the first line of a CSV file: separated by commas, quoted where they have one, a quote in them doubled. */
  const namesIn = (line) =>
    [...line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain.trim());

  function parseMatrix(text) {
    const lines = text.trim().split(text.trim().includes("\n") ? /\n+/ : /;+/).map((line) => line.trim().replace(/^\[+|\]*[,;]?$/g, ""));
    const cells = (line) => line.split(/[\s,\t]+/).filter((cell) => cell !== "");
    const rows = lines.map(cells);
    if (!rows.length || !rows[0].length) throw new Complaint(`Paste ${FORM}.`);
    let names = null;
    if (rows[0].some((cell) => !Number.isFinite(Number(cell)))) {
      names = lines[0].includes(",") ? namesIn(lines[0]) : rows[0];
      rows.shift();
      if (!rows.length) throw new Complaint(`“${visible(names[0]).slice(0, 80)}” is not a number: paste ${FORM}.`);
    }
    const values = rows.map((row, i) => row.map((cell, j) => {
      const number = Number(cell);
      if (!Number.isFinite(number)) throw new Complaint(`Row ${i + 1}, column ${j + 1}: “${visible(cell)}” is not a finite number.`);
      return number;
    }));
    const T = values.length;
    if (T < 2 || T > MOST_TASKS) throw new Complaint(`The matrix has ${T} row${T === 1 ? "" : "s"}: give 2 to ${MOST_TASKS}, one per task.`);
    values.forEach((row, i) => {
      if (row.length !== T) throw new Complaint(`Row ${i + 1} has ${row.length} numbers: a square matrix of ${T} tasks has ${T}.`);
    });
    if (names && names.length !== T) throw new Complaint(`The first line has ${names.length} names: give one for each of the ${T} tasks.`);
    const largest = Math.max(...values.flat().map(Math.abs));
    for (let i = 0; i < T; i++) {
      for (let j = 0; j < i; j++) {
        if (Math.abs(values[i][j] - values[j][i]) > 1e-9 * largest) {
          throw new Complaint(`The matrix is not symmetric: row ${i + 1}, column ${j + 1} is ${values[i][j]}, but ${values[j][i]} across the diagonal.`);
        }
      }
    }
    return { values, names };
  }

  /** The rank of a Gram matrix by a pivoted Cholesky factorization; not possible if no vectors have these products. */
  function rankOf(gram) {
    const A = gram.map((row) => [...row]);
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
      for (const j of left) if (Math.abs(A[i][j]) > 1e-6 * largest) return { rank: A.length, possible: false };
    }
    return { rank, possible: true };
  }

  const labelsOf = (state) => [...state.labels.replace(/\s/g, "")];

  /** Inner products from distances: the initial model lies at the mean of the ground truths. */
  function fromDistances(values) {
    values.forEach((row, i) => {
      if (row[i] !== 0) throw new Complaint(`Row ${i + 1}, column ${i + 1} is ${row[i]}: a task is at distance 0 from itself.`);
      if (row.some((x) => x < 0)) throw new Complaint(`Row ${i + 1} has a negative distance.`);
    });
    const squares = values.map((row) => row.map((x) => x * x));
    const means = squares.map((row) => row.reduce((a, b) => a + b, 0) / values.length);
    const mean = means.reduce((a, b) => a + b, 0) / values.length;
    return squares.map((row, i) => row.map((d, j) => (means[i] + means[j] - mean - d) / 2));
  }

  function tasksOf(state) {
    const square = (T, f) => Array.from({ length: T }, (_, i) => Array.from({ length: T }, (_, j) => f(i, j)));
    const numbered = (T) => Array.from({ length: T }, (_, i) => `task ${i + 1}`);
    switch (state.kind) {
      case "orthogonal": return { gram: square(state.T, (i, j) => (i === j ? 1 : 0)), names: numbered(state.T) };
      case "identical": return { gram: square(state.T, () => 1), names: numbered(state.T) };
      case "angle": {
        const cosine = state.angle === 90 ? 0 : Math.cos((state.angle * Math.PI) / 180);
        return { gram: [[1, cosine], [cosine, 1]], names: numbered(2) };
      }
      case "categories": {
        const labels = labelsOf(state);
        if (labels.length < 2 || labels.length > MOST_TASKS) throw new Complaint(`Give one letter per task, 2 to ${MOST_TASKS} of them, such as AABB; not ${labels.length}.`);
        const count = {};
        const dot = /\d/.test(labels.join("")) ? "." : "";
        const names = labels.map((label) => `${label}${dot}${(count[label] = (count[label] ?? 0) + 1)}`);
        return { gram: square(labels.length, (i, j) => (labels[i] === labels[j] ? 1 : 0)), names };
      }
      default: {
        const { values, names } = parseMatrix(state.matrix);
        const gram = state.kind === "distances" ? fromDistances(values) : values;
        return { gram, names: state.names?.length === gram.length ? state.names : names ?? numbered(gram.length) };
      }
    }
  }

  /** The learner that the controls describe. */
  function learnerOf(state) {
    switch (state.learner) {
      case "ridge": return { name: "ridge", penalty: state.penalty };
      case "gradient-steps": return { name: "gradient-steps", rate: state.rate, steps: state.steps };
      case "gradient-flow": return { name: "gradient-flow", time: state.time };
      case "averaged": return { name: "averaged", weight: state.weight };
      case "one-pass-sgd": return { name: "one-pass-sgd", rate: state.rate };
      default: return learners.MINIMUM_NORM;
    }
  }

  const isOrder = (order, T) =>
    Array.isArray(order) && order.length === T && new Set(order).size === T && order.every((i) => Number.isInteger(i) && i >= 0 && i < T);

  function problemOf(state) {
    const { gram, names } = tasksOf(state);
    const { rank, possible } = rankOf(gram);
    if (!possible) {
      throw new Complaint(state.kind === "distances" ? "No points have these distances: check the matrix." : "No vectors have these inner products: the matrix has a negative eigenvalue.");
    }
    if (state.p < rank) throw new Complaint(`p = ${state.p}: the tasks span ${rank} dimensions and need p of at least ${rank}.`);
    const T = gram.length;
    const unequal = state.unequal && state.unequal.n.length === T && state.unequal.sigma.length === T ? state.unequal : null;
    const sigma = unequal ? unequal.sigma : new Array(T).fill(state.sigma);
    return {
      ...engine.fromGram(gram), gram, rank, p: state.p, sigma, names: names.map(visible),
      n: unequal ? unequal.n : new Array(T).fill(state.n),
      variance: sigma.map((x) => x * x),
      order: isOrder(state.order, T) ? state.order : [...Array(T).keys()],
      learner: learnerOf(state), memory: state.memory,
    };
  }

  const samplesOf = ({ n }, memory, order) => (memory ? engine.replay(n, order, memory) : engine.sequential(n, order));

  /** The expectation of a problem. Throws wishart.Unknown where it is not known, as `totals` does. */
  const evaluate = (problem) => engine.expect(problem, samplesOf(problem, problem.memory, problem.order), problem.learner);

  /** The numbers of samples in the steps of a problem, each once. */
  const batchSizes = (problem, memory = problem.memory) =>
    [...new Set(samplesOf(problem, memory, problem.order).map((counts) => counts.reduce((a, b) => a + b, 0)))];

  /** F and G of a problem, with some of it changed. */
  const totals = (problem, { memory = problem.memory, p = problem.p, order = problem.order }) =>
    engine.totals({ ...problem, p }, samplesOf(problem, memory, order), problem.learner);

  /** The standard deviations of F and G of a single run, with some of the problem changed; null where they are not known. */
  const spread = (problem, { memory = problem.memory, p = problem.p }) =>
    deviations.isKnown(problem.learner) ? deviations.of({ ...problem, p }, samplesOf(problem, memory, problem.order), problem.learner) : null;

  return { Complaint, problemOf, evaluate, totals, spread, batchSizes, labelsOf, visible };
})();
