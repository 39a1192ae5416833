/* The embedded data, with what follows from it: depth, length, expansion, parents, occurrences. */
const data = JSON.parse(document.getElementById("data").textContent);
const text = (index) => (index < 0 ? "" : data.texts[index]);

const nodes = data.nodes.map((row, rank) => {
  const node = { rank };
  data.fields.forEach((name, i) => { node[name] = row[i]; });
  return node;
});
for (const node of nodes) {
  const sides = [node.left, node.right];
  node.depth = 1 + Math.max(...sides.map((side) => (side < 0 ? 0 : nodes[side].depth)));
  node.tokens = sides.flatMap((side) => (side < 0 ? [data.tokens[-1 - side]] : nodes[side].tokens));
  node.length = node.tokens.length;
  node.children = [...new Set(sides.filter((side) => side >= 0))].map((side) => nodes[side]);
  node.parents = [];
  node.children.forEach((child) => child.parents.push(node));
  node.types = node.types.map(text);
  node.words = [node.id, ...node.tokens, ...node.types, ...node.slots.flatMap((slot) => slot[3].map((v) => text(v[0])))]
    .join(" ").toLowerCase();
}

/* One link a token, a run of equal ones as one: "connect<device> ×6". */
function links(tokens) {
  const found = [];
  for (const token of tokens) {
    const last = found[found.length - 1];
    if (last && last.token === token) last.times += 1;
    else found.push({ token, times: 1 });
  }
  return found;
}

/* The pieces of an episode after the first k merges: a later node falls apart into its children. */
function pieces(episode, k) {
  const found = [];
  const add = (side, start) => {
    if (side < 0) { found.push({ token: data.tokens[-1 - side], start, length: 1 }); return; }
    const node = nodes[side];
    if (node.rank < k) { found.push({ node, start, length: node.length }); return; }
    add(node.left, start);
    add(node.right, start + (node.left < 0 ? 1 : nodes[node.left].length));
  };
  let start = 0;
  for (const tile of episode.tiles) {
    if (tile < 0) found.push({ token: data.tokens[-1 - tile], start, length: 1 });
    else add(tile, start);
    start += tile < 0 ? 1 : nodes[tile].length;
  }
  return found;
}

/* Every occurrence of every node in the tiles, nested ones too; and merges by rank for the counter. */
const occurrences = nodes.map(() => []);
const mergesAt = new Uint32Array(nodes.length + 1);
data.episodes.forEach((episode, index) => {
  episode.index = index;
  const visit = (side, start) => {
    if (side < 0) return;
    const node = nodes[side];
    occurrences[side].push([index, start]);
    mergesAt[side + 1] += 1;
    visit(node.left, start);
    visit(node.right, start + (node.left < 0 ? 1 : nodes[node.left].length));
  };
  let start = 0;
  for (const tile of episode.tiles) {
    visit(tile, start);
    start += tile < 0 ? 1 : nodes[tile].length;
  }
});
for (let k = 1; k <= nodes.length; k += 1) mergesAt[k] += mergesAt[k - 1];
const steps = data.episodes.reduce((sum, episode) => sum + episode.shown, 0);
