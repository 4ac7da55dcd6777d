(() => {
  for (const plot of document.querySelectorAll(".dots")) {
    const details = JSON.parse(plot.querySelector("script").textContent), dots = [...plot.querySelectorAll("circle")];
    // On a course, the horizontally nearest dot counts, whatever its height.
    const along = plot.classList.contains("along"), tip = element("div", "tip", plot);
    tip.hidden = true;
    tip.setAttribute("role", "status");
    let chosen = null;

    function place(dot, box) {
      return [(dot.cx.baseVal.valueInSpecifiedUnits / 100) * box.width, (dot.cy.baseVal.valueInSpecifiedUnits / 100) * box.height];
    }

    function choose(at) {
      if (chosen !== null) dots[chosen].classList.remove("chosen");
      chosen = at;
      tip.hidden = at === null;
      if (at === null) return;
      dots[at].classList.add("chosen");
      tip.replaceChildren();
      element("p", "", tip, details[at].head);
      for (const [name, value] of details[at].rows) {
        const row = element("div", "", tip);
        element("span", "", row, name);
        element("b", "", row, value);
      }
      const box = plot.getBoundingClientRect(), [x, y] = place(dots[at], box);
      const beside = x > box.width / 2 ? x - tip.offsetWidth - 14 : x + 14;
      tip.style.left = Math.max(0, Math.min(beside, box.width - tip.offsetWidth)) + "px";
      tip.style.top = Math.min(y + 12, Math.max(0, box.height - tip.offsetHeight / 2)) + "px";
    }

    function nearest(event) {
      const box = plot.getBoundingClientRect();
      let found = null, least = Infinity;
      dots.forEach((dot, at) => {
        const [x, y] = place(dot, box);
        const across = x - (event.clientX - box.left), down = along ? 0 : y - (event.clientY - box.top);
        const far = across * across + down * down;
        if (far < least) { least = far; found = at; }
      });
      return found;
    }

    for (const kind of ["pointerdown", "pointermove"]) plot.addEventListener(kind, (event) => choose(nearest(event)));
    plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") choose(null); });
    plot.addEventListener("blur", () => choose(null));
    plot.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return choose(null);
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const start = chosen ?? (step > 0 ? -1 : dots.length);
      choose(Math.min(dots.length - 1, Math.max(0, start + step)));
    });
  }
})();
