"""The overview: six questions that an operator asks, from top to bottom."""

from .classic import Dashboard, Panel, Query, Row, series, stat, table
from .colours import ACTIONS, BLUE, DIAGNOSES, GREEN, PURPLE, RED, ROUTES, YELLOW, colours, limit, override
from .expressions import (
    ASSESSABLE,
    GENERATION,
    JUDGE_FAILED,
    NO_VERDICT,
    RETRIEVAL,
    diagnoses,
    metric,
    per_hour,
    quantile,
    rate,
    share,
    share_by,
    total,
)


def protection() -> Row:
    bad = rate("diagnoses_total", f'diagnosis=~"{RETRIEVAL}|{GENERATION}"', profile=True)
    acted = rate("actions_total", 'action!="ALLOW"', 'enforcement="enforce"', profile=True)
    actions = rate("actions_total", profile=True)
    return Row(
        "1. Are users protected now?",
        [
            stat(
                "Traces diagnosed",
                total(diagnoses()),
                "suffix:/s",
                "Traces that got a diagnosis, each second. None at all means that callers do not reach the sidecar.",
                decimals=2,
                no_value="none",
                alerts=["NoTraffic", "JobGone", "TargetDown", "MetricsAbsent"],
            ),
            stat(
                "Calls that got a verdict",
                f"1 - {NO_VERDICT}",
                "percentunit",
                "What the alert FailureRateHigh leaves: calls that did not end in an error of the service and whose judges did "
                "not fail, of those that could be assessed. Red is where the alert is by default. Without a verdict callers "
                "serve the answer unchecked; JUDGE_UNCERTAIN because nothing was sure is a verdict.",
                max=1,
                decimals=2,
                thresholds=[(None, RED), (0.95, YELLOW), (0.99, GREEN)],
                no_value="no calls",
                alerts=["FailureRateHigh", "Unauthenticated"],
            ),
            stat(
                "Under enforcement",
                share(rate("actions_total", 'enforcement="enforce"', profile=True), actions),
                "percentunit",
                "Traces of profiles that enforce. For the others (shadow) the action is always ALLOW, whatever is wrong.",
                max=1,
                decimals=1,
                thresholds=[(None, BLUE)],
                alerts=["UncalibratedEnforces"],
            ),
            stat(
                "Answers blocked",
                share(rate("actions_total", 'action="BLOCK"', 'enforcement="enforce"', profile=True), actions),
                "percentunit",
                "Traces whose caller was told BLOCK. A jump is a worse generator or a worse judge: look at row 2, then at "
                "row 6.",
                max=1,
                decimals=1,
                thresholds=[(None, GREEN), (0.1, YELLOW), (0.25, RED)],
            ),
            stat(
                "Bad answers let through",
                f"clamp_min({total(bad)} - {total(acted)}, 0) / ({total(diagnoses())} > 0)",
                "percentunit",
                "Traces with a retrieval or generation fault whose caller was told ALLOW, because the profile is in shadow "
                "or its policy allows it. This is what enforcing could catch. Too low by as much as the policy acts on "
                "other diagnoses.",
                max=1,
                decimals=1,
                thresholds=[(None, GREEN), (0.05, YELLOW), (0.15, RED)],
            ),
            stat(
                "Deadline used at p99",
                f"{quantile(0.99, 'diagnose_duration_seconds')} / min({metric('deadline_seconds')})",
                "percentunit",
                "The 99th percentile of the time for a diagnosis, of time.deadline_ms. Near 100% the fallback judge is "
                "skipped for want of time.",
                decimals=0,
                thresholds=[(None, GREEN), (0.7, YELLOW), (0.95, RED)],
                alerts=["DiagnoseSlow"],
            ),
            series(
                "What callers were told to do",
                [
                    *(
                        Query(
                            total(rate("actions_total", f'action="{action}"', 'enforcement="shadow"', profile=True)),
                            f"{action} (shadow)",
                        )
                        for action in ("ALLOW", "WARN", "BLOCK")
                    ),
                    *(
                        Query(
                            total(rate("actions_total", f'action="{action}"', 'enforcement="enforce"', profile=True)),
                            action,
                        )
                        for action in ("ALLOW", "WARN", "BLOCK")
                    ),
                ],
                "suffix:/s",
                "What the policies ask for. In shadow callers are told ALLOW all the same, so this shows what enforcing would do.",
                stacked=True,
                overrides=ACTIONS,
            ),
            series(
                "Calls that ended without a verdict",
                [
                    Query(
                        total(rate("diagnose_errors_total", profile=True), "code", "reason"),
                        "{{code}}: {{reason}}",
                    ),
                    Query(total(rate("shed_total"), "reason"), "turned away: {{reason}}"),
                ],
                "suffix:/s",
                "Errors of Diagnose, and calls that were turned away before they were looked at (those of all profiles). "
                "INVALID_ARGUMENT and CANCELLED are the caller's; UNAVAILABLE and RESOURCE_EXHAUSTED may be tried again; "
                "overloaded asks for more replicas or a higher limits.max_in_flight_traces.",
                stacked=True,
                alerts=["FailureRateHigh", "Shedding"],
            ),
        ],
    )


