/* The forest as an icicle: width is what a routine covers, its parts stand below it, colour is success. */
const canvas = byId("icicle");
const LEVEL = 24;
let boxes = [];
let zoom = null;

function colourOf(node) {
  const style = getComputedStyle(document.documentElement);
  const name = { good: "--cell-good", bad: "--cell-bad", "": "--cell-even" }[verdict(node)];
  return `hsl(${style.getPropertyValue(name).trim().replaceAll(" ", ", ")})`;
}

function layOut(width) {
  const roots = (zoom ? [zoom] : state.rows).filter((node) => node.weight > 0);
  const total = roots.reduce((sum, node) => sum + node.weight, 0);
  const found = [];
  const place = (side, x, w, level, parent) => {
    const box = { node: side < 0 ? null : nodes[side], token: side < 0 ? data.tokens[-1 - side] : null, x, w, level, parent };
    found.push(box);
    if (side < 0 || w < 1) return;
    const node = nodes[side];
    const left = node.left < 0 ? 1 : nodes[node.left].length;
    place(node.left, x, w * left / node.length, level + 1, box);
    place(node.right, x + w * left / node.length, w * (node.length - left) / node.length, level + 1, box);
  };
  let x = 0;
  for (const node of [...roots].sort((a, b) => b.weight - a.weight)) {
    const w = width * node.weight / total;
    place(node.rank, x, w, 0, null);
    x += w;
  }
  return found;
}

function drawIcicle() {
  const width = canvas.clientWidth || 800;
  boxes = layOut(width);
  const levels = Math.min(9, 1 + boxes.reduce((most, box) => Math.max(most, box.level), 0));
  const height = LEVEL * levels;
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  document.documentElement.style.setProperty("--icicle", `${height}px`);
  const g = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const [paper, panel, ink, focus] = ["--paper", "--panel", "--ink", "--focus"].map((v) => style.getPropertyValue(v));
  g.scale(ratio, ratio);
  g.font = "11.5px ui-monospace, Menlo, Consolas, monospace";
  g.textBaseline = "middle";
  for (const box of boxes) {
    if (box.level >= levels) continue;
    g.fillStyle = box.node ? colourOf(box.node) : panel;
    const gap = box.w > 3 ? 1 : 0;
    g.fillRect(box.x, box.level * LEVEL, Math.max(0.5, box.w - gap), LEVEL - 1);
    if (box.w > 26) {
      g.save();
      g.beginPath();
      g.rect(box.x, box.level * LEVEL, box.w - 4, LEVEL);
      g.clip();
      g.fillStyle = box.node ? paper : ink;
      g.fillText(box.node ? `${box.node.id}  ${plainRoutine(box.node)}` : box.token, box.x + 5, box.level * LEVEL + LEVEL / 2);
      g.restore();
    }
    if (box.node && box.node === state.chosen) {
      g.strokeStyle = focus;
      g.lineWidth = 2;
      g.strokeRect(box.x + 1, box.level * LEVEL + 1, Math.max(2, box.w - 3), LEVEL - 3);
    }
  }
}

const boxAt = (event) => {
  const area = canvas.getBoundingClientRect();
  const level = Math.floor((event.clientY - area.top) / LEVEL);
  const x = event.clientX - area.left;
  return boxes.find((box) => box.level === level && x >= box.x && x < box.x + box.w);
};

function zoomTo(node) {
  zoom = node;
  drawIcicle();
}

function move(key) {
  const at = boxes.find((box) => box.node && box.node === state.chosen) || boxes[0];
  if (!at) return;
  const same = boxes.filter((box) => box.level === at.level && box.node);
  const next = {
    ArrowLeft: same[same.indexOf(at) - 1],
    ArrowRight: same[same.indexOf(at) + 1],
    ArrowUp: at.parent,
    ArrowDown: boxes.find((box) => box.parent === at && box.node),
  }[key];
  if (next) choose(next.node);
}

canvas.addEventListener("mousemove", (event) => {
  const box = boxAt(event);
  tip(box && (box.node ? `${box.node.id}  ${plainRoutine(box.node)} · ${percent(box.node.rate)} of ${count(box.node.n)}` : box.token), event);
});
canvas.addEventListener("mouseleave", () => tip(null));
canvas.addEventListener("click", (event) => { const box = boxAt(event); if (box && box.node) choose(box.node); });
canvas.addEventListener("dblclick", (event) => { const box = boxAt(event); zoomTo(box && box.node !== zoom ? box.node : null); });
canvas.addEventListener("keydown", (event) => {
  if (event.key.startsWith("Arrow")) { move(event.key); event.preventDefault(); }
  if (event.key === "Enter") zoomTo(state.chosen);
  if (event.key === "Escape") zoomTo(null);
});
addEventListener("resize", drawIcicle);
redraws.push(drawIcicle);
