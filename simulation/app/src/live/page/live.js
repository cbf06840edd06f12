// The live page: takes frames from the server, draws them, and sends what is asked of the run.
//
// Frames come as server-sent events, each part by its name; the page keeps the latest of each and draws once a screen
// refresh, so that a page in the background draws nothing and is right again at once.
"use strict";
const token = new URLSearchParams(location.search).get("token") || "";
const $ = (id) => document.getElementById(id);
const latest = { now: null, layout: null, loads: null, matrix: null, lanes: null, tables: null, parameters: null };
const fresh = new Set();
const flashes = new Map(); // by federate: until when a rollback is shown
let colours = {};
let ended = false;

// Colours of the style sheet, read again when the theme changes.
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue("--" + name).trim();
  for (const name of ["text", "quiet", "link", "good", "bad", "ground", "panel", "rule", "grid"]) colours[name] = get(name);
  colours.series = [0, 1, 2, 3, 4, 5, 6, 7].map((one) => get("series" + one));
  colours.dark = matchMedia("(prefers-color-scheme: dark)").matches;
  $("ramp").style.background = "linear-gradient(90deg," + [0, 0.25, 0.5, 0.75, 1].map(ramp).join() + ")";
  for (const name of Object.keys(latest)) fresh.add(name);
  schedule();
}

// From quiet to hot, by way of blue, yellow and orange: told apart without red and green too.
const STOPS = {
  light: [[168, 188, 208], [91, 143, 199], [201, 153, 46], [213, 94, 0], [165, 17, 27]],
  dark: [[61, 90, 122], [79, 143, 208], [229, 198, 74], [255, 143, 69], [255, 90, 77]],
};
const ramps = new Map();
function ramp(load) {
  const step = Math.round(100 * Math.max(0, Math.min(1, load)));
  const key = step + (colours.dark ? 1000 : 0);
  if (!ramps.has(key)) {
    const stops = STOPS[colours.dark ? "dark" : "light"];
    const at = (step / 100) * (stops.length - 1);
    const first = Math.min(stops.length - 2, Math.floor(at));
    const mixed = stops[first].map((one, part) => Math.round(one + (stops[first + 1][part] - one) * (at - first)));
    ramps.set(key, `rgb(${mixed.join()})`);
  }
  return ramps.get(key);
}

function seconds(value) {
  const size = Math.abs(value);
  if (size >= 100) return value.toLocaleString("en", { maximumFractionDigits: 1 }) + " s";
  if (size >= 1 || size === 0) return value.toFixed(3) + " s";
  if (size >= 1e-3) return (value * 1e3).toFixed(3) + " ms";
  if (size >= 1e-6) return (value * 1e6).toFixed(3) + " µs";
  return (value * 1e9).toFixed(3) + " ns";
}

function ratio(value) {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

// A number in text with its thousands apart, other text as it is.
function grouped(text) {
  return text.replace(/^\d{4,}(?![\d:])/, (digits) => BigInt(digits).toLocaleString("en"));
}

function short(value) {
  for (const [size, unit] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]]) {
    if (value >= size) return (value / size).toPrecision(3) + unit;
  }
  return String(Math.round(value));
}

// Names and values; rows stay, so that a reader of the screen is not sent back to the start.
function list(box, rows) {
  while (box.children.length > rows.length) box.lastChild.remove();
  rows.forEach(([name, value], place) => {
    let row = box.children[place];
    if (!row) {
      row = box.appendChild(document.createElement("div"));
      row.append(document.createElement("dt"), document.createElement("dd"));
    }
    const [dt, dd] = row.children;
    if (dt.textContent !== name) dt.textContent = name;
    if (dd.textContent !== value) dd.textContent = value;
  });
}

function setState(state, text) {
  const box = $("state");
  box.dataset.state = state;
  if (box.textContent !== text) box.textContent = text;
}

function showNow() {
  const now = latest.now;
  if (!now) return;
  const state = now.ended ? "ended" : now.stopping ? "stopping" : now.paused ? "paused" : "running";
  setState(state, state);
  const title = now.scenario + ", " + state;
  if (document.title !== title) document.title = title;
  $("scenario").textContent = now.scenario;
  // What is no run says itself what it is, and names its numbers.
  const run = !now.numbers;
  const first = now.processes > 1 ? `, the first of ${now.processes} processes` : "";
  $("about").textContent = run ? now.model + (now.protocol ? ", protocol " + now.protocol : ", a model of processes") + first : now.about;
  const done = !run ? now.done : now.until ? Math.min(1, now.simulated / now.until) : null;
  if (done === null) $("progress").removeAttribute("value");
  else $("progress").value = done;
  list($("numbers"), run ? numbersOfRun(now) : now.numbers);
  showControls(now);
  drawHerd(now);
}