def mix() -> Row:
    sides = {"retrieval": RETRIEVAL, "generation": GENERATION, "uncertain": "JUDGE_UNCERTAIN"}
    by_profile = [share_by("profile", diagnoses(pattern), ASSESSABLE) for pattern in ("PASS", *sides.values())]
    return Row(
        "2. Is retrieval or generation getting worse?",
        [
            series(
                "Diagnosis mix",
                [Query(total(diagnoses(diagnosis)), diagnosis) for diagnosis in DIAGNOSES],
                "suffix:/s",
                "The share of each diagnosis. Blue is retrieval: look at the index, the query and the number of chunks. "
                "Yellow to red is generation: look at the prompt and the model. Purple is what the judges could not decide.",
                height=9,
                stacked="percent",
                overrides=colours(*DIAGNOSES),
                legend="right",
            ),
            series(
                "Faults of retrieval against faults of generation",
                [Query(share(diagnoses(pattern), ASSESSABLE), name) for name, pattern in sides.items()],
                "percentunit",
                "The same in three lines, as shares of the traces that can be assessed. Only one line up: that side got "
                "worse. All up at once: look at the judge first (row 6).",
                width=6,
                height=9,
                overrides=colours(*sides),
            ),
            table(
                "By profile",
                [Query(expr) for expr in by_profile],
                "Shares of the traces that can be assessed, now.",
                6,
                {
                    "profile": "Profile",
                    "Value #A": "Pass",
                    "Value #B": "Retrieval",
                    "Value #C": "Generation",
                    "Value #D": "Uncertain",
                },
                unit="percentunit",
                height=9,
                decimals=1,
            ),
        ],
    )


def fallback() -> Row:
    requested = rate("fallback_requested_total", profile=True)
    unavailable = rate("fallback_unavailable_total", profile=True)
    return Row(
        "3. Why was the fallback judge needed?",
        [
            series(
                "Fallback rate",
                [
                    Query(share_by("profile", requested, ASSESSABLE), "{{profile}}"),
                    Query(share(requested, ASSESSABLE), "all"),
                ],
                "percentunit",
                "Traces that needed the fallback judge, asked or not, of those that can be assessed. It drives cost and "
                "latency.",
                width=8,
                overrides=[override("/^all$/", {"custom.lineWidth": 3})],
                alerts=["FallbackRateHigh"],
            ),
            series(
                "By reason",
                [Query(share(requested, ASSESSABLE, "reason"), "{{reason}}")],
                "percentunit",
                "uncertain: a required dimension is between its thresholds or cannot decide. atomic_failed: the atomic judge "
                "failed as a whole, look at it in internals. mismatch: the thresholds are not for the judge that answered.",
                width=8,
                stacked=True,
                overrides=colours("uncertain"),
            ),
            Panel(
                "bargauge",
                "Which dimension, and what kept it open",
                [
                    Query(
                        f"topk(10, round(sum by (dimension, cause) (increase({metric('uncertain_total', profile=True)}[$__range]))))",
                        "{{dimension}}: {{cause}}",
                    )
                ],
                "short",
                "Dimensions that kept the atomic judge from deciding in the time shown, the ten most frequent. band: the "
                "probability is between the thresholds. Anything but band, veto, chunk_rule, upstream and partly_seen is a "
                "failure of the judge.",
                8,
                thresholds=[(None, PURPLE)],
                alerts=["DimensionUncertain"],
            ),
            series(
                "How diagnoses were reached",
                [Query(total(diagnoses(), "route"), "{{route}}")],
                "suffix:/s",
                "auto: the atomic judge decided. fallback: the fallback judge helped. fallback_unavailable: it was needed "
                "and gave nothing, so the diagnosis is JUDGE_UNCERTAIN or what the atomic judge alone allows.",
                stacked="percent",
                overrides=ROUTES,
            ),
            series(
                "Needed, but nothing came",
                [Query(share(unavailable, ASSESSABLE, "reason"), "{{reason}}")],
                "percentunit",
                "not_configured: the profile has no fallback judge. deadline: no time was left. budget: a spend cap is "
                "reached. breaker: the judge is left alone after failures. error: it failed. Shares of the traces that can "
                "be assessed.",
                stacked=True,
                alerts=["FallbackUnavailable"],
            ),
        ],
    )


