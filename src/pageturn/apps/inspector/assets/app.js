// The frame of the inspector: which view an address has, what keys do, what is new.

import { fetchData, h, inert, links, replace, root } from "./dom.js";
import { pageView } from "./view_page.js";
import { routingView } from "./view_routing.js";
import { searchView } from "./view_search.js";
import { sessionView } from "./view_session.js";
import { sessionsView } from "./view_sessions.js";
import { turnView } from "./view_turn.js";

const main = document.getElementById("main");
const live = document.getElementById("live");
const keys = document.getElementById("keys");

const ROUTES = [
  [/^\/$/, "sessions", sessionsView],
  [/^\/search$/, "search", searchView],
  [/^\/routing$/, "routing", routingView],
  [/^\/session\/([^/]+)\/turn\/(\d+)$/, "sessions", turnView],
  [/^\/session\/([^/]+)\/page\/([^/]+)$/, "sessions", pageView],
  [/^\/session\/([^/]+)$/, "sessions", sessionView],
];

let view = null; // what is shown: {title, node, update(data), keys, session, up}
let asking = null; // aborts what is no longer wanted
let source = null; // of news
let before = ""; // the last key, for those that take two

export function go(address, { instead = false } = {}) {
  history[instead ? "replaceState" : "pushState"](null, "", address);
  return show();
}

async function show() {
  asking?.abort();
  const now = (asking = new AbortController());
  const path = location.pathname.slice(root.length) || "/";
  const found = ROUTES.map(([pattern, name, make]) => [pattern.exec(path), name, make]).find(([match]) => match);
  view?.close?.();
  view = null;
  main.setAttribute("aria-busy", "true");
  try {
    if (!found) throw new Error("no such page");
    const [match, name, make] = found;
    for (const link of document.querySelectorAll("[data-nav]"))
      if (link.dataset.nav === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    const data = await fetchData(location.pathname + location.search, now.signal);
    if (now.signal.aborted) return;
    view = make(data, { go, args: match.slice(1).map(decodeURIComponent), params: new URLSearchParams(location.search) });
    replace(main, view.node);
    document.title = inert(`${view.title} · Pageturn inspector`);
    view.ready?.();
    listen(view.session);
  } catch (error) {
    if (now.signal.aborted) return;
    listen(null);
    document.title = "Pageturn inspector";
    replace(main, h("div.pad", h("h1", "This cannot be shown"), h("p.error", { role: "alert" }, error.message), h("p", h("a", { href: links.sessions() }, "All sessions"))));
  } finally {
    if (!now.signal.aborted) main.removeAttribute("aria-busy");
  }
}

/** News of a session, of all of them (no name), or of nothing (null). */
function listen(session) {
  const address = session === null ? null : `${root}/live${session ? `?session=${encodeURIComponent(session)}` : ""}`;
  if (source?.address === address) return;
  source?.close();
  source = null;
  say(address ? "connecting" : "not live");
  if (!address) return;
  source = new EventSource(address);
  source.address = address;
  let first = true;
  let isAsking = false;
  let isDue = false;
  source.addEventListener("changed", async () => {
    say("live");
    if (first) return void (first = false);
    if (isAsking) return void (isDue = true);
    isAsking = true;
    do {
      isDue = false;
      await refresh();
    } while (isDue);
    isAsking = false;
  });
  source.addEventListener("error", () => say("not live"));
}

async function refresh() {
  const shown = view;
  if (!shown?.update) return;
  try {
    const data = await fetchData(location.pathname + location.search, asking.signal);
    if (shown === view) {
      shown.update(data);
      live.classList.add("flash");
      setTimeout(() => live.classList.remove("flash"), 600);
    }
  } catch {
    // the view has what it had; the next news may come through
  }
}

function say(state) {
  live.textContent = state;
  live.dataset.state = state;
}

// -- colours

const THEMES = { system: "(prefers-color-scheme: dark)", dark: "all", light: "not all" }; // when dark.css holds
function paint(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.getElementById("dark").media = THEMES[theme];
  document.getElementById("theme").setAttribute("aria-label", `Colours: ${theme === "system" ? "as the system has them" : theme}`);
  document.dispatchEvent(new Event("repaint"));
}
function nextTheme() {
  const now = localStorage.getItem("theme") || "system";
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(now) + 1) % names.length];
  localStorage.setItem("theme", next);
  paint(next);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("repaint")));

// -- keys and links

const KEYS = {
  "?": () => (keys.open ? keys.close() : keys.showModal()),
  d: nextTheme,
  "/": () => {
    const field = main.querySelector("[data-search]");
    if (field) field.focus();
    else go(links.search("", view?.session));
  },
  u: () => view?.up && go(view.up),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (keys.open && event.key !== "?") return;
  const both = before === "g" && { s: links.sessions(), r: links.routing() }[event.key];
  before = event.key;
  if (both) {
    event.preventDefault();
    return void go(both);
  }
  if (event.key === "Enter" && event.target.closest("a, button, summary, [role=grid]")) return;
  const does = view?.keys?.[event.key] || KEYS[event.key];
  if (does) {
    event.preventDefault();
    does();
  }
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(`${root}/`) || url.hash) return;
  event.preventDefault();
  go(url.pathname + url.search).then(() => {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
});

document.getElementById("theme").addEventListener("click", nextTheme);
document.getElementById("help").addEventListener("click", () => keys.showModal());
addEventListener("popstate", show);
paint(localStorage.getItem("theme") || "system");
show();
