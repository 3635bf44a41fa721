// The data of the report: JSON in the page, with arrays of numbers in base64.
import { byId, visible } from "./dom.js";

const TYPES = { u8: Uint8Array, u16: Uint16Array, i32: Int32Array, f64: Float64Array };

function decode(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (char) => char.charCodeAt(0));
  return new TYPES[packed.type](bytes.buffer);
}

/** Return the report with its arrays decoded. */
function readReport() {
  const report = JSON.parse(byId("data").textContent);
  const points = report.points;
  for (const name of ["rows", "x", "y", "cluster", "confidence", "second", "margin"]) {
    if (points[name]) points[name] = decode(points[name]);
  }
  points.confidence = Float32Array.from(points.confidence, (value) => value / 10000);
  if (points.margin) points.margin = Float32Array.from(points.margin, (value) => value / 10000);
  points.x = Float32Array.from(points.x, (value) => value / 65535);
  points.y = Float32Array.from(points.y, (value) => value / 65535);
  if (points.texts) points.texts = points.texts.map(visible);
  for (const column of points.columns) {
    if (column.numbers) column.numbers = decode(column.numbers);
    else column.codes = decode(column.codes);
    column.values = column.values.map(visible);
  }
  return report;
}

export const report = readReport();
export const points = report.points;
export const clusters = report.clusters;
export const n = points.rows.length;
export const noun = report.noun;
/** Cards by cluster number. */
export const cardOf = new Map(clusters.map((card) => [card.cluster, card]));

/** What a reader sees of point i: its text, or the number of its row. */
export const textOf = (i) => (points.texts ? points.texts[i] : `Row ${points.rows[i]}`);
export const nameOf = (cluster) => cardOf.get(cluster)?.name ?? `Cluster ${cluster}`;

/** The value of a column for point i, for people. */
export function cellOf(column, i) {
  if (column.numbers) return Number.isNaN(column.numbers[i]) ? "" : column.numbers[i];
  return column.codes[i] < 0 ? "" : column.values[column.codes[i]];
}
