// Draws a session over its turns: pages by level or kind, tokens and money of each turn, and what happened. All share one axis.

import { h, number, short } from "./dom.js";

const LEFT = 56;
const RIGHT = 12;
const GAP = 26;
const HEIGHTS = { map: 210, tokens: 104, money: 96, events: 22 };
const EVENTS = { fault: "--bad", damage: "--bad", reset: "--accent", pin: "--structured", note: "--compressed", undo: "--warn", erase: "--warn" };

/** `data()` gives what is drawn; `pick(turn)` is a click, `point(turn, place)` a pointer; gives {node, draw, select}. */
export function timeline({ data, pick, point }) {
  const canvas = h("canvas", { role: "img", tabindex: "0" });
  const node = h("div.timeline", canvas);
  const still = document.createElement("canvas");
  let hovered = null; // {turn, place}
  let selected = 0;
  let shown = { colours: "level", money: "so far", hidden: new Set() };

  function scale() {
    const turns = Math.max(1, data().turns.answer.length);
    const width = Math.max(50, node.clientWidth - LEFT - RIGHT);
    return { turns, width, step: width / turns, x: (turn) => LEFT + (width * (turn - 1)) / turns };
  }

  function areas() {
    let top = 18;
    const found = {};
    for (const [name, height] of Object.entries(HEIGHTS)) {
      found[name] = { top, height };
      top += height + GAP;
    }
    return { ...found, bottom: top };
  }

  /** Everything but the cursors, which is drawn anew only when something changed. */
  function draw() {
    const view = data();
    const { turns, width, step, x } = scale();
    const area = areas();
    const ratio = devicePixelRatio || 1;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    canvas.width = Math.round((LEFT + width + RIGHT) * ratio);
    canvas.height = Math.round(area.bottom * ratio);
    canvas.style.setProperty("height", `${area.bottom}px`);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = `11px ${style.getPropertyValue("--sans")}`;
    pen.textBaseline = "middle";
    canvas.setAttribute("aria-label", told(view));

    title(pen, colour, area.map.top, `pages, by ${shown.colours}`);
    map(pen, view, area.map, x, step, width, colour, ratio);
    folds(pen, view, area, x, colour);
    title(pen, colour, area.tokens.top, "tokens of each turn");
    tokens(pen, view.turns, area.tokens, x, step, colour);
    title(pen, colour, area.money.top, `cost, ${shown.money}`);
    costs(pen, view, area.money, x, step, colour);
    title(pen, colour, area.events.top, "faults, notes, rules");
    events(pen, view, area.events, x, step, colour);
    axis(pen, turns, area, x, step, colour);
    still.width = canvas.width;
    still.height = canvas.height;
    still.getContext("2d").drawImage(canvas, 0, 0);
    cursors();
  }

  function cursors() {
    const { step, x } = scale();
    const ratio = devicePixelRatio || 1;
    const style = getComputedStyle(document.documentElement);
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(still, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const at = hovered?.turn || 0;
    if (selected) cursor(pen, areas(), x(selected) + step / 2, style.getPropertyValue("--accent"), 2);
    if (at) cursor(pen, areas(), x(at) + step / 2, style.getPropertyValue("--quiet"), 1);
  }

  function title(pen, colour, top, words) {
    pen.fillStyle = colour("--quiet");
    pen.textAlign = "left";
    pen.fillText(words, LEFT, top - 9);
  }

  function map(pen, view, { top, height }, x, step, width, colour, ratio) {
    const { moves, kind, counts } = view.pages;
    const count = Math.max(1, moves.length);
    const tall = Math.max(height / count, 1 / ratio);
    const levels = view.levels.map((level) => colour(`--${level}`));
    const kinds = { bootstrap: 0, constraint: 1, plan: 2, preference: 3, evidence: 4, conversation: 5 };
    const of = Object.keys(kinds).map((name) => colour(`--${name}`));
    const shades = [1, 0.75, 0.5, 0.22];
    pen.fillStyle = colour("--sunk");
    pen.fillRect(LEFT, top, width, height);
    for (let place = 0; place < moves.length; place++) {
      const own = moves[place];
      const y = top + (height * place) / count;
      for (let at = 0; at < own.length; at += 2) {
        const level = own[at + 1];
        if (level > 3) continue;
        const from = x(own[at]);
        const to = at + 2 < own.length ? x(own[at + 2]) : LEFT + width;
        if (shown.colours === "level") pen.fillStyle = levels[level];
        else {
          pen.fillStyle = of[kinds[kind[place]]];
          pen.globalAlpha = shades[level];
        }
        pen.fillRect(from, y, to - from + 0.25, tall + (tall > 2 ? -0.5 : 0.25));
        pen.globalAlpha = 1;
      }
      if (!counts[place] && tall > 3) {
        pen.fillStyle = colour("--warn");
        pen.fillRect(LEFT - 4, y, 3, tall);
      }
    }
    scaleOf(pen, colour, top, height, [["1", 0], [number(moves.length), 1]]);
  }

  function folds(pen, view, area, x, colour) {
    pen.strokeStyle = colour("--fold");
    pen.lineWidth = 1;
    const count = view.turns.fold.filter((reason) => reason !== null).length;
    const clear = count * 14 < node.clientWidth ? 0.45 : 0.1; // many lines would hide what they divide
    view.turns.fold.forEach((reason, at) => {
      if (reason === null) return;
      const left = Math.round(x(at + 1)) + 0.5;
      pen.beginPath();
      pen.moveTo(left, area.map.top);
      pen.lineTo(left, area.money.top + area.money.height);
      pen.globalAlpha = clear;
      pen.stroke();
      pen.globalAlpha = 1;
      pen.fillStyle = colour("--fold");
      pen.beginPath();
      pen.moveTo(left - 3.5, area.map.top - 5);
      pen.lineTo(left + 3.5, area.map.top - 5);
      pen.lineTo(left, area.map.top);
      pen.fill();
    });
  }

  function tokens(pen, turns, { top, height }, x, step, colour) {
    const input = (bill, at) => bill.fresh[at] + bill.cached[at] + bill.written[at];
    const lines = [["everything", turns.everything], ["trim", turns.trim]].filter(([name]) => !shown.hidden.has(name));
    let most = 1;
    for (let at = 0; at < turns.answer.length; at++) {
      most = Math.max(most, input(turns.sent, at), input(turns.trim, at));
    }
    most *= 1.08;
    const y = (value) => top + height - (height * value) / most;
    grid(pen, colour, top, height, most, short);
    const wide = Math.max(step * 0.82, 0.75);
    for (let at = 0; at < turns.answer.length; at++) {
      let base = top + height;
      for (const [name, values] of [["--cached", turns.sent.cached], ["--written", turns.sent.written], ["--fresh", turns.sent.fresh]]) {
        const tall = (height * values[at]) / most;
        pen.fillStyle = colour(name);
        pen.fillRect(x(at + 1) + (step - wide) / 2, base - tall, wide, tall);
        base -= tall;
      }
    }
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, top - 1, node.clientWidth - LEFT - RIGHT, height + 2);
    pen.clip();
    for (const [name, bill] of lines) line(pen, turns.answer.length, (at) => y(input(bill, at)), x, step, colour(`--${name}`), name === "trim");
    pen.restore();
    const beyond = lines.some(([name]) => name === "everything") ? turns.answer.findIndex((_, at) => input(turns.everything, at) > most) : -1;
    if (beyond >= 0) {
      pen.fillStyle = colour("--everything");
      pen.textAlign = x(beyond + 1) > node.clientWidth - 260 ? "right" : "left";
      const peak = turns.answer.reduce((high, _, at) => Math.max(high, input(turns.everything, at)), 0);
      pen.fillText(`send everything goes on to ${short(peak)} ↗`, x(beyond + 1) + (pen.textAlign === "left" ? 6 : -6), top - 9);
    }
  }

  function costs(pen, view, { top, height }, x, step, colour) {
    const price = view.price ? view.price.dollars_per_million / 1e6 : 1;
    const names = ["sent", "everything", "trim"].filter((name) => !shown.hidden.has(name));
    const sums = names.map((name) => {
      let total = 0;
      return view.turns[name].cost.map((each) => price * (shown.money === "so far" ? (total += each) : each));
    });
    const most = Math.max(1e-9, ...sums.map((values) => values.reduce((a, b) => Math.max(a, b), 0)));
    grid(pen, colour, top, height, most, (value) => (view.price ? `$${value >= 10 ? Math.round(value) : value.toPrecision(2)}` : short(value)));
    names.forEach((name, which) =>
      line(pen, sums[which].length, (at) => top + height - (height * sums[which][at]) / most, x, step, colour(name === "sent" ? "--accent" : `--${name}`), name === "trim", name === "sent" ? 2 : 1.5),
    );
  }

  function line(pen, count, y, x, step, colour, isDashed, width = 1.5) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.setLineDash(isDashed ? [4, 3] : []);
    pen.beginPath();
    for (let at = 0; at < count; at++) pen[at ? "lineTo" : "moveTo"](x(at + 1) + step / 2, y(at));
    pen.stroke();
    pen.setLineDash([]);
  }

  function events(pen, view, { top, height }, x, step, colour) {
    pen.fillStyle = colour("--sunk");
    pen.fillRect(LEFT, top, node.clientWidth - LEFT - RIGHT, height);
    for (const each of view.events) {
      const isFault = each.kind === "fault" || each.kind === "damage";
      pen.fillStyle = colour(EVENTS[each.kind] || "--quiet");
      const centre = x(each.turn) + step / 2;
      pen.beginPath();
      if (isFault) {
        pen.moveTo(centre - 4.5, top + 17);
        pen.lineTo(centre + 4.5, top + 17);
        pen.lineTo(centre, top + 8);
      } else pen.arc(centre, top + (each.kind === "note" ? 6 : 13), 2.6, 0, 7);
      pen.fill();
    }
  }

  function axis(pen, turns, area, x, step, colour) {
    pen.fillStyle = colour("--quiet");
    pen.textAlign = "center";
    const every = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000].find((each) => each * step > 44) || 20000;
    const y = area.events.top + area.events.height + 10;
    for (let turn = every; turn <= turns; turn += every) {
      const words = number(turn);
      const last = node.clientWidth - pen.measureText(words).width / 2; // where nothing of it is cut off
      pen.fillText(words, Math.min(x(turn) + step / 2, last), y);
    }
    pen.textAlign = "right";
    pen.fillText("turn", LEFT - 8, y);
  }

  function grid(pen, colour, top, height, most, tell) {
    pen.strokeStyle = colour("--line");
    pen.lineWidth = 1;
    for (const share of [0, 0.5, 1]) {
      const y = Math.round(top + height * share) + 0.5;
      pen.beginPath();
      pen.moveTo(LEFT, y);
      pen.lineTo(node.clientWidth - RIGHT, y);
      pen.stroke();
    }
    scaleOf(pen, colour, top, height, [[tell(most), 0], [tell(most / 2), 0.5], ["0", 1]]);
  }

  function scaleOf(pen, colour, top, height, marks) {
    pen.fillStyle = colour("--quiet");
    pen.textAlign = "right";
    for (const [words, share] of marks) pen.fillText(words, LEFT - 8, top + height * share + (share === 0 ? 5 : share === 1 ? -4 : 0));
  }

  function cursor(pen, area, left, colour, width) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(left, area.map.top);
    pen.lineTo(left, area.events.top + area.events.height);
    pen.stroke();
  }

  function told(view) {
    const folds = view.turns.fold.filter((each) => each !== null).length;
    const faults = view.events.filter((each) => each.kind === "fault").length;
    return `${view.pages.handle.length} pages over ${view.turns.answer.length} turns with ${folds} folds and ${faults} faults; the tables below have the same in words`;
  }

  function find(event) {
    const box = canvas.getBoundingClientRect();
    const { turns, step } = scale();
    const turn = Math.floor((event.clientX - box.left - LEFT) / step) + 1;
    if (turn < 1 || turn > turns || !data().turns.answer.length) return null;
    const { map: own } = areas();
    const share = (event.clientY - box.top - own.top) / own.height;
    const pages = data().pages.handle.length;
    return { turn, place: share >= 0 && share < 1 && pages ? Math.floor(share * pages) : null };
  }

  canvas.addEventListener("pointermove", (event) => {
    hovered = find(event);
    point(hovered);
    cursors();
  });
  canvas.addEventListener("pointerleave", () => {
    hovered = null;
    point(null);
    cursors();
  });
  canvas.addEventListener("click", (event) => {
    const found = find(event);
    if (found) pick(found.turn, found.place);
  });
  new ResizeObserver(() => draw()).observe(node);
  document.addEventListener("repaint", draw);
  return {
    node,
    draw,
    select: (turn) => ((selected = turn), cursors()),
    set: (change) => ((shown = { ...shown, ...change }), draw()),
    get shown() {
      return shown;
    },
    close: () => document.removeEventListener("repaint", draw),
  };
}
