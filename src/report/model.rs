//! The report of an evaluation: what every reader, gate and drawing stands on.
//!
//! Nothing in it depends on when, where or in which order rows were evaluated: the same rows give the same bytes.
//! A number that cannot be told is absent with its reason, never zero. There is no single score over dimensions.

pub mod compared;
pub mod parity;
pub mod quality;
pub mod spent;
pub mod wrong;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::compared::{Comparison, CostQuality};
use self::parity::Parity;
use self::quality::{BandReport, Components, DiagnosisReport};
use self::spent::{CostReport, LatencyReport};
use self::wrong::{WrongDiagnosis, WrongJudgment};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::outcome::{CalibrationState, FallbackUnavailableReason, JudgeRole, Route};
use crate::domain::vocabulary;
use crate::stats::Absent;

/// The version of the shape of a report.
pub const SCHEMA_VERSION: u32 = 1;

vocabulary! {
    /// Who decides in an evaluation.
    "mode"
    pub enum Mode {
        /// The atomic judge and the policy; what is uncertain stays uncertain.
        AtomicOnly = "atomic_only",
        /// The fallback judge alone, asked every question.
        BaselineOnly = "baseline_only",
        /// The atomic judge, and the fallback judge where it is uncertain.
        Cascade = "cascade",
    }
}

/// An evaluation of one dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The version of the shape.
    pub schema_version: u32,
    /// The version of the program.
    pub program_version: String,
    /// What was evaluated.
    pub dataset: DatasetInfo,
    /// The set of questions.
    pub decision: DecisionInfo,
    /// The profile.
    pub profile: String,
    /// The policy.
    pub policy: SnapshotInfo,
    /// Whether the thresholds are certified.
    pub calibration_state: CalibrationState,
    /// The price table; absent if none is loaded, and then every cost of a judge that is not local is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pricing: Option<PricingInfo>,
    /// Every judge that the profile binds.
    pub judges: Vec<JudgeInfo>,
    /// How the numbers are made.
    pub conventions: Conventions,
    /// The results over all rows.
    pub modes: Modes,
    /// Modes on the same rows.
    pub comparisons: Vec<Comparison>,
    /// What a threshold on the confidence of the atomic diagnosis would do; only where both judges were asked alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost_quality: Option<CostQuality>,
    /// The results over parts of the rows, by the name of the slice.
    pub slices: BTreeMap<String, Slice>,
    /// Slices that are too many to be listed; the smallest are left out.
    pub slices_left_out: u64,
    /// Confident and wrong by the policy, the surest first.
    pub confident_and_wrong: Vec<WrongDiagnosis>,
    /// Rows that would be listed there if there were room.
    pub confident_and_wrong_left_out: u64,
    /// Confident and wrong by one question, the surest first, by dimension.
    pub wrong_judgments: BTreeMap<Dimension, Vec<WrongJudgment>>,
    /// The numbers by the conventions of the project that this one comes from; only with `--parity`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parity: Option<Parity>,
}

/// What was evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetInfo {
    /// The name of the file, without its folder.
    pub file: String,
    /// SHA-256 of the bytes of the file.
    pub sha256: String,
    /// Rows.
    pub row_count: u64,
    /// Rows with a labelled diagnosis.
    pub labelled_diagnosis_count: u64,
}

/// The set of questions; a report over rows with and without a reference answer is `mixed` and names no id, for there
/// are two sets of one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionInfo {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    /// Its version; absent without rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// With or without correctness.
    pub variant: ReportVariant,
}

vocabulary! {
    /// Which sets of questions the rows of a report were asked.
    "variant of a report"
    pub enum ReportVariant {
        /// Every row with correctness.
        WithReference = "with_reference",
        /// Every row without correctness.
        WithoutReference = "without_reference",
        /// Some with and some without.
        Mixed = "mixed",
    }
}

/// An immutable input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotInfo {
    /// Its name.
    pub id: String,
    /// SHA-256 of its content.
    pub sha256: String,
}

/// A price table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricingInfo {
    /// Its name.
    pub id: String,
    /// SHA-256 of its content.
    pub sha256: String,
    /// The day from which its prices are.
    pub as_of: String,
}

/// A judge in a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeInfo {
    /// Its name in the configuration.
    pub judge_id: String,
    /// Its role.
    pub role: JudgeRole,
    /// Its type in the configuration.
    pub judge_type: String,
    /// The model asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requested_model: Option<String>,
    /// The models that answered.
    pub returned_models: Vec<String>,
    /// SHA-256 of the file of recorded answers that it was replayed from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answers_sha256: Option<String>,
}

