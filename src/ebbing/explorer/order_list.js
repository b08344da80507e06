"use strict";
/* The tasks in the order of learning, to be dragged or moved by buttons. */
const orderList = (() => {
  const $ = (id) => document.getElementById(id);

  /** Draw the tasks in their order; `move(from, to)` is called when one is to take another place. */
  function draw(problem, move) {
    const list = $("order");
    const shown = JSON.stringify([problem.order, problem.names]);
    if (list.dataset.shown === shown) return;
    list.dataset.shown = shown;
    const focused = document.activeElement?.dataset?.move;
    list.textContent = "";
    problem.order.forEach((task, place) => {
      const item = document.createElement("li");
      item.draggable = true;
      const button = (label, to, sign) => {
        const b = Object.assign(document.createElement("button"), { type: "button", textContent: sign, disabled: to < 0 || to >= problem.T });
        b.setAttribute("aria-label", `${problem.names[task]}: learn ${label}`);
        b.dataset.move = `${task}:${label}`;
        b.addEventListener("click", () => move(place, to));
        return b;
      };
      const name = Object.assign(document.createElement("span"), { textContent: problem.names[task], title: problem.names[task] });
      item.append(button("earlier", place - 1, "◀"), name, button("later", place + 1, "▶"));
      item.addEventListener("dragstart", (event) => { event.dataTransfer.setData("text/plain", String(place)); event.dataTransfer.effectAllowed = "move"; });
      item.addEventListener("dragover", (event) => { event.preventDefault(); item.classList.add("over"); });
      item.addEventListener("dragleave", () => item.classList.remove("over"));
      item.addEventListener("drop", (event) => {
        if (event.dataTransfer.files.length) return; // a matrix, for the whole page
        event.preventDefault();
        event.stopPropagation();
        const from = Number(event.dataTransfer.getData("text/plain") || NaN);
        if (Number.isInteger(from) && from >= 0 && from < problem.T) move(from, place);
      });
      list.append(item);
    });
    if (focused) {
      const wanted = [...list.querySelectorAll("button")].find((b) => b.dataset.move === focused);
      (wanted?.disabled ? wanted.parentElement.querySelector("button:not(:disabled)") : wanted)?.focus();
    }
    for (const id of ["best-forgetting", "best-generalization"]) {
      $(id).disabled = problem.T > 8;
    }
    $("order-limit").hidden = problem.T <= 8;
  }

  return { draw };
})();
