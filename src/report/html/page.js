// What moves on the page: thresholds, drawings, the order of slices, light and dark. Tables need none of it.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const SERIES = { atomic_only: "one", baseline_only: "two", cascade: "three" };
const DASHES = { atomic_only: "", baseline_only: "7 4", cascade: "2 3" };
const ROWS_OF_COST = 1000;
const NANO = 1e9;

function element(parent, tag, attributes = {}, text = "") {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  parent.append(made);
  return made;
}

// ---- numbers

const grouped = (number, decimals = 0) =>
  number.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
const percent = (part, whole) => (whole === 0 ? "none: no rows" : `${grouped((100 * part) / whole, 1)} %`);
const share = (part, whole) => `${grouped(part)} of ${grouped(whole)} (${percent(part, whole)})`;

function dollars(value) {
  const size = Math.abs(value);
  return `$${grouped(value, 100 <= size ? 2 : 0.01 <= size || size === 0 ? 4 : 7)}`;
}

// How many of `length` entries, ascending, come before the first that is `after`.
function countBefore(length, after) {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (after(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Sums of the first k entries, for every k; none from the first entry on that is not known.
function prefixes(values) {
  const sums = [0];
  for (const value of values) sums.push(value === null || sums.at(-1) === null ? null : sums.at(-1) + value);
  return sums;
}

// ---- what a threshold gives

// On the confidence of the atomic diagnosis: rows are sorted, the surest first.
function byConfidence() {
  const rows = data.rows;
  const length = rows.confidence.length;
  const scale = 10 ** data.confidence_decimals;
  const keys = rows.confidence.map((one) => (one === null ? -1 : Math.round(one * scale)));
  const hasBaseline = length !== 0 && rows.baseline_is_right.length === length;
  const right = prefixes(rows.is_right);
  const nano = prefixes(rows.nano_usd);
  const latency = prefixes(rows.latency_ms);
  // Of the fallback judge: sums of the last rows, from k on.
  const rest = (values) => prefixes([...values].reverse()).reverse();
  const baselineRight = rest(rows.baseline_is_right);
  const baselineNano = rest(rows.baseline_nano_usd);
  const baselineLatency = rest(rows.baseline_latency_ms);
  return (threshold) => {
    const key = Math.round(threshold * scale);
    const accepted = countBefore(length, (place) => keys[place] < key);
    const total = nano[length];
    const later = hasBaseline ? baselineNano[accepted] : null;
    return {
      row_count: length,
      accepted,
      wrong: accepted - right[accepted],
      right: hasBaseline ? right[accepted] + baselineRight[accepted] : null,
      nano_usd: total === null || later === null ? null : total + later,
      mean_latency_ms: hasBaseline && length !== 0 ? (latency[length] + baselineLatency[accepted]) / length : null,
    };
  };
}

// On the probability of one dimension: counts by value, ascending.
function byDimension(dimension) {
  const values = dimension.values.map(([value]) => value);
  const negatives = prefixes(dimension.values.map(([, count]) => count));
  const positives = prefixes(dimension.values.map(([, , count]) => count));
  const count = negatives.at(-1) + positives.at(-1);
  return (failAt, passAt) => {
    const below = countBefore(values.length, (place) => failAt < values[place]);
    const above = countBefore(values.length, (place) => passAt <= values[place]);
    const negative = negatives[below] + positives[below];
    const positive = count - negatives[above] - positives[above];
    return {
      count,
      positive,
      positive_wrong: negatives.at(-1) - negatives[above],
      negative,
      negative_wrong: positives[below],
      uncertain: count - negative - positive,
    };
  };
}

// What the report says of all rows at a threshold that is a hundredth; none at another.
function hundredth(threshold) {
  const place = Math.round(threshold * 100);
  return place / 100 === threshold ? place : null;
}

function confidenceOfReport(threshold) {
  const place = hundredth(threshold);
  const told = data.cost_quality;
  if (place === null || !told) return null;
  return {
    row_count: told.row_count,
    accepted: told.accepted[place],
    wrong: told.accepted_wrong[place],
    right: told.right[place],
    nano_usd: told.nano_usd ? told.nano_usd[place] : null,
    mean_latency_ms: told.mean_latency_ms[place],
  };
}

function dimensionOfReport(dimension, failAt, passAt) {
  const [below, above] = [hundredth(failAt), hundredth(passAt)];
  const told = dimension.sides;
  if (below === null || above === null || !told) return null;
  const [positive, negative] = [told.at_or_above[above], told.at_or_below[below]];
  return {
    count: dimension.scored_count,
    positive,
    positive_wrong: told.at_or_above_wrong[above],
    negative,
    negative_wrong: told.at_or_below_wrong[below],
    uncertain: dimension.scored_count - positive - negative,
  };
}

// ---- the same in words: a name, a text and the bare number

function confidenceLines(told) {
  const n = told.row_count;
  const usd = told.nano_usd === null ? null : ((told.nano_usd / NANO) * ROWS_OF_COST) / Math.max(n, 1);
  const unasked = "not known: the fallback judge was not asked alone";
  return [
    ["accepted", "Accepted from the atomic judge (coverage)", share(told.accepted, n), told.accepted],
    ["wrong", "Wrong among the accepted (risk)", share(told.wrong, told.accepted), told.wrong],
    ["fallback", "Left to the fallback judge (fallback rate)", share(n - told.accepted, n), n - told.accepted],
    ["right", "Right in the end, the fallback judge alone deciding the rest (accuracy after fallback)", told.right === null ? unasked : share(told.right, n), told.right],
    ["nano_usd", "Cost of 1,000 labelled rows", usd === null ? "unknown" : n === 0 ? "none: no rows" : dollars(usd), told.nano_usd],
    [
      "mean_latency_ms",
      "Mean latency, 0 ms where no judge was asked",
      told.mean_latency_ms === null ? unasked : `${grouped(told.mean_latency_ms, 1)} ms`,
      told.mean_latency_ms,
    ],
  ];
}

function dimensionLines(told) {
  const decided = told.positive + told.negative;
  const wrong = told.positive_wrong + told.negative_wrong;
  return [
    ["decided", "Decided (coverage)", share(decided, told.count), decided],
    ["wrong", "Wrong among the decided (risk)", share(wrong, decided), wrong],
    ["positive", "Taken as true", share(told.positive, told.count), told.positive],
    ["positive_wrong", "Wrong among these", share(told.positive_wrong, told.positive), told.positive_wrong],
    ["negative", "Taken as false", share(told.negative, told.count), told.negative],
    ["negative_wrong", "Wrong among these", share(told.negative_wrong, told.negative), told.negative_wrong],
    ["uncertain", "Left open, by this question alone", share(told.uncertain, told.count), told.uncertain],
  ];
}

// ---- the control

const control = document.getElementById("control");
const decide = document.getElementById("decide");
const sliders = document.getElementById("sliders");
const outcome = document.getElementById("outcome");
const isSample = data.embedded_count < data.row_count;
// The thresholds that stand now: `at` of the confidence, `failAt` and `passAt` of a dimension.
let now = {};
let recompute = () => {};
// What the threshold on the confidence gives that stands now; none while a dimension decides.
let accepting = () => null;
// Whose numbers are moved. The tables of a cascade count what the fallback judge said in the place of an open answer.
let whose = "";

function slider(name, label, set) {
  const field = element(sliders, "p", { class: "field" });
  const id = `slide-${name}`;
  element(field, "label", { for: id }, label);
  const limits = { min: 0, max: 1, step: 0.01 };
  const range = element(field, "input", { type: "range", id, ...limits });
  const number = element(field, "input", {
    type: "number", id: `number-${name}`, "aria-label": `${label}, as a number`, ...limits,
  });
  const take = (input) => {
    const value = input.value === "" ? NaN : Number(input.value);
    if (0 <= value && value <= 1) set(value);
    show(input);
    update();
  };
  const show = (source) => {
    if (source !== number) number.value = now[name];
    range.value = now[name];
    range.setAttribute("aria-valuetext", String(now[name]));
  };
  range.addEventListener("input", () => take(range));
  number.addEventListener("input", () => take(number));
  number.addEventListener("change", () => show(null));
  return { show };
}

const hundred = (value) => Math.round(value * 100) / 100;

function chooseConfidence() {
  const compute = byConfidence();
  now = { at: 0 };
  whose = "Atomic diagnoses";
  const at = slider("at", "Accept a confidence of at least", (value) => (now.at = value));
  at.show(null);
  accepting = () => confidenceOfReport(now.at) ?? compute(now.at);
  recompute = () => [confidenceLines(compute(now.at)), confidenceOfReport(now.at), confidenceLines];
}

function chooseDimension(dimension) {
  const compute = byDimension(dimension);
  whose = `Answers of the ${data.answers_of} judge alone`;
  now = { failAt: dimension.policy?.fail_at ?? 0.25, passAt: dimension.policy?.pass_at ?? 0.75 };
  const both = [];
  both.push(
    slider("failAt", "Take as false at most", (value) => {
      now.failAt = Math.min(value, 0.99);
      if (now.passAt <= now.failAt) now.passAt = hundred(Math.min(1, now.failAt + 0.01));
      both[1].show(null);
    }),
    slider("passAt", "Take as true at least", (value) => {
      now.passAt = Math.max(value, 0.01);
      if (now.passAt <= now.failAt) now.failAt = hundred(Math.max(0, now.passAt - 0.01));
      both[0].show(null);
    }),
  );
  for (const one of both) one.show(null);
  accepting = () => null;
  recompute = () => [
    dimensionLines(compute(now.failAt, now.passAt)),
    dimensionOfReport(dimension, now.failAt, now.passAt),
    dimensionLines,
  ];
}

function choose() {
  sliders.replaceChildren();
  if (decide.value === "confidence") chooseConfidence();
  else chooseDimension(data.dimensions.find((one) => one.name === decide.value));
  update();
}

// The thresholds that stand now, in words.
function standing() {
  if (now.at !== undefined) return `Confidence of at least ${now.at}`;
  return `False at most ${now.failAt}, true at least ${now.passAt}`;
}

function update() {
  const [lines, report, words] = recompute();
  const whole = isSample && report ? words(report) : null;
  const box = document.createElement("div");
  box.className = "scroll";
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "What these thresholds give");
  const table = element(box, "table", { "aria-label": "What these thresholds give" });
  const head = element(element(table, "thead"), "tr");
  element(head, "th", { scope: "col" }, standing());
  element(head, "th", { scope: "col", class: "number" }, `${whose}, ${isSample ? "rows of this page" : "all rows"}`);
  if (whole) element(head, "th", { scope: "col", class: "number" }, `${whose}, all rows`);
  const body = element(table, "tbody");
  lines.forEach(([name, label, text, value], place) => {
    const row = element(body, "tr");
    element(row, "th", { scope: "row" }, label);
    element(row, "td", { class: "number", "data-name": name, "data-value": value ?? "unknown" }, text);
    if (whole) element(row, "td", { class: "number" }, whole[place][2]);
  });
  outcome.replaceChildren(box);
  say(lines.map(([, label, text]) => `${label}: ${text}`).join("; "));
  for (const plot of plots) plot.mark?.();
}

// Tells a screen reader once the threshold rests.
let saying = 0;
function say(text) {
  clearTimeout(saying);
  saying = setTimeout(() => (document.getElementById("said").textContent = text), 400);
}

function startControl() {
  if (data.first_mode && data.rows.confidence.length) {
    element(decide, "option", { value: "confidence" }, `confidence of the atomic diagnosis (${data.first_mode})`);
  }
  for (const one of data.dimensions.filter((dimension) => dimension.values.length)) {
    element(decide, "option", { value: one.name }, `${one.name}${one.is_bad_when_true ? " (bad when true)" : ""}`);
  }
  if (!decide.options.length) {
    outcome.textContent = "No row has a label and an answer of the atomic judge, so there is nothing to recompute.";
    return;
  }
  control.hidden = false;
  document.getElementById("thresholds").classList.add("moved");
  document.getElementById("sample").textContent = isSample
    ? `Recomputed from a sample of ${grouped(data.embedded_count)} of ${grouped(data.row_count)} rows; what the report counts over all of them stands beside.`
    : `Recomputed from all ${grouped(data.row_count)} rows that stand in this page.`;
  decide.addEventListener("change", choose);
  control.addEventListener("submit", (event) => event.preventDefault());
  control.addEventListener("reset", (event) => {
    event.preventDefault();
    choose();
  });
  choose();
}

// ---- drawings

const plots = [];
const SVG = "http://www.w3.org/2000/svg";

function shape(parent, tag, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  parent.append(made);
  return made;
}

// Round steps that cover a span in about `count` parts.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => rough <= size * 1.0001);
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + 1e-9 * step; place++) found.push(place * step || 0);
  return found;
}

