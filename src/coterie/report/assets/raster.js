// Draws many round points into an array of pixels. Without a graphics card this is faster than WebGL or canvas paths
// (docs/adr/0013-the-report-draws-its-own-map.md), and it needs neither.

const SUBPIXELS = 4; // positions are rounded to a quarter of a pixel, so that points glide instead of jumping

/** The pixels of a disc around (0, 0), once for each subpixel position: offsets in the image, and coverage 0 to 256. */
function makeStamps(radius, width, opacity) {
  const reach = Math.ceil(radius + 1);
  const stamps = [];
  for (let sy = 0; sy < SUBPIXELS; sy++) {
    for (let sx = 0; sx < SUBPIXELS; sx++) {
      const offsets = [];
      const alphas = [];
      for (let dy = -reach; dy <= reach; dy++) {
        for (let dx = -reach; dx <= reach; dx++) {
          const distance = Math.hypot(dx - sx / SUBPIXELS, dy - sy / SUBPIXELS);
          const alpha = Math.round(Math.max(0, Math.min(1, radius + 0.5 - distance)) * opacity * 256);
          if (alpha > 0) {
            offsets.push(dy * width + dx);
            alphas.push(alpha);
          }
        }
      }
      stamps.push([Int32Array.from(offsets), Int32Array.from(alphas)]);
    }
  }
  return { stamps, reach };
}

export class Raster {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.stamps = new Map();
  }

  /** Set the size in CSS pixels, and the device pixels for each of them. */
  resize(width, height, ratio) {
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    this.ratio = ratio;
    if (this.image && this.image.width === w && this.image.height === h) return;
    this.canvas.width = w;
    this.canvas.height = h;
    this.image = this.context.createImageData(w, h);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.stamps.clear();
  }

  clear(color) {
    this.pixels.fill(color);
  }

  /**
   * Draw the points i with mask[i] === wanted at (x[i], y[i]) * scale + shift, in CSS pixels.
   * colors[i] is 0xffbbggrr; a single number is the color of all.
   */
  draw({ x, y, mask, wanted, colors, radius, opacity, scale, shiftX, shiftY }) {
    const { ratio, pixels } = this;
    const { width, height } = this.image;
    const { stamps, reach } = this.stampsOf(radius * ratio, opacity, width);
    const single = typeof colors === "number";
    const s = scale * ratio;
    const [tx, ty] = [shiftX * ratio, shiftY * ratio];
    for (let i = 0; i < x.length; i++) {
      if (mask[i] !== wanted) continue;
      const px = x[i] * s + tx;
      const py = y[i] * s + ty;
      if (!(px >= reach && py >= reach && px < width - reach - 1 && py < height - reach - 1)) continue;
      const left = Math.floor(px);
      const top = Math.floor(py);
      const [offsets, alphas] = stamps[Math.floor((py - top) * SUBPIXELS) * SUBPIXELS + Math.floor((px - left) * SUBPIXELS)];
      blend(pixels, top * width + left, offsets, alphas, single ? colors : colors[i]);
    }
  }

  show() {
    this.context.putImageData(this.image, 0, 0);
  }

  /** Show the pixels so that they are printed: browsers record what is drawn for a printer, but not `putImageData`. */
  showInPrint() {
    const copy = document.createElement("canvas");
    Object.assign(copy, { width: this.image.width, height: this.image.height });
    copy.getContext("2d").putImageData(this.image, 0, 0);
    this.context.drawImage(copy, 0, 0);
  }

  stampsOf(radius, opacity, width) {
    const key = `${radius.toFixed(2)} ${opacity.toFixed(2)}`;
    if (!this.stamps.has(key)) {
      if (this.stamps.size > 60) this.stamps.clear();
      this.stamps.set(key, makeStamps(radius, width, opacity));
    }
    return this.stamps.get(key);
  }
}

/** Blend one color over the pixels of a stamp; red and blue are computed at once. */
function blend(pixels, start, offsets, alphas, color) {
  const redBlue = color & 0xff00ff;
  const green = color & 0x00ff00;
  for (let j = 0; j < offsets.length; j++) {
    const at = start + offsets[j];
    const a = alphas[j];
    const b = 256 - a;
    const old = pixels[at];
    pixels[at] = 0xff000000
      | ((((old & 0xff00ff) * b + redBlue * a) >>> 8) & 0xff00ff)
      | ((((old & 0x00ff00) * b + green * a) >>> 8) & 0x00ff00);
  }
}

/** 0xffbbggrr of "#rrggbb". */
export function packColor(hex) {
  const value = parseInt(hex.slice(1), 16);
  return (0xff000000 | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}
