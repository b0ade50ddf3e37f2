// A page: its text at each level, how it was shown over the turns, why, and which later calls name what it says.

import { badge, fetchData, h, links, many, number, replace, stat, when } from "./dom.js";
import { blocks } from "./messages.js";
import { virtualTable } from "./table.js";

export function pageView(first, { go }) {
  let data = first;
  const own = links.page(data.session, data.handle);
  let level = "itself";
  const text = h("div", { id: "text", role: "tabpanel" });
  const tabs = h("div.tabs", { role: "tablist", "aria-label": "Levels", keydown: (event) => {
    const names = ["itself", ...data.levels.map((each) => each.level)];
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (way) choose(names[(names.indexOf(level) + way + names.length) % names.length], true);
  } });

  function choose(name, isFocused) {
    level = name;
    const tab = (each, words, mark) =>
      h("button", { type: "button", role: "tab", id: `level-${each}`, "aria-controls": "text", "aria-selected": String(each === level), tabindex: each === level ? "0" : "-1", click: () => choose(each, true) }, mark, words);
    replace(tabs, tab("itself", `the page, ${number(data.tokens)} tokens`, null),
      data.levels.map((each) => tab(each.level, ` ${number(each.tokens)}`, badge(each.level))));
    const shown = data.levels.find((each) => each.level === level);
    const rest = async (start) => (await fetchData(`${own}?start=${start}`)).parts;
    replace(text, shown ? blocks(shown.parts, { isOpen: true }) : blocks(data.parts, { rest, isOpen: true }));
    if (!shown && !data.parts.length) replace(text, h("p.quiet", "Its words cannot be shown."));
    text.setAttribute("aria-labelledby", `level-${level}`);
    if (isFocused) tabs.querySelector("[tabindex='0']").focus();
  }

  function history() {
    if (!data.moves.length) return h("p.quiet", "No context that was answered has it yet.");
    const last = Math.max(data.last, 1);
    const left = (turn) => (100 * (turn - 1)) / last;
    const strip = h("div.strip", { role: "img", "aria-label": `its levels over ${many(data.last, "turn")}` }, data.moves.map((move, at) =>
      h("i", { "data-level": move.level, title: `${move.level} from turn ${move.turn} on`, style: { left: `${left(move.turn)}%`, width: `${Math.max(0.4, left(data.moves[at + 1]?.turn ?? last + 1) - left(move.turn))}%` } })));
    return [strip, moves()];
  }

  function moves() {
    return h("ol.moves", data.moves.map((move) => h("li", h("a", { href: links.turn(data.session, move.turn) }, `turn ${move.turn}`), badge(move.level), h("span.quiet", move.why))));
  }

  function uses() {
    if (!data.uses.length) return h("p.quiet", "No later call names anything that it says.");
    const table = virtualTable({
      label: "Later calls that name something of it",
      height: "18rem",
      count: data.uses.length,
      row: (index) => data.uses[index],
      open: (index) => go(links.page(data.session, data.uses[index].page)),
      columns: [
        { name: "turn", width: "4.2rem", cell: (use) => h("a", { href: links.turn(data.session, use.turn) }, `turn ${use.turn}`) },
        { name: "call", width: "5.5rem", cell: (use) => h("a", { href: links.page(data.session, use.page) }, use.tool) },
        { name: "shown at", width: "6.2rem", cell: (use) => badge(use.shown) },
        { name: "names", width: "minmax(6rem, 1fr)", cell: (use) => h("code", use.names.join(", ")) },
      ],
    });
    return table.node;
  }

  const step = (handle, key, words) => (handle ? h("a.step", { href: links.page(data.session, handle), "aria-keyshortcuts": key }, `${words} `, h("kbd", key)) : null);
  const now = data.moves.at(-1)?.level || "full";
  choose("itself");
  const view = {
    title: `${data.handle} of ${data.session}`,
    session: data.session,
    up: links.session(data.session),
    node: h("div.pad",
      h("p.crumbs", h("a", { href: links.sessions() }, "Sessions"), " › ", h("a", { href: links.session(data.session) }, data.session), " › ", h("span", data.handle)),
      h("div.heading", h("h1", data.handle), badge(now), h("span.spring"), step(data.before, "[", "previous"), step(data.after, "]", "next")),
      h("p.facts", h("span", data.kind), h("span", data.role), data.tool ? h("span", data.tool) : null, h("span", "turn ", data.turn <= data.last ? h("a", { href: links.turn(data.session, data.turn) }, String(data.turn)) : `${data.turn}, not taken yet`), h("span", when(data.at))),
      h("div.stats",
        stat("tokens", number(data.tokens), `${number(data.size)} bytes stored`),
        stat("lowest level allowed", data.floor, `for ${data.kind}`),
        stat("at this level since", data.moves.length ? `turn ${number(data.moves.at(-1).turn)}` : "–", data.moves.length > 1 ? `moved ${many(data.moves.length - 1, "time")}` : "never moved"),
        stat("named later", data.uses.length ? many(data.uses.length, "call") : "never"),
        stat("faults", String(data.faults.length))),
      h("p.foldnote", data.why),
      data.faults.map((fault) => h("p.warnnote", fault)),
      data.unit.length > 1 ? h("p.quiet", "Shown together, as a call and its results: ", data.unit.map((handle) => h("a.inline", { href: links.page(data.session, handle) }, handle))) : null,
      h("div.twocolumns",
        h("section.panel", { "aria-label": "Text" }, tabs, text),
        h("div", h("section.panel", h("h2", "Its levels"), history()), h("section.panel", h("h2", "Who used it later"), uses())))),
    keys: {
      "]": () => data.after && go(links.page(data.session, data.after)),
      "[": () => data.before && go(links.page(data.session, data.before)),
      j: () => data.after && go(links.page(data.session, data.after)),
      k: () => data.before && go(links.page(data.session, data.before)),
    },
  };
  return view;
}
