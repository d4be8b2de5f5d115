// Matrices in colours: one pixel of a canvas for each cell, with names, groups and marks above it.

const LEAST_LABEL = { rows: 13, columns: 22 }; // pixels between two labels
const FONT = 11; // pixels, as in the style sheet

let pen = null; // has the page's font, which asking for every label would make slow

/** Returns how many pixels a label takes. */
function widthOf(label) {
  if (!pen) {
    pen = document.createElement("canvas").getContext("2d");
    pen.font = `${FONT}px ${getComputedStyle(document.body).fontFamily}`;
  }
  return pen.measureText(label).width;
}

/** Returns red, green and blue at a share of the scale from 0 to 1. */
function colourAt(scale, share) {
  const at = Math.min(Math.max(share, 0), 1) * (scale.length - 1);
  const low = Math.min(Math.floor(at), scale.length - 2);
  return scale[low].map((value, channel) => Math.round(value + (scale[low + 1][channel] - value) * (at - low)));
}

/** Returns a function from values to shares of the scale, its inverse, and the ends. */
function scaleOf(layer) {
  const known = layer.values.filter((value) => value !== null && (layer.scale !== "log" || value > 0));
  let low = Infinity, high = -Infinity;
  for (const value of known) { low = Math.min(low, value); high = Math.max(high, value); }
  if (!known.length) [low, high] = [0, 0];
  if (layer.scale !== "log") low = Math.min(low, 0);
  const forwards = { log: Math.log, sqrt: Math.sqrt, linear: (x) => x }[layer.scale];
  const back = { log: Math.exp, sqrt: (x) => x * x, linear: (x) => x }[layer.scale];
  const [from, to] = [forwards(low), forwards(high)];
  return {
    low, high,
    share: (value) => (to > from ? (forwards(Math.max(value, low)) - from) / (to - from) : 0.5),
    value: (share) => back(from + share * (to - from)),
  };
}

