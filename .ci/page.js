// Opens the page of an evaluation in Chromium and fails unless it works: no error, every plot with marks, thresholds that
// give what report.json says, nothing wider than the screen at 400 px, no finding of axe-core, a page that prints
// with nothing wider than the paper.
//
// node .ci/page.js FOLDER CHROMIUM PAGE REPORT: FOLDER holds node_modules and gets the pictures.

const fs = require("node:fs");
const path = require("node:path");
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const [folder, chromium, page, reportFile] = process.argv.slice(2).map((argument) => path.resolve(argument));
const require_ = createRequire(path.join(folder, "page.js"));
const puppeteer = require_("puppeteer-core");
const axe = fs.readFileSync(require_.resolve("axe-core/axe.min.js"), "utf8");
const report = JSON.parse(fs.readFileSync(reportFile, "utf8"));

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 400, height: 800 };
// A4 less the margins of a printer, in pixels.
const PAPER = { width: 718, height: 1000 };
const LEAST_PRINTED_PX = 5.9;
const LEAST_PDF_BYTES = 20_000;
let checks = 0;

function check(isRight, what) {
  checks += 1;
  if (!isRight) throw new Error(what);
}

async function open(browser, viewport, scheme, problems, isScripted = true) {
  const tab = await browser.newPage();
  tab.on("console", (message) => ["error", "warn"].includes(message.type()) && problems.push(message.text()));
  tab.on("pageerror", (error) => problems.push(String(error)));
  tab.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) problems.push(`asks for ${request.url()}`);
  });
  tab.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await tab.setJavaScriptEnabled(isScripted);
  await tab.setViewport(viewport);
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.goto(pathToFileURL(page).href, { waitUntil: "load" });
  return tab;
}

// Every figure has a drawing with marks in it, and a drawing has a title and a text.
async function plots(tab) {
  const figures = await tab.$$eval("figure[data-plot]", (all) =>
    all.map((figure) => {
      const svg = figure.querySelector(".drawing > svg");
      return {
        name: figure.querySelector("figcaption").textContent,
        isSaid: Boolean(figure.querySelector(".nothing")),
        marks: svg ? svg.querySelectorAll(".mark, path.line").length : 0,
        words: svg ? svg.querySelectorAll("title, desc").length : 0,
      };
    }),
  );
  check(figures.length > 3, `the page has ${figures.length} figures`);
  for (const figure of figures) {
    check(figure.isSaid || (figure.marks && figure.words >= 2), `${figure.name}: nothing is drawn`);
  }
  check(figures.filter((figure) => figure.marks).length > 3, "hardly a figure is drawn");
  return figures.filter((figure) => figure.marks).length;
}

async function move(tab, id, value) {
  await tab.$eval(id, (input, text) => {
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }, String(value));
}

const shown = (tab) =>
  tab.$$eval("#outcome td[data-name]", (cells) =>
    Object.fromEntries(cells.map((cell) => [cell.dataset.name, cell.dataset.value === "unknown" ? null : Number(cell.dataset.value)])),
  );

function compare(told, expected, where) {
  for (const [name, value] of Object.entries(expected)) {
    const isNear = value === null ? told[name] === null : Math.abs(told[name] - value) <= 1e-9 * Math.max(1, Math.abs(value));
    check(name in told && isNear, `${where}: ${name} is ${told[name]} on the page and ${value} in the report`);
  }
}

async function confidence(tab) {
  const told = report.cost_quality;
  check(told && told.row_count > 0, "the report has no cost_quality");
  await tab.select("#decide", "confidence");
  const { curve } = report.modes.atomic_only.diagnosis.confidence.selective;
  const seen = new Set();
  for (const [place, id] of [[0, "#slide-at"], [70, "#slide-at"], [85, "#number-at"], [95, "#slide-at"], [100, "#number-at"]]) {
    await move(tab, id, place / 100);
    const expected = {
      accepted: told.accepted[place],
      wrong: told.accepted_wrong[place],
      fallback: told.row_count - told.accepted[place],
      right: told.right[place],
      nano_usd: told.nano_usd ? told.nano_usd[place] : null,
      mean_latency_ms: told.mean_latency_ms[place],
    };
    compare(await shown(tab), expected, `confidence at ${place / 100}`);
    seen.add(expected.accepted);
    const ring = await tab.$eval('[data-plot="risk"] .drawing > svg > .now', (circle) => ({
      isShown: circle.getAttribute("visibility") === "visible", coverage: Number(circle.dataset.coverage), risk: Number(circle.dataset.risk),
    }));
    check(ring.isShown === expected.accepted > 0, `confidence at ${place / 100}: the ring is ${ring.isShown ? "" : "not "}shown`);
    if (ring.isShown) {
      compare(ring, { coverage: expected.accepted / told.row_count, risk: expected.wrong / expected.accepted }, "the ring");
      const isOn = (point) => Math.abs(point.coverage - ring.coverage) + Math.abs(point.risk - ring.risk) < 1e-9;
      check(curve.some(isOn), `confidence at ${place / 100}: the ring is not on the curve`);
    }
  }
  check(seen.size > 1, "every threshold accepts the same");
}

