// The timeline of the fleet: active conditions, and the history of raised, changed and cleared ones.

import { request } from "./api.js";
import { card, conditionList, sectionTitle, timelineTable } from "./diagnosis.js";
import { element, setText } from "./dom.js";

const PAGE = 200;
const LEVELS = [["info", "Info"], ["warning", "Warning"], ["critical", "Critical"]];

export class TimelineView {
  constructor(container) {
    this.severity = "info";
    this.chips = LEVELS.map(([level, label]) => element("button", { class: "chip", type: "button", "aria-pressed": String(level === this.severity), onclick: () => this.choose(level) }, label));
    this.active = element("div");
    this.list = element("div");
    this.more = element("button", { class: "quiet", type: "button", onclick: () => this.older() }, "Show older");
    this.more.hidden = true;
    this.old = [];
    container.append(element("a", { href: "#/" }, "← All hosts"), element("div", { class: "title" }, element("h1", {}, "Timeline"), element("div", { class: "chips" }, element("span", { class: "facts" }, "Minimum severity"), ...this.chips)), this.active, this.list, this.more);
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
    const requested = this.severity;
    const answer = await request(this.path(), this.query()).catch(() => null);
    if (answer && requested === this.severity) this.show(answer);
  }

  async show(answer) {
    const active = await request("conditions", { severity: this.severity, limit: 50 }).catch(() => null);
    const text = JSON.stringify([answer, active, this.old.length]);
    if (text === this.shown) return;
    this.shown = text;
    this.newest = answer.events;
    if (this.next === undefined) this.next = answer.next;
    if (active) {
      const rest = active.total - active.conditions.length;
      this.active.replaceChildren(...(active.conditions.length ? [sectionTitle(`Active now: ${active.total}`), card(conditionList(active.conditions), rest > 0 ? element("p", { class: "muted" }, `and ${rest} more`) : null)] : []));
    }
    this.paint(answer.complete);
  }

  paint(complete = true) {
    const last = this.newest.at(-1)?.id ?? "";
    const events = [...this.newest, ...this.old.filter((event) => event.id < last)];
    const none = element("p", { class: "muted" }, "No events.");
    this.list.replaceChildren(sectionTitle("History"), card(complete ? null : element("p", { class: "warn" }, "The store is unavailable. Only recent events are shown."), events.length ? timelineTable(events) : none));
    this.more.hidden = !this.next;
    setText(this.more, "Show older");
  }

  async older() {
    const answer = await request("events", { ...this.query(), cursor: this.next }).catch(() => null);
    if (!answer) return;
    this.old = [...this.old, ...answer.events];
    this.next = answer.next;
    this.paint();
  }
}
