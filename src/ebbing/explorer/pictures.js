"use strict";
/* Pictures of single numbers and of tasks, as SVG: stacked parts, a heat map, arrows. All text goes through `escape`. */
const pictures = (() => {
  const { widthOf, ticks, scale, shortened, svg, format, escape } = charts;

  /** A number for a small cell. */
  const brief = (x) => (Math.abs(x) >= 0.01 && Math.abs(x) < 1000 ? String(Number(x.toPrecision(2))).replace("-", "−").replace(/^0\./, ".") : format(x).length < 5 ? format(x) : "");

  /** Signed parts of several totals, stacked from zero to both sides. rows: {name, total, parts: [{value, className, name}]}. */
  function stacks(node, o) {
    const wide = widthOf(node);
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
        const words = [`${part.name} ${format(part.value)}`, format(part.value)].find((text) => length > 8 + 7 * text.length);
        if (words) parts.push(`<text class="inside" x="${((x(from) + x(to)) / 2).toFixed(1)}" y="${top + 27}" text-anchor="middle">${escape(words)}</text>`);
      }
      parts.push(`<line class="axis strong" x1="${x(0).toFixed(1)}" x2="${x(0).toFixed(1)}" y1="${top - 4}" y2="${top + 48}"/>`);
    });
    node.innerHTML = svg({ parts, width: wide, height }, o.title);
  }

  /** A matrix as colored cells, with its numbers where they fit. */
  function heatMap(node, o) {
    const wide = widthOf(node);
    const rows = o.values.length;
    const columns = o.values[0].length;
    const left = Math.min(110, wide * 0.3);
    const cell = Math.min(84, (wide - left - 4) / columns);
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
        parts.push(`<text class="tick" x="${left - 8}" y="${(top + (t + 0.5) * rowHeight + 4).toFixed(1)}" text-anchor="end">${escape(shortened(o.rowNames[t], Math.floor((left - 8) / 6.6)))}</text>`);
      }
      [...row].forEach((value, j) => {
        const share = Number.isFinite(value) ? Math.min(Math.max(value / high, 0), 1) : 1;
        const at = `x="${(left + j * cell).toFixed(1)}" y="${(top + t * rowHeight).toFixed(1)}"`;
        parts.push(
          `<rect class="cell${o.outlined?.(t, j) ? " outlined" : ""}" ${at} width="${(cell - 1).toFixed(1)}" height="${(rowHeight - 1).toFixed(1)}" style="--share:${share.toFixed(3)}"><title>${escape(o.rowNames[t])}, ${escape(o.columnNames[j])}: ${format(value)}</title></rect>`,
        );
        if (cell > 27 && rowHeight > 15) {
          parts.push(
            `<text class="number" x="${(left + (j + 0.5) * cell).toFixed(1)}" y="${(top + (t + 0.5) * rowHeight + 4).toFixed(1)}" text-anchor="middle">${cell > 40 ? format(value) : brief(value)}</text>`,
          );
        }
      });
    });
    node.innerHTML = svg({ parts, width: wide, height }, o.title);
  }

  /** An arrow for each row, from one value to another: {name, from, to}. */
  function arrows(node, o) {
    const wide = widthOf(node);
    const left = Math.min(130, wide * 0.28);
    const rowHeight = Math.min(36, Math.max(300 / o.rows.length, 13));
    const top = 30;
    const foot = top + rowHeight * o.rows.length;
    const x = scale(o.x[0], o.x[1], left + 8, wide - 44, false);
    const parts = [`<text class="label" x="4" y="14">task</text>`];
    for (const value of ticks(o.x[0], o.x[1], false)) {
      const at = x(value).toFixed(1);
      parts.push(`<line class="grid" x1="${at}" x2="${at}" y1="${top}" y2="${foot}"/>`);
      parts.push(`<text class="tick" x="${at}" y="${foot + 16}" text-anchor="middle">${format(value)}</text>`);
    }
    parts.push(`<text class="label" x="${Math.min((left + wide) / 2, wide - 130)}" y="${foot + 36}" text-anchor="middle">${escape(o.xlabel)}</text>`);
    o.rows.forEach(({ name, from, to }, r) => {
      const y = top + (r + 0.5) * rowHeight;
      parts.push(`<text class="tick" x="${left}" y="${(y + 4).toFixed(1)}" text-anchor="end">${escape(shortened(name, Math.floor(left / 6.8)))}</text>`);
      if (!Number.isFinite(from) || !Number.isFinite(to)) return;
      const [a, b] = [x(from), x(to)];
      const back = b < a ? 1 : -1;
      if (Math.abs(b - a) > 7) parts.push(`<path class="arrow" d="M${a.toFixed(1)} ${y}H${b.toFixed(1)}m${6 * back} -4l${-6 * back} 4l${6 * back} 4"/>`);
      parts.push(`<circle class="mark F" cx="${a.toFixed(1)}" cy="${y}" r="4"><title>${escape(name)}: ${format(from)} when just learned, ${format(to)} at the end</title></circle>`);
      if (rowHeight > 14) parts.push(`<text class="note" x="${(Math.max(a, b) + 8).toFixed(1)}" y="${(y + 4).toFixed(1)}">${to > from ? "+" : ""}${format(to - from)}</text>`);
    });
    node.innerHTML = svg({ parts, width: wide, height: foot + 44 }, o.title);
  }

  return { stacks, heatMap, arrows };
})();
