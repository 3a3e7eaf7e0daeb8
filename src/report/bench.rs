//! What a judge is worth on labelled data sets: the model, and how it is written.
//!
//! Nothing but [`Bench::latency`] depends on when or where rows were judged: the same rows give the same bytes. An error
//! bound is the one-sided exact one (Clopper and Pearson) at the level of the conventions; other intervals are two-sided.

pub mod block;
pub mod json;
pub mod words;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{Measure, SnapshotInfo};
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::Guard;
use crate::domain::outcome::CalibrationState;

/// The version of the shape.
pub const SCHEMA_VERSION: u32 = 1;

/// One judge on labelled data sets, alone and under a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// The version of the shape.
    pub schema_version: u32,
    /// The version of the program.
    pub program_version: String,
    /// The judge.
    pub judge: BenchJudge,
    /// The policy that decides over its judgments.
    pub policy: SnapshotInfo,
    /// Whether the thresholds are certified.
    pub calibration_state: CalibrationState,
    /// How the numbers are made.
    pub conventions: BenchConventions,
    /// Files whose contexts were left out of every other set.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub excluded: Vec<BenchFile>,
    /// The sets in the order in which they were named.
    pub sets: Vec<BenchSet>,
    /// How long the judge took, by set; all that differs from run to run.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub latency: BTreeMap<String, BenchLatency>,
}

/// The judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchJudge {
    /// Its name in the configuration.
    pub judge_id: String,
    /// Its type in the configuration.
    pub judge_type: String,
    /// The model asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
}

/// How the numbers are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchConventions {
    /// The level of every interval and bound.
    pub level: f64,
    /// Bins of equal mass for the calibration error.
    pub bin_count: u32,
    /// Draws for its noise floor.
    pub noise_floor_draws: u32,
    /// The seed of the draws.
    pub seed: u64,
    /// Share of the content words of an answer that stand in the context, from which on guards are measured.
    pub guard_containment: f64,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchFile {
    /// Its name without its folder.
    pub file: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
}

/// One data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchSet {
    /// The name of its file without the ending.
    pub name: String,
    /// The file.
    pub file: BenchFile,
    /// Rows that were measured on.
    pub row_count: u64,
    /// Rows that were left out, because they share a context with an excluded file.
    pub excluded_row_count: u64,
    /// Rows that cannot be judged; they are measured on, and in no number.
    pub not_assessable_count: u64,
    /// Every dimension with labels that the judge is asked about.
    pub dimensions: BTreeMap<Dimension, BenchDimension>,
    /// What the guards of groundedness forbid.
    pub guards: BenchGuards,
    /// What the policy makes of the judgments.
    pub policy: BenchPolicy,
}

/// One dimension against its labels. Chunk relevance counts chunks, every other dimension rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchDimension {
    /// Labelled questions.
    pub labelled_count: u64,
    /// Of these, those with a probability; all numbers below are over them.
    pub judged_count: u64,
    /// Those that the judge failed.
    pub failed_count: u64,
    /// The same by reason.
    pub failures: BTreeMap<FailureReason, u64>,
    /// Those that do not apply.
    pub not_applicable_count: u64,
    /// Judged ones that are labelled true.
    pub positive_count: u64,
    /// Their share.
    pub prevalence: Measure,
    /// Area under the ROC curve.
    pub auroc: Measure,
    /// Balanced accuracy with a threshold from the other half of the groups, both directions together.
    pub balanced_accuracy: Measure,
    /// Groups of rows with the same context.
    pub group_count: u64,
    /// The Brier score.
    pub brier: Measure,
    /// Expected calibration error over bins of equal mass.
    pub ece: Measure,
    /// What it would be if every probability were true.
    pub ece_noise_floor: Measure,
    /// What could be decided by thresholds from these labels, by the error that is allowed.
    pub automatic: Vec<BenchCoverage>,
}

/// What could be decided automatically by thresholds that fixed sequence testing shows on the set itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchCoverage {
    /// The error that each side may have at most.
    pub error: f64,
    /// The good end of the dimension.
    pub pass: BenchSide,
    /// The bad end of the dimension.
    pub fail: BenchSide,
}

/// One side of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchSide {
    /// The loosest threshold that was shown; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub threshold: Option<f64>,
    /// Judged questions that it decides.
    pub decided_count: u64,
    /// Wrong ones among them.
    pub wrong_count: u64,
    /// The share of the labelled questions that apply.
    pub share: Measure,
    /// The upper bound of the error.
    pub error_bound: Measure,
}

/// What guards forbid, of rows whose answer stands in the context nearly word for word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchGuards {
    /// Of rows that are labelled grounded.
    pub grounded: BenchGuarded,
    /// Of rows that are labelled not grounded.
    pub ungrounded: BenchGuarded,
}

/// The guards over rows of one label.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchGuarded {
    /// Judged rows.
    pub row_count: u64,
    /// Those on which the judge forbids a PASS, whatever the cause.
    pub vetoed_count: u64,
    /// Their share.
    pub vetoed: Measure,
    /// Those on which a guard fired that compares words of answer and context.
    pub mismatch_count: u64,
    /// Their share.
    pub mismatch: Measure,
    /// Rows by guard.
    pub by_guard: BTreeMap<Guard, u64>,
}

/// What the policy makes of the judgments; no fallback judge is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchPolicy {
    /// Rows that can be judged.
    pub row_count: u64,
    /// Of these, rows about which the judge answered nothing.
    pub unanswered_count: u64,
    /// Rows with another diagnosis than JUDGE_UNCERTAIN.
    pub decided_count: u64,
    /// Their share.
    pub decided: Measure,
    /// PASS; wrong is one with any bad label of `pass_by_label`.
    pub pass: BenchRisk,
    /// PASS by each label that speaks about it: groundedness, sufficiency, and what the PASS covers.
    pub pass_by_label: BTreeMap<Dimension, BenchRisk>,
    /// Every failing diagnosis.
    pub fail: BenchRisk,
    /// The same by diagnosis.
    pub fail_by_diagnosis: BTreeMap<Diagnosis, BenchRisk>,
}

/// Decisions and how many of them are wrong.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchRisk {
    /// Decisions.
    pub count: u64,
    /// Of these, those whose labels tell right from wrong.
    pub checked_count: u64,
    /// Wrong ones.
    pub wrong_count: u64,
    /// Their share of the checked ones.
    pub error: Measure,
    /// The upper bound of that.
    pub error_bound: Measure,
}

/// How long the judge took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchLatency {
    /// Rows that were answered.
    pub row_count: u64,
    /// Rows that were with the judge at once at most.
    pub concurrency: u64,
    /// The median in microseconds.
    pub p50_us: Measure,
    /// Exceeded by one row in twenty.
    pub p95_us: Measure,
    /// Rows a second while the judge had at least one.
    pub rows_per_second: Measure,
}

impl Bench {
    /// The set of that name.
    pub fn set(&self, name: &str) -> Option<&BenchSet> {
        self.sets.iter().find(|set| set.name == name)
    }
}

impl BenchSet {
    /// The area under the ROC curve of groundedness, if there is one.
    pub fn groundedness_auroc(&self) -> Option<f64> {
        let dimension = self.dimensions.get(&Dimension::Groundedness)?;
        dimension.auroc.value
    }
}
