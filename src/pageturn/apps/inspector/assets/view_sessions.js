// The sessions of a store: filtered by words, sorted by any column.

import { fetchData, h, links, many, money, replace, short, stat, sum, when } from "./dom.js";
import { virtualTable } from "./table.js";

const AGAIN = 300; // milliseconds until the rest is asked for

export function sessionsView(first, { go }) {
  let data = first;
  let rows = [];
  let sorted = { name: "last", way: -1 };
  let words = "";
  let isClosed = false;
  const holder = h("div");
  const stats = h("div.stats");
  const note = h("p.quiet", { role: "status" });
  let table = null;

  const value = {
    title: (row) => (row.inside?.title || row.id).toLowerCase(),
    client: (row) => row.inside?.client || "",
    model: (row) => row.inside?.model || "",
    turns: (row) => row.inside?.turns ?? -1,
    pages: (row) => row.inside?.pages ?? -1,
    tokens: (row) => row.inside?.input_tokens ?? -1,
    money: (row) => row.inside?.dollars ?? -1,
    faults: (row) => row.inside?.faults ?? -1,
    last: (row) => row.inside?.last ?? row.created,
  };
  const by = (name) => () => {
    sorted = { name, way: sorted.name === name ? -sorted.way : ["title", "client", "model"].includes(name) ? 1 : -1 };
    build();
  };
  const column = (name, title, width, cell, more = {}) => ({
    name: title, width, cell, sort: by(name), sorted: sorted.name === name ? sorted.way : 0, ...more,
  });

  function columns() {
    const inside = (tell) => (row) => (row.inside ? tell(row.inside) : row.flaw ? "" : "…");
    return [
      column("title", "session", "minmax(8rem, 1fr)", (row) => [
        h("a.title", { href: links.session(row.id) }, row.inside?.title || row.id),
        row.flaw ? h("span.bad.second", `cannot be read: ${row.flaw}`) : h("span.id.second", row.id + (row.scope ? `, scope ${row.scope}` : "") + (row.parent ? `, a fork of ${row.parent}` : "")),
      ]),
      column("client", "client", "7.5rem", inside((each) => each.client), { hide: "wide" }),
      column("model", "model", "9rem", inside((each) => each.model), { hide: "middle" }),
      column("turns", "turns", "3.6rem", inside((each) => short(each.turns)), { align: "right" }),
      column("pages", "pages", "3.6rem", inside((each) => short(each.pages)), { align: "right", hide: "wide" }),
      column("tokens", "tokens in", "4.8rem", inside((each) => (each.is_reported ? "" : "~") + short(each.input_tokens)), { align: "right", hide: "narrow" }),
      column("money", "cost", "4.2rem", inside((each) => (each.dollars === null ? "–" : money(each.dollars))), { align: "right" }),
      column("faults", "faults", "3.6rem", inside((each) => h(each.faults ? "span.warn" : "span.quiet", String(each.faults))), { align: "right", hide: "narrow" }),
      column("last", "last page", "8.6rem", (row) => when(row.inside?.last ?? row.created), { align: "right", hide: "middle" }),
    ];
  }

  function build() {
    const active = table && table.active >= 0 ? rows[table.active]?.id : null;
    arrange();
    table = virtualTable({
      label: "Sessions",
      columns: columns(),
      row: (index) => rows[index],
      count: rows.length,
      open: (index) => go(links.session(rows[index].id)),
      active: rows.findIndex((row) => row.id === active),
      height: "calc(100vh - 16rem)",
      tall: 50,
    });
    replace(holder, table.node);
  }

  function arrange() {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (row) => `${row.id} ${row.scope || ""} ${row.inside?.title || ""} ${row.inside?.model || ""} ${row.inside?.client || ""}`.toLowerCase();
    rows = data.sessions.filter((row) => wanted.every((word) => text(row).includes(word)));
    const of = value[sorted.name];
    rows.sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0) * sorted.way);
    const inside = rows.map((row) => row.inside).filter(Boolean);
    const priced = inside.filter((each) => each.dollars !== null);
    replace(
      stats,
      stat("sessions", short(rows.length), data.sessions.length === rows.length ? "in this store" : `of ${data.sessions.length}`),
      stat("turns", short(sum(inside.map((each) => each.turns)))),
      stat("tokens in", short(sum(inside.map((each) => each.input_tokens))), "of all requests"),
      stat("cost", priced.length ? money(sum(priced.map((each) => each.dollars))) : "–", priced.length === inside.length ? "at list prices" : `known of ${many(priced.length, "session")}`),
      stat("faults", short(sum(inside.map((each) => each.faults)))),
    );
    note.textContent = data.complete ? "" : `looking into ${many(data.sessions.filter((row) => !row.inside && !row.flaw).length, "session")} …`;
  }

  function update(next) {
    data = next;
    arrange();
    table.refresh(rows.length);
    complete();
  }

  async function complete() {
    while (!data.complete && !isClosed) {
      await new Promise((done) => setTimeout(done, AGAIN));
      if (isClosed) return;
      data = await fetchData(links.sessions()).catch(() => data);
      arrange();
      table.refresh(rows.length);
    }
  }

  build();
  complete();
  return {
    title: "Sessions",
    session: "",
    node: h(
      "div.pad",
      h("div.heading", h("h1", "Sessions"), h("span.quiet.path", data.store)),
      stats,
      h("div.tools", h("input", { type: "search", placeholder: "Filter by words, model, client …", "aria-label": "Filter the sessions", "data-search": true,
        input: (event) => { words = event.target.value; arrange(); table.refresh(rows.length); },
        keydown: (event) => { if (event.key === "Enter" && rows.length) go(links.session(rows[Math.max(0, table.active)].id)); } }), note),
      holder,
    ),
    update,
    close: () => (isClosed = true),
    keys: { j: () => table.move(1), k: () => table.move(-1), Enter: () => table.openActive() },
  };
}
