//! From a response to the row that the same diagnosis gives in process.

use std::collections::BTreeMap;

use super::value;
use crate::artifact::verdict::{
    CallRow, CostRow, EvidenceRow, FiredRuleRow, JudgedRow, JudgmentRow, PassRow, ProvenanceRow,
    SCHEMA_VERSION, StatementRow, StatementSummaryRow, TimingRow, VerdictRow, WholeVerdictRow,
    millis,
};
use crate::domain::Vocabulary;
use crate::domain::dimension::Dimension;
use crate::domain::judgment::Guard;
use crate::domain::outcome::Usage;
use crate::domain::probability::Probability;
use crate::rpc::pb;

/// A response that this version cannot read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("response: {path}: {message}")]
pub struct ResponseError {
    path: &'static str,
    message: String,
}

/// The row of a response.
pub fn row(response: pb::DiagnoseResponse) -> Result<VerdictRow, ResponseError> {
    let fired = set("fired_rule", response.fired_rule)?;
    let provenance = set("provenance", response.provenance)?;
    let cost = response.cost.unwrap_or_default();
    Ok(VerdictRow {
        schema_version: SCHEMA_VERSION,
        trace_id: response.trace_id,
        diagnosis: required("diagnosis", response.diagnosis)?,
        route: required("route", response.route)?,
        confidence: probability("confidence", response.confidence)?,
        fallback_unavailable_reason: optional(
            "fallback_unavailable_reason",
            response.fallback_unavailable_reason,
        )?,
        not_assessable_reason: optional("not_assessable_reason", response.not_assessable_reason)?,
        fired_rule: FiredRuleRow {
            rule: required("fired_rule.rule", fired.rule)?,
            dimension: optional("fired_rule.dimension", fired.dimension)?,
            chunk_id: not_empty(fired.chunk_id),
            value: probability("fired_rule.value", fired.value)?,
            threshold: probability("fired_rule.threshold", fired.threshold)?,
            blocking_dimensions: dimensions(
                "fired_rule.blocking_dimensions",
                &fired.blocking_dimensions,
            )?,
        },
        pass_covers: dimensions("pass_covers", &response.pass_covers)?,
        answer_abstains: response.answer_abstains,
        action: required("action", response.action)?,
        would_action: required("would_action", response.would_action)?,
        atomic: response.atomic.map(pass).transpose()?,
        fallback: response.fallback.map(pass).transpose()?,
        judge_calls: response
            .judge_calls
            .into_iter()
            .map(call)
            .collect::<Result<_, _>>()?,
        provenance: ProvenanceRow {
            profile: provenance.profile,
            policy_id: provenance.policy_id,
            policy_sha256: provenance.policy_sha256,
            calibration_state: required(
                "provenance.calibration_state",
                provenance.calibration_state,
            )?,
            decision_id: provenance.decision_id,
            decision_version: provenance.decision_version,
            decision_variant: required("provenance.decision_variant", provenance.decision_variant)?,
            server_version: provenance.server_version,
        },
        cost: CostRow {
            atomic_nano_usd: cost.atomic_nano_usd,
            fallback_nano_usd: cost.fallback_nano_usd,
            total_nano_usd: cost.total_nano_usd,
            avoided_nano_usd: cost.avoided_nano_usd,
            pricing_id: not_empty(cost.pricing_id),
            pricing_sha256: not_empty(cost.pricing_sha256),
        },
        timing: timing(response.timing.unwrap_or_default()),
    })
}

fn pass(pass: pb::JudgePass) -> Result<PassRow, ResponseError> {
    let retrieval = pass.retrieval.unwrap_or_default();
    let generation = pass.generation.unwrap_or_default();
    let mut chunk_relevance = BTreeMap::new();
    for chunk in retrieval.chunk_relevance {
        if let Some(message) = chunk.judgment {
            chunk_relevance.insert(chunk.chunk_id, judgment(message)?);
        }
    }
    let mut whole = BTreeMap::new();
    for (dimension, message) in [
        (Dimension::ContextSufficiency, retrieval.context_sufficiency),
        (Dimension::ContextConflict, retrieval.context_conflict),
        (Dimension::AnswerRelevance, generation.answer_relevance),
        (Dimension::Groundedness, generation.groundedness),
        (Dimension::Contradiction, generation.contradiction),
        (Dimension::Correctness, generation.correctness),
    ] {
        if let Some(message) = message {
            whole.insert(dimension, judgment(message)?);
        }
    }
    let verdict = pass.verdict.map(|verdict| {
        Ok(WholeVerdictRow {
            diagnosis: required("verdict.diagnosis", verdict.diagnosis)?,
            confidence: probability("verdict.confidence", verdict.confidence)?,
        })
    });
    Ok(PassRow {
        chunk_relevance,
        whole,
        statements: generation
            .statements
            .into_iter()
            .map(statement)
            .collect::<Result<_, _>>()?,
        statement_summary: generation.statement_summary.map(summary).transpose()?,
        verdict: verdict.transpose()?,
    })
}

fn statement(statement: pb::StatementJudgment) -> Result<StatementRow, ResponseError> {
    Ok(StatementRow {
        start_offset: statement.start_offset.map(offset),
        end_offset: statement.end_offset.map(offset),
        groundedness: judgment(set("statements.groundedness", statement.groundedness)?)?,
    })
}

