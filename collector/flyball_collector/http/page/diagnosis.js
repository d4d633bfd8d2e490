// What the diagnosis says: what stands, what bounds a host, what to change, and the timeline. All of it as text.

import { element, meter } from "./dom.js";
import { DASH, duration, moment, percent } from "./format.js";

export const part = (title, ...more) => element("h2", { class: "part" }, title, ...more);
export const card = (...children) => element("div", { class: "card" }, ...children);

export function table(heads, rows) {
  return element("table", { class: "plain" },
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))))));
}

export const words = (kind) => kind.replaceAll("_", " ");

export function badge(severity, text = severity) {
  return element("span", { class: `badge ${severity}` }, text);
}

// The median, and its interval where there is one; what goes on already has no time left.
export function left({ seconds_left: middle, seconds_left_low: low, seconds_left_high: high }) {
  if (middle === null) return "";
  if (middle <= 0) return "now";
  const bounds = low !== null && high !== null ? [duration(low), duration(high)] : [];
  const interval = bounds[0] === bounds[1] ? "" : ` (${bounds.join(" … ")})`;
  return `${duration(middle)} left${interval}`;
}

const sure = ({ confidence }) => (confidence === null ? "" : `${Math.round(confidence * 100)} % sure`);

// The same of several GPUs of a host is one entry: that with the least time left speaks for all.
export function gathered(entries) {
  const groups = new Map();
  for (const entry of entries) {
    const key = JSON.stringify([entry.kind, entry.severity, entry.host, entry.run, entry.rank, entry.resource]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(entry);
  }
  return [...groups.values()].map((group) => {
    if (group.length === 1 || group[0].gpu === null) return group;
    const time = ({ seconds_left: seconds }) => seconds ?? Infinity;
    return [{ ...group.reduce((first, entry) => (time(entry) < time(first) ? entry : first)), gpus: group.map((each) => `${gpuWords(each)}: ${each.gpu}`) }];
  }).flat();
}

// As RFC 9562 writes it; people tell GPUs apart by its first eight digits.
const UUID = /([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

// The number that the GPU had at that time; where it is unknown the beginning of its UUID.
const gpuWords = ({ gpu, gpu_index: index }) => `GPU ${index ?? gpu.replace(UUID, "$1").replace(/^GPU-/, "")}`;

// Whom it is about, with a link to the host.
export function about(entry, { linked = true } = {}) {
  const gpu = entry.gpus ? element("span", { title: entry.gpus.join("\n") }, `${entry.gpus.length} GPUs`) : entry.gpu && element("span", { title: entry.gpu }, gpuWords(entry));
  const inner = [gpu, entry.resource, entry.run && `run ${entry.run}`, entry.rank !== null ? `rank ${entry.rank}` : null].filter(Boolean);
  const host = entry.host && linked ? element("a", { href: `#/host/${encodeURIComponent(entry.host)}` }, entry.host) : null;
  const parts = [host, ...inner].filter(Boolean).flatMap((each, index) => (index ? [" · ", each] : [each]));
  return element("span", {}, ...(parts.length ? parts : [linked ? DASH : "host"]));
}

export function conditionList(entries, options = {}) {
  return element("ul", { class: "active" }, ...gathered(entries).map((entry) => element("li", {},
    badge(entry.severity), element("span", { class: "what" }, element("b", {}, words(entry.kind)), " ", about(entry, options)),
    element("span", { class: "why" }, entry.because),
    element("span", { class: "facts" }, [left(entry), sure(entry), entry.raised && `since ${moment(Date.parse(entry.raised) / 1000)}`].filter(Boolean).join(" · ")))));
}

// What bounds a host, in order; those that are raised stand out.
export function scoreList(scores) {
  const shown = scores.filter((score) => score.raised || (score.score ?? 0) >= 0.05);
  return element("div", { class: "scores" }, ...shown.map((score) => {
    const bar = meter(words(score.bottleneck));
    bar.set(score.score, percent(score.score), score.raised ? "raised" : "");
    bar.node.title = score.explained_by ? `${score.meaning} Explained by ${words(score.explained_by)}.` : score.meaning;
    return bar.node;
  }));
}

export function adviceList(advice, options = {}) {
  return element("ol", { class: "advice" }, ...advice.map((each) => element("li", {},
    element("div", { class: "change" }, each.change),
    element("div", {}, about(each, options), ": ", each.because),
    element("div", { class: "facts" }, [
      each.gain_low === null ? "" : `faster by ×${each.gain_low.toFixed(2)} to ×${each.gain_high.toFixed(2)}`, sure(each), `effort: ${each.effort}`,
      each.needs_consent ? "only with the owner's consent" : "", words(each.rule)].filter(Boolean).join(" · ")),
    each.caution ? element("div", { class: "warn" }, each.caution) : null)));
}

const BASE = { cpu: "CPU", memory: "memory", disk: "disk", network: "network" };

// The section of a host's page; `null` when there is nothing at all to say.
export function diagnosisSection(told, options) {
  const quiet = !told.conditions.length && !told.advice.length;
  const base = Object.entries(told.base_scores).map(([name, value]) => `${BASE[name] ?? name} ${percent(value)}`).join(", ");
  const scored = told.scores.some((score) => score.raised || (score.score ?? 0) >= 0.05);
  const head = told.primary ? element("span", { class: "primary" }, "bounded by ", element("b", {}, words(told.primary))) : null;
  return [
    part("Diagnosis", head ? " " : "", head ?? ""),
    element("div", { class: "two diagnosis" },
      card(element("h3", {}, "What stands"), quiet || !told.conditions.length ? element("p", { class: "muted" }, "Nothing: no risk, no fault, no bottleneck that is sure enough to be told.") : conditionList(told.conditions, options)),
      card(element("h3", {}, "What bounds it"), scored ? scoreList(told.scores) : element("p", { class: "muted" }, "Nothing measurable."),
        base ? element("p", { class: "muted small" }, `Plain shares of plain limits: ${base}`) : null),
      told.advice.length ? card(element("h3", {}, "What to change"), adviceList(told.advice, options)) : null),
  ];
}

export function timelineTable(events, options = {}) {
  return table(["Time", "", "What", "Of", "Because"], events.map((event) => [
    moment(event.time_unix),
    event.state === "cleared" ? badge("over", "cleared") : event.state === "noted" ? badge("noted") : badge(event.severity, event.state === "changed" ? `${event.severity} ↻` : event.severity),
    words(event.kind), about(event, options), element("span", {}, event.because, event.state !== "cleared" && event.seconds_left !== null ? element("span", { class: "facts" }, ` ${left(event)}`) : ""),
  ]));
}
