// The captures of a run: stacks, traces and memory of its ranks, with their results.

import { request, requestFile } from "./api.js";
import { card, sectionTitle, table } from "./diagnosis.js";
import { element } from "./dom.js";
import { bytes, DASH, moment } from "./format.js";

const HEADS = ["Ordered", "What", "Rank", "Host", "State", "Ordered by", "Size", "Result"];
const REFRESH_MILLISECONDS = 5000;
const ACTIVE_MILLISECONDS = 1000; // while one is in progress
const MOST_WAITS = 12; // until the element is placed
const SHOWN = 64;
const OVER = new Set(["done", "failed"]);
const SHOWN_BYTES = 2 ** 20; // of a text

// Return an element that fills itself, and stops when it is removed from the page. It is empty while there is nothing.
export function capturesSection(run) {
  const node = element("div", { class: "captures" });
  refresh({ run, node, shown: "", open: new Map(), waits: MOST_WAITS });
  return node;
}

async function refresh(view) {
  if (view.node.isConnected) view.waits = 0;
  else if ((view.waits -= 1) < 0) return; // removed, or never placed
  let pause = REFRESH_MILLISECONDS;
  if (!document.hidden) {
    const answer = await request("captures", { run: view.run, limit: SHOWN }).catch(() => null);
    if (answer) draw(view, answer);
    if (answer?.captures.some(({ state }) => !OVER.has(state))) pause = ACTIVE_MILLISECONDS;
  }
  setTimeout(() => refresh(view), pause);
}

function draw(view, { captures, total }) {
  const text = JSON.stringify(captures);
  if (text === view.shown) return;
  view.shown = text;
  if (!captures.length) return view.node.replaceChildren();
  const rest = total - captures.length;
  view.node.replaceChildren(
    sectionTitle("Captures"),
    card(table(HEADS, captures.map((capture) => row(view, capture))), rest > 0 ? element("p", { class: "muted" }, `and ${rest} more`) : null),
    ...captures.filter(({ id }) => view.open.has(id)).map(({ id }) => view.open.get(id)));
}

function row(view, capture) {
  const failed = capture.state === "failed";
  return [
    moment(capture.ordered.unix),
    capture.what + (capture.source === "kernel" ? " (kernel only)" : ""),
    capture.rank === null ? DASH : String(capture.rank),
    element("a", { href: `#/host/${encodeURIComponent(capture.host)}` }, capture.host),
    element("span", { class: failed ? "warn" : null }, capture.detail ? `${capture.state}: ${capture.detail}` : capture.state),
    capture.by || (capture.condition ? "the collector, because the run hung" : "a local user"),
    bytes(capture.bytes),
    capture.state === "done" ? actions(view, capture) : DASH,
  ];
}

function actions(view, capture) {
  const isText = /\.(txt|json|yaml)$/.test(capture.file_name) && capture.bytes <= SHOWN_BYTES;
  const status = element("span", { class: "warn" });
  const act = (work) => async () => {
    status.replaceChildren();
    await work().catch((error) => status.replaceChildren(` ${error.message}${error.hint ? `; ${error.hint}` : ""}`));
  };
  const button = (label, work) => element("button", { class: "quiet", type: "button", onclick: act(work) }, label);
  return element("span", {}, isText ? button("Show", () => show(view, capture)) : null, isText ? " " : null, button("Download", () => save(capture)), status);
}

// Show or hide the text of a result below the list.
async function show(view, capture) {
  if (view.open.has(capture.id)) {
    view.open.get(capture.id).remove();
    view.open.delete(capture.id);
    return;
  }
  const text = await (await requestFile(`captures/${capture.id}/file`)).text();
  const title = `${capture.what[0].toUpperCase()}${capture.what.slice(1)}`;
  const node = card(element("h3", {}, capture.rank === null ? title : `${title} of rank ${capture.rank}`), element("pre", { class: "capture" }, text));
  view.open.set(capture.id, node);
  view.node.append(node);
  node.scrollIntoView({ block: "nearest" });
}

async function save(capture) {
  const address = URL.createObjectURL(await requestFile(`captures/${capture.id}/file`));
  const link = element("a", { href: address, download: capture.file_name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
