"use strict";
// Theme, machine, sorting and filtering of tables, and the charts, which Plotly draws.

const root = document.documentElement;
const every = (selector, within = document) => [...within.querySelectorAll(selector)];

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// ------------------------------------------------------------------------------ theme

const button = document.getElementById("theme");
const isDark = () =>
  (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const name = () => (button.textContent = isDark() ? "Light" : "Dark");
button.hidden = false;
name();
button.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  kept("theme", root.dataset.theme);
  name();
  every(".chart.drawn").forEach(draw);
});

// ------------------------------------------------------------------------------ machine

const picker = document.getElementById("machine");
if (picker) {
  picker.parentElement.hidden = false;
  picker.addEventListener("change", () => {
    for (const element of every("[data-origin]"))
      element.classList.toggle("elsewhere", picker.value !== "" && element.dataset.origin !== picker.value);
    every("table.data").forEach(count);
  });
}

// ------------------------------------------------------------------------------ tables

const MANY = 8; // Rows from which a table has a filter.

function order(table, place, heading) {
  const down = heading.getAttribute("aria-sort") === "ascending";
  every("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const text = (row) => row.cells[place].textContent.trim();
  const value = (row) => (/^[-+.\d]/.test(text(row)) ? parseFloat(text(row)) : NaN);
  const compare = (a, b) => {
    if (!text(a) || !text(b)) return Number(!text(a)) - Number(!text(b)); // What is empty comes last.
    const [x, y] = [value(a), value(b)];
    const found = isNaN(x) || isNaN(y) ? text(a).localeCompare(text(b)) : x - y;
    return down ? -found : found;
  };
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort(compare));
}

function count(table) {
  const tools = table.parentElement.previousElementSibling;
  if (!tools?.classList.contains("tools")) return;
  const rows = [...table.tBodies[0].rows];
  const left = rows.filter((row) => !row.classList.contains("elsewhere") && !row.classList.contains("out"));
  tools.querySelector("output").textContent = `${left.length} of ${rows.length} rows`;
}

function filter(table, words, verdict) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    const badge = row.querySelector(".badge")?.textContent ?? "";
    row.classList.toggle("out", !wanted.every((word) => text.includes(word)) || (verdict !== "" && badge !== verdict));
  }
  count(table);
}

for (const table of every("table.data")) {
  every("thead th", table).forEach((heading, place) => {
    const sorter = make("button", { type: "button" }, ...heading.childNodes);
    sorter.addEventListener("click", () => order(table, place, heading));
    heading.append(sorter);
  });
  const rows = [...table.tBodies[0].rows];
  if (rows.length <= MANY) continue;
  const title = table.caption.textContent;
  const search = make("input", { type: "search", placeholder: "filter rows", ariaLabel: `Filter: ${title}` });
  const tools = make("div", { className: "tools" }, search);
  const verdicts = [...new Set(rows.map((row) => row.querySelector(".badge")?.textContent ?? ""))].filter(Boolean);
  const choice = make("select", { ariaLabel: `Verdict: ${title}` }, make("option", { value: "" }, "all verdicts"));
  verdicts.forEach((verdict) => choice.append(make("option", { value: verdict }, verdict)));
  if (verdicts.length > 1) tools.append(choice);
  tools.append(make("output"));
  const apply = () => filter(table, search.value, choice.value);
  search.addEventListener("input", apply);
  choice.addEventListener("change", apply);
  table.parentElement.before(tools);
  count(table);
}

// A link to a row or a heading may lead into a closed part.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let outer = target?.parentElement; outer; outer = outer.parentElement)
    if (outer.tagName === "DETAILS") outer.open = true;
  target?.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

// ------------------------------------------------------------------------------ charts

// A title in as many lines as it needs: Plotly cuts what does not fit.
function wrapped(text, width) {
  const most = Math.max(20, Math.floor(width / 6.5));
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last && last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}