let drawn = 0;

// Axes with a grid; gives the places of values.
function axes(box, { title, description, width, height, x, y }) {
  drawn += 1;
  const margin = { left: 48, right: 24, top: 8, bottom: 38 };
  const svg = shape(box, "svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-labelledby": `plot-${drawn}-title plot-${drawn}-text`,
  });
  shape(svg, "title", { id: `plot-${drawn}-title` }, title);
  shape(svg, "desc", { id: `plot-${drawn}-text` }, description);
  const place = (axis, from, to) => (value) => from + ((value - axis.low) / (axis.high - axis.low)) * (to - from);
  const atX = place(x, margin.left, width - margin.right);
  const atY = place(y, height - margin.bottom, margin.top);
  for (const tick of ticks(y.low, y.high, height < 240 ? 4 : 5)) {
    shape(svg, "line", { class: "grid", x1: atX(x.low), x2: atX(x.high), y1: atY(tick), y2: atY(tick) });
    shape(svg, "text", { x: margin.left - 6, y: atY(tick) + 4, "text-anchor": "end" }, y.write(tick));
  }
  for (const tick of ticks(x.low, x.high, width < 320 ? 4 : 5)) {
    shape(svg, "line", { class: "axis", x1: atX(tick), x2: atX(tick), y1: atY(y.low), y2: atY(y.low) + 4 });
    shape(svg, "text", { x: atX(tick), y: atY(y.low) + 17, "text-anchor": "middle" }, x.write(tick));
  }
  shape(svg, "line", { class: "axis", x1: atX(x.low), x2: atX(x.high), y1: atY(y.low), y2: atY(y.low) });
  shape(svg, "text", { x: (atX(x.low) + atX(x.high)) / 2, y: height - 4, "text-anchor": "middle" }, x.name);
  return { svg, atX, atY };
}

