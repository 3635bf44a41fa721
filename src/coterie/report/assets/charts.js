// Line charts: the training, and the scores of different numbers of clusters.
import { byId, decimal, el, fill } from "./dom.js";
import { report } from "./data.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [340, 170, 44, 26, 12, 14];
const NOT_TERMS = new Set(["stage", "epoch", "step", "seconds"]);

/** One line over x, or over log x, with a marked point and a dashed level. */
function chart({ title, xs, ys, xLabel, mark = null, level = null, note = "", logarithmic = false }) {
  const known = ys.map((y, i) => [xs[i], y]).filter(([, y]) => Number.isFinite(y));
  if (!known.length) return null;
  const values = [...known.map(([, y]) => y), ...(level === null ? [] : [level])];
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (high - low < 1e-9) [low, high] = [low - 0.5, high + 0.5];
  const pad = (high - low) * 0.08;
  const scaled = logarithmic ? Math.log : Number;
  const [first, last] = [scaled(Math.min(...xs)), scaled(Math.max(...xs))];
  const x = (value) => LEFT + ((scaled(value) - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (1 - (value - low + pad) / (high - low + 2 * pad)) * (HEIGHT - TOP - BOTTOM);
  const line = known.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const ticks = [low, (low + high) / 2, high];
  const marked = known.find(([a]) => a === mark);
  const svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: from ${decimal(known[0][1], 3)} to ${decimal(known.at(-1)[1], 3)}. ${note}` },
    ticks.map((value) => [el("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }), el("text", { class: "tick", x: LEFT - 6, y: y(value) + 3.5, "text-anchor": "end" }, tick(value, high - low))]),
    apart(xTicks(xs), x).map((value) => el("text", { class: "tick", x: x(value), y: HEIGHT - 9, "text-anchor": "middle" }, String(value))),
    level === null ? null : el("line", { class: "level", x1: LEFT, x2: WIDTH - RIGHT, y1: y(level), y2: y(level) }),
    el("path", { class: "line", d: line }),
    known.length < 40 ? known.map(([a, b]) => el("circle", { class: "point", cx: x(a), cy: y(b), r: 2.2 })) : null,
    marked ? el("circle", { class: "mark", cx: x(marked[0]), cy: y(marked[1]), r: 5 }) : null);
  return el("figure", { class: "chart" }, el("figcaption", {}, el("b", {}, title), el("span", {}, xLabel)), svg, note ? el("p", { class: "note" }, note) : null);
}

const tick = (value, span) => value.toFixed(span < 0.1 ? 3 : span < 1 ? 2 : span < 20 ? 1 : 0);

function xTicks(xs) {
  const step = Math.ceil(xs.length / 7);
  return xs.filter((_, i) => i % step === 0);
}

/** The values whose labels do not touch. */
function apart(values, x) {
  const kept = [];
  for (const value of values) if (!kept.length || x(value) - x(kept.at(-1)) >= 24) kept.push(value);
  return kept;
}

/** Show the guard's score and every loss term over the epochs. */
export function fillTraining() {
  const { training } = report;
  byId("training").hidden = !training;
  if (!training) return;
  const { history, kept, baseline } = training;
  const xs = history.map((record, i) => (history[0].stage === "init" ? i : i + 1));
  const names = [...new Set(history.flatMap((record) => Object.keys(record)))]
    .filter((name) => !NOT_TERMS.has(name) && history.some((record) => Number.isFinite(record[name])));
  const ordered = [...names.filter((name) => name === "guard"), ...names.filter((name) => name !== "guard")];
  const titles = { guard: "Score of the guard", loss: "Loss, the sum" };
  const ring = kept ? "Ring: the epoch that was kept. " : "";
  fill(byId("training-charts"), ordered.map((name) => chart({
    title: titles[name] ?? `Loss: ${name.replaceAll("_", " ")}`, xLabel: "by epoch", xs,
    ys: history.map((record) => record[name] ?? NaN),
    mark: name === "guard" ? kept : null, level: name === "guard" ? baseline : null,
    note: name === "guard" && baseline !== null ? `${ring}Dashes: without training (${decimal(baseline, 3)}).` : "",
  })));
}

/** Show the scores of different numbers of clusters. */
export function fillCurve() {
  const { curve } = report;
  byId("curve").hidden = !curve;
  if (!curve) return;
  fill(byId("curve-charts"), Object.entries(curve.scores).map(([title, ys]) =>
    chart({ title, xLabel: "by number of clusters", xs: curve.n_clusters, ys, mark: curve.chosen, logarithmic: true })));
  fill(byId("curve-remarks"), curve.remarks.map((remark) => el("li", {}, remark)));
}
