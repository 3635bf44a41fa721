// Names of clusters and examples of texts on the map. Each label is drawn once and copied afterwards.
import { cssVariable } from "./colors.js";

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';
const SHIFTS = [0, -0.5, 0.5, -1, 1]; // heights of a name by which it may move out of the way of another
const cache = new Map();

export function forgetLabels() {
  cache.clear();
}

/** Break a name into at most two lines of about equal length. */
function lines(text, limit) {
  if (text.length <= limit) return [text];
  const middle = text.length / 2;
  const breaks = [...text.matchAll(/\s+/g)].map((match) => match.index);
  if (!breaks.length) return [text];
  const at = breaks.reduce((best, index) => (Math.abs(index - middle) < Math.abs(best - middle) ? index : best));
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Return a picture of the label with a halo: {canvas, width, height} in CSS pixels. */
function picture(text, style, ratio) {
  const key = `${style.key}|${ratio}|${text}`;
  if (cache.has(key)) return cache.get(key);
  if (cache.size > 600) cache.clear();
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  const font = `${style.weight} ${style.size}px ${FONT}`;
  const rows = style.lines ? lines(text, style.lines) : [text];
  context.font = font;
  const width = Math.ceil(Math.max(...rows.map((row) => context.measureText(row).width))) + 8;
  const height = Math.ceil(rows.length * style.size * 1.2) + 6;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.scale(ratio, ratio);
  Object.assign(context, { font, textBaseline: "middle", textAlign: "center", lineJoin: "round", lineWidth: style.halo });
  context.strokeStyle = cssVariable("--map");
  context.fillStyle = style.color;
  rows.forEach((row, i) => {
    const y = 3 + style.size * 1.2 * (i + 0.5);
    context.strokeText(row, width / 2, y);
    context.fillText(row, width / 2, y);
  });
  const made = { canvas, width, height };
  cache.set(key, made);
  return made;
}

/** Places labels so that none covers another. */
export class LabelLayer {
  constructor(context, width, height, ratio) {
    Object.assign(this, { context, width, height, ratio, boxes: [] });
  }

  /** Draw a label at (x, y), or a little above or below; return its box, or null where it would cover others. */
  place(text, x, y, style, { beside = false, faint = false, clear = Infinity } = {}) {
    if (x < 0 || y < 0 || x > this.width || y > this.height) return null;
    const label = picture(text, style, this.ratio);
    const outside = (clear + label.height) / 2 / label.height + 0.3; // a name would hide all points of a small cluster
    const shifts = beside ? [0] : clear < 2 * label.height ? [-outside, outside, ...SHIFTS, -outside - 1, outside + 1] : SHIFTS;
    const box = shifts.map((shift) => this.boxAt(label, x, y + shift * label.height, beside)).find((tried) => this.isFree(tried));
    if (!box) return null;
    this.boxes.push(box);
    this.context.globalAlpha = faint ? 0.35 : 1;
    this.context.drawImage(label.canvas, box.left, box.top, label.width, label.height);
    this.context.globalAlpha = 1;
    return box;
  }

  /** The box of a label centered at (x, y), or right of it. */
  boxAt(label, x, y, beside) {
    let left = Math.round(beside ? x + 5 : x - label.width / 2);
    let top = Math.round(y - label.height / 2);
    if (!beside) { // a name at the border moves inwards
      left = Math.max(2, Math.min(this.width - label.width - 2, left));
      top = Math.max(2, Math.min(this.height - label.height - 2, top));
    }
    return { left, top, right: left + label.width, bottom: top + label.height };
  }

  isFree({ left, top, right, bottom }) {
    if (left < 2 || top < 2 || right > this.width - 2 || bottom > this.height - 2) return false;
    return !this.boxes.some((b) => b.left < right && left < b.right && b.top < bottom && top < b.bottom);
  }
}
