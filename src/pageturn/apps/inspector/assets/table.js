// A table of any length of which only the rows in sight are nodes. The keyboard moves one active row.

import { h, replace } from "./dom.js";

const LOW = 34;
const BEYOND = 8; // rows above and below that are there already
const LEAST = { wide: 960, middle: 720, narrow: 520 }; // pixels of the table from which such a column is shown
let made = 0;

/**
 * `columns`: {name, width, align, cell(row, index)}; `count` rows, `row(index)` gives one; `open(index)` is Enter.
 * Gives {node, refresh(count), move(step), openActive(), active}.
 */
export function virtualTable({ label, columns, row, count, open, onActive, onRange, active = -1, height, tall = 0 }) {
  const ROW = tall || LOW;
  const id = `table-${++made}`;
  let shown = columns; // those that there is room for
  let template = "";
  const body = h("div.rows", { role: "rowgroup" });
  const head = h("div.head", { role: "rowgroup" });
  const node = h(
    "div.table",
    { class: tall ? "table tall-rows" : "table", role: "grid", tabindex: "0", "aria-label": label, "aria-rowcount": String(count + 1), keydown: onKey, scroll: onScroll },
    head,
    body,
  );
  if (height) node.style.setProperty("max-height", height);
  const table = { node, refresh, move, openActive, setActive, show, active };
  const nodes = new Map(); // of the rows in sight, by their number
  let drawn = "";
  let waiting = 0;

  function fit() {
    const room = node.clientWidth || 1_200;
    shown = columns.filter((column) => !column.hide || room >= LEAST[column.hide]);
    template = shown.map((column) => column.width || "minmax(0, 1fr)").join(" ");
    replace(head, h("div.row", { role: "row", "aria-rowindex": "1", style: { "grid-template-columns": template } }, shown.map(heading)));
    draw(true);
  }

  function heading(column) {
    const way = column.sorted ? (column.sorted > 0 ? "ascending" : "descending") : null;
    const arrow = { ascending: " ↑", descending: " ↓" }[way] || "";
    return h(
      "div",
      { role: "columnheader", class: `cell ${column.align || ""}`, "aria-sort": way },
      column.sort ? h("button.sort", { type: "button", click: column.sort }, column.name, arrow) : column.name,
    );
  }

  function onScroll() {
    if (!waiting) waiting = requestAnimationFrame(draw);
  }

  function onKey(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -count, End: count };
    if (event.target === node && event.key in steps) {
      event.preventDefault();
      move(steps[event.key]);
    } else if (event.target === node && event.key === "Enter") openActive();
  }

  function draw(force) {
    waiting = 0;
    const seen = node.clientHeight || 400;
    const first = Math.max(0, Math.floor(node.scrollTop / ROW) - BEYOND);
    const last = Math.min(count, Math.ceil((node.scrollTop + seen) / ROW) + BEYOND);
    const key = `${first}-${last}-${table.active}-${count}`;
    if (force !== true && key === drawn) return;
    drawn = key;
    body.style.setProperty("height", `${Math.max(1, count) * ROW}px`);
    if (force === true) {
      replace(body, count ? [] : h("div.row.empty", { role: "row" }, h("div.cell", { role: "gridcell" }, "nothing here")));
      nodes.clear();
    }
    for (const [index, each] of nodes)
      if (index < first || index >= last) {
        each.remove();
        nodes.delete(index);
      }
    for (let index = first; index < last; index++)
      if (!nodes.has(index)) {
        nodes.set(index, drawRow(index));
        body.append(nodes.get(index));
      }
    if (onRange && last > first) onRange(first, last);
  }

  function drawRow(index) {
    const each = row(index);
    return h(
      "div.row",
      {
        role: "row",
        id: `${id}-${index}`,
        "aria-rowindex": String(index + 2),
        "aria-selected": index === table.active ? "true" : "false",
        class: `row ${index === table.active ? "active" : ""} ${each.className || ""}`,
        style: { top: `${index * ROW}px`, height: `${ROW}px`, "grid-template-columns": template },
        click: (event) => {
          setActive(index);
          if (!event.target.closest("a, button")) open?.(index);
        },
      },
      shown.map((column) => h("div", { role: "gridcell", class: `cell ${column.align || ""}` }, column.cell(each, index))),
    );
  }

  function setActive(index) {
    table.active = index;
    if (index >= 0) node.setAttribute("aria-activedescendant", `${id}-${index}`);
    onActive?.(index);
    draw(true);
  }

  function move(step) {
    if (!count) return;
    const index = Math.min(count - 1, Math.max(0, table.active + step));
    show(index);
    setActive(index);
  }

  function show(index) {
    const top = index * ROW;
    const room = node.clientHeight - ROW;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + ROW > node.scrollTop + room) node.scrollTop = top + ROW - room;
  }

  function openActive() {
    if (table.active >= 0) open?.(table.active);
  }

  function refresh(newCount) {
    count = newCount;
    node.setAttribute("aria-rowcount", String(count + 1));
    if (table.active >= count) table.active = count - 1;
    draw(true);
  }

  new ResizeObserver(fit).observe(node);
  fit();
  return table;
}
