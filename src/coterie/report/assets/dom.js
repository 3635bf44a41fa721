// Small helpers for elements, numbers and texts. All texts enter the page as text nodes, never as HTML.

/** Return a new element: el("p", {class: "note", onclick: f}, "text", child, ...). */
export function el(tag, props = {}, ...children) {
  const node = tag === "svg" || SVG_TAGS.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const SVG_TAGS = new Set(["path", "circle", "line", "g", "text", "rect", "title"]);

export const byId = (id) => document.getElementById(id);

/** Replace what is inside ``node``. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
}

export const count = (n) => n.toLocaleString("en-US");
export const percent = (share) => (share > 0 && share < 0.0095 ? "<1%" : `${Math.round(share * 100)}%`);
export const decimal = (value, digits = 2) => (Number.isFinite(value) ? value.toFixed(digits) : "–");

/** Make control characters visible: an escape sequence is shown as a picture of its code, a line end as a space. */
export function visible(text) {
  return text.replace(/\s*[\t-\r]\s*/g, " ").replace(/[\u0000-\u001f\u007f]/g, (char) =>
    String.fromCharCode(char === "\u007f" ? 0x2421 : 0x2400 + char.charCodeAt(0)));
}

export function shorten(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`;
}

/** Save a table as a CSV file. Cells that a spreadsheet would take for a formula get an apostrophe. */
export function downloadCsv(name, header, rows) {
  const cell = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
  const link = el("a", { href: URL.createObjectURL(new Blob(["\ufeff", csv, "\r\n"], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  return csv;
}

/** Tell a screen reader what changed. */
export function announce(message) {
  const live = byId("live");
  if (live) live.textContent = message;
}
