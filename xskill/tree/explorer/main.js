/* Wires the page together. */
function tip(content, event) {
  const box = byId("tip");
  box.hidden = !content;
  if (!content) return;
  box.textContent = content;
  box.style.left = `${Math.min(event.clientX + 14, innerWidth - 480)}px`;
  box.style.top = `${event.clientY + 16}px`;
}

function showTab(name) {
  for (const tab of ["routines", "episodes"]) {
    byId(tab).hidden = tab !== name;
    byId(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
  }
  document.body.classList.toggle("reading", name === "episodes");
  if (name === "routines") { drawIcicle(); drawRows(); } else drawStreams();
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  drawIcicle();
}

function fromHash() {
  const id = decodeURIComponent(location.hash.slice(1));
  const node = nodes.find((other) => other.id === id);
  if (node) { choose(node, true); bringIntoSight(node); }
}

byId("title").textContent = data.title;
byId("facts").textContent = data.facts;
byId("type").append(el("option", { value: "" }, "any"), ...data.types.map((type) => el("option", { value: text(type) }, text(type))));
for (const id of ["search", "type", "success", "q", "depth", "roots"]) byId(id).addEventListener("input", refilter);
byId("reset").addEventListener("click", () => {
  byId("search").value = "";
  byId("type").value = "";
  byId("success").value = "0";
  byId("q").value = "";
  byId("depth").value = "1";
  byId("roots").checked = true;
  refilter();
});
byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
for (const tab of ["routines", "episodes"]) byId(`tab-${tab}`).addEventListener("click", () => showTab(tab));
if (!data.episodes.length) byId("tab-episodes").hidden = true;
addEventListener("keydown", (event) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement.tagName);
  if (event.key === "Escape" && typing) document.activeElement.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { byId("search").focus(); event.preventDefault(); }
  if (event.key === "d") byId("theme").click();
  if (event.key === "1") showTab("routines");
  if (event.key === "2" && data.episodes.length) showTab("episodes");
});
addEventListener("hashchange", fromHash);
const measure = () => document.documentElement.style.setProperty("--top", `${document.querySelector("header").offsetHeight}px`);
addEventListener("resize", measure);
measure();
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
drawHead();
setMerges(nodes.length);
refilter();
drawCard();
fromHash();
