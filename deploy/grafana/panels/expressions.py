"""Expressions over the metrics of judge-cascade, narrowed by the variables of a dashboard.

They are over the metrics themselves and not over recording rules, so that a dashboard works wherever the metrics are, and
so that its variables reach into every expression.
"""


def metric(name: str, *matchers: str, profile: bool = False) -> str:
    """A selector of a metric of this program, narrowed by the variables."""
    parts = ['job=~"$job"', 'pod=~"$pod"']
    if profile:
        parts.append('profile=~"$profile"')
    return f"judge_cascade_{name}{{{', '.join([*parts, *matchers])}}}"


def rate(name: str, *matchers: str, profile: bool = False) -> str:
    return f"rate({metric(name, *matchers, profile=profile)}[$__rate_interval])"


def total(expr: str, *labels: str) -> str:
    return f"sum by ({', '.join(labels)}) ({expr})" if labels else f"sum({expr})"


def share(part: str, whole: str, *labels: str) -> str:
    """The part of a whole by these labels of the part alone; nothing, rather than NaN, where there is no whole."""
    if not labels:
        return f"{total(part)} / ({total(whole)} > 0)"
    return f"{total(part, *labels)} / ignoring({', '.join(labels)}) group_left () ({total(whole)} > 0)"


def share_by(labels: str, part: str, whole: str) -> str:
    """The part of a whole, for each value of labels that both have."""
    return f"{total(part, labels)} / ({total(whole, labels)} > 0)"


def quantile(q: float, name: str, *labels: str) -> str:
    return f"histogram_quantile({q}, {total(rate(f'{name}_bucket'), 'le', *labels)})"


def per_hour(name: str, *labels: str) -> str:
    """US dollars an hour."""
    return f"{total(rate(name), *labels)} * 3600 / 1e9"


RETRIEVAL = "RETRIEVAL_MISS|RETRIEVAL_INSUFFICIENT|CONFLICTING_EVIDENCE"
GENERATION = "ANSWER_IRRELEVANT|GENERATOR_UNGROUNDED|ANSWER_INCORRECT"


def diagnoses(pattern: str = "", negated: bool = False) -> str:
    matchers = [f'diagnosis{"!~" if negated else "=~"}"{pattern}"'] if pattern else []
    return rate("diagnoses_total", *matchers, profile=True)


ASSESSABLE = rate("diagnoses_total", 'diagnosis!="NOT_ASSESSABLE"', profile=True)
# The same as in deploy/prometheus/recording.yaml: what a caller does wrong is no failure of the service, and what is wrong
# with a trace is none of a judge.
FAILED = rate("diagnose_errors_total", 'code!~"INVALID_ARGUMENT|UNAUTHENTICATED|CANCELLED"', profile=True)
JUDGE_FAILED = rate("judge_requests_total", 'outcome!~"ok|refused|too_long|undecidable|unsupported_language"')


def no_verdict() -> str:
    """The share of calls without a usable answer; recording.yaml says what its three parts are and where they are too low."""
    requested = rate("fallback_requested_total", profile=True)
    atomic_failed = rate("fallback_requested_total", 'reason="atomic_failed"', profile=True)
    unavailable = "fallback_unavailable_total"
    failed = rate(unavailable, 'reason=~"error|deadline|budget|breaker|overloaded"', profile=True)
    chosen = rate(unavailable, 'reason=~"not_configured|skipped|deferred|mismatch_share"', profile=True)
    by_profile = " - ".join(
        [f"{total(atomic_failed, 'profile')} + {total(chosen, 'profile')}", total(requested, "profile")]
    )
    lost = f"sum(clamp_min({by_profile}, 0))"
    calls = rate(
        "judge_requests_total", 'role="atomic"', 'outcome!~"ok|refused|too_long|undecidable|unsupported_language"'
    )
    bound = f"(({total(calls)} or vector(0)) + ({total(rate('judge_invalid_answers_total'))} or vector(0)))"
    errors = f"({total(FAILED)} or vector(0))"
    return (
        f"({errors} + ({total(failed)} or vector(0)) + ({lost} <= {bound} or {bound})) "
        f"/ ({total(ASSESSABLE)} + {errors} > 0)"
    )


NO_VERDICT = no_verdict()
