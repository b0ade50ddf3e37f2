// Makes nodes. Text only ever becomes text nodes, with everything made visible that a browser would act on or hide.

const ACTING =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

export const root = document.documentElement.dataset.root;

/** A control or invisible character, as one writes it. */
function spelled(letter) {
  const code = letter.codePointAt(0);
  if (code > 0xffff) return `\\u{${code.toString(16)}}`;
  return code > 0xff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\x${code.toString(16).padStart(2, "0")}`;
}

/** The text with everything spelled out that could hide or turn round other text. */
export const inert = (text) => String(text).replace(ACTING, spelled);

/** Text as nodes, where what is spelled out is marked. */
export function inertNodes(text) {
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(ACTING)) {
    if (found.index > end) nodes.push(document.createTextNode(text.slice(end, found.index)));
    nodes.push(h("span.spelled", { title: "a control or invisible character" }, spelled(found[0])));
    end = found.index + found[0].length;
  }
  nodes.push(document.createTextNode(text.slice(end)));
  return nodes;
}

/** A node: `h("a.row", {href}, "text", child)`. A property that is a function listens; `style` sets CSS variables. */
export function h(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag || "div");
  if (classes.length) node.className = classes.join(" ");
  const isProps = (each) => each !== null && typeof each === "object" && !(each instanceof Node) && !Array.isArray(each);
  const props = isProps(rest[0]) ? rest.shift() : {};
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else if (key === "style") for (const [property, set] of Object.entries(value)) node.style.setProperty(property, set);
    else node.setAttribute(key, value === true ? "" : inert(value));
  }
  add(node, rest);
  return node;
}

function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(inert(child)));
  }
}

export function replace(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

// -- addresses

const part = encodeURIComponent;
export const links = {
  sessions: () => `${root}/`,
  session: (id) => `${root}/session/${part(id)}`,
  turn: (id, number) => `${root}/session/${part(id)}/turn/${number}`,
  page: (id, handle) => `${root}/session/${part(id)}/page/${part(handle)}`,
  search: (query, session) =>
    `${root}/search?${new URLSearchParams({ ...(query && { q: query }), ...(session && { session }) })}`,
  routing: (scope) => `${root}/routing${scope ? `?scope=${part(scope)}` : ""}`,
};

/** The data of a view: its own address, under /data. */
export async function fetchData(address, signal) {
  const answer = await fetch(root + "/data" + address.slice(root.length), { signal });
  const body = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Error(body.error || `the server answered ${answer.status}`);
  return body;
}

// -- numbers and words

export const number = (value) => value.toLocaleString("en-US");
export function short(value) {
  if (value < 1_000) return String(Math.round(value));
  if (value < 1_000_000) return `${(value / 1_000).toFixed(value < 10_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(value < 10_000_000 ? 2 : 1)}M`;
}
export function money(dollars) {
  if (dollars >= 100) return `$${number(Math.round(dollars))}`;
  let digits = 2;
  while (dollars > 0 && dollars < 10 ** (1 - digits) && digits < 6) digits += 1;
  return `$${dollars.toFixed(digits)}`;
}
export const many = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
export const percent = (share) => `${Math.round(100 * share)} %`;
export function when(millis) {
  if (!millis) return "";
  const time = new Date(millis);
  const two = (value) => String(value).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${two(time.getHours())}:${two(time.getMinutes())}`;
}
export const sum = (values) => values.reduce((total, each) => total + (each || 0), 0);

/** A cost in tokens of fresh input: as dollars where the price is known. */
export const cost = (tokens, price) =>
  price ? money((tokens * price.dollars_per_million) / 1_000_000) : `${short(tokens)} tokens`;

export const badge = (level) => (level ? h("span.level", { "data-level": level }, level) : null);

export const stat = (label, value, detail) =>
  h("div.stat", h("span.label", label), h("span.value", value), detail ? h("span.detail", detail) : null);