fn summary(summary: pb::StatementSummary) -> Result<StatementSummaryRow, ResponseError> {
    Ok(StatementSummaryRow {
        decided_count: offset(summary.decided_count),
        undecidable_count: offset(summary.undecidable_count),
        failed_count: offset(summary.failed_count),
        mean_groundedness: probability(
            "statement_summary.mean_groundedness",
            summary.mean_groundedness,
        )?,
    })
}

fn judgment(message: pb::Judgment) -> Result<JudgmentRow, ResponseError> {
    use pb::judgment::Outcome;
    Ok(match set("judgment.outcome", message.outcome)? {
        Outcome::NotApplicableReason(number) => JudgmentRow::NotApplicable {
            not_applicable_reason: required("not_applicable_reason", number)?,
        },
        Outcome::FailureReason(number) => JudgmentRow::Failed {
            judge_id: message.judge_id,
            failure_reason: required("failure_reason", number)?,
        },
        Outcome::Judged(judged) => JudgmentRow::Judged(Box::new(JudgedRow {
            judge_id: message.judge_id,
            probability: set(
                "probability",
                probability("probability", Some(judged.probability))?,
            )?,
            band: optional("band", judged.band)?,
            source: required("source", judged.source)?,
            delivery: required("delivery", judged.delivery)?,
            seen_fraction: judged.seen_fraction,
            label_mass: probability("label_mass", judged.label_mass)?,
            basis: required("basis", judged.basis)?,
            vetoes_pass: judged.vetoes_pass,
            evidence: judged.evidence.map(evidence).transpose()?,
        })),
    })
}

fn evidence(evidence: pb::Evidence) -> Result<EvidenceRow, ResponseError> {
    let has_passage = evidence.start_offset < evidence.end_offset;
    let guards = evidence.guards.iter().map(|name| {
        Guard::from_name(name).map_err(|error| wrong("evidence.guards", error.to_string()))
    });
    Ok(EvidenceRow {
        chunk_id: not_empty(evidence.chunk_id),
        start_offset: has_passage.then(|| offset(evidence.start_offset)),
        end_offset: has_passage.then(|| offset(evidence.end_offset)),
        guards: guards.collect::<Result<_, _>>()?,
        missing_terms: evidence.missing_terms,
    })
}

fn call(call: pb::JudgeCall) -> Result<CallRow, ResponseError> {
    let tokens = |count: Option<i64>| count.and_then(|count| u64::try_from(count).ok());
    Ok(CallRow {
        judge_id: call.judge_id,
        role: required("judge_calls.role", call.role)?,
        requested_model: not_empty(call.requested_model),
        returned_model: not_empty(call.returned_model),
        attempt_count: u32::try_from(call.attempt_count).unwrap_or(0),
        usage: call.usage.map(|usage| Usage {
            input_token_count: tokens(usage.input_token_count),
            cached_input_token_count: tokens(usage.cached_input_token_count),
            cache_write_input_token_count: tokens(usage.cache_write_input_token_count),
            output_token_count: tokens(usage.output_token_count),
            reasoning_token_count: tokens(usage.reasoning_token_count),
        }),
        cost_nano_usd: call.cost_nano_usd,
        latency_ms: elapsed(call.latency),
        failure_reason: optional("judge_calls.failure_reason", call.failure_reason)?,
        failure_detail: not_empty(call.failure_detail),
        upstream_request_id: not_empty(call.upstream_request_id),
    })
}

fn timing(timing: pb::Timing) -> TimingRow {
    TimingRow {
        total_ms: elapsed(timing.total),
        judge_wait_ms: elapsed(timing.judge_wait),
        overhead_ms: elapsed(timing.overhead),
    }
}

/// A negative or absent duration was not measured.
fn elapsed(duration: Option<prost_types::Duration>) -> f64 {
    duration
        .and_then(|duration| duration.try_into().ok())
        .map_or(0.0, millis)
}

fn offset(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or(0)
}

fn required<V: Vocabulary>(path: &'static str, number: i32) -> Result<V, ResponseError> {
    set(path, optional(path, number)?)
}

fn optional<V: Vocabulary>(path: &'static str, number: i32) -> Result<Option<V>, ResponseError> {
    value(number).map_err(|number| wrong(path, format!("`{number}` is not a known {}", V::KIND)))
}

fn dimensions(path: &'static str, numbers: &[i32]) -> Result<Vec<Dimension>, ResponseError> {
    numbers
        .iter()
        .map(|&number| required(path, number))
        .collect()
}

fn probability(
    path: &'static str,
    number: Option<f64>,
) -> Result<Option<Probability>, ResponseError> {
    number
        .map(Probability::try_from)
        .transpose()
        .map_err(|error| wrong(path, error.to_string()))
}

fn set<T>(path: &'static str, value: Option<T>) -> Result<T, ResponseError> {
    value.ok_or_else(|| wrong(path, "is not set".to_owned()))
}

fn not_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

const fn wrong(path: &'static str, message: String) -> ResponseError {
    ResponseError { path, message }
}
