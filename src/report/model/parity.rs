//! The numbers by the conventions of the project that this one comes from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Mode;

/// The numbers by the conventions of the project that this one comes from (`jev-starter`): empty ratios are 0,
/// percentiles are interpolated, ties are in input order, components have the ECE of max(p, 1 - p).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parity {
    /// The confidence of each answered row in the first mode that was run.
    pub row_confidences: Vec<f64>,
    /// By mode.
    pub modes: BTreeMap<Mode, ParityMode>,
    /// By component: `chunk_relevance` by chunk id, the others by dimension; of the atomic judge.
    pub components: BTreeMap<String, ParityComponent>,
}

/// One mode by these conventions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParityMode {
    /// Right among the answered.
    pub successful_accuracy: f64,
    /// Right among all.
    pub overall_accuracy: f64,
    /// Answered among all.
    pub success_rate: f64,
    /// Rows that went to the fallback judge among all.
    pub fallback_rate: f64,
    /// Over 10 bins of equal width of the confidence.
    pub ece: f64,
    /// Mean of the prefix risks.
    pub aurc: f64,
    /// The thresholds of the next three lists.
    pub thresholds: Vec<f64>,
    /// Accepted at each.
    pub coverage: Vec<f64>,
    /// Wrong among the accepted at each.
    pub risk: Vec<f64>,
    /// Not accepted at each.
    pub review_rate: Vec<f64>,
    /// Interpolated median of the latency.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_ms: Option<f64>,
    /// Interpolated 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p95_ms: Option<f64>,
    /// Mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_ms: Option<f64>,
    /// Cost of the answered rows in US dollars; absent if one is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost_usd: Option<f64>,
}

/// One component by these conventions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParityComponent {
    /// Rows with a probability and a label.
    pub count: u64,
    /// Right at 0.5.
    pub accuracy: f64,
    /// Mean squared error.
    pub brier: f64,
    /// ECE of max(p, 1 - p).
    pub ece: f64,
}