function numbersOfRun(now) {
  const work = now.work[0].toUpperCase() + now.work.slice(1);
  const rows = [
    ["Simulated", seconds(now.simulated)],
    ["Until", now.until ? seconds(now.until) : "no events are left"],
    ["Real time", seconds(now.real)],
    ["Simulated / real", now.real > 0 ? ratio(now.simulated / now.real) : "-"],
    ["Speed", now.pace ? now.pace + " of real time" : "free"],
    [work, now.events.toLocaleString("en")],
    [work + " a second", short(now.rate)],
    ["Threads", String(now.threads)],
    ["Memory", now.memory ? Math.round(now.memory / 1e6).toLocaleString("en") + " MB" : "-"],
  ];
  if (now.waiting) rows.push(["Events waiting", now.waiting.toLocaleString("en")]);
  if (now.rollbacks) {
    rows.push(["Efficiency", (100 * now.efficiency).toFixed(1) + " %"]);
    rows.push(["Rollbacks", now.rollbacks.toLocaleString("en")]);
  }
  (now.herd.idle || []).forEach((idle, worker) => {
    if (worker < 8) rows.push(["Thread " + worker, "waits " + idle + " %"]);
  });
  if (now.paused === undefined) rows.splice(4, 1);
  return rows;
}

// Only what can be asked has a button; a group without buttons is not there.
const CONTROLS = { pause: ["pause"], go: ["go"], window: ["window"], step: ["step"], pace: ["pace"], threads: ["threads", "set-threads"], checkpoint: ["checkpoint"], stop: ["stop"] };
let lastCan = [];
function showControls(now) {
  const over = now.ended || now.stopping;
  // What has ended answers nothing any more: its buttons stay, and are off.
  if (!over) lastCan = now.can;
  const off = { pause: now.paused, go: now.paused === false };
  for (const [request, ids] of Object.entries(CONTROLS)) {
    for (const id of ids) {
      $(id).hidden = !lastCan.includes(request);
      $(id).disabled = Boolean(over || off[request]);
    }
  }
  document.querySelectorAll("#controls .group").forEach((group) => {
    group.hidden = ![...group.querySelectorAll("button, select, input")].some((one) => !one.hidden);
  });
  $("controls").hidden = lastCan.length === 0;
  const fixed = over || !lastCan.includes("set");
  document.querySelectorAll("#parameters input, #parameters button").forEach((one) => (one.disabled = fixed));
  $("step").textContent = now.step || "One event";
  if (document.activeElement !== $("threads") && now.threads) $("threads").value = now.threads;
  const pace = now.pace ? String(now.pace) : "free";
  if (document.activeElement !== $("pace") && [...$("pace").options].some((one) => one.value === pace)) $("pace").value = pace;
}

// A field for each parameter that can be changed; what somebody is typing stays.
const PARAMETERS_MAX = 60;
function showParameters() {
  if (!latest.parameters) return;
  const shown = latest.parameters.slice(0, PARAMETERS_MAX);
  const box = $("parameters");
  box.hidden = shown.length === 0;
  const names = JSON.stringify(shown.map((one) => one.name));
  if (box.dataset.names !== names) {
    box.dataset.names = names;
    box.replaceChildren(...shown.map(parameterForm));
  }
  shown.forEach((one, place) => {
    const form = box.children[place];
    const input = form.querySelector("input");
    const value = String(one.value);
    const hint = "Allowed: " + one.allowed;
    if (form.lastChild.textContent !== hint) form.lastChild.textContent = hint;
    if (input.dataset.now === value) return;
    input.dataset.now = value;
    if (document.activeElement !== input) input.value = value;
  });
  if (latest.now) showControls(latest.now);
}

