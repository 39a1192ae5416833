/* Everything about the chosen node. */
const MOST_EXAMPLES = 3;
const AROUND = 2;

function stepList(node) {
  const list = el("ol");
  const told = new Set();
  node.tokens.forEach((name, step) => {
    const item = el("li", { class: "mono" }, ...token(name));
    const here = node.slots.filter((slot) => slot[0] === step);
    if (here.length) item.append(el("b", {}, `(${here.map((slot) => (slot[2] ? `?${text(slot[1])}` : text(slot[1]))).join(", ")})`));
    for (const slot of here) {
      if (!slot[2] || told.has(slot[1]) || !slot[3].length) continue;
      told.add(slot[1]);
      const values = slot[3].map(([value, n]) => `${text(value)} ${count(n)}`).join(", ");
      item.append(el("div", { class: "soft" }, `?${text(slot[1])}: ${values}`));
    }
    list.append(item);
  });
  return list;
}

function numbers(node) {
  const rows = [
    ["covers", node.share === null ? null : `${share(node.share)} of the steps`],
    [data.tiled ? "episodes" : "occurrences", count(node.n)],
    ["success", node.rate === null ? null : `${percent(node.rate)}, 95% interval ${percent(node.low)} to ${percent(node.high)}`],
    ["all episodes", node.rate === null || data.base === null ? null : percent(data.base)],
    ["lift", node.lift === null ? null : factor(node.lift)],
    ["p", node.p === null ? null : small(node.p)],
    ["q", node.q === null ? null : small(node.q)],
    ["count", count(node.count)],
    ["tiles", node.tiles === null ? null : `${count(node.tiles)}, ${count(node.tiles_success)} in successes`],
    ["depth, length", `${node.depth}, ${node.length}`],
    ["task types", node.types.length ? node.types.map((type) => type || "(none)").join(", ") : null],
  ];
  return el("dl", {}, ...rows.filter((row) => row[1] !== null).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

const linkTo = (node) => el("button", { class: "link mono", type: "button", onclick: () => choose(node) }, el("b", {}, node.id), " ", routine(node.tokens));

function example([index, start], node) {
  const episode = data.episodes[index];
  const list = el("ol", { start: Math.max(0, start - AROUND) + 1 });
  for (let i = Math.max(0, start - AROUND); i < Math.min(episode.shown, start + node.length + AROUND); i += 1) {
    const inside = i >= start && i < start + node.length;
    const seen = text(episode.seen[i] ?? -1);
    list.append(el("li", { class: inside ? "in" : "soft" }, el("code", {}, text(episode.raw[i])), seen ? el("div", { class: "seen" }, seen) : null));
  }
  const mark = outcomeMark(episode);
  const open = el("button", { type: "button", class: "link soft", onclick: () => openEpisode(index) }, "open the episode");
  return el("div", { class: "example" }, el("header", {}, mark, ` ${episode.id} `, el("span", { class: "soft" }, text(episode.task))), list, open);
}

function outcomeMark(episode) {
  const [sign, name] = episode.success === null ? ["?", "soft"] : episode.success ? ["✓", "good"] : ["✗", "bad"];
  return el("b", { class: name }, sign);
}

function examples(node) {
  const found = occurrences[node.rank];
  const first = (success) => {
    const seen = new Set();
    return found.filter(([i]) => data.episodes[i].success === success && !seen.has(i) && seen.add(i)).slice(0, MOST_EXAMPLES);
  };
  return [...first(true), ...first(false), ...first(null)].slice(0, 2 * MOST_EXAMPLES);
}

function drawCard() {
  const node = state.chosen;
  const card = byId("card");
  if (!node) {
    card.replaceChildren(el("p", { class: "soft" }, "Choose a routine. Keys: / search, arrows move, Enter zooms, Escape returns, d dark, 1 and 2 switch."));
    return;
  }
  const parts = [el("h2", { class: "mono" }, node.id), el("p", { class: "mono" }, routine(node.tokens))];
  if (node.rate !== null) parts.push(bar(node, 360));
  const section = (title, ...content) => { if (content.length) parts.push(el("h3", {}, title), ...content); };
  section("Steps", stepList(node));
  section("Numbers", numbers(node));
  const found = examples(node);
  if (found.length) section(`Examples: ${count(occurrences[node.rank].length)} here`, ...found.map((one) => example(one, node)));
  else if (node.example.length) section("Example", el("ol", {}, ...node.example.map((action) => el("li", { class: "mono" }, text(action)))));
  section("Made of", ...node.children.map(linkTo));
  section("Part of", ...node.parents.slice(0, 12).map(linkTo));
  card.replaceChildren(...parts);
  card.scrollTop = 0;
}
redraws.push((what) => { if (what === "chosen") drawCard(); });
