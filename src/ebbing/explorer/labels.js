"use strict";
/* Places words in a chart beside what they name, where they cover neither curves nor each other. */
const labels = (() => {
  const LETTER = 6.9; // pixels, of bold 12 px letters
  const ABOVE = 11; // from the foot of letters to the top of their box, and below
  const BELOW = 4;

  function boxOf({ x, y, anchor }, text) {
    const width = LETTER * [...text].length;
    const left = anchor === "end" ? x - width : anchor === "middle" ? x - width / 2 : x;
    return { left, right: left + width, top: y - ABOVE, foot: y + BELOW };
  }

  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.foot && b.top < a.foot;

  /** Points along the lines through `corners`, at most a few pixels apart: what words should not cover. */
  function along(corners) {
    const points = [];
    corners.forEach(([x, y], i) => {
      if (i) {
        const [u, v] = corners[i - 1];
        const pieces = Math.min(Math.ceil(Math.hypot(x - u, y - v) / 4), 100);
        for (let k = 1; k < pieces; k++) points.push([u + ((x - u) * k) / pieces, v + ((y - v) * k) / pieces]);
      }
      points.push([x, y]);
    });
    return points;
  }

  /** Places around a point, the best first. */
  function around(x, y, near = 9) {
    const places = [];
    for (const far of [0, 14, 28]) {
      for (const up of [true, false]) {
        const foot = up ? y - 8 - far : y + 20 + far;
        places.push({ x: x + near, y: foot, anchor: "start" }, { x: x - near, y: foot, anchor: "end" }, { x, y: up ? foot - 5 : foot + 4, anchor: "middle" });
      }
    }
    return places;
  }

  /**
   * The words as SVG, each at the place that covers least. words: {text, className, places}; points: [x, y] to keep free;
   * verticals: x of lines that words cross if need be; bounds: {left, right, top, foot}.
   */
  function put(words, { points, verticals, bounds }) {
    const taken = [];
    return words.map(({ text, className, places }) => {
      const cost = (place, i) => {
        const box = boxOf(place, text);
        let sum = 0.4 * i;
        if (box.left < bounds.left || box.right > bounds.right || box.top < bounds.top || box.foot > bounds.foot) sum += 1000;
        for (const other of taken) if (overlap(box, other)) sum += 300;
        for (const [x, y] of points) if (x > box.left - 2 && x < box.right + 2 && y > box.top && y < box.foot) sum += 2;
        for (const x of verticals) if (x > box.left && x < box.right) sum += 3;
        return sum;
      };
      let best = places[0];
      let least = Infinity;
      places.forEach((place, i) => {
        const sum = cost(place, i);
        if (sum < least) [best, least] = [place, sum];
      });
      taken.push(boxOf(best, text));
      return `<text class="${className}" x="${best.x.toFixed(1)}" y="${best.y.toFixed(1)}" text-anchor="${best.anchor}">${charts.escape(text)}</text>`;
    });
  }

  return { put, along, around };
})();