function parameterForm(parameter, place) {
  const form = document.createElement("form");
  const [label, input, button, hint] = ["label", "input", "button", "small"].map((kind) => form.appendChild(document.createElement(kind)));
  input.id = "parameter" + place;
  label.htmlFor = input.id;
  label.textContent = parameter.name + (parameter.unit ? ", " + parameter.unit : "");
  hint.id = input.id + "-allowed";
  input.setAttribute("aria-describedby", hint.id);
  input.autocomplete = "off";
  button.textContent = "Set";
  button.setAttribute("aria-label", "Set " + parameter.name);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(`set ${parameter.name} ${input.value.replace(/\s+/g, "")}`);
  });
  return form;
}

// A canvas of the size that it is shown in, in device pixels; its pen is in CSS pixels.
function canvas(id) {
  const box = $(id);
  const scale = devicePixelRatio || 1;
  const [width, height] = [box.clientWidth, box.clientHeight];
  if (box.width !== Math.round(width * scale) || box.height !== Math.round(height * scale)) {
    box.width = Math.round(width * scale);
    box.height = Math.round(height * scale);
  }
  const pen = box.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  return { box, pen, width, height };
}

function line(pen, x1, y1, x2, y2, colour, dash) {
  pen.strokeStyle = colour;
  pen.setLineDash(dash || []);
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
  pen.setLineDash([]);
}

// The herd: a row for each federate, its dot at its LVT; GVT at the left.
function drawHerd(now) {
  const herd = now.herd;
  $("herd-section").hidden = !herd.federates;
  if (!herd.federates) return;
  if (herd.title && $("herd-heading").textContent !== herd.title) $("herd-heading").textContent = herd.title;
  const { box, pen, width, height } = canvas("herd");
  const [left, right, top, bottom] = [herd.names ? Math.min(110, width / 4) : 52, 12, 8, 30];
  const inner = width - left - right;
  if (herd.counts) return drawCounts(herd, { box, pen, width, height, left, top, bottom, inner });
  const count = herd.federates;
  const known = herd.lvt.map((lvt, one) => ({ one, lvt, front: herd.front[one] }));
  const lookahead = now.lookahead || 0;
  const pending = herd.pending || [];
  const ahead = Math.max(lookahead, ...known.map((federate) => Math.max(federate.front || 0, federate.lvt || 0)));
  const span = herd.span ? herd.span : ahead > 0 ? ahead * 1.08 : 1;
  const time_of = (time) => (herd.unit === "" ? ratio(time) : seconds(time));
  const name = (one) => (herd.names ? herd.names[one] : "Federate " + one);
  const x = (time) => left + inner * Math.max(0, Math.min(1, time / span));
  const rowHeight = (height - top - bottom) / count;
  const y = (one) => top + rowHeight * (one + 0.5);
  line(pen, x(0), top, x(0), height - bottom, colours.text);
  if (lookahead > 0 && lookahead < span) {
    line(pen, x(lookahead), top, x(lookahead), height - bottom, colours.quiet, [4, 4]);
  }
  pen.fillStyle = colours.quiet;
  pen.textBaseline = "top";
  pen.fillText(herd.origin_name || "GVT", x(0) - 12, height - bottom + 4);
  if (lookahead > 0 && x(lookahead) > x(0) + 40) pen.fillText("+ " + seconds(lookahead), Math.min(x(lookahead), width - 70), height - bottom + 4);
  pen.textAlign = "right";
  pen.fillText((herd.origin === 0 ? "" : "+ ") + time_of(span), width - right, height - bottom + 16);
  pen.textBaseline = "middle";
  const every = Math.ceil(14 / rowHeight);
  const most = Math.max(1, ...pending);
  const time = performance.now();
  // Furthest behind of those that have something to do.
  const live = known.filter((federate) => federate.lvt !== null && federate.lvt >= 0);
  const last = live.reduce((least, federate) => (!least || federate.lvt < least.lvt ? federate : least), null);
  for (const { one, lvt, front } of known) {
    const row = y(one);
    if (one % every === 0) {
      pen.fillStyle = colours.quiet;
      pen.fillText(herd.names ? fitted(pen, herd.names[one], left - 16) : String(one), left - 14, row);
    }
    if (pending.length) {
      // Events waiting, as a bar behind the dots.
      pen.fillStyle = colours.grid;
      const long = inner * 0.3 * (pending[one] / most);
      pen.fillRect(width - right - long, row - rowHeight * 0.35, long, rowHeight * 0.7);
    }
    if (lvt === null) continue;
    if (herd.back && herd.back[one]) flashes.set(one, time + 400);
    const worker = herd.worker[one];
    const colour = worker === null ? colours.quiet : colours.series[worker % 8];
    const size = Math.max(2, Math.min(7, rowHeight * 0.4)) * (0.6 + 0.4 * Math.min(1, herd.busy[one] / 50));
    if (front > lvt && front > 0) line(pen, x(lvt), row, x(front), row, colour);
    pen.beginPath();
    pen.arc(x(lvt), row, size, 0, 7);
    if (lvt < 0) {
      pen.strokeStyle = colour;
      pen.stroke();
    } else {
      pen.fillStyle = colour;
      pen.fill();
    }
    if ((flashes.get(one) || 0) > time) {
      pen.strokeStyle = colours.bad;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(x(lvt), row, size + 3, 0, 7);
      pen.stroke();
      pen.lineWidth = 1;
    }
    if (last && one === last.one) {
      pen.fillStyle = colours.bad;
      pen.beginPath();
      pen.moveTo(x(lvt) - size - 9, row - 4);
      pen.lineTo(x(lvt) - size - 2, row);
      pen.lineTo(x(lvt) - size - 9, row + 4);
      pen.fill();
    }
  }
  pen.textAlign = "left";
  const waits = /window|step|null/.test(now.protocol);
  const waiting = last && lookahead > 0 ? live.filter((federate) => federate.lvt >= last.lvt + lookahead * 0.999).length : 0;
  const back = now.rollbacks ? ` Rolled back so far: ${now.rollbacks.toLocaleString("en")} times (red rings).` : "";
  const said = last
    ? `${count} federates. ${name(last.one)}, at GVT + ${seconds(Math.max(0, last.lvt))}, is furthest behind` +
      (waiting ? `; ${waiting} are a lookahead or more beyond it${waits ? ", and wait for it" : ""}.` : ".") + back
    : pending.some((events) => events > 0)
      ? `${count} federates, with events left; where each is shows after its next turn.`
      : `${count} federates; none has events left, as far as is known.`;
  if (herd.part) {
    const colour = herd.colours ? ` Colours are ${herd.colours}.` : "";
    const behind = last ? `${name(last.one)}, at ${time_of(herd.origin + last.lvt)}, is furthest behind` : "where they are is not known";
    return say("herd-said", (herd.said || `${count} ${herd.part}${count === 1 ? "" : "s"}: ${behind}.`) + colour, box);
  }
  // Alone, it reports at the end of a leg only, and is where the run is.
  const all = count === 1 ? "One federate: it waits for nobody." + back : said;
  say("herd-said", all + " Colours are threads; grey bars are events waiting.", box);
}

