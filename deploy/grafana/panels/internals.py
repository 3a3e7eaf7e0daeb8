"""The internals: where to look when the overview shows that something is wrong."""

from .classic import Dashboard, Panel, Query, Row, series, table
from .colours import limit
from .expressions import JUDGE_FAILED, metric, quantile, rate, share_by, total


def judges() -> Row:
    return Row(
        "Judges",
        [
            series(
                "Calls by outcome",
                [Query(total(rate("judge_requests_total"), "judge", "outcome"), "{{judge}}: {{outcome}}")],
                "reqps",
                "Calls to judges: ok, or the reason of the failure.",
                width=12,
                legend="right",
            ),
            series(
                "Failures by role",
                [
                    Query(
                        share_by("judge, role", JUDGE_FAILED, rate("judge_requests_total")),
                        "{{judge}} ({{role}})",
                    )
                ],
                "percentunit",
                "Of all calls to the judge in that role.",
                max=1,
                alerts=["JudgeFailing"],
            ),
            series(
                "Answers that were refused, by cause",
                [Query(total(rate("judge_invalid_answers_total"), "judge", "cause"), "{{judge}}: {{cause}}")],
                "suffix:/s",
                "malformed: it cannot be read. missing: a question was left out. unknown and duplicate: it answers what was "
                "not asked, or twice. not_a_probability: a number outside of 0 to 1.",
                legend="right",
                alerts=["JudgeInvalidAnswers"],
            ),
            series(
                "95th percentile of a call",
                [Query(quantile(0.95, "judge_request_duration_seconds", "judge", "role"), "{{judge}} ({{role}})")],
                "s",
                "With all attempts of the call, whatever its outcome. Of a recorded answer it is the recorded time.",
                width=8,
            ),
            series(
                "Median of a call that was answered",
                [
                    Query(
                        "histogram_quantile(0.5, "
                        + total(rate("judge_request_duration_seconds_bucket", 'outcome="ok"'), "le", "judge", "role")
                        + ")",
                        "{{judge}} ({{role}})",
                    )
                ],
                "s",
                "Far below the 95th percentile: some calls wait or are tried again.",
                width=8,
            ),
            series(
                "Requests that were sent again",
                [Query(total(rate("judge_retries_total"), "judge", "reason"), "{{judge}}: {{reason}}")],
                "reqps",
                "At most retry.budget_share of the calls. A stale connection and a new key cost no budget.",
                width=8,
            ),
            series(
                "Breakers that are not closed",
                [
                    Query(
                        total(metric("judge_breaker_state", 'state!="closed"'), "judge", "state"),
                        "{{judge}}: {{state}}",
                    )
                ],
                "short",
                "Sidecars that leave the judge alone (open) or try it with one call (half_open).",
                width=6,
                decimals=0,
                alerts=["BreakerOpen"],
            ),
            series(
                "Calls that wait for their turn",
                [Query(total(metric("judge_queue_depth"), "judge"), "{{judge}}")],
                "short",
                "More than concurrency.max_in_flight calls, or a rate that is used up. Above max_queued they are turned away "
                "as overloaded.",
                width=6,
                decimals=0,
            ),
        ],
    )


def tokens() -> Row:
    return Row(
        "Tokens and cache",
        [
            series(
                "Tokens by judge",
                [Query(total(rate("tokens_total"), "judge", "role", "type"), "{{judge}} ({{role}}): {{type}}")],
                "suffix:tokens/s",
                "As judges reported them. cached_input and cache_write_input are among input, reasoning among output.",
                legend="right",
            ),
            series(
                "Looks into the cache",
                [Query(total(rate("cache_requests_total"), "result"), "{{result}}")],
                "suffix:/s",
                "shared: the same question was on its way. bypass: the caller wanted a fresh answer. Nothing while the cache "
                "is off.",
                width=6,
                stacked=True,
            ),
            series(
                "Asks about answers of the same model",
                [
                    Query(
                        f"{total(rate('generator_judged_total'), 'judge', 'role')} or vector(0)", "{{judge}} ({{role}})"
                    )
                ],
                "suffix:/s",
                "By judge. Name another model as the judge, or read its verdicts with care.",
                width=6,
            ),
        ],
    )


