"use strict";
/*
 * Exact standard deviations of F and G of one run, for steps that learn fresh samples of any tasks to the end or averaged:
 * ebbing.theory._mixture_covariance, in the same letters. Of other learners they are not known.
 */
const deviations = (() => {
  const isKnown = (learner) => learner.name === "minimum-norm" || learner.name === "averaged";

  /** The largest of the lengths that errors are made of: all else is measured in it. */
  function unitOf({ start, gaps }, steps) {
    let unit = 0;
    for (const row of [start, ...gaps]) for (const x of row) unit = Math.max(unit, x);
    for (const { noise } of steps) if (Number.isFinite(noise)) unit = Math.max(unit, noise);
    return unit || 1;
  }

  /** <g_i, g_j> with g_i = w*_i - c, c the mean ground truth of a step (rows of T), and the dispersion around it. */
  function products({ tasks, shares }, gaps, T) {
    const lengths = new Float64Array(T);
    tasks.forEach((j, a) => { for (let i = 0; i < T; i++) lengths[i] += shares[a] * gaps[j][i]; });
    let dispersion = 0;
    tasks.forEach((j, a) => (dispersion += (shares[a] * lengths[j]) / 2));
    for (let i = 0; i < T; i++) lengths[i] -= dispersion;
    if (tasks.length === 1) lengths[tasks[0]] = 0;
    const K = Array.from({ length: T }, (_, i) => {
      const row = new Float64Array(T);
      for (let j = 0; j < T; j++) row[j] = (lengths[i] + lengths[j] - gaps[i][j]) / 2;
      return row;
    });
    return { K, dispersion };
  }

  /** a[s][i]: what the randomness of step s adds to F per unit of the error on task i. */
  function weightsOf(steps, first, T) {
    const S = steps.length;
    const counted = Array.from({ length: T }, (_, i) => first[i] > 0 && first[i] < S);
    const number = Math.max(counted.filter(Boolean).length, 1);
    const kept = Array.from({ length: T }, (_, i) => Float64Array.from({ length: T }, (_, j) => (i === j ? 1 : 0))); // e_i'M..M
    const lost = Array.from({ length: T }, () => new Float64Array(T)); // e_i'(M..M - I), a sum of M - I
    const waiting = new Float64Array(T); // the sum of those whose first step is still to come, backward
    const weights = [];
    for (let s = S; s >= 1; s--) {
      const { retained, replaced, unfinished, tasks, shares } = steps[s - 1];
      const row = new Float64Array(T);
      for (let i = 0; i < T; i++) {
        if (!counted[i] || first[i] > s) continue;
        const into = first[i] === s ? waiting : row;
        const from = first[i] === s ? lost[i] : kept[i];
        for (let j = 0; j < T; j++) into[j] += from[j];
      }
      weights[s - 1] = row.map((x, j) => (x + waiting[j]) / number);
      for (const values of [...kept, ...lost, waiting]) {
        const sum = unfinished ? values.reduce((total, x) => total + x, 0) : 0;
        for (let j = 0; j < T; j++) values[j] *= retained;
        if (unfinished) tasks.forEach((j, a) => (values[j] -= sum * unfinished * shares[a]));
      }
      for (let i = 0; i < T; i++) {
        lost[i][i] -= replaced;
        if (unfinished) tasks.forEach((j, a) => (lost[i][j] -= unfinished * shares[a]));
      }
    }
    return weights;
  }

  /** a - b, and zero where that is below rounding: a remainder of 1e-16 would be 1e-8 in a deviation. */
  const difference = (a, b) => (Math.abs(a - b) <= 4 * Number.EPSILON * (Math.abs(a) + Math.abs(b)) ? 0 : a - b);

  /** E Cov(L' | L) of a step, for the means and covariances of the errors before, without what is infinite. */
  function fresh(step, mean, C, { p, weight, T }) {
    const { tasks, counts, shares, N, K, dispersion } = step;
    const b = 1 - weight;
    const Cs = new Float64Array(T); // Cov(L_i, |x|^2)
    let between = 0; // Var |x|^2
    let length = -dispersion; // E |x|^2
    tasks.forEach((j, a) => {
      length += shares[a] * mean[j];
      for (let i = 0; i < T; i++) Cs[i] += shares[a] * C[i][j];
    });
    tasks.forEach((j, a) => (between += shares[a] * Cs[j]));
    const along = mean.map((m, i) => (length + K[i][i] - m) / 2); // E <x, g_i>
    const covAlong = (i, j) => (between - Cs[i] - Cs[j] + C[i][j]) / 4; // Cov(<x, g_i>, <x, g_j>)
    const spread = p > N ? (2 * (N / p) * ((p - N) / p)) / (p + 2) : 0;
    const transverse = p > N ? ((N / p) * ((p - N) / (p - 1))) / (p + 2) : 0;
    const u = mean.map((m, i) => b * length + m - K[i][i]);
    const random = step.random ? disturbance(step, { length, along, covAlong, b, p, T }) : null;
    const total = Array.from({ length: T }, () => new Float64Array(T));
    for (let i = 0; i < T; i++) {
      const Ki = K[i];
      for (let j = 0; j <= i; j++) {
        let value = 0;
        if (spread) {
          value += spread * (u[i] * u[j] + C[i][j] + b * (Cs[i] + Cs[j]) + b * b * between);
          value += 4 * transverse * (difference(length * Ki[j], along[i] * along[j]) - covAlong(i, j));
          value *= weight * weight;
        }
        if (random) {
          const shifted = Ki[j] - b * (along[i] + along[j]) + b * b * length;
          let H = random.spread;
          for (let k = 0; k < tasks.length; k++) H += counts[k] * random.toward[k][i] * random.toward[k][j];
          value += 4 * weight ** 2 * (random.even * shifted + random.along * H) + weight ** 4 * random.constant - 2 * weight ** 3 * (random.q[i] + random.q[j]);
        }
        total[i][j] = total[j][i] = value;
      }
    }
    return total;
  }

  /** What disagreement and noise add to the covariances of a step. */
  function disturbance({ tasks, counts, N, K, dispersion, variance }, { length, along, covAlong, b, p, T }) {
    const m = moments(N, p);
    const D1 = N * dispersion;
    let S1 = 0;
    let S2 = 0;
    let D2 = 0;
    let D3 = 0;
    let mixed = 0;
    let xHx = 0;
    let spread = 0;
    tasks.forEach((j, a) => {
      const square = K[j][j];
      S1 += counts[a] * variance[j];
      S2 += counts[a] * variance[j] ** 2;
      D2 += counts[a] * square ** 2;
      mixed += counts[a] * variance[j] * square;
      spread += counts[a] * covAlong(j, j);
      xHx += counts[a] * along[j] ** 2;
      tasks.forEach((i, k) => (D3 += counts[a] * counts[k] * K[j][i] ** 2));
    });
    xHx += spread;
    const toward = tasks.map((j) => Float64Array.from({ length: T }, (_, i) => K[j][i] - b * along[j])); // <h_k, g_i - b x>
    const q = Float64Array.from({ length: T }, (_, i) => {
      let xHg = -b * xHx;
      let third = 0;
      tasks.forEach((j, a) => {
        xHg += counts[a] * along[j] * K[j][i];
        third += counts[a] * (m.third * K[j][j] + m.thirdNoise * variance[j]) * toward[a][i];
      });
      return 2 * m.shared * ((D1 / p) * (along[i] - b * length) - xHg) + third;
    });
    const constant =
      m.dd * D1 ** 2 + m.fourth * D2 + m.crossed * D3 + m.ds * D1 * S1 + m.both * mixed + m.ss * S1 ** 2 + m.noisy * S2 +
      4 * m.shared * ((length * D1) / p - xHx);
    return { toward, q, constant, even: m.even * D1 + m.evenNoise * S1, along: m.along, spread: b * b * spread };
  }

  /** The standard deviations {F, G} for samples[s][j] of task j in step s; infinite where they are. */
  function of(problem, samples, learner) {
    const { T, p } = problem;
    const steps = samples.map((counts) => ({ ...engine.step(counts, p, problem.variance, learner), samples: counts }));
    const unit = unitOf(problem, steps);
    const gaps = problem.gaps.map((row) => row.map((x) => x / unit));
    const variance = problem.variance.map((x) => x / unit);
    const first = new Int32Array(T);
    steps.forEach(({ tasks }, s) => tasks.forEach((j) => { first[j] ||= s + 1; }));
    const weights = weightsOf(steps, first, T);
    const weight = learner.name === "averaged" ? learner.weight : 1;
    let mean = problem.start.map((x) => x / unit);
    let C = Array.from({ length: T }, () => new Float64Array(T));
    let F = 0;
    let infinite = false;
    let everInfinite = false;
    steps.forEach((c, s) => {
      const { tasks, shares, retained, replaced, unfinished } = c;
      const counts = tasks.map((j) => c.samples[j]);
      const N = counts.reduce((sum, count) => sum + count, 0);
      const { K, dispersion } = products(c, gaps, T);
      const noisy = tasks.some((j) => variance[j] > 0);
      const disturbed = noisy || dispersion > 0;
      const here = (noisy || (dispersion > 0 && p > 1)) && Math.abs(p - N) <= 3;
      const step = { tasks, counts, shares, N, K, dispersion, variance, random: disturbed && !here };
      const added = fresh(step, mean, C, { p, weight, T });
      const a = weights[s];
      for (let i = 0; i < T; i++) if (a[i]) for (let j = 0; j < T; j++) F += a[i] * added[i][j] * a[j];
      const taken = new Float64Array(T); // unfinished Cov(L_i, |x|^2)
      let both = 0;
      let coupling = 0;
      if (unfinished) {
        tasks.forEach((j, k) => { for (let i = 0; i < T; i++) taken[i] += unfinished * shares[k] * C[i][j]; });
        tasks.forEach((j, k) => {
          both += unfinished * shares[k] * taken[j];
          coupling += shares[k] * mean[j];
        });
      }
      const before = C;
      C = added;
      for (let i = 0; i < T; i++) {
        for (let j = 0; j < T; j++) C[i][j] += retained * retained * before[i][j] - retained * (taken[i] + taken[j]) + both;
      }
      infinite = here || (infinite && retained > 0);
      everInfinite ||= here && a.some((x) => x !== 0);
      const finite = (x) => (Number.isFinite(x) ? x : 0); // what is infinite is said by the flags
      const constant = finite(c.noise / unit) + (dispersion > 0 ? finite(c.conflict) * dispersion : 0) + unfinished * (dispersion - coupling);
      mean = mean.map((m, i) => retained * m + replaced * K[i][i] + constant);
    });
    let G = 0;
    for (const row of C) for (const x of row) G += x;
    return {
      F: everInfinite ? Infinity : unit * Math.sqrt(Math.max(F, 0)),
      G: infinite ? Infinity : (unit * Math.sqrt(Math.max(G, 0))) / T,
    };
  }

  return { of, isKnown };
})();
