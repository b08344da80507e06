"use strict";
/*
 * Expected traces E tr phi(X'X) of a real Wishart matrix, X (N, p) standard normal: what ridge and early stopping need.
 * ebbing.theory._wishart has the formulas and their derivation; this is the same quadrature of the same exact density.
 * An integral with many eigenvalues takes longer than a frame: it is computed by generators, which stop after each piece
 * of work and go on when they are asked to.
 */
const wishart = (() => {
  const { panels, cumulative, stirling, logFactorial, minusLog1p } = quadrature;
  const EXACT = 600; // eigenvalues up to which the exact density is used at once
  const LARGEST = 6000;
  const TOLERANCE = 3e-11;
  const MARGIN = 10; // roots of eigenvalues further than this from the others are rare
  const SIZES = [
    [50, 60, 72, 90, 116, 160, 240, 400],
    [150, 180, 216, 270, 350, 480, 720, 1200],
    [400, 480, 600, 760, 1000, 1400, 2000, 3200],
  ];
  const QUICK_SIZES = [16, 22, 30, 42]; // for points of a curve: four digits are more than a picture shows
  const QUICK_TOLERANCE = 1e-4;
  const PIECE = 30_000; // steps of a recurrence between two stops, some tenths of a millisecond

  class Unknown extends Error {}

  /** sqrt(x), x - alpha and weights for integrals over sqrt(x), fine enough for k eigenvalues. */
  function rootsOfEigenvalues(k, alpha) {
    const n = k + alpha;
    const low = Math.sqrt(n) - Math.sqrt(k) - MARGIN;
    const high = Math.sqrt(n) + Math.sqrt(k) + MARGIN;
    const count = Math.max(8, Math.ceil(((high - Math.max(low, 0)) * (Math.sqrt(k) + 2)) / 4));
    const linear = (a, b) => Array.from({ length: count + 1 }, (_, i) => (i === count ? b : a + (i * (b - a)) / count));
    if (low > 1) {
      const middle = Math.sqrt(alpha);
      const { x, weights } = panels(linear(low - middle, high - middle));
      return { root: x.map((o) => middle + o), excess: x.map((o) => o * (2 * middle + o)), weights };
    }
    const edges = linear(0, high);
    const fine = Array.from({ length: 40 }, (_, i) => edges[1] * 0.5 ** (40 - i)); // toward zero, where phi may vary
    const { x, weights } = panels([0, ...fine, ...edges.slice(1)]);
    return { root: x, excess: x.map((o) => o * o - alpha), weights };
  }

  /** The function log psi_0 of x - alpha and sqrt(x). */
  function logPsi0Of(alpha) {
    if (alpha >= 50) return (excess) => (-alpha * minusLog1p(excess / alpha) - Math.log(2 * Math.PI * alpha) / 2 - stirling(alpha)) / 2;
    const factorial = logFactorial(alpha);
    return (excess, root) => {
      const log = (alpha * Math.log(root * root) - root * root - factorial) / 2;
      return Number.isNaN(log) ? -root * root / 2 - factorial / 2 : log; // 0 log 0
    };
  }

  const spectra = new Map();

  /** Points and weights such that E tr phi = sum of weights phi(points), for k eigenvalues; alpha = |N - p|. */
  function* spectrum(k, alpha) {
    const key = `${k} ${alpha}`;
    if (spectra.has(key)) return spectra.get(key);
    if (spectra.size >= 400) spectra.clear();
    const { root, excess, weights } = rootsOfEigenvalues(k, alpha);
    const size = root.length;
    const logPsi0 = logPsi0Of(alpha);
    const logs = root.map((r, i) => logPsi0(excess[i], r));
    const first = cumulative(logs.map((x) => 2 * Math.exp(x)), weights);
    yield;
    const b = Float64Array.from({ length: k + 1 }, (_, m) => Math.sqrt(m * (m + alpha)));
    const inverse = b.map((value) => 1 / value);
    let odd = 0;
    if (k % 2) {
      let sum = 0;
      for (let m = 1; m < k - 1; m += 2) sum += Math.log(b[m] / b[m + 1]);
      odd = Math.exp(-sum) / first.whole;
    }
    const x = root.map((r) => r * r);
    const found = new Float64Array(size);
    const recurrence = { k, b, inverse, odd };
    const together = Math.max(1, Math.floor(PIECE / k));
    let total = 0;
    for (let i = 0; i < size; i++) {
      const e = k % 2 === 0 ? first.upto[i] - first.whole / 2 : 0;
      found[i] = weights[i] * 2 * root[i] * densityAt(root[i], excess[i], logs[i], e, recurrence);
      total += found[i];
      if (i % together === together - 1) yield;
    }
    for (let i = 0; i < size; i++) found[i] *= k / total; // the density integrates to k
    const result = { x, weights: found };
    spectra.set(key, result);
    return result;
  }

  /** The density of eigenvalues at root^2, from log psi_0 and the integral e of psi_0 there. */
  function densityAt(root, excess, log, e, { k, b, inverse, odd }) {
    let power = Math.exp(log); // kept apart: psi_0 may be as small as exp(-10^4) where psi_k is not
    let before = 0;
    let now = 1;
    let density = 0;
    for (let m = 0; m < k - 1; m++) {
      const value = now * power;
      density += value * value;
      if ((k - m) & 1) e = (b[m] * e - 2 * root * value) * inverse[m + 1];
      const next = ((excess - (2 * m + 1)) * now - b[m] * before) * inverse[m + 1];
      before = now;
      now = next;
      if ((m & 7) === 7 && Math.abs(now) > 1e100) {
        before *= 1e-100;
        now *= 1e-100;
        log += Math.log(1e100);
        power = Math.exp(log);
      }
    }
    return density + (now * power * ((b[k - 1] / 2) * e + odd)) / root;
  }

  /** Sums of several functions over points. */
  function* sums(phi, x, weights, scale) {
    const values = new Float64Array(6);
    const total = new Float64Array(6);
    for (let i = 0; i < x.length; i++) {
      phi(scale * x[i], values);
      for (let f = 0; f < 6; f++) total[f] += weights[i] * values[f];
      if (i % 4000 === 3999) yield;
    }
    return total;
  }

  function* trace(phi, k, alpha, scale = 1) {
    const { x, weights } = yield* spectrum(k, alpha);
    const total = yield* sums(phi, x, weights, scale);
    if (!phi.growth) return total;
    const found = (yield* rareTraces(phi.growth, k, alpha, scale)).map((rare, f) => rare + total[f]);
    if (!found.every(Number.isFinite)) throw new Unknown("eigenvalues that hardly ever occur make the expectation too large to compute");
    return found;
  }

  /** log I_m, m even. */
  function logIntegral(m, alpha) {
    const z = alpha / 2;
    let log = Math.log(4 * Math.PI) / 2 + (z < 25
      ? logFactorial(z + 0.5) - Math.log(z + 0.5) - logFactorial(z)
      : z * Math.log1p(-0.5 / z) + 0.5 - Math.log(z) / 2 + stirling(z - 0.5) - stirling(z));
    for (let i = 1; i < m; i += 2) log += Math.log(((i / (i + 1)) * (i + alpha)) / (i + 1 + alpha));
    return log / 2;
  }

  /** The logarithm of the density of roots sqrt(alpha) + offset of eigenvalues, beyond all others. */
  function logTail(k, alpha, offset) {
    const excess = offset * (2 * Math.sqrt(alpha) + offset);
    let log = logPsi0Of(alpha)(excess, Math.sqrt(alpha) + offset);
    let before = 0;
    let now = 1;
    for (let m = 0; m < k - 1; m++) {
      const next = ((excess - (2 * m + 1)) * now - Math.sqrt(m * (m + alpha)) * before) / Math.sqrt((m + 1) * (m + 1 + alpha));
      before = now;
      now = next;
      if (now > 1e100) {
        before *= 1e-100;
        now *= 1e-100;
        log += Math.log(1e100);
      }
    }
    const c = k % 2 ? -logIntegral(k - 1, alpha) : Math.log((k - 1) * (k - 1 + alpha)) / 2 + logIntegral(k - 2, alpha) - Math.log(4);
    return Math.log(now) + log + c + Math.log(2);
  }

  /** What rare eigenvalues add for gradient steps, which diverge along them: ebbing.theory._rare_eigenvalues. */
  function* rareTraces({ rate, steps }, k, alpha, scale) {
    const eta = rate * scale;
    const zero = Math.sqrt(alpha);
    const edge = Math.sqrt(k + alpha) + Math.sqrt(k);
    const start = edge + MARGIN;
    const maximum = (power, zeros) => {
      let low = Math.max(1 / eta, zeros);
      let high = low + 2 * power + 2 * (k - 1) + alpha;
      for (let round = 0; round < 60; round++) {
        const x = (low + high) / 2;
        if ((2 * power) / (x - 1 / eta) + (2 * (k - 1)) / (x - zeros) + alpha / x > 1) low = x;
        else high = x;
      }
      return Math.sqrt(high);
    };
    const low = Math.max(start, maximum(steps, 0));
    const high = Math.max(start, maximum(2 * steps, edge ** 2));
    const found = new Float64Array(6);
    let largest = -Infinity;
    for (let root = low; root < high + 1; root++) {
      const growth = 2 * steps * Math.log(Math.max(Math.abs(1 - eta * root * root), 1));
      largest = Math.max(largest, logTail(k, alpha, root - zero) + growth);
      yield;
    }
    if (largest < -1000) return found;
    if (largest > 750) return found.fill(Infinity);
    const first = Math.max(start, low - MARGIN);
    const count = Math.floor((high + MARGIN - first) / 0.5) + 1;
    const { x: offsets, weights } = panels(Array.from({ length: count + 1 }, (_, i) => first - zero + (i * (high + MARGIN - first)) / count));
    const together = Math.max(1, Math.floor(PIECE / k));
    for (let i = 0; i < offsets.length; i++) {
      const x = alpha + offsets[i] * (2 * zero + offsets[i]);
      const left = 1 - eta * x;
      const log = logTail(k, alpha, offsets[i]) + Math.log(weights[i]);
      const power = steps * Math.log(Math.abs(left));
      const none = Math.exp(log);
      const once = (left < 0 && steps % 2 ? -1 : 1) * Math.exp(log + power);
      const twice = Math.exp(log + 2 * power);
      const square = none - 2 * once + twice;
      [none - once, once, once - twice, square, square / (scale * x), (rate * steps * (once - twice)) / left].forEach((value, f) => {
        found[f] += value;
      });
      if (i % together === together - 1) yield;
    }
    return found;
  }

  /** k times the integral of phi over the Marchenko-Pastur law of k eigenvalues. */
  function* marchenkoPastur(phi, k, alpha) {
    const n = k + alpha;
    const { x: angle, weights } = panels([0, ...Array.from({ length: 60 }, (_, i) => Math.PI * 0.5 ** (59 - i))]);
    const lower = (alpha / (Math.sqrt(n) + Math.sqrt(k))) ** 2;
    const width = 2 * Math.sqrt(n * k);
    const x = angle.map((a) => lower + 2 * width * Math.sin(a / 2) ** 2);
    return yield* sums(phi, x, weights.map((w, i) => (w * (width * Math.sin(angle[i])) ** 2) / (2 * Math.PI * x[i])), 1);
  }

  const lagrange = (nodes, at) =>
    nodes.map((a, i) => nodes.reduce((product, b, j) => (i === j ? product : (product * (at - b)) / (a - b)), 1));

  const mixed = (weights, rows) => Float64Array.from(rows[0], (_, f) => weights.reduce((sum, w, i) => sum + w * rows[i][f], 0));

  /** The traces by interpolation in 1/k, and their estimated error, relative to them or to scales of some. */
  function* interpolated(phi, k, alpha, sizes, scales = null) {
    const known = [yield* marchenkoPastur(phi, k, alpha)];
    for (const j of sizes) known.push((yield* trace(phi, j, (alpha * j) / k, k / j)).map((v) => v * (k / j)));
    const at = [0, ...sizes.map((j) => 1 / j)];
    const value = mixed(lagrange(at, 1 / k), known);
    const fewer = mixed(lagrange(at.slice(0, -1), 1 / k), known.slice(0, -1));
    const other = mixed(lagrange(at.filter((_, i) => i !== 1), 1 / k), known.filter((_, i) => i !== 1));
    const error = Math.max(...value.map((v, f) => Math.max(Math.abs(v - fewer[f]), Math.abs(v - other[f])) / (scales?.[f] ?? Math.abs(v))));
    return { value, error };
  }

  /**
   * E tr phi over the nonzero eigenvalues, for six functions at once: phi(s, values) fills their values.
   * To ten digits at least; if `quick`, to four, of the first three relative to k.
   * A generator: it stops after each piece of work.
   */
  function* traces(phi, N, p, quick = false) {
    const k = Math.min(N, p);
    const alpha = Math.abs(N - p);
    if (quick && k > Math.max(...QUICK_SIZES)) {
      const { value, error } = yield* interpolated(phi, k, alpha, QUICK_SIZES, [k, k, k]);
      if (error < QUICK_TOLERANCE) return value;
    }
    if (k <= EXACT) return yield* trace(phi, k, alpha);
    for (const sizes of SIZES) {
      if (Math.max(...sizes) > k) break;
      const { value, error } = yield* interpolated(phi, k, alpha, sizes);
      if (error < TOLERANCE) return value;
    }
    if (k <= LARGEST) return yield* trace(phi, k, alpha);
    throw new Unknown("the eigenvalues next to zero would leave too large an error");
  }

  return { traces, Unknown, QUICK: Math.max(...QUICK_SIZES) };
})();
