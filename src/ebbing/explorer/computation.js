"use strict";
/*
 * What the page shows of one problem. The numbers come at once, the curves point by point, so that no frame takes long.
 * Ridge and early stopping take an integral per step: numbers and curves are rough first, and have all digits when the
 * controls rest.
 */
class Computation {
  static PATIENCE = 5000; // milliseconds for the digits of curves
  static WHOLE = 9; // points from which on a curve is worth drawing

  /** The learner that gives the first numbers of a problem: a quick one where the exact one takes an integral of many eigenvalues. */
  static firstLearner({ learner, p }, sizes) {
    return learners.isSlow(learner) && sizes.some((N) => Math.min(N, p) > wishart.QUICK) ? { ...learner, quick: true } : learner;
  }

  /** The numbers of samples in the steps of a problem, with its old data and without. */
  static sizesOf(problem) {
    return [...new Set([...problems.batchSizes(problem), ...problems.batchSizes(problem, 0)])];
  }

  /** Prepares what the constructor takes: a generator, which stops after each piece of work. */
  static *prepare(problem) {
    const sizes = Computation.sizesOf(problem);
    const learner = Computation.firstLearner(problem, sizes);
    for (const N of sizes) yield* learners.prepare(N, problem.p, learner);
  }

  /** Throws problems.Complaint if there is no expectation to show. */
  constructor(problem) {
    this.problem = problem;
    this.hasSpread = deviations.isKnown(problem.learner);
    this.quick = { ...problem, learner: { ...problem.learner, quick: true } };
    this.slow = learners.isSlow(problem.learner);
    this.curve = new Map();
    this.replay = new Map();
    this.coarse = { curve: new Set(), replay: new Set() }; // points of which four digits are known
    this.std = problems.spread(problem, {});
    const learner = Computation.firstLearner(problem, Computation.sizesOf(problem));
    this.isRough = learner !== problem.learner;
    this.#evaluate({ ...problem, learner });
    this.isDone = false;
    this.isRefining = false;
    this.patience = Computation.PATIENCE;
    this.pieces = this.#pieces();
  }

  /** Compute for some milliseconds, at least one piece of work. Throws problems.Complaint if there is no expectation after all. */
  work(milliseconds) {
    const began = performance.now();
    do {
      if (this.pieces.next().done) this.isDone = true;
    } while (!this.isDone && performance.now() - began < milliseconds);
    if (this.isRefining) this.patience -= performance.now() - began;
    if (this.isRefining && this.patience <= 0) this.isDone = true;
  }

  /** Whether a curve has points enough to be drawn. */
  isWhole(which) {
    return this.isDone || this[which].size >= Computation.WHOLE;
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

  /** The numbers of the problem, and its point on both curves. */
  #evaluate(problem) {
    const evaluated = knownOr(() => ({ result: problems.evaluate(problem), without: problem.memory ? problems.totals(problem, { memory: 0 }) : null }), (error) => {
      throw new problems.Complaint(`Not known here: ${error.message}.`);
    });
    Object.assign(this, evaluated);
    const here = { F: this.result.F, G: this.result.G, std: this.std };
    this.curve.set(problem.p, here);
    this.replay.set(problem.memory, here);
  }

  /** All the work, in pieces: whole curves, the digits of the numbers, finer curves, the digits of the curves. */
  *#pieces() {
    const { problem } = this;
    const most = Math.max(...problem.n);
    const memories = problem.learner.name === "one-pass-sgd" ? [0] : [...new Set(Array.from({ length: 41 }, (_, i) => Math.round((most * i) / 40)))];
    const stride = this.slow || problem.T > 12 ? 2 : 1;
    const points = inTurn(
      coarseFirst(sizesToShow(problem), stride).map((p) => ["curve", p]),
      coarseFirst(memories, this.slow && problem.T > 8 ? 4 : stride).map((memory) => ["replay", memory]),
    );
    const early = 2 * Computation.WHOLE;
    for (const [which, value] of points.slice(0, early)) yield* this.#point(which, value, this.quick);
    if (this.isRough) {
      for (const N of Computation.sizesOf(problem)) yield* learners.prepare(N, problem.p, problem.learner);
      this.isRough = false;
      this.#evaluate(problem);
      yield;
    }
    for (const [which, value] of points.slice(early)) yield* this.#point(which, value, this.quick);
    this.isRefining = true;
    const again = (which) => [...this.coarse[which]].map((value) => [which, value]);
    for (const [which, value] of inTurn(again("curve"), again("replay"))) yield* this.#point(which, value, problem);
  }

  /** A point of a curve. It is coarse if only four digits of it are computed. */
  *#point(which, value, problem) {
    const isHere = value === (which === "curve" ? problem.p : problem.memory);
    if (isHere) return; // it comes with the numbers
    const memory = which === "replay" ? value : problem.memory;
    const p = which === "curve" ? value : problem.p;
    let most = 0;
    if (this.slow) {
      for (const N of problems.batchSizes(problem, memory)) {
        most = Math.max(most, Math.min(N, p));
        yield* learners.prepare(N, p, problem.learner);
      }
    }
    this[which].set(value, knownOr(
      () => ({ ...problems.totals(problem, { memory, p }), std: problems.spread(problem, { memory, p }) }),
      () => ({ F: NaN, G: NaN, std: null }),
    ));
    if (problem.learner.quick && most > wishart.QUICK) this.coarse[which].add(value);
    else this.coarse[which].delete(value);
    yield;
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