async function dimensions(tab) {
  const mode = Object.values(report.modes).find((one) => one.components);
  const all = Object.entries({ ...mode.components.retrieval, ...mode.components.generation });
  let moved = 0;
  for (const [name, component] of all.filter(([, one]) => one.scored_count > 0)) {
    await tab.select("#decide", name);
    if (component.at_policy) {
      const policy = component.at_policy;
      const start = {
        positive: policy.positive_count, positive_wrong: policy.positive_wrong_count, negative: policy.negative_count,
        negative_wrong: policy.negative_wrong_count, uncertain: policy.uncertain_count,
      };
      compare(await shown(tab), start, `${name} at the policy`);
    }
    const head = await tab.$eval("#outcome thead", (row) => row.textContent);
    check(head.includes("Answers of the atomic judge alone, all rows"), `${name}: the control does not say whose answers are moved`);
    const sides = component.sides;
    for (const [below, above] of [[10, 90], [29, 58], [50, 51]]) {
      await move(tab, "#slide-failAt", 0);
      await move(tab, "#number-passAt", above / 100);
      await move(tab, "#slide-failAt", below / 100);
      const [positive, negative] = [sides.at_or_above[above], sides.at_or_below[below]];
      const expected = {
        decided: positive + negative,
        wrong: sides.at_or_above_wrong[above] + sides.at_or_below_wrong[below],
        positive,
        positive_wrong: sides.at_or_above_wrong[above],
        negative,
        negative_wrong: sides.at_or_below_wrong[below],
        uncertain: component.scored_count - positive - negative,
      };
      compare(await shown(tab), expected, `${name} at ${below / 100} and ${above / 100}`);
      moved += 1;
    }
    await tab.click('#control button[type="reset"]');
    const back = await tab.$eval("#number-passAt", (input) => Number(input.value));
    check(back === (component.at_policy?.pass_at ?? 0.75), `${name}: reset gives ${back}`);
  }
  check(moved > 0, "no dimension was moved");
  await tab.select("#decide", "confidence").catch(() => {});
  return moved;
}

// Nothing but the boxes of tables and the row of links may be wider than the screen.
async function overflow(tab) {
  const wide = await tab.evaluate(() => {
    const limit = document.documentElement.clientWidth;
    const isInBox = (node) => node.closest(".scroll, nav ul");
    const found = [...document.body.querySelectorAll("*")].filter(
      (node) => !isInBox(node) && !node.closest(".unseen, .skip") && node.getBoundingClientRect().right > limit + 1,
    );
    return { page: document.documentElement.scrollWidth - limit, found: found.slice(0, 5).map((node) => node.outerHTML.slice(0, 120)) };
  });
  check(wide.page <= 0 && wide.found.length === 0, `wider than the screen: ${JSON.stringify(wide)}`);
}

// On paper nothing scrolls: every table has to fit the width of the page, with no letters over its cells.
async function paper(tab) {
  await tab.emulateMediaType("print");
  const wide = await tab.evaluate(() => {
    const limit = document.documentElement.clientWidth;
    for (const one of document.querySelectorAll("details")) one.open = true;
    const isShown = (node) => node.getClientRects().length && !node.closest(".unseen, .skip");
    const found = [...document.querySelectorAll("main *")].filter(
      (node) => isShown(node) && (node.getBoundingClientRect().right > limit + 1 ||
        (node.matches("th, td") && node.clientWidth + 1 < node.scrollWidth)),
    );
    const sizes = [...document.querySelectorAll("main table *")].filter(isShown).map((node) => parseFloat(getComputedStyle(node).fontSize));
    return { count: found.length, least: Math.min(...sizes), found: found.slice(0, 5).map((node) => node.outerHTML.slice(0, 160)) };
  });
  check(wide.count === 0, `wider than the paper: ${JSON.stringify(wide)}`);
  check(wide.least >= LEAST_PRINTED_PX, `letters of ${wide.least} px are too small to read on paper`);
}

