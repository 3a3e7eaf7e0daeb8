//! From an outcome to a response; the policy tells the bands.

use super::{duration, int32, number, number_or_unspecified};
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::{FiredRule, Verdict};
use crate::domain::dimension::Dimension;
use crate::domain::judgment::{
    Answers, Evidence, Judged, Judgment, StatementJudgment, StatementSummary,
};
use crate::domain::outcome::{JudgeCall, NanoUsd, Outcome, Pass, Usage};
use crate::domain::question::Question;
use crate::domain::trace::Trace;
use crate::policy::Policy;
use crate::rpc::pb;

/// The response for an outcome.
pub fn response(
    outcome: &Outcome,
    policy: &Policy,
    include_statements: bool,
) -> pb::DiagnoseResponse {
    let writer = Writer {
        trace: &outcome.trace,
        policy,
        include_statements,
    };
    pb::DiagnoseResponse {
        trace_id: outcome.trace.trace_id.to_string(),
        diagnosis: number(outcome.ruling.diagnosis),
        route: number(outcome.route),
        confidence: outcome.ruling.confidence.map(f64::from),
        fallback_unavailable_reason: number_or_unspecified(outcome.fallback_unavailable),
        fired_rule: Some(writer.fired_rule(&outcome.ruling.fired)),
        pass_covers: outcome.ruling.pass_covers.iter().map(number).collect(),
        answer_abstains: outcome.answer_abstains,
        action: number(outcome.action),
        would_action: number(outcome.would_action),
        atomic: outcome.atomic.as_ref().map(|pass| writer.pass(pass)),
        fallback: outcome.fallback.as_ref().map(|pass| writer.pass(pass)),
        judge_calls: outcome.calls.iter().map(call).collect(),
        provenance: Some(provenance(outcome)),
        cost: Some(cost(outcome)),
        timing: Some(pb::Timing {
            total: Some(duration(outcome.timing.total)),
            judge_wait: Some(duration(outcome.timing.judge_wait)),
            overhead: Some(duration(outcome.timing.overhead())),
        }),
        not_assessable_reason: number_or_unspecified(outcome.not_assessable),
    }
}

