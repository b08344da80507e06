"use strict";
/*
 * What the page shows of one problem. The numbers come at once, the curves point by point, so that no frame takes long.
 * Ridge and early stopping take an integral per step: curves have four digits first, and all of them when the controls rest.
 */
class Computation {
  static FINEST = 200; // eigenvalues up to which an integral with all digits fits into a frame
  static PATIENCE = 5000; // milliseconds for the digits of curves

  /** Throws problems.Complaint if there is no expectation to show. */
  constructor(problem) {
    this.problem = problem;
    this.result = knownOr(() => problems.evaluate(problem), (error) => {
      throw new problems.Complaint(`Not known here: ${error.message}.`);
    });
    this.hasSpread = deviations.isKnown(problem.learner);
    this.quick = { ...problem, learner: { ...problem.learner, quick: true } };
    this.slow = learners.isSlow(problem.learner);
    this.std = problems.spread(problem, {});
    const here = { F: this.result.F, G: this.result.G, std: this.std };
    this.curve = new Map([[problem.p, here]]);
    this.replay = new Map([[problem.memory, here]]);
    const most = Math.max(...problem.n);
    const memories = problem.learner.name === "one-pass-sgd" ? [0] : Array.from({ length: 41 }, (_, i) => Math.round((most * i) / 40));
    const stride = this.slow || problem.T > 12 ? 2 : 1;
    this.waiting = inTurn(
      coarseFirst([...new Set(memories)], this.slow && problem.T > 8 ? 4 : stride).map((memory) => this.#point("replay", memory)),
      coarseFirst(sizesToShow(problem), stride).map((p) => this.#point("curve", p)),
    );
    this.refined = !this.slow;
    this.patience = Computation.PATIENCE;
    this.coarse = { curve: new Set(), replay: new Set() }; // points of which four digits are known
  }

  get isDone() {
    return this.waiting.length === 0;
  }

  /** Compute for some milliseconds, at least one piece of work: a point, or a step of it that takes an integral. */
  work(milliseconds) {
    const began = performance.now();
    while (this.waiting.length) {
      const point = this.waiting[0];
      const { which, value, problem, memory, p } = point;
      point.sizes ??= this.slow ? problems.batchSizes(problem, memory) : [];
      if (point.sizes.length) knownOr(() => learners.rates(point.sizes.pop(), p, problem.learner), () => null);
      else {
        this.waiting.shift();
        this[which].set(value, knownOr(
          () => ({ ...problems.totals(problem, { memory, p }), std: problems.spread(problem, { memory, p }) }),
          () => ({ F: NaN, G: NaN, std: null }),
        ));
        if (this.refined) this.coarse[which].delete(value);
        else if (point.isCoarse) this.coarse[which].add(value);
      }
      if (performance.now() - began >= milliseconds) break;
    }
    if (this.refined) this.patience -= performance.now() - began;
    if (this.slow && this.patience <= 0) this.waiting = [];
    if (!this.waiting.length && !this.refined) this.#refine();
  }

  /** The points of a curve so far: {x, F, G, Fstd, Gstd}, by ascending x. */
  points(which) {
    const found = [...this[which]].sort((a, b) => a[0] - b[0]);
    const column = (f) => found.map(([, value]) => f(value));
    return {
      x: found.map(([x]) => x), F: column((v) => v.F), G: column((v) => v.G),
      Fstd: column((v) => v.std?.F ?? 0), Gstd: column((v) => v.std?.G ?? 0),
    };
  }

  /** A point to compute. It is coarse if four digits of it are computed at first. */
  #point(which, value, problem = this.quick) {
    const memory = which === "replay" ? value : this.problem.memory;
    const p = which === "curve" ? value : this.problem.p;
    const most = this.slow ? Math.min(Math.max(...problems.batchSizes(problem, memory)), p) : 0;
    return { which, value, problem, memory, p, isCoarse: most > wishart.QUICK, isFine: most <= Computation.FINEST };
  }

  /** Compute coarse points again, with all digits, where that fits into frames. */
  #refine() {
    this.refined = true;
    const again = (which) => [...this.coarse[which]].map((value) => this.#point(which, value, this.problem)).filter((point) => point.isFine);
    this.waiting = inTurn(again("curve"), again("replay"));
  }
}

function knownOr(compute, otherwise) {
  try {
    return compute();
  } catch (error) {
    if (!(error instanceof wishart.Unknown)) throw error;
    return otherwise(error);
  }
}

/** Values in the order 0, 16, 32, ..., then 8, 24, ...: a curve is whole early, and gets finer. Down to a stride. */
function coarseFirst(values, stride) {
  const found = new Set([0, values.length - 1]);
  for (let step = 16; step >= stride; step /= 2) for (let i = 0; i < values.length; i += step) found.add(i);
  return [...found].map((i) => values[i]);
}

/** The points of both curves in turn. */
function inTurn(...lists) {
  const found = [];
  for (let i = 0; i < Math.max(...lists.map((list) => list.length)); i++) {
    for (const list of lists) if (i < list.length) found.push(list[i]);
  }
  return found;
}

/** Numbers of parameters to draw, dense around the threshold p = n. */
function sizesToShow(problem) {
  const largest = Math.max(...problem.n);
  const low = Math.max(problem.rank, 2, Math.round(Math.min(largest / 6, problem.p)));
  const high = Math.max(largest * 40, problem.p * 1.3);
  const found = new Set();
  for (let i = 0; i <= 110; i++) found.add(Math.round(low * (high / low) ** (i / 110)));
  for (const d of [2, 3, 4, 6]) for (const side of [-d, d]) if (largest + side >= low) found.add(largest + side);
  return [...found].sort((a, b) => a - b);
}
