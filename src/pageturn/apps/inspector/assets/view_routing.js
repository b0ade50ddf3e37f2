// Routing: what is believed of each agent, and the decisions with their reasons.

import { h, links, number, percent, stat, when } from "./dom.js";
import { activeRow } from "./list.js";
import { virtualTable } from "./table.js";

export function routingView(data, { go }) {
  const interval = (low, mean, high) =>
    h("span.interval", { title: `${mean.toFixed(3)}, with 95 % from ${low.toFixed(2)} to ${high.toFixed(2)}` },
      h("i.range", { style: { left: `${100 * low}%`, width: `${100 * (high - low)}%` } }), h("i.mean", { style: { left: `${100 * mean}%` } }));

  const posteriors = virtualTable({
    label: "Posteriors",
    height: "24rem",
    count: data.posteriors.length,
    row: (index) => data.posteriors[index],
    columns: [
      { name: "agent", width: "minmax(9rem, 1.6fr)", cell: (each) => h("strong", each.agent) },
      { name: "skill", width: "minmax(6rem, 1.4fr)", cell: (each) => each.skill },
      { name: "kind of task", width: "minmax(8rem, 1fr)", hide: "middle", cell: (each) => each.bucket },
      { name: "outcomes", width: "5.5rem", align: "right", cell: (each) => number(each.outcomes) },
      { name: "rate", width: "4.5rem", align: "right", cell: (each) => each.mean.toFixed(3) },
      { name: "95 % interval", width: "minmax(7rem, 1.2fr)", cell: (each) => interval(each.low, each.mean, each.high) },
      { name: "", width: "7rem", hide: "narrow", cell: (each) => `${each.low.toFixed(2)} to ${each.high.toFixed(2)}` },
      { name: "last", width: "9.5rem", align: "right", hide: "wide", cell: (each) => when(each.last) },
    ],
  });

  const list = h("ol.decisions", { "aria-label": "Decisions" }, data.decisions.map((each) =>
    h("li", h("details", { id: `decision-${each.id}` },
      h("summary", h("strong", each.choice), each.explored ? h("span.newmark", "explored") : null, h("span.quiet", `${each.skill}, ${each.bucket}, ${each.mode}`), h("span.spring"), h("span", `outcome ${each.outcome}`), h("span.quiet", when(each.at))),
      h("p", each.why),
      h("table", h("thead", h("tr", ["candidate", "expected", "95 % interval", "", "score", "chance"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", each.candidates.map((one) =>
          h("tr", h("td", one.agent === each.choice ? h("strong", one.agent) : one.agent), h("td", one.mean.toFixed(3)), h("td", `${one.low.toFixed(2)} to ${one.high.toFixed(2)}`), h("td", interval(one.low, one.mean, one.high)), h("td", one.score.toFixed(3)), h("td", percent(one.chance))))))))));
  const active = activeRow(list, (row) => row.querySelector("summary").focus());

  const scopes = data.scopes.length > 1
    ? h("label.check", "scope ", h("select", { change: (event) => go(links.routing(event.target.value)) }, data.scopes.map((scope) => h("option", { value: scope, selected: scope === data.scope }, scope))))
    : h("span.quiet.path", `scope ${data.scope}`);
  const settled = data.decisions.filter((each) => each.outcome !== "none yet").length;
  return {
    title: "Routing",
    session: null,
    up: links.sessions(),
    node: h("div.pad",
      h("div.heading", h("h1", "Routing"), scopes),
      h("div.stats", stat("agents", number(new Set(data.posteriors.map((each) => each.agent)).size)), stat("posteriors", number(data.posteriors.length)), stat("decisions", number(data.total), data.total > data.decisions.length ? `the newest ${data.decisions.length} are listed` : ""), stat("with an outcome", number(settled))),
      data.drifts.map((drift) => h("p.warnnote", h("strong", "drifted: "), drift)),
      data.total || data.posteriors.length ? null : h("p.quiet", "Nothing was routed in this store yet: pageturn.Router writes its decisions here with their outcomes."),
      h("section", h("h2", "What is believed"), posteriors.node),
      h("section", h("h2", "Decisions"), data.decisions.length ? list : h("p.quiet", "none"))),
    keys: { j: () => active.move(1), k: () => active.move(-1) },
  };
}