fn provenance(outcome: &Outcome) -> pb::Provenance {
    let provenance = &outcome.provenance;
    pb::Provenance {
        profile: provenance.profile.to_string(),
        policy_id: provenance.policy.id.to_string(),
        policy_sha256: provenance.policy.sha256.to_string(),
        calibration_state: number(provenance.calibration_state),
        decision_id: provenance.decision_id.to_owned(),
        decision_version: provenance.decision_version.to_owned(),
        decision_variant: number(provenance.decision_variant),
        server_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn cost(outcome: &Outcome) -> pb::Cost {
    let nano = |cost: Option<NanoUsd>| cost.map(|cost| cost.0);
    let pricing = outcome.provenance.pricing.as_ref();
    pb::Cost {
        atomic_nano_usd: nano(outcome.cost.atomic),
        fallback_nano_usd: nano(outcome.cost.fallback),
        total_nano_usd: nano(outcome.cost.total),
        avoided_nano_usd: nano(outcome.cost.avoided),
        pricing_id: pricing
            .map(|pricing| pricing.id.to_string())
            .unwrap_or_default(),
        pricing_sha256: pricing
            .map(|pricing| pricing.sha256.to_string())
            .unwrap_or_default(),
    }
}

fn call(call: &JudgeCall) -> pb::JudgeCall {
    pb::JudgeCall {
        judge_id: call.judge_id.to_string(),
        role: number(call.role),
        requested_model: call.requested_model.clone().unwrap_or_default(),
        returned_model: call.returned_model.clone().unwrap_or_default(),
        attempt_count: i32::try_from(call.attempt_count).unwrap_or(i32::MAX),
        usage: call.usage.as_ref().map(usage),
        cost_nano_usd: call.cost.map(|cost| cost.0),
        latency: Some(duration(call.latency)),
        failure_reason: number_or_unspecified(call.failure),
        upstream_request_id: call.upstream_request_id.clone().unwrap_or_default(),
        failure_detail: call.failure_detail.clone().unwrap_or_default(),
    }
}

fn usage(usage: &Usage) -> pb::Usage {
    pb::Usage {
        input_token_count: told(usage.input_token_count),
        cached_input_token_count: told(usage.cached_input_token_count),
        output_token_count: told(usage.output_token_count),
        reasoning_token_count: told(usage.reasoning_token_count),
        cache_write_input_token_count: told(usage.cache_write_input_token_count),
    }
}

/// A count as it is told; one beyond the numbers of the wire is unknown.
fn told(count: Option<u64>) -> Option<i64> {
    count.and_then(|count| i64::try_from(count).ok())
}

fn verdict(verdict: &Verdict) -> pb::Verdict {
    pb::Verdict {
        diagnosis: number(verdict.diagnosis),
        confidence: verdict.confidence.map(f64::from),
    }
}

fn summary(summary: StatementSummary) -> pb::StatementSummary {
    pb::StatementSummary {
        decided_count: int32(summary.decided_count),
        undecidable_count: int32(summary.undecidable_count),
        failed_count: int32(summary.failed_count),
        mean_groundedness: summary.mean_groundedness.map(f64::from),
    }
}

/// Writes the parts that need the trace for ids and the policy for bands.
struct Writer<'a> {
    trace: &'a Trace,
    policy: &'a Policy,
    include_statements: bool,
}

impl Writer<'_> {
    fn fired_rule(&self, fired: &FiredRule) -> pb::FiredRule {
        let ground = fired.ground;
        let chunk = ground.and_then(|ground| ground.chunk);
        pb::FiredRule {
            rule: number(fired.rule),
            dimension: number_or_unspecified(ground.map(|ground| ground.dimension)),
            chunk_id: chunk
                .map(|ordinal| self.chunk_id(ordinal))
                .unwrap_or_default(),
            value: ground.map(|ground| ground.value.value()),
            threshold: ground.map(|ground| ground.threshold.value()),
            blocking_dimensions: fired.blocking_dimensions().map(number).collect(),
        }
    }

    fn pass(&self, pass: &Pass) -> pb::JudgePass {
        let whole = |dimension| self.whole(&pass.answers, dimension);
        let statements = if self.include_statements {
            &pass.statements[..]
        } else {
            &[]
        };
        pb::JudgePass {
            retrieval: Some(pb::RetrievalJudgments {
                chunk_relevance: self.chunks(&pass.answers),
                context_sufficiency: whole(Dimension::ContextSufficiency),
                context_conflict: whole(Dimension::ContextConflict),
            }),
            generation: Some(pb::GenerationJudgments {
                answer_relevance: whole(Dimension::AnswerRelevance),
                groundedness: whole(Dimension::Groundedness),
                contradiction: whole(Dimension::Contradiction),
                correctness: whole(Dimension::Correctness),
                statements: statements
                    .iter()
                    .map(|statement| self.statement(statement))
                    .collect(),
                statement_summary: StatementSummary::of(&pass.statements).map(summary),
            }),
            verdict: pass.verdict.as_ref().map(verdict),
        }
    }

    fn chunks(&self, answers: &Answers) -> Vec<pb::ChunkJudgment> {
        let judgments = answers.of(Dimension::ChunkRelevance).iter().enumerate();
        judgments
            .map(|(ordinal, judgment)| pb::ChunkJudgment {
                chunk_id: self.chunk_id(ordinal),
                judgment: judgment
                    .as_ref()
                    .map(|judgment| self.judgment(Dimension::ChunkRelevance, judgment)),
            })
            .collect()
    }

    fn whole(&self, answers: &Answers, dimension: Dimension) -> Option<pb::Judgment> {
        let judgment = answers[Question::about(dimension)].as_ref()?;
        Some(self.judgment(dimension, judgment))
    }

    fn statement(&self, statement: &StatementJudgment) -> pb::StatementJudgment {
        let evidence = statement
            .groundedness
            .judged()
            .and_then(|judged| judged.evidence.as_ref());
        let chunk = evidence.and_then(|evidence| evidence.chunk);
        pb::StatementJudgment {
            text: statement.text.clone(),
            start_offset: statement.span.as_ref().map(|span| int32(span.start)),
            end_offset: statement.span.as_ref().map(|span| int32(span.end)),
            groundedness: Some(self.judgment(Dimension::Groundedness, &statement.groundedness)),
            evidence_chunk_ids: chunk
                .map(|ordinal| self.chunk_id(ordinal))
                .into_iter()
                .collect(),
        }
    }

    fn judgment(&self, dimension: Dimension, judgment: &Judgment) -> pb::Judgment {
        use pb::judgment::Outcome as Wire;
        let (judge_id, outcome) = match judgment {
            Judgment::NotApplicable(reason) => {
                (String::new(), Wire::NotApplicableReason(number(*reason)))
            }
            Judgment::Failed(failure) => (
                failure.judge_id.to_string(),
                Wire::FailureReason(number(failure.reason)),
            ),
            Judgment::Judged(judged) => (
                judged.judge_id.to_string(),
                Wire::Judged(self.judged(dimension, judged)),
            ),
        };
        pb::Judgment {
            judge_id,
            outcome: Some(outcome),
        }
    }

    fn judged(&self, dimension: Dimension, judged: &Judged) -> pb::Judged {
        pb::Judged {
            probability: judged.probability.value(),
            band: number_or_unspecified(self.policy.band(dimension, judged)),
            source: number(judged.source),
            delivery: number(judged.delivery),
            seen_fraction: judged.seen_fraction.value(),
            label_mass: judged.label_mass.map(f64::from),
            basis: number(judged.basis),
            vetoes_pass: judged.vetoes_pass,
            evidence: judged
                .evidence
                .as_deref()
                .map(|evidence| self.evidence(evidence)),
        }
    }

    fn evidence(&self, evidence: &Evidence) -> pb::Evidence {
        pb::Evidence {
            chunk_id: evidence
                .chunk
                .map(|ordinal| self.chunk_id(ordinal))
                .unwrap_or_default(),
            start_offset: int32(evidence.span.start),
            end_offset: int32(evidence.span.end),
            missing_terms: evidence.missing_terms.clone(),
            guards: evidence
                .guards
                .iter()
                .map(|guard| guard.name().to_owned())
                .collect(),
        }
    }

    fn chunk_id(&self, ordinal: usize) -> String {
        self.trace.chunks[ordinal].chunk_id.to_string()
    }
}
