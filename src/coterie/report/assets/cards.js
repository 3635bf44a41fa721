// Cards of clusters: size, confidence, keywords, typical and doubtful texts, nearest clusters.
import { byId, count, decimal, el, fill, percent, shorten } from "./dom.js";
import { cardOf, clusters, noun, points, textOf } from "./data.js";
import { clusterColor } from "./colors.js";
import { dot } from "./panel.js";
import { selectClusters, setQuery } from "./state.js";
import { thumbnail } from "./thumbnail.js";

const FIRST = 24; // cards shown before "show all"
const N_KEYWORDS = 6;
const DEFAULT = 2; // position of the slider at which the model's own keywords are shown
const WEIGHTS = [1, 0.6, null, 0.3, 0]; // of frequency against distinctiveness at the positions of the slider
let all = clusters.length <= FIRST + 6;
let position = DEFAULT;

/** Return the words of largest relevance: weight * log p(w|k) + (1 - weight) * log p(w|k)/p(w). */
function keywords(card) {
  const weight = WEIGHTS[position];
  if (weight === null || !card.words.length) return card.keywords;
  const everywhere = clusters.reduce((sum, other) => sum + other.n_words, 0);
  const relevance = ({ count: inside, total }) => {
    const p = inside / card.n_words;
    return weight * Math.log(p) + (1 - weight) * Math.log(p / (total / everywhere));
  };
  return [...card.words].sort((a, b) => relevance(b) - relevance(a)).slice(0, N_KEYWORDS).map((entry) => entry.word);
}

/** Show the cards, and connect the slider and the button. */
export function fillCards(goToMap) {
  const shown = all ? clusters : clusters.slice(0, FIRST);
  fill(byId("cards"), shown.map((card) => clusterCard(card, goToMap)));
  const button = byId("all-cards");
  button.hidden = all;
  button.textContent = `Show all ${clusters.length} clusters`;
  button.onclick = () => showAll(goToMap);
  const slider = byId("distinctive");
  slider.closest("label").hidden = !clusters.some((card) => card.words.length);
  slider.oninput = () => {
    position = +slider.value;
    slider.setAttribute("aria-valuetext", ["most frequent words", "frequent words", "balanced", "distinctive words", "most distinctive words"][position]);
    for (const card of clusters) {
      const place = document.querySelector(`#cards [data-cluster="${card.cluster}"] .keywords`);
      if (place) fill(place, keywordChips(card));
    }
  };
}

export function showAll(goToMap) {
  if (all) return;
  all = true;
  fillCards(goToMap);
}

function clusterCard(card, goToMap) {
  const show = () => {
    selectClusters([card.cluster]);
    goToMap();
  };
  return el("article", { class: "card", id: `cluster-${card.cluster}`, "data-cluster": card.cluster, style: { "--color": clusterColor(card.cluster) } },
    el("header", {}, dot(clusterColor(card.cluster)), el("h3", {}, card.name), el("span", { class: "id", title: "number of the cluster in the model" }, `#${card.cluster}`),
      el("button", { type: "button", class: "link map-link", "aria-label": `Show ${card.name} on map`, onclick: show }, "Show on map")),
    el("dl", { class: "figures" }, figure(noun, count(card.size), percent(card.share)), meter("confidence", card.confidence), meter("cohesion", card.cohesion), meter("stability", card.stability)),
    el("p", { class: "keywords", "aria-label": "keywords" }, keywordChips(card)),
    topics(card),
    points.images ? contactSheet(card) : examples(card),
    nearest(card));
}

function figure(label, value, note) {
  return el("div", {}, el("dt", {}, label), el("dd", {}, value, el("small", {}, ` ${note}`)));
}

function meter(label, value) {
  if (value === null || value === undefined) return null;
  return el("div", {}, el("dt", {}, label), el("dd", {}, decimal(value),
    el("span", { class: "meter", "aria-hidden": "true" }, el("i", { style: { width: `${Math.max(0, Math.min(1, value)) * 100}%` } }))));
}

function keywordChips(card) {
  return keywords(card).map((word) => el("button", { type: "button", class: "word", title: `Search for “${word}”`, onclick: () => setQuery(word) }, word));
}

function topics(card) {
  if (!card.topics.length) return null;
  return el("ul", { class: "topics" }, card.topics.map((topic) => el("li", {}, el("b", {}, percent(topic.weight)), ` ${topic.words.slice(0, 6).join(", ")}`)));
}

function examples(card) {
  if (!points.texts || !card.typical.length) return null;
  const item = (i) => el("li", {}, el("span", { dir: "auto" }, shorten(textOf(i), 220)));
  const doubtful = (i) => el("li", {}, el("span", { dir: "auto" }, shorten(textOf(i), 220)), el("small", {}, ` ${percent(points.confidence[i])}`));
  return [
    el("ul", { class: "texts" }, card.typical.slice(0, 3).map(item)),
    card.doubtful.length ? el("details", {}, el("summary", {}, "More typical and doubtful ", noun),
      card.typical.length > 3 ? el("ul", { class: "texts" }, card.typical.slice(3).map(item)) : null,
      el("h4", {}, "Least sure"), el("ul", { class: "texts" }, card.doubtful.map(doubtful))) : null,
  ];
}

function contactSheet(card) {
  const members = [...points.cluster.keys()].filter((i) => points.cluster[i] === card.cluster).sort((a, b) => points.confidence[b] - points.confidence[a]);
  return [
    el("div", { class: "sheet" }, members.slice(0, 28).map((i) => thumbnail(i, 40))),
    card.doubtful.length ? el("details", {}, el("summary", {}, "Doubtful images"), el("div", { class: "sheet" }, members.slice(-14).reverse().map((i) => thumbnail(i, 40)))) : null,
  ];
}

function nearest(card) {
  if (!card.nearest.length) return null;
  return el("footer", { class: "near" }, el("span", {}, "Near "), card.nearest.map(({ cluster, similarity }) => {
    const other = cardOf.get(cluster);
    return el("a", { href: `#cluster-${cluster}`, title: `similarity of the centers ${decimal(similarity)}`, onclick: () => showAll() }, dot(clusterColor(cluster)), shorten(other.name, 24));
  }));
}
