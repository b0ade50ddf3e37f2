// Recall over one session or all of them.

import { badge, h, links, many, replace, when } from "./dom.js";
import { activeRow } from "./list.js";

export function searchView(data, { go }) {
  const field = h("input.query", { type: "search", value: data.query, placeholder: "Words, names or a question", "aria-label": "What to search for", "data-search": true, maxlength: "2000" });
  const form = h("form.tools", { role: "search", submit: (event) => {
    event.preventDefault();
    go(links.search(field.value, inSession?.checked ? data.session : ""));
  } }, field, h("button", { type: "submit" }, "Search"));
  const inSession = data.session ? h("input", { type: "checkbox", checked: true }) : null;
  if (inSession) form.append(h("label.check", inSession, " only in ", h("code", data.session)));

  const list = h("ol.hits", { "aria-label": "Matches" }, data.hits.map((hit) =>
    h("li.hit", { tabindex: "-1" },
      h("div.messagehead",
        h("a.title", { href: links.page(hit.session, hit.handle) }, hit.handle),
        badge(hit.shown),
        h("span", hit.tool || hit.role),
        h("span.quiet", hit.kind),
        hit.count > 1 ? h("span.quiet", many(hit.count, "time")) : null,
        h("span.spring"),
        h("a", { href: links.session(hit.session) }, hit.session),
        h("a", { href: links.turn(hit.session, Math.max(1, hit.turn)) }, `turn ${hit.turn}`),
        h("span.quiet", when(hit.at))),
      h("p.excerpt", hit.excerpt))));
  const active = activeRow(list);

  const words = data.outcome || (data.query ? many(data.hits.length, "match").replace("matchs", "matches") : "Searches every message, call and result, as recall does for a model.");
  return {
    title: data.query ? `${data.query}: search` : "Search",
    session: null,
    up: data.session ? links.session(data.session) : links.sessions(),
    node: h("div.pad", h("h1", "Search"), form, h("p.quiet", { role: "status" }, words), data.notices.map((notice) => h("p.warnnote", notice)), list),
    ready: () => data.hits.length || field.focus(),
    keys: { j: () => active.move(1), k: () => active.move(-1), Enter: () => data.hits[active.at] && go(links.page(data.hits[active.at].session, data.hits[active.at].handle)) },
  };
}
