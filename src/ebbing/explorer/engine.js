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

  /** Exact standard deviations of F and G of one run, one task per step in the order of the problem. */
  function deviations(problem, n) {
    const { T, p } = problem;
    let unit = 0;
    for (let i = 0; i < T; i++) {
      unit = Math.max(unit, problem.start[i]);
      for (let j = 0; j < T; j++) unit = Math.max(unit, problem.gaps[i][j]);
    }
    const smaller = n.map((count) => Math.min(count, p));
    const slack = n.map((count) => Math.abs(p - count) - 1);
    const q = n.map((_, t) =>
      problem.variance[t] > 0 ? (slack[t] > 0 ? smaller[t] * (problem.variance[t] / slack[t]) : Infinity) : 0,
    );
    for (const value of q) if (Number.isFinite(value)) unit = Math.max(unit, value);
    unit = unit || 1;
    const start = problem.start.map((x) => x / unit);
    const gaps = problem.gaps.map((row) => row.map((x) => x / unit));
    const retained = n.map((count) => (count < p ? (p - count) / p : 0));
    const replaced = n.map((count) => (count < p ? count / p : 1));
    const weights = forgettingWeights(retained, replaced);
    let mean = Float64Array.from(start);
    let C = Array.from({ length: T }, () => zeros(T));
    let F = 0;
    let infinite = false;
    let everInfinite = false;
    for (let t = 0; t < T; t++) {
      const over = n[t] < p;
      const noise = Number.isFinite(q[t]) ? q[t] / unit : 0;
      const noiseInfinite = problem.variance[t] > 0 && slack[t] <= 2;
      const noiseVariance = problem.variance[t] > 0 && !noiseInfinite
        ? ((problem.variance[t] / slack[t] / unit) ** 2 * 2 * smaller[t] * (Math.max(n[t], p) - 1)) / (slack[t] - 2)
        : 0;
      const spread = over ? (2 * (n[t] / p) * ((p - n[t]) / p)) / (p + 2) : 0;
      const transverse = over ? ((n[t] / p) * ((p - n[t]) / (p - 1))) / (p + 2) : 0;
      const gap = gaps[t];
      const fresh = Array.from({ length: T }, () => zeros(T));
      const next = Array.from({ length: T }, () => zeros(T));
      const now = mean[t];
      const Ct = C[t];
      for (let i = 0; i < T; i++) {
        const ui = mean[i] - gap[i];
        const ai = (now - ui) / 2;
        const Ci = C[i];
        const gapsOfI = gaps[i];
        for (let j = 0; j <= i; j++) {
          const uj = mean[j] - gap[j];
          const aj = (now - uj) / 2;
          const between = (gap[i] + gap[j] - gapsOfI[j]) / 2;
          const along = (Ct[t] - Ct[i] - Ct[j] + Ci[j]) / 4;
          const a = now * between;
          const b = ai * aj;
          const difference = Math.abs(a - b) <= 4 * Number.EPSILON * (Math.abs(a) + Math.abs(b)) ? 0 : a - b;
          const value =
            spread * (ui * uj + Ci[j]) + noiseVariance + 4 * transverse * (difference - along) + 4 * (noise / p) * between;
          fresh[i][j] = fresh[j][i] = value;
          next[i][j] = next[j][i] = retained[t] * retained[t] * Ci[j] + value;
        }
      }
      for (let i = 0; i < T; i++) {
        for (let j = 0; j < T; j++) F += weights[t][i] * fresh[i][j] * weights[t][j];
      }
      C = next;
      infinite = noiseInfinite || (infinite && retained[t] > 0);
      everInfinite = everInfinite || infinite;
      mean = mean.map((m, i) => retained[t] * m + replaced[t] * gap[i] + noise);
    }
    let G = 0;
    for (let i = 0; i < T; i++) for (let j = 0; j < T; j++) G += C[i][j];
    return {
      F: everInfinite ? Infinity : unit * Math.sqrt(Math.max(F, 0)),
      G: infinite ? Infinity : (unit * Math.sqrt(Math.max(G, 0))) / T,
    };
  }

  function forgettingWeights(retained, replaced) {
    const T = retained.length;
    const upto = zeros(T);
    const lostShare = zeros(T); // 1 - prod_{s=i+1..T} r_s
    let toEnd = 1;
    const weights = Array.from({ length: T }, () => zeros(T));
    for (let t = T - 1; t >= 0; t--) {
      if (t < T - 1) {
        for (let i = t + 1; i < T; i++) upto[i] *= retained[t + 1];
        toEnd *= retained[t + 1];
        lostShare[t] = replaced[t + 1] + retained[t + 1] * lostShare[t + 1];
      }
      upto[t] = 1;
      for (let i = 0; i < T - 1; i++) weights[t][i] = (i < t ? toEnd : -upto[i] * lostShare[i]) / Math.max(T - 1, 1);
    }
    return weights;
  }

  /** The problem with its tasks in another order. */
  function reordered(problem, order) {
    return {
      ...problem,
      start: Float64Array.from(order, (i) => problem.start[i]),
      gaps: order.map((i) => Float64Array.from(order, (j) => problem.gaps[i][j])),
      variance: order.map((i) => problem.variance[i]),
    };
  }

  return { fromGram, step, expect, totals, sequential, replay, deviations, reordered, PARTS };
})();
