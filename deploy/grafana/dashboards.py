"""Writes dashboards/overview.json, dashboards/internals.json and README.md of this folder.

The dashboards are in Grafana's Classic model, which Grafana 9 to 13 read; what is on them stands in panels/. Needs
Python 3.11 and nothing else: `python3 deploy/grafana/dashboards.py` after a change. CI fails if what is committed is
something else.
"""

import json
from pathlib import Path

from panels.internals import INTERNALS
from panels.overview import OVERVIEW

FOLDER = Path(__file__).parent
DASHBOARDS = [OVERVIEW, INTERNALS]

README = """\
# Dashboards for Grafana

Two dashboards in the Classic model, for Grafana 9 to 13, over a Prometheus that scrapes the admin port.
They need no recording rules.

- Import `dashboards/overview.json` and `dashboards/internals.json` (Dashboards, New, Import), or
- mount `provisioning` at `/etc/grafana/provisioning` and `dashboards` at `/var/lib/grafana/dashboards/judge-cascade`, and set the address of your Prometheus in `provisioning/datasources/prometheus.yaml` or by `PROMETHEUS_URL`.

| variable | what it takes |
|---|---|
| `datasource` | A data source of the type Prometheus. |
| `job` | The `job` label of the scrape, several or all. |
| `pod` | The `pod` label of the scrape, several or all; targets without one are among all. |
| `profile` | Profiles of the configuration, several or all; metrics of judges and of the server have none and stay whole. |

The rates are over `$__rate_interval`, so the scrape interval in the data source must be the real one.

The names of alerts stand below without their `JudgeCascade`; each has a section in `docs/runbooks.md`.

`dashboards.py` writes the two files and this one; change it and run it again.
CI evaluates every expression below on a real Prometheus that scrapes a sidecar under load, and draws [the overview](../../docs/overview.png) from the same queries.
"""


def readme() -> str:
    parts = [README]
    for dashboard in DASHBOARDS:
        parts.append(f"\n## {dashboard.title}\n\n{dashboard.description}\n")
        for row in dashboard.rows:
            parts.append(f"\n### {row.title}\n\n| panel | what it tells | alerts |\n|---|---|---|\n")
            parts += [f"| {panel.title} | {panel.description} | {', '.join(panel.alerts)} |\n" for panel in row.panels]
    return "".join(parts)


def files() -> dict[Path, str]:
    """Everything that is written, by its path."""
    written = {
        FOLDER / "dashboards" / f"{dashboard.name}.json": json.dumps(dashboard.json(), indent=2, ensure_ascii=False)
        + "\n"
        for dashboard in DASHBOARDS
    }
    return written | {FOLDER / "README.md": readme()}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
