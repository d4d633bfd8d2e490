// All hosts in one table. Only visible rows exist, so that thousands of hosts stay fast.

import { adjustmentsCard } from "./adjustments.js";
import { conditionList, mergeGpus, spaced } from "./diagnosis.js";
import { refusedAgents } from "./refused_agents.js";
import { element, meter, patchChildren, setClass, setText } from "./dom.js";
import { duration, fixed, percent, skew } from "./format.js";

const ROW = 36;
const MARGIN = 6;
const HISTORY = 60;
const SHOWN = 4; // most severe conditions
const ATTENTION = ["", "info", "warning", "critical"];
const STATUSES = ["up", "not_reporting", "ended", "waiting"];

const COLUMNS = [
  { key: "name", title: "Host", value: (host) => host.name },
  { key: "attention", title: "Diagnosis", hint: "Highest severity of active conditions, or the primary bottleneck", value: (host) => (host.attention || host.primary ? host.attention : null) },
  { key: "cpu", title: "CPU", value: (host) => host.cpu },
  { key: "memory", title: "Memory", value: (host) => host.memory },
  { key: "gpuBusy", title: "GPUs", value: (host) => host.gpuBusy },
  { key: "gpuMemory", title: "GPU memory", value: (host) => host.gpuMemory, wide: true },
  { key: "gpuTemperature", title: "Hottest", value: (host) => host.gpuTemperature, number: true },
  { key: "gpuPower", title: "Power", value: (host) => host.gpuPower, number: true, wide: true },
  { key: "trend", title: "Last minute", value: (host) => host.trendValue, wide: true },
  { key: "age", title: "Reported", value: (host) => host.age, number: true },
  { key: "skew", title: "Clock", value: (host) => (host.skew === null ? null : Math.abs(host.skew)), number: true, wide: true },
  { key: "unavailable", title: "Unavailable", hint: "Number of unavailable readings. The host's page lists the reasons.", value: (host) => host.unavailable, number: true, wide: true },
];

export class FleetView {
  constructor(container, summary) {
    this.summary = summary;
    this.generation = null;
    this.hosts = [];
    this.shown = [];
    this.rows = new Map();
    this.history = new Map();
    this.sort = { key: "name", down: false };
    this.status = null;
    this.build(container);
  }

  path() { return "overview"; }
  query() { return { generation: this.generation }; }
  close() { this.observer.disconnect(); document.getElementById("view").classList.remove("fleet"); }

  build(container) {
    container.classList.add("fleet");
    this.search = element("input", { type: "search", placeholder: "Find hosts by name", "aria-label": "Find hosts by name", oninput: () => this.arrange() });
    this.count = element("span", { class: "count" });
    this.chips = [[null, "All"], ["up", "Up"], ["not_reporting", "Not reporting"]].map(([status, label]) =>
      element("button", { class: "chip", type: "button", "aria-pressed": String(status === null), onclick: () => this.choose(status) }, label));
    this.heads = COLUMNS.map((column) => element("button", { type: "button", "aria-sort": "none", title: column.hint, onclick: () => this.order(column.key) }, column.title));
    const head = element("div", { class: "row head", role: "row" }, ...COLUMNS.map((column, index) =>
      element("div", { role: "columnheader", class: `${column.number ? "number" : ""} ${column.wide ? "wide" : ""} ${column.key}`.trim() }, this.heads[index])));
    this.body = element("div", { class: "body", role: "rowgroup" });
    this.scroll = element("div", { class: "scroll" }, this.body);
    this.scroll.addEventListener("scroll", () => this.paint(), { passive: true });
    this.table = element("div", { class: "table", role: "table", "aria-label": "Hosts" }, head, this.scroll);
    this.tools = element("div", { class: "tools" }, this.search, element("div", { class: "chips" }, ...this.chips), this.count);
    this.empty = element("div", { class: "empty" }, element("h2", {}, "Loading …"));
    this.worst = element("div");
    this.refused = element("div");
    this.tools.hidden = this.table.hidden = true;
    container.append(this.worst, adjustmentsCard(), this.refused, this.tools, this.table, this.empty);
    this.observer = new ResizeObserver(() => this.paint());
    this.observer.observe(this.scroll);
  }

