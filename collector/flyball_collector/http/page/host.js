// One host: live charts, GPUs, unavailable readings, processes and inventory.

import { request } from "./api.js";
import { Chart, plotly } from "./charts.js";
import { card, diagnosisSection, runLink, sectionTitle, table, timelineTable } from "./diagnosis.js";
import { element, meter, patchChildren, setText } from "./dom.js";
import { bytes, clock, DASH, duration, fixed, hertz, moment, percent, shortTime, skew } from "./format.js";
import { CHARTS, GPU_CARD, GPU_CHARTS, matches, Reader } from "./quantities.js";

const HISTORY_SECONDS = 300;
const DIAGNOSIS_MILLISECONDS = 2000;
const PAST_EVENTS = 50;

export class HostView {
  constructor(container, name) {
    this.name = name;
    this.seen = null;
    this.charts = [];
    this.gpuCards = [];
    this.heading = element("div", { class: "title" }, element("h1", {}, name));
    this.facts = element("span", { class: "facts" });
    this.heading.append(this.facts);
    this.notices = element("div");
    this.diagnosis = element("div");
    this.past = element("div");
    this.live = element("div", { class: "grid" });
    this.gpuPart = element("div");
    this.events = element("div");
    this.users = element("div");
    this.unavailable = element("div");
    this.inventory = element("div");
    container.append(element("a", { href: "#/" }, "← All hosts"), this.heading, this.notices, this.diagnosis, this.live, this.gpuPart, this.past, this.events, this.users, this.unavailable, this.inventory);
    this.live.append(element("div", { class: "empty" }, element("h2", {}, "Loading …")));
    this.redraw = () => this.draw();
    document.addEventListener("theme", this.redraw);
    this.diagnose();
  }

  // Less often than the readings: it costs more and changes less.
  async diagnose() {
    if (!document.hidden && this.reader) {
      const [diagnosis, past] = await Promise.all([
        request(`hosts/${encodeURIComponent(this.name)}/diagnosis`).catch(() => null),
        request("events", { host: this.name, limit: PAST_EVENTS }).catch(() => null),
      ]);
      if (this.closed) return;
      if (diagnosis) this.showDiagnosis(diagnosis);
      if (past) this.showPast(past.events);
    }
    if (!this.closed) this.timer = setTimeout(() => this.diagnose(), this.reader ? DIAGNOSIS_MILLISECONDS : 100);
  }

  gpuName(uuid) { return this.gpuCards.find(({ gpu }) => gpu === uuid)?.title ?? uuid; }

  showDiagnosis({ time: _, ...diagnosis }) {
    const text = JSON.stringify(diagnosis);
    if (text === this.diagnosisShown) return;
    this.diagnosisShown = text;
    patchChildren(this.diagnosis, ...diagnosisSection(diagnosis, { linked: false }));
  }

  showPast(events) {
    const text = JSON.stringify(events.map(({ id }) => id));
    if (text === this.pastShown) return;
    this.pastShown = text;
    this.past.replaceChildren(...(events.length ? [sectionTitle("Timeline"), card(timelineTable(events, { linked: false }))] : []));
  }

