// Put the page together.
import { byId, count, decimal, el, fill, percent } from "./dom.js";
import { clusters, n, noun, points, report } from "./data.js";
import { isDark, setTheme } from "./colors.js";
import { fillCards, showAll } from "./cards.js";
import { fillCurve, fillTraining } from "./charts.js";
import { PointMap } from "./map.js";
import { fillColorings, fillLegend, fillSelection, markLegend } from "./panel.js";
import { activePoints, getFilters, notify, onChange, setQuery } from "./state.js";
import { connectTable, exportCsv, fillTable, syncTable } from "./table.js";
import { describeMap } from "./tooltip.js";
import { fillTree } from "./tree.js";

const mapOnly = document.documentElement.dataset.view === "map";
setTheme();
const map = new PointMap(byId("stage"), { alwaysZoom: mapOnly });
let chosenColoring = "cluster";

function chooseColoring(id) {
  chosenColoring = id;
  byId("color-by").value = id;
  map.recolor(id);
  fillLegend(id, map.legend, map);
  markLegend();
}

const goToMap = () => byId("map-section").scrollIntoView({ behavior: "smooth", block: "start" });

// -- parts of the page -------------------------------------------------------------------------------------

function fillSummary() {
  const mean = clusters.reduce((sum, card) => sum + card.share * card.confidence, 0);
  const tile = (value, label) => el("div", {}, el("dd", {}, value), el("dt", {}, label));
  fill(byId("tiles"), tile(count(report.n_rows - report.n_blank), noun), tile(String(clusters.length), clusters.length === 1 ? "cluster" : "clusters"),
    tile(decimal(mean), "mean confidence"), tile(report.method, "method"));
  fill(byId("sentences"), report.sentences.map((sentence) => el("p", {}, sentence)));
  fill(byId("notes"), report.notes.map((note) => el("li", {}, note)));
}

function fillDetails() {
  const list = (id, entries) => fill(byId(id), Object.entries(entries).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value === null ? "none" : String(value))]));
  list("facts", { method: report.method, ...report.facts });
  list("settings", report.settings);
  list("versions", report.versions);
}

function fillNav() {
  const sections = [["map-section", "Map"], ["clusters", "Clusters"], ["tree", "Levels"], ["table", noun === "images" ? "Images" : "Texts"], ["curve", "How many"], ["training", "Training"], ["details", "Details"]];
  fill(byId("nav"), sections.filter(([id]) => !byId(id).hidden).map(([id, label]) => el("a", { href: `#${id}` }, label)));
}

// -- connections -------------------------------------------------------------------------------------------

function connect() {
  fillColorings(chooseColoring);
  const press = (id, action) => byId(id).addEventListener("click", action);
  const middle = (factor) => () => map.zoomAt(map.width / 2, map.height / 2, factor);
  press("zoom-in", middle(1.5));
  press("zoom-out", middle(1 / 1.5));
  press("zoom-all", () => map.reset());
  press("theme", () => {
    setTheme(isDark() ? "light" : "dark");
    notify("theme");
  });
  press("lasso", () => {
    map.setLassoMode(!map.lassoMode);
    byId("lasso").setAttribute("aria-pressed", String(map.lassoMode));
  });
  press("names", () => {
    map.showNames = map.showNames === false;
    byId("names").setAttribute("aria-pressed", String(map.showNames));
    map.requestDraw();
  });
  let typing;
  const search = byId("search");
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => setQuery(search.value), n > 5000 ? 160 : 60);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    setQuery(search.value);
    map.show(activePoints());
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "")) {
      event.preventDefault();
      search.focus();
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    setTheme();
    notify("theme");
  });
  connectPrint();
}

/** Print in light colors, with all cards and all levels; then show what was there before. */
function connectPrint() {
  let theme;
  let folded = [];
  addEventListener("beforeprint", () => {
    theme = isDark() ? "dark" : "light";
    setTheme("light");
    notify("theme");
    showAll(goToMap);
    folded = [...byId("tree-root").querySelectorAll("details:not([open])")];
    for (const details of folded) details.open = true;
    map.drawForPrint();
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
    setTheme(theme);
    notify("theme");
  });
}

onChange((reason) => {
  if (reason === "theme") {
    chooseColoring(chosenColoring);
    if (!mapOnly) fillCards(goToMap);
    fillTree(goToMap);
  }
  if (byId("search").value.trim() !== getFilters().query) byId("search").value = getFilters().query;
  markLegend();
  fillSelection(map);
  syncTable();
  map.requestDraw();
});

connect();
describeMap();
chooseColoring("cluster");
fillSelection(map);
if (!mapOnly) {
  fillSummary();
  fillCards(goToMap);
  fillTree(goToMap);
  fillTraining();
  fillCurve();
  fillDetails();
  fillNav();
}
connectTable();
fillTable();
// For tests and for readers with a console.
globalThis.coterie = { map, report, points, exportCsv, activePoints, percent };