  choose(status) {
    this.status = status;
    this.chips.forEach((chip, index) => chip.setAttribute("aria-pressed", String([null, "up", "not_reporting"][index] === status)));
    this.arrange();
  }

  order(key) {
    const down = this.sort.key === key ? !this.sort.down : key !== "name";
    this.sort = { key, down };
    this.arrange();
  }

  show(answer) {
    if (answer.hosts) {
      this.hosts = answer.hosts.names.map((name, index) => ({ name, gpus: answer.hosts.gpus[index] }));
      this.generation = answer.generation;
    }
    if (answer.generation !== this.generation || answer.status.length !== this.hosts.length) {
      this.generation = null;
      return;
    }
    this.update(answer);
    this.summarise(answer);
    this.showWorst(answer);
    this.showRefused(answer.refused_agents ?? []);
    this.arrange();
  }

  fail() {
    if (!this.hosts.length) this.message("Collector unreachable", "Retrying every second.");
  }

  update(answer) {
    let at = 0;
    this.hosts.forEach((host, index) => {
      const cut = (values) => values.slice(at, at + host.gpus);
      host.status = STATUSES[answer.status[index]];
      host.age = answer.age_seconds[index];
      host.skew = answer.clock_skew_seconds[index];
      host.unavailable = answer.unavailable[index];
      host.attention = answer.attention[index];
      host.primary = answer.primary[index];
      host.cpu = answer.cpu_ratio[index];
      host.memory = answer.memory_ratio[index];
      host.busy = cut(answer.gpu_utilization_ratio);
      host.gpuBusy = mean(host.busy);
      host.gpuMemory = mean(cut(answer.gpu_memory_ratio));
      host.gpuTemperature = largest(cut(answer.gpu_temperature_celsius));
      host.gpuPower = total(cut(answer.gpu_power_watts));
      host.trendValue = host.gpus ? host.gpuBusy : host.cpu;
      this.remember(host);
      at += host.gpus;
    });
  }

  remember(host) {
    let past = this.history.get(host.name);
    if (!past) this.history.set(host.name, past = new Float32Array(HISTORY).fill(NaN));
    past.copyWithin(0, 1);
    past[HISTORY - 1] = host.status === "up" ? host.trendValue ?? NaN : NaN;
    host.past = past;
  }

  summarise(answer) {
    const count = (status) => this.hosts.filter((host) => host.status === status).length;
    const gpus = this.hosts.reduce((sum, host) => sum + host.gpus, 0);
    const busy = mean(answer.gpu_utilization_ratio);
    const part = (value, label, level = "") => element("span", {}, element("b", { class: level }, value), ` ${label}`);
    this.summary.replaceChildren(...[
      part(String(this.hosts.length), this.hosts.length === 1 ? "host" : "hosts"),
      part(String(count("up")), "up"),
      count("not_reporting") ? part(String(count("not_reporting")), "not reporting", "bad") : null,
      gpus ? part(String(gpus), gpus === 1 ? "GPU" : "GPUs") : null,
      gpus && busy !== null ? part(percent(busy), "busy") : null,
      answer.active.critical ? part(String(answer.active.critical), "critical", "bad") : null,
      answer.active.warning ? part(String(answer.active.warning), answer.active.warning === 1 ? "warning" : "warnings", "warn") : null,
      answer.warming ? part("loading history", "") : null,
    ].filter(Boolean));
  }

  // Show the most severe active conditions, with a link to the rest.
  showWorst({ worst, active }) {
    const text = JSON.stringify(worst);
    if (text === this.worstShown) return;
    this.worstShown = text;
    const shown = mergeGpus(worst).slice(0, SHOWN);
    const more = active.critical + active.warning - shown.reduce((sum, { gpus }) => sum + (gpus?.length ?? 1), 0);
    const link = element("a", { href: "#/timeline", class: "more" }, more > 0 ? `${more} more in the timeline` : "Timeline");
    patchChildren(this.worst, ...(worst.length ? [element("div", { class: "card worst" }, conditionList(shown), link)] : []));
  }

