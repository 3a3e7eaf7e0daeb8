//! Rows files: what an evaluation wrote down about every row, without its texts.
//!
//! The first line tells what was evaluated and how, every other line is one row, in the order in which they were done.
//! A file that was cut off in its last line is read up to there. A report is made from these lines alone.

mod short;

pub mod make;
pub mod read;
pub mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::diagnosis::{Diagnosis, NotAssessableReason, Rule};
use crate::domain::dimension::Dimension;
use crate::domain::failure::{FailureReason, NotApplicableReason};
use crate::domain::judgment::JudgmentSource;
use crate::domain::outcome::{
    CalibrationState, DecisionVariant, FallbackUnavailableReason, Route, Usage,
};
use crate::domain::probability::Probability;
use crate::report::model::{DatasetInfo, JudgeInfo, Mode, PricingInfo, SnapshotInfo};

/// The version of the shape of these lines.
pub const SCHEMA_VERSION: u32 = 1;

/// The first line: what was evaluated and how. Files of one evaluation differ in `shard` alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the shape.
    pub schema_version: u32,
    /// The version of the program.
    pub program_version: String,
    /// What was evaluated.
    pub dataset: DatasetInfo,
    /// Which rows of it stand in this file.
    pub shard: Shard,
    /// The modes that were run, in order.
    pub modes: Vec<Mode>,
    /// Whether judges were asked, and not recorded answers.
    pub is_live: bool,
    /// The profile.
    pub profile: String,
    /// The policy.
    pub policy: SnapshotInfo,
    /// The policy in full, as TOML.
    pub policy_text: String,
    /// Whether the thresholds are certified.
    pub calibration_state: CalibrationState,
    /// The version of the questions.
    pub decision_version: String,
    /// The price table.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pricing: Option<PricingInfo>,
    /// Every judge that the profile binds; the models that answered stand in the rows.
    pub judges: Vec<JudgeInfo>,
    /// Whether the report has numbers by the conventions of the project that this one comes from.
    pub parity: bool,
    /// The slices of the report; rows name them by their place here.
    pub slices: Vec<String>,
    /// Slices that are left out because there are too many.
    pub slices_left_out: u64,
}

/// Every `count`th row, from row `index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// From 1 to `count`.
    pub index: u64,
    /// At least 1.
    pub count: u64,
}

impl Shard {
    /// All rows.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// Whether a row belongs to it.
    pub const fn holds(self, row: u64) -> bool {
        row % self.count == self.index - 1
    }

    /// How many of so many rows belong to it.
    pub const fn row_count(self, rows: u64) -> u64 {
        if rows < self.index {
            return 0;
        }
        1 + (rows - self.index) / self.count
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `I/N`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let parts =
            parts.and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index, count)) if 1 <= index && index <= count => Ok(Self { index, count }),
            _ => Err(format!("`{text}` is not I/N with I from 1 to N, as 2/7")),
        }
    }
}

impl Header {
    /// What two headers do not agree on, each with both values; the shard is not looked at.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let whole = |header: &Self| {
            let header = Self {
                shard: Shard::WHOLE,
                ..header.clone()
            };
            serde_json::to_value(header).unwrap_or_default()
        };
        let mut differences = Vec::new();
        compare("", &whole(self), &whole(other), &mut differences);
        differences
    }
}

/// The longest value that is told in full.
const MAX_TOLD_BYTES: usize = 100;

fn compare(path: &str, ours: &Value, theirs: &Value, differences: &mut Vec<String>) {
    if ours == theirs {
        return;
    }
    if let (Value::Array(ours), Value::Array(theirs)) = (ours, theirs)
        && ours.len() == theirs.len()
        && ours.iter().chain(theirs).all(Value::is_object)
    {
        for (place, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            compare(&format!("{path}[{place}]"), ours, theirs, differences);
        }
        return;
    }
    if let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) {
        let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
        for key in keys {
            let path = match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            let value = |of: &Map<String, Value>| of.get(key).cloned().unwrap_or_default();
            compare(&path, &value(ours), &value(theirs), differences);
        }
        return;
    }
    let told = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        value => format!("`{value}`"),
    };
    let (ours, theirs) = (told(ours), told(theirs));
    differences.push(if ours.len().max(theirs.len()) <= MAX_TOLD_BYTES {
        format!("{path}: {ours} and {theirs}")
    } else {
        format!("{path}: differs")
    });
}