  path() { return `hosts/${encodeURIComponent(this.name)}/live`; }
  query() { return { seen: this.seen }; }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    document.removeEventListener("theme", this.redraw);
    this.charts.forEach(({ chart }) => chart.close(window.Plotly));
  }

  fail(error) {
    if (error.code === "unknown_host") {
      this.live.replaceChildren(element("div", { class: "empty" }, element("h2", {}, "Unknown host"), element("div", {}, error.hint)));
      this.notices.replaceChildren();
    }
  }

  show(answer) {
    if (answer.columns) this.rebuild(answer);
    else if (answer.seen !== this.seen) this.seen = null;
    this.showHeading(answer.host);
    this.showNotices(answer.host);
    this.showUnavailable(answer.unavailable);
    this.showEvents(answer.events);
    this.showUsers(answer);
    if (!this.reader || answer.time === null || !this.reader.update(answer.time, answer.values)) return;
    for (const { chart, read } of this.charts) chart.push(answer.time, read());
    this.gpuCards.forEach((card) => card.show(this.reader));
    this.draw();
  }

  async draw() {
    if (!this.charts.length || this.reader?.time === undefined) return;
    const library = await plotly().catch(() => null);
    if (library === null || !this.live.isConnected) return;
    this.charts.forEach(({ chart }) => chart.draw(library, this.reader.time));
  }

  rebuild(answer) {
    this.seen = answer.seen;
    this.charts.forEach(({ chart }) => chart.close(window.Plotly));
    this.reader = new Reader(answer.columns);
    const gpus = gpuLabels(answer.columns);
    this.charts = [...hostCharts(this.reader), ...gpuCharts(this.reader, gpus)];
    this.live.replaceChildren(...this.charts.map(({ chart }) => chart.node));
    if (!this.charts.length) this.live.replaceChildren(element("div", { class: "empty" }, element("h2", {}, "No readings yet"), "The agent has not sent a record yet."));
    this.gpuCards = gpus.map((gpu, index) => new GpuCard(gpu, index, answer.inventory));
    this.gpuPart.replaceChildren(...(gpus.length ? [sectionTitle("GPUs"), element("div", { class: "grid gpu-cards" }, ...this.gpuCards.map(({ node }) => node))] : []));
    this.showInventory(answer.inventory);
    this.preload();
  }

  // Load the minutes before the page was opened. Without them the charts start now.
  async preload() {
    const { reader } = this;
    const metrics = [...new Set(this.charts.flatMap(({ lines }) => lines.map(({ metric }) => metric)))];
    if (!metrics.length) return;
    const past = await request(`hosts/${encodeURIComponent(this.name)}/series`, { metric: metrics, start: `-${HISTORY_SECONDS}s`, step: "1s", rate: "true" }).catch(() => null);
    if (past === null || reader !== this.reader) return;
    for (const { chart, lines } of this.charts) chart.preload(past.times_unix, lines.map((line) => pastOf(past, line)));
    this.draw();
  }

  showHeading(host) {
    const facts = [host.agent_version && `agent ${host.agent_version}`, host.last_report && `reported ${duration(host.age_seconds)} ago`, host.clock_skew_seconds !== null && `clock ${skew(host.clock_skew_seconds)}`, host.backlog_bytes ? `backlog ${bytes(host.backlog_bytes)}` : ""];
    setText(this.facts, facts.filter(Boolean).join(" · "));
  }

  showNotices(host) {
    const notices = [];
    const since = host.last_report ? ` since ${clock(host.last_report.unix)} (${duration(host.age_seconds)})` : "";
    if (host.status === "not_reporting") notices.push(["bad", `This host has not reported${since}. The values below are from its last record.`]);
    if (host.status === "ended") notices.push(["", `Its agent was shut down. No records${since}.`]);
    if (host.status === "waiting") notices.push(["", "No record received yet."]);
    if (host.duplicate) notices.push(["bad", "Two machines report with this host name. Give one of them another name with the setting host in agent.toml."]);
    const text = notices.map(([, text]) => text).join("\n");
    if (text === this.noticesShown) return;
    this.noticesShown = text;
    this.notices.replaceChildren(...notices.map(([level, text]) => element("div", { class: `notice ${level}`.trim() }, text)));
  }

  showUnavailable(unavailable) {
    const text = JSON.stringify(unavailable);
    if (text === this.unavailableShown) return;
    this.unavailableShown = text;
    this.unavailable.replaceChildren(...(unavailable.length ? [sectionTitle("Unavailable readings"), unavailableTable(unavailable)] : []));
  }

  showEvents(events) {
    const text = JSON.stringify(events);
    if (text === this.eventsShown) return;
    this.eventsShown = text;
    this.events.replaceChildren(...(events.length ? [sectionTitle("Events"), card(table(["Time", "Event", "Resource", "Details"], events.map(({ time, kind, resource, code, text: details }) => [
      time ? moment(time.unix) : DASH, code ? `${kind} ${code}` : kind, resource ? element("span", { title: resource }, this.gpuName(resource)) : "host", details || DASH])))] : []));
  }

  showUsers({ processes, runs }) {
    const text = JSON.stringify([processes, runs]);
    if (text === this.usersShown) return;
    this.usersShown = text;
    patchChildren(this.users, ...[
      ...(runs.length ? [sectionTitle("Runs"), card(table(["Run", "Rank", "Step", "Step time", "Loss"], runs.map((run) => [runLink(run.run), String(run.rank), String(run.step), shortTime(run.mean_step_seconds), run.loss === null ? DASH : run.loss.toPrecision(4)])))] : []),
      ...(processes.length ? [sectionTitle("Processes"), card(table(["Process", "User", "Run", "Source", "GPU memory", "Command"], processes.map((each) => [String(each.pid), each.user || DASH, each.run ? runLink(each.run) : DASH, each.source || DASH, bytes(each.gpu_memory_bytes), each.command || DASH])))] : []),
    ]);
  }

  showInventory(inventory) {
    this.inventory.replaceChildren(...(inventory ? [sectionTitle("Inventory"), element("div", { class: "two" }, ...inventoryCards(inventory))] : []));
  }
}

