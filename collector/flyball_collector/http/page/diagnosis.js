// Diagnosis: active conditions, bottleneck scores, advice and the timeline.

import { element, meter } from "./dom.js";
import { DASH, duration, moment, percent } from "./format.js";

export const sectionTitle = (title, ...more) => element("h2", { class: "section" }, title, ...more);
export const card = (...children) => element("div", { class: "card" }, ...children);

export function table(heads, rows) {
  return element("table", { class: "plain" },
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))))));
}

export const hostLink = (name) => element("a", { href: `#/host/${encodeURIComponent(name)}` }, name);
export const runLink = (name, title = null) => element("a", { href: `#/runs/${encodeURIComponent(name)}`, title }, name);

export const spaced = (kind) => kind.replaceAll("_", " ");

export function badge(severity, text = severity) {
  return element("span", { class: `badge ${severity}` }, text);
}

// Format the median with its interval, if there is one. Zero means that it has happened.
export function timeLeft({ seconds_left: middle, seconds_left_low: low, seconds_left_high: high }) {
  if (middle === null) return "";
  if (middle <= 0) return "now";
  const bounds = low !== null && high !== null ? [duration(low), duration(high)] : [];
  const interval = bounds[0] === bounds[1] ? "" : ` (${bounds.join(" … ")})`;
  return `${duration(middle)} left${interval}`;
}

// A condition below its exit level is cleared soon, unless it comes back.
const clearsIn = ({ clears_in_seconds: seconds }) => (seconds === null || seconds === undefined ? "" : `clears in ${duration(seconds)}`);

const confidenceText = ({ confidence }) => (confidence === null ? "" : `${Math.round(confidence * 100)} % confidence`);

