"""Checks deploy/grafana, and evaluates its expressions and those of deploy/prometheus on a Prometheus.

`files` looks at the files alone. `queries` asks a Prometheus that scrapes a sidecar under the load of .ci/load.py: every
panel must have at least one series, and every expression must name metrics, labels and label values that exist.
"""

import argparse
import itertools
import json
import math
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import promql_parser
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

ROOT = Path(__file__).resolve().parent.parent
GRAFANA = ROOT / "deploy" / "grafana"
VARIABLES = {"datasource", "job", "pod", "profile"}
UNITS = re.compile(r"short|none|percentunit|s|currencyUSD|reqps|suffix:\S+")
# Labels whose values are named by an expression only if they exist. Errors come in codes that no load can provoke.
CLOSED_LABELS = {"diagnosis", "action", "enforcement", "state", "role", "result", "type", "route", "cause", "kind"}
# Metrics that appear only with an event that the load cannot provoke; each must stand in docs/metrics.md.
MAY_BE_ABSENT: set[str] = set()

problems: list[str] = []


def expect(holds, message):
    if not holds:
        problems.append(message)


def dashboards():
    return {
        path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(GRAFANA.glob("dashboards/*.json"))
    }


def panels(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


# The files alone


def check_files():
    sys.path.insert(0, str(GRAFANA))
    import dashboards as generator

    for path, text in generator.files().items():
        expect(path.read_text(encoding="utf-8") == text, f"{path}: not what dashboards.py writes; run it")
    alerts = ROOT / "deploy" / "prometheus" / "alerts.yaml"
    names = set(re.findall(r"alert: (\w+)", alerts.read_text(encoding="utf-8"))) if alerts.exists() else None
    found = dashboards()
    expect(len(found) == 2, f"there are {len(found)} dashboards")
    uids = [dashboard["uid"] for dashboard in found.values()]
    expect(len(set(uids)) == len(uids), f"uids are not unique: {uids}")
    for name, dashboard in found.items():
        check_dashboard(name, dashboard)
        check_types(name, dashboard)
        for panel in panels(dashboard):
            check_panel(f"{name}: {panel['title']}", panel, names)
        print(f"{name}: {len(panels(dashboard))} panels")
    check_provisioning()


def check_provisioning():
    """What Grafana reads at its start: where Prometheus and the dashboards are."""
    (source,) = provisioned("datasources")["datasources"]
    expect(
        source["type"] == "prometheus" and source["url"] and source["jsonData"]["timeInterval"], "provisioned source"
    )
    (provider,) = provisioned("dashboards")["providers"]
    expect(provider["type"] == "file" and not provider["allowUiUpdates"], "provisioned dashboards")
    readme = (GRAFANA / "README.md").read_text(encoding="utf-8")
    for told in (provider["options"]["path"], source["url"].removeprefix("$")):
        expect(f"`{told}`" in readme, f"README.md does not tell `{told}`")


def provisioned(folder):
    (path,) = GRAFANA.glob(f"provisioning/{folder}/*.yaml")
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    expect(read["apiVersion"] == 1, f"{path}: apiVersion")
    return read


def check_dashboard(name, dashboard):
    expect(dashboard["id"] is None and "__inputs" not in dashboard, f"{name}: it is an export, not a file to import")
    expect(dashboard["uid"] and len(dashboard["uid"]) <= 40, f"{name}: uid")
    expect(30 < dashboard["schemaVersion"] < 43, f"{name}: schemaVersion")
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    expect(set(variables) == VARIABLES, f"{name}: variables are {sorted(variables)}")
    for variable in variables.values():
        is_source = variable["type"] == "datasource" and variable["query"] == "prometheus"
        expect(is_source or variable["datasource"]["uid"] == "${datasource}", f"{name}: source of {variable['name']}")
    everything = dashboard["panels"]
    ids = [panel["id"] for panel in everything]
    expect(len(set(ids)) == len(ids) and all(ids), f"{name}: ids of panels are not unique: {ids}")
    titles = [panel["title"] for panel in everything]
    expect(len(set(titles)) == len(titles) and all(titles), f"{name}: titles of panels are not unique")
    for panel in everything:
        place = panel["gridPos"]
        expect(0 <= place["x"] and place["x"] + place["w"] <= 24 and place["w"] > 0 < place["h"], f"{name}: {place}")
    for one, other in itertools.combinations(everything, 2):
        a, b = one["gridPos"], other["gridPos"]
        apart = (
            a["x"] + a["w"] <= b["x"]
            or b["x"] + b["w"] <= a["x"]
            or a["y"] + a["h"] <= b["y"]
            or b["y"] + b["h"] <= a["y"]
        )
        expect(apart, f"{name}: `{one['title']}` and `{other['title']}` overlap")


def check_types(name, dashboard):
    """Nothing is lost in Grafana's own types of the Classic model; they have no `id` that is null."""
    register_default_plugins()
    kept = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    for place in lost(dashboard, kept, ""):
        expect(place == ".id", f"{name}: Grafana does not know `{place}`")


def lost(written, kept, place):
    if isinstance(written, dict):
        for key, value in written.items():
            if not isinstance(kept, dict) or key not in kept:
                yield f"{place}.{key}"
            else:
                yield from lost(value, kept[key], f"{place}.{key}")
    elif isinstance(written, list):
        if not isinstance(kept, list) or len(written) != len(kept):
            yield place
        else:
            for number, (one, other) in enumerate(zip(written, kept)):
                yield from lost(one, other, f"{place}[{number}]")
    elif written != kept:
        yield place


def check_panel(name, panel, alerts):
    defaults = panel["fieldConfig"]["defaults"]
    expect(UNITS.fullmatch(defaults["unit"]), f"{name}: unit `{defaults['unit']}`")
    expect(len(panel["description"]) > 20, f"{name}: no description")
    for alert in re.findall(r"JudgeCascade\w+", panel["description"]):
        expect(alerts is None or alert in alerts, f"{name}: there is no alert `{alert}`")
    expect(panel["datasource"]["uid"] == "${datasource}", f"{name}: datasource")
    expect(panel["targets"], f"{name}: no queries")
    for target in panel["targets"]:
        expect(target["datasource"]["uid"] == "${datasource}", f"{name}: datasource of a query")
        expr = target["expr"]
        tree = parse(name, substitute(expr, "1m", "1h", ".*", ".*", ".*"))
        for selector in selectors(tree):
            asked = {matcher.name for matcher in selector.matchers.matchers}
            expect({"job", "pod"} <= asked, f"{name}: `{selector.name}` is not narrowed by job and pod")


def parse(name, expr):
    try:
        return promql_parser.parse(expr)
    except ValueError as error:
        problems.append(f"{name}: {error}: {expr}")
        return None


def selectors(tree):
    """Every vector selector of an expression."""
    if isinstance(tree, promql_parser.VectorSelector):
        yield tree
    elif isinstance(tree, promql_parser.MatrixSelector):
        yield tree.vector_selector
    elif isinstance(tree, promql_parser.Call):
        for argument in tree.args:
            yield from selectors(argument)
    else:
        for part in ("expr", "lhs", "rhs", "param"):
            inner = getattr(tree, part, None)
            if inner is not None:
                yield from selectors(inner)


# On a Prometheus


def substitute(expr, interval, time_range, job, pod, profile):
    """What Grafana does with the variables that the dashboards use."""
    values = {
        "$__rate_interval": interval,
        "$__range": time_range,
        "$job": job,
        "$pod": pod,
        "$profile": profile,
    }
    for name, value in values.items():
        expr = expr.replace(name, value)
    assert "$" not in expr, expr
    return expr


class Prometheus:
    def __init__(self, url):
        self.url = url

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=30) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            problems.append(f"{parameters}: {json.load(error)['error']}")
            return {"result": []}

    def panel(self, panel, options, pod):
        """The series of every query of a panel, as Grafana would ask for them."""
        end = options.end
        for target in panel["targets"]:
            expr = substitute(target["expr"], options.interval, f"{options.range:.0f}s", options.job, pod, ".*")
            if target["instant"]:
                result = self.get("query", query=expr, time=end)["result"]
                yield target, expr, [series | {"values": [series["value"]]} for series in result]
            else:
                step = max(1, options.range / 300)
                asked = {"start": end - options.range, "end": end, "step": step}
                yield target, expr, self.get("query_range", query=expr, **asked)["result"]


