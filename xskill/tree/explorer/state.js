/* What is chosen, filtered and sorted; everything else redraws from here. */
const state = { chosen: null, sort: "weight", down: true, k: nodes.length, rows: [] };
const redraws = [];

const COLUMNS = [
  { key: "id", name: "id", width: 56, left: true, of: (n) => n.rank, cell: (n) => n.id },
  { key: "routine", name: "routine", left: true, of: (n) => n.tokens.join(" "), cell: (n) => routine(n.tokens) },
  { key: "weight", name: nodes.some((n) => n.share !== null) ? "covers" : "steps", width: 68, of: (n) => n.weight,
    cell: (n) => (n.share === null ? count(n.weight) : share(n.share)) },
  { key: "n", name: data.tiled ? "episodes" : "count", width: 80, of: (n) => n.n, cell: (n) => count(n.n) },
  { key: "rate", name: "success", width: 74, of: (n) => n.low, cell: (n) => percent(n.rate) },
  { key: "bar", name: "0 – 100%", width: 104, of: (n) => n.rate, cell: (n) => bar(n, 88) },
  { key: "lift", name: "lift", width: 62, of: (n) => n.lift, cell: (n) => factor(n.lift) },
  { key: "q", name: "q", width: 70, of: (n) => n.q, cell: (n) => small(n.q) },
  { key: "depth", name: "depth", width: 58, of: (n) => n.depth, cell: (n) => n.depth },
  { key: "length", name: "length", width: 62, of: (n) => n.length, cell: (n) => n.length },
];
const SHOWN = COLUMNS.filter((column) => {
  if (["rate", "bar"].includes(column.key)) return nodes.some((node) => node.rate !== null);
  if (["lift", "q"].includes(column.key)) return nodes.some((node) => node[column.key] !== null);
  return true;
});

function filtered() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const type = byId("type").value;
  const least = Number(byId("success").value) / 100;
  const most = byId("q").value === "" ? null : Number(byId("q").value);
  const depth = Number(byId("depth").value);
  const roots = byId("roots").checked;
  return nodes.filter((node) =>
    (!roots || node.root)
    && node.depth >= depth
    && (least <= 0 || (node.rate !== null && node.rate >= least))
    && (most === null || (node.q !== null && node.q <= most))
    && (type === "" || node.types.includes(type))
    && words.every((word) => node.words.includes(word)));
}

function compare(a, b) {
  const of = COLUMNS.find((column) => column.key === state.sort).of;
  const [x, y] = [of(a), of(b)];
  if (x === y) return a.rank - b.rank;
  if (x === null) return 1;
  if (y === null) return -1;
  return (x < y ? -1 : 1) * (state.down ? -1 : 1);
}

function refilter() {
  state.rows = filtered().sort(compare);
  byId("found").textContent = `${count(state.rows.length)} of ${count(nodes.length)} nodes`;
  redraws.forEach((draw) => draw("rows"));
}

function choose(node, keep) {
  state.chosen = node;
  if (!keep) history.replaceState(null, "", node ? `#${encodeURIComponent(node.id)}` : "#");
  redraws.forEach((draw) => draw("chosen"));
}
