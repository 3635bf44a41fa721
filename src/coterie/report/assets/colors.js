// Colors of points by cluster, by confidence or by a column, in light and dark.
import { byId, decimal } from "./dom.js";
import { cardOf, clusters, n, points, report } from "./data.js";

const PALETTE = report.palette;
const RAMP = { light: ["#c9dcf2", "#7fb0d9", "#3d7fb8", "#1f4e86", "#0f2a54"], dark: ["#23364f", "#2f5f8f", "#4f93c4", "#8cc3e2", "#e0f1fb"] };
const OTHER = { light: "#a9b0ba", dark: "#6d7683" };

export const isDark = () => document.documentElement.dataset.theme === "dark";
export const cssVariable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function rgb(hex) {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

const toHex = (channels) => `#${channels.map((v) => Math.round(v).toString(16).padStart(2, "0")).join("")}`;
const mix = (a, b, t) => rgb(a).map((v, i) => v + (rgb(b)[i] - v) * t);

/** A color of the palette; lighter on a dark page. */
export function paletteColor(index) {
  const color = PALETTE[index % PALETTE.length];
  return isDark() ? toHex(mix(color, "#ffffff", 0.28)) : color;
}

export const clusterColor = (cluster) => paletteColor(cardOf.get(cluster)?.color ?? 0);

/** A color of the ramp from light to strong, for t from 0 to 1. */
export function rampColor(t) {
  const ramp = RAMP[isDark() ? "dark" : "light"];
  const position = Math.max(0, Math.min(1, t)) * (ramp.length - 1);
  const i = Math.min(Math.floor(position), ramp.length - 2);
  return toHex(mix(ramp[i], ramp[i + 1], position - i));
}

export const rampStops = () => RAMP[isDark() ? "dark" : "light"];

/** What the map can be colored by: {id, label}. */
export const colorings = [
  { id: "cluster", label: "Cluster" },
  { id: "confidence", label: "Confidence" },
  ...points.columns.map((column, i) => ({ id: `column:${i}`, label: column.name })),
];

export const columnOf = (id) => (id.startsWith("column:") ? points.columns[+id.slice(7)] : null);

/** Return {colors: one hex color for each point, legend: what they mean} for a coloring. */
export function coloring(id) {
  if (id === "cluster") {
    const colors = new Map(clusters.map((card) => [card.cluster, clusterColor(card.cluster)]));
    return { colors: Array.from({ length: n }, (_, i) => colors.get(points.cluster[i])), legend: null };
  }
  const column = columnOf(id);
  return column?.codes ? byValue(column) : byNumber(column ? column.numbers : points.confidence, id);
}

function byValue(column) {
  const shown = PALETTE.length - 1;
  const other = OTHER[isDark() ? "dark" : "light"];
  const colorOf = (code) => (code < 0 || code >= shown ? other : paletteColor(code));
  const counts = new Array(column.values.length).fill(0);
  for (const code of column.codes) if (code >= 0) counts[code] += 1;
  return {
    colors: Array.from(column.codes, colorOf),
    legend: { kind: "values", items: column.values.map((value, code) => ({ value, code, color: colorOf(code), size: counts[code] })) },
  };
}

function byNumber(numbers, id) {
  const known = Array.from(numbers).filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  const at = (share) => known[Math.floor(share * (known.length - 1))];
  const [low, high] = id === "confidence" ? [0, 1] : [at(0.02), at(0.98)];
  const span = high - low || 1;
  const steps = Array.from({ length: 64 }, (_, i) => rampColor(i / 63));
  const other = OTHER[isDark() ? "dark" : "light"];
  return {
    colors: Array.from(numbers, (v) => (Number.isNaN(v) ? other : steps[Math.max(0, Math.min(63, Math.round(((v - low) / span) * 63)))])),
    legend: { kind: "ramp", low: decimal(low, span < 10 ? 2 : 0), high: decimal(high, span < 10 ? 2 : 0) },
  };
}

/** Switch between light and dark; without an argument follow the system. */
export function setTheme(theme) {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = theme ?? system;
  const button = byId("theme");
  if (button) button.setAttribute("aria-pressed", String(isDark()));
}
