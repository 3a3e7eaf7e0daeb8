"""What comes back: a verdict, or the fact that there is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Literal, TypeAlias

from .enums import (
    Action,
    Band,
    CalibrationState,
    Diagnosis,
    Dimension,
    FailureReason,
    FallbackUnavailableReason,
    JudgeRole,
    NotApplicableReason,
    NotAssessableReason,
    Route,
    Rule,
)


class NoVerdictReason(Enum):
    """Why there is no verdict."""

    UNAVAILABLE = "UNAVAILABLE"
    """The sidecar cannot be reached, or the connection broke."""
    OVERLOADED = "OVERLOADED"
    """Too many traces are in flight."""
    SHUTTING_DOWN = "SHUTTING_DOWN"
    """The sidecar is draining."""
    JUDGE_UNAVAILABLE = "JUDGE_UNAVAILABLE"
    """The atomic judge failed and the profile makes that an error."""
    DEADLINE = "DEADLINE"
    """Time ran out."""
    UNAUTHENTICATED = "UNAUTHENTICATED"
    """The sidecar takes calls with a token only, and this one has none that it takes: the configuration is wrong."""
    UNREADABLE = "UNREADABLE"
    """The response cannot be read, or says no diagnosis, or no action that this client knows."""
    FORKED = "FORKED"
    """The process is the child of a fork that gRPC does not survive, because it was used before."""
    ERROR = "ERROR"
    """Anything else, such as an internal error of the sidecar."""


@dataclass(frozen=True, slots=True)
class FiredRule:
    """The rule that decided and the value that it stands on."""

    rule: Rule
    dimension: Dimension | None
    chunk_id: str | None
    value: float | None
    threshold: float | None
    blocking_dimensions: tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a probability rests on."""

    chunk_id: str | None
    start_offset: int
    """First code point within the chunk."""
    end_offset: int
    """Last code point, exclusive."""
    missing_terms: tuple[str, ...]
    guards: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge gave a probability."""

    judge_id: str
    probability: float
    """P(true), 0 to 1."""
    band: Band | None
    seen_fraction: float
    """The share of the text that the judge saw."""
    label_mass: float | None
    vetoes_pass: bool
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The question does not apply to the trace."""

    reason: NotApplicableReason


@dataclass(frozen=True, slots=True)
class Failed:
    """A judge did not answer the question."""

    judge_id: str
    reason: FailureReason


Judgment: TypeAlias = Judged | NotApplicable | Failed
"""What is known about one question."""


@dataclass(frozen=True, slots=True)
class StatementJudgment:
    """The judgment of one statement of the answer."""

    text: str
    start_offset: int | None
    end_offset: int | None
    groundedness: Judgment | None
    evidence_chunk_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatementSummary:
    """How many statements of the answer were judged, and how well the context supports them on the whole."""

    decided_count: int
    undecidable_count: int
    failed_count: int
    mean_groundedness: float | None
    """The mean probability of the decided ones; `None` if there are none."""


@dataclass(frozen=True, slots=True)
class JudgePass:
    """What one judge said; `None` where it was not asked."""

    chunk_relevance: tuple[tuple[str, Judgment | None], ...]
    """The id and the judgment of each chunk, in the order of the trace."""
    context_sufficiency: Judgment | None
    context_conflict: Judgment | None
    answer_relevance: Judgment | None
    groundedness: Judgment | None
    contradiction: Judgment | None
    correctness: Judgment | None
    statements: tuple[StatementJudgment, ...]
    statement_summary: StatementSummary | None
    """Also without `include_statements`; `None` if the judge does not work by statements."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens; `None` is unknown and not zero."""

    input_token_count: int | None
    cached_input_token_count: int | None
    output_token_count: int | None
    reasoning_token_count: int | None


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One call to a judge."""

    judge_id: str
    role: JudgeRole
    requested_model: str | None
    returned_model: str | None
    attempt_count: int
    usage: Usage | None
    cost_nano_usd: int | None
    latency: timedelta | None
    failure_reason: FailureReason | None
    failure_detail: str | None
    upstream_request_id: str | None


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the diagnosis rests on."""

    profile: str
    policy_id: str
    policy_sha256: str
    calibration_state: CalibrationState
    decision_id: str
    decision_version: str
    server_version: str


@dataclass(frozen=True, slots=True)
class Cost:
    """Money in 1e-9 US dollars; `None` is unknown and not zero."""

    atomic_nano_usd: int | None
    fallback_nano_usd: int | None
    total_nano_usd: int | None
    avoided_nano_usd: int | None
    pricing_id: str | None


@dataclass(frozen=True, slots=True)
class Timing:
    """How long it took on the server."""

    total: timedelta
    judge_wait: timedelta
    overhead: timedelta


@dataclass(frozen=True, slots=True)
class Verdict:
    """The diagnosis of a trace and how it was reached."""

    trace_id: str
    diagnosis: Diagnosis
    action: Action
    """What to do now; always `ALLOW` while the profile does not enforce."""
    would_action: Action | None
    """What the policy asks for, enforced or not."""
    route: Route
    confidence: float | None
    fired_rule: FiredRule | None
    pass_covers: tuple[Dimension, ...]
    """What a PASS stands for; empty for every other diagnosis."""
    answer_abstains: bool | None
    fallback_unavailable_reason: FallbackUnavailableReason | None
    not_assessable_reason: NotAssessableReason | None
    atomic: JudgePass | None
    fallback: JudgePass | None
    judge_calls: tuple[JudgeCall, ...]
    provenance: Provenance | None
    cost: Cost | None
    timing: Timing | None
    request_id: str
    """The id of the call in the log of the server."""

    @property
    def is_pass(self) -> bool:
        """Whether the server said PASS; nothing else is one."""
        return self.diagnosis is Diagnosis.PASS


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """There is no verdict, which says nothing about the answer."""

    reason: NoVerdictReason
    detail: str
    """In words, for a log; never the text of a trace."""
    retryable: bool
    """Whether the same call may get a verdict soon."""
    action: Action
    """What the client was told to do without a verdict."""
    request_id: str
    """The id of the call in the log of the server."""

    @property
    def is_pass(self) -> Literal[False]:
        """No verdict is never a pass."""
        return False


Result: TypeAlias = Verdict | NoVerdict
"""What a call returns."""
