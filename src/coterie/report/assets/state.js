// What is selected: filters that all parts of the page share. The rest is grayed out, not removed.
import { announce, count } from "./dom.js";
import { cardOf, n, nameOf, noun, points, textOf } from "./data.js";

const DOUBTFUL = 0.5;
const filters = { clusters: new Set(), lasso: null, value: null, query: "", doubtful: false };
const listeners = [];

/** Whether point i passes all filters. */
export const active = new Uint8Array(n).fill(1);
export let activeCount = n;
export const getFilters = () => filters;
export const isFiltered = () =>
  filters.clusters.size > 0 || filters.lasso !== null || filters.value !== null || filters.query !== "" || filters.doubtful;

/** Call ``listener(reason)`` after every change; reason names the filter, or "theme" or "color". */
export function onChange(listener) {
  listeners.push(listener);
}

export function notify(reason) {
  for (const listener of listeners) listener(reason);
}

function update(reason) {
  const match = matcher(filters.query);
  const { clusters, lasso, value } = filters;
  activeCount = 0;
  for (let i = 0; i < n; i++) {
    const passes =
      (clusters.size === 0 || clusters.has(points.cluster[i])) &&
      (lasso === null || lasso[i] === 1) &&
      (value === null || points.columns[value.column].codes[i] === value.code) &&
      (!filters.doubtful || points.confidence[i] < DOUBTFUL) &&
      (match === null || match(i));
    active[i] = passes ? 1 : 0;
    activeCount += active[i];
  }
  notify(reason);
  announce(isFiltered() ? `${count(activeCount)} of ${count(n)} ${noun} selected` : `All ${count(n)} ${noun}`);
}

const haystacks = [];

/** What is searched for point i: its text, or the name of its cluster where texts were left out. */
function haystack(i) {
  haystacks[i] ??= (points.texts ? textOf(i) : nameOf(points.cluster[i])).toLowerCase();
  return haystacks[i];
}

/** Return a test for points that have all words of the query; null for an empty query. */
function matcher(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length ? (i) => words.every((word) => haystack(i).includes(word)) : null;
}

export function toggleCluster(cluster, add = false) {
  const only = filters.clusters.size === 1 && filters.clusters.has(cluster);
  if (add && filters.clusters.has(cluster)) filters.clusters.delete(cluster);
  else {
    if (!add) filters.clusters.clear();
    if (!only || add) filters.clusters.add(cluster);
  }
  update("clusters");
}

export function selectClusters(numbers) {
  filters.clusters = new Set(numbers);
  update("clusters");
}

export function setLasso(mask) {
  filters.lasso = mask;
  update("lasso");
}

export function toggleValue(column, code) {
  const same = filters.value?.column === column && filters.value?.code === code;
  filters.value = same ? null : { column, code };
  update("value");
}

export function setQuery(query) {
  filters.query = query.trim();
  update("query");
}

export function setDoubtful(doubtful) {
  filters.doubtful = doubtful;
  update("doubtful");
}

export function clearFilters() {
  Object.assign(filters, { clusters: new Set(), lasso: null, value: null, query: "", doubtful: false });
  update("clear");
}

/** Return the filters in words, each with a function that removes it. */
export function describeFilters() {
  const chips = [...filters.clusters].map((cluster) => ({
    label: cardOf.get(cluster).name, cluster, remove: () => toggleCluster(cluster, true),
  }));
  if (filters.lasso) chips.push({ label: "lasso", remove: () => setLasso(null) });
  if (filters.value) {
    const column = points.columns[filters.value.column];
    chips.push({ label: `${column.name}: ${column.values[filters.value.code]}`, remove: () => toggleValue(filters.value.column, filters.value.code) });
  }
  if (filters.query) chips.push({ label: `“${filters.query}”`, remove: () => setQuery("") });
  if (filters.doubtful) chips.push({ label: "doubtful", remove: () => setDoubtful(false) });
  return chips;
}

/** Positions of the active points. */
export function activePoints() {
  const list = [];
  for (let i = 0; i < n; i++) if (active[i]) list.push(i);
  return list;
}
