//! What two policies make of the same rows, as it is told.
//!
//! This is the shape of `policy diff --json`; a number that is not known is absent, never zero.

use std::collections::BTreeMap;

use serde::Serialize;

use super::decide::Served;
use crate::domain::diagnosis::{Action, Diagnosis};
use crate::domain::dimension::Dimension;
use crate::domain::outcome::Route;
use crate::domain::vocabulary;
use crate::report::model::{Measure, SnapshotInfo};

/// The version of the shape.
pub const SCHEMA_VERSION: u32 = 1;

vocabulary! {
    /// What kind of rows a file holds.
    "kind of rows"
    pub enum Kind {
        /// Rows of `diagnose`.
        Verdicts = "verdict_rows",
        /// A rows file of an evaluation.
        Rows = "evaluated_rows",
        /// Recorded answers of judges.
        Replay = "replay_rows",
    }
}

vocabulary! {
    /// Why a row cannot be decided again.
    "reason why a row cannot be decided again"
    pub enum NotDecided {
        /// The atomic judge has not answered.
        NoAtomicAnswers = "no_atomic_answers",
        /// The atomic judge failed as a whole, and that ended it before a policy was heeded.
        AtomicFailed = "atomic_failed",
        /// It belongs to a judge that is in neither role.
        OtherJudge = "other_judge",
    }
}

/// What two policies make of the same recorded rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The version of the shape.
    pub schema_version: u32,
    /// What was read.
    pub kind: Kind,
    /// Traces that were decided under both policies.
    pub row_count: u64,
    /// Of these, traces that cannot be judged; they are in no rate.
    pub not_assessable_count: u64,
    /// Rows that were not, by reason.
    pub not_decided: BTreeMap<NotDecided, u64>,
    /// Whether a last line that was cut off was left out.
    pub has_cut_off_line: bool,
    /// Traces that the dataset does not have, where one was given.
    pub not_in_data_count: u64,
    /// Traces whose diagnosis differs.
    pub changed_count: u64,
    /// The first policy.
    pub before: Side,
    /// The second policy.
    pub after: Side,
    /// Traces by both diagnoses, those that differ and those that do not.
    pub diagnoses: Vec<Crossed>,
    /// Traces whose diagnosis differs, with examples.
    pub flips: Vec<Flip>,
    /// Traces by both actions, those that differ and those that do not.
    pub actions: Vec<CrossedAction>,
    /// Traces of which it is not known whether the answer abstains; their actions are those of an answer that does not.
    pub abstention_unknown_count: u64,
    /// Changes against the labels; absent if no trace is labelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<LabelChange>,
}

/// What one policy makes of the rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// The policy.
    pub policy: SnapshotInfo,
    /// Traces by route.
    pub routes: BTreeMap<Route, u64>,
    /// Share of the assessable traces that need the fallback judge.
    pub fallback_rate: Measure,
    /// Assessable traces by where the answers of the fallback judge come from.
    pub served: BTreeMap<Served, u64>,
    /// Traces with a dimension that this policy wants and that was never asked, by dimension.
    pub never_asked: BTreeMap<Dimension, u64>,
    /// What the calls cost that this policy needs.
    pub cost: CostSum,
    /// Agreement with what was decided when the rows were recorded; absent where that is not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_recorded: Option<AsRecorded>,
    /// Against the labels; absent if no trace is labelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<Quality>,
}

/// Money over all traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CostSum {
    /// All of it; absent if that of one trace is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nano_usd: Option<i64>,
    /// That of the traces whose cost is known.
    pub known_nano_usd: i64,
    /// Traces whose cost is not known.
    pub unknown_count: u64,
}

/// Agreement with a recorded decision in diagnosis, confidence, route and rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AsRecorded {
    /// Traces with a recorded decision.
    pub recorded_count: u64,
    /// Of these, traces that are decided in the very same way.
    pub same_count: u64,
}

/// Decisions against labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quality {
    /// Assessable traces with a label.
    pub labelled_count: u64,
    /// Right among these.
    pub accuracy: Measure,
    /// Of these, decided without the fallback judge.
    pub automatic_count: u64,
    /// Wrong among the automatic decisions.
    pub automatic_risk: Measure,
    /// Wrong among the automatic PASS.
    pub false_pass: Measure,
    /// Labelled PASS among the automatic failures.
    pub false_fail: Measure,
}

/// Changes against the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LabelChange {
    /// Right only under the second policy.
    pub mended_count: u64,
    /// Right only under the first policy.
    pub broken_count: u64,
}

/// Traces with these two diagnoses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Crossed {
    /// Under the first policy.
    pub before: Diagnosis,
    /// Under the second policy.
    pub after: Diagnosis,
    /// Traces.
    pub count: u64,
}

/// Traces whose diagnosis changes in this way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flip {
    /// Under the first policy.
    pub before: Diagnosis,
    /// Under the second policy.
    pub after: Diagnosis,
    /// Traces.
    pub count: u64,
    /// The first of them: by place in the dataset where the file tells it, else by trace id.
    pub examples: Vec<String>,
}

/// Traces with these two actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CrossedAction {
    /// Under the first policy.
    pub before: Action,
    /// Under the second policy.
    pub after: Action,
    /// Traces.
    pub count: u64,
}
