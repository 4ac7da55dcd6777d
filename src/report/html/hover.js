(() => {
  const size = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let at = 0;
    while (bytes >= 1023.995 && at < units.length - 1) { bytes /= 1024; at += 1; }
    return (at === 0 ? bytes : bytes.toFixed(2)) + " " + units[at];
  };
  const trimmed = (value) => String(Number(value.toPrecision(4)));
  const span = (ns) => {
    if (ns === 0) return "0";
    if (ns < 1e3) return trimmed(ns) + " ns";
    if (ns < 1e6) return trimmed(ns / 1e3) + " µs";
    if (ns < 1e9) return trimmed(ns / 1e6) + " ms";
    if (ns < 60e9) return trimmed(ns / 1e9) + " s";
    const seconds = Math.round(ns / 1e9), hours = Math.floor(seconds / 3600), minutes = Math.floor(seconds / 60) % 60;
    return (hours ? hours + " h " : "") + (minutes || !hours ? minutes + " min " : "") + (hours ? "" : (seconds % 60) + " s");
  };
  const round = (rough) => {
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  };

  for (const voyage of document.querySelectorAll(".voyage")) {
    const data = JSON.parse(voyage.querySelector("script").textContent);
    const plots = [...voyage.querySelectorAll(".plot")], ticks = voyage.querySelector(".times .track");
    const tip = element("div", "tip", plots[0]), whole = [...ticks.children];
    tip.hidden = true;
    tip.setAttribute("role", "status");
    const bar = element("div", "view", voyage);
    element("span", "hint", bar, "Drag to look closer");
    const reset = element("button", "", bar, "See all");
    reset.type = "button";
    reset.hidden = true;
    let low = 0, high = 1, cursor = null, press = null, chosen = null;
    const share = (ns) => (ns / data.span - low) / (high - low);

    function look(from, to) {
      // No closer than a thousandth: there is nothing more to see.
      if (to - from < 1e-3) { const middle = (from + to) / 2; from = middle - 5e-4; to = middle + 5e-4; }
      low = Math.max(0, from); high = Math.min(1, to);
      const all = low === 0 && high === 1;
      reset.hidden = all;
      for (const plot of plots) plot.querySelector("svg").setAttribute("viewBox", `${low * 1000} 0 ${(high - low) * 1000} 400`);
      for (const label of voyage.querySelectorAll(".phases .x")) {
        const left = Math.max(-0.01, (label.dataset.from - low) / (high - low)), right = Math.min(1.01, (label.dataset.to - low) / (high - low));
        label.hidden = right <= 0 || left >= 1;
        label.style.left = left * 100 + "%";
        label.style.width = (right - left) * 100 + "%";
      }
      if (all) ticks.replaceChildren(...whole);
      else {
        ticks.replaceChildren();
        const step = round(((high - low) * data.span) / (voyage.clientWidth < 560 ? 3 : 8));
        for (let at = Math.ceil((low * data.span) / step) * step; share(at) <= 0.97; at += step) {
          element("span", "tick", ticks, span(at)).style.left = share(at) * 100 + "%";
        }
      }
      hover(null);
    }

    // The last moment at or before a time: a sample holds until the next one.
    function moment(ns) {
      let first = 0, last = data.at.length - 1;
      while (first < last) {
        const middle = (first + last + 1) >> 1;
        if (data.at[middle] <= ns) first = middle; else last = middle - 1;
      }
      return first;
    }

    function hover(at) {
      cursor = at;
      tip.hidden = at === null;
      for (const plot of plots) plot.querySelector(".cursor").hidden = at === null;
      if (at === null) return;
      const ns = data.at[at], place = Math.min(1, Math.max(0, share(ns)));
      for (const plot of plots) plot.querySelector(".cursor").style.left = place * 100 + "%";
      tip.replaceChildren();
      const phase = data.phases.findLast(([, from]) => from <= ns);
      element("p", "", tip, "after " + span(ns) + (phase ? " · " + phase[0] : ""));
      for (const series of data.series) {
        const row = element("div", "", tip), name = element("span", "", row);
        element("i", series.class, name).style.background = series.colour ?? "";
        name.append(series.name);
        const value = series.values[at];
        element("b", "", row, value === null ? "–" : size(value));
      }
      const room = plots[0].clientWidth, left = place * room;
      const beside = left > room / 2 ? left - tip.offsetWidth - 14 : left + 14;
      tip.style.left = Math.max(0, Math.min(beside, room - tip.offsetWidth)) + "px";
    }

    for (const plot of plots) {
      const where = (event) => {
        const box = plot.getBoundingClientRect();
        return low + (high - low) * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      };
      plot.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "mouse" && event.button === 0) press = { plot, at: where(event), x: event.clientX };
        hover(moment(where(event) * data.span));
      });
      plot.addEventListener("pointermove", (event) => {
        hover(moment(where(event) * data.span));
        if (press === null || Math.abs(event.clientX - press.x) < 8) return;
        chosen ??= element("div", "select", press.plot);
        const [from, to] = [press.at, where(event)].sort((a, b) => a - b);
        chosen.style.left = ((from - low) / (high - low)) * 100 + "%";
        chosen.style.width = ((to - from) / (high - low)) * 100 + "%";
        chosen.dataset.range = from + " " + to;
      });
      plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hover(null); });
      plot.addEventListener("dblclick", () => look(0, 1));
      plot.addEventListener("blur", () => hover(null));
      plot.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -25, PageDown: 25, Home: -Infinity, End: Infinity }[event.key];
        const middle = cursor === null ? (low + high) / 2 : data.at[cursor] / data.span, half = (high - low) / 2;
        if (event.key === "Escape") { if (cursor === null) look(0, 1); else hover(null); return; }
        if (event.key === "+" || event.key === "=") return look(middle - half / 2, middle + half / 2);
        if (event.key === "-") return look(middle - half * 2, middle + half * 2);
        if (step === undefined) return;
        event.preventDefault();
        const start = cursor ?? (step > 0 ? -1 : data.at.length);
        hover(Math.min(data.at.length - 1, Math.max(0, start + step)));
      });
    }
    addEventListener("pointerup", () => {
      const range = chosen?.dataset.range.split(" ").map(Number);
      press = null;
      chosen?.remove();
      chosen = null;
      if (range) look(...range);
    });
    reset.addEventListener("click", () => look(0, 1));
  }
})();
