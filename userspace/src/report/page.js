"use strict";
// Draws the page from its data. Text of the file is only ever set as text, so that nothing in it becomes markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = document.getElementById("view");
  const tabs = document.getElementById("tabs");
  const parts = ["DRAM to kernel store", "DRAM to pool", "pool (64 banks) to array", "pool to DRAM"];
  const state = { view: 0, side: 0, task: 0, zoom: 1, all: false, filter: "" };

  const put = (node, attributes, ...inside) => {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") node.addEventListener(name, value);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
    }
    for (const one of inside.flat()) if (one !== null && one !== undefined) node.append(one);
    return node;
  };
  const h = (tag, attributes, ...inside) => put(document.createElement(tag), attributes, ...inside);
  const s = (tag, attributes, ...inside) =>
    put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, ...inside);
  const hex = (value, digits = 0) => "0x" + value.toString(16).padStart(digits, "0");
  const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
  const count = (number, one) => number.toLocaleString("en") + " " + one + (number === 1 ? "" : "s");
  // Something that a click, Enter or the space bar opens.
  const opens = (label, action) => ({
    tabindex: 0, role: "button", "aria-label": label, click: action,
    keydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); action(); } },
  });
  const table = (heads, rows) => h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", {}, head)))), h("tbody", {}, rows)));
  const row = (...cells) => h("tr", {}, cells.map((cell) =>
    h("td", { class: typeof cell !== "string" ? null : /^0x| × /.test(cell) ? "n hex" : /^[-0-9]/.test(cell) ? "n" : null }, cell)));
  const layerOf = (task) => (task.layer ? "; " + task.layer : "");
  const refusalOf = (side, index) => side.walk.refusals.find((one) => one.task === index);
  // Why a run of the program ended at this task.
  const endOf = (side, index) => (side.ended && side.ended.task === index ? side.ended.why : null);
  const pick = (side, task, to = 4) => { state.side = side; state.task = task; show(to); };
  const isPicked = (side, task) => state.side === side && state.task === task;

  function told(side) {
    const walk = side.walk, lines = [];
    const program = side.program;
    lines.push(h("p", { class: "faint" }, program.container + " for " + program.generation + ", " +
      count(side.task_count, "task") + ", " + count(walk.cycles, "cycle") + " or " +
      (walk.nanoseconds / 1000).toFixed(1) + " µs of virtual time on " + data.chip +
      (walk.tasks.length < side.task_count ? "; the first " + walk.tasks.length + " tasks are shown" : "")));
    for (const note of program.notes || []) lines.push(h("p", { class: "faint" }, "Note: " + note));
    if (walk.damage) lines.push(h("p", { class: "bad" }, "The tasks cannot be followed further: " + walk.damage));
    if (side.ended) lines.push(h("p", { class: "bad" }, "A run ended at task " + side.ended.task + ": " + side.ended.why + "."));
    for (const one of walk.refusals.slice(0, 20)) {
      const where = one.register ? one.register + (one.field ? "." + one.field : "") + " at " + hex(one.address) +
        ", bits " + hex(one.bits, 8) + " of " + hex(one.value, 8) : "its descriptor";
      lines.push(h("p", { class: "bad" }, "Task " + one.task + " is refused (" + one.category + "): " + where + ": " +
        one.why + ". Try: " + one.hint + "."));
    }
    if (walk.refusals.length > 20) lines.push(h("p", { class: "bad" }, "and " + (walk.refusals.length - 20) + " more"));
    return lines;
  }

  // Surfaces and constants above, tasks below them in the order of their execution, what is written behind the last.
  function graph(side, at) {
    // As wide as there is room, so that text keeps its size on a narrow screen.
    const room = view.clientWidth / (view.clientWidth > 1000 ? data.sides.length : 1) - 44;
    const width = Math.max(280, Math.min(640, room)), left = width < 420 ? 56 : 86;
    const walk = side.walk, step = 40, tall = 30, letters = Math.floor((width - left - 24) / 6.6);
    const nodes = [], place = new Map();
    const add = (key, node) => { place.set(key, nodes.length); nodes.push(node); };
    const bars = new Map(side.program.bars.map((bar) => [bar.index, bar.role]));
    const writes = new Set(), reads = new Set();
    for (const task of walk.tasks) for (const base of task.bases) (base.what === "result" ? writes : reads).add(base.bar);
    for (const bar of reads) if (!writes.has(bar)) add("in" + bar, { text: (bars.get(bar) || "BAR " + bar), bar });
    for (const task of walk.tasks) add("t" + task.index, { text: task.index + "  " + task.summary + layerOf(task), task });
    for (const bar of writes) if (!reads.has(bar)) add("out" + bar, { text: (bars.get(bar) || "BAR " + bar), bar });
    const height = nodes.length * step + 10;
    const y = (index) => index * step + 6;
    const edges = [], last = new Map();
    const edge = (from, to) => { if (place.has(from) && place.has(to)) edges.push([place.get(from), place.get(to)]); };
    for (const task of walk.tasks) {
      const me = "t" + task.index;
      for (const made of task.takes) edge("t" + made, me);
      for (const base of task.bases) {
        if (base.what === "result") continue;
        if (last.has(base.bar)) edge("t" + last.get(base.bar), me); else edge("in" + base.bar, me);
      }
      for (const base of task.bases) if (base.what === "result") { last.set(base.bar, task.index); edge(me, "out" + base.bar); }
    }
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
      "aria-label": "graph of tasks" });
    for (const [from, to] of edges) {
      const bend = left - Math.min(left - 12, 10 + 7 * Math.abs(to - from));
      const a = y(from) + tall - 8, b = y(to) + 8;
      svg.append(s("path", { class: "edge", d: `M ${left} ${a} C ${bend} ${a}, ${bend} ${b}, ${left - 5} ${b} l -4 -4 m 4 4 l -4 4` }));
    }
    nodes.forEach((node, index) => {
      const task = node.task, refused = task && refusalOf(side, task.index), ended = task && endOf(side, task.index);
      const wrong = refused ? "refused: " : ended ? "run ended: " : "";
      const attributes = task ? { class: "node", ...opens("task " + node.text, () => pick(at, task.index)) } : {};
      svg.append(s("g", { ...attributes, "data-task": task ? task.index : null },
        s("rect", { class: "box" + (wrong ? " bad" : "") + (task && isPicked(at, task.index) ? " picked" : ""), x: left,
          y: y(index), width: width - left - 4, height: tall, rx: task ? 4 : 15 }),
        s("text", { x: left + 12, y: y(index) + 20, class: task ? null : "dim" },
          cut(wrong + node.text, letters)),
        s("title", {}, wrong ? node.text + "\n" + wrong + (refused ? refused.why : ended) : node.text)));
    });
    return [...told(side), svg];
  }

  function timeline(side, at) {
    const walk = side.walk, left = 150, lane = 26, wide = Math.max(300, view.clientWidth / (view.clientWidth > 1000 ? data.sides.length : 1) - 60 - left);
    const width = left + wide * state.zoom, scale = (wide * state.zoom) / Math.max(walk.cycles, 1);
    const svg = s("svg", { width: Math.min(width + 8, 60000), height: parts.length * lane + 44, role: "group", "aria-label": "timeline" });
    for (const task of walk.tasks) {
      if (!task.cycles) continue;
      const x = left + task.start * scale, across = Math.max(task.cycles * scale, 1);
      const group = s("g", { class: "node", "data-task": task.index, ...opens("task " + task.index, () => pick(at, task.index)) },
        s("title", {}, "task " + task.index + ": " + task.summary + layerOf(task) + "\n" + count(task.cycles, "cycle")),
        s("rect", { x, y: 2, width: across, height: parts.length * lane + 18, fill: "transparent",
          class: isPicked(at, task.index) ? "picked" : null }));
      if (across > 24) group.append(s("text", { x: x + 2, y: 14, class: "dim" }, String(task.index)));
      for (const [part, from, to] of task.spans) {
        const line = parts.indexOf(part);
        group.append(s("rect", { class: "c" + line, x: x + from * scale, y: 20 + line * lane,
          width: Math.max((to - from) * scale, 0.7), height: lane - 8, rx: 1.5 }));
      }
      svg.append(group);
    }
    parts.forEach((part, line) => svg.append(s("text", { x: 0, y: 34 + line * lane }, part)));
    for (let i = 0; i <= 4; i += 1) {
      const x = left + (wide * state.zoom * i) / 4;
      svg.append(s("text", { class: "dim", x, "text-anchor": i ? "end" : "start", y: parts.length * lane + 38 },
        Math.round((walk.cycles * i) / 4).toLocaleString("en") + (i === 4 ? " cycles" : "")));
    }
    return [...told(side), h("div", { class: "scroll" }, svg)];
  }

  // Where operands lie on chip, and how warm each bank gets, task by task.
  function memory(side, at) {
    const walk = side.walk, tasks = walk.tasks.filter((task) => task.heat.length);
    if (!tasks.length) return [...told(side), h("p", { class: "faint" }, "No task is understood, so nothing is known of its memory.")];
    const left = 64, cell = Math.max(6, Math.min(26, Math.floor(540 / tasks.length))), width = left + cell * tasks.length + 10;
    const end = Math.max(...tasks.flatMap((task) => task.places.map((one) => one[2])), 1);
    const high = 240, room = s("svg", { width, height: high + 30, role: "group", "aria-label": "places on chip" });
    const kinds = ["result", "taken from the chip", "source, on its way", "result, on its way"];
    tasks.forEach((task, index) => {
      const group = s("g", { class: "node", "data-task": task.index, ...opens("task " + task.index + ", memory", () => pick(at, task.index)) });
      group.append(s("rect", { x: left + index * cell, y: 4, width: cell - 1, height: high, class: "box" + (isPicked(at, task.index) ? " picked" : "") }));
      task.places.forEach(([what, from, to], which) => {
        const share = (cell - 1) / task.places.length;
        group.append(s("rect", { class: "c" + kinds.indexOf(what), x: left + index * cell + which * share, width: Math.max(share - 0.5, 1),
          y: 4 + (high * from) / end, height: Math.max((high * (to - from)) / end, 1.5) },
          s("title", {}, `task ${task.index}: ${what}, ${hex(from)} to ${hex(to)}`)));
      });
      room.append(group);
    });
    room.append(s("text", { x: 0, y: 14, class: "dim" }, "0x0"), s("text", { x: 0, y: high, class: "dim" }, hex(end)));
    room.append(s("text", { x: left, y: high + 22, class: "dim" }, `task ${tasks[0].index} to ${tasks[tasks.length - 1].index}`));
    const warmest = Math.max(...tasks.flatMap((task) => task.heat), 1), banks = tasks[0].heat.length, tall = 5;
    const heat = s("svg", { width, height: banks * tall + 26, role: "img", "aria-label": "granules by bank and task" });
    tasks.forEach((task, index) => task.heat.forEach((granules, bank) => {
      if (granules) heat.append(s("rect", { class: "c0", "fill-opacity": (0.12 + (0.88 * granules) / warmest).toFixed(3),
        x: left + index * cell, y: bank * tall, width: cell - 1, height: tall - 0.6 },
        s("title", {}, `task ${task.index}, bank ${bank}: ${count(granules, "granule")}`)));
    }));
    for (let bank = 0; bank < banks; bank += 16) heat.append(s("text", { x: 0, y: bank * tall + 11, class: "dim" }, "bank " + bank));
    const legend = h("p", {}, kinds.map((kind, index) => [s("svg", { width: 12, height: 12, style: "display:inline;vertical-align:-1px" },
      s("rect", { class: "c" + index, width: 12, height: 12 })), " " + kind + "  "]).flat());
    return [...told(side), h("h3", {}, "Places on chip, by address"), legend, h("div", { class: "scroll" }, room),
      h("h3", {}, "Granules of 16 bytes by bank"), h("div", { class: "scroll" }, heat)];
  }

  function surfaces(side) {
    const program = side.program;
    return [...told(side),
      h("h3", {}, "Surfaces"),
      table(["", "name", "N C H W", "strides", "element", "BAR", "bytes"], program.surfaces.map((one) => row(one.direction, one.name,
        one.shape.join(" × "), one.strides.join(", "), one.element, String(one.bar), hex(one.buffer_bytes)))),
      h("h3", {}, "Base addresses"),
      table(["BAR", "carries", "bytes", "linked at"], program.bars.map((one) => row(String(one.index), one.role, hex(one.bytes), one.link || ""))),
      h("h3", {}, "Constants"),
      program.constants.length ? table(["section", "BAR", "bytes"], program.constants.map((one) => row(one.name, one.bar === null ? "" : String(one.bar), hex(one.bytes))))
        : h("p", { class: "faint" }, "none"),
      program.warnings.length ? h("h3", {}, "Warnings") : null, ...program.warnings.map((one) => h("p", { class: "bad" }, one)),
      ...(program.compiler || []).map((line) => h("p", { class: "faint" }, line))];
  }

  // The registers as they stand when the task runs: what it writes, and what tasks before it left.
  function standing(side, index) {
    const file = new Map();
    for (const task of side.walk.tasks) {
      for (const [name, value, was, fields] of task.registers) file.set(name, { name, value, was, fields, by: task.index });
      if (task.index === index) break;
    }
    return [...file.values()];
  }

  function meaning(name) {
    const entry = data.legend[name.replace(/\[\d+\]$/, "")];
    if (!entry) return h("p", { class: "faint" }, "nothing is known of it");
    const fields = Object.entries(entry.fields).map(([field, [bits, what, grade]]) => row(field, bits, what,
      h("span", { class: "grade " + (grade || entry.grade) }, grade || entry.grade || "unknown")));
    return [h("p", {}, entry.meaning + " ", h("span", { class: "grade " + entry.grade }, entry.grade || "unknown"), h("span", { class: "faint" }, " " + entry.source)),
      fields.length ? table(["field", "bits", "means", "grade"], fields) : null];
  }

  function registers(side, at) {
    const task = side.walk.tasks.find((one) => one.index === state.task) || side.walk.tasks[0];
    if (!task) return told(side);
    const refused = refusalOf(side, task.index), inside = [];
    inside.push(h("h3", {}, "Task " + task.index + ": " + task.summary));
    if (task.layer) inside.push(h("p", {}, "Layer " + task.layer));
    inside.push(h("p", { class: "faint" }, `${task.bytes} bytes at ${hex(task.offset)}, ` + (task.cycles ? count(task.cycles, "cycle") + " from cycle " + task.start.toLocaleString("en") : "not run")));
    if (refused) inside.push(h("p", { class: "bad" }, `Refused (${refused.category}): ${refused.register || "descriptor"} bits ${hex(refused.bits, 8)} of ${hex(refused.value, 8)}: ${refused.why}. Try: ${refused.hint}.`));
    const ended = endOf(side, task.index);
    if (ended) inside.push(h("p", { class: "bad" }, `A run ended here: ${ended}.`));
    for (const base of task.bases) inside.push(h("div", { class: "faint" }, `${base.what}: BAR ${base.bar}, ${base.role}`));
    const wanted = state.filter.toLowerCase();
    const rows = standing(side, task.index).filter((one) => (state.all || one.by === task.index || one.name === (refused || {}).register) &&
      (!wanted || (one.name + " " + one.fields.map((field) => field.join(" ")).join(" ")).toLowerCase().includes(wanted)));
    const body = rows.flatMap((one) => {
      const line = h("tr", { class: "row", ...opens("register " + one.name, () => {
        const next = line.nextSibling;
        if (next && next.classList.contains("opened")) { next.remove(); line.setAttribute("aria-expanded", "false"); return; }
        line.setAttribute("aria-expanded", "true");
        line.after(h("tr", { class: "opened" }, h("td", { colspan: 4 }, h("div", { class: "more" }, meaning(one.name)))));
      }) }, h("td", { class: refused && refused.register === one.name ? "bad" : null }, one.name), h("td", { class: "n hex" }, hex(one.value, 8)),
        h("td", { class: "n hex faint" }, one.was === null || one.by !== task.index ? "" : hex(one.was, 8)),
        h("td", {}, one.fields.map(([field, shown]) => field + " " + shown).join(", ")));
      return [line];
    });
    inside.push(body.length ? table(["register", "value", "was", "fields that are not zero"], body) : h("p", { class: "faint" }, "It writes nothing that is not so already."));
    return inside;
  }

  function differences() {
    const found = data.differences;
    return [h("p", {}, found.count ? count(found.count, "difference") + (found.count > found.differences.length ? ", the first " + found.differences.length + " are listed" : "") : "no differences"),
      found.differences.length ? table(["where", data.sides[0].name, data.sides[1].name], found.differences.map((one) => row(one.place, one.a, one.b))) : null,
      ...found.notes.map((note) => h("p", { class: "faint" }, note))];
  }

  const tools = {
    1: () => h("div", { class: "tools" }, h("label", {}, "zoom ", h("input", { type: "range", min: 0, max: 6, step: 1, value: Math.log2(state.zoom), "aria-label": "zoom",
      change: (event) => { state.zoom = 2 ** Number(event.target.value); show(1); } }))),
    4: () => h("div", { class: "tools" },
      h("button", { type: "button", click: () => move(-1) }, "previous task"), h("button", { type: "button", click: () => move(1) }, "next task"),
      h("label", {}, h("input", { type: "checkbox", ...(state.all ? { checked: "" } : {}), change: (event) => { state.all = event.target.checked; show(4); } }), " also what tasks before it wrote"),
      h("input", { type: "search", placeholder: "filter", value: state.filter, "aria-label": "filter registers",
        change: (event) => { state.filter = event.target.value; show(4); } })),
  };
  const views = [["Graph", graph], ["Timeline", timeline], ["Memory", memory], ["Surfaces", surfaces], ["Registers", registers]];
  if (data.differences) views.push(["Differences", null]);

  function move(by) {
    const tasks = data.sides[state.side].walk.tasks;
    if (!tasks.length) return;
    state.task = tasks[Math.min(Math.max(tasks.findIndex((one) => one.index === state.task) + by, 0), tasks.length - 1)].index;
    show(state.view);
  }

  function show(which) {
    state.view = which;
    [...tabs.children].forEach((tab, index) => { tab.setAttribute("aria-selected", String(index === which)); tab.tabIndex = index === which ? 0 : -1; });
    const draw = views[which][1];
    const inside = draw ? h("div", { class: "sides" }, data.sides.map((side, at) =>
      h("section", {}, data.sides.length > 1 ? h("h2", {}, side.name) : null, draw(side, at)))) : differences();
    view.replaceChildren(...[tools[which] ? tools[which]() : null, inside].flat().filter((one) => one));
    view.dataset.view = views[which][0];
  }

  views.forEach(([name], index) => tabs.append(h("button", { type: "button", role: "tab", click: () => show(index) }, name)));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target.tagName === "INPUT" && event.target.type === "search")) return;
    if (/^[1-9]$/.test(event.key) && views[event.key - 1]) show(event.key - 1);
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "t") theme();
    else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && tabs.contains(event.target)) {
      show((state.view + (event.key === "ArrowRight" ? 1 : views.length - 1)) % views.length);
      tabs.children[state.view].focus();
    }
  });
  const theme = () => document.documentElement.classList.toggle("dark");
  document.getElementById("theme").addEventListener("click", theme);
  if (window.matchMedia("(prefers-color-scheme: dark)").matches) theme();
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => show(state.view), 60); });
  // page.html#memory opens that view.
  const named = views.findIndex(([name]) => "#" + name.toLowerCase() === location.hash.toLowerCase());
  show(Math.max(named, 0));
})();