function drawCounts(herd, { box, pen, width, height, left, top, bottom, inner }) {
  const most = Math.max(1, ...herd.counts);
  const bar = inner / herd.counts.length;
  herd.counts.forEach((count, place) => {
    const tall = (height - top - bottom) * Math.sqrt(count / most);
    pen.fillStyle = ramp(count / most);
    pen.fillRect(left + bar * place, height - bottom - tall, Math.max(1, bar - 1), tall);
  });
  pen.fillStyle = colours.quiet;
  pen.textBaseline = "top";
  const origin = herd.origin_name || "GVT";
  pen.fillText(origin, left - 12, height - bottom + 4);
  pen.textAlign = "right";
  const end = herd.width * herd.counts.length;
  pen.fillText("+ " + (herd.unit === "" ? ratio(end) : seconds(end)), width - 12, height - bottom + 4);
  pen.textAlign = "left";
  say("herd-said", `${herd.federates.toLocaleString("en")} ${herd.part || "federate"}s by how far they are beyond ${origin}; at most ${most.toLocaleString("en")} together.`, box);
}

// Words below a canvas, which are its label too; once a second is enough for them.
const saidAt = new Map();
function say(id, text, box) {
  const now = performance.now();
  if (now - (saidAt.get(id) || -1e9) < 1000) return;
  saidAt.set(id, now);
  $(id).textContent = text;
  box.setAttribute("aria-label", text);
}