def server() -> Row:
    reload_failed = metric("credential_reloads_total", 'result="error"')
    return Row(
        "Server",
        [
            series(
                "Calls by method and code",
                [Query(total(rate("rpc_requests_total"), "method", "code"), "{{method}}: {{code}}")],
                "reqps",
                "Every call over gRPC and HTTP. CANCELLED also for a caller that went away.",
                legend="right",
            ),
            series(
                "Errors of Diagnose",
                [
                    Query(
                        total(rate("diagnose_errors_total", profile=True), "profile", "code", "reason"),
                        "{{profile}} {{code}}: {{reason}}",
                    )
                ],
                "reqps",
                "Without a profile where none is known.",
                legend="right",
            ),
            series(
                "Traces in flight against the limit",
                [
                    Query(total(metric("inflight_traces"), "instance"), "{{instance}}"),
                    Query(f"min({metric('inflight_traces_limit')})", "limit of one"),
                ],
                "short",
                "At limits.max_in_flight_traces further calls are turned away. The autoscaler of deploy/kubernetes aims at a quarter of it.",
                width=8,
                decimals=0,
                overrides=[limit("limit")],
                alerts=["InflightNearLimit"],
            ),
            series(
                "Calls turned away",
                [Query(total(rate("shed_total"), "reason"), "{{reason}}")],
                "reqps",
                "Before they were looked at. shutting_down is normal in a rollout.",
                width=8,
                stacked=True,
                alerts=["Shedding"],
            ),
            series(
                "What must stay at zero",
                [
                    Query(f"sum(increase({metric('panics_total')}[$__rate_interval]))", "panics"),
                    Query(
                        f"sum by (kind) (increase({reload_failed}[$__rate_interval]))",
                        "{{kind}}: not read again",
                    ),
                ],
                "short",
                "Panics that were caught in a handler: the call ended as INTERNAL, the process goes on, the log has it. And "
                "certificates or tokens whose new file cannot be used: the old ones stay until they run out.",
                width=8,
                decimals=0,
                alerts=["Panics", "CredentialReloadFailing"],
            ),
            series(
                "Open connections",
                [Query(total(metric("open_connections"), "instance"), "{{instance}}")],
                "short",
                "At server.max_connection_count further ones wait in the backlog.",
                width=8,
                decimals=0,
            ),
            series(
                "Connections closed",
                [
                    Query(total(rate("connections_closed_total"), "reason"), "{{reason}}"),
                    Query(total(rate("tls_refused_total"), "cause"), "refused by TLS: {{cause}}"),
                ],
                "suffix:/s",
                "By reason; those that TLS refused again by cause. expired and unknown_issuer are certificates of clients.",
                width=8,
                alerts=["TlsRefused"],
            ),
            series(
                "Certificates and tokens read again",
                [Query(total(rate("credential_reloads_total"), "kind", "result"), "{{kind}}: {{result}}")],
                "suffix:/s",
                "Files of server.tls and server.auth that changed. Nothing for longer than a certificate is good for: what "
                "renews it has stopped.",
                width=8,
                alerts=["CredentialReloadFailing"],
            ),
            table(
                "Running versions",
                [Query(f"count by (version, revision) ({metric('build_info')} == 1)")],
                "Sidecars by version and revision. Two of them are a rollout on its way, or one that stopped.",
                12,
                {"version": "Version", "revision": "Revision", "Value": "Sidecars"},
                height=5,
                alerts=["VersionSkew"],
            ),
            table(
                "Price tables in force",
                [Query(f"count by (id, sha256) ({metric('pricing_info')} == 1)")],
                "Without one, calls have no price.",
                12,
                {"id": "Price table", "sha256": "SHA-256", "Value": "Sidecars"},
                height=5,
                alerts=["PricingSkew"],
            ),
        ],
    )


def traces() -> Row:
    atomic = "atomic_probability_bucket"

    def up_to(bound: str) -> str:
        return total(rate(atomic, f'le="{bound}"'), "dimension")

    between = f"({up_to('0.9')} - {up_to('0.1')}) / ({up_to('+Inf')} > 0)"
    return Row(
        "Traces",
        [
            Panel(
                "heatmap",
                "Probabilities of the atomic judge",
                [Query(f"sum by (le) (increase({metric(atomic)}[$__rate_interval]))", "{{le}}")],
                "none",
                "P(true) as the atomic judge gave it, all dimensions together. A good judge is at both ends.",
                12,
                9,
                min=None,
            ),
            series(
                "Probabilities between 0.1 and 0.9",
                [Query(between, "{{dimension}}")],
                "percentunit",
                "Of those that the atomic judge gave. A dimension that rises while traffic is the same has drifted.",
                height=9,
                max=1,
            ),
            series(
                "Chunks of a trace",
                [Query(quantile(q, "trace_chunks"), f"p{round(q * 100)}") for q in (0.5, 0.95)],
                "short",
                "More chunks cost more tokens.",
                width=8,
            ),
            series(
                "Tokens of a trace",
                [Query(quantile(q, "trace_input_tokens"), f"p{round(q * 100)}") for q in (0.5, 0.95)],
                "short",
                "Estimated, of all texts. Compare with max_state_tokens of the judges.",
                width=8,
            ),
            series(
                "Traces that cannot be judged",
                [
                    Query(
                        total(rate("not_assessable_total", profile=True), "profile", "reason"),
                        "{{profile}}: {{reason}}",
                    )
                ],
                "suffix:/s",
                "Nothing was retrieved, or the texts were not sent along: a fault of the caller's integration.",
                width=8,
            ),
        ],
    )


INTERNALS = Dashboard(
    "internals",
    "judge-cascade / internals",
    "Judges, breakers, retries, queues, tokens, connections: where to look when the overview shows that something is "
    "wrong.",
    [judges(), tokens(), server(), traces()],
    tells_whole=False,
)
