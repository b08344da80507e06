"use strict";
/* Filters the table of claims, and draws the figures with plotly. */
(() => {
  const $ = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll("#claim-rows tbody tr.claim")];
  const text = rows.map((row) => row.textContent.toLowerCase());

  function filter() {
    const words = $("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      const fits =
        (!$("status").value || row.dataset.status === $("status").value) &&
        (!$("group").value || row.dataset.group === $("group").value) &&
        (!$("label").value || row.dataset.label === $("label").value) &&
        words.every((word) => text[i].includes(word));
      row.hidden = !fits;
      shown += fits;
    });
    for (const head of document.querySelectorAll("#claim-rows tr.group")) {
      head.hidden = !rows.some((row) => !row.hidden && row.dataset.group === head.dataset.group);
    }
    $("shown").textContent = `${shown} of ${rows.length}`;
  }
  for (const id of ["group", "status", "label", "words"]) $(id).addEventListener("input", filter);
  filter();

  const figures = JSON.parse($("figures").textContent);
  function draw() {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim();
    const rule = style.getPropertyValue("--rule").trim();
    for (const [id, figure] of Object.entries(figures)) {
      const layout = { ...figure.layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, family: "system-ui, sans-serif" } };
      const narrow = document.documentElement.clientWidth < 700;
      for (const key of Object.keys(layout)) {
        if (/^[xy]axis/.test(key)) layout[key] = { ...layout[key], gridcolor: rule, linecolor: rule, tickfont: { size: narrow ? 9 : 12 } };
      }
      Plotly.react(`figure-${id}`, figure.data, layout, { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["sendDataToCloud", "lasso2d", "select2d"] });
    }
  }
  draw();
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  prefersDark.addEventListener("change", draw);
  $("theme").addEventListener("click", () => {
    const chosen = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = (chosen ? chosen === "dark" : prefersDark.matches) ? "light" : "dark";
    draw();
  });
})();
