// Adjustments: what was changed in running trainings, why and with what effect; what can be changed, and who decides.

import { requestAsOperator } from "./api.js";
import { badge, card, runLink, sectionTitle, spaced, table } from "./diagnosis.js";
import { element } from "./dom.js";
import { bytes, DASH, moment, rate, shortTime } from "./format.js";

const REFRESH_MILLISECONDS = 5000;
const ACTIVE_MILLISECONDS = 1000; // while one is in progress
const OFF_MILLISECONDS = 60_000; // while the collector allows none
const MOST_WAITS = 60; // until the element is placed
const SHOWN_ON_OVERVIEW = 4;
const LISTED = 20;
const RECENT_SECONDS = 3600;
const LONGEST_REASON = 500;
const POLICIES = ["off", "ask", "auto"];
const HEADS = ["Time", "Change", "State", "Measured speed", "Reason", "Decided by", ""];
const VALUE_HEADS = ["Value", "Now", "Choices", "Class", "When", ""];
const STATES = { proposed: "waits for approval", committed: "prepared", applied: "measuring", rolled_back: "taken back" };

const isRecent = ({ is_over: over, changed }) => !over || Date.now() / 1000 - changed.unix < RECENT_SECONDS;
const stateText = (state) => STATES[state] ?? spaced(state);

export function shown(value) {
  if (value === null) return DASH;
  return typeof value === "boolean" ? (value ? "on" : "off") : String(value);
}

const changeText = ({ name, value_from: from, value_to: to }) => `${name} ${shown(from)} → ${shown(to)}`;

// Format a factor of speed as a percentage, or as a factor from 2 on.
export function gainText(gain) {
  if (gain >= 2) return `×${gain.toPrecision(3)}`;
  const percent = (gain - 1) * 100;
  const digits = Math.abs(percent) >= 0.05 && Math.abs(percent) < 0.95 ? 1 : 0;
  return `${percent < -0.05 ? "−" : "+"}${Math.abs(percent).toFixed(digits)} %`;
}

function effectText({ gain, gain_low: low, gain_high: high }) {
  const ends = [gainText(low), gainText(high)];
  return ends[0] === ends[1] ? gainText(gain) : `${gainText(gain)} (${ends.join(" … ")})`;
}

// Return an element that fills itself, and stops when it is removed from the page. It is empty while there is nothing.
export function adjustmentsSection(run) {
  const view = new RunAdjustments(run);
  keepFresh(view);
  return view.node;
}

// Return the card of the overview: what waits for a person, what is in progress, and what ended recently.
export function adjustmentsCard() {
  const view = new RecentAdjustments();
  keepFresh(view);
  return view.node;
}

async function keepFresh(view, waits = MOST_WAITS) {
  const left = view.node.isConnected ? 0 : waits - 1;
  if (left < 0) return; // removed, or never placed
  if (!document.hidden && performance.now() >= view.due) {
    view.due = performance.now() + view.pause;
    await view.refresh().catch(() => null); // it is tried again
  }
  setTimeout(() => keepFresh(view, left), ACTIVE_MILLISECONDS);
}

// The list of adjustments with its buttons. A decision is confirmed in a form, which a refresh does not replace.
class Adjustments {
  constructor(name) {
    this.node = element("div", { class: name });
    this.body = element("div");
    this.form = element("div", { class: "decision" });
    this.shown = "";
    this.pause = REFRESH_MILLISECONDS;
    this.due = 0;
  }

  // Show an answer if it differs from the last one.
  show(answer, draw) {
    this.pause = !answer.enabled ? OFF_MILLISECONDS : answer.adjustments.some(({ is_over: over }) => !over) ? ACTIVE_MILLISECONDS : REFRESH_MILLISECONDS;
    this.due = Math.min(this.due, performance.now() + this.pause - 50); // soon after a decision
    const text = JSON.stringify({ ...answer, step: null });
    if (text === this.shown) return;
    this.shown = text;
    const parts = draw(answer);
    this.body.replaceChildren(...parts);
    if (!parts.length) this.node.replaceChildren();
    else if (this.body.parentNode !== this.node) this.node.replaceChildren(this.body, this.form); // else it keeps its focus
  }

  buttons({ actions, id, ...adjustment }, allowed) {
    if (!allowed || !actions.length) return element("span");
    const label = { approve: "Approve", veto: "Veto", undo: "Undo" };
    return element("span", {}, ...actions.map((action) => element("button", { class: "quiet", type: "button", onclick: () =>
      this.ask(`${label[action]}: ${changeText(adjustment)}`, (why) => requestAsOperator(`adjustments/${encodeURIComponent(id)}/${action}`, { body: { why } })) }, label[action])));
  }

