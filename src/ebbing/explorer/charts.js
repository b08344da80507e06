"use strict";
/* Small SVG charts: lines with bands, signed stacked bars, a heat map. All text goes through `escape`. */
const charts = (() => {
  const isNarrow = matchMedia("(max-width: 480px)");
  const width = () => (isNarrow.matches ? 360 : 560); // in units of the picture: letters stay readable on a telephone
  const HEIGHT = 300;
  const MARGIN = { left: 58, right: 16, top: 14, bottom: 44 };

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
    if (log) {
      const found = [];
      const decades = Math.log10(high / low);
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

  function frame(o) {
    const wide = width();
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
    parts.push(`<text class="label" x="${(MARGIN.left + wide - MARGIN.right) / 2}" y="${height - 6}" text-anchor="middle">${escape(o.xlabel)}</text>`);
    return { x, y, parts, width: wide, height, foot };
  }

  const shortened = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);

  const clampTo = (value, [low, high]) => Math.min(Math.max(value, low), high);

  /** Lines against x. series: {x, y, band: [lower, upper], className, name}; marks: {x, y, text, className}. */
  function lines(o) {
    const f = frame(o);
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
    for (const v of o.verticals ?? []) {
      if (v.x < o.x[0] || v.x > o.x[1]) continue;
      const at = f.x(v.x).toFixed(1);
      f.parts.push(`<line class="vertical ${v.className ?? ""}" x1="${at}" x2="${at}" y1="${MARGIN.top}" y2="${f.foot}"/>`);
      const left = f.x(v.x) > f.width - 150;
      f.parts.push(
        `<text class="note" x="${at}" dx="${left ? -5 : 5}" y="${v.top ? MARGIN.top + 10 : f.foot - 7}" text-anchor="${left ? "end" : "start"}">${escape(v.text)}</text>`,
      );
    }
    for (const m of o.marks ?? []) {
      if (!Number.isFinite(m.y) || m.y < o.y[0] || m.y > o.y[1] || m.x < o.x[0] || m.x > o.x[1]) continue;
      f.parts.push(`<circle class="mark ${m.className}" cx="${f.x(m.x).toFixed(1)}" cy="${f.y(m.y).toFixed(1)}" r="5"/>`);
      if (m.text) {
        const left = f.x(m.x) > f.width - 130;
        f.parts.push(
          `<text class="note strong" x="${f.x(m.x).toFixed(1)}" y="${f.y(m.y).toFixed(1)}" dx="${left ? -9 : 9}" dy="${m.dy ?? -8}" text-anchor="${left ? "end" : "start"}">${escape(m.text)}</text>`,
        );
      }
    }
    const places = o.readings ? Array.from(o.series[0].x, (value) => f.x(value)) : [];
    return { text: svg(f, o.title), places, top: MARGIN.top, foot: f.foot };
  }

  /** Draw lines into a node; the pointer reads them off: readings[i] at the i-th x. */
  function put(node, o) {
    const drawn = lines(o);
    node.innerHTML = drawn.text;
    node.onpointermove = (event) => read(node, o.readings, drawn, event);
    node.onpointerleave = () => node.querySelector(".reading")?.remove();
  }

  function read(node, readings, { places, top, foot }, event) {
    const picture = node.querySelector("svg");
    const box = picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width();
    picture.querySelector(".reading")?.remove();
    if (!places.length || at < MARGIN.left - 10) return;
    const nearest = places.reduce((best, x, i) => (Math.abs(x - at) < Math.abs(places[best] - at) ? i : best), 0);
    const x = places[nearest].toFixed(1);
    const left = places[nearest] > width() / 2;
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

  /** Signed parts of several totals, stacked from zero to both sides. rows: {name, total, parts: [{value, className, name}]}. */
  function stacks(o) {
    const wide = width();
    const rowHeight = 104;
    const height = 8 + rowHeight * o.rows.length;
    let low = 0;
    let high = 0;
    for (const row of o.rows) {
      let below = 0;
      let above = 0;
      for (const part of row.parts) {
        if (!Number.isFinite(part.value)) continue;
        if (part.value < 0) below += part.value;
        else above += part.value;
      }
      low = Math.min(low, below);
      high = Math.max(high, above);
    }
    const x = scale(low, high > low ? high : low + 1, 16, wide - 16, false);
    const parts = [];
    o.rows.forEach((row, r) => {
      const top = 44 + r * rowHeight;
      parts.push(`<text class="label" x="16" y="${top - 12}">${escape(row.name)} = ${format(row.total)}</text>`);
      let below = 0;
      let above = 0;
      for (const part of row.parts) {
        if (!Number.isFinite(part.value) || part.value === 0) continue;
        const from = part.value < 0 ? below + part.value : above;
        const to = part.value < 0 ? below : above + part.value;
        if (part.value < 0) below += part.value;
        else above += part.value;
        const length = x(to) - x(from);
        parts.push(
          `<rect class="part ${part.className}" x="${x(from).toFixed(1)}" y="${top}" width="${Math.max(length, 0.5).toFixed(1)}" height="44"><title>${escape(part.name)}: ${format(part.value)}</title></rect>`,
        );
        if (length > 46) {
          parts.push(`<text class="inside" x="${((x(from) + x(to)) / 2).toFixed(1)}" y="${top + 27}" text-anchor="middle">${format(part.value)}</text>`);
        }
      }
      parts.push(`<line class="axis strong" x1="${x(0).toFixed(1)}" x2="${x(0).toFixed(1)}" y1="${top - 4}" y2="${top + 48}"/>`);
    });
    return svg({ parts, width: wide, height }, o.title);
  }

  /** A matrix as colored cells, with its numbers where they fit. */
  function heatMap(o) {
    const rows = o.values.length;
    const columns = o.values[0].length;
    const left = 96;
    const cell = Math.min(84, (width() - left - 8) / columns);
    const rowHeight = Math.min(38, Math.max(300 / rows, 12));
    const top = 26;
    const height = top + rows * rowHeight + 8;
    const finite = o.values.flatMap((row) => [...row]).filter(Number.isFinite);
    const high = Math.max(...finite, 1e-300);
    const parts = [];
    const room = Math.floor(cell / 7); // letters above a column; names that are longer give way to their places
    const labels = o.columnNames.every((name) => [...name].length <= room) ? o.columnNames : o.columnNames.map((_, j) => String(j + 1));
    const stride = Math.ceil(16 / cell);
    labels.forEach((label, j) => {
      if (j % stride === 0) parts.push(`<text class="tick" x="${(left + (j + 0.5) * cell).toFixed(1)}" y="16" text-anchor="middle">${escape(label)}</text>`);
    });
    const rowStride = Math.ceil(13 / rowHeight);
    o.values.forEach((row, t) => {
      if (t % rowStride === 0) {
        parts.push(`<text class="tick" x="${left - 8}" y="${(top + (t + 0.5) * rowHeight + 4).toFixed(1)}" text-anchor="end">${escape(shortened(o.rowNames[t], 14))}</text>`);
      }
      [...row].forEach((value, j) => {
        const share = Number.isFinite(value) ? Math.min(Math.max(value / high, 0), 1) : 1;
        const at = `x="${(left + j * cell).toFixed(1)}" y="${(top + t * rowHeight).toFixed(1)}"`;
        parts.push(
          `<rect class="cell${o.outlined?.(t, j) ? " outlined" : ""}" ${at} width="${(cell - 1).toFixed(1)}" height="${(rowHeight - 1).toFixed(1)}" style="--share:${share.toFixed(3)}"><title>${escape(o.rowNames[t])}, ${escape(o.columnNames[j])}: ${format(value)}</title></rect>`,
        );
        if (cell > 40 && rowHeight > 15) {
          parts.push(
            `<text class="number${share > 0.55 ? " light" : ""}" x="${(left + (j + 0.5) * cell).toFixed(1)}" y="${(top + (t + 0.5) * rowHeight + 4).toFixed(1)}" text-anchor="middle">${format(value)}</text>`,
          );
        }
      });
    });
    return svg({ parts, width: width(), height }, o.title);
  }

  function svg(f, title) {
    return `<svg viewBox="0 0 ${f.width} ${f.height}" role="img" aria-label="${escape(title)}">${f.parts.join("")}</svg>`;
  }

  return { put, stacks, heatMap, format, escape };
})();
