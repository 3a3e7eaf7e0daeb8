"""Asks a running judge-cascade for the diagnosis of one trace.

Usage: python diagnose.py [ENDPOINT], where ENDPOINT is host:port or unix:PATH.
"""

import sys

from judge_cascade_client import Client, InvalidTrace, NoVerdict, Trace, Verdict

TRACE = Trace(
    question="When does the public pool open on Sundays?",
    chunks=[
        "On Sundays the public pool opens at nine in the morning.",
        "The library lends books for three weeks.",
    ],
    answer="On Sundays the public pool opens at nine in the morning.",
)


def show(verdict: Verdict) -> None:
    print(f"trace      {verdict.trace_id}")
    print(f"diagnosis  {verdict.diagnosis.value}")
    print(f"route      {verdict.route.value}")
    if (rule := verdict.fired_rule) is not None:
        by = ""
        if rule.dimension is not None and rule.value is not None and rule.threshold is not None:
            by = f" by {rule.dimension.value} = {rule.value:.2f} against {rule.threshold:.2f}"
        print(f"rule       {rule.rule.value}{by}")
    print(f"action     {verdict.action.value}")


def main() -> None:
    with Client(sys.argv[1] if len(sys.argv) > 1 else None) as client:
        try:
            result = client.diagnose(TRACE)
        except InvalidTrace as error:
            for violation in error.violations:
                print(f"{violation.field}: {violation.reason}: {violation.description}")
            sys.exit(f"error: {error}")
    if isinstance(result, NoVerdict):
        # The sidecar is away, full or slow, which says nothing about the answer.
        print(f"no verdict: {result.detail}")
    else:
        show(result)


if __name__ == "__main__":
    main()
