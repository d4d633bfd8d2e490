// Agents that the collector refused, with the reasons. Their texts come from outside and are inserted as text.

import { card, table } from "./diagnosis.js";
import { element } from "./dom.js";
import { DASH, moment } from "./format.js";

const SHOWN = 5;

// Long names are cut off on one line; the whole name is the tooltip.
const whole = (text) => element("span", { title: text }, text || DASH);

// Return a section with the newest refusals.
export function refusedAgents(agents) {
  const rows = agents.slice(0, SHOWN).map((agent) => [
    whole(agent.host), whole(agent.certificate), whole(agent.address), agent.reason, String(agent.count), moment(agent.last.unix),
  ]);
  const more = agents.length - rows.length;
  const section = card(
    element("h3", {}, "Refused agents"),
    table(["Host", "Certificate", "Address", "Reason", "Count", "Last"], rows),
    more > 0 ? element("a", { class: "more", href: "api/v1/refused-agents" }, `${more} more`) : null,
  );
  section.classList.add("refused");
  return section;
}
