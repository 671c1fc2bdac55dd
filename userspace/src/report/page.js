"use strict";
// Draws the page from its data. Text of the file is only ever set as text, so that nothing in it becomes markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = document.getElementById("view");
  const tabs = document.getElementById("tabs");
  const parts = data.parts, kinds = data.places;
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
  const refusalOf = (side, index) => side.refusals.get(index);
  // Why a run of the program ended at this task.
  const endOf = (side, index) => (side.ended && side.ended.task === index ? side.ended.why : null);
  const pick = (side, task, to = 4) => { state.side = side; state.task = task; show(to); };
  const isPicked = (side, task) => state.side === side && state.task === task;

  // A number of 16 or 32 bits as the float that it is, without an exponent.
  function float(value, half) {
    const bytes = new DataView(new ArrayBuffer(4));
    // A half is a single with fewer bits: its exponent is moved, its subnormal numbers are multiples of 2^-24.
    const exponent = (value >> 10) & 31, sign = value >> 15 ? -1 : 1, part = value & 1023;
    bytes.setUint32(0, value);
    const number = !half ? bytes.getFloat32(0) : exponent === 31 ? (part ? NaN : sign * Infinity)
      : sign * (exponent ? (1024 + part) * 2 ** (exponent - 25) : part * 2 ** -24);
    if (Number.isNaN(number)) return "nan (" + hex(value) + ")";
    const minus = number < 0 || Object.is(number, -0) ? "-" : "";
    if (Math.abs(number) === Infinity) return minus + "inf";
    const [digits, power] = String(Math.abs(number)).split("e"), [whole, rest = ""] = digits.split(".");
    if (power === undefined) return minus + digits;
    const point = whole.length + Number(power), all = whole + rest;
    return minus + (point > 0 ? all.padEnd(point, "0") : "0." + "0".repeat(-point) + all);
  }

  // The number of a field as text: `how` is a name, the shift of a number of bytes (negative if they have a sign), or the names
  // of codes.
  function shown(how, value) {
    const power = (exponent) => "2^" + exponent + (exponent < 32 ? " = " + 2 ** exponent : "");
    if (typeof how === "object") return value in how ? how[value] : value + " (unknown)";
    if (typeof how === "number") {
      const bytes = value * 2 ** Math.abs(how);
      return (how < 0 && bytes >= 2 ** 31 ? "-" + hex(2 ** 32 - bytes) : hex(bytes)) + " bytes";
    }
    if (how === "hex") return hex(value);
    if (how === "half" || how === "single") return float(value, how === "half");
    if (how === "log2") return power(value);
    if (how === "log2 plus one") return value ? value + ": " + power(value - 1) : "none";
    return String(value);
  }

  // The fields of a word that say something: those that are not zero, and codes.
  function fieldsOf(register, word) {
    const unknown = (word & (register ? register.unknown || 0 : -1)) >>> 0, fields = [];
    for (const [name, low, bits, how] of register ? register.fields : []) {
      const value = (word >>> low) & (2 ** bits - 1), number = value >>> 0;
      if (number || typeof how === "object") fields.push([name, shown(how, number)]);
    }
    if (unknown) fields.push(["bits that no source explains", hex(unknown, 8)]);
    return fields;
  }

  // An arrow that a line does not end inside of.
  const arrows = (text) => text.replaceAll("->", "→");
  // Text with commands between backquotes.
  const prose = (text) => text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
  const pairs = (flat, take) => { for (let i = 0; i < flat.length; i += 2) take(flat[i], flat[i + 1]); };
  // What the data leave out, filled in: texts for their numbers, banks and spans one by one.
  function unpack(side) {
    for (const task of side.walk.tasks) {
      task.summary = arrows(data.texts[task.summary]);
      if (task.layer !== undefined) task.layer = data.texts[task.layer];
      task.bases = task.bases.map(([what, bar, role]) => ({ what: data.texts[what], bar, role: data.texts[role] }));
      task.takes = task.takes || [];
      task.places = task.places || [];
      const heat = [], spans = [];
      pairs(task.heat || [], (granules, times) => { for (let i = 0; i < times; i += 1) heat.push(granules); });
      (task.spans || []).forEach((flat, part) => {
        let end = 0;
        for (let i = 0; i < flat.length; i += 3) {
          for (let n = 0; n < flat[i + 2]; n += 1) { const from = end + flat[i]; end = from + flat[i + 1]; spans.push([part, from, end]); }
        }
      });
      Object.assign(task, { heat, spans });
    }
    side.refusals = new Map(side.walk.refusals.map((one) => [one.task, { ...one, why: data.texts[one.why], hint: data.texts[one.hint] }]));
  }
  data.sides.forEach(unpack);

  function told(side, at) {
    const walk = side.walk, lines = [], later = walk.tasks.length - walk.first;
    const program = side.program;
    lines.push(h("p", { class: "faint" }, program.container + " for " + program.generation + ", " +
      count(side.task_count, "task") + ", " + count(walk.cycles, "cycle") + " or " +
      (walk.nanoseconds / 1000).toFixed(1) + " µs of virtual time on " + data.chip));
    if (walk.tasks.length < side.task_count) lines.push(h("p", { class: "faint", id: "shown" }, walk.tasks.length.toLocaleString("en") +
      " of " + count(side.task_count, "task") + (walk.tasks.length === 1 ? " is" : " are") + " shown: the first " + walk.first +
      (later ? ", and behind them " + later + " that " + (later === 1 ? "is" : "are") + " refused or ended a run" : "")));
    for (const note of program.notes || []) lines.push(h("p", { class: "faint" }, "Note: " + note));
    lines.push(more(side, "notes"));
    if (walk.damage) lines.push(h("p", { class: "bad" }, "The tasks cannot be followed further: " + walk.damage));
    const link = (text, task) => h("button", { type: "button", class: "link", click: () => pick(at, task) }, text);
    if (side.ended) lines.push(h("p", { class: "bad" }, "A run ended at ", link("task " + side.ended.task, side.ended.task), ": " + side.ended.why + "."));
    const refusals = [...side.refusals.values()], listed = refusals.slice(0, 20);
    for (const one of listed) {
      const where = one.register ? one.register + (one.field ? "." + one.field : "") + " at " + hex(one.address) +
        ", bits " + hex(one.bits, 8) + " of " + hex(one.value, 8) : "its descriptor";
      lines.push(h("p", { class: "bad" }, link("Task " + one.task, one.task), " is refused (" + one.category + "): " + where + ": " +
        one.why + ". Hint: ", prose(one.hint), "."));
    }
    const rest = walk.refused - listed.length, hidden = walk.refused - refusals.length;
    if (rest) lines.push(h("p", { class: "bad", id: "refused" }, count(walk.refused, "task") + " are refused, " + rest.toLocaleString("en") +
      " more than listed here" + (hidden ? "; " + hidden.toLocaleString("en") + " of them " + (hidden === 1 ? "is" : "are") + " not shown" : "")));
    if (walk.not_understood !== null && walk.not_understood + 1 < side.task_count) lines.push(h("p", { class: "bad" },
      "What task " + walk.not_understood + " leaves in registers is unknown, so the tasks behind it are not checked."));
    return lines;
  }

  // The number of entries of a list that the page has no room for.
  function more(side, list) {
    const left = (side.program.more || {})[list];
    return left ? h("p", { class: "faint" }, "and " + left.toLocaleString("en") + " more " + list) : null;
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
    let next = 0;
    for (const task of walk.tasks) {
      if (task.index > next) add("gap" + next, { text: count(task.index - next, "task") + " not shown" });
      add("t" + task.index, { text: task.index + "  " + task.summary + layerOf(task), task });
      next = task.index + 1;
    }
    if (next < side.task_count) add("gap" + next, { text: count(side.task_count - next, "task") + " not shown" });
    for (const bar of writes) if (!reads.has(bar)) add("out" + bar, { text: (bars.get(bar) || "BAR " + bar), bar });
    const height = nodes.length * step + 10;
    const y = (index) => index * step + 6;
    const edges = [], last = new Map();
    const edge = (from, to) => { if (place.has(from) && place.has(to)) edges.push([place.get(from), place.get(to)]); };
    let before = -1;
    for (const task of walk.tasks) {
      const me = "t" + task.index;
      // Behind a gap it is unknown what wrote a buffer last.
      if (task.index > before + 1) last.clear();
      const isKnown = task.index < walk.first;
      before = task.index;
      for (const made of task.takes) edge("t" + made, me);
      for (const base of task.bases) {
        if (base.what === "result") continue;
        if (last.has(base.bar)) edge("t" + last.get(base.bar), me); else if (isKnown) edge("in" + base.bar, me);
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
    return [...told(side, at), svg];
  }

  function timeline(side, at) {
    const walk = side.walk, left = 150, lane = 26, wide = Math.max(300, view.clientWidth / (view.clientWidth > 1000 ? data.sides.length : 1) - 60 - left);
    // Tasks that are not shown take no room.
    const cycles = walk.tasks.reduce((sum, task) => sum + task.cycles, 0);
    // A picture that is wider is drawn by no browser. All of the time is in it, less far apart than was asked for.
    const length = Math.min(wide * state.zoom, 60000 - left - 8), scale = length / Math.max(cycles, 1);
    const svg = s("svg", { width: left + length + 8, height: parts.length * lane + 44, role: "group", "aria-label": "timeline" });
    let begin = 0;
    for (const task of walk.tasks) {
      if (!task.cycles) continue;
      const x = left + begin * scale, across = Math.max(task.cycles * scale, 1);
      const group = s("g", { class: "node", "data-task": task.index, ...opens("task " + task.index, () => pick(at, task.index)) },
        s("title", {}, "task " + task.index + ": " + task.summary + layerOf(task) + "\n" + count(task.cycles, "cycle")),
        s("rect", { x, y: 2, width: across, height: parts.length * lane + 18, fill: "transparent",
          class: isPicked(at, task.index) ? "picked" : null }));
      if (across > 24) group.append(s("text", { x: x + 2, y: 14, class: "dim" }, String(task.index)));
      begin += task.cycles;
      for (const [line, from, to] of task.spans) {
        group.append(s("rect", { class: "c" + line, x: x + from * scale, y: 20 + line * lane,
          width: Math.max((to - from) * scale, 0.7), height: lane - 8, rx: 1.5 }));
      }
      svg.append(group);
    }
    parts.forEach((part, line) => svg.append(s("text", { x: 0, y: 34 + line * lane }, part)));
    // Few numbers where there is little room, so that they do not meet.
    const steps = length < 420 ? 2 : 4;
    for (let i = 0; i <= steps; i += 1) {
      const x = left + (length * i) / steps;
      svg.append(s("text", { class: "dim", x, "text-anchor": i ? "end" : "start", y: parts.length * lane + 38 },
        Math.round((cycles * i) / steps).toLocaleString("en") + (i === steps ? " cycles" : "")));
    }
    return [...told(side, at), h("div", { class: "scroll" }, svg)];
  }

  // Where operands lie on chip, and how warm each bank gets, task by task.
  function memory(side, at) {
    const walk = side.walk, tasks = walk.tasks.filter((task) => task.heat.length);
    if (!tasks.length) return [...told(side, at), h("p", { class: "faint" }, "No task is understood, so nothing is known of its memory.")];
    const left = 64, cell = Math.max(6, Math.min(26, Math.floor(540 / tasks.length))), width = left + cell * tasks.length + 10;
    const end = Math.max(...tasks.flatMap((task) => task.places.map((one) => one[2])), 1);
    const high = 240, room = s("svg", { width, height: high + 30, role: "group", "aria-label": "places on chip" });
    tasks.forEach((task, index) => {
      const group = s("g", { class: "node", "data-task": task.index, ...opens("task " + task.index + ", memory", () => pick(at, task.index)) });
      group.append(s("rect", { x: left + index * cell, y: 4, width: cell - 1, height: high, class: "box" + (isPicked(at, task.index) ? " picked" : "") }));
      task.places.forEach(([what, from, to], which) => {
        const share = (cell - 1) / task.places.length;
        group.append(s("rect", { class: "c" + what, x: left + index * cell + which * share, width: Math.max(share - 0.5, 1),
          y: 4 + (high * from) / end, height: Math.max((high * (to - from)) / end, 1.5) },
          s("title", {}, `task ${task.index}: ${kinds[what]}, ${hex(from)} to ${hex(to)}`)));
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
    const legend = h("p", { class: "legend" }, kinds.map((kind, index) => h("span", {}, s("svg", { width: 12, height: 12 },
      s("rect", { class: "c" + index, width: 12, height: 12 })), kind)));
    return [...told(side, at), h("h3", {}, "Places on chip, by address"), legend, h("div", { class: "scroll" }, room),
      h("h3", {}, "Granules of 16 bytes by bank"), h("div", { class: "scroll" }, heat)];
  }

  function surfaces(side, at) {
    const program = side.program;
    return [...told(side, at),
      h("h3", {}, "Surfaces"),
      table(["", "name", "N C H W", "strides", "element", "BAR", "bytes"], program.surfaces.map((one) => row(one.direction, one.name,
        one.shape.join(" × "), one.strides.join(", "), one.element, String(one.bar), hex(one.buffer_bytes)))), more(side, "surfaces"),
      h("h3", {}, "Base addresses"),
      table(["BAR", "carries", "bytes", "linked at"], program.bars.map((one) => row(String(one.index), one.role, hex(one.bytes), one.link || ""))),
      h("h3", {}, "Constants"),
      program.constants.length ? table(["section", "BAR", "bytes"], program.constants.map((one) => row(one.name, one.bar === null ? "" : String(one.bar), hex(one.bytes))))
        : h("p", { class: "faint" }, "none"), more(side, "constants"),
      program.warnings.length ? h("h3", {}, "Warnings") : null, ...program.warnings.map((one) => h("p", { class: "bad" }, one)), more(side, "warnings"),
      ...(program.compiler || []).map((line) => h("p", { class: "faint" }, line)), more(side, "compiler")];
  }

  // The registers as they stand when the task runs: what it writes, and what tasks before it left. Data have changes only;
  // a register that nothing has changed is zero.
  function standing(side, index) {
    const file = new Map();
    for (const task of side.walk.tasks) {
      const write = (by) => (slot, value) => {
        const before = file.get(slot);
        file.set(slot, { value, was: task.index ? (before ? before.value : 0) : null, by });
      };
      pairs(task.left || [], write(null));
      pairs(task.registers, write(task.index));
      if (task.index === index) break;
    }
    return [...file].map(([slot, one]) => {
      const place = data.slots[slot], [number, nth] = Array.isArray(place) ? place : [place];
      const register = data.registers[number];
      const name = register ? register.name + (nth === undefined ? "" : `[${nth}]`) : "unknown at " + hex(place.address);
      return { ...one, name, register, fields: fieldsOf(register, one.value) };
    });
  }

  function meaning(register) {
    if (!register) return h("p", { class: "faint" }, "no source knows a register here");
    const grade = (name) => h("span", { class: "grade " + name }, name);
    const fields = register.fields.map(([field, low, bits, , what, own]) =>
      row(field, bits > 1 ? low + bits - 1 + ":" + low : String(low), what, grade(own || register.grade)));
    return [h("p", {}, register.meaning + " ", grade(register.grade), h("span", { class: "faint" }, " " + register.source)),
      fields.length ? table(["field", "bits", "means", "grade"], fields) : null];
  }

  function registers(side, at) {
    const task = side.walk.tasks.find((one) => one.index === state.task) || side.walk.tasks[0];
    if (!task) return told(side, at);
    const refused = refusalOf(side, task.index), inside = [];
    inside.push(h("h3", {}, "Task " + task.index + ": " + task.summary));
    if (task.layer) inside.push(h("p", {}, "Layer " + task.layer));
    inside.push(h("p", { class: "faint" }, `${task.bytes} bytes at ${hex(task.offset)}, ` + (task.cycles ? count(task.cycles, "cycle") + " from cycle " + task.start.toLocaleString("en") : "not run")));
    if (refused) inside.push(h("p", { class: "bad" }, `Refused (${refused.category}): ${refused.register || "descriptor"} bits ${hex(refused.bits, 8)} of ${hex(refused.value, 8)}: ${refused.why}. Hint: `, prose(refused.hint), "."));
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
        line.after(h("tr", { class: "opened" }, h("td", { colspan: 4 }, h("div", { class: "more" }, meaning(one.register)))));
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
      found.differences.length ? table(["where", data.sides[0].name, data.sides[1].name], found.differences.map((one) => row(one.place, arrows(one.a), arrows(one.b)))) : null,
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
