"""Draws the overview dashboard from its own queries on a Prometheus, and takes a picture of it with Chromium.

It is no Grafana: it knows what the overview uses, and draws it with Apache ECharts (in FOLDER/node_modules) at the same
places. Fails unless every panel was drawn.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import dashboards
from PIL import Image

HERE = Path(__file__).resolve().parent
WIDTH = 1600
COLOURS = 256
CELL_HEIGHT, GAP = 30, 8
CHROMIUM = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --allow-file-access-from-files"
).split()
MOST_BYTES, LEAST_BYTES = 300_000, 40_000


def name_of(target, series):
    """The name of a series as Grafana makes it."""
    labels = series["metric"]
    if target["legendFormat"] == "__auto":
        return ", ".join(labels.values()) or target["refId"]
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), target["legendFormat"])


def rows_of(panel, answers):
    """The rows of a table: queries merged by their labels, then the columns of the panel."""
    merged = {}
    for target, _, result in answers:
        column = "Value" if len(panel["targets"]) == 1 else f"Value #{target['refId']}"
        for series in result:
            key = tuple(sorted(series["metric"].items()))
            merged.setdefault(key, dict(series["metric"]))[column] = float(series["values"][-1][1])
    columns = panel["transformations"][-1]["options"]["renameByName"]
    rows = [[row.get(column) for column in columns] for row in merged.values()]
    return {"head": list(columns.values()), "rows": sorted(rows, key=lambda row: [str(cell) for cell in row])}


def drawn(panel, prometheus, options):
    """What the page needs of a panel."""
    answers = list(prometheus.panel(panel, options, options.pod))
    picked = {key: panel[key] for key in ("type", "title", "gridPos", "options", "fieldConfig")}
    if panel["type"] == "table":
        return picked | {"table": rows_of(panel, answers)}
    series = [
        {"name": name_of(target, one), "values": [[time * 1000, float(value)] for time, value in one["values"]]}
        for target, _, result in answers
        for one in result
    ]
    # NaN is no JSON, and no point either.
    for one in series:
        one["values"] = [point for point in one["values"] if point[1] == point[1]]
    return picked | {"series": [one for one in series if one["values"]]}


def page(options):
    dashboard = dashboards.dashboards()["overview.json"]
    prometheus = dashboards.Prometheus(options.prometheus)
    panels = []
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            panels.append({key: panel[key] for key in ("type", "title", "gridPos")})
        else:
            panels.append(drawn(panel, prometheus, options))
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) * (CELL_HEIGHT + GAP)
    data = {
        "title": dashboard["title"],
        "panels": panels,
        "from": (options.end - options.range) * 1000,
        "to": options.end * 1000,
        "when": when(options),
        "cell": {"height": CELL_HEIGHT, "gap": GAP},
    }
    # "<" would end the script if a name held "</script>".
    text = json.dumps(data).replace("<", "\\u003c")
    library = options.folder / "node_modules" / "echarts" / "dist" / "echarts.min.js"
    html = f"""<!doctype html><meta charset="utf-8"><title>overview</title>
<link rel="stylesheet" href="{(HERE / "picture.css").as_uri()}">
<body><script src="{library.resolve().as_uri()}"></script><script>const data = {text};</script>
<script src="{(HERE / "picture.js").as_uri()}"></script></body>"""
    path = options.folder / "overview.html"
    path.write_text(html, encoding="utf-8")
    return path, height + 64, sum(panel["type"] != "row" for panel in panels)


def when(options):
    end = datetime.fromtimestamp(options.end, timezone.utc)
    return f"{options.range / 60:.0f} min to {end:%H:%M} UTC" if options.range >= 60 else f"{options.range:.0f} s"


def chromium(options, path, *arguments):
    with tempfile.TemporaryDirectory(dir=options.folder) as profile:
        command = [options.chromium, *CHROMIUM, f"--user-data-dir={profile}", *arguments, path.as_uri()]
        environment = os.environ | {"TZ": "UTC"}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=environment).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    dashboards.add_arguments(parser)
    parser.add_argument("--folder", type=Path, required=True, help="where node_modules is and the page goes")
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    path, height, expected = page(options)
    dom = chromium(options, path, f"--window-size={WIDTH},{height}", "--dump-dom")
    count = len(re.findall(r'data-drawn="true"', dom))
    if count != expected:
        said = re.findall(r'data-problem="([^"]*)"', dom)
        raise SystemExit(f"{count} of {expected} panels were drawn: {said}")
    chromium(options, path, f"--window-size={WIDTH},{height}", f"--screenshot={options.out}")
    # A dashboard has few colours; their shades at edges need not all be kept.
    Image.open(options.out).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(options.out, optimize=True)
    size = options.out.stat().st_size
    if not LEAST_BYTES < size < MOST_BYTES:
        raise SystemExit(f"the picture has {size} bytes")
    print(f"{count} panels drawn, {WIDTH} x {height}, {size} bytes")


if __name__ == "__main__":
    main()
