// Places on the map: the middle and the spread of points, and what a path encloses.
import { clusters, n, points } from "./data.js";

/** The middle of a cluster: the point nearest to its median. */
export function center(cluster) {
  const members = [];
  for (let i = 0; i < n; i++) if (points.cluster[i] === cluster) members.push(i);
  if (!members.length) return undefined;
  const x = extent(members.map((i) => points.x[i]), 0.5).middle;
  const y = extent(members.map((i) => points.y[i]), 0.5).middle;
  const i = members.reduce((a, b) => ((points.x[a] - x) ** 2 + (points.y[a] - y) ** 2 <= (points.x[b] - x) ** 2 + (points.y[b] - y) ** 2 ? a : b));
  return { x: points.x[i], y: points.y[i], i };
}

/** How high a cluster is without its strays. */
export function clusterHeight(cluster) {
  return extent(points.y.filter((_, i) => points.cluster[i] === cluster), 0.1).size || 0;
}

/** The range of values without the share ``cut`` at each end. */
export function extent(values, cut = 0) {
  const sorted = Float32Array.from(values).sort();
  const low = sorted[Math.floor(cut * (sorted.length - 1))];
  const high = sorted[Math.ceil((1 - cut) * (sorted.length - 1))];
  return { size: high - low, middle: (low + high) / 2 };
}

/** Typical texts first, then the others in an order that looks random and is always the same. */
export function priorities() {
  const typical = clusters.flatMap((card) => card.typical);
  const rest = Array.from({ length: n }, (_, i) => i).sort((a, b) => ((a * 7919) % 20011) - ((b * 7919) % 20011));
  return [...new Set([...typical, ...rest])];
}

/** Whether a position lies inside a closed path. */
export function inside(path, x, y) {
  let odd = false;
  for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
    const [ax, ay] = path[i];
    const [bx, by] = path[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}
