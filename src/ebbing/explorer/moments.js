"use strict";
/*
 * Second moments of what the disagreement and the noise of a step do to the weights: ebbing.theory._mixture_moments, where
 * the letters are explained (and docs/theory/steps.md, section 6, where the formulas are derived). For |p - N| > 3.
 */
const moments = (() => {
  function over(N, p) {
    const a = p - N - 1;
    const pp = p * (p - 1) * (p + 2);
    return {
      dd: (2 * (p ** 4 - p ** 3 - 6 * p ** 2 + 9 * p - 3 + N * (3 * p - 1))) / (p * pp * (a - 2) * a ** 2),
      fourth: (2 * (p - 3) * (p - 1)) / (p * (p + 2) * (a - 2) * a),
      crossed: (2 * (3 * p - 1)) / (pp * (a - 2) * a),
      ds: (4 * (p - 1)) / (p * (a - 2) * a ** 2),
      both: (4 * (p - 3)) / (p * (a - 2) * a),
      ss: 2 / ((a - 2) * a ** 2),
      noisy: 2 / ((a - 2) * a),
      third: (2 * (p - 1)) / (p * (p + 2) * a),
      thirdNoise: 2 / (p * a),
      even: (p * p - p + N) / (pp * a),
      evenNoise: 1 / (p * a),
      along: ((p - 1) * (p - 2) - N * p) / (pp * a),
      shared: (p - N) / (p * (p + 2) * a),
    };
  }

  /** A polynomial in x, from its coefficient of the highest power on. */
  const polynomial = (x, coefficients) => coefficients.reduce((sum, c) => sum * x + c, 0);

  function under(N, p) {
    const a = N - p - 1;
    const M = N * (N - 1) * (N + 2);
    const dd = polynomial(N, [
      p + 2,
      -(p ** 2 + 7 * p + 18),
      p ** 3 + 17 * p ** 2 + 24 * p - 21,
      -(4 * p ** 3 - 9 * p ** 2 - 21 * p + 12),
      -(17 * p ** 3 + 131 * p ** 2 + 179 * p - 51),
      42 * p ** 3 + 318 * p ** 2 + 994 * p + 1150,
      -(84 * p ** 3 + 748 * p ** 2 + 2508 * p + 2612),
      88 * p ** 3 + 1016 * p ** 2 + 2536 * p + 1608,
      -(96 * p ** 3 + 480 * p ** 2 + 672 * p + 288),
    ]);
    const fourth = polynomial(N, [(p + 3) * (p + 5), -(3 * p ** 2 + 40 * p + 125), 6 * p ** 2 + 96 * p + 234, -24 * (p + 1) * (p + 3)]);
    const crossed = polynomial(N, [1, -(8 * p + 21), 10 * p ** 2 + 72 * p + 148, -(28 * p ** 2 + 128 * p + 180), -(16 * p ** 2 - 32 * p - 48)]);
    const ds = polynomial(N, [
      p + 1,
      -(p ** 2 + 5 * p + 12),
      p ** 3 + 11 * p ** 2 + 29 * p + 15,
      -(3 * p ** 3 + 24 * p ** 2 + 41 * p + 4),
      4 * p * (p + 1) * (p + 3),
    ]);
    return {
      dd: (2 * dd) / (M ** 2 * (N - 2) * (N + 4) * (N + 6) * a ** 2 * (a - 2)),
      fourth: (2 * fourth) / (M * (N + 4) * (N + 6) * a * (a - 2)),
      crossed: (2 * crossed) / (M * (N - 2) * (N + 4) * (N + 6) * a * (a - 2)),
      ds: (4 * ds) / (N * M * (N + 4) * a ** 2 * (a - 2)),
      both: (4 * (p + 2) * (N ** 2 * (p + 3) - N * (3 * p + 17) + 4 * p + 12)) / (M * (N + 4) * a * (a - 2)),
      ss: (2 * p * (N ** 2 - N * p - N + p ** 2 + 3 * p)) / (N ** 2 * (N + 2) * a ** 2 * (a - 2)),
      noisy: (2 * p * (p + 2)) / (N * (N + 2) * a * (a - 2)),
      third: (2 * (N ** 2 * (p + 3) - N * (p + 11) + 4 * p + 4)) / (M * (N + 4) * a),
      thirdNoise: (2 * (p + 2)) / (N * (N + 2) * a),
      even: N ** 2 / (M * a),
      evenNoise: 1 / (N * a),
      along: (N ** 2 - N * (p + 5) + 2 * p + 2) / (M * a),
      shared: 0,
    };
  }

  /** For p = 1 disagreement leads to a mean with weights x_a^2, which has all moments; noise takes N > 4. */
  function ofALine(N) {
    const line = N * (N + 2) * (N + 4);
    const none = { ds: 0, both: 0, ss: 0, noisy: 0, thirdNoise: 0, evenNoise: 0 };
    return {
      ...(N > 4 ? under(N, 1) : none),
      dd: 12 / (line * (N + 6)) - 4 / (N * (N + 2)) ** 2, fourth: 48 / (line * (N + 6)), crossed: 0,
      third: 8 / line, even: 0, along: 2 / (N * (N + 2)), shared: 0,
    };
  }

  return (N, p) => (p > N ? over(N, p) : p === 1 ? ofALine(N) : under(N, p));
})();
