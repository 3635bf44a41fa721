// The tree of clusters: fold and unfold groups, and select what is below them.
import { byId, count, el, fill } from "./dom.js";
import { report } from "./data.js";
import { clusterColor } from "./colors.js";
import { dot } from "./panel.js";
import { selectClusters } from "./state.js";

function leaves(node) {
  return node.children.length ? node.children.flatMap(leaves) : [node.cluster];
}

function branch(node, depth, goToMap) {
  const select = el("button", { type: "button", class: "link", "aria-label": `Show ${node.name} on map`, onclick: () => { selectClusters(leaves(node)); goToMap(); } }, "Show on map");
  const label = [el("span", { class: "name" }, node.name), el("span", { class: "size" }, count(node.size)), select];
  if (!node.children.length) return el("li", { class: "leaf" }, el("div", { class: "node" }, dot(clusterColor(node.cluster)), label));
  return el("li", {}, el("details", { open: depth < 2 }, el("summary", { class: "node" }, label), el("ul", {}, node.children.map((child) => branch(child, depth + 1, goToMap)))));
}

/** Show the tree, if the report has one. */
export function fillTree(goToMap) {
  byId("tree").hidden = !report.tree;
  if (!report.tree) return;
  const all = () => [...byId("tree-root").querySelectorAll("details")];
  const before = all().map((details) => details.open); // in other colors, the same levels stay unfolded
  fill(byId("tree-root"), report.tree.children.map((child) => branch(child, 1, goToMap)));
  all().forEach((details, i) => { details.open = before[i] ?? details.open; });
  const setAll = (open) => () => {
    for (const details of all()) details.open = open;
  };
  byId("unfold").onclick = setAll(true);
  byId("fold").onclick = setAll(false);
}