function draw(chart) {
  const style = getComputedStyle(root);
  const [ink, line, paper] = ["--ink", "--line", "--page"].map((key) => style.getPropertyValue(key).trim());
  const shown = structuredClone(chart.panel);
  // Black curves are drawn in the colour of the text.
  const themed = JSON.parse(JSON.stringify(shown.data).replaceAll('"#000000"', JSON.stringify(ink)));
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true, exponentformat: "power" };
  for (const key of ["xaxis", "yaxis"]) {
    if (!shown.layout[key]) continue;
    Object.assign(shown.layout[key], axis);
    if (chart.linear && key === "yaxis") {
      shown.layout[key].type = shown.layout[key].type === "log" ? "linear" : "log";
      delete shown.layout[key].range;
      delete shown.layout[key].tickvals;
    }
  }
  const title = wrapped(shown.title, chart.clientWidth - 60);
  themed.forEach((trace) => (trace.visible = !chart.hiddenSeries.has(trace.legendgroup)));
  Plotly.react(chart.plot, themed, {
    ...shown.layout,
    hiddenlabels: [...chart.hiddenSeries],
    title: { text: title.join("<br>"), font: { size: 13 }, x: 0, xref: "paper" },
    font: { color: ink, family: style.fontFamily, size: 12 },
    paper_bgcolor: paper, plot_bgcolor: paper, hoverlabel: { namelength: -1 },
    margin: { l: 50, r: 10, t: 22 + 18 * title.length, b: 50 }, showlegend: false, height: 322 + 18 * title.length, dragmode: false,
  }, { displayModeBar: false, responsive: true });
  chart.classList.add("drawn");
}

// One legend of check boxes for all panels of a figure, and one button for the scale.
function legend(figure) {
  const charts = every(".chart", figure);
  const box = make("div", { className: "legend" });
  const colours = new Map();
  for (const chart of charts)
    for (const trace of chart.panel.data)
      if (trace.type === "pie") trace.labels.forEach((label, place) => colours.set(label, trace.marker.colors[place]));
      else if (!["model", "reference"].includes(trace.meta) && !colours.has(trace.legendgroup))
        colours.set(trace.legendgroup, trace.type === "bar" ? trace.marker.line.color : trace.line.color);
  const dashes = (series) => new Set(charts.flatMap((chart) => chart.panel.data)
    .filter((trace) => trace.legendgroup === series && trace.line && trace.type !== "bar").map((trace) => trace.line.dash));
  for (const [series, colour] of colours) {
    const check = make("input", { type: "checkbox", checked: true });
    const swatch = make("span", { className: "swatch" });
    const shade = colour === "#000000" ? "var(--ink)" : colour;
    const dash = [...dashes(series)];
    // Curves of one colour are told apart by their dashes.
    if (dash.length === 1 && dash[0] && dash[0] !== "solid") {
      swatch.classList.add("line");
      swatch.style.borderTop = `3px ${dash[0] === "dash" ? "dashed" : "dotted"} ${shade}`;
    } else swatch.style.background = shade;
    check.addEventListener("change", () => {
      charts.forEach((chart) => chart.hiddenSeries[check.checked ? "delete" : "add"](series));
      charts.filter((chart) => chart.plot).forEach(draw);
    });
    box.append(make("label", {}, check, swatch, series));
  }
  const { marks } = figure.querySelector(".panels").dataset;
  if (marks) box.append(make("span", { className: "soft" }, marks));
  const scaled = charts.filter((chart) => canScale(chart.panel));
  if (scaled.length) {
    const swap = make("button", { type: "button" }, "log / linear");
    swap.addEventListener("click", () => {
      scaled.forEach((chart) => (chart.linear = !chart.linear));
      scaled.filter((chart) => chart.plot).forEach(draw);
    });
    box.append(swap);
  }
  figure.querySelector(".panels").before(box);
}

const canScale = (panel) =>
  panel.layout.yaxis !== undefined &&
  panel.data.every((trace) => trace.orientation !== "h" && (trace.base ?? [0]).every((base) => base === 0)
    && (trace.y ?? []).every((value) => value === null || value > 0));

for (const chart of every(".chart")) {
  chart.panel = JSON.parse(chart.querySelector("script").textContent);
  chart.hiddenSeries = new Set();
  chart.linear = false;
}
every("figure").filter((figure) => figure.querySelector(".chart")).forEach(legend);
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    target.plot = make("div");
    target.append(target.plot);
    draw(target);
  }
}, { rootMargin: "400px" });
// Without Plotly (an old browser) the picture and the table stay.
window.plotlyReady
  ?.then(() => every(".chart").forEach((chart) => seen.observe(chart)))
  .catch(() => delete root.dataset.script);
