// Parts of messages as blocks of text: long ones folded, with a way to the rest.

import { h, inertNodes, number, replace } from "./dom.js";

const FOLDED = 1_200; // characters

/** The blocks of a message; `rest` fetches more of a part that did not come whole. */
export function blocks(parts, { rest = null, isOpen = false } = {}) {
  return parts.map((part, index) => block(part, index, rest, isOpen));
}

function block(part, index, rest, isOpen) {
  const label = [part.type, part.name, part.call && `#${part.call}`, part.is_error && "error"].filter(Boolean).join(" ");
  const body = h("pre.text", { tabindex: "0", role: "group", "aria-label": label });
  let text = part.text;
  let open = isOpen || text.length <= FOLDED;
  const foot = h("div.foot");

  function draw() {
    const shown = open ? text : text.slice(0, FOLDED);
    replace(body, inertNodes(shown));
    const left = part.size - text.length;
    replace(
      foot,
      text.length > FOLDED ? h("button.ghost", { type: "button", "data-unfold": open ? null : true, click: () => ((open = !open), draw()) }, open ? "fold" : `show ${number(text.length - FOLDED)} more characters`) : null,
      open && left > 0
        ? rest
          ? h("button.ghost", { type: "button", click: more }, `the next of ${number(left)} characters`)
          : h("span.quiet", `${number(left)} more characters are on the page itself`)
        : null,
    );
  }

  async function more() {
    const next = await rest(text.length);
    text += next[index]?.text || "";
    draw();
  }

  draw();
  return h("div.part", { "data-type": part.type }, h("div.partname", label), body, foot);
}
