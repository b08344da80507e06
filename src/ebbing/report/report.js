"use strict";
/* Filters the table of claims, and draws the figures with plotly. */
(() => {
  const $ = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll("#claim-rows tbody tr.claim")];
  const text = rows.map((row) => row.textContent.toLowerCase());

  let once = false; // whether a claim that was run twice is shown only as the counts count it

  function filter() {
    const words = $("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      const fits =
        (!$("status").value || row.dataset.status === $("status").value) &&
        (!$("group").value || row.dataset.group === $("group").value) &&
        (!$("label").value || row.dataset.label === $("label").value) &&
        (!once || "counted" in row.dataset) &&
        words.every((word) => text[i].includes(word));
      row.hidden = !fits;
      shown += fits;
    });
    for (const head of document.querySelectorAll("#claim-rows tr.group")) {
      head.hidden = !rows.some((row) => !row.hidden && row.dataset.group === head.dataset.group);
    }
    $("shown").textContent = `${shown} of ${rows.length} claims`;
    $("none").hidden = shown > 0;
    $("claim-rows").hidden = shown === 0;
  }
  for (const id of ["group", "status", "label", "words"]) $(id).addEventListener("input", () => ((once = false), filter()));
  $("filter").addEventListener("reset", () => ((once = false), requestAnimationFrame(filter)));
  for (const button of document.querySelectorAll(".counts button")) {
    button.addEventListener("click", () => {
      $("filter").reset();
      $("group").value = button.dataset.group;
      $("status").value = button.dataset.status;
      once = true;
      filter();
      $("claims-table").scrollIntoView();
    });
  }
  filter();

  const figures = JSON.parse($("figures").textContent);
  const isNarrow = matchMedia("(max-width: 760px)");

  const isPrinted = matchMedia("print");
  const PAPER = 690; // pixels that fit between the margins of A4 and Letter

  /** The panels of a figure below each other, for a telephone. */
  function stacked(figure) {
    const panels = figure.layout.annotations.length;
    const names = figure.data.filter((trace) => trace.showlegend !== false).length;
    const layout = { ...figure.layout, annotations: [], margin: { l: 45, r: 8, t: 30, b: 60 + 20 * names } };
    layout.height = 270 * panels + layout.margin.b;
    figure.layout.annotations.forEach((note, k) => {
      const key = k ? String(k + 1) : "";
      const top = 1 - k / panels;
      layout[`xaxis${key}`] = { ...figure.layout[`xaxis${key}`], domain: [0, 1] };
      layout[`yaxis${key}`] = { ...figure.layout[`yaxis${key}`], domain: [top - 0.72 / panels, top - 0.04 / panels], title: {} };
      layout.annotations.push({ ...note, font: { size: 11 }, x: 0, y: top - 0.04 / panels });
    });
    return layout;
  }

  /** A figure as wide as a sheet of paper, with titles that fit. */
  function onPaper({ layout }) {
    return { ...layout, width: PAPER, autosize: false, annotations: layout.annotations.map((note) => ({ ...note, font: { size: 9 } })) };
  }

  /** Traces in which black takes the color of the text. */
  function inInk(traces, ink) {
    const colored = ([key, part]) => [key, part?.color === "#000000" ? { ...part, color: ink } : part];
    return traces.map((trace) => Object.fromEntries(Object.entries(trace).map(colored)));
  }

  function draw() {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim();
    const rule = style.getPropertyValue("--rule").trim();
    const soft = style.getPropertyValue("--soft").trim();
    for (const [id, figure] of Object.entries(figures)) {
      const place = isPrinted.matches ? onPaper(figure) : isNarrow.matches ? stacked(figure) : figure.layout;
      const layout = { ...place, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink }, font: { color: ink, family: "system-ui, sans-serif" } };
      for (const key of Object.keys(layout)) {
        if (/^[xy]axis/.test(key)) layout[key] = { ...layout[key], gridcolor: rule, linecolor: rule, tickfont: { size: isNarrow.matches || isPrinted.matches ? 10 : 12 } };
      }
      Plotly.react(`figure-${id}`, inInk(figure.data, ink), layout, { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["sendDataToCloud", "lasso2d", "select2d"] });
    }
  }
  draw();
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  prefersDark.addEventListener("change", draw);
  isNarrow.addEventListener("change", draw);
  isPrinted.addEventListener("change", draw); // on white paper of its width, whatever the screen
  $("theme").addEventListener("click", () => {
    const chosen = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = (chosen ? chosen === "dark" : prefersDark.matches) ? "light" : "dark";
    draw();
  });
})();
