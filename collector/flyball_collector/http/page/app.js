// The page: which view is shown, and the one request a second that feeds it.

import { ask, rememberToken } from "./api.js";
import { element, setText } from "./dom.js";
import { clock } from "./format.js";
import { FleetView } from "./fleet.js";
import { HostView } from "./host.js";
import { TimelineView } from "./timeline.js";

const PERIOD = 1000;
const place = document.getElementById("view");
const link = document.getElementById("link");
const summary = document.getElementById("summary");
let view = null;
let lastAnswer = null;
let timer = 0;

function route() {
  const host = location.hash.match(/^#\/host\/(.+)$/);
  view?.close();
  place.replaceChildren();
  const timeline = location.hash === "#/timeline";
  view = host ? new HostView(place, decodeURIComponent(host[1])) : timeline ? new TimelineView(place) : new FleetView(place, summary);
  document.title = host ? `${decodeURIComponent(host[1])} · Flyball` : timeline ? "Timeline · Flyball" : "Flyball";
  if (host || timeline) summary.replaceChildren();
  clearTimeout(timer);
  beat();
}

// The next beat is planned before the work, so that slow answers do not stretch the second.
async function beat() {
  const mine = view;
  const due = performance.now() + PERIOD;
  if (!document.hidden) await refresh(mine);
  if (mine === view) timer = setTimeout(beat, Math.max(50, due - performance.now()));
}

async function refresh(mine) {
  try {
    const answer = await ask(mine.path(), mine.query());
    if (mine !== view) return;
    lastAnswer = Date.now() / 1000;
    mine.show(answer);
    link.className = "link live";
    setText(link, "live");
  } catch (fault) {
    if (mine !== view) return;
    if (fault.status === 401) return askForToken(fault);
    link.className = "link lost";
    const since = lastAnswer === null ? "" : ` since ${clock(lastAnswer)}`;
    setText(link, fault.status ? `${fault.message}` : `collector does not answer${since}`);
    mine.fail(fault);
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
  place.replaceChildren(element("form", { class: "card token", onsubmit: send },
    element("b", {}, "This collector asks who you are"),
    input, element("button", { class: "quiet" }, "Look"),
    element("p", { class: "muted" }, "An operator adds tokens to the collector's tokens file. It is kept until this tab closes.")));
  link.className = "link";
  setText(link, "token needed");
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
document.addEventListener("visibilitychange", () => { if (!document.hidden && view) { clearTimeout(timer); beat(); } });
route();
