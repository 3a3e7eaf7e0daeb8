//! How right the diagnoses and the dimensions are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Measure;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;

/// Whether a part was not made: a slice has no tables and few numbers. One that was made is never its default.
fn is_left_out<T: Default + PartialEq>(part: &T) -> bool {
    *part == T::default()
}

/// The diagnosis of every row against its label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnosisReport {
    /// Rows with a label and an answer.
    pub scored_count: u64,
    /// Rows with a label and without a usable answer.
    pub failed_count: u64,
    /// Assessable rows without a label that a judge could find.
    pub unlabelled_count: u64,
    /// Right among the scored.
    pub accuracy: Measure,
    /// Right among the scored and the failed: a failure counts as wrong.
    pub overall_accuracy: Measure,
    /// Mean recall over the classes with rows.
    pub balanced_accuracy: Measure,
    /// Matthews' correlation over all classes.
    pub mcc: Measure,
    /// Mean F1 over the classes with rows.
    pub macro_f1: Measure,
    /// Each class that is labelled or given; none in a slice.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub classes: BTreeMap<Diagnosis, ClassReport>,
    /// Labelled against given; none in a slice.
    #[serde(skip_serializing_if = "is_left_out", default)]
    pub confusion: Confusion,
    /// Finding what is not a PASS: positive is any other label. JUDGE_UNCERTAIN is given as neither and left out.
    pub failing: BinaryReport,
    /// Share of wrong ones among every PASS that was given, whichever judge gave it, with its exact interval: what a
    /// user is served although it is bad. The same in every mode.
    pub false_pass: Measure,
    /// Share of labelled PASS among every failing diagnosis that was given, whichever judge gave it, with its exact
    /// interval: what is held back although it is good. JUDGE_UNCERTAIN is neither. The same in every mode.
    pub false_fail: Measure,
    /// The confidence of the diagnosis against its being right.
    pub confidence: ConfidenceReport,
}

/// One class of a classification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassReport {
    /// Rows with this label.
    pub support: u64,
    /// Rows that were given this class.
    pub predicted_count: u64,
    /// Rows that are both.
    pub true_positive_count: u64,
    /// Right among the given.
    pub precision: Measure,
    /// Found among the labelled.
    pub recall: Measure,
    /// Harmonic mean of the two.
    pub f1: Measure,
}

/// A confusion matrix; `counts[i][j]` is how many rows with label `labels[i]` were given `labels[j]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confusion {
    /// The classes in the order of their vocabulary.
    pub labels: Vec<Diagnosis>,
    /// Labelled by given.
    pub counts: Vec<Vec<u64>>,
    /// By label: rows without a usable answer.
    pub failed: Vec<u64>,
}

/// A yes/no classification.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BinaryReport {
    /// Positive and given as positive.
    pub true_positive_count: u64,
    /// Negative and given as positive.
    pub false_positive_count: u64,
    /// Negative and given as negative.
    pub true_negative_count: u64,
    /// Positive and given as negative.
    pub false_negative_count: u64,
    /// Right among all.
    pub accuracy: Measure,
    /// Mean of the recall of both classes.
    pub balanced_accuracy: Measure,
    /// Right among those given as positive.
    pub precision: Measure,
    /// Found among the positive.
    pub recall: Measure,
    /// Harmonic mean of precision and recall.
    pub f1: Measure,
    /// Matthews' correlation.
    pub mcc: Measure,
}

/// The confidence of diagnoses against their being right; rows without a confidence are left out and counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfidenceReport {
    /// Scored rows with a confidence.
    pub scored_count: u64,
    /// Scored rows without one.
    pub without_confidence_count: u64,
    /// Whether the confidence means what it says.
    pub calibration: Calibration,
    /// What may be accepted at which risk.
    pub selective: Selective,
}

/// Whether numbers from 0 to 1 mean what they say.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Expected calibration error over bins of equal width.
    pub ece: Measure,
    /// The same over bins of equal mass.
    pub ece_equal_mass: Measure,
    /// What `ece` would be on average if every number were true: only what lies above it is miscalibration.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ece_noise_floor: Option<Measure>,
    /// The largest gap of a bin.
    pub mce: Measure,
    /// The same over bins with at least ten rows.
    pub mce_of_ten: Measure,
    /// Root of the mean squared gap.
    pub rmsce: Measure,
    /// The bins of equal width; none in a slice.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reliability: Vec<Bin>,
}

/// One bin of a reliability table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bin {
    /// Its lower edge, inclusive.
    pub low: f64,
    /// Its upper edge, exclusive but for the last.
    pub high: f64,
    /// Rows.
    pub count: u64,
    /// The mean number in it.
    pub mean: Measure,
    /// The share that is true, with its interval.
    pub rate: Measure,
}

/// What may be accepted at which risk, by a threshold on a confidence.
///
/// The areas are over everything scored with a confidence. `thresholds` and `curve` tell what a threshold would accept:
/// of diagnoses JUDGE_UNCERTAIN is never accepted, which nobody decided, nor is a failure or what has no confidence.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Selective {
    /// Area under the risk-coverage curve: the mean risk of all prefixes, expected over the order of ties.
    pub aurc: Measure,
    /// AURC less that of a perfect order.
    pub e_aurc: Measure,
    /// Area under the generalised risk-coverage curve: errors that are accepted, over all rows.
    pub augrc: Measure,
    /// What the coverage of `thresholds` and `curve` is a share of: labelled, assessable rows, failed and uncertain ones
    /// too; of a dimension the scored judgments.
    pub row_count: u64,
    /// At named thresholds; none in a slice.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub thresholds: Vec<SelectivePoint>,
    /// The curve, one point a confidence, from the surest; none in a slice. Of a long one every so manieth point.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub curve: Vec<CurvePoint>,
}

