// Words about the map: what is known about a point, and a description for people who cannot see it.
import { byId, count, el, percent, shorten } from "./dom.js";
import { cardOf, clusters, n, noun, points, report, textOf } from "./data.js";
import { clusterColor } from "./colors.js";
import { thumbnail } from "./thumbnail.js";

/** What is known about a point. */
export function tooltip(i) {
  const card = cardOf.get(points.cluster[i]);
  const sure = [`${percent(points.confidence[i])} sure`];
  if (points.second) sure.push(`next: ${cardOf.get(points.second[i])?.name ?? "–"}`);
  return [
    points.images ? thumbnail(i, 96) : null,
    el("p", { dir: "auto" }, shorten(textOf(i), 320)),
    el("footer", {}, el("i", { class: "dot", style: { "--color": clusterColor(card.cluster) } }), el("b", {}, card.name), el("span", {}, sure.join(" · "))),
  ];
}

/** Describe the map for people who cannot see it. */
export function describeMap() {
  byId("stage").setAttribute("aria-label",
    `Map of ${count(n)} ${noun} in ${clusters.length} clusters, placed by ${report.layout}. Similar ${noun} are close together. ` +
    "Arrow keys move the map, plus and minus zoom, 0 shows all. The list beside it and the table below have the same content.");
}
