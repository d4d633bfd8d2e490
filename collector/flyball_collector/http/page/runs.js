// The runs of the fleet: those that report steps, those that only have processes on GPUs, and those that have ended.

import { badge, card, sectionTitle, table } from "./diagnosis.js";
import { element } from "./dom.js";
import { DASH, duration, moment } from "./format.js";

const HEADS = ["Run", "State", "User", "Hosts", "GPUs", "Ranks", "Step", "Step time", "Left", "Started", "Problems"];
const SHOWN_HOSTS = 3;

export class RunsView {
  constructor(container) {
    this.list = element("div");
    container.append(element("a", { href: "#/" }, "← All hosts"), element("div", { class: "title" }, element("h1", {}, "Runs")), this.list);
  }

  path() { return "runs"; }
  query() { return {}; }
  close() {}
  fail() {}

  show(answer) {
    const text = JSON.stringify(answer);
    if (text === this.shown) return;
    this.shown = text;
    const ended = answer.runs.filter(({ state }) => state === "ended");
    const now = answer.runs.filter(({ state }) => state !== "ended");
    const rest = answer.total - answer.runs.length;
    this.list.replaceChildren(
      ...section("Running", now, "No run holds a GPU or reports steps."),
      ...(ended.length ? section("Ended in the last day", ended) : []),
      ...(rest > 0 ? [element("p", { class: "muted" }, `and ${rest} more`)] : []));
  }
}

function section(title, runs, none) {
  return [sectionTitle(`${title}: ${runs.length}`), card(runs.length ? table(HEADS, runs.map(row)) : element("p", { class: "muted" }, none))];
}

function row(run) {
  const known = (value) => (value === null ? DASH : String(value));
  const ranks = run.ranks && run.world_size && run.ranks !== run.world_size ? `${run.ranks} of ${run.world_size}` : known(run.ranks);
  return [
    run.source ? element("span", { title: `${run.run}, found by ${run.source}` }, run.run) : run.run,
    run.state === "not_reporting" ? element("span", { class: "warn" }, "not reporting") : run.state,
    run.users.join(", ") || DASH,
    hosts(run.hosts),
    known(run.gpus),
    ranks,
    known(run.step),
    run.step_median_seconds === null ? DASH : `${(run.step_median_seconds * 1000).toFixed(0)} ms`,
    run.remaining_seconds === null ? DASH : duration(run.remaining_seconds),
    run.started ? moment(run.started.unix) : DASH,
    run.severity ? badge(run.severity, String(run.conditions)) : DASH,
  ];
}

function hosts(names) {
  const links = names.slice(0, SHOWN_HOSTS).flatMap((name, place) => [place ? ", " : "", element("a", { href: `#/host/${encodeURIComponent(name)}` }, name)]);
  return element("span", { title: names.join(", ") }, ...links, names.length > SHOWN_HOSTS ? ` and ${names.length - SHOWN_HOSTS} more` : "");
}
