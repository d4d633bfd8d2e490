// One run: progress, speed, charts, parts of the step, services, levels, ranks, and what limits it.

import { adjustmentsSection } from "./adjustments.js";
import { request } from "./api.js";
import { capturesSection } from "./captures.js";
import { Chart, plotly } from "./charts.js";
import { badge, card, diagnosisSection, hostLink, sectionTitle, spaced, table, timelineTable } from "./diagnosis.js";
import { element, patchChildren } from "./dom.js";
import { bytes, count, DASH, duration, moment, percent, rate, shortRate, shortTime, significant, twoUnits } from "./format.js";
import { levelTable, partsOfStep, rankTable, serviceTable } from "./run_parts.js";

const HISTORY_SECONDS = 600;
const EVENTS_MILLISECONDS = 5000;
const PAST_EVENTS = 50;
const SHOWN_HOSTS = 4;

export class RunView {
  constructor(container, name) {
    this.name = name;
    this.facts = element("span", { class: "facts" });
    this.state = element("span");
    this.heading = element("div", { class: "title" }, element("h1", {}, name), this.state, this.facts);
    for (const part of ["notices", "progress", "figures", "step", "diagnosis", "adjustments", "ranks", "captures", "past"]) this[part] = element("div");
    this.adjustments.append(adjustmentsSection(name));
    this.captures.append(capturesSection(name));
    this.shown = {};
    this.charts = runCharts();
    this.live = element("div", { class: "grid run-charts" });
    this.body = element("div", { class: "run" });
    this.body.append(element("div", { class: "empty" }, element("h2", {}, "Loading …")));
    container.append(element("a", { href: "#/runs" }, "← Runs"), this.heading, this.body);
    this.redraw = () => this.draw();
    document.addEventListener("theme", this.redraw);
    this.readPast();
  }

  path() { return "run"; }
  query() { return { name: this.name }; }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    document.removeEventListener("theme", this.redraw);
    this.charts.forEach(({ chart }) => chart.close(window.Plotly));
  }

  fail(error) {
    if (error.code !== "unknown_run" || !this.changed("unknown", error.hint)) return;
    this.body.replaceChildren(element("div", { class: "empty" }, element("h2", {}, "Unknown run"), element("div", {}, error.hint.startsWith("GET ") ? "" : error.hint),
      element("p", {}, "Runs are listed until a day after their end. ", element("a", { href: "#/runs" }, "All runs"))));
    this.open = false;
  }

  show(answer) {
    if (!this.open) this.body.replaceChildren(this.notices, this.progress, this.figures, this.live, this.step, this.diagnosis, this.adjustments, this.ranks, this.captures, this.past);
    this.open = true;
    delete this.shown.unknown;
    this.showHeading(answer);
    patchChildren(this.notices, ...notices(answer));
    patchChildren(this.progress, ...(answer.reports_steps ? progress(answer) : []));
    patchChildren(this.figures, ...(answer.reports_steps ? figures(answer) : []));
    this.showCharts(answer);
    patchChildren(this.step, ...partsOfStep(answer), ...tables(serviceTable(answer.services), levelTable(answer.levels)));
    patchChildren(this.diagnosis, ...diagnosisSection(answer.diagnosis, { run: this.name }), ...hostsOf(answer.diagnosis.hosts));
    patchChildren(this.ranks, ...rankTable(answer));
  }

  // Return true if a part of the page shows other data than before.
  changed(part, data) {
    const text = JSON.stringify(data);
    if (text === this.shown[part]) return false;
    this.shown[part] = text;
    return true;
  }

  showHeading({ run, attempt, time }) {
    const state = run.state === "not_reporting" ? badge("critical", "not reporting") : badge(run.state);
    patchChildren(this.state, state);
    const facts = [
      run.users.join(", "), run.source && run.source !== "client" ? `found by ${spaced(run.source)}` : "",
      run.started ? `started ${moment(run.started.unix)}` : "", attempt ? `attempt ${attempt}` : "",
      run.last_report ? `reported ${duration(Math.max(0, time.unix - run.last_report.unix))} ago` : "",
      ...Object.entries(run.labels).filter(([name]) => !OWN_LABELS.has(name)).map(([name, value]) => `${name}=${value}`)].filter(Boolean);
    patchChildren(this.facts, ...hostLinks(run.hosts), facts.length && run.hosts.length ? " · " : "", facts.join(" · "));
  }

  showCharts({ trend, recent, loss, run, time }) {
    const now = { step_seconds: recent.step_seconds, tokens_per_second: recent.tokens_per_second, samples_per_second: recent.samples_per_second, loss, data_wait_ratio: recent.data_wait_ratio };
    const used = this.charts.filter(({ series }) => trend[series].some((value) => value !== null)).filter(({ series }, _, all) => series !== "samples_per_second" || !all.some((each) => each.series === "tokens_per_second"));
    for (const { chart, series } of used) chart.replace(trend.times_unix, [trend[series]], [now[series]]);
    if (this.changed("charts", used.map(({ series }) => series))) this.live.replaceChildren(...used.map(({ chart }) => chart.node));
    this.used = used;
    this.until = run.state === "ended" ? trend.times_unix.at(-1) ?? time.unix : time.unix;
    this.draw();
  }

  async draw() {
    if (!this.used?.length) return;
    const library = await plotly().catch(() => null);
    if (library === null || this.closed || !this.live.isConnected) return;
    this.used.forEach(({ chart }) => chart.draw(library, this.until));
  }

  // Less often than the figures: events change less.
  async readPast() {
    if (!document.hidden) {
      const past = await request("events", { run: this.name, limit: PAST_EVENTS }).catch(() => null);
      if (this.closed) return;
      if (past && this.changed("past", past.events.map(({ id }) => id))) this.past.replaceChildren(...(past.events.length ? [sectionTitle("Timeline"), card(timelineTable(past.events, { run: this.name }))] : []));
    }
    this.timer = setTimeout(() => this.readPast(), EVENTS_MILLISECONDS);
  }
}

