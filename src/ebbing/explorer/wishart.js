"use strict";
/*
 * Expected traces E tr phi(X'X) of a real Wishart matrix, X (N, p) standard normal: what ridge and early stopping need.
 * ebbing.theory._wishart has the formulas and their derivation; this is the same quadrature of the same exact density.
 */
const wishart = (() => {
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
  const ORDER = 16; // nodes of Gauss-Legendre quadrature on a panel

  class Unknown extends Error {}

  /** Legendre polynomials P_0 .. P_degree at x. */
  function legendre(x, degree) {
    const P = [1, x];
    for (let m = 1; m < degree; m++) P.push(((2 * m + 1) * x * P[m] - m * P[m - 1]) / (m + 1));
    return P;
  }

  const NODES = new Float64Array(ORDER);
  const WEIGHTS = new Float64Array(ORDER);
  for (let i = 0; i < ORDER; i++) {
    let x = -Math.cos((Math.PI * (i + 0.75)) / (ORDER + 0.5));
    let slope = 1;
    for (let round = 0; round < 8; round++) {
      const P = legendre(x, ORDER);
      slope = (ORDER * (x * P[ORDER] - P[ORDER - 1])) / (x * x - 1);
      x -= P[ORDER] / slope;
    }
    NODES[i] = x;
    WEIGHTS[i] = 2 / ((1 - x * x) * slope * slope);
  }
  /** INTEGRALS[i][j]: the integral from -1 to node i of the polynomial that is 1 at node j and 0 at the others. */
  const INTEGRALS = Array.from(NODES, (x) => {
    const upto = legendre(x, ORDER);
    const areas = upto.slice(0, ORDER).map((_, m) => (m === 0 ? x + 1 : (upto[m + 1] - upto[m - 1]) / (2 * m + 1)));
    return Float64Array.from(NODES, (node, j) => {
      const P = legendre(node, ORDER - 1);
      return areas.reduce((sum, area, m) => sum + area * ((2 * m + 1) / 2) * WEIGHTS[j] * P[m], 0);
    });
  });

  /** Nodes, weights and half widths of the quadrature on each interval between the edges. */
  function panels(edges) {
    const x = new Float64Array((edges.length - 1) * ORDER);
    const weights = new Float64Array(x.length);
    for (let e = 0; e + 1 < edges.length; e++) {
      const middle = (edges[e + 1] + edges[e]) / 2;
      const half = (edges[e + 1] - edges[e]) / 2;
      for (let i = 0; i < ORDER; i++) {
        x[e * ORDER + i] = middle + half * NODES[i];
        weights[e * ORDER + i] = half * WEIGHTS[i];
      }
    }
    return { x, weights };
  }

  /** The integral of a function up to each node, from its values there, and over all panels. */
  function cumulative(values, weights) {
    const upto = new Float64Array(values.length);
    let whole = 0;
    for (let start = 0; start < values.length; start += ORDER) {
      const half = weights[start] / WEIGHTS[0];
      for (let i = 0; i < ORDER; i++) {
        let sum = 0;
        for (let j = 0; j < ORDER; j++) sum += INTEGRALS[i][j] * values[start + j];
        upto[start + i] = whole + half * sum;
      }
      let sum = 0;
      for (let j = 0; j < ORDER; j++) sum += values[start + j] * WEIGHTS[j];
      whole += half * sum;
    }
    return { upto, whole };
  }

  const stirling = (a) => 1 / (12 * a) - 1 / (360 * a ** 3) + 1 / (1260 * a ** 5) - 1 / (1680 * a ** 7);

  /** log Gamma(a + 1), a >= 0. */
  function logFactorial(a) {
    let product = 1;
    while (a < 50) {
      a += 1;
      product *= a;
    }
    return a * Math.log(a) - a + Math.log(2 * Math.PI * a) / 2 + stirling(a) - Math.log(product);
  }

  /** u - log(1 + u), without cancellation for small u. */
  function minusLog1p(u) {
    if (Math.abs(u) >= 0.05) return u - Math.log1p(u);
    let series = 0;
    for (let j = 16; j > 1; j--) series = series * -u + 1 / j;
    return u * u * series;
  }

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

  /** log psi_0 at x = root^2, excess = x - alpha. */
  function logPsi0(excess, root, alpha) {
    if (alpha >= 50) return (-alpha * minusLog1p(excess / alpha) - Math.log(2 * Math.PI * alpha) / 2 - stirling(alpha)) / 2;
    const log = (alpha * Math.log(root * root) - root * root - logFactorial(alpha)) / 2;
    return Number.isNaN(log) ? -root * root / 2 - logFactorial(alpha) / 2 : log; // 0 log 0
  }

  const spectra = new Map();

  /** Points and weights such that E tr phi = sum of weights phi(points), for k eigenvalues; alpha = |N - p|. */
  function spectrum(k, alpha) {
    const key = `${k} ${alpha}`;
    if (spectra.has(key)) return spectra.get(key);
    if (spectra.size >= 400) spectra.clear();
    const { root, excess, weights } = rootsOfEigenvalues(k, alpha);
    const size = root.length;
    const logs = root.map((r, i) => logPsi0(excess[i], r, alpha));
    const first = cumulative(logs.map((x) => 2 * Math.exp(x)), weights);
    const b = Float64Array.from({ length: k + 1 }, (_, m) => Math.sqrt(m * (m + alpha)));
    const inverse = b.map((value) => 1 / value);
    let odd = 0;
    if (k % 2) {
      let sum = 0;
      for (let m = 1; m < k - 1; m += 2) sum += Math.log(b[m] / b[m + 1]);
      odd = Math.exp(-sum) / first.whole;
    }
    const x = new Float64Array(size);
    const found = new Float64Array(size);
    let total = 0;
    for (let i = 0; i < size; i++) {
      let log = logs[i];
      let power = Math.exp(log); // kept apart: psi_0 may be as small as exp(-10^4) where psi_k is not
      let before = 0;
      let now = 1;
      let e = k % 2 === 0 ? first.upto[i] - first.whole / 2 : 0;
      let density = 0;
      for (let m = 0; m < k - 1; m++) {
        const value = now * power;
        density += value * value;
        if ((k - m) & 1) e = (b[m] * e - 2 * root[i] * value) * inverse[m + 1];
        const next = ((excess[i] - (2 * m + 1)) * now - b[m] * before) * inverse[m + 1];
        before = now;
        now = next;
        if ((m & 7) === 7 && Math.abs(now) > 1e100) {
          before *= 1e-100;
          now *= 1e-100;
          log += Math.log(1e100);
          power = Math.exp(log);
        }
      }
      density += (now * power * ((b[k - 1] / 2) * e + odd)) / root[i];
      x[i] = root[i] * root[i];
      found[i] = weights[i] * 2 * root[i] * density;
      total += found[i];
    }
    for (let i = 0; i < size; i++) found[i] *= k / total; // the density integrates to k
    const result = { x, weights: found };
    spectra.set(key, result);
    return result;
  }

  /** Sums of several functions over points. */
  function sums(phi, x, weights, scale) {
    const values = new Float64Array(6);
    const total = new Float64Array(6);
    for (let i = 0; i < x.length; i++) {
      phi(scale * x[i], values);
      for (let f = 0; f < 6; f++) total[f] += weights[i] * values[f];
    }
    return total;
  }

  function trace(phi, k, alpha, scale = 1) {
    const { x, weights } = spectrum(k, alpha);
    const total = sums(phi, x, weights, scale);
    if (!phi.growth) return total;
    const found = rareTraces(phi.growth, k, alpha, scale).map((rare, f) => rare + total[f]);
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
    let log = logPsi0(excess, Math.sqrt(alpha) + offset, alpha);
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
  function rareTraces({ rate, steps }, k, alpha, scale) {
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
    }
    if (largest < -1000) return found;
    if (largest > 750) return found.fill(Infinity);
    const first = Math.max(start, low - MARGIN);
    const count = Math.floor((high + MARGIN - first) / 0.5) + 1;
    const { x: offsets, weights } = panels(Array.from({ length: count + 1 }, (_, i) => first - zero + (i * (high + MARGIN - first)) / count));
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
    }
    return found;
  }

  /** k times the integral of phi over the Marchenko-Pastur law of k eigenvalues. */
  function marchenkoPastur(phi, k, alpha) {
    const n = k + alpha;
    const { x: angle, weights } = panels([0, ...Array.from({ length: 60 }, (_, i) => Math.PI * 0.5 ** (59 - i))]);
    const lower = (alpha / (Math.sqrt(n) + Math.sqrt(k))) ** 2;
    const width = 2 * Math.sqrt(n * k);
    const x = angle.map((a) => lower + 2 * width * Math.sin(a / 2) ** 2);
    return sums(phi, x, weights.map((w, i) => (w * (width * Math.sin(angle[i])) ** 2) / (2 * Math.PI * x[i])), 1);
  }

  const lagrange = (nodes, at) =>
    nodes.map((a, i) => nodes.reduce((product, b, j) => (i === j ? product : (product * (at - b)) / (a - b)), 1));

  const mixed = (weights, rows) => Float64Array.from(rows[0], (_, f) => weights.reduce((sum, w, i) => sum + w * rows[i][f], 0));

  /** The traces by interpolation in 1/k, and their estimated error, relative to them or to scales of some. */
  function interpolated(phi, k, alpha, sizes, scales = null) {
    const known = [marchenkoPastur(phi, k, alpha), ...sizes.map((j) => trace(phi, j, (alpha * j) / k, k / j).map((v) => v * (k / j)))];
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
   */
  function traces(phi, N, p, quick = false) {
    const k = Math.min(N, p);
    const alpha = Math.abs(N - p);
    if (quick && k > Math.max(...QUICK_SIZES)) {
      const { value, error } = interpolated(phi, k, alpha, QUICK_SIZES, [k, k, k]);
      if (error < QUICK_TOLERANCE) return value;
    }
    if (k <= EXACT) return trace(phi, k, alpha);
    for (const sizes of SIZES) {
      if (Math.max(...sizes) > k) break;
      const { value, error } = interpolated(phi, k, alpha, sizes);
      if (error < TOLERANCE) return value;
    }
    if (k <= LARGEST) return trace(phi, k, alpha);
    throw new Unknown("the eigenvalues next to zero would leave too large an error");
  }

  return { traces, spectrum, Unknown, QUICK: Math.max(...QUICK_SIZES) };
})();