function hostCharts(reader) {
  return CHARTS.map((spec) => ({ spec, lines: spec.lines.filter((line) => reader.has(line)) })).filter(({ lines }) => lines.length).map(({ spec, lines }) => {
    const chart = new Chart(spec.title, lines.map(({ label }) => label), { write: spec.write, minTop: spec.minTop, maxTop: spec.maxTop, seconds: HISTORY_SECONDS });
    const read = () => {
      chart.top = spec.top ? spec.top((line) => reader.read(line)) : null;
      return lines.map((line) => reader.read(line));
    };
    return { chart, lines, read };
  });
}

function gpuCharts(reader, gpus) {
  return GPU_CHARTS.filter(({ metric }) => reader.has({ metric })).map((spec) => {
    const lines = gpus.map((gpu) => ({ metric: spec.metric, only: { gpu } }));
    const chart = new Chart(spec.title, gpus.map((gpu, index) => `GPU ${index}`), { write: spec.write, top: spec.top, seconds: HISTORY_SECONDS, summarise: rangeText(spec.write) });
    const read = () => {
      if (spec.topMetric) chart.top = reader.read({ metric: spec.topMetric, only: { gpu: gpus[0] } });
      return lines.map((line) => reader.read(line));
    };
    return { chart, lines, read };
  });
}

const rangeText = (write) => (values) => {
  const known = values.filter((value) => value !== null);
  if (!known.length) return DASH;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return low === high ? write(high) : `${write(low)} … ${write(high)}`;
};

function pastOf(past, line) {
  const matching = past.series.filter((series) => series.metric === line.metric && matches(series.labels, line.only ?? {}));
  return past.times_unix.map((_, index) => {
    const known = matching.map((series) => series.values[index]).filter((value) => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) : null;
  });
}

function gpuLabels(columns) {
  return [...new Set(columns.filter(({ metric, labels }) => metric.startsWith("gpu_") && labels.gpu !== undefined).map(({ labels }) => labels.gpu))];
}

class GpuCard {
  constructor(gpu, index, inventory) {
    this.gpu = gpu;
    const known = (inventory?.gpus ?? []).find((each) => each.uuid === gpu);
    this.slowdown = known?.slowdown_temperature_celsius ?? null;
    this.busy = meter("busy");
    this.memory = meter("memory");
    this.temperature = meter("temperature");
    this.power = meter("power");
    this.clock = element("dd");
    this.title = `GPU ${known?.index ?? index}`;
    this.node = element("div", { class: "card gpu-card", title: gpu },
      element("h3", {}, this.title, element("span", { class: "now" }, known?.model ?? gpu)),
      this.busy.node, this.memory.node, this.temperature.node, this.power.node, element("dl", {}, element("dt", {}, "clock"), this.clock));
  }

  show(reader) {
    const read = (metric) => reader.read({ metric, only: { gpu: this.gpu } });
    const [used, total] = [read(GPU_CARD.memoryUsed), read(GPU_CARD.memoryTotal)];
    const [temperature, slowdown] = [read(GPU_CARD.temperature), read(GPU_CARD.slowdown) ?? this.slowdown];
    const [power, limit] = [read(GPU_CARD.power), read(GPU_CARD.powerLimit)];
    const ratio = (value, total) => (value === null || !total ? null : value / total);
    this.busy.set(read(GPU_CARD.busy), percent(read(GPU_CARD.busy)));
    this.memory.set(ratio(used, total), total ? `${bytes(used)} of ${bytes(total)}` : bytes(used));
    const margin = temperature === null || slowdown === null ? null : slowdown - temperature;
    this.temperature.set(ratio(temperature, slowdown ?? 100), slowdown === null ? fixed(temperature, 0, "°C") : `${fixed(temperature, 0)} of ${fixed(slowdown, 0, "°C")}`, margin === null ? "" : margin <= 2 ? "bad" : margin <= 8 ? "warn" : "");
    this.power.set(ratio(power, limit), limit ? `${fixed(power, 0)} of ${fixed(limit, 0, "W")}` : fixed(power, 0, "W"));
    setText(this.clock, hertz(read(GPU_CARD.clock)));
  }
}

