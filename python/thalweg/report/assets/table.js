// Tables that can be sorted, and whose rows select what they are about.

const FIRST_ROWS = 15;

/** Numbers before text before nothing. */
function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
}

function showTable(block) {
  const rows = block.rows.map((cells, at) => ({ cells, key: block.keys[at] ?? null, at }));
  const linked = Boolean(block.link) && rows.some((row) => row.key !== null);
  const body = make("tbody");
  const heads = block.columns.map(([name, unit], column) => head(name, unit, column));
  const table = make("table", linked ? { role: "grid" } : {}, make("caption", {}, block.caption),
    make("thead", {}, make("tr", {}, ...heads)), body);
  const more = make("button", { class: "more", type: "button" });
  let order = rows, sorted = -1, down = false, all = rows.length <= FIRST_ROWS + 5, chosen = null;

  function head(name, unit, column) {
    const button = make("button", { type: "button" }, name);
    button.addEventListener("click", () => sort(column));
    return make("th", { scope: "col", class: unit === "text" ? "" : "number", "aria-sort": "none" }, button);
  }

  function sort(column) {
    down = sorted === column ? !down : block.columns[column][1] !== "text";
    sorted = column;
    order = [...rows].sort((a, b) => {
      const [x, y] = [a.cells[column], b.cells[column]];
      const sign = x === null || y === null ? 1 : down ? -1 : 1;
      return sign * compare(x, y) || a.at - b.at;
    });
    heads.forEach((each, at) => each.setAttribute("aria-sort", at !== sorted ? "none" : down ? "descending" : "ascending"));
    fill();
  }

  function fill() {
    const shown = all ? order : order.slice(0, FIRST_ROWS);
    if (!all && chosen !== null && !shown.some((row) => row.key === chosen)) {
      const found = order.find((row) => row.key === chosen);
      if (found) shown.push(found);
    }
    body.replaceChildren(...shown.map(line));
    const first = body.querySelector("[data-key]");
    if (first && !body.querySelector("[tabindex='0']")) first.tabIndex = 0;
    more.textContent = all ? "Show fewer rows" : `Show all ${rows.length} rows`;
    more.hidden = rows.length <= FIRST_ROWS + 5;
  }

  function line(row) {
    const cells = row.cells.map((cell, at) => {
      const [, unit] = block.columns[at];
      return make(at ? "td" : "th", { ...(at ? {} : { scope: "row" }), class: unit === "text" ? "" : "number" }, format(cell, unit));
    });
    const element = make("tr", {}, ...cells);
    if (linked && row.key !== null) {
      element.dataset.key = row.key;
      element.tabIndex = row.key === chosen ? 0 : -1;
      element.setAttribute("aria-selected", String(row.key === chosen));
    }
    return element;
  }

  function choose(element) {
    select(block.link, element.dataset.key === chosen ? null : element.dataset.key, shown);
  }

  function shown(key, own) {
    chosen = key;
    const focused = own && body.contains(document.activeElement);
    fill();
    const row = key === null ? null : body.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (row && focused) row.focus();
    if (row && !own) scroll.scrollTop = row.offsetTop;
  }

  body.addEventListener("click", (event) => {
    const row = event.target.closest("[data-key]");
    if (row) choose(row);
  });
  body.addEventListener("keydown", (event) => {
    const row = event.target.closest("[data-key]");
    if (!row) return;
    const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling,
      Home: body.firstElementChild, End: body.lastElementChild }[event.key];
    if (next) {
      row.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") choose(row);
    else if (event.key === "Escape") select(block.link, null, shown);
    else return;
    event.preventDefault();
  });
  more.addEventListener("click", () => { all = !all; fill(); });
  if (linked) onSelect(block.link, shown);
  fill();
  const scroll = make("div", { class: "scroll" }, table);
  const figure = make("figure", { class: "table" }, scroll, more);
  if (block.note) figure.append(make("p", { class: "note" }, block.note));
  return figure;
}
