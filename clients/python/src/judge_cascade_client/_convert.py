"""Between the messages of the API and the types of this package."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from enum import Enum
from typing import TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message
from judgecascade.v1 import diagnosis_service_pb2 as api
from judgecascade.v1 import judgment_pb2 as judgments
from judgecascade.v1 import trace_pb2 as traces

from . import enums
from .enums import Action, Band, Diagnosis, Dimension, FallbackMode, Scope
from .errors import InvalidTrace
from .results import (
    Cost,
    Evidence,
    Failed,
    FiredRule,
    Judged,
    JudgeCall,
    Judgment,
    JudgePass,
    NotApplicable,
    Provenance,
    StatementJudgment,
    StatementSummary,
    Timing,
    Usage,
    Verdict,
)
from .traces import Chunk, Trace

E = TypeVar("E", bound=Enum)


def request(
    trace: Trace,
    profile: str | None,
    scope: Scope | None,
    fallback_mode: FallbackMode | None,
    skip_cache: bool,
    include_statements: bool,
) -> api.DiagnoseRequest:
    """The message for a call."""
    options = api.DiagnoseOptions(skip_cache=skip_cache, include_statements=include_statements)
    try:
        return api.DiagnoseRequest(
            trace=_trace(trace),
            profile=profile or "",
            scope=_name("DIAGNOSE_SCOPE", scope),
            fallback_mode=_name("FALLBACK_MODE", fallback_mode),
            options=options if skip_cache or include_statements else None,
        )
    except UnicodeEncodeError:
        # Half of a surrogate pair, as broken decoders leave it.
        raise InvalidTrace("a text of the trace is not Unicode", "", (), "") from None


def verdict(message: api.DiagnoseResponse, request_id: str) -> Verdict | None:
    """The verdict in a response; `None` if it names no diagnosis, or no action that is known."""
    diagnosis = _value(Diagnosis, judgments.Diagnosis, message.diagnosis)
    action = _value(Action, api.Action, message.action)
    if diagnosis is None or action is None or action is Action.UNKNOWN:
        return None
    return Verdict(
        trace_id=message.trace_id,
        diagnosis=diagnosis,
        action=action,
        would_action=_value(Action, api.Action, message.would_action),
        route=_value(enums.Route, api.Route, message.route) or enums.Route.UNKNOWN,
        confidence=_set(message, "confidence", message.confidence),
        fired_rule=_fired_rule(message.fired_rule) if message.HasField("fired_rule") else None,
        pass_covers=_dimensions(message.pass_covers) if diagnosis is Diagnosis.PASS else (),
        answer_abstains=_set(message, "answer_abstains", message.answer_abstains),
        fallback_unavailable_reason=_value(
            enums.FallbackUnavailableReason, api.FallbackUnavailableReason, message.fallback_unavailable_reason
        ),
        not_assessable_reason=_value(enums.NotAssessableReason, api.NotAssessableReason, message.not_assessable_reason),
        atomic=_pass(message.atomic) if message.HasField("atomic") else None,
        fallback=_pass(message.fallback) if message.HasField("fallback") else None,
        judge_calls=tuple(map(_call, message.judge_calls)),
        provenance=_provenance(message.provenance) if message.HasField("provenance") else None,
        cost=_cost(message.cost) if message.HasField("cost") else None,
        timing=_timing(message.timing) if message.HasField("timing") else None,
        request_id=request_id,
    )


def _trace(trace: Trace) -> traces.Trace:
    return traces.Trace(
        trace_id=trace.trace_id or "",
        question=trace.question,
        chunks=[_chunk(position, chunk) for position, chunk in enumerate(trace.chunks, 1)],
        answer=trace.answer,
        reference_answer=trace.reference_answer,
        history=[traces.Turn(role=_name("TURN_ROLE", turn.role), text=turn.text) for turn in trace.history],
        standalone_question=trace.standalone_question or "",
        retrieval=_name("RETRIEVAL_STATE", trace.retrieval),
        tags=trace.tags,
        generator_model=trace.generator_model or "",
        language=trace.language or "",
        statements=trace.statements,
    )


def _chunk(position: int, chunk: Chunk | str) -> traces.Chunk:
    if isinstance(chunk, str):
        return traces.Chunk(chunk_id=str(position), text=chunk)
    return traces.Chunk(
        chunk_id=chunk.chunk_id,
        text=chunk.text,
        document_id=chunk.document_id or "",
        retrieval_score=chunk.retrieval_score,
    )


def _name(prefix: str, value: Enum | None) -> str | None:
    return None if value is None else f"{prefix}_{value.value}"


def _prefix(wrapper: EnumTypeWrapper) -> str:
    unspecified: str = wrapper.Name(0)
    return unspecified.removesuffix("UNSPECIFIED")


def _value(of: type[E], wrapper: EnumTypeWrapper, number: int) -> E | None:
    """`None` for "unspecified", `UNKNOWN` for a number that this client or its messages do not know."""
    if number == 0:
        return None
    if number in wrapper.values():
        name = wrapper.Name(number).removeprefix(_prefix(wrapper))
        if name in of.__members__:
            return of[name]
    return of["UNKNOWN"]


def _known(of: type[E], wrapper: EnumTypeWrapper, number: int) -> E:
    """The same where "unspecified" cannot be told from a value that is not known."""
    return _value(of, wrapper, number) or of["UNKNOWN"]


T = TypeVar("T")


def _set(message: Message, field: str, value: T) -> T | None:
    return value if message.HasField(field) else None


def _dimension(number: int) -> Dimension | None:
    return _value(Dimension, judgments.Dimension, number)


def _dimensions(numbers: Iterable[int]) -> tuple[Dimension, ...]:
    return tuple(_known(Dimension, judgments.Dimension, number) for number in numbers)


def _fired_rule(message: api.FiredRule) -> FiredRule:
    return FiredRule(
        rule=_known(enums.Rule, api.Rule, message.rule),
        dimension=_dimension(message.dimension),
        chunk_id=message.chunk_id or None,
        value=_set(message, "value", message.value),
        threshold=_set(message, "threshold", message.threshold),
        blocking_dimensions=_dimensions(message.blocking_dimensions),
    )


def _pass(message: api.JudgePass) -> JudgePass:
    retrieval, generation = message.retrieval, message.generation

    def of(group: judgments.RetrievalJudgments | judgments.GenerationJudgments, field: str) -> Judgment | None:
        return _judgment(getattr(group, field)) if group.HasField(field) else None

    return JudgePass(
        chunk_relevance=tuple(
            (chunk.chunk_id, _judgment(chunk.judgment) if chunk.HasField("judgment") else None)
            for chunk in retrieval.chunk_relevance
        ),
        context_sufficiency=of(retrieval, "context_sufficiency"),
        context_conflict=of(retrieval, "context_conflict"),
        answer_relevance=of(generation, "answer_relevance"),
        groundedness=of(generation, "groundedness"),
        contradiction=of(generation, "contradiction"),
        correctness=of(generation, "correctness"),
        statements=tuple(map(_statement, generation.statements)),
        statement_summary=_summary(generation.statement_summary) if generation.HasField("statement_summary") else None,
    )


def _statement(message: judgments.StatementJudgment) -> StatementJudgment:
    return StatementJudgment(
        text=message.text,
        start_offset=_set(message, "start_offset", message.start_offset),
        end_offset=_set(message, "end_offset", message.end_offset),
        groundedness=_judgment(message.groundedness) if message.HasField("groundedness") else None,
        evidence_chunk_ids=tuple(message.evidence_chunk_ids),
    )


def _summary(message: judgments.StatementSummary) -> StatementSummary:
    return StatementSummary(
        decided_count=message.decided_count,
        undecidable_count=message.undecidable_count,
        failed_count=message.failed_count,
        mean_groundedness=_set(message, "mean_groundedness", message.mean_groundedness),
    )


def _judgment(message: judgments.Judgment) -> Judgment | None:
    match message.WhichOneof("outcome"):
        case "judged":
            return _judged(message.judge_id, message.judged)
        case "not_applicable_reason":
            reason = message.not_applicable_reason
            return NotApplicable(_known(enums.NotApplicableReason, judgments.NotApplicableReason, reason))
        case "failure_reason":
            failure = _known(enums.FailureReason, judgments.FailureReason, message.failure_reason)
            return Failed(message.judge_id, failure)
        case _:
            # A kind of outcome that this client does not know: there is no judgment that it could use.
            return None


def _judged(judge_id: str, message: judgments.Judged) -> Judged:
    return Judged(
        judge_id=judge_id,
        probability=message.probability,
        band=_value(Band, judgments.Band, message.band),
        seen_fraction=message.seen_fraction,
        label_mass=_set(message, "label_mass", message.label_mass),
        vetoes_pass=message.vetoes_pass,
        evidence=_evidence(message.evidence) if message.HasField("evidence") else None,
    )


def _evidence(message: judgments.Evidence) -> Evidence:
    return Evidence(
        chunk_id=message.chunk_id or None,
        start_offset=message.start_offset,
        end_offset=message.end_offset,
        missing_terms=tuple(message.missing_terms),
        guards=tuple(message.guards),
    )


def _call(message: api.JudgeCall) -> JudgeCall:
    return JudgeCall(
        judge_id=message.judge_id,
        role=_known(enums.JudgeRole, api.JudgeRole, message.role),
        requested_model=message.requested_model or None,
        returned_model=message.returned_model or None,
        attempt_count=message.attempt_count,
        usage=_usage(message.usage) if message.HasField("usage") else None,
        cost_nano_usd=_set(message, "cost_nano_usd", message.cost_nano_usd),
        latency=_duration(message.latency) if message.HasField("latency") else None,
        failure_reason=_value(enums.FailureReason, judgments.FailureReason, message.failure_reason),
        failure_detail=message.failure_detail or None,
        upstream_request_id=message.upstream_request_id or None,
    )


def _usage(message: api.Usage) -> Usage:
    return Usage(
        input_token_count=_set(message, "input_token_count", message.input_token_count),
        cached_input_token_count=_set(message, "cached_input_token_count", message.cached_input_token_count),
        output_token_count=_set(message, "output_token_count", message.output_token_count),
        reasoning_token_count=_set(message, "reasoning_token_count", message.reasoning_token_count),
    )


def _provenance(message: api.Provenance) -> Provenance:
    return Provenance(
        profile=message.profile,
        policy_id=message.policy_id,
        policy_sha256=message.policy_sha256,
        calibration_state=_known(enums.CalibrationState, api.CalibrationState, message.calibration_state),
        decision_id=message.decision_id,
        decision_version=message.decision_version,
        server_version=message.server_version,
    )


def _cost(message: api.Cost) -> Cost:
    return Cost(
        atomic_nano_usd=_set(message, "atomic_nano_usd", message.atomic_nano_usd),
        fallback_nano_usd=_set(message, "fallback_nano_usd", message.fallback_nano_usd),
        total_nano_usd=_set(message, "total_nano_usd", message.total_nano_usd),
        avoided_nano_usd=_set(message, "avoided_nano_usd", message.avoided_nano_usd),
        pricing_id=message.pricing_id or None,
    )


def _timing(message: api.Timing) -> Timing:
    return Timing(
        total=_duration(message.total),
        judge_wait=_duration(message.judge_wait),
        overhead=_duration(message.overhead),
    )


def _duration(message: Duration) -> timedelta:
    return timedelta(seconds=message.seconds, microseconds=message.nanos / 1000)
