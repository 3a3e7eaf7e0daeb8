//! From an outcome to its row.

use super::{
    CallRow, CostRow, EvidenceRow, FiredRuleRow, JudgedRow, JudgmentRow, PassRow, ProvenanceRow,
    SCHEMA_VERSION, StatementRow, StatementSummaryRow, TimingRow, VerdictRow, WholeVerdictRow,
    millis,
};
use crate::domain::dimension::Dimension;
use crate::domain::judgment::{Evidence, Judgment, StatementJudgment, StatementSummary};
use crate::domain::outcome::{JudgeCall, Outcome, Pass};
use crate::domain::question::Question;
use crate::domain::trace::Trace;
use crate::policy::Policy;

impl VerdictRow {
    /// The row of an outcome; the policy tells the bands.
    pub fn of(outcome: &Outcome, policy: &Policy) -> Self {
        let (trace, ruling, provenance) = (&outcome.trace, &outcome.ruling, &outcome.provenance);
        let fired = &ruling.fired;
        let ground = fired.ground;
        Self {
            schema_version: SCHEMA_VERSION,
            trace_id: trace.trace_id.to_string(),
            diagnosis: ruling.diagnosis,
            route: outcome.route,
            confidence: ruling.confidence,
            fallback_unavailable_reason: outcome.fallback_unavailable,
            not_assessable_reason: outcome.not_assessable,
            fired_rule: FiredRuleRow {
                rule: fired.rule,
                dimension: ground.map(|ground| ground.dimension),
                chunk_id: ground
                    .and_then(|ground| ground.chunk)
                    .map(|chunk| chunk_id(trace, chunk)),
                value: ground.map(|ground| ground.value),
                threshold: ground.map(|ground| ground.threshold),
                blocking_dimensions: fired.blocking_dimensions().collect(),
            },
            pass_covers: ruling.pass_covers.iter().collect(),
            answer_abstains: outcome.answer_abstains,
            action: outcome.action,
            would_action: outcome.would_action,
            atomic: outcome
                .atomic
                .as_ref()
                .map(|pass| pass_row(trace, pass, policy)),
            fallback: outcome
                .fallback
                .as_ref()
                .map(|pass| pass_row(trace, pass, policy)),
            judge_calls: outcome.calls.iter().map(call_row).collect(),
            provenance: ProvenanceRow {
                profile: provenance.profile.to_string(),
                policy_id: provenance.policy.id.to_string(),
                policy_sha256: provenance.policy.sha256.to_string(),
                calibration_state: provenance.calibration_state,
                decision_id: provenance.decision_id.to_owned(),
                decision_version: provenance.decision_version.to_owned(),
                decision_variant: provenance.decision_variant,
                server_version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            cost: CostRow {
                atomic_nano_usd: outcome.cost.atomic.map(|cost| cost.0),
                fallback_nano_usd: outcome.cost.fallback.map(|cost| cost.0),
                total_nano_usd: outcome.cost.total.map(|cost| cost.0),
                avoided_nano_usd: outcome.cost.avoided.map(|cost| cost.0),
                pricing_id: provenance
                    .pricing
                    .as_ref()
                    .map(|pricing| pricing.id.to_string()),
                pricing_sha256: provenance
                    .pricing
                    .as_ref()
                    .map(|pricing| pricing.sha256.to_string()),
            },
            timing: TimingRow {
                total_ms: millis(outcome.timing.total),
                judge_wait_ms: millis(outcome.timing.judge_wait),
                overhead_ms: millis(outcome.timing.overhead()),
            },
        }
    }
}

fn chunk_id(trace: &Trace, ordinal: usize) -> String {
    trace.chunks[ordinal].chunk_id.to_string()
}

fn pass_row(trace: &Trace, pass: &Pass, policy: &Policy) -> PassRow {
    let mut row = PassRow::default();
    for (question, judgment) in pass.answers.iter() {
        let Some(judgment) = judgment else { continue };
        let judgment = judgment_row(trace, question, judgment, policy);
        match question.chunk_ordinal() {
            Some(ordinal) => row
                .chunk_relevance
                .insert(chunk_id(trace, ordinal), judgment),
            None => row.whole.insert(question.dimension(), judgment),
        };
    }
    row.statements = pass
        .statements
        .iter()
        .map(|s| statement_row(trace, s, policy))
        .collect();
    row.statement_summary =
        StatementSummary::of(&pass.statements).map(|summary| StatementSummaryRow {
            decided_count: summary.decided_count,
            undecidable_count: summary.undecidable_count,
            failed_count: summary.failed_count,
            mean_groundedness: summary.mean_groundedness,
        });
    row.verdict = pass.verdict.map(|verdict| WholeVerdictRow {
        diagnosis: verdict.diagnosis,
        confidence: verdict.confidence,
    });
    row
}

fn statement_row(trace: &Trace, statement: &StatementJudgment, policy: &Policy) -> StatementRow {
    let question = Question::about(Dimension::Groundedness);
    StatementRow {
        start_offset: statement.span.as_ref().map(|span| span.start),
        end_offset: statement.span.as_ref().map(|span| span.end),
        groundedness: judgment_row(trace, question, &statement.groundedness, policy),
    }
}

fn judgment_row(
    trace: &Trace,
    question: Question,
    judgment: &Judgment,
    policy: &Policy,
) -> JudgmentRow {
    match judgment {
        Judgment::NotApplicable(reason) => JudgmentRow::NotApplicable {
            not_applicable_reason: *reason,
        },
        Judgment::Failed(failure) => JudgmentRow::Failed {
            judge_id: failure.judge_id.to_string(),
            failure_reason: failure.reason,
        },
        Judgment::Judged(judged) => JudgmentRow::Judged(Box::new(JudgedRow {
            judge_id: judged.judge_id.to_string(),
            probability: judged.probability,
            band: policy.band(question.dimension(), judged),
            source: judged.source,
            delivery: judged.delivery,
            seen_fraction: judged.seen_fraction.value(),
            label_mass: judged.label_mass,
            basis: judged.basis,
            vetoes_pass: judged.vetoes_pass,
            evidence: judged
                .evidence
                .as_deref()
                .map(|evidence| evidence_row(trace, evidence)),
        })),
    }
}

fn evidence_row(trace: &Trace, evidence: &Evidence) -> EvidenceRow {
    let passage = Some(&evidence.span).filter(|span| !span.is_empty());
    EvidenceRow {
        chunk_id: evidence.chunk.map(|ordinal| chunk_id(trace, ordinal)),
        start_offset: passage.map(|span| span.start),
        end_offset: passage.map(|span| span.end),
        missing_terms: evidence.missing_terms.clone(),
        guards: evidence.guards.clone(),
    }
}

fn call_row(call: &JudgeCall) -> CallRow {
    CallRow {
        judge_id: call.judge_id.to_string(),
        role: call.role,
        requested_model: call.requested_model.clone(),
        returned_model: call.returned_model.clone(),
        attempt_count: call.attempt_count,
        usage: call.usage,
        cost_nano_usd: call.cost.map(|cost| cost.0),
        latency_ms: millis(call.latency),
        failure_reason: call.failure,
        failure_detail: call.failure_detail.clone(),
        upstream_request_id: call.upstream_request_id.clone(),
    }
}