function mark(svg, mode, x, y) {
  const attributes = { class: `mark ${SERIES[mode]}` };
  if (mode === "atomic_only") shape(svg, "circle", { ...attributes, cx: x, cy: y, r: 5 });
  else if (mode === "baseline_only") shape(svg, "rect", { ...attributes, x: x - 5, y: y - 5, width: 10, height: 10 });
  else shape(svg, "path", { ...attributes, d: `M${x},${y - 6}L${x + 6},${y + 5}H${x - 6}Z` });
}

function legend(box, entries) {
  const list = element(box, "ul", { class: "legend" });
  for (const { mode, text, draw } of entries) {
    const item = element(list, "li");
    const svg = shape(item, "svg", { width: 30, height: 14, "aria-hidden": "true" });
    if (draw === "line") {
      shape(svg, "line", { class: `line ${SERIES[mode]}`, x1: 1, x2: 29, y1: 7, y2: 7, "stroke-dasharray": DASHES[mode] });
    } else if (draw === "mark") mark(svg, mode, 15, 7);
    else shape(svg, "circle", { class: "now", cx: 15, cy: 7, r: 5.5 });
    element(item, "span", {}, text);
  }
}

const whole = (value) => `${grouped(100 * value, 0)} %`;
const tenth = (value) => `${grouped(100 * value, Math.abs(100 * value - Math.round(100 * value)) < 1e-6 ? 0 : 1)} %`;
const path = (points, atX, atY) =>
  points.map(([x, y], place) => `${place ? "L" : "M"}${atX(x).toFixed(1)},${atY(y).toFixed(1)}`).join("");