  showRefused(agents) {
    const text = JSON.stringify(agents);
    if (text === this.refusedShown) return;
    this.refusedShown = text;
    this.refused.replaceChildren(...(agents.length ? [refusedAgents(agents)] : []));
  }

  arrange() {
    if (!this.hosts.length) {
      this.message("No host has reported yet", "Start an agent on each training machine: ", "flyball agent --set collector=HOST:3590");
      return;
    }
    const wanted = this.search.value.trim().toLowerCase();
    const column = COLUMNS.find(({ key }) => key === this.sort.key);
    this.shown = this.hosts.filter((host) => (!wanted || host.name.toLowerCase().includes(wanted)) && (!this.status || host.status === this.status));
    this.shown.sort((a, b) => compare(column.value(a), column.value(b), this.sort.down) || compare(a.name, b.name, false));
    this.heads.forEach((head, index) => {
      const sorted = COLUMNS[index].key === this.sort.key;
      head.setAttribute("aria-sort", sorted ? (this.sort.down ? "descending" : "ascending") : "none");
      setText(head, COLUMNS[index].title + (sorted ? (this.sort.down ? " ↓" : " ↑") : ""));
    });
    setText(this.count, this.shown.length === this.hosts.length ? "" : `${this.shown.length} of ${this.hosts.length}`);
    this.tools.hidden = this.table.hidden = false;
    this.empty.hidden = true;
    this.body.style.height = `${this.shown.length * ROW}px`;
    this.paint();
  }

  message(title, text, code = null) {
    this.tools.hidden = this.table.hidden = true;
    this.empty.hidden = false;
    this.empty.replaceChildren(element("h2", {}, title), element("div", {}, text, code && element("code", {}, code)));
  }

  // Rows are kept by host, so that clicks and focus survive a refresh.
  paint() {
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - MARGIN);
    const last = Math.min(this.shown.length, Math.ceil((this.scroll.scrollTop + this.scroll.clientHeight) / ROW) + MARGIN);
    const visible = new Set();
    for (let index = first; index < last; index += 1) {
      const host = this.shown[index];
      visible.add(host.name);
      let row = this.rows.get(host.name);
      if (!row) {
        this.rows.set(host.name, row = new Row(host.name));
        this.body.append(row.node);
      }
      row.node.style.transform = `translateY(${index * ROW}px)`;
      row.show(host);
    }
    for (const [name, row] of this.rows) {
      if (!visible.has(name)) {
        row.node.remove();
        this.rows.delete(name);
      }
    }
  }
}

class Row {
  constructor(name) {
    this.dot = element("span", { class: "dot" });
    this.diagnosis = element("div", { class: "diagnosed", role: "cell" });
    this.cpu = meter();
    this.memory = meter();
    this.gpus = element("div", { class: "gpus" });
    this.gpuMemory = meter();
    this.spark = element("canvas", { class: "spark", width: 224, height: 48 });
    const number = (wide) => element("div", { class: `number ${wide}`.trim(), role: "cell" });
    [this.temperature, this.power, this.age, this.skew, this.unavailable] = [number(""), number("wide"), number(""), number("wide"), number("wide")];
    const cell = (node, wide = "") => element("div", { role: "cell", class: wide }, node);
    this.node = element("a", { class: "row", role: "row", href: `#/host/${encodeURIComponent(name)}`, title: name },
      element("div", { class: "name", role: "cell" }, this.dot, element("span", {}, name)),
      this.diagnosis, cell(this.cpu.node), cell(this.memory.node), cell(this.gpus), cell(this.gpuMemory.node, "wide"), this.temperature, this.power,
      cell(this.spark, "wide"), this.age, this.skew, this.unavailable);
  }

