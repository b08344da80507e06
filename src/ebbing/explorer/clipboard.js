"use strict";
/* Text that leaves the page, when a button is pressed: to the clipboard, or as a file. */
const clipboard = (() => {
  function copy(text, button) {
    const label = button.textContent;
    const done = (said) => { button.textContent = said; setTimeout(() => (button.textContent = label), 1500); };
    const byHand = () => {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area); area.select();
      const worked = document.execCommand("copy"); area.remove(); done(worked ? "Copied" : "Select and copy by hand");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => done("Copied"), byHand);
    else byHand();
  }

  function save(name, text) {
    const link = Object.assign(document.createElement("a"), { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  return { copy, save };
})();
