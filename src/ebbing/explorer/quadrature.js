"use strict";
/* Gauss-Legendre quadrature on panels, and the functions of a real number that integrals over eigenvalues take. */
const quadrature = (() => {
  const ORDER = 16; // nodes of Gauss-Legendre quadrature on a panel

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

  return { panels, cumulative, stirling, logFactorial, minusLog1p };
})();