  // Ask for the reason of a decision, and send it.
  ask(question, send) {
    const reason = element("input", { type: "text", maxlength: LONGEST_REASON, placeholder: "Reason, for other people", "aria-label": "Reason" });
    const status = element("span", { class: "warn" });
    const close = () => this.form.replaceChildren();
    const submit = async (event) => {
      event.preventDefault();
      status.replaceChildren();
      try {
        await send(reason.value.trim());
        close();
      } catch (error) {
        status.replaceChildren(`${error.message}${error.hint ? `; ${error.hint}` : ""}`);
      }
      await this.refresh().catch(() => null);
    };
    this.form.replaceChildren(element("form", { class: "card decide", onsubmit: submit }, element("b", {}, question), reason,
      element("button", { class: "quiet" }, "Confirm"), element("button", { class: "quiet", type: "button", onclick: close }, "Cancel"), status));
    reason.focus();
  }
}

class RecentAdjustments extends Adjustments {
  constructor() { super("adjustments adjusted"); }

  // Newer adjustments must not displace those that wait for a person.
  async refresh() {
    const asked = [{ state: "proposed", limit: LISTED }, { limit: LISTED }].map((query) => requestAsOperator("adjustments", { query }));
    const [waiting, newest] = await Promise.all(asked);
    const known = new Set(waiting.adjustments.map(({ id }) => id));
    const adjustments = [...waiting.adjustments, ...newest.adjustments.filter(({ id }) => !known.has(id))];
    this.show({ ...newest, adjustments, more: waiting.more || newest.more }, (answer) => this.draw(answer));
  }

  draw({ adjustments, more: others, may_change: allowed }) {
    const recent = adjustments.filter((each) => isRecent(each) && !(each.inverse_of && each.is_over)); // a way back is shown with its change
    if (!recent.length) return [];
    const order = ({ state }) => (state === "proposed" ? 0 : 1);
    const listed = [...recent].sort((a, b) => order(a) - order(b)).slice(0, SHOWN_ON_OVERVIEW);
    const more = recent.length - listed.length;
    return [element("div", { class: "card" }, element("h3", {}, "Adjustments of running trainings"), element("ul", {}, ...listed.map((each) => element("li", {},
      badge(each.state, stateText(each.state)), element("span", {}, element("b", {}, changeText(each)), " · ", runLink(each.run)),
      element("span", { class: "why" }, each.effect ? `${effectText(each.effect)} ` : "", each.reason || each.because, " ", this.buttons(each, allowed))))),
      more > 0 ? element("p", { class: "muted small" }, others ? `and ${more} or more others: flyball adjust list` : `and ${more} more in the last hour`) : null)];
  }
}

class RunAdjustments extends Adjustments {
  constructor(run) {
    super("adjustments");
    this.run = run;
    this.opened = new Set();
  }

  async refresh() {
    this.show(await requestAsOperator("values", { query: { run: this.run } }), (answer) => this.draw(answer));
  }

  draw(answer) {
    const { adjustments, values, may_change: allowed } = answer;
    if (!adjustments.length && !(answer.enabled && values.length)) return [];
    const rows = adjustments.map((each) => this.row(each, allowed));
    const opened = adjustments.filter(({ id }) => this.opened.has(id)).map(details);
    return [
      sectionTitle("Adjustments"),
      card(this.policy(answer), rows.length ? table(HEADS, rows) : element("p", { class: "muted" }, "Nothing was changed yet.")),
      ...opened,
      ...(values.length ? [card(element("h3", {}, "Values that can be changed"), table(VALUE_HEADS, values.map((each) => this.valueRow(each, answer))))] : []),
    ];
  }

  policy({ enabled, policy, limit, requested_policy: requested, policy_set: decided, may_change: allowed }) {
    if (!enabled) return element("p", { class: "muted" }, "Adjustments are off on this collector.");
    const most = POLICIES.indexOf(limit);
    const set = (name) => () => this.ask(`Set the policy to ${name}`, (why) => requestAsOperator("policy", { body: { run: this.run, policy: name, why } }));
    const chips = POLICIES.map((name, index) => element("button", { class: "chip", type: "button", "aria-pressed": String(name === policy), disabled: index > most ? "" : null, title: index > most ? `the collector allows ${limit} at most` : null, onclick: set(name) }, name));
    return element("div", {}, "Policy: ", allowed ? element("span", { class: "chips" }, ...chips) : element("b", {}, policy),
      requested === null ? element("span", { class: "muted" }, " · no rank declares values now") : null,
      decided ? element("span", { class: "muted" }, ` · ${decided.policy} was set by ${decided.who}, ${moment(decided.time.unix)}${decided.why ? `: ${decided.why}` : ""}`) : null);
  }

