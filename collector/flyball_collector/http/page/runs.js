// The runs of the fleet: those that report steps, those that only have processes on GPUs, and those that have ended.

import { badge, card, hostLink, runLink, sectionTitle, table } from "./diagnosis.js";
import { element, patchChildren } from "./dom.js";
import { count, DASH, moment, shortTime, twoUnits } from "./format.js";

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
    patchChildren(this.list,
      ...section("Running", now, none()),
      ...(ended.length ? section("Ended in the last day", ended) : []),
      ...(rest > 0 ? [element("p", { class: "muted" }, `and ${rest} more`)] : []));
  }
}

// Explain how a training reports.
function none() {
  const code = (text) => element("code", {}, text);
  return element("span", {}, "No run holds a GPU or reports steps. A training reports if its script opens a run with ", code('flyball.run("NAME")'), ", or if it is started with ", code("flyball run -- python train.py"), ".");
}

function section(title, runs, empty) {
  return [sectionTitle(`${title}: ${runs.length}`), card(runs.length ? table(HEADS, runs.map(row)) : element("p", { class: "muted" }, empty))];
}

function row(run) {
  const known = (value) => (value === null ? DASH : String(value));
  const ranks = run.ranks && run.world_size && run.ranks !== run.world_size ? `${run.ranks} of ${run.world_size}` : known(run.ranks);
  return [
    runLink(run.run, run.source ? `${run.run}, found by ${run.source}` : run.run),
    run.state === "not_reporting" ? element("span", { class: "warn" }, "not reporting") : run.state,
    run.users.join(", ") || DASH,
    hosts(run.hosts),
    known(run.gpus),
    ranks,
    run.step !== null && run.labels.total_steps ? `${count(run.step)} of ${count(Number(run.labels.total_steps))}` : count(run.step),
    shortTime(run.step_median_seconds),
    run.remaining_seconds === null ? DASH : twoUnits(run.remaining_seconds),
    run.started ? moment(run.started.unix) : DASH,
    run.severity ? element("span", { title: `${run.own_conditions} of the run, ${run.conditions - run.own_conditions} of its hosts` }, badge(run.severity, String(run.conditions))) : DASH,
  ];
}

function hosts(names) {
  const links = names.slice(0, SHOWN_HOSTS).flatMap((name, place) => [place ? ", " : "", hostLink(name)]);
  return element("span", { title: names.join(", ") }, ...links, names.length > SHOWN_HOSTS ? ` and ${names.length - SHOWN_HOSTS} more` : "");
}