def latency() -> Row:
    name = "diagnose_duration_seconds"
    return Row(
        "4. Is there time enough?",
        [
            series(
                "Time for a diagnosis against the deadline",
                [Query(quantile(q, name), f"p{round(q * 100)}") for q in (0.5, 0.95, 0.99)]
                + [Query(f"min({metric('deadline_seconds')})", "deadline")],
                "s",
                "From a decoded trace to its diagnosis; the deadline is time.deadline_ms, and a caller may allow less.",
                overrides=[limit("deadline")],
                alerts=["DiagnoseSlow"],
            ),
            series(
                "95th percentile by route",
                [Query(quantile(0.95, name, "route"), "{{route}}")],
                "s",
                "auto is the atomic judge alone; the distance to fallback is the price of asking twice.",
                width=6,
                overrides=ROUTES,
            ),
            series(
                "Time of the sidecar itself",
                [Query(quantile(q, "overhead_seconds"), f"p{round(q * 100)}") for q in (0.5, 0.99)],
                "s",
                "Time for a diagnosis less the time spent waiting for judges. Milliseconds are normal; more means too little "
                "CPU, or very long traces with the embedded judge.",
                width=6,
                alerts=["OverheadHigh"],
            ),
        ],
    )


def money() -> Row:
    cost = "cost_nano_usd_total"
    return Row(
        "5. What does it cost, and why?",
        [
            stat(
                "Cost of an hour",
                per_hour(cost),
                "currencyUSD",
                "US dollars an hour at this pace, of calls whose price is known. A call without a price counts nothing: "
                "give pricing.file.",
                width=6,
                decimals=2,
                thresholds=[(None, BLUE)],
                no_value="no prices",
                alerts=["CostHigh"],
            ),
            stat(
                "Cost of a trace",
                f"{total(rate(cost))} / 1e9 / ({total(rate('diagnoses_total'))} > 0)",
                "currencyUSD",
                "US dollars a trace on average, over those that cost nothing too.",
                width=6,
                decimals=6,
                thresholds=[(None, BLUE)],
                no_value="no prices",
                alerts=["CostPerTraceJumped"],
            ),
            stat(
                "Answered by the cache",
                share(rate("cache_requests_total", 'result=~"hit|shared"'), rate("cache_requests_total")),
                "percentunit",
                "Of the asks of judges whose answers may be cached.",
                width=6,
                max=1,
                decimals=1,
                thresholds=[(None, BLUE)],
                no_value="off",
            ),
            stat(
                "Saved by the cache an hour",
                per_hour("avoided_cost_nano_usd_total"),
                "currencyUSD",
                "US dollars an hour that did not arise.",
                width=6,
                decimals=2,
                thresholds=[(None, BLUE)],
            ),
            series(
                "Cost of an hour by judge and role",
                [Query(per_hour(cost, "judge", "role"), "{{judge}} ({{role}})")],
                "currencyUSD",
                "US dollars an hour at this pace. The fallback judge grows with the fallback rate, the atomic judge with "
                "traffic.",
                width=8,
                stacked=True,
            ),
            series(
                "Tokens a trace",
                [
                    Query(
                        share(rate("tokens_total", 'type=~"input|output"'), rate("diagnoses_total"), "judge", "type"),
                        "{{judge}}: {{type}}",
                    )
                ],
                "short",
                "Tokens that judges reported, over all traces. If they grow while traffic does not, contexts got longer or "
                "more of them go to the fallback judge.",
                width=8,
                stacked=True,
            ),
            series(
                "Spend caps used",
                [Query(f"max by (judge, window) ({metric('spend_cap_used_ratio')})", "{{judge}} ({{window}})")],
                "percentunit",
                "The fullest sidecar, as of its last call to the judge, of the fuller of dollars and calls. A call "
                "sets aside what it may cost, so calls are refused (budget in internals) before 100%.",
                width=8,
                max=1,
                thresholds=[(None, GREEN), (0.8, YELLOW), (1, RED)],
                lines=True,
                alerts=["SpendCapNearlyUsed", "SpendCapUsed"],
            ),
        ],
    )


