// A list of which the keyboard moves one active row.

/** Gives {move(step), clear(), at}: `list` is the node, `focus(row)` is called on the row that becomes active. */
export function activeRow(list, focus = scrollTo) {
  const active = { move, clear, at: -1 };

  function move(step) {
    const rows = list.children;
    if (!rows.length) return;
    rows[active.at]?.classList.remove("active");
    active.at = Math.min(rows.length - 1, Math.max(0, active.at + step));
    rows[active.at].classList.add("active");
    focus(rows[active.at]);
  }

  function clear() {
    active.at = -1;
  }

  return active;
}

function scrollTo(row) {
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}