def add_arguments(parser):
    """What is asked: where, about what and when."""
    parser.add_argument("--prometheus", required=True)
    parser.add_argument("--job", required=True)
    parser.add_argument("--pod", required=True)
    parser.add_argument("--interval", required=True, help="what $__rate_interval stands for")
    parser.add_argument("--range", type=float, required=True, help="seconds")
    parser.add_argument("--end", type=float, required=True, help="seconds since 1970")


def check_queries(options):
    prometheus = Prometheus(options.prometheus)
    known = Known(prometheus)
    count = 0
    for name, dashboard in dashboards().items():
        for panel in panels(dashboard):
            # A target with the label pod, and then one without it, which only `All` takes.
            for pod in (options.pod, ".*"):
                check_answers(f"{name}: {panel['title']}", panel, list(prometheus.panel(panel, options, pod)), known)
                count += 1
        check_variables(name, dashboard, prometheus, options)
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    for rule in rules:
        expect(rule["health"] == "ok", f"rule {rule['name']}: {rule['health']}: {rule.get('lastError')}")
        known.check(f"rule {rule['name']}", rule["query"])
    for name in MAY_BE_ABSENT:
        expect(name not in known.metrics, f"`{name}` exists: take it out of MAY_BE_ABSENT")
        expect(f"`{name}`" in (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"), f"`{name}` is not documented")
    print(f"asked {count} times about panels, {len(rules)} rules evaluated, {len(problems)} problems")


def check_variables(name, dashboard, prometheus, options):
    for variable in dashboard["templating"]["list"][1:]:
        selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]).groups()
        matched = substitute(selector, options.interval, "", options.job, options.pod, ".*")
        values = prometheus.get(f"label/{label}/values", **{"match[]": matched})
        expect(values and label == variable["name"], f"{name}: the variable {variable['name']} has no values")


