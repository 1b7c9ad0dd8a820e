"use strict";
// Reads the planned combinations from the page and shows one of them, and a chart along one setting.
const data = JSON.parse(document.getElementById("data").textContent);
const choices = data.dimensions.map((_, n) => document.getElementById(`set-${n}`));
const along = document.getElementById("along");
const measure = document.getElementById("measure");
const chart = document.getElementById("chart");
const rowAt = new Map(data.rows.map((row) => [row.at.join(), row]));
const MOST_STEPS = 5;

// ε and δ are upper bounds and come written, rounded up; the others have four digits.
function text(row, key) {
  if (key in row.written) return row.written[key];
  const value = row.costs[key];
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(4)));
}

function showFigures(row) {
  const refused = document.getElementById("refused");
  refused.hidden = row.costs !== null;
  refused.textContent = row.costs === null ? `Refused: ${row.refused}` : "";
  for (const { key } of data.measures) {
    document.getElementById(`figure-${key}`).textContent = row.costs === null ? "–" : text(row, key);
  }
  document.getElementById("judgement").textContent = row.costs === null ? "–" : data.judgements[row.judgement];
}

// The smallest of 1, 2, 2.5, 5 times a power of ten that reaches the highest value in few steps: such ticks are
// written exactly.
function tickStep(highest) {
  const power = 10 ** Math.floor(Math.log10(highest / MOST_STEPS));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step * MOST_STEPS >= highest);
}

function draw(name, attributes, content) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (content !== undefined) element.textContent = content;
  chart.append(element);
}

function showChart(chosen) {
  const axis = Number(along.value);
  const { key, title } = data.measures[Number(measure.value)];
  const { name, values } = data.dimensions[axis];
  const points = values.map((value, place) => {
    const row = rowAt.get(chosen.map((own, n) => (n === axis ? place : own)).join());
    return { value, place, row, height: row.costs === null ? null : row.costs[key] };
  }).filter((point) => point.height !== null);
  const highest = Math.max(0, ...points.map((point) => point.height)) || 1;
  const x = (place) => 62 + (values.length > 1 ? place / (values.length - 1) : 0.5) * 316;
  const step = tickStep(highest);
  const steps = Math.ceil(highest / step);
  const y = (height) => 196 - (height / (steps * step)) * 180;
  chart.replaceChildren();
  for (let tick = 0; tick <= steps; tick += 1) {
    draw("line", { x1: 52, x2: 392, y1: y(tick * step), y2: y(tick * step), class: "grid" });
    draw("text", { x: 47, y: y(tick * step) + 4, "text-anchor": "end" }, Number((tick * step).toPrecision(3)));
  }
  values.forEach((value, place) => draw("text", { x: x(place), y: 214, "text-anchor": "middle" }, value));
  draw("text", { x: 222, y: 234, "text-anchor": "middle" }, name);
  draw("polyline", { points: points.map((p) => `${x(p.place)},${y(p.height)}`).join(" "), class: "line line-0" });
  for (const point of points) {
    const own = point.place === chosen[axis];
    draw("circle", { cx: x(point.place), cy: y(point.height), r: own ? 5.5 : 3.2, class: "marker-0" });
  }
  document.getElementById("chart-title").textContent = `${title}, along ${name}`;
  const told = points.map((point) => `${point.value}: ${text(point.row, key)}`).join("; ");
  chart.setAttribute("aria-label", `${title} along ${name}. ${told || "every point was refused"}`);
}

function show() {
  const chosen = choices.map((choice) => Number(choice.value));
  showFigures(rowAt.get(chosen.join()));
  showChart(chosen);
}

for (const choice of [...choices, along, measure]) choice.addEventListener("change", show);
show();