def trust() -> Row:
    ended = rate("judge_requests_total")
    return Row(
        "6. Can I trust it?",
        [
            table(
                "Calibration",
                [Query(f"max by (profile, state) ({metric('calibration_state', profile=True)} == 1)")],
                "CERTIFIED: the thresholds of the profile were proved on labelled traces. UNCALIBRATED: they are examples, "
                "and what passes with them is not known. Anything else needs a look now.",
                6,
                {"profile": "Profile", "state": "State"},
                height=7,
                alerts=["UncalibratedEnforces"],
            ),
            table(
                "Which model answers",
                [Query(f"max by (judge, role, requested, answered) ({metric('judge_model_info')} == 1)")],
                "The model that answered last, beside the one that was asked for. If it is another one, and not the same "
                "under its full name, the thresholds may no longer hold: pin it by expect_model.",
                10,
                {"judge": "Judge", "role": "Role", "requested": "Asked for", "answered": "Answered"},
                height=7,
                alerts=["JudgeModelMoved"],
            ),
            table(
                "Policies in force",
                [Query(f"count by (id, sha256) ({metric('policy_info')} == 1)")],
                "The policies that are in force, with the number of sidecars that have them. One id with two digests is a "
                "fleet that does not agree.",
                8,
                {"id": "Policy", "sha256": "SHA-256", "Value": "Sidecars"},
                height=7,
                alerts=["PolicySkew"],
            ),
            series(
                "Answers of judges that were refused",
                [Query(total(rate("judge_invalid_answers_total"), "judge"), "{{judge}}")],
                "suffix:/s",
                "Answers that cannot be read, are no probability, or leave a question out. They count as failures, never as "
                "a verdict; internals has their causes.",
                width=8,
                stacked=True,
                alerts=["JudgeInvalidAnswers"],
            ),
            series(
                "Calls to judges that failed",
                [
                    Query(
                        share_by("judge", JUDGE_FAILED, ended),
                        "{{judge}}",
                    )
                ],
                "percentunit",
                "Of all calls to the judge; what they failed with stands in internals.",
                width=8,
                max=1,
                alerts=["JudgeFailing"],
            ),
            series(
                "Answers that say nothing, traces that cannot be judged",
                [
                    Query(share(rate("abstained_total", profile=True), diagnoses()), "answer abstains"),
                    Query(share(rate("not_assessable_total", profile=True), diagnoses()), "not assessable"),
                    Query(
                        f"({total(rate('generator_judged_total'))} or vector(0)) / ({total(ended)} > 0)",
                        "judged its own answer",
                    ),
                ],
                "percentunit",
                "Abstentions and traces without texts, of all traces; and calls in which a judge was asked about an answer of "
                "its own model, of all calls to judges: such judges are kind to themselves.",
                width=8,
            ),
        ],
    )


OVERVIEW = Dashboard(
    "overview",
    "judge-cascade / overview",
    "Six questions from top to bottom: are users protected, is retrieval or generation getting worse, why was the "
    "fallback judge needed, is there time, what does it cost, can I trust it.",
    [protection(), mix(), fallback(), latency(), money(), trust()],
    tells_whole=True,
)
