// A session: its map, what it took beside two others, and its turns, pages and events as tables.

import { badge, cost, fetchData, h, links, many, number, percent, replace, short, stat, sum, when } from "./dom.js";
import { virtualTable } from "./table.js";
import { timeline } from "./timeline.js";

const HEIGHT = "26rem";

export function sessionView(first, { go }) {
  let data = first;
  let at = 0; // the active turn
  const begins = new Map(); // by place: how a page begins
  let fetching = null;
  const heading = h("div");
  const stats = h("div.stats");
  const readout = h("p.readout", { role: "status" });
  const holder = h("div");
  const chart = timeline({ data: () => data, pick: (turn) => activate(turn), point: tell });
  const tables = {};
  let tab = "turns";

  const input = (bill, index) => bill.fresh[index] + bill.cached[index] + bill.written[index];
  const total = (bill) => sum(bill.fresh) + sum(bill.cached) + sum(bill.written);

  function head() {
    const facts = [data.client, data.model, data.policy, data.scope && `scope ${data.scope}`, when(data.created)];
    replace(
      heading,
      h("p.crumbs", h("a", { href: links.sessions() }, "Sessions"), " › ", h("span", data.id), data.parent ? [", a fork of ", h("a", { href: links.session(data.parent) }, data.parent)] : null),
      h("h1", { class: data.title.length > 60 ? "long" : null }, data.title || data.id),
      h("p.facts", facts.filter(Boolean).map((fact) => h("span", fact))),
      data.turns.tokens.length && data.turns.tokens.every((each) => each === null)
        ? h("p.quiet", "No context was derived in this session: the map has all of its history, whatever its client left out when it compacted.")
        : null,
      data.damage ? h("p.error", { role: "alert" }, data.damage) : null,
    );
    const { sent, everything, trim, reported } = data.turns;
    const went = total(sent);
    const spent = sum(sent.cost);
    const beside = (other) => (spent ? `${(sum(other.cost) / spent).toFixed(1)} times that` : "");
    const isSure = reported.every(Boolean) && reported.length > 0;
    const folds = data.turns.fold.filter((each) => each !== null).length;
    const faults = data.events.filter((each) => each.kind === "fault").length;
    replace(
      stats,
      stat("turns", number(data.turns.answer.length), many(folds, "fold")),
      stat("pages", number(data.pages.handle.length), many(faults, "fault")),
      stat("tokens in", (isSure ? "" : "~") + short(went), went ? `${percent(sum(sent.cached) / went)} from the cache` : ""),
      stat("cost", (isSure ? "" : "~") + cost(spent, data.price), isSure ? "as reported" : "an estimate"),
      stat("send everything", `~${cost(sum(everything.cost), data.price)}`, beside(everything)),
      stat("rolling trim", `~${cost(sum(trim.cost), data.price)}`, `to ${short(data.trim_tokens)}: ${beside(trim)}`),
    );
  }

  // -- the line below the map

  function tell(found) {
    const turn = found?.turn || at;
    if (!turn || turn > data.turns.answer.length) return void replace(readout, h("span.quiet", "Point at the map, or move through the turns with j and k."));
    const index = turn - 1;
    const { sent, fold, budget, tokens } = data.turns;
    const parts = [
      h("strong", `turn ${number(turn)}`),
      `${short(input(sent, index))} in: ${short(sent.cached[index])} cached, ${short(sent.written[index])} written, ${short(sent.fresh[index])} fresh`,
      tokens[index] ? `${short(tokens[index])} of ${short(budget[index])} by our count` : null,
      cost(sent.cost[index], data.price),
      fold[index] ? h("span.fold", `folded because ${fold[index]}`) : null,
    ];
    const place = found?.place ?? null;
    if (place !== null) {
      const level = levelAt(place, turn);
      parts.push(h("span", h("code", data.pages.handle[place]), ` ${data.pages.kind[place]} `, level ? badge(level) : "not there yet"));
    }
    replace(readout, parts.filter(Boolean).map((part) => h("span", part)));
  }

  function levelAt(place, turn) {
    const moves = data.pages.moves[place];
    let level = null;
    for (let each = 0; each < moves.length && moves[each] <= turn; each += 2) level = data.levels[moves[each + 1]];
    return level;
  }

  function activate(turn) {
    at = turn;
    chart.select(turn);
    tell(null);
    if (tab !== "turns") choose("turns");
    tables.turns.show(turn - 1);
    tables.turns.setActive(turn - 1);
  }

  // -- tables

  const MAKE = {
    turns: () =>
      virtualTable({
        label: "Turns",
        height: HEIGHT,
        count: data.turns.answer.length,
        row: (index) => ({ index, className: data.turns.undone[index] ? "gone" : "" }),
        open: (index) => go(links.turn(data.id, index + 1)),
        active: at - 1,
        onActive: (index) => ((at = index + 1), chart.select(at), tell(null)),
        columns: [
          { name: "turn", width: "5.5rem", cell: ({ index }) => h("a", { href: links.turn(data.id, index + 1) }, `turn ${index + 1}`) },
          { name: "tokens in", width: "6rem", align: "right", cell: ({ index }) => (data.turns.reported[index] ? "" : "~") + number(input(data.turns.sent, index)) },
          { name: "cached, written, fresh", width: "minmax(8rem, 1fr)", hide: "narrow", cell: ({ index }) => bar(index) },
          { name: "cost", width: "6.5rem", align: "right", cell: ({ index }) => cost(data.turns.sent.cost[index], data.price) },
          { name: "everything", width: "6.5rem", align: "right", hide: "middle", cell: ({ index }) => cost(data.turns.everything.cost[index], data.price) },
          { name: "fold", width: "minmax(6rem, 1.6fr)", cell: ({ index }) => (data.turns.fold[index] ? h("span.fold", data.turns.fold[index]) : data.turns.undone[index] ? "undone" : "") },
          { name: "time", width: "9.5rem", align: "right", hide: "wide", cell: ({ index }) => when(data.turns.at[index]) },
        ],
      }),
    pages: () =>
      virtualTable({
        label: "Pages",
        height: HEIGHT,
        count: data.pages.handle.length,
        row: (index) => ({ index, className: data.pages.counts[index] ? "" : "gone" }),
        open: (index) => go(links.page(data.id, data.pages.handle[index])),
        onRange: readBeginnings,
        columns: [
          { name: "page", width: "8rem", cell: ({ index }) => h("a", { href: links.page(data.id, data.pages.handle[index]) }, data.pages.handle[index]) },
          { name: "turn", width: "4rem", align: "right", cell: ({ index }) => number(data.pages.turn[index]) },
          { name: "kind", width: "8rem", hide: "narrow", cell: ({ index }) => data.pages.kind[index] },
          { name: "role, tool", width: "9rem", hide: "middle", cell: ({ index }) => data.pages.tool[index] || data.pages.role[index] },
          { name: "tokens", width: "5rem", align: "right", cell: ({ index }) => number(data.pages.tokens[index]) },
          { name: "shown at", width: "7rem", cell: ({ index }) => badge(levelAt(index, Infinity)) || h("span.quiet", "not sent yet") },
          { name: "begins", width: "minmax(6rem, 1fr)", hide: "narrow", cell: ({ index }) => h("span.begins", begins.get(index) ?? "…") },
        ],
      }),
    events: () =>
      virtualTable({
        label: "What happened",
        height: HEIGHT,
        count: data.events.length,
        row: (index) => data.events[index],
        open: (index) => go(data.events[index].page ? links.page(data.id, data.events[index].page) : links.turn(data.id, data.events[index].turn)),
        columns: [
          { name: "turn", width: "5.5rem", cell: (each) => h("a", { href: links.turn(data.id, each.turn) }, `turn ${each.turn}`) },
          { name: "what", width: "7rem", cell: (each) => h(each.kind === "fault" || each.kind === "damage" ? "span.bad" : "span", each.kind) },
          { name: "in words", width: "minmax(8rem, 1fr)", cell: (each) => each.text },
          { name: "page", width: "8rem", cell: (each) => (each.page ? h("a", { href: links.page(data.id, each.page) }, each.page) : "") },
        ],
      }),
  };

  function bar(index) {
    const { sent } = data.turns;
    const whole = Math.max(1, input(sent, index));
    const piece = (name) => h("span.piece", { "data-part": name, style: { "flex-basis": `${(100 * sent[name][index]) / whole}%` } });
    return h("span.sharebar", { title: `${number(sent.cached[index])} cached, ${number(sent.written[index])} written, ${number(sent.fresh[index])} fresh` }, piece("cached"), piece("written"), piece("fresh"));
  }

  async function readBeginnings(from, to) {
    const first = [...Array(to - from).keys()].map((each) => from + each).find((place) => !begins.has(place));
    if (first === undefined || fetching) return;
    fetching = fetchData(`${links.session(data.id)}/pages?start=${first}&count=100`);
    try {
      const found = await fetching;
      found.rows.forEach((row, each) => begins.set(found.start + each, row.begins));
    } catch {
      return; // they stay open, and are asked for again
    } finally {
      fetching = null;
    }
    tables.pages.refresh(data.pages.handle.length);
  }

  const tabs = h("div.tabs", { role: "tablist", "aria-label": "Tables", keydown: (event) => {
    const names = Object.keys(MAKE);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) choose(names[(names.indexOf(tab) + step + names.length) % names.length], true);
  } });
  function choose(name, isFocused) {
    tab = name;
    tables[name] ||= MAKE[name]();
    replace(tabs, Object.keys(MAKE).map((each) =>
      h("button", { type: "button", role: "tab", id: `tab-${each}`, "aria-selected": String(each === tab), "aria-controls": "panel", tabindex: each === tab ? "0" : "-1", click: () => choose(each, true) }, each === "events" ? `events (${data.events.length})` : each)));
    replace(holder, tables[name].node);
    holder.setAttribute("aria-labelledby", `tab-${name}`);
    if (isFocused) tabs.querySelector("[tabindex='0']").focus();
  }
  holder.id = "panel";
  holder.setAttribute("role", "tabpanel");

  // -- what the colours mean, and what is drawn

  function legend() {
    const swatch = (name, words) => h("span.swatch", h("i", { style: { background: `var(--${name})` } }), words);
    const toggle = (name, words) =>
      h("button.swatch", { type: "button", "aria-pressed": String(!chart.shown.hidden.has(name)), click: () => {
        const hidden = new Set(chart.shown.hidden);
        hidden.has(name) ? hidden.delete(name) : hidden.add(name);
        chart.set({ hidden });
        replace(keys, legend());
      } }, h("i.line", { style: { background: `var(--${name})` } }), words);
    const other = (key, values) => h("button.ghost", { type: "button", click: () => (chart.set({ [key]: values[(values.indexOf(chart.shown[key]) + 1) % 2] }), replace(keys, legend())) }, `${key === "money" ? "cost" : "colour by"} ${values[(values.indexOf(chart.shown[key]) + 1) % 2]}`);
    const pages = chart.shown.colours === "level" ? ["full", "compressed", "structured", "pointer"] : ["bootstrap", "constraint", "plan", "preference", "evidence", "conversation"];
    return [
      h("span.group", pages.map((name) => swatch(name, name)), swatch("fold", "fold")),
      h("span.group", swatch("cached", "cached"), swatch("written", "written"), swatch("fresh", "fresh"), toggle("everything", "send everything"), toggle("trim", "rolling trim")),
      h("span.group", other("colours", ["level", "kind"]), other("money", ["so far", "per turn"])),
    ];
  }
  const keys = h("div.legend", legend());

  function update(next) {
    const wasLast = at && at === data.turns.answer.length;
    data = next;
    head();
    chart.draw();
    tables.turns?.refresh(data.turns.answer.length);
    tables.pages?.refresh(data.pages.handle.length);
    tables.events?.refresh(data.events.length);
    if (wasLast) activate(data.turns.answer.length);
    choose(tab);
    tell(null);
  }

  head();
  choose("turns");
  tell(null);
  return {
    title: data.title || data.id,
    session: data.id,
    up: links.sessions(),
    node: h("div.pad", heading, stats, h("section.panel", { "aria-label": "Map of the session" }, keys, chart.node, readout), h("div.tabbar", tabs), holder),
    ready: () => chart.draw(),
    update,
    close: () => chart.close(),
    keys: {
      j: () => tables[tab].move(1),
      k: () => tables[tab].move(-1),
      Enter: () => tables[tab].openActive(),
      "]": () => at < data.turns.answer.length && activate(at + 1),
      "[": () => at > 1 && activate(at - 1),
    },
  };
}