// Merge equal entries of several GPUs of a host into one, with the least time left.
export function mergeGpus(entries) {
  const groups = new Map();
  for (const entry of entries) {
    const key = JSON.stringify([entry.kind, entry.severity, entry.host, entry.run, entry.rank, entry.resource]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(entry);
  }
  return [...groups.values()].map((group) => {
    if (group.length === 1 || group[0].gpu === null) return group;
    const time = ({ seconds_left: seconds }) => seconds ?? Infinity;
    return [{ ...group.reduce((first, entry) => (time(entry) < time(first) ? entry : first)), gpus: group.map((each) => `${gpuText(each)}: ${each.gpu}`) }];
  }).flat();
}

// A UUID as in RFC 9562. Its first eight digits are enough to identify a GPU.
const UUID = /([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

// Return the number that the GPU had at that time, or the start of its UUID if the number is unknown.
const gpuText = ({ gpu, gpu_index: index }) => `GPU ${index ?? gpu.replace(UUID, "$1").replace(/^GPU-/, "")}`;

// Return the subject of an entry, with links to its host and its run, except those of the page that shows it.
export function subjectOf(entry, { linked = true, run = null } = {}) {
  const gpu = entry.gpus ? element("span", { title: entry.gpus.join("\n") }, `${entry.gpus.length} GPUs`) : entry.gpu && element("span", { title: entry.gpu }, gpuText(entry));
  const inner = [gpu, entry.resource, entry.run && entry.run !== run && element("span", {}, "run ", runLink(entry.run)), entry.rank !== null ? `rank ${entry.rank}` : null].filter(Boolean);
  const host = entry.host && linked ? hostLink(entry.host) : null;
  const parts = [host, ...inner].filter(Boolean).flatMap((each, index) => (index ? [" · ", each] : [each]));
  return element("span", {}, ...(parts.length ? parts : [!linked ? "host" : run === null ? DASH : "this run"]));
}

export function conditionList(entries, options = {}) {
  return element("ul", { class: "active" }, ...mergeGpus(entries).map((entry) => element("li", {},
    badge(entry.severity), element("span", { class: "what" }, element("b", {}, spaced(entry.kind)), " ", subjectOf(entry, options)),
    element("span", { class: "why" }, entry.because),
    element("span", { class: "facts" }, [timeLeft(entry), confidenceText(entry), clearsIn(entry), entry.raised && `since ${moment(Date.parse(entry.raised) / 1000)}`].filter(Boolean).join(" · ")))));
}

// Show bottleneck scores in their order. Raised ones are highlighted.
export function scoreList(scores) {
  const shown = scores.filter((score) => score.raised || (score.score ?? 0) >= 0.05);
  return element("div", { class: "scores" }, ...shown.map((score) => {
    const bar = meter(spaced(score.bottleneck));
    bar.set(score.score, percent(score.score), score.raised ? "raised" : "");
    bar.node.title = score.explained_by ? `${score.meaning} Explained by ${spaced(score.explained_by)}.` : score.meaning;
    return bar.node;
  }));
}

export function adviceList(advice, options = {}) {
  return element("ol", { class: "advice" }, ...advice.map((each) => element("li", {},
    element("div", { class: "change" }, each.change),
    element("div", {}, subjectOf(each, options), ": ", each.because),
    element("div", { class: "facts" }, [
      each.gain_low === null ? "" : `faster by ×${each.gain_low.toFixed(2)} to ×${each.gain_high.toFixed(2)}`, confidenceText(each), `effort: ${each.effort}`,
      each.needs_consent ? "needs the owner's consent" : "", spaced(each.rule)].filter(Boolean).join(" · ")),
    each.tried ? element("div", { class: "tried" }, each.tried) : null,
    each.caution ? element("div", { class: "warn" }, each.caution) : null)));
}

const BASE = { cpu: "CPU", memory: "memory", disk: "disk", network: "network" };

// Return the active problems; those of a run before those of its hosts.
function activeProblems({ run, conditions }, options) {
  const list = (title, entries) => (entries.length ? [element("h3", {}, title), conditionList(entries, options)] : []);
  if (!conditions.length) return [element("h3", {}, "Active problems"), element("p", { class: "muted" }, "No active problems.")];
  if (run === null) return list("Active problems", conditions);
  return [...list("Active problems of the run", conditions.filter((entry) => entry.run === run)), ...list("Active problems of its hosts", conditions.filter((entry) => entry.run !== run))];
}

// Return the diagnosis section of the page of a host or run.
export function diagnosisSection(diagnosis, options) {
  const base = Object.entries(diagnosis.base_scores).map(([name, value]) => `${BASE[name] ?? name} ${percent(value)}`).join(", ");
  const hasScores = diagnosis.scores.some((score) => score.raised || (score.score ?? 0) >= 0.05);
  const head = diagnosis.primary ? element("span", { class: "primary" }, "limited by ", element("b", {}, spaced(diagnosis.primary))) : null;
  return [
    sectionTitle("Diagnosis", head ? " · " : "", head ?? ""),
    element("div", { class: "two diagnosis" },
      card(...activeProblems(diagnosis, options)),
      card(element("h3", {}, "Bottlenecks"), hasScores ? scoreList(diagnosis.scores) : element("p", { class: "muted" }, "No score of 5 % or more."),
        base ? element("p", { class: "muted small" }, `Utilisation: ${base}`) : null),
      diagnosis.advice.length ? card(element("h3", {}, "Advice"), adviceList(diagnosis.advice, options)) : null),
  ];
}

export function timelineTable(events, options = {}) {
  return table(["Time", "Severity", "Event", "Subject", "Reason"], events.map((event) => [
    moment(event.time_unix),
    event.state === "cleared" ? badge("cleared") : event.state === "noted" && event.severity === "info" ? badge("noted") : badge(event.severity, event.state === "changed" ? `${event.severity} ↻` : event.severity),
    spaced(event.kind), subjectOf(event, options), element("span", {}, event.because, event.state !== "cleared" && event.seconds_left !== null ? element("span", { class: "facts" }, ` ${timeLeft(event)}`) : ""),
  ]));
}
