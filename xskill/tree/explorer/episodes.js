/* Episodes as streams of tiles, failures beside successes; the slider replays the merges. */
const slider = byId("merges");
const blocks = new Map();
const inSight = new Set();
let timer = null;

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const index = Number(entry.target.dataset.index);
    if (entry.isIntersecting) { inSight.add(index); drawStream(index); } else inSight.delete(index);
  }
}, { rootMargin: "300px" });

function chip(piece) {
  const chosen = piece.node && piece.node === state.chosen ? " chosen" : "";
  if (!piece.node) return el("span", { class: "chip" }, piece.token);
  const made = el("button", { type: "button", class: `chip${chosen}`, "data-id": piece.node.id, onclick: () => choose(piece.node) }, `${piece.node.id} ·${piece.length}`);
  made.style.setProperty("--hue", String((piece.node.rank * 137.5) % 360));
  made.title = plainRoutine(piece.node);
  return made;
}

function drawStream(index) {
  const block = blocks.get(index);
  const key = `${state.k} ${state.chosen ? state.chosen.rank : ""}`;
  if (!block || block.drawn === key) return;
  block.drawn = key;
  const found = pieces(data.episodes[index], state.k);
  block.tiles.textContent = `${plural(data.episodes[index].shown, "step")}, ${plural(found.length, "tile")}`;
  block.chips.replaceChildren(...found.map(chip));
}

function drawStreams() {
  watcher.disconnect();
  blocks.clear();
  inSight.clear();
  const type = byId("type").value;
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (episode) => (type === "" || text(episode.type) === type)
    && words.every((word) => episode.words.includes(word));
  const columns = [["✓ Successes", true], ["✗ Failures", false], ["? Unknown", null]].map(([title, success]) => {
    const all = data.episodes.filter((episode) => episode.success === success);
    if (!all.length) return null;
    const here = all.filter(fits);
    return el("div", {}, el("h2", {}, `${title} (${count(here.length)})`), ...here.map((episode) => {
      const tiles = el("span", { class: "soft" });
      const chips = el("div", { class: "chips" });
      const head = el("header", {}, outcomeMark(episode), " ", el("b", {}, episode.id), " ", tiles, " ", text(episode.task));
      const block = el("div", { class: "episode", "data-index": episode.index }, head, chips);
      if (episode.hidden) block.append(el("p", { class: "soft" }, `… ${count(episode.hidden)} more steps are not in this file`));
      blocks.set(episode.index, { block, tiles, chips, drawn: "" });
      watcher.observe(block);
      return block;
    }));
  });
  byId("streams").replaceChildren(...columns.filter(Boolean));
}

function setMerges(k) {
  state.k = Math.max(0, Math.min(nodes.length, k));
  slider.value = String(state.k);
  const symbols = steps - mergesAt[state.k];
  byId("merged").textContent = `${plural(state.k, "merge")}: ${plural(steps, "step")}, ${plural(symbols, "tile")}, ${factor(symbols ? steps / symbols : null)} shorter`;
  const node = nodes[state.k - 1];
  const here = node ? mergesAt[state.k] - mergesAt[state.k - 1] : 0;
  byId("merge").replaceChildren(...(node ? [el("span", { class: "soft" }, `last merge, ${plural(here, "time")} here: `), linkTo(node)] : []));
  inSight.forEach(drawStream);
}

function play() {
  clearInterval(timer);
  timer = timer === null ? setInterval(() => {
    if (state.k >= nodes.length) { play(); return; }
    setMerges(state.k + Math.max(1, Math.round(nodes.length / 120)));
  }, 90) : null;
  byId("play").textContent = timer === null ? "▶" : "❚❚";
}

function openEpisode(index) {
  showTab("episodes");
  let block = blocks.get(index);
  if (!block) { byId("type").value = ""; byId("search").value = ""; refilter(); block = blocks.get(index); }
  document.querySelectorAll(".episode.target").forEach((other) => other.classList.remove("target"));
  block.block.classList.add("target");
  block.block.scrollIntoView({ block: "center" });
}

data.episodes.forEach((episode) => {
  episode.words = [episode.id, text(episode.task), text(episode.type), ...new Set(episode.tiles.map((t) => (t < 0 ? data.tokens[-1 - t] : nodes[t].id)))].join(" ").toLowerCase();
});
slider.max = String(nodes.length);
slider.addEventListener("input", () => setMerges(Number(slider.value)));
byId("play").addEventListener("click", () => { if (timer === null && state.k >= nodes.length) setMerges(0); play(); });
redraws.push((what) => {
  if (what === "rows" && !byId("episodes").hidden) drawStreams();
  if (what === "chosen") inSight.forEach(drawStream);
});
