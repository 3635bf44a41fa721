// The table of texts: sort by a column, filter by what is selected, export as CSV.
import { byId, count, decimal, downloadCsv, el, fill, percent } from "./dom.js";
import { cellOf, clusters, n, nameOf, noun, points, report, textOf } from "./data.js";
import { clusterColor } from "./colors.js";
import { dot } from "./panel.js";
import { activePoints, getFilters, isFiltered, selectClusters, setDoubtful } from "./state.js";
import { thumbnail } from "./thumbnail.js";

const PAGE = 50;
const SHORT = 16; // characters of a value, e.g. a date, that is not broken into lines
const LONG = 500; // characters of a text that is folded
const order = { column: "row", ascending: true };
let page = 0;
let rows = [];

const columns = [
  { id: "row", label: "Row", number: true, value: (i) => points.rows[i] },
  { id: "text", label: noun === "images" ? "Image" : "Text", wide: true, value: textOf, hidden: !points.texts && !points.images },
  { id: "cluster", label: "Cluster", value: (i) => nameOf(points.cluster[i]) },
  { id: "confidence", label: "Confidence", number: true, value: (i) => points.confidence[i] },
  { id: "second", label: "Second best", value: (i) => nameOf(points.second[i]), hidden: !points.second },
  { id: "margin", label: "Margin", number: true, value: (i) => points.margin[i], hidden: !points.margin },
  ...points.columns.map((column, at) => ({ id: `column:${at}`, label: column.name, number: Boolean(column.numbers), value: (i) => cellOf(column, i) })),
].filter((column) => !column.hidden);

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function sorted(list) {
  const { value, number } = columns.find((column) => column.id === order.column);
  const sign = order.ascending ? 1 : -1;
  const keys = new Map(list.map((i) => [i, value(i)]));
  const compare = number ? (a, b) => (a === "" ? -Infinity : a) - (b === "" ? -Infinity : b) || 0 : (a, b) => collator.compare(a, b);
  return list.sort((a, b) => sign * compare(keys.get(a), keys.get(b)) || a - b);
}

/** Sort by a column; again: the other way round. */
function sortBy(id) {
  if (order.column === id) order.ascending = !order.ascending;
  else Object.assign(order, { column: id, ascending: id !== "confidence" && id !== "margin" });
  fillTable();
}

/** Show the first page of the selected texts. */
export function fillTable() {
  page = 0;
  rows = sorted(activePoints());
  for (const header of byId("table-head").querySelectorAll("th")) {
    const sorting = order.ascending ? "ascending" : "descending";
    header.setAttribute("aria-sort", header.dataset.column === order.column ? sorting : "none");
  }
  fillPage();
}

function fillPage() {
  const start = page * PAGE;
  const shown = rows.slice(start, start + PAGE);
  fill(byId("table-body"), shown.length ? shown.map(tableRow) : el("tr", {}, el("td", { colspan: columns.length, class: "nothing" }, `No ${noun} pass these filters.`)));
  byId("table-count").textContent = isFiltered() ? `${count(rows.length)} of ${count(n)} ${noun}` : `${count(n)} ${noun}`;
  byId("page").textContent = rows.length ? `${count(start + 1)}–${count(start + shown.length)} of ${count(rows.length)}` : "";
  byId("previous").disabled = page === 0;
  byId("next").disabled = start + PAGE >= rows.length;
}

function tableRow(i) {
  return el("tr", {}, columns.map((column) => {
    if (column.id === "cluster") return el("td", { class: "cluster" }, dot(clusterColor(points.cluster[i])), nameOf(points.cluster[i]));
    if (column.id === "confidence") return el("td", { class: "number" }, el("span", { class: "meter", "aria-hidden": "true" }, el("i", { style: { width: percent(points.confidence[i]).replace(" ", "") } })), decimal(points.confidence[i]));
    if (column.id === "margin") return el("td", { class: "number" }, decimal(points.margin[i]));
    if (column.id === "text" && points.images) return el("td", { class: "wide" }, thumbnail(i, 40), points.texts ? ` ${points.texts[i]}` : null);
    const text = String(column.value(i));
    if (column.wide && text.length > LONG) return el("td", { class: "wide" }, foldedText(text));
    return el("td", { class: column.number ? "number" : column.wide ? "wide" : text.length <= SHORT ? "short" : null, dir: "auto" }, text);
  }));
}

/** A long text of which some lines are shown; a click shows all of it. */
function foldedText(text) {
  const button = el("button", { type: "button", class: "folded", dir: "auto", title: "Show all, or some lines", "aria-expanded": "false" }, text);
  button.onclick = () => button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true"));
  return button;
}

/** Save what the table shows, in its order, and return it. */
export function exportCsv() {
  const extra = points.second ? ["second_cluster", "margin"] : [];
  const header = ["row", ...(points.texts ? ["text"] : []), "cluster", "cluster_name", "confidence", ...extra, ...points.columns.map((column) => column.name)];
  const rounded = (value) => +value.toFixed(4);
  const lines = rows.map((i) => [points.rows[i], ...(points.texts ? [points.texts[i]] : []), points.cluster[i], nameOf(points.cluster[i]), rounded(points.confidence[i]),
    ...(points.second ? [points.second[i], rounded(points.margin[i])] : []), ...points.columns.map((column) => cellOf(column, i))]);
  return downloadCsv(`${report.title.replace(/[^\w-]+/g, "-")}-selection.csv`, header, lines);
}

/** Make the header of the table, and connect the buttons and filters above it. */
export function connectTable() {
  fill(byId("table-head"), el("tr", {}, columns.map((column) => el("th", { scope: "col", class: column.number ? "number" : null, "data-column": column.id },
    el("button", { type: "button", onclick: () => sortBy(column.id) }, column.label, el("span", { class: "arrow", "aria-hidden": "true" }))))));
  const turn = (step) => () => {
    page += step;
    fillPage();
  };
  byId("previous").onclick = turn(-1);
  byId("next").onclick = turn(1);
  byId("export").onclick = exportCsv;
  const select = byId("only-cluster");
  fill(select, el("option", { value: "" }, "All clusters"), clusters.map((card) => el("option", { value: card.cluster }, `${card.name} (${count(card.size)})`)));
  select.onchange = () => selectClusters(select.value === "" ? [] : [+select.value]);
  byId("only-doubtful").onchange = (event) => setDoubtful(event.target.checked);
}

/** Show in the controls what is selected elsewhere. */
export function syncTable() {
  const { clusters: chosen, doubtful } = getFilters();
  byId("only-cluster").value = chosen.size === 1 ? [...chosen][0] : "";
  byId("only-doubtful").checked = doubtful;
  fillTable();
}