/// What was found out about one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The place of the row in the dataset, from 0.
    pub index: u64,
    /// The trace.
    pub trace_id: String,
    /// Rows with the same question share it: the first 16 hexadecimal digits of its SHA-256.
    pub group: String,
    /// The slices, by their places in the header.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub slices: Vec<usize>,
    /// With or without a reference answer.
    pub variant: DecisionVariant,
    /// The ids of the chunks in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub chunk_ids: Vec<String>,
    /// What is true of it.
    #[serde(skip_serializing_if = "Labels::is_empty", default)]
    pub labels: Labels,
    /// Whether the answer abstains, which actions depend on.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub abstains: bool,
    /// What the atomic judge said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub atomic: Option<Leg>,
    /// What the fallback judge said after it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback: Option<Leg>,
    /// What the fallback judge said alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baseline: Option<Leg>,
    /// How the row came out in each mode.
    pub ends: BTreeMap<Mode, End>,
}

/// What is true of a row; an absent label is not labelled, never false.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// The diagnosis.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub diagnosis: Option<Diagnosis>,
    /// By chunk, in order; empty if none is labelled.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub chunks: Vec<Option<bool>>,
    /// By whole-trace dimension.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub whole: BTreeMap<Dimension, bool>,
}

impl Labels {
    /// Whether nothing is labelled.
    pub fn is_empty(&self) -> bool {
        self.diagnosis.is_none() && self.chunks.is_empty() && self.whole.is_empty()
    }
}

/// What was asked of the judges in one role, and what they said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leg {
    /// The judge; for a dimension that another judge answers, its cell tells.
    pub judge_id: String,
    /// What kind of numbers they are, unless a cell tells otherwise.
    pub source: Option<JudgmentSource>,
    /// By chunk, in order; absent was not asked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub chunks: Vec<Option<Cell>>,
    /// By whole-trace dimension; absent was not asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub whole: BTreeMap<Dimension, Cell>,
    /// A whole diagnosis in place of judgments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
    /// The calls.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub calls: Vec<Call>,
    /// Cost in 1e-9 US dollars; absent is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nano_usd: Option<i64>,
    /// How long it took: judges of one leg are asked at once, so the longest of the calls; a judge inside the program
    /// counts nothing.
    pub latency_us: u64,
}

/// What was said to one question. A probability that needs no more to be said about it is written as a bare number.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// P(true) of the judge and kind of the leg, on all of the text, without a veto.
    Plain(Probability),
    /// P(true).
    Judged {
        /// P(true).
        probability: Probability,
        /// The judge, if it is not that of the leg.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        judge_id: Option<String>,
        /// What kind of number it is, if not that of the leg.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        source: Option<JudgmentSource>,
        /// Share of the text that the judge saw, if not all.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        seen_fraction: Option<f64>,
        /// Whether a guard forbids a PASS.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        vetoes_pass: bool,
    },
    /// The question does not apply.
    NotApplicable {
        /// Why.
        not_applicable: NotApplicableReason,
    },
    /// The judge did not answer.
    Failed {
        /// Why.
        failed: FailureReason,
    },
}

impl Cell {
    /// The share of the text that the judge saw, if not all.
    pub const fn seen_fraction(&self) -> Option<f64> {
        match self {
            Self::Judged { seen_fraction, .. } => *seen_fraction,
            Self::Plain(_) | Self::NotApplicable { .. } | Self::Failed { .. } => None,
        }
    }

    /// P(true), if the question was answered.
    pub const fn probability(&self) -> Option<Probability> {
        match self {
            Self::Plain(probability) | Self::Judged { probability, .. } => Some(*probability),
            Self::NotApplicable { .. } | Self::Failed { .. } => None,
        }
    }
}

/// A whole diagnosis of a judge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Its confidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<Probability>,
}

/// One call to a judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The judge.
    pub judge_id: String,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// Cost in 1e-9 US dollars; absent is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nano_usd: Option<i64>,
    /// How long it took; of a recorded answer as recorded.
    pub latency_us: u64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<FailureReason>,
}

/// How a row came out in one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum End {
    /// There was no usable answer: a judge that was needed failed.
    Failed {
        /// Why.
        failed: FailureReason,
        /// The route, if the row came so far.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        route: Option<Route>,
        /// Why the fallback judge gave nothing.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        fallback_unavailable: Option<FallbackUnavailableReason>,
    },
    /// The row cannot be judged.
    NotAssessable {
        /// Why.
        not_assessable: NotAssessableReason,
    },
    /// A diagnosis.
    Answered(Answered),
}

/// A diagnosis and what it stands on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Its confidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<Probability>,
    /// How it was reached.
    pub route: Route,
    /// Why the fallback judge gave nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback_unavailable: Option<FallbackUnavailableReason>,
    /// The rule that fired.
    pub rule: Rule,
    /// The dimension that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dimension: Option<Dimension>,
    /// The probability that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<Probability>,
    /// The threshold that it met.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub threshold: Option<Probability>,
}
