//! Modes against each other on the same rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Measure, Mode};

/// Two modes on the rows that both scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The first mode.
    pub first: Mode,
    /// The mode that it is compared with; differences are first less second.
    pub second: Mode,
    /// Labelled rows; a failure counts as wrong.
    pub row_count: u64,
    /// Right in the first alone.
    pub first_only_right_count: u64,
    /// Right in the second alone.
    pub second_only_right_count: u64,
    /// Exact McNemar test, two-sided.
    pub mcnemar_p: Measure,
    /// Its mid-p variant.
    pub mcnemar_mid_p: Measure,
    /// Difference of accuracy; the interval is of the bootstrap.
    pub accuracy_difference: Measure,
    /// Two-sided p-value of the bootstrap for it, as the conventions say.
    pub accuracy_p: Measure,
    /// Difference of F1 of finding what is not a PASS, each without what it left uncertain or failed.
    pub f1_difference: Measure,
    /// Two-sided p-value of the bootstrap for it.
    pub f1_p: Measure,
    /// Blocks of rows that the bootstrap draws: rows that share a question are in one block, and there are 4,096 at most,
    /// so that a block may hold several questions.
    pub block_count: u64,
    /// Difference of cost per row in 1e-9 US dollars.
    pub cost_difference_nano_usd: Measure,
    /// Difference of p50 in milliseconds.
    pub p50_difference_ms: Measure,
    /// Difference of p95 in milliseconds.
    pub p95_difference_ms: Measure,
}

/// What a threshold on the confidence of the atomic diagnosis would do: below it the fallback judge decides.
///
/// Entry j of every list is for the threshold j / 100. As in `selective.thresholds`, a row that the atomic judge left uncertain or failed is never
/// accepted, nor is one without a confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostQuality {
    /// Labelled, assessable rows.
    pub row_count: u64,
    /// Accepted from the atomic judge.
    pub accepted: Vec<u64>,
    /// Wrong among the accepted.
    pub accepted_wrong: Vec<u64>,
    /// Right in the end, with what the fallback judge alone says about the rest.
    pub right: Vec<u64>,
    /// Cost of the atomic judge on all and of the fallback judge on the rest; none if a cost is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nano_usd: Option<Vec<i64>>,
    /// Mean latency in milliseconds over all these rows; one that asked no judge counts as 0.
    pub mean_latency_ms: Vec<f64>,
}