function drawMatrix() {
  const matrix = latest.matrix;
  if (!matrix) return;
  $("matrix-section").hidden = false;
  $("matrix-heading").textContent = `Messages between ${matrix.part}s`;
  const { box, pen, width, height } = canvas("matrix");
  const side = matrix.side;
  const size = Math.min(width - 60, height - 30);
  const cell = size / side;
  const most = Math.max(1, ...matrix.counts);
  const [left, top] = [46, 8];
  let [all, busiest] = [0, 0];
  matrix.counts.forEach((count, place) => {
    all += count;
    if (count > matrix.counts[busiest]) busiest = place;
    if (!count) return;
    pen.fillStyle = ramp(Math.sqrt(count / most));
    pen.fillRect(left + (place % side) * cell, top + Math.floor(place / side) * cell, Math.max(1, cell - 0.5), Math.max(1, cell - 0.5));
  });
  pen.strokeStyle = colours.rule;
  pen.strokeRect(left, top, size, size);
  pen.fillStyle = colours.quiet;
  pen.textBaseline = "top";
  pen.fillText("to " + matrix.part, left, top + size + 4);
  pen.save();
  pen.translate(left - 18, top + size);
  pen.rotate(-Math.PI / 2);
  pen.fillText("from " + matrix.part, 0, 0);
  pen.restore();
  const most_said = all ? `; most from row ${Math.floor(busiest / side)} to column ${busiest % side}: ${matrix.counts[busiest].toLocaleString("en")}` : "";
  say("matrix-said", `${all.toLocaleString("en")} messages so far${most_said}.`, box);
}

// A text that is no wider than this, cut in the middle where it is long: names often differ at their ends.
function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  const end = text.slice(-4);
  let long = text.length - 5;
  while (long > 1 && pen.measureText(text.slice(0, long) + "…" + end).width > width) long--;
  return text.slice(0, Math.max(1, long)) + "…" + end;
}

// One colour for each of any number of things: hues that are far apart.
function hue(one) {
  return `hsl(${Math.round((one * 137.508 + 210) % 360)} 55% ${colours.dark ? 58 : 62}%)`;
}

// What ran where, a lane for each place; times are parts of the span that is shown.
function drawLanes() {
  const shown = latest.lanes;
  if (!shown) return;
  $("lanes-section").hidden = false;
  $("lanes-heading").textContent = shown.title;
  const count = shown.lanes.length;
  const tall = Math.round(Math.min(560, Math.max(90, count * 22 + 34))) + "px";
  if ($("lanes").style.height !== tall) $("lanes").style.height = tall;
  const { box, pen, width, height } = canvas("lanes");
  const [left, right, top, bottom] = [Math.min(110, width / 4), 8, 4, 24];
  const row = (height - top - bottom) / Math.max(1, count);
  const x = (place) => left + (width - left - right) * (place / 4000);
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const every = Math.ceil(13 / row);
  shown.lanes.forEach((name, lane) => {
    pen.fillStyle = colours.grid;
    pen.fillRect(left, top + row * lane, width - left - right, Math.max(1, row - 2));
    pen.fillStyle = colours.quiet;
    if (lane % every === 0) pen.fillText(fitted(pen, name, left - 8), left - 6, top + row * (lane + 0.5));
  });
  pen.textAlign = "center";
  for (let one = 0; one < shown.spans.length; one += 4) {
    const [lane, who, from, to] = shown.spans.slice(one, one + 4);
    const wide = Math.max(1, x(to) - x(from) - 0.5);
    pen.fillStyle = hue(who);
    pen.fillRect(x(from), top + row * lane, wide, Math.max(1, row - 2));
    const name = shown.names[who];
    if (row > 13 && wide > 20 && pen.measureText(name).width < wide - 4) {
      pen.fillStyle = "#111";
      pen.fillText(name, x(from) + wide / 2, top + row * (lane + 0.5));
    }
  }
  pen.fillStyle = colours.quiet;
  pen.textBaseline = "top";
  pen.textAlign = "left";
  pen.fillText(seconds(shown.from), left, height - bottom + 6);
  pen.textAlign = "right";
  pen.fillText(seconds(shown.to), width - right, height - bottom + 6);
  pen.textAlign = "left";
  say("lanes-said", shown.said, box);
}