// The ring of the threshold that stands now; it is drawn again whenever that moves.
function ring(svg) {
  return shape(svg, "circle", { class: "now", r: 7, visibility: "hidden" });
}

function hide(circle) {
  circle.setAttribute("visibility", "hidden");
}

function move(circle, x, y) {
  circle.setAttribute("cx", x);
  circle.setAttribute("cy", y);
  circle.setAttribute("visibility", "visible");
}

function drawRisk(box, width) {
  const curves = Object.entries(data.curves).filter(([, points]) => points.length);
  if (!curves.length) return nothing(box, "No diagnosis has both a confidence and a label.");
  const top = Math.max(...curves.flatMap(([, points]) => points.map((point) => point.risk)), 0.05);
  const told = curves.map(([mode, points]) => `${mode}: risk ${tenth(points.at(-1).risk)} at the full coverage of ${tenth(points.at(-1).coverage)}`);
  const { svg, atX, atY } = axes(box, {
    title: "Risk against coverage",
    description: `${told.join("; ")}. The table of thresholds below has the numbers.`,
    width, height: 300,
    x: { low: 0, high: 1, name: "coverage of the labelled rows", write: whole },
    y: { low: 0, high: top * 1.08, name: "risk", write: tenth },
  });
  for (const [mode, points] of curves) {
    const line = points.map((point) => [point.coverage, point.risk]);
    shape(svg, "path", { class: `line ${SERIES[mode]}`, "stroke-dasharray": DASHES[mode], d: path(line, atX, atY) });
    mark(svg, mode, atX(line.at(-1)[0]), atY(line.at(-1)[1]));
  }
  const entries = curves.map(([mode]) => ({ mode, text: mode, draw: "line" }));
  const circle = ring(svg);
  // The curve of the cascade has what the fallback judge decided too, which the threshold does not accept.
  const isOwn = data.first_mode === "atomic_only" && data.curves.atomic_only?.length;
  if (isOwn) entries.push({ text: "the threshold that stands now", draw: "now" });
  legend(box, entries);
  return () => {
    const told = isOwn ? accepting() : null;
    if (!told?.accepted) return hide(circle);
    const [coverage, risk] = [told.accepted / told.row_count, told.wrong / told.accepted];
    Object.assign(circle.dataset, { coverage, risk });
    return move(circle, atX(coverage), atY(risk));
  };
}

