//! Outcomes: everything that the cascade can say about one trace.

use std::sync::Arc;
use std::time::Duration;

use super::diagnosis::{Action, NotAssessableReason, Ruling, Verdict};
use super::failure::FailureReason;
use super::judgment::{Answers, JudgmentDelivery, StatementJudgment};
use super::trace::{JudgeId, ProfileName, SnapshotId, Trace};
use super::vocabulary;

vocabulary! {
    /// How a diagnosis was reached.
    "route"
    pub enum Route {
        /// By the atomic judge, or without a judge.
        Auto = "auto",
        /// With the fallback judge.
        Fallback = "fallback",
        /// The fallback judge was needed and gave nothing.
        FallbackUnavailable = "fallback_unavailable",
    }
}

vocabulary! {
    /// Why the fallback judge gave nothing.
    "reason why the fallback judge gave nothing"
    pub enum FallbackUnavailableReason {
        /// None is configured.
        NotConfigured = "not_configured",
        /// The request or the profile says none.
        Skipped = "skipped",
        /// It failed.
        Error = "error",
        /// There was too little time.
        Deadline = "deadline",
        /// The spend cap is reached.
        Budget = "budget",
        /// Its breaker is open.
        Breaker = "breaker",
        /// Too many calls wait for it.
        Overloaded = "overloaded",
        /// It is asked after the answer.
        Deferred = "deferred",
        /// The share of fallback calls for mismatched calibration is used up.
        MismatchShare = "mismatch_share",
    }
}

vocabulary! {
    /// Why the fallback judge was asked for.
    "reason to ask the fallback judge"
    pub enum FallbackReason {
        /// No rule decided.
        Uncertain = "uncertain",
        /// The atomic judge failed as a whole.
        AtomicFailed = "atomic_failed",
        /// The calibration does not fit.
        Mismatch = "mismatch",
    }
}

vocabulary! {
    /// The role in which a judge is asked.
    "judge role"
    pub enum JudgeRole {
        /// Asked first.
        Atomic = "atomic",
        /// Asked when the atomic judge is uncertain or fails.
        Fallback = "fallback",
    }
}

vocabulary! {
    /// Whether the thresholds of a policy are certified.
    "calibration state"
    pub enum CalibrationState {
        /// A certificate is in force.
        Certified = "CERTIFIED",
        /// No certificate is loaded; the thresholds are examples.
        Uncalibrated = "UNCALIBRATED",
        /// The certificate is for something else.
        Mismatch = "MISMATCH",
        /// The certificate is too old.
        Expired = "EXPIRED",
        /// An alarm suspended the certificate.
        Suspended = "SUSPENDED",
    }
}

vocabulary! {
    /// Whether the action of a profile is in force.
    "enforcement"
    pub enum Enforcement {
        /// The action is always ALLOW; `would_action` tells what the policy asks for.
        Shadow = "shadow",
        /// The action is what the policy asks for.
        Enforce = "enforce",
    }
}

vocabulary! {
    /// Which set of questions is asked.
    "decision variant"
    pub enum DecisionVariant {
        /// With correctness.
        WithReference = "with_reference",
        /// Without correctness.
        WithoutReference = "without_reference",
    }
}

impl Enforcement {
    /// What the caller should do now, given what the policy asks for.
    pub const fn action(self, would_action: Action) -> Action {
        match self {
            Self::Shadow => Action::Allow,
            Self::Enforce => would_action,
        }
    }
}

/// The result of diagnosing one trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The trace.
    pub trace: Arc<Trace>,
    /// The diagnosis and the rule that gave it.
    pub ruling: Ruling,
    /// How it was reached.
    pub route: Route,
    /// Why the fallback judge gave nothing; set with [`Route::FallbackUnavailable`] only.
    pub fallback_unavailable: Option<FallbackUnavailableReason>,
    /// Why the trace cannot be judged; set with NOT_ASSESSABLE only.
    pub not_assessable: Option<NotAssessableReason>,
    /// Whether the answer abstains; `None` if that was not looked at.
    pub answer_abstains: Option<bool>,
    /// What the caller should do now.
    pub action: Action,
    /// What the policy asks for, enforced or not.
    pub would_action: Action,
    /// Whether the action is in force for this trace.
    pub enforcement: Enforcement,
    /// What the atomic judge said, and what does not apply; `None` for a trace that is not assessable.
    pub atomic: Option<Pass>,
    /// What the fallback judge said; `None` if it was not asked.
    pub fallback: Option<Pass>,
    /// Every call to a judge, the atomic ones first.
    pub calls: Vec<JudgeCall>,
    /// What it rests on.
    pub provenance: Provenance,
    /// What it cost.
    pub cost: Cost,
    /// How long it took.
    pub timing: Timing,
}