// Tables; one is made anew only where its rows or columns are others, so that a reader keeps the place.
function showTables() {
  const tables = latest.tables;
  if (!tables) return;
  $("tables-section").hidden = false;
  const box = $("tables");
  const make = (parent, kind, text) => {
    const one = parent.appendChild(document.createElement(kind));
    if (text !== undefined) one.textContent = text;
    return one;
  };
  while (box.children.length > tables.length) box.lastChild.remove();
  tables.forEach((shown, number) => {
    const shape = JSON.stringify([shown.columns, shown.rows.length]);
    let place = box.children[number];
    if (!place || place.dataset.shape !== shape) {
      const made = document.createElement("div");
      made.dataset.shape = shape;
      made.tabIndex = 0;
      const table = make(made, "table");
      make(table, "caption");
      const head = make(make(table, "thead"), "tr");
      shown.columns.forEach((column) => (make(head, "th", column).scope = "col"));
      const body = make(table, "tbody");
      shown.rows.forEach((row) => {
        const line = make(body, "tr");
        row.forEach(() => make(line, "td"));
      });
      if (place) place.replaceWith(made);
      else box.append(made);
      place = made;
    }
    const table = place.firstChild;
    const caption = shown.title + (shown.more ? ` (${shown.more.toLocaleString("en")} more rows are not shown)` : "");
    if (table.caption.textContent !== caption) table.caption.textContent = caption;
    place.setAttribute("aria-label", caption);
    [...table.tHead.rows[0].cells].forEach((cell, column) => (cell.className = shown.numeric[column] ? "number" : ""));
    shown.rows.forEach((row, line) => row.forEach((text, column) => {
      const cell = table.tBodies[0].rows[line].cells[column];
      if (cell.textContent !== text) cell.textContent = text;
      cell.className = shown.numeric[column] ? "number" : text.length > 40 ? "long" : "";
    }));
  });
}

// The picture that the model draws of itself.
function drawPicture() {
  const { layout, loads } = latest;
  if (!layout || !loads) return;
  $("model").hidden = false;
  $("model-heading").textContent = layout.title || "The model";
  $("load").textContent = layout.load || "full";
  const named = loads.fields.map(([name, value]) => [name, grouped(value)]);
  list($("fields"), named);
  const box = $("picture");
  const tall = Math.round(Math.min(620, Math.max(160, box.clientWidth * Math.min(1, layout.ratio + 0.05)))) + "px";
  if (box.style.height !== tall) box.style.height = tall;
  const { pen, width, height } = canvas("picture");
  const margin = 14;
  const scale = Math.min(width - 2 * margin, (height - 2 * margin) / Math.max(layout.ratio, 0.01));
  const [ox, oy] = [(width - scale) / 2, height - (height - scale * layout.ratio) / 2];
  if (layout.kind === "grid") drawGrid(layout, loads, pen, ox, oy, scale);
  else drawPoints(layout, loads, pen, ox, oy, scale);
  const fields = named.map(([name, value]) => `${name} ${value}`).join(", ");
  box.setAttribute("aria-label", `${layout.title}: ${fields || "a picture"}`);
}

function drawPoints(layout, loads, pen, ox, oy, scale) {
  const places = layout.points;
  const X = (one) => ox + (places[2 * one] / 4000) * scale;
  const Y = (one) => oy - (places[2 * one + 1] / 4000) * scale;
  const count = places.length / 2;
  const crowded = Math.max(count, layout.edges.length / 2);
  const thin = crowded > 4000 ? 0.6 : crowded > 600 ? 1.2 : 2.2;
  // By load, so that the pen changes a hundred times at most and busy edges are on top.
  const groups = new Map();
  loads.edges.forEach((load, edge) => {
    if (!groups.has(load)) groups.set(load, []);
    groups.get(load).push(edge);
  });
  for (const load of [...groups.keys()].sort((one, other) => one - other)) {
    pen.strokeStyle = load ? ramp(load / 100) : colours.grid;
    pen.lineWidth = thin * (load ? 1 + 2 * (load / 100) : 1);
    pen.beginPath();
    for (const edge of groups.get(load)) {
      const [from, to] = [layout.edges[2 * edge], layout.edges[2 * edge + 1]];
      const [x1, y1, x2, y2] = [X(from), Y(from), X(to), Y(to)];
      // To the right of the way, so that both directions are seen.
      const long = Math.hypot(x2 - x1, y2 - y1) || 1;
      const [dx, dy] = [(-(y2 - y1) / long) * thin, ((x2 - x1) / long) * thin];
      pen.moveTo(x1 + dx, y1 + dy);
      pen.lineTo(x2 + dx, y2 + dy);
    }
    pen.stroke();
  }
  pen.lineWidth = 1;
  const small = count > 4000 ? 1 : count > 600 ? 1.8 : count > 100 ? 3 : 5;
  for (let one = 0; one < count; one++) {
    const load = (loads.points[one] || 0) / 100;
    pen.fillStyle = load ? ramp(load) : colours.quiet;
    pen.beginPath();
    pen.arc(X(one), Y(one), small * (load ? 1 + load : 0.8), 0, 7);
    pen.fill();
  }
  // Names stand beside their points, where there is room for them.
  if (!layout.names || count > 60) return;
  pen.fillStyle = colours.text;
  pen.textBaseline = "middle";
  layout.names.forEach((name, one) => {
    const isRight = places[2 * one] > 2000;
    pen.textAlign = isRight ? "right" : "left";
    pen.fillText(fitted(pen, name, scale / 2 - 20), X(one) + (isRight ? -14 : 14), Y(one));
  });
  pen.textAlign = "left";
}

