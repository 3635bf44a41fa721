// The panel beside the map: the list of clusters or values, and the selected texts.
import { byId, count, el, fill, percent, shorten } from "./dom.js";
import { clusters, n, nameOf, noun, points, textOf } from "./data.js";
import { clusterColor, colorings, columnOf, rampStops } from "./colors.js";
import { activeCount, activePoints, clearFilters, describeFilters, getFilters, isFiltered, toggleCluster, toggleValue } from "./state.js";
import { thumbnail } from "./thumbnail.js";

const SHOWN = 60; // selected texts in the panel; the table has all

/** Fill the choice of colors. */
export function fillColorings(onChoose) {
  const select = byId("color-by");
  fill(select, colorings.map(({ id, label }) => el("option", { value: id }, label)));
  select.addEventListener("change", () => onChoose(select.value));
}

/** Show the legend of a coloring: clusters, values of a column, or a ramp. */
export function fillLegend(coloringId, legend, map) {
  const list = byId("legend");
  byId("ramp").replaceChildren();
  if (legend?.kind === "values") return fillValues(list, coloringId, legend.items);
  if (legend?.kind === "ramp") byId("ramp").append(ramp(legend));
  const largest = Math.max(...clusters.map((card) => card.size), 1);
  return fill(list, clusters.map((card) => {
    const button = el("button", {
      type: "button", class: "row", "data-cluster": card.cluster, title: card.keywords.join(", "),
      onclick: (event) => toggleCluster(card.cluster, event.shiftKey || event.ctrlKey || event.metaKey),
      onmouseenter: () => map.highlightCluster(card.cluster), onmouseleave: () => map.highlightCluster(null),
    },
    dot(clusterColor(card.cluster)), el("span", { class: "name" }, card.name), el("span", { class: "size" }, count(card.size)),
    el("span", { class: "bar", style: { "--share": card.size / largest, "--color": clusterColor(card.cluster) } }));
    return el("li", {}, button);
  }));
}

function fillValues(list, coloringId, items) {
  const column = points.columns.indexOf(columnOf(coloringId));
  const largest = Math.max(...items.map((item) => item.size), 1);
  fill(list, items.map((item) => el("li", {}, el("button", {
    type: "button", class: "row", "data-column": column, "data-code": item.code,
    onclick: () => toggleValue(column, item.code),
  },
  dot(item.color), el("span", { class: "name" }, item.value), el("span", { class: "size" }, count(item.size)),
  el("span", { class: "bar", style: { "--share": item.size / largest, "--color": item.color } })))));
}

/** Mark what is selected. The buttons stay, so that the one with the focus keeps it. */
export function markLegend() {
  const { clusters: chosen, value } = getFilters();
  for (const button of byId("legend").querySelectorAll("button")) {
    const { cluster, column, code } = button.dataset;
    const pressed = cluster === undefined ? value?.column === +column && value?.code === +code : chosen.has(+cluster);
    button.setAttribute("aria-pressed", String(pressed));
  }
}

function ramp({ low, high }) {
  return el("div", { class: "ramp" }, el("span", {}, low), el("i", { style: { background: `linear-gradient(90deg, ${rampStops().join(", ")})` } }), el("span", {}, high));
}

export const dot = (color) => el("i", { class: "dot", style: { "--color": color } });

/** Show what is selected: chips of the filters, and the first of the texts. */
export function fillSelection(map) {
  const filtered = isFiltered();
  for (const place of document.querySelectorAll(".chips")) fill(place, filtered ? chips() : []);
  byId("selection").hidden = !filtered;
  if (!filtered) return;
  const list = activePoints().sort((a, b) => points.confidence[b] - points.confidence[a]);
  byId("selection-title").textContent = `${count(activeCount)} of ${count(n)} ${noun}`;
  byId("zoom-selection").onclick = () => map.show(list);
  const more = list.length > SHOWN ? el("li", { class: "more" }, el("a", { href: "#table" }, `and ${count(list.length - SHOWN)} more in the table`)) : null;
  fill(byId("selected"), list.slice(0, SHOWN).map(selectedItem), more);
}

function selectedItem(i) {
  return el("li", { title: `${nameOf(points.cluster[i])}, ${percent(points.confidence[i])} sure` },
    dot(clusterColor(points.cluster[i])), points.images ? thumbnail(i, 36) : null, el("span", { dir: "auto" }, shorten(textOf(i), 160)));
}

function chips() {
  const made = describeFilters().map(({ label, cluster, remove }) => el("button", { type: "button", class: "chip", onclick: remove, "aria-label": `Remove the filter ${label}` },
    cluster === undefined ? null : dot(clusterColor(cluster)), el("span", {}, shorten(label, 40)), el("span", { class: "x", "aria-hidden": "true" }, "×")));
  return [...made, el("button", { type: "button", class: "link", onclick: clearFilters }, "Clear")];
}
