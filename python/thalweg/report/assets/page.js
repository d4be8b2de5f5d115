// Builds the page from its data.

const data = JSON.parse(document.getElementById("data").textContent);

function showText(block) {
  return make("div", {}, ...block.text.map((each) => make("p", {}, each)));
}

function showDrawing(block) {
  const frame = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": block.caption });
  frame.innerHTML = block.svg; // made by thalweg.drawing, which escapes names
  const svg = frame.querySelector("svg");
  const size = ["width", "height"].map((side) => Number(svg.getAttribute(side)));
  const zoom = Math.max(1, Math.min(1.4, 900 / size[0])); // small drawings are easier to read enlarged
  svg.setAttribute("width", zoom * size[0]);
  svg.setAttribute("height", zoom * size[1]);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", block.description);
  const figure = make("figure", { class: "drawing" }, make("figcaption", {}, block.caption, make("small", {}, block.note)), frame);
  if (!block.link) return figure;
  const shown = (key) => {
    for (const part of frame.querySelectorAll(".selected")) part.classList.remove("selected");
    if (key === null) return;
    for (const part of frame.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)) {
      part.classList.add("selected");
      part.parentNode.append(part); // above the others
    }
  };
  frame.addEventListener("click", (event) => {
    const part = event.target.closest("[data-key]");
    select(block.link, part && !part.classList.contains("selected") ? part.dataset.key : null, null);
  });
  onSelect(block.link, shown);
  return figure;
}

function showPath(block) {
  const steps = block.steps.map(([name, remark, share]) => {
    const step = make("div", { class: "step" }, make("b", {}, name), make("small", {}, remark));
    if (share !== null) step.append(make("div", { class: "share", style: `--share:${100 * share}%`, "aria-hidden": "true" }));
    return make("li", {}, step);
  });
  const figure = make("figure", { class: "path" }, make("figcaption", {}, block.caption), make("ol", {}, ...steps));
  if (block.note) figure.append(make("p", { class: "note" }, block.note));
  return figure;
}

const SHOW = {
  text: showText, table: showTable, drawing: showDrawing, path: showPath,
  heatmap: (block) => showHeatmap(block, data.scale),
};

document.getElementById("contents").replaceChildren(...data.sections.map((section) =>
  make("section", { id: section.id, "aria-labelledby": `${section.id}-title` },
    make("h2", { id: `${section.id}-title` }, section.title),
    ...section.blocks.map((block) => SHOW[block.kind](block)))));

const theme = document.getElementById("theme");
theme.addEventListener("change", () => { document.documentElement.dataset.theme = theme.value; });
if (location.hash.length > 1) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