/// What one judge said about the trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// The judgments.
    pub answers: Answers,
    /// The judgments of the statements of the answer, from a judge that works by statements.
    pub statements: Vec<StatementJudgment>,
    /// A whole diagnosis in place of judgments.
    pub verdict: Option<Verdict>,
}

impl Pass {
    /// Nothing was said about a trace with so many chunks.
    pub fn empty(chunk_count: usize) -> Self {
        Self {
            answers: Answers::from_fn(chunk_count, |_| None),
            statements: Vec::new(),
            verdict: None,
        }
    }
}

/// One call to a judge.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeCall {
    /// The judge.
    pub judge_id: JudgeId,
    /// The role in which it was asked.
    pub role: JudgeRole,
    /// The model asked for, if the judge has a choice.
    pub requested_model: Option<String>,
    /// The model that answered, if the judge said so.
    pub returned_model: Option<String>,
    /// Whether the judge runs inside the program, so that the call costs nothing.
    pub is_local: bool,
    /// Where the answer was taken from.
    pub delivery: JudgmentDelivery,
    /// Attempts; 0 if the answer was taken from the cache or nothing was sent.
    pub attempt_count: u32,
    /// Tokens, if the judge said how many.
    pub usage: Option<Usage>,
    /// Cost; `None` is unknown. Filled in by the cascade.
    pub cost: Option<NanoUsd>,
    /// Duration of all attempts; of a recorded answer the recorded one.
    pub latency: Duration,
    /// Why the call failed as a whole.
    pub failure: Option<FailureReason>,
    /// What failed, in our own words.
    pub failure_detail: Option<String>,
    /// The request id of the judge's own service.
    pub upstream_request_id: Option<String>,
    /// Whether an attempt that brought no tokens may have been billed all the same: it was sent and not turned away.
    pub may_be_billed: bool,
}

/// The longest name of a model in bytes.
const MAX_MODEL_NAME_BYTES: usize = 256;

/// Whether a text can be the name of a model; what a judge calls its model may be any text at all.
pub fn is_model_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_MODEL_NAME_BYTES && !text.chars().any(char::is_control)
}

impl JudgeCall {
    /// Whether nothing was sent, so that nothing can have been billed.
    pub fn is_unsent(&self) -> bool {
        self.delivery == JudgmentDelivery::Live && self.attempt_count == 0
    }
}

/// Token counts; each is `None` if unknown.
///
/// Input counts all of the input, with what was read from the judge's cache and what was written to it; output counts
/// all of the output, with reasoning. An adapter whose service counts them apart adds them up.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Input tokens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub input_token_count: Option<u64>,
    /// Of the input, read from the judge's cache.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cached_input_token_count: Option<u64>,
    /// Of the input, written to the judge's cache.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cache_write_input_token_count: Option<u64>,
    /// Output tokens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output_token_count: Option<u64>,
    /// Of the output, reasoning.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reasoning_token_count: Option<u64>,
}

/// What a diagnosis rests on: names, versions and digests of every snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The profile.
    pub profile: ProfileName,
    /// The policy.
    pub policy: SnapshotId,
    /// Whether the thresholds are certified.
    pub calibration_state: CalibrationState,
    /// The set of questions.
    pub decision_id: &'static str,
    /// Its version.
    pub decision_version: &'static str,
    /// With or without a reference answer.
    pub decision_variant: DecisionVariant,
    /// The price table, if one is loaded.
    pub pricing: Option<SnapshotId>,
}

/// Money spent on one trace; each is `None` if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// On the atomic judge.
    pub atomic: Option<NanoUsd>,
    /// On the fallback judge; `None` also if it was not asked.
    pub fallback: Option<NanoUsd>,
    /// On both.
    pub total: Option<NanoUsd>,
    /// Saved by answers from the cache; `None` if none was or its price is unknown.
    pub avoided: Option<NanoUsd>,
}

/// How long one trace took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// From the start to the outcome.
    pub total: Duration,
    /// Of these, waiting for judges.
    pub judge_wait: Duration,
}

impl Timing {
    /// What the program itself added: total less judge wait.
    pub fn overhead(self) -> Duration {
        self.total.saturating_sub(self.judge_wait)
    }
}

/// An amount of money in 1e-9 US dollars.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct NanoUsd(pub i64);

impl NanoUsd {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// The sum; at the end of the range it stays there.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::fmt::Display for NanoUsd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (dollars, nanos) = (
            self.0.unsigned_abs() / 1_000_000_000,
            self.0.unsigned_abs() % 1_000_000_000,
        );
        write!(f, "{sign}${dollars}.{nanos:09}")
    }
}
