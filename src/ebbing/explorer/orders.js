"use strict";
/* The best order of a few tasks, among all of them. */
const orders = (() => {
  /**
   * The order of least F or G among all (T <= 8), with `memory` fresh samples of each old task at every step: a search
   * over shared prefixes.
   */
  function best(problem, n, objective, memory = 0, learner = learners.MINIMUM_NORM) {
    const { T, gaps, start, p, variance } = problem;
    let found = { value: Infinity, order: null };
    let worst = -Infinity;
    let sum = 0;
    let count = 0;
    const order = [];
    const used = new Array(T).fill(false);
    const learnedErrors = new Float64Array(T);
    const finish = (errors) => {
      let value = 0;
      for (let i = 0; i < T; i++) {
        if (objective === "generalization") value += errors[i] / T;
        else if (i !== order[T - 1]) value += (errors[i] - learnedErrors[i]) / (T - 1);
      }
      count += 1;
      sum += value;
      worst = Math.max(worst, value);
      if (value < found.value - 1e-13 * Math.abs(value)) found = { value, order: [...order] };
    };
    const visit = (errors) => {
      if (order.length === T) {
        finish(errors);
        return;
      }
      for (let t = 0; t < T; t++) {
        if (used[t]) continue;
        const c = engine.step(n.map((count, j) => (j === t ? count : used[j] ? memory : 0)), p, variance, learner);
        let dispersion = 0;
        let coupling = 0;
        c.tasks.forEach((j, a) => {
          coupling += c.shares[a] * errors[j];
          for (let b = 0; b < a; b++) dispersion += c.shares[a] * c.shares[b] * gaps[j][c.tasks[b]];
        });
        const constant = c.noise + (dispersion > 0 ? c.conflict * dispersion : 0) - c.unfinished * (coupling - dispersion);
        const next = new Float64Array(T);
        for (let i = 0; i < T; i++) {
          let distance = 0;
          for (let a = 0; a < c.tasks.length; a++) distance += c.shares[a] * gaps[c.tasks[a]][i];
          next[i] = (c.retained > 0 ? c.retained * errors[i] : 0) + c.replaced * (distance - dispersion) + constant;
        }
        learnedErrors[t] = next[t];
        used[t] = true;
        order.push(t);
        visit(next);
        order.pop();
        used[t] = false;
      }
    };
    visit(Float64Array.from(start));
    return { ...found, worst, mean: sum / count, orders: count };
  }

  return { best };
})();