  row(each, allowed) {
    const by = [...each.decisions].reverse().find(({ who }) => who !== "flyball")?.who ?? "flyball";
    const effect = each.effect;
    const measured = effect ? element("span", { class: "measured" }, effectText(effect), element("span", { class: "facts" }, `${shortTime(effect.step_seconds_before)} → ${shortTime(effect.step_seconds_after)} a step`)) : DASH;
    const toggle = () => { if (!this.opened.delete(each.id)) this.opened.add(each.id); this.shown = ""; this.refresh().catch(() => null); };
    const expected = each.expected_low === null || each.expected_high === null ? "" : `expected ×${each.expected_low.toFixed(2)} to ×${each.expected_high.toFixed(2)}`;
    return [
      moment(each.created.unix),
      element("span", { class: "change" }, changeText(each)),
      badge(each.state, stateText(each.state)),
      measured,
      element("span", {}, each.because, each.reason ? element("span", { class: "facts" }, each.reason) : null, expected && !effect ? element("span", { class: "facts" }, expected) : null),
      by,
      element("span", {}, this.buttons(each, allowed), " ", element("button", { class: "quiet", type: "button", onclick: toggle }, this.opened.has(each.id) ? "Hide" : "Details")),
    ];
  }

  valueRow(each, { enabled, may_change: allowed }) {
    const reasons = each.blocked.map(({ reason }) => `blocked: ${spaced(reason)}`).join(", ");
    const refused = each.refused || reasons;
    const now = each.value === null ? each.different.map(({ value, number }) => `${shown(value)} (${number === 1 ? "1 rank" : `${number} ranks`})`).join(", ") : shown(each.value);
    const others = each.choices.filter((choice) => choice !== each.value);
    const select = element("select", { "aria-label": `New value of ${each.name}` }, ...others.map((choice, index) => element("option", { value: index }, shown(choice))));
    const change = () => {
      const to = others[Number(select.value)];
      this.ask(`Change ${each.name} to ${shown(to)}`, (why) => requestAsOperator("adjustments", { body: { run: this.run, name: each.name, to, why } }));
    };
    const possible = enabled && allowed && !refused && others.length;
    return [
      each.name, now, each.choices.length ? each.choices.map(shown).join(", ") : "any", `${each.safety}: ${each.safety_meaning}`, each.when,
      possible ? element("span", {}, select, " ", element("button", { class: "quiet", type: "button", onclick: change }, "Change")) : element("span", { class: "muted" }, refused),
    ];
  }
}

// Show the decisions, the answers of the ranks and the measured figures of an adjustment.
function details(each) {
  const figures = each.effect ? [["Step time", "step_seconds", shortTime], ["Tokens/s", "tokens_per_second", rate], ["Memory peak", "peak_bytes", bytes]]
    .filter(([, key]) => each.effect[`${key}_before`] !== null || each.effect[`${key}_after`] !== null)
    .map(([title, key, write]) => [title, write(each.effect[`${key}_before`]), write(each.effect[`${key}_after`])]) : [];
  const reasons = (wanted) => [...new Set(each.answers.filter(({ verdict, reason }) => verdict === wanted && reason).map(({ reason }) => reason))].join("; ");
  const answers = Object.entries(each.verdicts).map(([verdict, number]) => [String(number), verdict, reasons(verdict)]);
  return card(
    element("h3", {}, `${changeText(each)} `, element("span", { class: "now" }, each.id)),
    element("p", { class: "muted small" }, [`class ${each.safety}: ${each.safety_meaning}`, each.at_step ? `step ${each.at_step}` : "", each.rule ? `rule ${spaced(each.rule)}` : "",
      each.hosts.length ? `${each.ranks === 1 ? "1 rank" : `${each.ranks} ranks`} on ${each.hosts.slice(0, 4).join(", ")}` : "", each.inverse_of ? `takes ${each.inverse_of} back` : ""].filter(Boolean).join(" · ")),
    figures.length ? table(["Measured", "Before", "After"], figures) : null,
    each.effect?.faults.length ? element("p", { class: "bad" }, `Harm: ${each.effect.faults.map(spaced).join(", ")}`) : null,
    each.decisions.length ? table(["Time", "Decision", "By", "Reason"], each.decisions.map(({ time, what, who, why }) => [moment(time.unix), spaced(what), who, why])) : null,
    answers.length ? table(["Ranks", "Answer", "Reason"], answers) : null);
}
