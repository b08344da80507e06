"use strict";
/*
 * The expected errors of linear tasks, in the page: the recursion of ebbing.theory, step by step.
 * Notation of docs/theory: L[i] = |w - w*_i|^2, d[i][j] = |w*_i - w*_j|^2, start[i] = |w_0 - w*_i|^2,
 * n samples, p parameters, variance = sigma^2. A test compares everything here with Python.
 */
const engine = (() => {
  const zeros = (length) => new Float64Array(length);

  /** The tasks of a problem from inner products of their ground truths relative to the initial model. */
  function fromGram(gram) {
    const T = gram.length;
    const gaps = gram.map((row, i) => Float64Array.from(row, (k, j) => (i === j ? 0 : gram[i][i] + gram[j][j] - 2 * k)));
    return { T, start: Float64Array.from(gram, (row, i) => row[i]), gaps };
  }

  /** One step on a mixture, counts[j] samples of task j: its tasks, their shares, and the coefficients of the map. */
  function step(counts, p, variance, learner) {
    let N = 0;
    let noise = 0;
    const tasks = [];
    for (let j = 0; j < counts.length; j++) {
      if (counts[j] > 0) {
        tasks.push(j);
        N += counts[j];
        noise += counts[j] * variance[j];
      }
    }
    if (learner.name === "one-pass-sgd" && tasks.length > 1) {
      throw new wishart.Unknown("one-pass SGD on a mixture of tasks depends on the order of their samples");
    }
    const rates = learners.rates(N, p, learner);
    return { ...rates, tasks, shares: tasks.map((j) => counts[j] / N), noise: noise > 0 ? rates.noise * (noise / N) : 0 };
  }

  const PARTS = ["start", "gaps", "conflict", "noise"];

  /**
   * Expected errors of a curriculum. `samples[s][j]`: samples of task j in step s.
   * Returns the error matrix (steps + 1 rows), forgetting of every task at every step since it was first learned,
   * F, G and their parts. Infinite where the expectation is.
   */
  function expect(problem, samples, learner = learners.MINIMUM_NORM) {
    const { T, gaps, start, p, variance } = problem;
    const now = {};
    const lost = {};
    const first = {};
    for (const part of PARTS) {
      now[part] = part === "start" ? Float64Array.from(start) : zeros(T);
      lost[part] = zeros(T);
      first[part] = zeros(T);
    }
    const learned = new Int32Array(T);
    const total = (parts) => start.map((_, i) => PARTS.reduce((sum, part) => sum + parts[part][i], 0));
    const errors = [Float64Array.from(start)];
    const forgetting = [zeros(T)];
    const curve = [];
    let last = null;
    for (let s = 0; s < samples.length; s++) {
      const c = step(samples[s], p, variance, learner);
      let dispersion = 0; // mean squared distance of the step's ground truths to their mean
      for (let a = 0; a < c.tasks.length; a++) {
        for (let b = a + 1; b < c.tasks.length; b++) {
          dispersion += c.shares[a] * c.shares[b] * gaps[c.tasks[a]][c.tasks[b]];
        }
      }
      for (const part of PARTS) {
        const values = now[part];
        let coupling = 0;
        if (c.unfinished) c.tasks.forEach((j, a) => (coupling += c.shares[a] * values[j]));
        let constant = c.unfinished ? -c.unfinished * coupling : 0;
        if (part === "conflict" && dispersion > 0) constant += c.conflict * dispersion;
        if (part === "noise") constant += c.noise;
        for (let i = 0; i < T; i++) {
          let added = constant;
          if (part === "gaps") {
            let distance = 0;
            c.tasks.forEach((j, a) => (distance += c.shares[a] * gaps[j][i]));
            added += c.replaced * (distance - dispersion) + c.unfinished * dispersion;
          }
          if (learned[i]) lost[part][i] = c.retained * lost[part][i] + (added - c.replaced * first[part][i]);
          values[i] = (c.retained > 0 ? c.retained * values[i] : 0) + added;
        }
      }
      for (const j of c.tasks) {
        if (!learned[j]) {
          learned[j] = s + 1;
          for (const part of PARTS) first[part][j] = now[part][j];
        }
      }
      errors.push(total(now));
      forgetting.push(total(lost));
      const old = [...learned.keys()].filter((i) => learned[i] > 0 && learned[i] <= s);
      curve.push(old.length ? old.reduce((sum, i) => sum + forgetting[s + 1][i], 0) / old.length : NaN);
      last = old;
    }
    const terms = { F: {}, G: {} };
    for (const part of PARTS) {
      terms.F[part] = last.length ? last.reduce((sum, i) => sum + lost[part][i], 0) / last.length : NaN;
      terms.G[part] = now[part].reduce((sum, x) => sum + x, 0) / T;
    }
    const G = errors[samples.length].reduce((sum, x) => sum + x, 0) / T;
    return { errors, forgetting, curve, F: curve[curve.length - 1], G, terms, learned };
  }

  /** F and G as `expect` has them, without parts and matrices: for curves of a hundred points. */
  function totals(problem, samples, learner = learners.MINIMUM_NORM) {
    const { T, gaps, start, p, variance } = problem;
    const errors = Float64Array.from(start);
    const lost = zeros(T);
    const first = zeros(T);
    const learned = new Int32Array(T);
    for (let s = 0; s < samples.length; s++) {
      const c = step(samples[s], p, variance, learner);
      let dispersion = 0;
      let coupling = 0;
      for (let a = 0; a < c.tasks.length; a++) {
        const row = gaps[c.tasks[a]];
        coupling += c.shares[a] * errors[c.tasks[a]];
        for (let b = a + 1; b < c.tasks.length; b++) dispersion += c.shares[a] * c.shares[b] * row[c.tasks[b]];
      }
      const constant = c.noise + (dispersion > 0 ? c.conflict * dispersion : 0) + c.unfinished * (dispersion - coupling);
      const distances = zeros(T);
      for (let a = 0; a < c.tasks.length; a++) {
        const row = gaps[c.tasks[a]];
        for (let i = 0; i < T; i++) distances[i] += c.shares[a] * row[i];
      }
      for (let i = 0; i < T; i++) {
        const added = constant + c.replaced * (distances[i] - dispersion);
        if (learned[i]) lost[i] = c.retained * lost[i] + (added - c.replaced * first[i]);
        errors[i] = (c.retained > 0 ? c.retained * errors[i] : 0) + added;
      }
      for (const j of c.tasks) {
        if (!learned[j]) {
          learned[j] = s + 1;
          first[j] = errors[j];
        }
      }
    }
    let F = 0;
    let count = 0;
    for (let i = 0; i < T; i++) {
      if (learned[i] > 0 && learned[i] < samples.length) {
        F += lost[i];
        count += 1;
      }
    }
    return { F: count ? F / count : NaN, G: errors.reduce((sum, x) => sum + x, 0) / T };
  }

  /** One task per step, in the given order. */
  function sequential(n, order) {
    return order.map((t) => n.map((count, j) => (j === t ? count : 0)));
  }

  /** One task per step with `memory` fresh samples of every old task. */
  function replay(n, order, memory) {
    return order.map((t, place) => {
      const old = new Set(order.slice(0, place));
      return n.map((count, j) => (j === t ? count : old.has(j) ? memory : 0));
    });
  }

  return { fromGram, step, expect, totals, sequential, replay, PARTS };
})();