  show(host) {
    const live = host.status === "up";
    const known = (value) => (live ? value : null);
    setClass(this.dot, `dot ${host.status}`);
    setClass(this.node, live ? "row" : "row pale");
    this.node.title = `${host.name}: ${host.status.replace("_", " ")}${host.age === null ? "" : `, last reported ${duration(host.age)} ago`}`;
    const primary = host.primary ? spaced(host.primary) : "";
    setText(this.diagnosis, host.attention > 1 ? ATTENTION[host.attention] : primary || ATTENTION[host.attention]);
    this.diagnosis.title = primary && `limited by ${primary}`;
    setClass(this.diagnosis, `diagnosed ${ATTENTION[host.attention]}`.trim());
    this.cpu.set(known(host.cpu), percent(known(host.cpu)));
    this.memory.set(known(host.memory), percent(known(host.memory)), level(known(host.memory), 0.9, 0.97));
    this.gpuMemory.node.hidden = !host.gpus;
    this.gpuMemory.set(known(host.gpuMemory), host.gpus ? percent(known(host.gpuMemory)) : "", level(known(host.gpuMemory), 0.95, 0.99));
    this.showGpus(host, live);
    const temperature = known(host.gpuTemperature);
    setText(this.temperature, host.gpus ? fixed(temperature, 0, "°C") : "");
    setClass(this.temperature, `number ${level(temperature, 80, 88) || (temperature === null ? "unknown" : "")}`.trim());
    setText(this.power, host.gpus ? fixed(known(host.gpuPower), 0, "W") : "");
    setText(this.age, host.age === null ? "never" : duration(host.age));
    setClass(this.age, host.status === "not_reporting" ? "number bad" : "number");
    setText(this.skew, skew(host.skew));
    setClass(this.skew, `number wide ${host.skew !== null && Math.abs(host.skew) > 0.05 ? "warn" : ""}`.trim());
    setText(this.unavailable, host.unavailable ? String(host.unavailable) : "");
    draw(this.spark, host.past);
  }

  showGpus(host, live) {
    if (!host.gpus) {
      if (!this.gpus.firstChild || this.gpus.firstChild.nodeType !== Node.TEXT_NODE) this.gpus.replaceChildren(document.createTextNode(""));
      return;
    }
    while (this.gpus.childNodes.length > host.gpus) this.gpus.lastChild.remove();
    while (this.gpus.childElementCount < host.gpus) this.gpus.append(element("i"));
    if (this.gpus.childNodes.length !== host.gpus) this.gpus.replaceChildren(...this.gpus.children);
    host.busy.forEach((busy, index) => {
      const bar = this.gpus.children[index];
      const known = live && busy !== null;
      setClass(bar, known ? "" : "unknown");
      bar.style.setProperty("--busy", known ? `${(busy * 100).toFixed(0)}%` : "0%");
      bar.title = `GPU ${index}: ${known ? `${percent(busy)} busy` : "unknown"}`;
    });
  }
}

function draw(canvas, past) {
  const pen = canvas.getContext("2d");
  const { width, height } = canvas;
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = getComputedStyle(canvas).getPropertyValue("--line");
  pen.fillRect(0, height - 3, width, 2);
  pen.strokeStyle = getComputedStyle(canvas).getPropertyValue("--accent");
  pen.lineWidth = 2.5;
  pen.lineJoin = "round";
  pen.beginPath();
  let open = false;
  past.forEach((value, index) => {
    if (Number.isNaN(value)) { open = false; return; }
    const x = (index / (HISTORY - 1)) * (width - 6) + 3;
    const y = height - 4 - Math.min(1, Math.max(0, value)) * (height - 8);
    if (open) pen.lineTo(x, y);
    else { pen.moveTo(x - 2, y); pen.lineTo(x, y); }
    open = true;
  });
  pen.stroke();
}

function level(value, warn, bad) {
  return value === null ? "" : value >= bad ? "bad" : value >= warn ? "warn" : "";
}

const known = (values) => values.filter((value) => value !== null);
const total = (values) => (known(values).length ? known(values).reduce((sum, value) => sum + value, 0) : null);
const mean = (values) => (known(values).length ? total(values) / known(values).length : null);
const largest = (values) => (known(values).length ? known(values).reduce((max, value) => Math.max(max, value)) : null);

// Sort unknown values last, in either direction.
function compare(a, b, down) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return (a < b ? -1 : 1) * (down ? -1 : 1);
}

