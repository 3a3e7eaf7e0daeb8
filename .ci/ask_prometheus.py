"""Asks a Prometheus: `URL query EXPRESSION` prints the value of its one series, `URL alert NAME [LABEL=VALUE...]` prints
the state of the alert with these labels, `inactive` if there is none, `URL rules` prints the rules that failed and those
that recorded nothing."""

import json
import sys
import urllib.parse
import urllib.request


def get(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["data"]


def query(url: str, expression: str) -> str:
    series = get(f"{url}/api/v1/query?" + urllib.parse.urlencode({"query": expression}))["result"]
    if not series:
        return "absent"
    if len(series) > 1:
        sys.exit(f"{len(series)} series: {expression}")
    return series[0]["value"][1]


def alert(url: str, name: str, *labels: str) -> str:
    wanted = {"alertname": name, **dict(label.split("=", 1) for label in labels)}
    for found in get(f"{url}/api/v1/alerts")["alerts"]:
        if wanted.items() <= found["labels"].items():
            return found["state"]
    return "inactive"


def rules(url: str) -> str:
    problems = []
    for rule in (rule for group in get(f"{url}/api/v1/rules")["groups"] for rule in group["rules"]):
        name = rule["name"]
        if rule["health"] != "ok":
            problems.append(f"{name} is {rule['health']}: {rule.get('lastError', '')}")
        elif rule["type"] == "recording" and query(url, f"count({{__name__=\"{name}\"}})") == "absent":
            problems.append(f"{name} recorded nothing")
    return "\n".join(problems)


def main() -> None:
    url, what, *rest = sys.argv[1:]
    print({"query": query, "alert": alert, "rules": rules}[what](url, *rest))


main()
