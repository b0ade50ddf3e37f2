// A turn: every message that was sent, where it comes from, and what differs from the turn before.

import { badge, fetchData, h, links, many, number, percent, replace, short, stat, when } from "./dom.js";
import { activeRow } from "./list.js";
import { blocks } from "./messages.js";

const SHARES = { "structured extracts": "structured", "tool results": "evidence", "words of people": "person", "instructions and rules": "constraint", "words and calls of the model": "conversation", pointers: "pointer", "index lines": "index", compressed: "compressed", notes: "preference" };

export function turnView(first, { go, params }) {
  let data = first;
  let only = "all"; // or "new"
  const byClient = params.get("by") === "client";
  const session = links.session(data.session);
  const list = h("ol.messages", { "aria-label": "Messages that were sent" });
  const active = activeRow(list);
  const rest = h("div");
  const tools = h("div.tools");
  const address = (number) => links.turn(data.session, number) + (byClient ? "?by=client" : "");

  function head() {
    const { usage, change } = data;
    const whole = usage.fresh + usage.cached + usage.written;
    const mark = usage.is_reported ? "" : "~";
    return [
      h("p.crumbs", h("a", { href: links.sessions() }, "Sessions"), " › ", h("a", { href: session }, data.session), " › ", h("span", `turn ${data.number}`)),
      h("div.heading",
        h("h1", `Turn ${number(data.number)}`, h("span.quiet", ` of ${number(data.last)}`)),
        h("span.spring"),
        step(data.number - 1, "[", "previous"), step(data.number + 1, "]", "next")),
      h("p.facts", h("span", data.model), h("span", when(data.at)), h("span", "answered by ", h("a", { href: links.page(data.session, data.answer) }, data.answer))),
      h("div.stats",
        stat("by our count", data.tokens === null ? "–" : short(data.tokens), data.budget ? `of ${number(data.budget)} tokens` : "no context was derived"),
        stat("tokens in", mark + short(whole), usage.is_reported ? "as the provider reported" : "an estimate"),
        stat("cached", mark + short(usage.cached), whole ? percent(usage.cached / whole) : ""),
        stat("written", mark + short(usage.written)),
        stat("fresh", mark + short(usage.fresh)),
        stat("out", mark + short(usage.output))),
      data.fold ? h("p.foldnote", h("strong", "Folded"), data.fold.replace(/^folded/, "")) : null,
      data.flaw ? h("p.warnnote", h("strong", "These may not be the very messages: "), data.flaw) : null,
      data.notices.map((notice) => h("p.warnnote", notice)),
      data.client ? h("p.clientnote", clientWords()) : null,
      shares(),
      h("p.change", changeWords(change)),
    ];
  }

  function step(turn, key, words) {
    const isThere = turn >= 1 && turn <= data.last;
    return isThere ? h("a.step", { href: address(turn), "aria-keyshortcuts": key }, `${words} `, h("kbd", key)) : null;
  }

  function clientWords() {
    const { client } = data;
    const went = client.sent_bytes === null ? "which went on as they were" : `of which ${number(client.sent_bytes)} bytes went on`;
    return [
      `Through the gateway (${client.endpoint}): the client sent ${many(client.messages, "message")}${client.bytes === null ? "" : ` in ${number(client.bytes)} bytes`}, ${went}. `,
      byClient
        ? h("a", { href: links.turn(data.session, data.number) }, "show what was derived")
        : h("a", { href: `${links.turn(data.session, data.number)}?by=client` }, "show what the client sent"),
    ];
  }

  function changeWords(change) {
    if (change.before === null) return "The first turn: everything is new.";
    const same = `${many(change.same, "message")} (${number(change.same_tokens)} tokens) at the beginning are those of turn ${change.before}`;
    const gone = change.gone_tokens ? `, ${number(change.gone_tokens)} tokens are gone` : "";
    return `${same}; ${number(change.new)} ${change.new === 1 ? "is" : "are"} new${gone}.`;
  }

  function shares() {
    const whole = Math.max(1, data.shares.reduce((total, each) => total + each.tokens, 0));
    const name = (each) => SHARES[each.name] || "tools";
    return h("figure.shares",
      h("div.sharebar.tall", { role: "img", "aria-label": data.shares.map((each) => `${each.name} ${each.tokens} tokens`).join(", ") },
        data.shares.map((each) => h("span.piece", { "data-share": name(each), title: `${each.name}: ${number(each.tokens)} tokens`, style: { "flex-basis": `${(100 * each.tokens) / whole}%` } }))),
      h("figcaption.legend", data.shares.map((each) => h("span.swatch", h("i", { "data-share": name(each) }), `${each.name} `, h("b", number(each.tokens))))));
  }

  function toolbar() {
    const button = (name, words) => h("button", { type: "button", "aria-pressed": String(only === name), click: () => ((only = name), draw()) }, words);
    return [button("all", `all ${number(data.total)}`), button("new", `new ${number(data.change.new)}`), data.change.gone.length ? button("gone", `gone ${number(data.change.gone.length)}`) : null];
  }

  function message(each, place) {
    return h("li.message", { class: `message ${each.is_new ? "new" : "same"}`, "data-role": each.role, tabindex: "-1" },
      h("div.messagehead",
        h("span.place", `${place + 1}`),
        h("strong.role", each.role),
        badge(each.level),
        h("span.kind", each.kind),
        each.handles.map((handle) => h("a", { href: links.page(data.session, handle) }, handle)),
        each.is_new ? h("span.newmark", "new") : null,
        h("span.spring"),
        h("span.quiet", each.why, each.since ? `, since turn ${each.since}` : ""),
        h("span.tokens", `${number(each.tokens)} tokens`)),
      blocks(each.parts));
  }

  function gone(each) {
    return h("li.message.gone", { "data-role": each.role, tabindex: "-1" },
      h("div.messagehead", h("strong.role", each.role), each.handles.map((handle) => h("a", { href: links.page(data.session, handle) }, handle)), h("span.spring"), h("span.tokens", `${number(each.tokens)} tokens`)),
      h("p.begins", each.begins));
  }

  function draw() {
    replace(tools, toolbar());
    active.clear();
    if (only === "gone") replace(list, data.change.gone.map(gone));
    else replace(list, data.messages.map((each, at) => (only === "all" || each.is_new ? message(each, data.start + at) : null)));
    const end = data.start + data.messages.length;
    replace(rest, end < data.total ? h("button.more", { type: "button", click: more }, `the next messages of ${number(data.total - end)}`) : null);
  }

  async function more() {
    const end = data.start + data.messages.length;
    const next = await fetchData(`${links.turn(data.session, data.number)}?start=${end}${byClient ? "&by=client" : ""}`);
    data = { ...data, messages: [...data.messages, ...next.messages] };
    draw();
  }

  const heading = h("div", head());
  draw();
  return {
    title: `Turn ${data.number} of ${data.session}`,
    session: data.session,
    up: session,
    node: h("div.pad", heading, tools, list, rest),
    update: (next) => {
      data = { ...data, last: next.last };
      replace(heading, head());
    },
    keys: {
      j: () => active.move(1),
      k: () => active.move(-1),
      Enter: () => list.children[active.at]?.querySelector(".foot button")?.click(),
      "]": () => data.number < data.last && go(address(data.number + 1)),
      "[": () => data.number > 1 && go(address(data.number - 1)),
    },
  };
}
