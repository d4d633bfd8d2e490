// Parts of the page of a run: the step as one bar, services, levels and ranks.

import { badge, card, hostLink, sectionTitle, table } from "./diagnosis.js";
import { element } from "./dom.js";
import { bytes, count, DASH, duration, percent, rate, shortTime, significant } from "./format.js";

const COLOURS = 8;

// Show the parts of a step as one stacked bar with its key.
export function partsOfStep({ sections, recent }) {
  if (!sections.length) return [];
  const whole = Math.max(recent.step_seconds ?? 0, sections.reduce((sum, { seconds }) => sum + seconds, 0));
  const colour = (kind, place) => (kind === "section" ? `series-${place % COLOURS}` : kind);
  const text = ({ name, seconds, ratio }) => `${name}: ${shortTime(seconds)}${ratio === null ? "" : `, ${percent(ratio)}`}`;
  const bar = element("div", { class: "stacked", role: "img", "aria-label": sections.map(text).join("; ") }, ...sections.map((section, place) => {
    const part = element("div", { class: colour(section.kind, place), title: text(section) });
    part.style.width = `${((section.seconds / whole) * 100).toFixed(2)}%`;
    return part;
  }));
  const keys = sections.map((section, place) => element("li", { class: colour(section.kind, place) },
    element("span", {}, section.name), element("b", {}, shortTime(section.seconds)), element("span", { class: "facts" }, percent(section.ratio))));
  return [sectionTitle("A step"), card(element("h3", {}, "Mean over the last minute", element("span", { class: "now" }, shortTime(recent.step_seconds))), bar, element("ul", { class: "keys" }, ...keys))];
}

export function serviceTable(services) {
  if (!services.length) return null;
  const perSample = services.some(({ calls_per_sample: calls }) => calls !== null);
  return card(element("h3", {}, "Services"), table(["Service", perSample ? "Calls per sample" : "Calls per step", "Per call", "Errors", "Calls"], services.map((each) => [
    each.service, significant(perSample ? each.calls_per_sample : each.calls_per_step, 3), shortTime(each.seconds_per_call),
    each.recent_errors ? element("span", { class: "bad" }, `${count(each.recent_errors)} in the last minute`) : each.errors ? count(each.errors) : "none", count(each.calls)])));
}

export function levelTable(levels) {
  if (!levels.length) return null;
  return card(element("h3", {}, "Levels"), table(["Level", "Items/s", "Since its start", "Items"], levels.map((each) => [
    each.level, rate(each.items_per_second), rate(each.overall_items_per_second), count(each.items)])));
}

const HEADS = ["Rank", "Host", "GPU", "Step", "Step time", "Data wait", "Tokens/s", "Samples/s", "Loss", "Memory peak", "Reported"];
const gpuName = ({ gpu, gpu_index: index }) => element("span", { title: gpu }, String(index ?? gpu.slice(0, 12)));

// Columns in which nothing is known are omitted.
export function rankTable({ ranks, ranks_total: total, time }) {
  if (!ranks.length) return [];
  const slowest = ranks.length > 1 ? Math.max(...ranks.map(({ step_seconds: seconds }) => seconds ?? 0)) : Infinity;
  const rows = ranks.map((each) => [
    element("span", {}, each.rank === null ? DASH : String(each.rank), each.severity ? badge(each.severity) : null),
    hostLink(each.host),
    each.gpus.length ? element("span", {}, ...each.gpus.flatMap((gpu, place) => [place ? ", " : "", gpuName(gpu)])) : DASH,
    count(each.step),
    element("span", { class: each.step_seconds !== null && each.step_seconds === slowest ? "slowest" : "" }, shortTime(each.step_seconds)),
    percent(each.data_wait_ratio),
    rate(each.tokens_per_second),
    rate(each.samples_per_second),
    each.bad_losses ? element("span", { class: "bad" }, "NaN or infinite") : significant(each.loss),
    bytes(each.allocated_peak_bytes),
    each.last_report ? `${duration(Math.max(0, time.unix - each.last_report.unix))} ago` : DASH,
  ]);
  const used = HEADS.map((_, column) => column < 2 || rows.some((row) => row[column] !== DASH && row[column].textContent !== DASH));
  const keep = (row) => row.filter((_, column) => used[column]);
  const more = total > ranks.length ? element("p", { class: "muted" }, `and ${count(total - ranks.length)} more. Shown are those with problems, and the slowest.`) : null;
  return [sectionTitle(total === 1 ? "1 rank" : `${count(total)} ranks`), element("div", { class: "card ranks" }, table(keep(HEADS), rows.map(keep)), more)];
}