// The first column stays in view and leaves room for the others.
async function firstColumns(tab) {
  const boxes = await tab.$$eval("main .scroll", (all) =>
    all.filter((box) => box.clientWidth && box.clientWidth < box.scrollWidth).map((box) => {
      box.scrollLeft = box.scrollWidth;
      const [own, first] = [box.getBoundingClientRect(), box.querySelector("tbody th").getBoundingClientRect()];
      box.scrollLeft = 0;
      return { shift: Math.abs(first.left - own.left), share: first.width / own.width };
    }),
  );
  check(boxes.length > 3, "hardly a table is wider than the screen");
  for (const { shift, share } of boxes) check(shift < 3 && share < 0.6, `the first column is off by ${shift} px and takes ${share}`);
  const isLiteral = await tab.$eval("main", (main) => main.textContent.includes("<wbr>"));
  check(!isLiteral, "markup stands as text");
}

async function accessibility(tab, where) {
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() =>
    axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }),
  );
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
  check(told.length === 0, `${where}: ${told.join("\n")}`);
}

async function sorting(tab) {
  const head = await tab.$("table.sortable th:nth-child(3) button");
  if (!head) return;
  const column = () => tab.$$eval("table.sortable td:nth-child(3)", (cells) => cells.map((cell) => Number(cell.textContent.replaceAll(",", ""))));
  const sorted = [...(await column())].sort((one, other) => one - other);
  await head.click();
  check(String(await column()) === String(sorted), "slices are not sorted upwards");
  await head.click();
  check(String(await column()) === String(sorted.reverse()), "slices are not sorted downwards");
}

// Tab reaches the control, and an arrow moves it.
async function keyboard(tab) {
  await tab.focus("#slide-at");
  const before = await shown(tab);
  for (let times = 0; times < 101; times++) await tab.keyboard.press("ArrowRight");
  const after = await shown(tab);
  check(before.accepted !== after.accepted, "arrows do not move the threshold");
  await tab.click('#control button[type="reset"]');
}

async function main() {
  const browser = await puppeteer.launch({
    executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"], userDataDir: path.join(folder, "profile"),
  });
  const problems = [];
  try {
    for (const scheme of ["light", "dark"]) {
      for (const [name, viewport] of [["wide", WIDE], ["narrow", NARROW]]) {
        const tab = await open(browser, viewport, scheme, problems);
        const drawn = await plots(tab);
        await overflow(tab);
        if (name === "narrow") await firstColumns(tab);
        await accessibility(tab, `${scheme}, ${name}`);
        await tab.screenshot({ path: path.join(folder, `${scheme}-${name}.png`), fullPage: true });
        if (scheme === "light" && name === "wide") {
          await confidence(tab);
          console.log(`${drawn} plots drawn; ${await dimensions(tab)} pairs of thresholds moved`);
          await keyboard(tab);
          await sorting(tab);
          await tab.click("#theme");
          await accessibility(tab, "turned dark by the button");
        }
        await tab.close();
      }
    }
    const tab = await open(browser, PAPER, "dark", problems);
    await paper(tab);
    await tab.pdf({ path: path.join(folder, "page.pdf"), format: "A4" });
    check(fs.statSync(path.join(folder, "page.pdf")).size > LEAST_PDF_BYTES, "the page does not print");
    await tab.close();
    const bare = await open(browser, NARROW, "light", problems, false);
    const tables = await bare.$$("main table");
    check(tables.length > 5 && (await bare.$("#control[hidden]")), "the page needs scripts for its tables");
    await bare.close();
  } finally {
    await browser.close();
  }
  check(problems.length === 0, `the page has problems: ${problems.join("\n")}`);
  console.log(`the page works: ${checks} checks`);
}

main().catch((error) => {
  console.error(error.message ?? error);
  process.exit(1);
});
