/* Small pieces of page. Text from the file only ever becomes a text node. */
const byId = (id) => document.getElementById(id);

function el(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function svg(tag, props, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const count = (n) => (n === null ? "–" : n.toLocaleString("en"));
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
const percent = (x) => {
  if (x === null) return "–";
  if (x >= 0.995 && x < 1) return ">99%";
  if (x > 0 && x < 0.005) return "<1%";
  return `${Math.round(100 * x)}%`;
};
const share = (x) => (x === null ? "–" : `${(100 * x).toFixed(1)}%`);
const factor = (x) => (x === null ? "–" : `${x.toFixed(2)}×`);
const small = (x) => (x === null ? "–" : x < 0.001 ? "<0.001" : x.toFixed(3));

/* A token with its role set off. */
function token(name) {
  const at = name.indexOf("<");
  return at < 0 ? [name] : [name.slice(0, at), el("span", { class: "role" }, name.slice(at))];
}

function routine(tokens) {
  const out = el("span");
  links(tokens).forEach((link, i) => {
    if (i) out.append(el("span", { class: "arrow" }, " → "));
    out.append(...token(link.token));
    if (link.times > 1) out.append(el("span", { class: "soft" }, ` ×${link.times}`));
  });
  return out;
}

const plainRoutine = (node) => links(node.tokens).map((l) => l.token + (l.times > 1 ? ` ×${l.times}` : "")).join(" → ");

/* "good" or "bad" where the 95% interval leaves the base rate out, else "". */
function verdict(node) {
  if (data.base === null || node.low === null) return "";
  return node.low > data.base ? "good" : node.high < data.base ? "bad" : "";
}

/* The rate with its interval and the base rate, from 0 to 100%. */
function bar(node, width) {
  const made = svg("svg", { class: `bar ${verdict(node)}`, width, height: 14, role: "img", "aria-label": percent(node.rate) });
  const x = (value) => 3 + value * (width - 6);
  const line = (name, a, b) => made.append(svg("line", { class: name, x1: x(a), x2: x(b), y1: 7, y2: 7 }));
  line("track", 0, 1);
  if (node.rate === null) return made;
  line("range", node.low, node.high);
  if (data.base !== null) made.append(svg("line", { class: "base", x1: x(data.base), x2: x(data.base), y1: 1, y2: 13 }));
  made.append(svg("circle", { class: "point", cx: x(node.rate), cy: 7, r: 3.2 }));
  return made;
}
