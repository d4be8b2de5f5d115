// Values as text, as thalweg.units prints them: units as numerator and denominator, so that roundings agree.

const UNITS = {
  time: [["ns", 1, 1e9], ["us", 1, 1e6], ["ms", 1, 1e3], ["s", 1, 1], ["min", 60, 1], ["h", 3600, 1]],
  size: [["B", 1, 1], ["KB", 1e3, 1], ["MB", 1e6, 1], ["GB", 1e9, 1], ["TB", 1e12, 1]],
  rate: [["bps", 1, 8], ["Kbps", 1e3, 8], ["Mbps", 1e6, 8], ["Gbps", 1e9, 8], ["Tbps", 1e12, 8]],
};

/** Three significant digits without trailing zeros. */
function threeDigits(value) {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const text = Number(value.toPrecision(3)).toFixed(Math.min(digits, 9));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

const BINARY = [["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]];

/** Returns a size in binary units if it is whole in one of them and not exact in the decimal ones; else nothing. */
function binarySize(value, scaled, numerator) {
  if (Math.round(Number(scaled.toPrecision(3)) * numerator) === value) return "";
  for (const [binary, bytes] of [...BINARY].reverse())
    if (value % bytes === 0 && value / bytes < 1024) return value / bytes + binary;
  return "";
}

/** Returns a value of a unit (elements.py) as text; null is "-". */
function format(value, unit) {
  if (value === null || value === undefined) return "-";
  if (typeof value === "string") return value;
  if (unit === "share") return `${threeDigits(100 * value)} %`;
  if (unit === "ratio") return value.toFixed(2);
  if (unit === "count") return value.toLocaleString("en");
  const units = UNITS[unit];
  if (!units) return String(value);
  if (value === 0) return `0${unit === "time" ? "s" : units[0][0]}`;
  for (const [name, numerator, denominator] of [...units].reverse()) {
    const scaled = (value * denominator) / numerator;
    if (Math.abs(Number(scaled.toPrecision(3))) < 1 && name !== units[0][0]) continue;
    return (unit === "size" && binarySize(value, scaled, numerator)) || threeDigits(scaled) + name;
  }
  return "";
}

/** Makes an element: attributes, then children (text or elements). */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "line", "text", "g", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