/// How the numbers are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conventions {
    /// Bins of equal width and of equal mass; a probability p is in bin min(floor(p * bins), bins - 1).
    pub bin_count: u32,
    /// The least probability of what is true that log loss counts with.
    pub log_loss_epsilon: f64,
    /// Confidences are equal if they agree to so many decimals.
    pub confidence_decimals: u32,
    /// The level of every interval.
    pub interval_level: f64,
    /// Percentiles: the value at rank ceil(q * n).
    pub percentile: String,
    /// Where a judgment alone counts as true.
    pub decision_threshold: f64,
    /// Resamples of the paired bootstrap.
    pub bootstrap_replicates: u32,
    /// How its p-value is made.
    pub bootstrap_p: String,
    /// The generator of pseudo-random numbers.
    pub generator: String,
    /// Its seed.
    pub seed: u64,
    /// Draws for the noise floor of ECE.
    pub noise_floor_draws: u32,
    /// Beyond so many different values, values are rounded to `rounded_decimals`.
    pub exact_value_limit: u64,
    /// See `exact_value_limit`.
    pub rounded_decimals: u32,
    /// The same limit in slices.
    pub slice_exact_value_limit: u64,
    /// The same decimals in slices.
    pub slice_rounded_decimals: u32,
    /// Whether any distribution was rounded.
    pub is_rounded: bool,
}

/// The results of each mode that was run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modes {
    /// The atomic judge and the policy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub atomic_only: Option<ModeReport>,
    /// The fallback judge alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baseline_only: Option<ModeReport>,
    /// The cascade.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cascade: Option<ModeReport>,
}

impl Modes {
    /// The results of one mode.
    pub const fn get(&self, mode: Mode) -> Option<&ModeReport> {
        match mode {
            Mode::AtomicOnly => self.atomic_only.as_ref(),
            Mode::BaselineOnly => self.baseline_only.as_ref(),
            Mode::Cascade => self.cascade.as_ref(),
        }
    }
}

/// Part of the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Rows.
    pub row_count: u64,
    /// The results, without tables and curves; of a component few numbers.
    pub modes: Modes,
}

/// A number with its interval, or the reason why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<f64>,
    /// The lower end of its interval, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub low: Option<f64>,
    /// The upper end of its interval, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub high: Option<f64>,
    /// Why there is no number; set exactly where `value` is absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub absent: Option<Absent>,
}

impl Measure {
    /// A number without an interval, or the reason why there is none.
    pub fn of(result: Result<f64, Absent>) -> Self {
        Self {
            value: result.ok(),
            low: None,
            high: None,
            absent: result.err(),
        }
    }

    /// The same number with an interval.
    #[must_use]
    pub fn within(self, interval: Option<(f64, f64)>) -> Self {
        Self {
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            ..self
        }
    }
}

/// The results of one mode over some rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeReport {
    /// Rows.
    pub row_count: u64,
    /// Rows without a usable answer.
    pub failed_count: u64,
    /// Rows that cannot be judged; they are in no rate and in no quality.
    pub not_assessable_count: u64,
    /// Rows without a usable answer, by reason.
    pub failures: BTreeMap<FailureReason, u64>,
    /// Share of the assessable rows without a usable answer.
    pub failure_rate: Measure,
    /// Share of the assessable rows that were decided without the fallback judge.
    pub coverage: Measure,
    /// Share of the assessable rows that needed the fallback judge, asked or not.
    pub fallback_rate: Measure,
    /// Rows by route.
    pub routes: BTreeMap<Route, u64>,
    /// Rows that needed the fallback judge and got nothing, by reason.
    pub fallback_unavailable: BTreeMap<FallbackUnavailableReason, u64>,
    /// The diagnosis against its label.
    pub diagnosis: DiagnosisReport,
    /// The dimensions against their labels; absent if the judge gave whole verdicts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub components: Option<Components>,
    /// Among the rows that the atomic judge left uncertain; only of the cascade.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub band: Option<BandReport>,
    /// Latency in milliseconds: the sum of the calls that had to wait for each other, recorded ones as recorded.
    pub latency: LatencyReport,
    /// Cost.
    pub cost: CostReport,
}
