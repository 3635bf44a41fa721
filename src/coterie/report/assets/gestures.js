// Pointers, the wheel and keys on the map: pan, zoom, hover, click and lasso.
import { n, points } from "./data.js";
import { inside } from "./geometry.js";
import { clearFilters, isFiltered, setLasso, toggleCluster } from "./state.js";

const CLICK = 5; // a pointer that moved less has clicked
const STEP = 60; // pixels that an arrow key moves the map

/** Let people move a map, and select on it. */
export function connectGestures(map) {
  const { stage } = map;
  const gestures = new Gestures(map);
  stage.addEventListener("pointerdown", (event) => gestures.down(event));
  stage.addEventListener("pointermove", (event) => gestures.move(event));
  for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, (event) => gestures.up(event));
  stage.addEventListener("pointerleave", () => map.hover(-1));
  stage.addEventListener("dblclick", (event) => map.zoomAt(...gestures.position(event), 2));
  stage.addEventListener("wheel", (event) => gestures.wheel(event), { passive: false });
  stage.addEventListener("keydown", (event) => gestures.key(event));
  stage.addEventListener("blur", () => stage.classList.remove("awake"));
}

class Gestures {
  constructor(map) {
    this.map = map;
    this.pointers = new Map(); // positions by id
  }

  position(event) {
    const box = this.map.stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  down(event) {
    if (event.button) return;
    const { map } = this;
    map.stage.setPointerCapture(event.pointerId);
    map.stage.focus({ preventScroll: true });
    map.stage.classList.add("awake");
    this.start = this.position(event);
    this.dragged = false;
    this.pointers.set(event.pointerId, this.start);
    if (this.pointers.size === 1 && (map.lassoMode || event.shiftKey)) map.path = [this.start];
  }

  move(event) {
    const { map } = this;
    const at = this.position(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") map.hover(map.nearest(at), at);
      return;
    }
    if (Math.hypot(at[0] - this.start[0], at[1] - this.start[1]) > CLICK) this.dragged = true;
    if (this.pointers.size === 2) this.pinch(event.pointerId, at);
    else if (map.path.length) {
      map.path.push(at);
      map.requestDraw();
    } else if (this.dragged) map.pan(at[0] - before[0], at[1] - before[1]);
    this.pointers.set(event.pointerId, at);
    if (this.dragged) map.hover(-1);
  }

  pinch(id, at) {
    const { map } = this;
    const before = this.pointers.get(id);
    const [other] = [...this.pointers].filter(([key]) => key !== id).map(([, position]) => position);
    const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
    map.path = [];
    map.zoomAt((at[0] + other[0]) / 2, (at[1] + other[1]) / 2, distance(at, other) / distance(before, other));
    map.pan((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
  }

  up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    const { map } = this;
    if (map.path.length > 2 && this.dragged) this.finishLasso();
    else if (!this.dragged && event.type === "pointerup") this.click(this.position(event), event);
    map.path = [];
    map.requestDraw();
  }

  click(at, event) {
    const { map } = this;
    const name = map.nameBoxes.find((b) => at[0] >= b.left && at[0] <= b.right && at[1] >= b.top && at[1] <= b.bottom);
    const i = map.nearest(at);
    const add = event.shiftKey || event.ctrlKey || event.metaKey;
    if (name) toggleCluster(name.cluster, add);
    else if (i >= 0 && event.pointerType === "touch") map.hover(i, at);
    else if (i >= 0) toggleCluster(points.cluster[i], add);
    else if (isFiltered()) clearFilters();
    else map.hover(-1);
  }

  finishLasso() {
    const { map } = this;
    const mask = new Uint8Array(n);
    for (let i = 0; i < n; i++) mask[i] = inside(map.path, ...map.toScreen(points.x[i], points.y[i])) ? 1 : 0;
    setLasso(mask.includes(1) ? mask : null);
  }

  /** Zoom, but only on a map that was clicked: a page that scrolls must not get stuck. */
  wheel(event) {
    const { map } = this;
    if (!map.alwaysZoom && !event.ctrlKey && !map.stage.classList.contains("awake")) {
      map.stage.classList.add("hint");
      clearTimeout(this.hintTimer);
      this.hintTimer = setTimeout(() => map.stage.classList.remove("hint"), 1200);
      return;
    }
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    map.zoomAt(...this.position(event), Math.exp(-Math.max(-120, Math.min(120, pixels)) / 260));
  }

  key(event) {
    const { map } = this;
    const zoom = (factor) => map.zoomAt(map.width / 2, map.height / 2, factor);
    const actions = {
      ArrowLeft: () => map.pan(STEP, 0), ArrowRight: () => map.pan(-STEP, 0), ArrowUp: () => map.pan(0, STEP), ArrowDown: () => map.pan(0, -STEP),
      "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: () => map.reset(), Escape: clearFilters,
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[event.key]();
  }
}
