// One host: live charts, its GPUs, which readings are unavailable and why, who uses it, what it is.

import { ask } from "./api.js";
import { Chart, plotly } from "./charts.js";
import { card, diagnosisSection, part, table, timelineTable } from "./diagnosis.js";
import { element, meter, setText } from "./dom.js";
import { bytes, clock, DASH, duration, fixed, hertz, moment, percent, skew } from "./format.js";
import { CHARTS, GPU_CARD, GPU_CHARTS, matches, Reader } from "./quantities.js";

const HISTORY_SECONDS = 300;
const DIAGNOSIS_MILLISECONDS = 2000;
const PAST_EVENTS = 50;

export class HostView {
  constructor(place, name) {
    this.name = name;
    this.seen = null;
    this.charts = [];
    this.gpuCards = [];
    this.heading = element("div", { class: "title" }, element("h1", {}, name));
    this.facts = element("span", { class: "facts" });
    this.heading.append(this.facts);
    this.notices = element("div");
    this.diagnosed = element("div");
    this.past = element("div");
    this.live = element("div", { class: "grid" });
    this.gpuPart = element("div");
    this.happened = element("div");
    this.who = element("div");
    this.unavailable = element("div");
    this.what = element("div");
    place.append(element("a", { href: "#/" }, "← All hosts"), this.heading, this.notices, this.diagnosed, this.live, this.gpuPart, this.past, this.happened, this.who, this.unavailable, this.what);
    this.told = element("div", { class: "empty" }, element("h2", {}, "Waiting for the first answer …"));
    this.live.append(this.told);
    this.restyle = () => this.draw();
    document.addEventListener("theme", this.restyle);
    this.diagnose();
  }

  // Slower than the readings: it costs more, and changes less often.
  async diagnose() {
    if (!document.hidden && this.reader) {
      const [told, past] = await Promise.all([
        ask(`hosts/${encodeURIComponent(this.name)}/diagnosis`).catch(() => null),
        ask("events", { host: this.name, limit: PAST_EVENTS }).catch(() => null),
      ]);
      if (this.closed) return;
      if (told) this.showDiagnosis(told);
      if (past) this.showPast(past.events);
    }
    if (!this.closed) this.timer = setTimeout(() => this.diagnose(), this.reader ? DIAGNOSIS_MILLISECONDS : 100);
  }

  gpuName(uuid) { return this.gpuCards.find(({ gpu }) => gpu === uuid)?.title ?? uuid; }

  showDiagnosis({ time: _, ...told }) {
    const text = JSON.stringify(told);
    if (text === this.diagnosisShown) return;
    this.diagnosisShown = text;
    this.diagnosed.replaceChildren(...diagnosisSection(told, { linked: false }));
  }

  showPast(events) {
    const text = JSON.stringify(events.map(({ id }) => id));
    if (text === this.pastShown) return;
    this.pastShown = text;
    this.past.replaceChildren(...(events.length ? [part("Timeline"), card(timelineTable(events, { linked: false }))] : []));
  }

  path() { return `hosts/${encodeURIComponent(this.name)}/live`; }
  query() { return { seen: this.seen }; }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    document.removeEventListener("theme", this.restyle);
    this.charts.forEach(({ chart }) => chart.close(window.Plotly));
  }

  fail(fault) {
    if (fault.code === "unknown_host") {
      this.live.replaceChildren(element("div", { class: "empty" }, element("h2", {}, "No host of this name"), element("div", {}, fault.hint)));
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
    if (!this.reader || answer.time === null || !this.reader.take(answer.time, answer.values)) return;
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
    if (!this.charts.length) this.live.replaceChildren(element("div", { class: "empty" }, element("h2", {}, "No readings yet"), "The agent is known, but has not sent a record."));
    this.gpuCards = gpus.map((gpu, index) => new GpuCard(gpu, index, answer.inventory));
    this.gpuPart.replaceChildren(...(gpus.length ? [part("GPUs"), element("div", { class: "grid gpu-cards" }, ...this.gpuCards.map(({ node }) => node))] : []));
    this.showInventory(answer.inventory);
    this.preload();
  }

  // The minutes before the page was opened; without them the charts simply start now.
  async preload() {
    const { reader } = this;
    const metrics = [...new Set(this.charts.flatMap(({ lines }) => lines.map(({ metric }) => metric)))];
    if (!metrics.length) return;
    const past = await ask(`hosts/${encodeURIComponent(this.name)}/series`, { metric: metrics, start: `-${HISTORY_SECONDS}s`, step: "1s", rate: "true" }).catch(() => null);
    if (past === null || reader !== this.reader) return;
    for (const { chart, lines } of this.charts) chart.preload(past.times_unix, lines.map((line) => pastOf(past, line)));
    this.draw();
  }

  showHeading(host) {
    const facts = [host.agent_version && `agent ${host.agent_version}`, host.last_report && `reported ${duration(host.age_seconds)} ago`, host.clock_skew_seconds !== null && `clock ${skew(host.clock_skew_seconds)}`, host.backlog_bytes ? `${bytes(host.backlog_bytes)} still to be sent` : ""];
    setText(this.facts, facts.filter(Boolean).join(" · "));
  }

  showNotices(host) {
    const notices = [];
    const since = host.last_report ? ` since ${clock(host.last_report.unix)} (${duration(host.age_seconds)})` : "";
    if (host.status === "not_reporting") notices.push(["bad", `This host has not reported${since}. The values below are its last ones.`]);
    if (host.status === "ended") notices.push(["", `Its agent was stopped in order${since}.`]);
    if (host.status === "waiting") notices.push(["", "No record has come yet."]);
    if (host.duplicate) notices.push(["bad", "Two machines report under this name. Give each its own: the setting host in agent.toml."]);
    const text = notices.map(([, words]) => words).join("\n");
    if (text === this.noticed) return;
    this.noticed = text;
    this.notices.replaceChildren(...notices.map(([level, words]) => element("div", { class: `notice ${level}`.trim() }, words)));
  }

  showUnavailable(unavailable) {
    const text = JSON.stringify(unavailable);
    if (text === this.unavailableShown) return;
    this.unavailableShown = text;
    this.unavailable.replaceChildren(...(unavailable.length ? [part("Unavailable readings"), unavailableTable(unavailable)] : []));
  }

  showEvents(events) {
    const text = JSON.stringify(events);
    if (text === this.eventsShown) return;
    this.eventsShown = text;
    this.happened.replaceChildren(...(events.length ? [part("What happened"), card(table(["Time", "Event", "Where", "Told"], events.map(({ time, kind, resource, code, text: told }) => [
      time ? moment(time.unix) : DASH, code ? `${kind} ${code}` : kind, resource ? element("span", { title: resource }, this.gpuName(resource)) : "host", told || DASH])))] : []));
  }

  showUsers({ processes, runs }) {
    const text = JSON.stringify([processes, runs]);
    if (text === this.usersShown) return;
    this.usersShown = text;
    this.who.replaceChildren(...[
      ...(runs.length ? [part("Runs"), card(table(["Run", "Rank", "Step", "Step time", "Loss"], runs.map((run) => [run.run, String(run.rank), String(run.step), run.mean_step_seconds === null ? DASH : `${(run.mean_step_seconds * 1000).toFixed(0)} ms`, run.loss === null ? DASH : run.loss.toPrecision(4)])))] : []),
      ...(processes.length ? [part("Processes"), card(table(["Process", "User", "Run", "Known by", "GPU memory", "Command"], processes.map((each) => [String(each.pid), each.user || DASH, each.run || DASH, each.source || DASH, bytes(each.gpu_memory_bytes), each.command || DASH])))] : []),
    ]);
  }

  showInventory(inventory) {
    this.what.replaceChildren(...(inventory ? [part("Inventory"), element("div", { class: "two" }, ...inventoryCards(inventory))] : []));
  }
}

