// The timeline of the whole fleet: what stands, and what was raised, changed and cleared lately.

import { ask } from "./api.js";
import { card, conditionList, part, timelineTable } from "./diagnosis.js";
import { element, setText } from "./dom.js";

const PAGE = 200;
const LEVELS = [["info", "Everything"], ["warning", "Warnings"], ["critical", "Critical"]];

export class TimelineView {
  constructor(place) {
    this.severity = "info";
    this.chips = LEVELS.map(([level, label]) => element("button", { class: "chip", type: "button", "aria-pressed": String(level === this.severity), onclick: () => this.choose(level) }, label));
    this.active = element("div");
    this.list = element("div");
    this.more = element("button", { class: "quiet", type: "button", onclick: () => this.older() }, "Older");
    this.more.hidden = true;
    this.old = [];
    place.append(element("a", { href: "#/" }, "← All hosts"), element("div", { class: "title" }, element("h1", {}, "Timeline"), element("div", { class: "chips" }, ...this.chips)), this.active, this.list, this.more);
  }

  path() { return "events"; }
  query() { return { limit: PAGE, severity: this.severity }; }
  close() {}
  fail() {}

  choose(level) {
    this.severity = level;
    this.old = [];
    this.next = undefined;
    this.chips.forEach((chip, index) => chip.setAttribute("aria-pressed", String(LEVELS[index][0] === level)));
    this.refresh();
  }

  async refresh() {
    const wanted = this.severity;
    const answer = await ask(this.path(), this.query()).catch(() => null);
    if (answer && wanted === this.severity) this.show(answer);
  }

  async show(answer) {
    const active = await ask("conditions", { severity: this.severity, limit: 50 }).catch(() => null);
    const text = JSON.stringify([answer, active, this.old.length]);
    if (text === this.shown) return;
    this.shown = text;
    this.newest = answer.events;
    if (this.next === undefined) this.next = answer.next;
    if (active) {
      const rest = active.total - active.conditions.length;
      this.active.replaceChildren(...(active.conditions.length ? [part(`Stands now: ${active.total}`), card(conditionList(active.conditions), rest > 0 ? element("p", { class: "muted" }, `and ${rest} more`) : null)] : []));
    }
    this.paint(answer.complete);
  }

  paint(complete = true) {
    const last = this.newest.at(-1)?.id ?? "";
    const events = [...this.newest, ...this.old.filter((event) => event.id < last)];
    const nothing = element("p", { class: "muted" }, "Nothing was raised, changed or cleared.");
    this.list.replaceChildren(part("Lately"), card(complete ? null : element("p", { class: "warn" }, "The store does not answer: only the newest are shown."), events.length ? timelineTable(events) : nothing));
    this.more.hidden = !this.next;
    setText(this.more, "Older");
  }

  async older() {
    const answer = await ask("events", { ...this.query(), cursor: this.next }).catch(() => null);
    if (!answer) return;
    this.old = [...this.old, ...answer.events];
    this.next = answer.next;
    this.paint();
  }
}
