// Draws the panels of `data` (picture.py) with ECharts. A panel that is drawn says so in its data-drawn.

const PALETTE = ["#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#5195ce", "#ba43a9", "#705da0", "#b7dbab", "#f4d598"];
const LINE = "#2c3036";
const TEXT = "#9a9cab";

function element(parent, tag, className = "", text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  parent.append(made);
  return made;
}

// A value with its unit; `spread` is the size of what stands beside it, so that ticks differ.
function format(value, unit, decimals, spread = Math.abs(value)) {
  const digits = (scaled, scale = 1) => {
    const size = Math.abs(spread * scale);
    const places = decimals ?? (size === 0 || 100 <= size ? 0 : size < 0.1 ? 3 : size < 1 ? 2 : 1);
    return scaled.toLocaleString("en", { minimumFractionDigits: decimals ?? 0, maximumFractionDigits: places });
  };
  if (unit === "percentunit") return digits(value * 100, 100) + "%";
  if (unit === "currencyUSD") return "$" + digits(value);
  if (unit === "reqps") return digits(value) + " req/s";
  if (unit === "s") return Math.abs(value) < 1 && value !== 0 ? digits(value * 1000, 1000) + " ms" : digits(value) + " s";
  if (unit === "short" && 1000 <= Math.abs(value)) return digits(value / 1000, 0.001) + " K";
  if (unit.startsWith("suffix:")) return `${digits(value)} ${unit.slice("suffix:".length)}`;
  return digits(value);
}

// What the overrides of a panel say about a series, by the id of the property.
function properties(panel, name) {
  const found = {};
  for (const { matcher, properties } of panel.fieldConfig.overrides) {
    const pattern = new RegExp(matcher.options.slice(1, -1));
    if (pattern.test(name)) for (const { id, value } of properties) found[id] = value;
  }
  return found;
}

function thresholdColor(panel, value) {
  const steps = panel.fieldConfig.defaults.thresholds.steps;
  return steps.filter((step) => step.value === null || step.value <= value).at(-1).color;
}

function chart(box, option) {
  const made = echarts.init(box, null, { renderer: "svg" });
  made.setOption({ animation: false, backgroundColor: "transparent", ...option });
}

function stat(panel, body) {
  const { unit, decimals, noValue } = panel.fieldConfig.defaults;
  const box = element(body, "div", "stat");
  const points = panel.series[0]?.values ?? [];
  const last = points.at(-1)?.[1];
  const color = last === undefined ? TEXT : thresholdColor(panel, last);
  element(box, "b", "", last === undefined ? noValue : format(last, unit, decimals)).style.color = color;
  chart(element(box, "div", "chart"), {
    grid: { left: 0, right: 0, top: 2, bottom: 0 },
    xAxis: { type: "time", show: false, min: data.from, max: data.to },
    yAxis: { type: "value", show: false, min: ({ min, max }) => Math.min(min, 0.9 * min - 0.1 * max) },
    series: [{ type: "line", data: points, showSymbol: false, color, lineStyle: { width: 1.5 }, areaStyle: { opacity: 0.16 } }],
  });
}

// The series on one set of times; a stacked one is 0 where it has no point.
function aligned(panel, mode) {
  const times = [...new Set(panel.series.flatMap((one) => one.values.map(([time]) => time)))].sort((a, b) => a - b);
  const columns = panel.series.map((one) => {
    const at = new Map(one.values);
    return times.map((time) => at.get(time) ?? (mode === "none" ? null : 0));
  });
  if (mode === "percent") {
    times.forEach((_, place) => {
      const sum = columns.reduce((total, column) => total + column[place], 0);
      for (const column of columns) column[place] = sum === 0 ? 0 : column[place] / sum;
    });
  }
  return columns.map((column) => column.map((value, place) => [times[place], value]));
}