/// What one threshold accepts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectivePoint {
    /// A confidence of at least this is accepted.
    pub threshold: f64,
    /// Accepted rows.
    pub accepted_count: u64,
    /// Wrong ones among them.
    pub wrong_count: u64,
    /// Share of `row_count` that is accepted.
    pub coverage: Measure,
    /// Share of wrong ones among the accepted, with its exact interval.
    pub risk: Measure,
}

/// One point of a risk-coverage curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurvePoint {
    /// The confidence.
    pub confidence: f64,
    /// Share of `row_count` that is decided and at least as confident.
    pub coverage: f64,
    /// Share of wrong ones among them.
    pub risk: f64,
}

/// The dimensions, retrieval and generation apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Components {
    /// Those about retrieval; chunk relevance counts chunks.
    pub retrieval: BTreeMap<Dimension, ComponentReport>,
    /// Those about the answer.
    pub generation: BTreeMap<Dimension, ComponentReport>,
}

/// One dimension against its labels. In a slice there are the counts, `overall_accuracy`, `brier` and `auroc` alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentReport {
    /// Labelled and judged.
    pub scored_count: u64,
    /// Labelled, but the question does not apply.
    pub not_applicable_count: u64,
    /// Labelled, but no judge answered.
    pub failed_count: u64,
    /// Of these, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub failures: BTreeMap<FailureReason, u64>,
    /// Asked, but not labelled.
    pub unlabelled_count: u64,
    /// Labelled true among the scored.
    pub positive_count: u64,
    /// A probability of at least 0.5 against the label; none in a slice.
    #[serde(skip_serializing_if = "is_left_out", default)]
    pub decided: BinaryReport,
    /// Right among the scored and the failed: a failure counts as wrong.
    pub overall_accuracy: Measure,
    /// Mean squared error.
    pub brier: Measure,
    /// Its parts over bins of equal width; none in a slice.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub murphy: Option<Murphy>,
    /// Mean negative log-likelihood; none in a slice.
    #[serde(skip_serializing_if = "is_left_out", default)]
    pub log_loss: Measure,
    /// Area under the ROC curve: the chance that a true one has the higher probability, ties half.
    pub auroc: Measure,
    /// Average precision; none in a slice.
    #[serde(skip_serializing_if = "is_left_out", default)]
    pub average_precision: Measure,
    /// Whether the probability means what it says; none in a slice.
    #[serde(skip_serializing_if = "is_left_out", default)]
    pub calibration: Calibration,
    /// ECE of max(p, 1 - p) against being right at 0.5; none in a slice.
    #[serde(skip_serializing_if = "is_left_out", default)]
    pub confidence_ece: Measure,
    /// What may be accepted at which risk, by max(p, 1 - p); none in a slice.
    #[serde(skip_serializing_if = "is_left_out", default)]
    pub selective: Selective,
    /// At the thresholds of the policy, each judgment at those for its judge; absent if the dimension is off, and in a
    /// slice.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_policy: Option<TwoSided>,
    /// Over all thresholds; absent in a slice.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sides: Option<Sides>,
}

/// The parts of a Brier score: brier = reliability - resolution + uncertainty + within_bin_variance -
/// within_bin_covariance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Murphy {
    /// How far the bins are from their rates.
    pub reliability: f64,
    /// How far the rates of the bins are apart.
    pub resolution: f64,
    /// The variance of the labels.
    pub uncertainty: f64,
    /// How far probabilities are apart within their bins.
    pub within_bin_variance: f64,
    /// How far they follow the labels there, twice.
    pub within_bin_covariance: f64,
}

/// What two thresholds on one probability decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoSided {
    /// At most this is false; of the first judge.
    pub fail_at: f64,
    /// At least this is true; of the first judge.
    pub pass_at: f64,
    /// Decided as true.
    pub positive_count: u64,
    /// Labelled false among them.
    pub positive_wrong_count: u64,
    /// Decided as false.
    pub negative_count: u64,
    /// Labelled true among them.
    pub negative_wrong_count: u64,
    /// Not decided.
    pub uncertain_count: u64,
    /// Share that is decided.
    pub coverage: Measure,
    /// Wrong among the decided, with its exact interval.
    pub risk: Measure,
    /// Wrong among those decided as true, with its exact interval.
    pub positive_risk: Measure,
    /// Wrong among those decided as false, with its exact interval.
    pub negative_risk: Measure,
}

/// What every threshold j / 100 decides, j from 0 to 100.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sides {
    /// How many lie at or above.
    pub at_or_above: Vec<u64>,
    /// Labelled false among them.
    pub at_or_above_wrong: Vec<u64>,
    /// How many lie at or below.
    pub at_or_below: Vec<u64>,
    /// Labelled true among them.
    pub at_or_below_wrong: Vec<u64>,
}

/// The rows that the atomic judge left uncertain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BandReport {
    /// Rows that needed the fallback judge and have a label.
    pub labelled_count: u64,
    /// Of these, answered by the fallback judge.
    pub answered_count: u64,
    /// Wrong among the answered, with its exact interval: the error of the fallback judge on what is hard.
    pub error: Measure,
    /// Wrong among the rows that were decided without it, with its exact interval.
    pub decided_error: Measure,
}