const tables = (...cards) => (cards.some(Boolean) ? [element("div", { class: "two" }, ...cards)] : []);
const OWN_LABELS = new Set(["total_steps", "total_samples"]);

function runCharts() {
  const chart = (title, series, options) => ({ series, chart: new Chart(title, [title], { seconds: HISTORY_SECONDS, ...options }) });
  return [
    chart("Step time", "step_seconds", { write: shortTime }),
    chart("Tokens per second", "tokens_per_second", { write: shortRate }),
    chart("Samples per second", "samples_per_second", { write: shortRate }),
    chart("Loss", "loss", { write: (value) => significant(value), fromZero: false }),
    chart("Waiting for data", "data_wait_ratio", { write: percent, minTop: 0.1, maxTop: 1 }),
  ];
}

function hostLinks(names) {
  const links = names.slice(0, SHOWN_HOSTS).flatMap((name, place) => [place ? ", " : "", hostLink(name)]);
  return names.length > SHOWN_HOSTS ? [...links, ` and ${names.length - SHOWN_HOSTS} more hosts`] : links;
}

function hostsOf(hosts) {
  if (hosts.length < 2) return [];
  const limited = hosts.filter(({ primary }) => primary);
  return limited.length ? [element("p", { class: "muted small" }, "Limited hosts: ", ...limited.slice(0, 8).flatMap(({ host, primary }, place) => [place ? ", " : "", hostLink(host), ` (${spaced(primary)})`]), limited.length > 8 ? ` and ${limited.length - 8} more` : "")] : [];
}

const notice = (level, ...children) => element("div", { class: `notice ${level}`.trim() }, ...children);
const code = (text) => element("code", {}, text);

function notices({ run, bad_losses: bad, reports_steps: reports, dropped }) {
  const found = [];
  if (run.state === "not_reporting") found.push(notice("bad", `No host of this run reports${run.last_seen ? ` since ${moment(run.last_seen.unix)}` : ""}. The values below are the last known ones.`));
  if (run.state === "ended") found.push(notice("", `This run ended${run.last_seen ? ` at ${moment(run.last_seen.unix)}` : ""}. The values below are its last ones.`));
  if (bad) found.push(notice("bad", `The loss is NaN or infinite in the last ${bad === 1 ? "report" : `${bad} reports`}.`));
  if (dropped) found.push(notice("", `${count(dropped)} names or values of its reports were cut or dropped, because they were too long, too many or not numbers.`));
  if (!reports && run.state !== "ended") found.push(howToReport(run));
  return found;
}

