"use strict";
(() => {
  const root = document.documentElement, group = document.querySelector(".theme");
  const kept = (value) => {
    try { return value === undefined ? localStorage.getItem("plimsoll-theme") : localStorage.setItem("plimsoll-theme", value); }
    catch { return null; }
  };
  const choose = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme; else delete root.dataset.theme;
    for (const button of group.children) {
      button.setAttribute("aria-pressed", String(button.dataset.theme === (root.dataset.theme ?? "auto")));
    }
  };
  group.addEventListener("click", (event) => {
    const theme = event.target.dataset.theme;
    if (theme) { choose(theme); kept(theme); }
  });
  group.hidden = false;
  choose(kept());
  // Folds are opened for printing.
  addEventListener("beforeprint", () => { for (const fold of document.querySelectorAll("details")) fold.open = true; });
})();