function drawCost(box, width) {
  const told = data.cost_quality;
  if (!told || !told.row_count) {
    return nothing(box, "It needs labelled rows on which both judges were asked alone: run the modes atomic_only and baseline_only, or all.");
  }
  const n = told.row_count;
  const isPriced = Boolean(told.nano_usd);
  const xOf = (place) => (isPriced ? ((told.nano_usd[place] / NANO) * ROWS_OF_COST) / n : (n - told.accepted[place]) / n);
  const points = told.right.map((right, place) => [xOf(place), right / n]);
  const modes = Object.entries(data.modes).filter(
    ([, point]) => isPriced && point.overall_accuracy !== null && point.per_row_nano_usd !== null,
  ).map(([mode, point]) => [mode, (point.per_row_nano_usd / NANO) * ROWS_OF_COST, point.overall_accuracy]);
  const all = [...points, ...modes.map(([, x, y]) => [x, y])];
  const span = (values, least) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = Math.max((high - low) * 0.08, least);
    return [Math.max(0, low - room), high + room];
  };
  const [lowX, highX] = span(all.map(([x]) => x), isPriced ? 1e-9 : 0.01);
  const [lowY, highY] = span(all.map(([, y]) => y), 0.01);
  const { svg, atX, atY } = axes(box, {
    title: "Quality against cost",
    description: `From ${percent(told.right[0], n)} right at a threshold of 0 to ${percent(told.right[100], n)} at 1, over ${n} rows. A table below has the numbers.`,
    width, height: 300,
    x: {
      low: lowX, high: highX,
      name: isPriced ? "cost of 1,000 rows" : "left to the fallback judge (a cost is unknown)",
      write: isPriced ? (value) => `$${Number(value.toPrecision(3))}` : tenth,
    },
    y: { low: lowY, high: Math.min(1, highY), name: "right in the end", write: tenth },
  });
  shape(svg, "path", { class: "line one", d: path(points, atX, atY) });
  for (const [mode, x, y] of modes) mark(svg, mode, atX(x), atY(y));
  const circle = ring(svg);
  legend(box, [
    { mode: "atomic_only", text: "thresholds from 0 to 1", draw: "line" },
    ...modes.map(([mode]) => ({ mode, text: mode, draw: "mark" })),
    { text: "the threshold that stands now", draw: "now" },
  ]);
  return () => {
    if (now.at === undefined) return hide(circle);
    const [x, y] = points[Math.round(now.at * 100)];
    return move(circle, atX(x), atY(y));
  };
}

