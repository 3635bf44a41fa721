// What is written on the map: names of clusters, and example texts when it is zoomed in.
import { shorten } from "./dom.js";
import { clusters, points, textOf } from "./data.js";
import { cssVariable } from "./colors.js";
import { getFilters, isFiltered } from "./state.js";

const MAX_TEXTS = 34;

/** Write the names of clusters, the selected and the large ones first. */
export function drawNames(map, layer) {
  const ink = cssVariable("--ink");
  const style = { key: `name ${ink}`, size: map.width < 520 ? 11.5 : 13, weight: 650, halo: 4, color: ink, lines: map.width < 520 ? 14 : 22 };
  const shown = getFilters().clusters;
  const mask = map.mask();
  const centers = map.zoom > 1.6 ? visibleCenters(map) : map.centers;
  map.nameBoxes = [];
  const order = [...clusters].sort((a, b) => shown.has(b.cluster) - shown.has(a.cluster));
  for (const card of order) {
    const at = centers.get(card.cluster);
    if (!at) continue;
    const [x, y] = map.toScreen(at.x, at.y);
    const faint = (isFiltered() || map.highlighted !== null) && !mask[at.i];
    const box = layer.place(shorten(card.name, 44), x, y, style, { faint, clear: map.heights.get(card.cluster) * map.view.scale });
    if (box) map.nameBoxes.push({ ...box, cluster: card.cluster });
  }
}

/** The middle of the visible points of each cluster: names stay on the map when it is zoomed in. */
function visibleCenters(map) {
  const sums = new Map();
  map.eachVisible((i) => {
    const sum = sums.get(points.cluster[i]) ?? { x: 0, y: 0, count: 0, i };
    sum.x += points.x[i];
    sum.y += points.y[i];
    sum.count += 1;
    sums.set(points.cluster[i], sum);
  });
  return new Map([...sums].filter(([, s]) => s.count > 2).map(([k, s]) => {
    const fixed = map.centers.get(k);
    const [x, y] = map.toScreen(fixed.x, fixed.y);
    const inside = x > 40 && y > 12 && x < map.width - 40 && y < map.height - 12;
    return [k, inside ? fixed : { x: s.x / s.count, y: s.y / s.count, i: s.i }];
  }));
}

/** Example texts beside their points. The order of points is fixed, so that texts do not flicker. */
export function drawTexts(map, layer) {
  const muted = cssVariable("--ink-2");
  const style = { key: `text ${muted}`, size: 11.5, weight: 450, halo: 3, color: muted };
  const mask = map.mask();
  let placed = 0;
  let tried = 0;
  for (const i of map.priority) {
    if (placed >= MAX_TEXTS || tried > 300) break;
    if (!mask[i]) continue;
    const [x, y] = map.toScreen(points.x[i], points.y[i]);
    if (x < 0 || y < 0 || x > map.width || y > map.height) continue;
    tried += 1;
    if (layer.place(shorten(textOf(i), 42), x, y, style, { beside: true })) placed += 1;
  }
}
