"""Panels, rows, variables and dashboards in Grafana's Classic model."""

from dataclasses import dataclass, field
from typing import Any, Literal

from .colours import GREEN, Json

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
# Of Grafana 10; later ones read it, and earlier ones pass over the few options that they do not know.
SCHEMA_VERSION = 38

Kind = Literal["stat", "timeseries", "bargauge", "table", "heatmap"]


@dataclass
class Query:
    """An expression and what its series are called."""

    expr: str
    legend: str = ""


@dataclass
class Panel:
    """A panel, without its place."""

    kind: Kind
    title: str
    queries: list[Query]
    unit: str
    description: str
    width: int
    height: int = 8
    min: float | None = 0
    max: float | None = None
    decimals: int | None = None
    # Where a colour begins; lines are drawn there if there is more than one and `lines` is set.
    thresholds: list[tuple[float | None, str]] = field(default_factory=lambda: [(None, GREEN)])
    lines: bool = False
    stacked: bool | Literal["percent"] = False
    overrides: list[Json] = field(default_factory=list)
    legend: Literal["bottom", "right"] = "bottom"
    # What a stat shows where there is no series.
    no_value: str | None = None
    # The alerts on the same subject.
    alerts: list[str] = field(default_factory=list)
    # The columns of a table in their order: a label or `Value`, `Value #A`, and its heading.
    columns: dict[str, str] = field(default_factory=dict)

    def json(self, tells_whole: bool) -> Json:
        defaults: Json = {
            "unit": self.unit,
            "color": {"mode": "thresholds" if self.kind in ("stat", "bargauge") else "palette-classic"},
            "thresholds": {
                "mode": "absolute",
                "steps": [{"value": value, "color": colour} for value, colour in self.thresholds],
            },
            "mappings": [],
            "custom": getattr(self, f"{self.kind}_custom")(),
        }
        optional = {"min": self.min, "max": self.max, "decimals": self.decimals, "noValue": self.no_value}
        defaults |= {key: value for key, value in optional.items() if value is not None}
        if self.kind == "table":
            defaults.pop("min", None)
        return {
            "type": self.kind,
            "title": self.title,
            "description": self.told(tells_whole),
            "datasource": DATASOURCE,
            "targets": [self.target(place, query) for place, query in enumerate(self.queries)],
            "fieldConfig": {"defaults": defaults, "overrides": self.overrides},
            "options": getattr(self, f"{self.kind}_options")(),
            "transformations": self.table_transformations() if self.kind == "table" else [],
        }

    def told(self, tells_whole: bool) -> str:
        """The description, and where wanted that the variable `profile` does not reach it."""
        reached = any("$profile" in query.expr for query in self.queries)
        whole = " All profiles together." if tells_whole and not reached else ""
        names = ", ".join(f"JudgeCascade{alert}" for alert in self.alerts)
        return self.description + whole + (f" Alerts, with what to do in docs/runbooks.md: {names}." if names else "")

    def target(self, place: int, query: Query) -> Json:
        at_once = self.kind in ("table", "bargauge")
        forms = {"table": "table", "heatmap": "heatmap"}
        return {
            "refId": chr(ord("A") + place),
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": query.expr,
            "legendFormat": query.legend or "__auto",
            "format": forms.get(self.kind, "time_series"),
            "instant": at_once,
            "range": not at_once,
        }

    def stat_custom(self) -> Json:
        return {}

    def stat_options(self) -> Json:
        return {
            "reduceOptions": LAST,
            "graphMode": "area",
            "colorMode": "value",
            "justifyMode": "auto",
            "orientation": "auto",
            "textMode": "value",
        }

    def timeseries_custom(self) -> Json:
        modes = {False: "none", True: "normal", "percent": "percent"}
        return {
            "drawStyle": "line",
            "lineInterpolation": "linear",
            "lineWidth": 1,
            "fillOpacity": 60 if self.stacked else 8,
            "showPoints": "never",
            "spanNulls": False,
            "axisPlacement": "auto",
            "stacking": {"mode": modes[self.stacked], "group": "A"},
            "thresholdsStyle": {"mode": "dashed" if self.lines else "off"},
        }

    def timeseries_options(self) -> Json:
        return {
            "legend": {"displayMode": "list", "placement": self.legend, "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }

    def bargauge_custom(self) -> Json:
        return {}

    def bargauge_options(self) -> Json:
        return {
            "reduceOptions": LAST,
            "orientation": "horizontal",
            "displayMode": "basic",
            "showUnfilled": True,
            "valueMode": "color",
        }

    def table_custom(self) -> Json:
        return {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": False}

    def table_options(self) -> Json:
        return {"showHeader": True, "cellHeight": "sm", "footer": {"show": False, "reducer": ["sum"], "fields": ""}}

    def table_transformations(self) -> list[Json]:
        hidden = [name for name in ("Time", "Value") if name not in self.columns]
        organize = {
            "excludeByName": {name: True for name in hidden},
            "indexByName": {name: place for place, name in enumerate(self.columns)},
            "renameByName": self.columns,
        }
        merge = [{"id": "merge", "options": {}}] if len(self.queries) > 1 else []
        return [*merge, {"id": "organize", "options": organize}]

    def heatmap_custom(self) -> Json:
        return {"scaleDistribution": {"type": "linear"}}

    def heatmap_options(self) -> Json:
        return {
            "calculate": False,
            "cellGap": 1,
            "color": {"mode": "scheme", "scheme": "Blues", "steps": 64, "exponent": 0.5, "reverse": False},
            "yAxis": {"axisPlacement": "left", "unit": self.unit, "reverse": False},
            "rowsFrame": {"layout": "le"},
            "filterValues": {"le": 1e-9},
            "legend": {"show": True},
            "tooltip": {"show": True, "yHistogram": False},
        }


LAST = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def stat(title: str, expr: str, unit: str, description: str, width: int = 4, **more: Any) -> Panel:
    return Panel("stat", title, [Query(expr)], unit, description, width, 4, **more)


def series(title: str, queries: list[Query], unit: str, description: str, width: int = 12, **more: Any) -> Panel:
    return Panel("timeseries", title, queries, unit, description, width, **more)


def table(
    title: str, queries: list[Query], description: str, width: int, columns: dict[str, str], **more: Any
) -> Panel:
    more = {"unit": "none", "min": None} | more
    return Panel("table", title, queries, description=description, width=width, columns=columns, **more)


@dataclass
class Row:
    """A heading and its panels, each of which takes the first place where it fits."""

    title: str
    panels: list[Panel]


@dataclass
class Dashboard:
    """A dashboard, written to the file `name`.json."""

    name: str
    title: str
    description: str
    rows: list[Row]
    # Whether a panel says so if the variable `profile` does not reach it.
    tells_whole: bool

    def json(self) -> Json:
        return {
            "id": None,
            "uid": f"judge-cascade-{self.name}",
            "title": self.title,
            "description": self.description,
            "tags": ["judge-cascade"],
            "schemaVersion": SCHEMA_VERSION,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,
            "fiscalYearStartMonth": 0,
            "timezone": "browser",
            "refresh": "30s",
            "time": {"from": "now-6h", "to": "now"},
            "timepicker": {},
            "annotations": {"list": []},
            "links": [link()],
            "templating": {"list": VARIABLES},
            "panels": self.panels(),
        }

    def panels(self) -> list[Json]:
        placed, y = [], 0
        for number, row in enumerate(self.rows, start=1):
            # A hundred numbers for each row, so that a new panel moves few of those that people may have linked.
            id = number * 100
            placed.append({"id": id, **heading(row.title, y)})
            bottoms = [y + 1] * COLUMNS
            for panel in row.panels:
                # As far up as it fits, then as far left.
                y, x = min((max(bottoms[x : x + panel.width]), x) for x in range(COLUMNS - panel.width + 1))
                bottoms[x : x + panel.width] = [y + panel.height] * panel.width
                id += 1
                place = {"h": panel.height, "w": panel.width, "x": x, "y": y}
                placed.append({"id": id, "gridPos": place, **panel.json(self.tells_whole)})
            y = max(bottoms)
        return placed


def heading(title: str, y: int) -> Json:
    place = {"h": 1, "w": COLUMNS, "x": 0, "y": y}
    return {"type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}


def link() -> Json:
    return {
        "type": "dashboards",
        "title": "judge-cascade",
        "tags": ["judge-cascade"],
        "asDropdown": False,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "icon": "external link",
        "tooltip": "",
        "url": "",
    }


def variable(name: str, label: str, query: str) -> Json:
    """A variable whose values are those of a label. All of them also match a series without that label."""
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": DATASOURCE,
        "query": query,
        "regex": "",
        "refresh": 2,
        "sort": 1,
        "hide": 0,
        "skipUrlSync": False,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "options": [],
    }


VARIABLES: list[Json] = [
    {
        "type": "datasource",
        "name": "datasource",
        "label": "Data source",
        "query": "prometheus",
        "regex": "",
        "refresh": 1,
        "hide": 0,
        "skipUrlSync": False,
        "multi": False,
        "includeAll": False,
        "current": {},
        "options": [],
    },
    variable("job", "Job", "label_values(judge_cascade_build_info, job)"),
    variable("pod", "Pod", 'label_values(judge_cascade_build_info{job=~"$job"}, pod)'),
    variable("profile", "Profile", 'label_values(judge_cascade_diagnoses_total{job=~"$job", pod=~"$pod"}, profile)'),
]
