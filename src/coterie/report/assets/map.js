// The map: its view, its drawing, and the point under the pointer.
import { fill } from "./dom.js";
import { clusters, n, points } from "./data.js";
import { coloring, cssVariable } from "./colors.js";
import { center, clusterHeight, extent, priorities } from "./geometry.js";
import { connectGestures } from "./gestures.js";
import { forgetLabels, LabelLayer } from "./labels.js";
import { packColor, Raster } from "./raster.js";
import { active } from "./state.js";
import { tooltip } from "./tooltip.js";
import { drawNames, drawTexts } from "./writing.js";

const MARGIN = 34; // around the points, in pixels
const STRAY = 0.001; // share of points at each side that the first view may leave out
const MAX_ZOOM = 60; // times the first view
const TEXTS_FROM = 1.9; // zoom from which example texts appear

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class PointMap {
  constructor(stage, { alwaysZoom }) {
    this.stage = stage;
    this.alwaysZoom = alwaysZoom;
    this.raster = new Raster(stage.querySelector(".points"));
    this.overlay = stage.querySelector(".overlay");
    this.tooltip = stage.querySelector(".tooltip");
    this.view = { scale: 1, x: 0, y: 0 };
    this.home = this.view;
    this.hovered = -1;
    this.highlighted = null; // a cluster under the pointer in the legend
    this.lassoMode = false;
    this.path = []; // of the lasso, while it is drawn
    this.nameBoxes = [];
    this.highlight = new Uint8Array(n);
    this.centers = new Map(clusters.map((card) => [card.cluster, center(card.cluster)]));
    this.heights = new Map(clusters.map((card) => [card.cluster, clusterHeight(card.cluster)]));
    this.priority = priorities();
    this.recolor("cluster");
    connectGestures(this);
    new ResizeObserver(() => this.resize()).observe(stage);
    this.resize();
  }

  // -- the view --------------------------------------------------------------------------------------------

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height) return;
    const first = !this.width;
    const wasHome = first || this.isHome();
    Object.assign(this, { width, height });
    this.stage.style.setProperty("--proportions", `${width} / ${height}`); // printed as they are on the screen
    const scale = Math.min(width - 2 * MARGIN, height - 2 * MARGIN);
    const spread = { x: extent(points.x, STRAY), y: extent(points.y, STRAY) };
    const fit = Math.min((width - 2 * MARGIN) / (spread.x.size || 1), (height - 2 * MARGIN) / (spread.y.size || 1), scale * 4);
    this.home = { scale: fit, x: width / 2 - spread.x.middle * fit, y: height / 2 - spread.y.middle * fit };
    if (wasHome) this.view = { ...this.home };
    this.settled = true;
    this.draw();
  }

  isHome() {
    return Math.abs(this.view.scale / this.home.scale - 1) < 1e-6 && Math.abs(this.view.x - this.home.x) < 0.5 && Math.abs(this.view.y - this.home.y) < 0.5;
  }

  get zoom() {
    return this.view.scale / this.home.scale;
  }

  zoomAt(x, y, factor) {
    const scale = Math.max(this.home.scale * 0.5, Math.min(this.home.scale * MAX_ZOOM, this.view.scale * factor));
    const change = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * change, y: y - (y - this.view.y) * change };
    this.move();
  }

  pan(dx, dy) {
    this.view = { ...this.view, x: this.view.x + dx, y: this.view.y + dy };
    this.move();
  }

  /** Glide to another view. */
  flyTo(target) {
    const from = this.view;
    const start = performance.now();
    const duration = calm.matches ? 0 : 350;
    const step = (now) => {
      const t = duration ? Math.min(1, (now - start) / duration) : 1;
      const eased = 1 - (1 - t) ** 3;
      const between = (a, b) => a + (b - a) * eased;
      this.view = { scale: from.scale * (target.scale / from.scale) ** eased, x: between(from.x, target.x), y: between(from.y, target.y) };
      if (t >= 1) this.view = { ...target };
      this.move();
      if (t < 1) requestAnimationFrame(step);
    };
    step(start);
  }

  reset() {
    this.flyTo(this.home);
  }

  /** Zoom so that the given points fill the map. */
  show(list) {
    if (!list.length) return;
    const xs = extent(list.map((i) => points.x[i]), 0.02);
    const ys = extent(list.map((i) => points.y[i]), 0.02);
    const fit = Math.min((this.width - 6 * MARGIN) / (xs.size || 0.02), (this.height - 6 * MARGIN) / (ys.size || 0.02));
    const scale = Math.min(fit, this.home.scale * 12);
    this.flyTo({ scale, x: this.width / 2 - xs.middle * scale, y: this.height / 2 - ys.middle * scale });
  }

  // -- drawing ---------------------------------------------------------------------------------------------

  recolor(id) {
    const made = coloring(id);
    this.colors = Uint32Array.from(made.colors, packColor);
    this.legend = made.legend;
    forgetLabels();
    this.requestDraw();
  }

  /** Draw coarsely while the view moves, and sharply when it rests. */
  move() {
    this.settled = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.settled = true;
      this.requestDraw();
    }, 140);
    this.requestDraw();
  }

  requestDraw() {
    if (this.requested) return;
    this.requested = true;
    requestAnimationFrame(() => {
      this.requested = false;
      this.draw();
    });
  }

  draw() {
    if (!this.width) return;
    const ratio = this.settled ? Math.min(devicePixelRatio || 1, 2) : 1;
    this.drawPoints(ratio);
    this.drawOverlay(Math.min(devicePixelRatio || 1, 2));
    this.frames = (this.frames ?? 0) + 1;
  }

  drawForPrint() {
    this.drawPoints(2);
    this.raster.showInPrint();
    this.drawOverlay(2);
  }

  drawPoints(ratio) {
    const { raster, view } = this;
    raster.resize(this.width, this.height, ratio);
    raster.clear(packColor(cssVariable("--map")));
    const mask = this.mask();
    const size = Math.max(1.3, Math.min(3.4, (150 / Math.sqrt(n) + 0.6) * Math.min(1, Math.sqrt(this.width / 700))));
    const common = { x: points.x, y: points.y, mask, radius: Math.min(size * this.zoom ** 0.3, 7), scale: view.scale, shiftX: view.x, shiftY: view.y };
    raster.draw({ ...common, wanted: 0, colors: packColor(cssVariable("--map-gray")), opacity: 0.55 });
    raster.draw({ ...common, wanted: 1, colors: this.colors, opacity: n > 8000 ? 0.7 : 0.85 });
    raster.show();
  }

  /** What is in color: the selection, or the cluster that the legend points at. */
  mask() {
    if (this.highlighted === null) return active;
    for (let i = 0; i < n; i++) this.highlight[i] = points.cluster[i] === this.highlighted ? 1 : 0;
    return this.highlight;
  }

  drawOverlay(ratio) {
    const { overlay, width, height } = this;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (overlay.width !== w || overlay.height !== h) Object.assign(overlay, { width: w, height: h });
    const context = overlay.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const layer = new LabelLayer(context, width, height, ratio);
    if (this.showNames !== false) drawNames(this, layer);
    if (points.texts && !points.images && this.zoom >= TEXTS_FROM) drawTexts(this, layer);
    this.drawHover(context);
    this.drawLasso(context);
  }

  eachVisible(visit) {
    const { scale, x, y } = this.view;
    const [left, right, top, bottom] = [-x / scale, (this.width - x) / scale, -y / scale, (this.height - y) / scale];
    for (let i = 0; i < n; i++) {
      if (points.x[i] >= left && points.x[i] <= right && points.y[i] >= top && points.y[i] <= bottom) visit(i);
    }
  }

  drawHover(context) {
    if (this.hovered < 0) return;
    const [x, y] = this.toScreen(points.x[this.hovered], points.y[this.hovered]);
    context.lineWidth = 2;
    context.strokeStyle = cssVariable("--ink");
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.stroke();
  }

  drawLasso(context) {
    if (this.path.length < 2) return;
    context.lineWidth = 1.5;
    context.strokeStyle = cssVariable("--accent");
    context.setLineDash([5, 4]);
    context.beginPath();
    for (const [x, y] of this.path) context.lineTo(x, y);
    context.closePath();
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 0.08;
    context.fillStyle = cssVariable("--accent");
    context.fill();
    context.globalAlpha = 1;
  }

  toScreen(x, y) {
    return [x * this.view.scale + this.view.x, y * this.view.scale + this.view.y];
  }

  setLassoMode(on) {
    this.lassoMode = on;
    this.stage.classList.toggle("lasso", on);
  }

  // -- hover -----------------------------------------------------------------------------------------------

  /** The point in color that is nearest to a position, if it is near enough; -1 otherwise. */
  nearest([x, y]) {
    const { scale, x: tx, y: ty } = this.view;
    const mask = this.mask();
    let best = -1;
    let least = 11 ** 2;
    for (let i = 0; i < n; i++) {
      const distance = (points.x[i] * scale + tx - x) ** 2 + (points.y[i] * scale + ty - y) ** 2;
      if (distance < least && mask[i]) [best, least] = [i, distance];
    }
    return best;
  }

  hover(i, at) {
    if (i === this.hovered && i < 0) return;
    this.hovered = i;
    this.tooltip.hidden = i < 0;
    if (i >= 0) {
      fill(this.tooltip, tooltip(i));
      const { offsetWidth: w, offsetHeight: h } = this.tooltip;
      const left = Math.max(6, Math.min(this.width - w - 6, at[0] + 14));
      const top = at[1] + 16 + h > this.height ? Math.max(6, at[1] - h - 12) : at[1] + 16;
      this.tooltip.style.transform = `translate(${left}px, ${top}px)`;
    }
    this.requestDraw();
  }

  highlightCluster(cluster) {
    this.highlighted = cluster;
    this.requestDraw();
  }
}
