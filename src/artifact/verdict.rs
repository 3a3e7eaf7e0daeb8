//! Verdict rows: everything that was said about one trace, without its texts.
//!
//! `diagnose` writes them, in process or through a server; both give the same row for the same answers.
//! Absent values are left out, never null and never zero.

mod write;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::diagnosis::{Action, Diagnosis, NotAssessableReason, Rule};
use crate::domain::dimension::Dimension;
use crate::domain::failure::{FailureReason, NotApplicableReason};
use crate::domain::judgment::{Guard, JudgmentBasis, JudgmentDelivery, JudgmentSource};
use crate::domain::outcome::{
    CalibrationState, DecisionVariant, FallbackUnavailableReason, JudgeRole, Route, Usage,
};
use crate::domain::probability::Probability;
use crate::policy::band::Band;

/// The version of the shape of these rows.
pub const SCHEMA_VERSION: u32 = 1;

/// What was said about one trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictRow {
    /// The version of the shape.
    pub schema_version: u32,
    /// The trace.
    pub trace_id: String,
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// How it was reached.
    pub route: Route,
    /// Its confidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<Probability>,
    /// Why the fallback judge gave nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback_unavailable_reason: Option<FallbackUnavailableReason>,
    /// Why the trace cannot be judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_assessable_reason: Option<NotAssessableReason>,
    /// The rule that decided.
    pub fired_rule: FiredRuleRow,
    /// The dimensions that a PASS covers.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub pass_covers: Vec<Dimension>,
    /// Whether the answer abstains.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer_abstains: Option<bool>,
    /// What the caller should do now.
    pub action: Action,
    /// What the policy asks for.
    pub would_action: Action,
    /// What the atomic judge said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub atomic: Option<PassRow>,
    /// What the fallback judge said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback: Option<PassRow>,
    /// Every call to a judge.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub judge_calls: Vec<CallRow>,
    /// What it rests on.
    pub provenance: ProvenanceRow,
    /// What it cost.
    pub cost: CostRow,
    /// How long it took.
    pub timing: TimingRow,
}

/// The rule that decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FiredRuleRow {
    /// The rule.
    pub rule: Rule,
    /// The dimension that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dimension: Option<Dimension>,
    /// The chunk that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chunk_id: Option<String>,
    /// The probability that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<Probability>,
    /// The threshold that it met.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub threshold: Option<Probability>,
    /// What stands in the way.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub blocking_dimensions: Vec<Dimension>,
}

/// What one judge said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PassRow {
    /// By chunk id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub chunk_relevance: BTreeMap<String, JudgmentRow>,
    /// The whole-trace dimensions that were asked or do not apply; any other key is refused.
    #[serde(flatten)]
    pub whole: BTreeMap<Dimension, JudgmentRow>,
    /// The statements of the answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub statements: Vec<StatementRow>,
    /// How many of them were judged, and how well they are supported on the whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub statement_summary: Option<StatementSummaryRow>,
    /// A whole diagnosis in place of judgments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<WholeVerdictRow>,
}

/// A whole diagnosis of a judge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WholeVerdictRow {
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Its confidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<Probability>,
}

/// What a judge said to one question: exactly one of a probability, a structural reason and a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum JudgmentRow {
    /// A probability.
    Judged(Box<JudgedRow>),
    /// The question does not apply.
    NotApplicable {
        /// Why.
        not_applicable_reason: NotApplicableReason,
    },
    /// The judge did not answer.
    Failed {
        /// The judge.
        judge_id: String,
        /// Why.
        failure_reason: FailureReason,
    },
}

/// A probability and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgedRow {
    /// The judge.
    pub judge_id: String,
    /// P(true).
    pub probability: Probability,
    /// Where it lies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub band: Option<Band>,
    /// What kind of number it is.
    pub source: JudgmentSource,
    /// Where it was taken from.
    pub delivery: JudgmentDelivery,
    /// Share of the text that the judge saw.
    pub seen_fraction: f64,
    /// Probability mass on the labels.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label_mass: Option<Probability>,
    /// How well founded it is.
    pub basis: JudgmentBasis,
    /// Whether a guard forbids an automatic PASS.
    pub vetoes_pass: bool,
    /// What it rests on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub evidence: Option<EvidenceRow>,
}

/// What a probability rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceRow {
    /// The chunk.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chunk_id: Option<String>,
    /// First code point within the chunk, inclusive; absent if no passage stands out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_offset: Option<usize>,
    /// Last code point within the chunk, exclusive.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end_offset: Option<usize>,
    /// Words and numbers that were not found.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing_terms: Vec<String>,
    /// Guards that fired.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub guards: Vec<Guard>,
}

/// The judgment of one statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementRow {
    /// First code point within the answer, inclusive; absent for a statement that came with the trace.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_offset: Option<usize>,
    /// Last code point within the answer, exclusive.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end_offset: Option<usize>,
    /// Whether the context supports it.
    pub groundedness: JudgmentRow,
}

/// How many statements of an answer were judged, and how well they are supported on the whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementSummaryRow {
    /// Statements with a probability.
    pub decided_count: usize,
    /// Statements that say too little to be decided.
    pub undecidable_count: usize,
    /// Statements that were not judged for any other reason.
    pub failed_count: usize,
    /// The mean probability of the decided ones; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_groundedness: Option<Probability>,
}

/// One call to a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallRow {
    /// The judge.
    pub judge_id: String,
    /// Its role.
    pub role: JudgeRole,
    /// The model asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requested_model: Option<String>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub returned_model: Option<String>,
    /// Attempts.
    pub attempt_count: u32,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// Cost in 1e-9 US dollars.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost_nano_usd: Option<i64>,
    /// Duration of all attempts.
    pub latency_ms: f64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure_reason: Option<FailureReason>,
    /// What failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure_detail: Option<String>,
    /// The request id of the judge's own service.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub upstream_request_id: Option<String>,
}

/// What a diagnosis rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProvenanceRow {
    /// The profile.
    pub profile: String,
    /// The policy.
    pub policy_id: String,
    /// Its digest.
    pub policy_sha256: String,
    /// Whether the thresholds are certified.
    pub calibration_state: CalibrationState,
    /// The set of questions.
    pub decision_id: String,
    /// Its version.
    pub decision_version: String,
    /// With or without a reference answer.
    pub decision_variant: DecisionVariant,
    /// The version of the program.
    pub server_version: String,
}

/// Money in 1e-9 US dollars.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostRow {
    /// On the atomic judge.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub atomic_nano_usd: Option<i64>,
    /// On the fallback judge.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback_nano_usd: Option<i64>,
    /// On both.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total_nano_usd: Option<i64>,
    /// Saved by answers from the cache, in no other sum.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub avoided_nano_usd: Option<i64>,
    /// The price table.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pricing_id: Option<String>,
    /// Its digest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pricing_sha256: Option<String>,
}

/// Durations in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingRow {
    /// In all.
    pub total_ms: f64,
    /// Of these, waiting for judges.
    pub judge_wait_ms: f64,
    /// The rest.
    pub overhead_ms: f64,
}

/// Milliseconds of a duration, to the microsecond.
pub fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}