function timeseries(panel, body) {
  const { unit: ownUnit, min, max, decimals, custom, thresholds } = panel.fieldConfig.defaults;
  const mode = custom.stacking.mode;
  const unit = mode === "percent" ? "percentunit" : ownUnit;
  body.classList.add(panel.options.legend.placement);
  const box = element(body, "div", "chart");
  const legend = element(body, "div", "legend");
  const points = aligned(panel, mode);
  const series = panel.series.map((one, place) => {
    const own = properties(panel, one.name);
    const color = own.color?.fixedColor ?? PALETTE[place % PALETTE.length];
    const entry = element(legend, "span");
    element(entry, "i").style.background = color;
    entry.append(one.name || "value");
    return {
      type: "line",
      name: one.name,
      data: points[place],
      color,
      showSymbol: false,
      stack: mode === "none" ? undefined : "all",
      lineStyle: { width: own["custom.lineWidth"] ?? 1.4, type: own["custom.lineStyle"] ? "dashed" : "solid" },
      areaStyle: { opacity: (own["custom.fillOpacity"] ?? custom.fillOpacity) / 100 },
      z: own["custom.lineStyle"] ? 5 : 2,
    };
  });
  if (custom.thresholdsStyle.mode !== "off" && series.length) {
    const marks = thresholds.steps.filter((step) => step.value !== null);
    series[0].markLine = {
      symbol: "none",
      label: { show: false },
      data: marks.map((step) => ({ yAxis: step.value, lineStyle: { color: step.color, type: "dashed", width: 1.4 } })),
    };
  }
  const seconds = (data.to - data.from) / 1000;
  chart(box, {
    grid: { left: 8, right: 14, top: 10, bottom: 4, containLabel: true },
    xAxis: {
      type: "time",
      min: data.from,
      max: data.to,
      splitNumber: 5,
      axisLine: { lineStyle: { color: LINE } },
      axisTick: { show: false },
      axisLabel: { color: TEXT, fontSize: 11, hideOverlap: true, formatter: seconds < 180 ? "{HH}:{mm}:{ss}" : "{HH}:{mm}" },
    },
    yAxis: {
      type: "value",
      min: mode === "percent" ? 0 : min,
      max: mode === "percent" ? 1 : (max ?? ((seen) => (unit === "percentunit" && 0.8 < seen.max && seen.max <= 1 ? 1 : null))),
      interval: mode === "percent" || max === 1 ? 0.25 : undefined,
      minInterval: decimals === 0 ? 1 : undefined,
      splitNumber: panel.gridPos.h < 6 ? 2 : 4,
      splitLine: { lineStyle: { color: LINE } },
      axisLabel: { color: TEXT, fontSize: 11, formatter: (value) => format(value, unit, undefined, value || 100) },
    },
    series,
  });
}

function bargauge(panel, body) {
  const { unit, decimals } = panel.fieldConfig.defaults;
  const bars = element(body, "div", "bars");
  const rows = panel.series.map((one) => ({ name: one.name, value: one.values.at(-1)[1] }));
  rows.sort((a, b) => b.value - a.value);
  for (const { name, value } of rows.slice(0, 10)) {
    element(bars, "span", "", name);
    const bar = element(element(bars, "div"), "i");
    bar.style.width = `${(100 * value) / rows[0].value}%`;
    bar.style.background = thresholdColor(panel, value);
    element(bars, "span", "number", format(value, unit, decimals));
  }
}

function table(panel, body) {
  const { unit, decimals } = panel.fieldConfig.defaults;
  body.classList.add("table");
  const { head, rows } = panel.table;
  const made = element(body, "table");
  const isNumber = head.map((_, place) => rows.some((row) => typeof row[place] === "number"));
  const top = element(made, "tr");
  head.forEach((name, place) => element(top, "th", isNumber[place] ? "number" : "", name));
  for (const row of rows) {
    const line = element(made, "tr");
    row.forEach((cell, place) => {
      const text = typeof cell === "number" ? format(cell, unit, decimals) : (cell ?? "");
      element(line, "td", isNumber[place] ? "number" : "", text);
    });
  }
}

const DRAW = { stat, timeseries, bargauge, table };
const header = element(document.body, "header");
element(header, "h1", "", data.title);
element(header, "span", "", "drawn from the queries of the dashboard under demo load");
element(header, "span", "when", data.when);
const main = element(document.body, "main");
const column = main.clientWidth / 24;
const line = data.cell.height + data.cell.gap;

for (const panel of data.panels) {
  const { x, y, w, h } = panel.gridPos;
  const box = element(main, "div", panel.type === "row" ? "row" : "panel", panel.type === "row" ? panel.title : "");
  box.style.left = `${x * column + data.cell.gap / 2}px`;
  box.style.width = `${w * column - data.cell.gap}px`;
  box.style.top = `${y * line}px`;
  box.style.height = `${h * line - data.cell.gap}px`;
  if (panel.type === "row") continue;
  element(box, "h2", "", panel.title);
  try {
    DRAW[panel.type](panel, element(box, "div", "body"));
    const isDrawn = panel.table ? panel.table.rows.length : panel.series.length;
    box.dataset.drawn = String(Boolean(isDrawn));
    if (!isDrawn) box.dataset.problem = `${panel.title}: nothing to draw`;
  } catch (error) {
    box.dataset.problem = `${panel.title}: ${error}`;
  }
}
