/* The sortable table: only the rows in sight are in the page, so thousands stay fluent. */
const ROW = 30;
const scroll = byId("scroll");
let printing = false;

function drawHead() {
  byId("head").replaceChildren(...SHOWN.map((column) => {
    const mark = state.sort === column.key ? (state.down ? " ▾" : " ▴") : "";
    const button = el("button", { type: "button", onclick: () => sortBy(column.key) }, column.name + mark);
    const order = mark ? (state.down ? "descending" : "ascending") : "none";
    const head = el("th", { class: column.left ? "left" : "", "aria-sort": order, scope: "col" }, button);
    if (column.width) head.style.width = `${column.width}px`;
    return head;
  }));
}

function sortBy(key) {
  state.down = state.sort === key ? !state.down : !["id", "routine", "q"].includes(key);
  state.sort = key;
  drawHead();
  refilter();
}

function rowOf(node) {
  const row = el("tr", { "data-id": node.id, class: node === state.chosen ? "chosen" : "", onclick: () => choose(node) });
  for (const column of SHOWN) {
    const colour = ["rate", "lift"].includes(column.key) ? verdict(node) : "";
    const names = [column.left ? "left" : "", column.key, colour].join(" ");
    const cell = el("td", { class: names }, column.cell(node));
    if (column.key === "routine") cell.title = plainRoutine(node);
    row.append(cell);
  }
  return row;
}

function spacer(rows) {
  const cell = el("td", { colspan: SHOWN.length });
  cell.style.height = `${rows * ROW}px`;
  return el("tr", { class: "spacer", "aria-hidden": "true" }, cell);
}

function drawRows() {
  const n = state.rows.length;
  const first = printing ? 0 : Math.max(0, Math.floor(scroll.scrollTop / ROW) - 8);
  const last = printing ? n : Math.min(n, first + Math.ceil(scroll.clientHeight / ROW) + 16);
  const shown = state.rows.slice(first, last).map(rowOf);
  byId("rows").replaceChildren(spacer(first), ...shown, spacer(n - last));
}

function bringIntoSight(node) {
  const at = state.rows.indexOf(node);
  if (at < 0) return;
  const top = at * ROW;
  if (top < scroll.scrollTop) scroll.scrollTop = top;
  else if (top + 2 * ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + 2 * ROW - scroll.clientHeight;
}

function step(by) {
  const at = state.rows.indexOf(state.chosen);
  const next = state.rows[at < 0 ? 0 : Math.min(state.rows.length - 1, Math.max(0, at + by))];
  if (next) { choose(next); bringIntoSight(next); }
}

scroll.addEventListener("scroll", drawRows, { passive: true });
scroll.addEventListener("keydown", (event) => {
  const page = Math.max(1, Math.floor(scroll.clientHeight / ROW) - 2);
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 }[event.key];
  if (by) { step(by); event.preventDefault(); }
});
addEventListener("beforeprint", () => { printing = true; drawRows(); });
addEventListener("afterprint", () => { printing = false; drawRows(); });
redraws.push((what) => {
  if (what === "rows") scroll.scrollTop = 0;
  drawRows();
});
