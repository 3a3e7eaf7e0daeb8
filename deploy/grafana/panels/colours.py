"""Colours, the same on every panel."""

from typing import Any

from .expressions import GENERATION, RETRIEVAL

Json = dict[str, Any]

GREEN, YELLOW, ORANGE, RED = "#73BF69", "#F2CC0C", "#FF9830", "#E02F44"
BLUE, PURPLE, GREY = "#5794F2", "#B877D9", "#8E8E8E"
COLOURS = {
    "ALLOW": GREEN,
    "WARN": YELLOW,
    "BLOCK": RED,
    "PASS": GREEN,
    "RETRIEVAL_MISS": "#1F60C4",
    "RETRIEVAL_INSUFFICIENT": BLUE,
    "CONFLICTING_EVIDENCE": "#8AB8FF",
    "ANSWER_IRRELEVANT": YELLOW,
    "GENERATOR_UNGROUNDED": ORANGE,
    "ANSWER_INCORRECT": RED,
    "JUDGE_UNCERTAIN": PURPLE,
    "NOT_ASSESSABLE": GREY,
    "retrieval": BLUE,
    "generation": ORANGE,
    "uncertain": PURPLE,
    "auto": GREEN,
    "fallback": BLUE,
    "fallback_unavailable": RED,
}


def colour(name: str, value: str) -> Json:
    return override(f"/^{name}\\b/", {"color": {"mode": "fixed", "fixedColor": value}})


def colours(*names: str) -> list[Json]:
    """Overrides that give the series whose legend begins with one of these words its colour."""
    return [colour(name, COLOURS[name]) for name in names]


def override(pattern: str, properties: Json) -> Json:
    return {
        "matcher": {"id": "byRegexp", "options": pattern},
        "properties": [{"id": id, "value": value} for id, value in properties.items()],
    }


def limit(name: str) -> Json:
    """An override that draws a series as a limit: red and dashed, with nothing below it."""
    dashes = {"fill": "dash", "dash": [10, 10]}
    colour = {"mode": "fixed", "fixedColor": RED}
    return override(f"/^{name}\\b/", {"color": colour, "custom.lineStyle": dashes, "custom.fillOpacity": 0})


ACTIONS = colours("BLOCK", "WARN", "ALLOW") + [override("/shadow/", {"custom.fillOpacity": 15})]
# From the bottom of a stack to its top.
DIAGNOSES = f"PASS|NOT_ASSESSABLE|JUDGE_UNCERTAIN|{RETRIEVAL}|{GENERATION}".split("|")
ROUTES = colours("auto", "fallback", "fallback_unavailable")
