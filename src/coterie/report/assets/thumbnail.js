// Thumbnails of images, cut out of the contact sheets.
import { el } from "./dom.js";
import { n, points } from "./data.js";

const addresses = []; // of the sheets, made when they are first shown

function sheet(number) {
  addresses[number] ??= URL.createObjectURL(
    new Blob([Uint8Array.from(atob(points.images.files[number]), (char) => char.charCodeAt(0))], { type: "image/jpeg" }));
  return addresses[number];
}

/** Return a picture of point i that is ``size`` pixels wide. */
export function thumbnail(i, size) {
  const { columns, per_sheet: perSheet } = points.images;
  const place = i % perSheet;
  const rows = Math.ceil(Math.min(perSheet, n - (i - place)) / columns);
  return el("span", {
    class: "thumbnail", role: "img", "aria-label": points.texts ? points.texts[i] : `Image ${points.rows[i]}`,
    style: {
      width: `${size}px`, height: `${size}px`,
      "background-image": `url(${sheet(Math.floor(i / perSheet))})`,
      "background-size": `${columns * size}px ${rows * size}px`,
      "background-position": `-${(place % columns) * size}px -${Math.floor(place / columns) * size}px`,
    },
  });
}
