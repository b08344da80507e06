"use strict";
/*
 * What one step of N samples does to any error, for every learner of ebbing.learners: the coefficients of
 * ebbing.theory._step_rates. A learner is {name, ...its numbers}: {name: "ridge", penalty: 2}.
 */
const learners = (() => {
  /** Fills f, 1 - f, f (1 - f), f^2, f^2/s and f f' of an eigenvalue s, each without cancellation. */
  const FILTERS = {
    ridge: ({ penalty }) => (s, values) => fill(values, s, s / (s + penalty), penalty / (s + penalty), penalty / (s + penalty) ** 2),
    "gradient-flow": ({ time }) => (s, values) => fill(values, s, -Math.expm1(-time * s), Math.exp(-time * s), time * Math.exp(-time * s)),
    "gradient-steps": ({ rate, steps }) => (s, values) => {
      const x = rate * s;
      const f = x < 0.5 ? -Math.expm1(steps * Math.log1p(-x)) : 1 - (1 - x) ** steps;
      fill(values, s, f, (1 - x) ** steps, rate * steps * (1 - x) ** (steps - 1));
    },
  };

  function fill(values, s, f, left, slope) {
    values[0] = f;
    values[1] = left;
    values[2] = f * left;
    values[3] = f * f;
    values[4] = (f * f) / s;
    values[5] = f * slope;
  }

  /** Minimum norm: to the nearest weights that fit. Infinite for |p - N| <= 1. */
  function toTheEnd(N, p) {
    const over = N < p;
    const slack = Math.abs(p - N) - 1;
    let conflict = 0;
    if (N > 1) {
      if (over) conflict = slack > 0 ? (N / p) * ((p - 1) / slack) : Infinity;
      else if (p === 1) conflict = 2 / (N + 2);
      else {
        const top = (N / (N - 1)) * (p + 1) - (p + 5 - (2 * (p + 1)) / N) / (N - 1);
        conflict = slack > 0 ? (top * (N / (N + 2))) / slack : Infinity;
      }
    }
    return {
      retained: over ? (p - N) / p : 0, replaced: over ? N / p : 1, unfinished: 0, conflict,
      noise: slack > 0 ? Math.min(N, p) / slack : Infinity,
    };
  }

  function averaged(N, p, { weight }) {
    const end = toTheEnd(N, p);
    return {
      retained: 1 - weight + weight * end.retained, replaced: weight * end.replaced,
      unfinished: weight * (1 - weight) * end.replaced, conflict: weight * weight * end.conflict,
      noise: weight * weight * end.noise,
    };
  }

  function onePass(N, p, { rate }) {
    const loss = rate * (2 - rate * (p + 2));
    if (!(loss > 0)) throw new wishart.Unknown(`with p = ${p} errors grow from a rate of 2 / (p + 2) = ${(2 / (p + 2)).toPrecision(3)} on`);
    const slow = N * Math.log1p(-rate);
    const fast = N * Math.log1p(-loss);
    return {
      retained: Math.exp(slow), replaced: -Math.expm1(slow), unfinished: Math.exp(slow) * -Math.expm1(fast - slow),
      conflict: 0, noise: (rate * rate * p * -Math.expm1(fast)) / loss,
    };
  }

  function* filtered(N, p, learner) {
    if (learner.name === "gradient-steps") {
      const edge = (Math.sqrt(N) + Math.sqrt(p)) ** 2;
      if (learner.rate * edge > 2) throw new wishart.Unknown(`with N = ${N} samples in a step and p = ${p} gradient steps diverge above a rate of ${(2 / edge).toPrecision(3)}`);
    }
    const filter = FILTERS[learner.name](learner);
    if (learner.name === "gradient-steps") filter.growth = learner; // along rare eigenvalues it grows without bound
    const [f, left, unfinished, square, noise, slope] = yield* wishart.traces(filter, N, p, learner.quick);
    const conflict = N > 1 ? (N * (N - 2 / p) * noise + (4 * N * slope + (N - 2) * square) / p) / ((N - 1) * (N + 2)) : 0;
    return { retained: (p - Math.min(N, p) + left) / p, replaced: f / p, unfinished: unfinished / p, conflict, noise };
  }

  const known = new Map();

  const keyOf = (N, p, { name, penalty, time, rate, steps, quick }) => `${N} ${p} ${name} ${penalty} ${time} ${rate} ${steps} ${quick}`;

  /** Prepares the coefficients of a step whose integral takes longer than a frame: a generator, which stops after each piece. */
  function* prepare(N, p, learner) {
    const key = keyOf(N, p, learner);
    if (!isSlow(learner) || known.has(key)) return;
    if (known.size > 20_000) known.clear();
    try {
      known.set(key, yield* filtered(N, p, learner));
    } catch (error) {
      if (!(error instanceof wishart.Unknown)) throw error;
      known.set(key, error); // said to whom asks for the coefficients
    }
  }

  /**
   * The coefficients of a step with N samples and p parameters, with `noise` and `conflict` per unit of noise variance
   * and of disagreement between the tasks of the step. A learner that is `quick` has four digits of them, for pictures.
   * Throws wishart.Unknown where the expectation is not known.
   */
  function rates(N, p, learner) {
    if (learner.name === "minimum-norm") return toTheEnd(N, p);
    if (learner.name === "averaged") return averaged(N, p, learner);
    if (learner.name === "one-pass-sgd") return onePass(N, p, learner);
    const work = prepare(N, p, learner);
    while (!work.next().done);
    const found = known.get(keyOf(N, p, learner));
    if (found instanceof Error) throw found;
    return found;
  }

  /** Whether a step's coefficients take an integral, so that a picture is computed over several frames. */
  const isSlow = (learner) => learner.name in FILTERS;

  return { rates, prepare, isSlow, MINIMUM_NORM: { name: "minimum-norm" } };
})();
