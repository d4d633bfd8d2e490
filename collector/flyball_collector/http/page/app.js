// The page: chooses the view and requests its data every second.

import { request, rememberToken } from "./api.js";
import { element, setText } from "./dom.js";
import { clock } from "./format.js";
import { FleetView } from "./fleet.js";
import { HostView } from "./host.js";
import { RunView } from "./run.js";
import { RunsView } from "./runs.js";
import { TimelineView } from "./timeline.js";

const PERIOD = 1000;
const PAGES = { "#/runs": ["Runs", RunsView], "#/timeline": ["Timeline", TimelineView] };
const container = document.getElementById("view");
const link = document.getElementById("link");
const summary = document.getElementById("summary");
let view = null;
let lastAnswer = null;
let timer = 0;

const NAMED = [[/^#\/host\/(.+)$/s, HostView], [/^#\/runs\/(.+)$/s, RunView]];

// Return the name in an address. People type addresses: one that is not quoted right is taken as it is.
function nameIn(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function route() {
  view?.close();
  container.replaceChildren();
  const [found, Named] = NAMED.map(([pattern, Named]) => [location.hash.match(pattern), Named]).find(([found]) => found) ?? [];
  const [title, Page] = found ? [nameIn(found[1])] : PAGES[location.hash] ?? [null, FleetView];
  view = found ? new Named(container, title) : new Page(container, summary);
  document.title = title ? `${title} · Flyball` : "Flyball";
  if (title) summary.replaceChildren();
  clearTimeout(timer);
  poll();
}

// The due time is computed before the request, so that slow answers do not lengthen the period.
async function poll() {
  const current = view;
  const due = performance.now() + PERIOD;
  if (!document.hidden) await refresh(current);
  if (current === view) timer = setTimeout(poll, Math.max(50, due - performance.now()));
}

async function refresh(current) {
  try {
    const answer = await request(current.path(), current.query());
    if (current !== view) return;
    lastAnswer = Date.now() / 1000;
    current.show(answer);
    link.className = "link live";
    setText(link, "live");
  } catch (error) {
    if (current !== view) return;
    if (error.status === 401) return askForToken(error);
    link.className = "link lost";
    const since = lastAnswer === null ? "" : ` since ${clock(lastAnswer)}`;
    setText(link, error.status ? `${error.message}` : `collector unreachable${since}`);
    current.fail(error);
  }
}

function askForToken() {
  const input = element("input", { type: "password", placeholder: "Token", autocomplete: "off", "aria-label": "Token" });
  const send = (event) => {
    event.preventDefault();
    rememberToken(input.value.trim());
    route();
  };
  view = null;
  container.replaceChildren(element("form", { class: "card token", onsubmit: send },
    element("b", {}, "Sign in with a token"),
    input, element("button", { class: "quiet" }, "Continue"),
    element("p", { class: "muted" }, "Ask the operator of this collector for a token. The token is kept until this tab is closed.")));
  link.className = "link";
  setText(link, "token required");
  input.focus();
}

function theme() {
  const button = document.getElementById("theme");
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const apply = (name) => {
    if (name) document.documentElement.dataset.theme = name;
    setText(button, dark() ? "Light" : "Dark");
    document.dispatchEvent(new Event("theme"));
  };
  button.addEventListener("click", () => {
    const name = dark() ? "light" : "dark";
    localStorage.setItem("flyball-theme", name);
    apply(name);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply());
  apply(localStorage.getItem("flyball-theme"));
}

theme();
addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => { if (!document.hidden && view) { clearTimeout(timer); poll(); } });
route();
