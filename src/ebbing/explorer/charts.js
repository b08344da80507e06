"use strict";
/* Small SVG charts: lines with bands. All text goes through `escape`. */
const charts = (() => {
  const HEIGHT = 300;
  const MARGIN = { left: 52, right: 14, top: 34, bottom: 44 };

  const widths = new Map();
  /** The width of a chart in pixels, so that letters have the size that they should. Looked up once, until it changes. */
  function widthOf(node) {
    if (!widths.has(node)) widths.set(node, Math.max(Math.round(node.clientWidth), 240));
    return widths.get(node);
  }

  /** Calls back when a chart has another width. */
  function watch(nodes, changed) {
    const observer = new ResizeObserver(() => {
      const before = new Map(widths);
      widths.clear();
      if (nodes.some((node) => before.has(node) && before.get(node) !== widthOf(node))) changed();
    });
    for (const node of nodes) observer.observe(node);
  }

  const escape = (text) =>
    String(text).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);

  /** A number in at most four digits, as a reader would write it. */
  function format(x) {
    if (x === undefined || Number.isNaN(x)) return "–";
    if (x === Infinity) return "∞";
    if (x === -Infinity) return "−∞";
    const size = Math.abs(x);
    if (size === 0) return "0";
    const text =
      size >= 1e6 || size < 1e-3 ? x.toExponential(2).replace(/e\+?/, "e") : String(Number(x.toPrecision(size >= 1000 ? 6 : 3)));
    return text.replace("-", "−");
  }

  function ticks(low, high, log) {
    const decades = log ? Math.log10(high / low) : 0;
    if (log && decades > 0.8) {
      const found = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
        for (const m of decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5]) {
          const value = m * 10 ** e;
          if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
        }
      }
      const every = Math.ceil(found.length / 7);
      return found.filter((_, i) => i % every === 0);
    }
    const span = high - low || 1;
    const raw = span / 5;
    const power = 10 ** Math.floor(Math.log10(raw));
    const size = [1, 2, 5, 10].find((m) => m * power >= raw) * power;
    const found = [];
    for (let v = Math.ceil(low / size - 1e-9) * size; v <= high + 1e-9 * span; v += size) {
      found.push(Math.abs(v) < 1e-9 * span ? 0 : v);
    }
    return found;
  }

  const scale = (low, high, from, to, log) => {
    const f = log ? Math.log : (x) => x;
    const a = f(low);
    const b = f(high) - a || 1;
    return (x) => from + ((f(x) - a) / b) * (to - from);
  };

  function frame(o, wide) {
    const height = HEIGHT;
    const x = scale(o.x[0], o.x[1], MARGIN.left, wide - MARGIN.right, o.xlog);
    const y = scale(o.y[0], o.y[1], height - MARGIN.bottom, MARGIN.top, o.ylog);
    const parts = [];
    for (const value of ticks(o.y[0], o.y[1], o.ylog)) {
      const at = y(value).toFixed(1);
      parts.push(`<line class="grid" x1="${MARGIN.left}" x2="${wide - MARGIN.right}" y1="${at}" y2="${at}"/>`);
      parts.push(`<text class="tick" x="${MARGIN.left - 7}" y="${at}" dy="4" text-anchor="end">${format(value)}</text>`);
    }
    for (const value of o.xticks ?? ticks(o.x[0], o.x[1], o.xlog)) {
      const at = x(value).toFixed(1);
      const foot = height - MARGIN.bottom;
      parts.push(`<line class="axis" x1="${at}" x2="${at}" y1="${foot}" y2="${foot + 5}"/>`);
      parts.push(`<text class="tick" x="${at}" y="${foot + 19}" text-anchor="middle">${format(value)}</text>`);
    }
    const foot = height - MARGIN.bottom;
    parts.push(`<line class="axis" x1="${MARGIN.left}" x2="${wide - MARGIN.right}" y1="${foot}" y2="${foot}"/>`);
    parts.push(`<text class="label" x="${Math.min((MARGIN.left + wide - MARGIN.right) / 2, wide - 4 - 3.1 * o.xlabel.length)}" y="${height - 6}" text-anchor="middle">${escape(o.xlabel)}</text>`);
    parts.push(`<text class="label" x="4" y="14">${escape(o.ylabel)}</text>`);
    return { x, y, parts, width: wide, height, foot };
  }

  /** A text in at most so many letters, without its middle: names often differ at the end. */
  function shortened(text, most) {
    const letters = [...text];
    const head = Math.ceil((most - 1) / 2);
    return letters.length > most ? `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (most - 1 - head)).join("")}` : text;
  }

  const clampTo = (value, [low, high]) => Math.min(Math.max(value, low), high);

  /** Lines against x. series: {x, y, band: [lower, upper], className, name}; marks: {x, y, text, className}. */
  function lines(o, wide) {
    const f = frame(o, wide);
    const id = `clip-${o.id}`;
    f.parts.unshift(
      `<clipPath id="${id}"><rect x="${MARGIN.left}" y="${MARGIN.top}" width="${f.width - MARGIN.left - MARGIN.right}" height="${f.foot - MARGIN.top}"/></clipPath>`,
    );
    if (o.y[0] < 0 && o.y[1] > 0 && !o.ylog) {
      const zero = f.y(0).toFixed(1);
      f.parts.push(`<line class="axis" x1="${MARGIN.left}" x2="${f.width - MARGIN.right}" y1="${zero}" y2="${zero}"/>`);
    }
    const put = (value) => f.y(clampTo(value, o.ylog ? [o.y[0] / 100, o.y[1] * 100] : [2 * o.y[0] - o.y[1], 2 * o.y[1] - o.y[0]])).toFixed(1);
    f.parts.push(`<g clip-path="url(#${id})">`);
    for (const s of o.series) {
      for (const run of segments(s)) {
        if (s.band) {
          const there = run.map((i) => `${f.x(s.x[i]).toFixed(1)},${put(s.band[1][i])}`);
          const back = run.map((i) => `${f.x(s.x[i]).toFixed(1)},${put(s.band[0][i])}`).reverse();
          f.parts.push(`<polygon class="band ${s.className}" points="${there.concat(back).join(" ")}"/>`);
        }
        f.parts.push(
          `<polyline class="line ${s.className}" points="${run.map((i) => `${f.x(s.x[i]).toFixed(1)},${put(s.y[i])}`).join(" ")}"/>`,
        );
      }
    }
    f.parts.push("</g>");
    const verticals = (o.verticals ?? []).filter((v) => v.x >= o.x[0] && v.x <= o.x[1]);
    for (const v of verticals) {
      const at = f.x(v.x).toFixed(1);
      f.parts.push(`<line class="vertical ${v.className ?? ""}" x1="${at}" x2="${at}" y1="${MARGIN.top}" y2="${f.foot}"/>`);
    }
    const marks = (o.marks ?? []).filter((m) => Number.isFinite(m.y) && m.y >= o.y[0] && m.y <= o.y[1] && m.x >= o.x[0] && m.x <= o.x[1]);
    for (const m of marks) f.parts.push(`<circle class="mark ${m.className}" cx="${f.x(m.x).toFixed(1)}" cy="${f.y(m.y).toFixed(1)}" r="5"/>`);
    f.parts.push(...words(o, f, marks, verticals));
    const places = o.readings ? Array.from(o.series[0].x, (value) => f.x(value)) : [];
    return { text: svg(f, o.title), places, top: MARGIN.top, foot: f.foot };
  }

  /** The words in a chart: at marks, at verticals, and the names of several lines. */
  function words(o, f, marks, verticals) {
    const corners = (s) => segments(s).map((run) => run.filter((i) => s.y[i] >= o.y[0] && s.y[i] <= o.y[1]).map((i) => [f.x(s.x[i]), f.y(s.y[i])]));
    const lines = o.series.map((s) => ({ s, runs: corners(s) }));
    const found = marks.filter((m) => m.text).map((m) => ({ text: m.text, className: `note strong ${m.className}`, places: labels.around(f.x(m.x), f.y(m.y)) }));
    for (const v of verticals.filter((one) => one.text)) {
      const rows = v.top ? [MARGIN.top + 10, MARGIN.top + 26] : [f.foot - 7, f.foot - 23, MARGIN.top + 26];
      const sides = [["start", 5], ["end", -5]];
      found.push({ text: v.text, className: "note", places: rows.flatMap((y) => sides.map(([anchor, dx]) => ({ x: f.x(v.x) + dx, y, anchor }))) });
    }
    for (const { s, runs } of lines) {
      const line = runs.flat();
      if (!s.name || !line.length) continue;
      const places = [0.7, 0.9, 0.5, 0.3, 1, 0.15].map((share) => line[Math.round((line.length - 1) * share)]);
      found.push({ text: s.name, className: `name ${s.className}`, places: places.flatMap(([x, y]) => labels.around(x, y, 0)) });
    }
    const points = [...lines.flatMap(({ runs }) => runs.flatMap((run) => labels.along(run))), ...marks.flatMap((m) => [-3, 3].map((d) => [f.x(m.x) + d, f.y(m.y)]))];
    if (o.y[0] < 0 && o.y[1] > 0 && !o.ylog) for (let x = MARGIN.left; x < f.width; x += 12) points.push([x, f.y(0)]);
    const bounds = { left: MARGIN.left, right: f.width - 4, top: MARGIN.top - 8, foot: f.foot - 1 };
    return labels.put(found, { points, verticals: verticals.map((v) => f.x(v.x)), bounds });
  }

  /** Draw lines into a node; the pointer reads them off: readings[i] at the i-th x. */
  function put(node, o) {
    const wide = widthOf(node);
    const drawn = lines(o, wide);
    node.innerHTML = drawn.text;
    node.onpointermove = (event) => read(node, o.readings, { ...drawn, wide }, event);
    node.onpointerleave = () => node.querySelector(".reading")?.remove();
  }

  function read(node, readings, { places, top, foot, wide }, event) {
    const picture = node.querySelector("svg");
    const box = picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * wide;
    picture.querySelector(".reading")?.remove();
    if (!places.length || at < MARGIN.left - 10) return;
    const nearest = places.reduce((best, x, i) => (Math.abs(x - at) < Math.abs(places[best] - at) ? i : best), 0);
    const x = places[nearest].toFixed(1);
    const left = places[nearest] > wide / 2;
    picture.insertAdjacentHTML("beforeend", `<g class="reading"><line x1="${x}" x2="${x}" y1="${top}" y2="${foot}"/><text x="${x}" dx="${left ? -6 : 6}" y="${top + 28}" text-anchor="${left ? "end" : "start"}">${escape(readings[nearest])}</text></g>`);
  }

  /** Runs of indices with finite values: a line breaks where an expectation is infinite. */
  function segments(s) {
    const runs = [];
    let run = [];
    for (let i = 0; i < s.x.length; i++) {
      if (run.length && (!Number.isFinite(s.y[i]) || s.breaks?.(i))) {
        runs.push(run);
        run = [];
      }
      if (Number.isFinite(s.y[i])) run.push(i);
    }
    if (run.length) runs.push(run);
    return runs;
  }

  function svg(f, title) {
    return `<svg viewBox="0 0 ${f.width} ${f.height}" role="img" aria-label="${escape(title)}">${f.parts.join("")}</svg>`;
  }

  return { put, watch, widthOf, ticks, scale, shortened, svg, format, escape };
})();