function drawGrid(layout, loads, pen, ox, oy, scale) {
  const cells = layout.cells;
  const size = scale / cells;
  loads.counts.forEach((count, place) => {
    if (!count) return;
    pen.globalAlpha = 0.25 + 0.75 * (count / 100);
    pen.fillStyle = ramp(loads.points[place] / 100);
    pen.fillRect(ox + (place % cells) * size, oy - (Math.floor(place / cells) + 1) * size, size + 0.3, size + 0.3);
  });
  pen.globalAlpha = 1;
}

const draws = { now: showNow, layout: drawPicture, loads: drawPicture, matrix: drawMatrix, lanes: drawLanes, tables: showTables, parameters: showParameters };
let scheduled = false;
function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    const todo = new Set([...fresh].map((name) => draws[name]));
    fresh.clear();
    todo.forEach((draw) => draw());
  });
}

function connect() {
  const source = new EventSource("events?token=" + encodeURIComponent(token));
  for (const name of Object.keys(latest)) {
    source.addEventListener(name, (event) => {
      latest[name] = JSON.parse(event.data);
      fresh.add(name);
      schedule();
    });
  }
  source.addEventListener("curves", (event) => {
    $("curves-section").hidden = false;
    $("curves").innerHTML = event.data;
  });
  source.addEventListener("end", () => {
    ended = true;
    source.close();
  });
  source.onerror = () => {
    if (!ended) setState("lost", source.readyState === EventSource.CLOSED ? "no connection" : "connecting");
  };
}

// Sends a request, and shows what the run says to it.
async function ask(request) {
  let [text, right] = ["", false];
  try {
    const answer = await fetch("do", { method: "POST", headers: { "x-paceline-token": token }, body: request });
    [text, right] = [await answer.text(), answer.ok];
  } catch {
    text = "the run does not answer: it has ended, or cannot be reached";
  }
  const row = document.createElement("li");
  row.textContent = text;
  row.className = right ? "" : "wrong";
  $("answers").hidden = false;
  const said = $("said");
  said.append(row);
  while (said.children.length > 60) said.firstChild.remove();
  said.scrollTop = said.scrollHeight;
}

let sure = 0;
function stop() {
  const button = $("stop");
  if (button.dataset.sure) {
    clearTimeout(sure);
    delete button.dataset.sure;
    button.textContent = "Stop";
    return ask("stop");
  }
  button.dataset.sure = "yes";
  button.textContent = "Stop: sure?";
  sure = setTimeout(() => {
    delete button.dataset.sure;
    button.textContent = "Stop";
  }, 4000);
}

document.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", () => ask(button.dataset.do)));
$("stop").addEventListener("click", stop);
$("pace").addEventListener("change", () => ask("pace " + $("pace").value));
$("controls").addEventListener("submit", (event) => {
  event.preventDefault();
  ask("threads " + $("threads").value);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
  const button = { p: "pause", r: "go", w: "window", e: "step" }[event.key];
  if (button && !$(button).disabled && !$(button).hidden) $(button).click();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
addEventListener("resize", () => {
  for (const name of Object.keys(latest)) fresh.add(name);
  schedule();
});
document.addEventListener("visibilitychange", schedule);
readColours();
connect();