function showHeatmap(block, colours) {
  const rows = block.rows.labels.length, columns = block.columns.labels.length;
  const canvas = make("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const svg = make("svg", { "aria-hidden": "true" });
  const plot = make("div", { class: "plot", tabindex: 0, role: "application", "aria-roledescription": "heatmap" }, canvas, svg);
  const said = make("output", { "aria-live": "polite" });
  const legend = make("div", { class: "legend" });
  let layer = block.layers[0], scale = scaleOf(layer), cursor = null, selected = null, place = null;

  const valueAt = (row, column) => layer.values[row * columns + column];
  const describe = (row, column) =>
    `${block.rows.labels[row]}, ${block.columns.labels[column]}: ${format(valueAt(row, column), layer.unit)}`;

  function paint() {
    scale = scaleOf(layer);
    const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
    layer.values.forEach((value, at) => {
      if (value !== null) image.data.set([...colourAt(colours, scale.share(value)), 255], 4 * at);
    });
    context.putImageData(image, 0, 0);
    const stops = Array.from({ length: 11 }, (_, at) => `rgb(${colourAt(colours, at / 10)})`);
    const bar = make("div", { class: "bar", role: "img", "aria-label": "scale of colours, brighter for more" });
    bar.style.background = `linear-gradient(to right, ${stops})`;
    const middle = scale.high > scale.low ? ` (middle ${format(scale.value(0.5), layer.unit)})` : "";
    legend.replaceChildren(format(scale.low, layer.unit), bar, format(scale.high, layer.unit) + middle);
    if (layer.values.includes(null)) legend.append(make("span", { class: "none" }), "none");
    const ends = layer.summary.map(([row, column, value]) => `${format(value, layer.unit)} (${row}, ${column})`);
    const range = ends.length ? `From ${ends[0]} to ${ends[1]}. ` : "It has no values. ";
    plot.setAttribute("aria-label", `${block.caption}, ${layer.name}: ${rows} rows, ${columns} columns. ${range}` +
      "Arrow keys go from cell to cell, Enter selects, Escape leaves.");
  }

  function layout(width) {
    const longest = (labels) => Math.min(150, labels.reduce((most, each) => Math.max(most, widthOf(each)), 0) + 8);
    const left = Math.min(longest(block.rows.labels), width / 3), top = Math.min(longest(block.columns.labels), 110) * 0.8 + 12;
    const room = Math.max(60, width - left - 40);
    const cell = Math.min(room / columns, rows === columns ? 56 : 80);
    const tall = rows === columns ? Math.min(cell, 30 + cell / 4) : Math.min(24, Math.max(3, 420 / rows));
    place = { left, top, cell, tall, width: cell * columns, height: tall * rows };
    canvas.style.cssText = `left:${left}px;top:${top}px;width:${place.width}px;height:${place.height}px`;
    svg.setAttribute("width", left + place.width + 40);
    svg.setAttribute("height", top + place.height + 4);
    decorate();
  }

  function decorate() {
    const { left, top, cell, tall, width, height } = place;
    const parts = [];
    const cut = (label, most) => {
      const share = most / widthOf(label);
      return share < 1 ? `${label.slice(0, Math.max(1, Math.floor(share * label.length) - 1))}\u2026` : label;
    };
    const labels = (axis, least, size, draw) => {
      const every = Math.ceil(least / size);
      axis.labels.forEach((label, at) => { if (at % every === 0) parts.push(draw(label, at)); });
    };
    labels(block.rows, LEAST_LABEL.rows, tall, (label, at) =>
      make("text", { x: left - 5, y: top + (at + 0.5) * tall + 4, "text-anchor": "end" }, cut(label, left - 6)));
    labels(block.columns, LEAST_LABEL.columns, cell, (label, at) =>
      make("text", { transform: `translate(${left + (at + 0.5) * cell + 4},${top - 5}) rotate(-50)` }, cut(label, 110)));
    const line = (x1, y1, x2, y2) => parts.push(make("line", { x1, y1, x2, y2, class: "group" }));
    let at = 0;
    for (const [, count] of block.rows.groups.slice(0, -1)) { at += count; line(left, top + at * tall, left + width, top + at * tall); }
    at = 0;
    for (const [, count] of block.columns.groups.slice(0, -1)) { at += count; line(left + at * cell, top, left + at * cell, top + height); }
    if (cell >= 44 && tall >= 13) layer.values.forEach((value, index) => {
      if (value === null) return;
      const [row, column] = [Math.floor(index / columns), index % columns];
      const [r, g, b] = colourAt(colours, scale.share(value));
      parts.push(make("text", { class: "value", "text-anchor": "middle", x: left + (column + 0.5) * cell, y: top + (row + 0.5) * tall + 4,
        style: `fill:${0.3 * r + 0.6 * g + 0.1 * b > 120 ? "#000" : "#fff"}` }, format(value, layer.unit)));
    });
    for (const [mark, name] of [[selected, "selected"], [cursor, "cursor"]]) {
      if (mark) parts.push(make("rect", { class: name, x: left + (mark[1] ?? 0) * cell, y: top + mark[0] * tall,
        width: mark[1] === null ? width : cell, height: tall }));
    }
    svg.replaceChildren(...parts);
  }

  function cellAt(event) {
    const box = svg.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - place.left) / place.cell);
    const row = Math.floor((event.clientY - box.top - place.top) / place.tall);
    return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
  }

  function say(text) { said.textContent = text; }

  function choose(cell) {
    const same = selected && cell && selected[0] === cell[0] && (block.by_row || selected[1] === cell[1]);
    const key = cell && !same ? `${cell[0]},${block.by_row ? "" : cell[1]}` : null;
    if (block.link) select(block.link, key, shown);
    else shown(key);
  }

  function shown(key) {
    const found = key === null ? null : /^(\d+),(\d*)$/.exec(key);
    selected = found ? [Number(found[1]), found[2] === "" ? null : Number(found[2])] : null;
    decorate();
    if (selected) say(selected[1] === null ? `Selected: ${block.rows.labels[selected[0]]}` : `Selected: ${describe(...selected)}`);
  }

  plot.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (cell) showTip(describe(...cell), event); else hideTip();
  });
  plot.addEventListener("pointerleave", hideTip);
  plot.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) { cursor = null; choose(cell); }
  });
  plot.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0],
      Home: [0, -columns], End: [0, columns] };
    const step = steps[event.key];
    if (step) {
      const from = cursor ?? (selected ? [selected[0], selected[1] ?? 0] : [-step[0], -step[1]]);
      cursor = [Math.min(rows - 1, Math.max(0, from[0] + step[0])), Math.min(columns - 1, Math.max(0, from[1] + step[1]))];
      decorate();
      say(describe(...cursor));
    } else if ((event.key === "Enter" || event.key === " ") && cursor) choose(cursor);
    else if (event.key === "Escape") { cursor = null; choose(null); say(""); }
    else return;
    event.preventDefault();
  });
  const figure = make("figure", { class: "heatmap" }, make("figcaption", {}, block.caption,
    make("small", {}, `Rows: ${block.rows.title}; columns: ${block.columns.title}; brighter for more. ${block.note}`)));
  if (block.layers.length > 1) {
    const choice = make("select", {}, ...block.layers.map((each, at) => make("option", { value: at }, each.name)));
    choice.addEventListener("change", () => { layer = block.layers[choice.value]; paint(); decorate(); });
    figure.append(make("label", {}, "Show ", choice));
  }
  const frame = make("div", { class: "scroll" }, plot);
  figure.append(frame, legend, said);
  if (block.link) onSelect(block.link, shown);
  paint();
  const fit = () => layout(Math.max(260, frame.clientWidth));
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(frame);
  addEventListener("beforeprint", () => layout(660));
  addEventListener("afterprint", fit);
  layout(900);
  return figure;
}