def check_answers(name, panel, answers, known):
    found = [series for _, _, result in answers for series in result]
    finite = [series for series in found if any(math.isfinite(float(value)) for _, value in series["values"])]
    expect(finite, f"{name}: no series: {[expr for _, expr, _ in answers]}")
    labels = {label for series in found for label in series["metric"]}
    for column in panel["transformations"][-1]["options"]["renameByName"] if panel["type"] == "table" else []:
        expect(column.startswith("Value") or column in labels, f"{name}: no series has the label `{column}`")
    for target, expr, result in answers:
        known.check(name, expr)
        labels = {label for series in result for label in series["metric"]}
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]) if result else []:
            expect(label in labels or label == "profile", f"{name}: no series has the label `{label}` of its legend")


class Known:
    """The metrics that exist, recorded ones too, and the values of labels."""

    def __init__(self, prometheus):
        self.prometheus = prometheus
        self.metrics = set(prometheus.get("label/__name__/values"))
        self.recorded = {rule["name"] for group in prometheus.get("rules")["groups"] for rule in group["rules"]}
        self.values = {label: set(prometheus.get(f"label/{label}/values")) for label in CLOSED_LABELS}

    def check(self, name, expr):
        for selector in selectors(parse(name, expr)):
            exists = selector.name in self.metrics | self.recorded | MAY_BE_ABSENT
            expect(exists, f"{name}: there is no metric `{selector.name}`")
            for matcher in selector.matchers.matchers:
                if matcher.name in CLOSED_LABELS and selector.name not in MAY_BE_ABSENT:
                    for value in matcher.value.split("|"):
                        there = value in self.values[matcher.name]
                        expect(there, f"{name}: `{matcher.name}` of no metric is `{value}`")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("files")
    queries = commands.add_parser("queries")
    add_arguments(queries)
    options = parser.parse_args()
    if options.command == "files":
        check_files()
    else:
        check_queries(options)
    if problems:
        raise SystemExit("\n".join(dict.fromkeys(problems)))


if __name__ == "__main__":
    main()