// Reasons of unavailable readings in the order of display.
const REASONS = { failed: "failed", timed_out: "timed out", denied: "no permission", stale: "does not change", unknown: "unknown reason", unsupported: "not supported", absent: "not present" };
const ORDER = Object.keys(REASONS);

// Merge readings that differ only in the resource. Those with a remedy come first.
function mergeResources(unavailable) {
  const rows = new Map();
  for (const { resource, ...reading } of unavailable) {
    const key = JSON.stringify(reading);
    if (!rows.has(key)) rows.set(key, { ...reading, resources: [] });
    if (resource) rows.get(key).resources.push(resource);
  }
  return [...rows.values()].sort((a, b) => ORDER.indexOf(a.reason) - ORDER.indexOf(b.reason));
}

const resourceList = (resources) => (resources.length > 1 ? element("span", { title: resources.join("\n") }, `${resources.length} resources`) : resources[0]);

function unavailableTable(unavailable) {
  return card(table(["Probe", "Metric", "Reason", "Detail", "Remedy"], mergeResources(unavailable).map((reading) => [
    reading.probe, element("span", {}, reading.metric || "all metrics", ...(reading.resources.length ? [" of ", resourceList(reading.resources)] : [])),
    element("span", { class: `reason ${reading.reason}` }, REASONS[reading.reason] ?? reading.reason), reading.detail, reading.remedy || DASH])));
}

function pairs(title, entries) {
  const filled = entries.filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (!filled.length) return null;
  return card(element("h3", {}, title), element("dl", { class: "pairs" }, ...filled.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))])));
}

function inventoryCards(inventory) {
  const { cpu = {}, disks = [], networks = [], swaps = [], gpus = [], limits = {}, infiniband_ports: ports = [] } = inventory;
  const cores = cpu.cores && `${cpu.cores} cores, ${cpu.threads ?? DASH} threads${cpu.sockets > 1 ? `, ${cpu.sockets} sockets` : ""}`;
  return [
    pairs("Machine", [["System", inventory.operating_system], ["Kernel", inventory.kernel], ["Architecture", inventory.architecture], ["Virtual", inventory.virtualization], ["Booted", inventory.booted_ns && new Date(inventory.booted_ns / 1e6).toLocaleString()], ["Power", inventory.power_source]]),
    pairs("Processor and memory", [["CPU", cpu.model], ["Cores", cores], ["Clock", cpu.max_hertz && `up to ${hertz(cpu.max_hertz)}`], ["Features", (cpu.features ?? []).join(", ")], ["Memory", inventory.memory_bytes && bytes(inventory.memory_bytes)], ["Swap", swaps.map((swap) => `${bytes(swap.bytes)} ${swap.kind ?? ""}`).join(", ")], ["Limits", [limits.cpus && `${limits.cpus} CPUs`, limits.memory_bytes && bytes(limits.memory_bytes)].filter(Boolean).join(", ")]]),
    pairs("GPUs", gpus.map((gpu, index) => [`GPU ${gpu.index ?? index}`, [gpu.model, gpu.memory_bytes && bytes(gpu.memory_bytes), gpu.driver_version && `driver ${gpu.driver_version}`, (gpu.precisions ?? []).join(" ")].filter(Boolean).join(" · ")])),
    pairs("Disks", disks.map((disk) => [disk.device, [disk.kind, disk.bytes && bytes(disk.bytes), disk.model, (disk.mounts ?? []).join(" ")].filter(Boolean).join(" · ")])),
    pairs("Network", [...networks.map((each) => [each.device, [each.kind, each.speed_bits_per_second && `${each.speed_bits_per_second / 1e9} Gbit/s`, each.driver].filter(Boolean).join(" · ")]), ...ports.map((each) => [`${each.device}/${each.port}`, [each.link_layer, each.state].filter(Boolean).join(" · ")])]),
  ].filter(Boolean);
}
