//! The rows and judgments that are confident and wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Mode;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::Dimension;

/// A row that was decided without the fallback judge, and wrongly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrongDiagnosis {
    /// The place of the row in the dataset, from 0; texts for people count rows from 1, as lines.
    pub index: u64,
    /// The trace.
    pub trace_id: String,
    /// The mode.
    pub mode: Mode,
    /// What it was given.
    pub given: Diagnosis,
    /// What it is.
    pub expected: Diagnosis,
    /// The confidence of what it was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<f64>,
    /// The rule that fired.
    pub rule: String,
    /// The dimension that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dimension: Option<Dimension>,
    /// The probability that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<f64>,
    /// The threshold that it met.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub threshold: Option<f64>,
    /// Every probability of the row.
    pub judgments: Vec<JudgmentInfo>,
}

/// One probability and its label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgmentInfo {
    /// The dimension.
    pub dimension: Dimension,
    /// The chunk, for chunk relevance.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chunk_id: Option<String>,
    /// P(true).
    pub probability: f64,
    /// What is true, if that is labelled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<bool>,
}

/// A judgment of a first judge that is on the wrong side of both thresholds' band.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrongJudgment {
    /// The place of the row in the dataset, from 0; texts for people count rows from 1, as lines.
    pub index: u64,
    /// The trace.
    pub trace_id: String,
    /// The mode.
    pub mode: Mode,
    /// The chunk, for chunk relevance.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chunk_id: Option<String>,
    /// P(true).
    pub probability: f64,
    /// What is true.
    pub label: bool,
}