function drawReliability(box, width, figure) {
  const { name, bins } = data.reliability[Number(figure.dataset.index)];
  const filled = bins.filter((bin) => bin.count && bin.mean.value !== undefined && bin.rate.value !== undefined);
  if (!filled.length) return nothing(box, "No labelled row has this number.");
  const total = filled.reduce((sum, bin) => sum + bin.count, 0);
  const most = Math.max(...filled.map((bin) => bin.count));
  const { svg, atX, atY } = axes(box, {
    title: `Reliability of ${name}`,
    description: `${filled.length} bins with ${total} rows in all. The table below has the numbers.`,
    width, height: Math.min(width, 260),
    x: { low: 0, high: 1, name: `mean number in the bin, n = ${grouped(total)}`, write: (value) => grouped(value, 1) },
    y: { low: 0, high: 1, name: "share that is true", write: (value) => grouped(value, 1) },
  });
  for (const bin of filled) {
    const size = (bin.count / most) * 0.18;
    shape(svg, "rect", {
      class: "columns", x: atX(bin.low) + 1, width: Math.max(1, atX(bin.high) - atX(bin.low) - 2),
      y: atY(size), height: atY(0) - atY(size),
    });
  }
  shape(svg, "line", { class: "ideal", x1: atX(0), y1: atY(0), x2: atX(1), y2: atY(1) });
  for (const { mean, rate, count } of filled) {
    const x = atX(mean.value);
    if (rate.low !== undefined) shape(svg, "line", { class: "bar one", x1: x, x2: x, y1: atY(rate.low), y2: atY(rate.high), "stroke-width": 2 });
    const point = shape(svg, "circle", { class: "mark one", cx: x, cy: atY(rate.value), r: 4.5 });
    shape(point, "title", {}, `mean ${grouped(mean.value, 3)}, true ${percent(rate.value, 1)}, n = ${grouped(count)}`);
  }
  return undefined;
}

function nothing(box, text) {
  element(box, "p", { class: "nothing" }, text);
}

const DRAW = { risk: drawRisk, cost: drawCost, reliability: drawReliability };

function startPlots() {
  for (const figure of document.querySelectorAll("figure[data-plot]")) {
    const box = figure.querySelector(".drawing");
    const plot = { width: 0 };
    plots.push(plot);
    const draw = () => {
      const width = Math.floor(figure.clientWidth);
      if (width === plot.width || width < 40) return;
      plot.width = width;
      box.replaceChildren();
      plot.mark = DRAW[figure.dataset.plot](box, width, figure);
      plot.mark?.();
    };
    draw();
    new ResizeObserver(draw).observe(figure);
  }
}

// ---- tables, light and dark, print

function startSorting() {
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const isDown = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
        sort(table.tBodies[0], place, isDown);
      });
    });
  }
}

// Numbers by size and words by letters; what is none or unknown stands last.
function sort(body, place, isDown) {
  const key = (row) => {
    const text = row.cells[place].textContent;
    const number = parseFloat(text.replace(/[$,]/g, ""));
    return { text, number, isAbsent: /^(none\b|unknown)/.test(text) };
  };
  const rows = [...body.rows].map((row) => ({ row, ...key(row) }));
  const isNumber = body.rows[0]?.cells[place].classList.contains("number");
  rows.sort((one, other) => {
    if (one.isAbsent !== other.isAbsent) return one.isAbsent ? 1 : -1;
    const order = isNumber && !one.isAbsent ? one.number - other.number : one.text.localeCompare(other.text, "en");
    return isDown ? -order : order;
  });
  body.append(...rows.map(({ row }) => row));
}

function startTheme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
  button.hidden = false;
}

// Everything is open on paper, and as it was afterwards.
function startPrint() {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
  });
}

startTheme();
startPlots();
startControl();
startSorting();
startPrint();
