(() => {
  const data = JSON.parse(document.querySelector('script[type="application/json"]').textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const HUES = 10;
  const root = document.getElementById("chart");
  const legend = document.getElementById("legend");
  const tip = document.getElementById("tip");
  const state = { device: 0, kind: "stacks", axis: "entry", from: 0, to: 1, cursor: null };

  const size = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let at = 0;
    while (bytes >= 1023.995 && at < units.length - 1) { bytes /= 1024; at += 1; }
    return (at === 0 ? bytes : bytes.toFixed(2)) + " " + units[at];
  };
  const span = (seconds) => {
    if (seconds >= 120) return (seconds / 60).toFixed(1) + " min";
    if (seconds >= 1) return seconds.toFixed(2) + " s";
    if (seconds >= 1e-3) return (seconds * 1e3).toFixed(2) + " ms";
    return (seconds * 1e6).toFixed(0) + " µs";
  };
  const node = (name, attributes, parent) => {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (parent) parent.appendChild(made);
    return made;
  };
  const element = (name, text, parent, style) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (style) made.className = style;
    if (parent) parent.appendChild(made);
    return made;
  };
  const device = () => data.devices[state.device];
  const series = () => device()[state.kind];
  const hue = (at) => {
    const each = series();
    const rest = state.kind === "stacks" && each[at].stack.length === 0;
    return rest ? "var(--rest)" : "var(--hue-" + (at % HUES) + ")";
  };
  const place = (column) => {
    const made = device();
    return state.axis === "time" && made.time.length === made.entry.length ? made.time[column] : made.entry[column];
  };

  // The columns of the view, at most `most` of them: of each group, the one with the most allocated memory.
  function view(most) {
    const made = device(), all = made.allocated.length;
    const first = place(0), last = Math.max(place(all - 1), first + 1e-9);
    const low = first + (last - first) * state.from, high = first + (last - first) * state.to;
    let columns = [];
    for (let at = 0; at < all; at += 1) if (place(at) >= low && place(at) <= high) columns.push(at);
    const group = Math.max(1, Math.ceil(columns.length / most));
    if (group > 1) {
      const kept = [];
      for (let at = 0; at < columns.length; at += group) {
        let best = columns[at];
        for (const other of columns.slice(at, at + group)) if (made.allocated[other] > made.allocated[best]) best = other;
        kept.push(best);
      }
      columns = kept;
    }
    return { low, high, columns };
  }

  // Round ticks for bytes (powers of two) and for places (powers of ten).
  function ticks(low, high, count, base) {
    const rough = (high - low) / count || 1;
    const power = base ** Math.floor(Math.log(rough) / Math.log(base));
    const steps = base === 2 ? [1, 2] : [1, 2, 5, 10];
    const step = power * steps.find((factor) => factor * power >= rough * 0.999);
    const made = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) made.push(at);
    return made;
  }

  let scene = null;
  function draw() {
    const made = device(), width = Math.max(280, root.clientWidth), narrow = width < 560;
    const height = narrow ? 280 : 420;
    const pad = { left: narrow ? 60 : 76, right: narrow ? 8 : 16, top: 30, bottom: 34 };
    const inner = { width: width - pad.left - pad.right, height: height - pad.top - pad.bottom };
    const { low, high, columns } = view(Math.floor(inner.width));
    const top = Math.max(1, ...columns.map((at) => Math.max(made.allocated[at], made.reserved[at]))) * 1.04;
    const x = (at) => pad.left + (inner.width * (at - low)) / Math.max(high - low, 1e-9);
    const y = (bytes) => pad.top + inner.height * (1 - bytes / top);
    root.replaceChildren();
    const svg = node("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0,
      "aria-label": "Memory over the trace; arrow keys move the cursor" }, root);

    for (const bytes of ticks(0, top, narrow ? 4 : 6, 2)) {
      node("line", { x1: pad.left, x2: width - pad.right, y1: y(bytes), y2: y(bytes), class: "grid" }, svg);
      node("text", { x: pad.left - 8, y: y(bytes) + 4, class: "tick end" }, svg).textContent = bytes === 0 ? "0" : size(bytes).replace(/\.00 /, " ");
    }
    const marks = ticks(low, high, narrow ? 3 : 8, 10);
    for (const at of marks) {
      if (x(at) > width - 28) continue;
      node("text", { x: x(at), y: height - 12, class: "tick middle" }, svg).textContent =
        state.axis === "time" ? span(at) : at.toLocaleString("en");
    }

    // Each column holds until the next one.
    const right = (at) => (at + 1 < columns.length ? x(place(columns[at + 1])) : width - pad.right);
    const edge = (value) => columns.map((column, at) => {
      const level = y(value(column)).toFixed(1);
      return `${x(place(column)).toFixed(1)},${level} ${right(at).toFixed(1)},${level}`;
    });
    const below = new Array(made.allocated.length).fill(0);
    series().forEach((each, at) => {
      const lower = edge((column) => below[column]);
      for (const column of columns) below[column] += each.bytes[column];
      const upper = edge((column) => below[column]);
      const back = lower.map((pair) => pair.split(" ").reverse().join(" ")).reverse();
      node("polygon", { points: upper.concat(back).join(" "), fill: hue(at), class: "area", "data-at": at }, svg);
    });
    node("polyline", { points: edge((column) => made.reserved[column]).join(" "), class: "reserved" }, svg);
    // On a narrow screen, the labels of marks need this place.
    if (columns.length && !narrow) {
      const at = Math.floor(columns.length / 3);
      const label = { x: x(place(columns[at])), y: y(made.reserved[columns[at]]) - 6, class: "tick reserved-label" };
      node("text", label, svg).textContent = "reserved";
    }
    for (const mark of made.marks) {
      const at = x(place(mark.column));
      if (at < pad.left - 1 || at > width - pad.right + 1) continue;
      const text = mark.kind === "peak" ? "peak " + size(mark.bytes) : "OOM, tried " + size(mark.bytes);
      node("line", { x1: at, x2: at, y1: pad.top - 6, y2: height - pad.bottom, class: "mark " + mark.kind }, svg);
      const late = at > pad.left + inner.width / 2;
      node("text", { x: at + (late ? -5 : 5), y: mark.kind === "peak" ? pad.top - 12 : pad.top + 4,
        class: "label " + mark.kind + (late ? " end" : "") }, svg).textContent = text;
    }
    const cursor = node("line", { y1: pad.top, y2: height - pad.bottom, class: "cursor", visibility: "hidden" }, svg);
    const select = node("rect", { y: pad.top, height: inner.height, class: "select", visibility: "hidden" }, svg);
    scene = { svg, cursor, select, columns, x, pad, inner, width, low, high };
    svg.addEventListener("pointermove", moved);
    svg.addEventListener("pointerleave", () => { if (!drag) hover(null); });
    svg.addEventListener("pointerdown", pressed);
    svg.addEventListener("dblclick", () => { state.from = 0; state.to = 1; draw(); });
    svg.addEventListener("keydown", keyed);
    svg.addEventListener("blur", () => hover(null));
    list();
  }

  function nearest(pixel) {
    const { columns, x } = scene;
    let found = columns[0];
    for (const column of columns) { if (x(place(column)) <= pixel) found = column; else break; }
    return found;
  }

  function hover(column) {
    state.cursor = column;
    const { cursor, x, svg } = scene;
    if (column === null || column === undefined) {
      cursor.setAttribute("visibility", "hidden");
      tip.hidden = true;
      return list();
    }
    const made = device(), at = x(place(column));
    cursor.setAttribute("x1", at);
    cursor.setAttribute("x2", at);
    cursor.setAttribute("visibility", "visible");
    tip.hidden = false;
    tip.replaceChildren();
    const when = made.time.length === made.entry.length ? " · " + span(made.time[column]) : "";
    element("div", "entry " + made.entry[column].toLocaleString("en") + when, tip, "when");
    const row = (name, bytes, fill) => {
      const line = element("div", undefined, tip, "row");
      const swatch = element("i", undefined, line);
      if (fill) swatch.style.background = fill; else swatch.className = "none";
      element("span", name, line);
      element("b", size(bytes), line);
    };
    row("allocated", made.allocated[column]);
    row("reserved", made.reserved[column]);
    series().map((each, index) => [each, index]).filter(([each]) => each.bytes[column] > 0)
      .sort((a, b) => b[0].bytes[column] - a[0].bytes[column]).slice(0, 6)
      .forEach(([each, index]) => row(each.name, each.bytes[column], hue(index)));
    const box = root.getBoundingClientRect();
    const beside = at > box.width / 2 ? at - tip.offsetWidth - 14 : at + 14;
    tip.style.left = Math.max(0, Math.min(beside, box.width - tip.offsetWidth)) + "px";
    tip.style.top = svg.clientHeight > 300 ? "48px" : svg.clientHeight + 4 + "px";
    list();
  }

  let drag = null;
  function moved(event) {
    const pixel = event.clientX - scene.svg.getBoundingClientRect().left;
    if (drag !== null) {
      scene.select.setAttribute("x", Math.min(drag, pixel));
      scene.select.setAttribute("width", Math.abs(pixel - drag));
      scene.select.setAttribute("visibility", "visible");
    }
    hover(nearest(pixel));
  }
  function pressed(event) {
    if (event.pointerType === "touch") return moved(event);
    drag = event.clientX - scene.svg.getBoundingClientRect().left;
  }
  window.addEventListener("pointerup", (event) => {
    if (drag === null) return;
    const start = drag, { pad, inner, svg } = scene;
    drag = null;
    const share = (pixel) => Math.min(1, Math.max(0, (pixel - pad.left) / inner.width));
    const [a, b] = [share(start), share(event.clientX - svg.getBoundingClientRect().left)].sort((m, n) => m - n);
    scene.select.setAttribute("visibility", "hidden");
    if (b - a < 0.01) return;
    const wide = state.to - state.from;
    [state.from, state.to] = [state.from + a * wide, state.from + b * wide];
    draw();
  });
  function keyed(event) {
    const { columns } = scene;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -50, PageDown: 50 }[event.key];
    if (event.key === "Escape") { state.from = 0; state.to = 1; draw(); return; }
    if (step === undefined) return;
    event.preventDefault();
    const at = state.cursor === null ? (step > 0 ? -1 : columns.length) : columns.indexOf(state.cursor);
    hover(columns[Math.min(columns.length - 1, Math.max(0, at + step))]);
  }

  // The series with their bytes at the cursor, or at the peak.
  function list() {
    const made = device();
    const peak = made.marks.find((mark) => mark.kind === "peak");
    const column = state.cursor ?? (peak ? peak.column : 0);
    document.getElementById("where").textContent = state.cursor === null ? (peak ? "at the peak" : "at the start") : "at the cursor";
    const rows = legend.children;
    if (rows.length !== series().length || legend.dataset.kind !== state.kind + state.device) {
      legend.replaceChildren();
      legend.dataset.kind = state.kind + state.device;
      series().forEach((each, at) => {
        const row = element("details", undefined, legend);
        const head = element("summary", undefined, row);
        element("i", undefined, head).style.background = hue(at);
        element("span", each.name, head, "name");
        element("b", "", head);
        element("span", "", head, "share");
        const frames = element("ol", undefined, row, "frames");
        for (const frame of each.stack) element("li", frame, frames);
        if (!each.stack.length) row.classList.add("plain");
        const shade = (on) => root.querySelectorAll(".area").forEach((area) => {
          area.classList.toggle("dim", on && area.dataset.at !== String(at));
        });
        row.addEventListener("pointerenter", () => shade(true));
        row.addEventListener("pointerleave", () => shade(false));
      });
    }
    series().forEach((each, at) => {
      const [bytes, share] = [each.bytes[column], made.allocated[column]];
      rows[at].querySelector("b").textContent = size(bytes);
      rows[at].querySelector(".share").textContent = share ? ((100 * bytes) / share).toFixed(1) + " %" : "";
    });
  }

  for (const button of document.querySelectorAll("button[data-set]")) {
    button.addEventListener("click", () => {
      const key = button.dataset.set, value = button.dataset.value;
      state[key] = key === "device" ? Number(value) : value;
      state.cursor = null;
      if (key !== "kind") { state.from = 0; state.to = 1; }
      for (const other of document.querySelectorAll(`button[data-set="${key}"]`)) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      draw();
    });
  }
  let pending = 0;
  new ResizeObserver(() => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => { if (!scene || scene.width !== Math.max(280, root.clientWidth)) draw(); });
  }).observe(root);
  draw();
})();