function hostCharts(reader) {
  return CHARTS.map((spec) => ({ spec, lines: spec.lines.filter((line) => reader.has(line)) })).filter(({ lines }) => lines.length).map(({ spec, lines }) => {
    const chart = new Chart(spec.title, lines.map(({ label }) => label), { write: spec.write, least: spec.least, most: spec.most, seconds: HISTORY_SECONDS });
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
    const chart = new Chart(spec.title, gpus.map((gpu, index) => `GPU ${index}`), { write: spec.write, top: spec.top, seconds: HISTORY_SECONDS, tell: spread(spec.write) });
    const read = () => {
      if (spec.topMetric) chart.top = reader.read({ metric: spec.topMetric, only: { gpu: gpus[0] } });
      return lines.map((line) => reader.read(line));
    };
    return { chart, lines, read };
  });
}

const spread = (write) => (values) => {
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
    this.temperature = meter("heat");
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
    const [heat, slow] = [read(GPU_CARD.temperature), read(GPU_CARD.slowdown) ?? this.slowdown];
    const [power, limit] = [read(GPU_CARD.power), read(GPU_CARD.powerLimit)];
    const share = (part, whole) => (part === null || !whole ? null : part / whole);
    this.busy.set(read(GPU_CARD.busy), percent(read(GPU_CARD.busy)));
    this.memory.set(share(used, total), total ? `${bytes(used)} of ${bytes(total)}` : bytes(used));
    const margin = heat === null || slow === null ? null : slow - heat;
    this.temperature.set(share(heat, slow ?? 100), slow === null ? fixed(heat, 0, "°C") : `${fixed(heat, 0)} of ${fixed(slow, 0, "°C")}`, margin === null ? "" : margin <= 2 ? "bad" : margin <= 8 ? "warn" : "");
    this.power.set(share(power, limit), limit ? `${fixed(power, 0)} of ${fixed(limit, 0, "W")}` : fixed(power, 0, "W"));
    setText(this.clock, hertz(read(GPU_CARD.clock)));
  }
}

const REASONS = ["failed", "timed_out", "denied", "stale", "unknown", "unsupported", "absent"];

// What can be helped stands first; what many resources share is one row.
function gathered(unavailable) {
  const rows = new Map();
  for (const { resource, ...unavailable_reading } of unavailable) {
    const key = JSON.stringify(unavailable_reading);
    if (!rows.has(key)) rows.set(key, { ...unavailable_reading, resources: [] });
    if (resource) rows.get(key).resources.push(resource);
  }
  return [...rows.values()].sort((a, b) => REASONS.indexOf(a.reason) - REASONS.indexOf(b.reason));
}

const listed = (resources) => (resources.length > 1 ? element("span", { title: resources.join("\n") }, `${resources.length} resources`) : resources[0]);

function unavailableTable(unavailable) {
  return card(table(["Probe", "What", "Reason", "Detail", "What to do"], gathered(unavailable).map((unavailable_reading) => [
    unavailable_reading.probe, element("span", {}, unavailable_reading.metric || "everything", ...(unavailable_reading.resources.length ? [" of ", listed(unavailable_reading.resources)] : [])),
    element("span", { class: `reason ${unavailable_reading.reason}` }, unavailable_reading.reason.replace("_", " ")), unavailable_reading.detail, unavailable_reading.remedy || DASH])));
}

function pairs(title, entries) {
  const told = entries.filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (!told.length) return null;
  return card(element("h3", {}, title), element("dl", { class: "pairs" }, ...told.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))])));
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