// Explain how a run without step reports gets them.
function howToReport(run) {
  return notice("", element("b", {}, "This run reports no steps."), " Its processes and GPUs are known, but not its speed, loss and progress. Two lines in its script make it report:",
    element("pre", {}, `run = flyball.run(${JSON.stringify(run.run)})  # after import flyball\nrun.step(loss=loss)  # after each step`),
    element("div", {}, "Or start it without a change: ", code("flyball run -- python train.py"), ". See docs/runs.md."));
}

function progress({ progress: at, run }) {
  const known = at.ratio !== null;
  const done = at.total_steps || at.total_samples === null
    ? `Step ${count(at.step)}${at.total_steps ? ` of ${count(at.total_steps)}` : ""}`
    : `${count(at.samples)} of ${count(at.total_samples)} samples`;
  const bar = element("div", { class: "track" }, element("div", { class: "fill" }));
  bar.firstChild.style.width = `${((at.ratio ?? 0) * 100).toFixed(2)}%`;
  return [element("div", { class: "card progress" },
    element("div", { class: "line" }, element("b", {}, done), known ? element("span", {}, `${(at.ratio * 100).toFixed(1)} %`) : null, element("span", { class: "left" }, run.state === "ended" ? "" : timeLeft(at))),
    known ? bar : null)];
}

function timeLeft({ remaining_seconds: left, remaining_low_seconds: low, remaining_high_seconds: high, ratio }) {
  if (left === null) return ratio === null || ratio >= 1 ? "" : "time left: not known yet";
  const interval = low !== null && high !== null && twoUnits(low) !== twoUnits(high) ? ` (${twoUnits(low)} … ${twoUnits(high)})` : "";
  return `${twoUnits(left)} left${interval}`;
}

function figures({ recent, overall, loss, bad_losses: bad, diagnosis, ...answer }) {
  const primary = diagnosis.scores.find(({ bottleneck }) => bottleneck === diagnosis.primary);
  const limit = diagnosis.primary ? spaced(diagnosis.primary) : "nothing found";
  const confidence = primary?.confidence !== null && primary !== undefined ? `${Math.round(primary.confidence * 100)} % confidence` : "";
  const slow = answer.slowest_rank === null ? "" : `max ${shortTime(answer.slowest_step_seconds)}, rank ${answer.slowest_rank}`;
  const since = (value) => (value === null ? "" : `${rate(value)} since its start`);
  const tiles = [
    ["Limited by", limit, confidence, diagnosis.primary ? "warn" : ""],
    ["Step time", shortTime(recent.step_seconds), slow],
    recent.tokens_per_second !== null || overall.tokens_per_second !== null ? ["Tokens/s", rate(recent.tokens_per_second), since(overall.tokens_per_second)] : null,
    recent.samples_per_second !== null || overall.samples_per_second !== null ? ["Samples/s", rate(recent.samples_per_second), since(overall.samples_per_second)] : null,
    ["Loss", bad ? "NaN or infinite" : significant(loss), "", bad ? "bad" : ""],
    ["Waiting for data", percent(recent.data_wait_ratio), recent.data_wait_ratio === null ? "" : "of the step"],
    recent.throttled_seconds ? ["Throttled", shortTime(recent.throttled_seconds), "between the latest steps"] : null,
    recent.paused_seconds ? ["Paused", shortTime(recent.paused_seconds), "between the latest steps"] : null,
    overall.oom_retries ? ["Out of memory", count(overall.oom_retries), overall.oom_retries === 1 ? "part was repeated" : "parts were repeated"] : null,
    answer.allocated_peak_bytes !== null ? ["Memory peak", bytes(answer.allocated_peak_bytes), answer.reserved_peak_bytes !== null ? `${bytes(answer.reserved_peak_bytes)} reserved` : ""] : null,
  ].filter(Boolean);
  return [element("dl", { class: "tiles" }, ...tiles.map(([name, value, more, level = ""]) => element("div", {},
    element("dt", {}, name), element("dd", { class: `${level} ${value === DASH ? "unknown" : ""}`.trim() }, value), element("dd", { class: "facts" }, more))))];
}
