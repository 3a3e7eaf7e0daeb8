//! What a policy decides, and whether labels say that it is wrong.
//!
//! A PASS is wrong if groundedness, sufficiency or a dimension that it covers is labelled bad. A failing diagnosis is
//! wrong if what it finds missing or broken is labelled good. Where no such label stands, a decision is counted and not
//! checked.

use std::collections::BTreeMap;

use crate::domain::diagnosis::{Diagnosis, Ruling};
use crate::domain::dimension::{Dimension, DimensionSet, Polarity};
use crate::domain::judgment::Judgments;
use crate::eval::rows::Labels;
use crate::eval::summary::measured::{LEVEL, proportion, share};
use crate::report::bench::{BenchPolicy, BenchRisk};
use crate::report::model::Measure;
use crate::stats::interval;

/// The counts.
#[derive(Debug, Default)]
pub(super) struct DecisionCounts {
    rows: u64,
    unanswered: u64,
    pass: Decided,
    pass_by_label: BTreeMap<Dimension, Decided>,
    fails: BTreeMap<Diagnosis, Decided>,
}

/// Decisions of one kind.
#[derive(Debug, Clone, Copy, Default)]
struct Decided {
    count: u64,
    checked: u64,
    wrong: u64,
}

impl Decided {
    /// Counts a decision; `None` if no label tells.
    fn add(&mut self, is_wrong: Option<bool>) {
        self.count += 1;
        self.checked += u64::from(is_wrong.is_some());
        self.wrong += u64::from(is_wrong == Some(true));
    }

    fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            checked: self.checked + other.checked,
            wrong: self.wrong + other.wrong,
        }
    }

    fn report(self) -> BenchRisk {
        let bound = interval::clopper_pearson_upper(self.wrong, self.checked, 1.0 - LEVEL);
        BenchRisk {
            count: self.count,
            checked_count: self.checked,
            wrong_count: self.wrong,
            error: Measure::of(share(self.wrong, self.checked)),
            error_bound: Measure::of(bound),
        }
    }
}

impl DecisionCounts {
    /// Counts a row about which the judge answered nothing, which decides nothing.
    pub(super) const fn unanswered(&mut self) {
        self.rows += 1;
        self.unanswered += 1;
    }

    /// Counts a row.
    pub(super) fn add(&mut self, ruling: &Ruling, labels: &Labels, judgments: &Judgments) {
        self.rows += 1;
        let is_answered = judgments
            .iter()
            .any(|(_, judgment)| judgment.judged().is_some());
        self.unanswered += u64::from(!is_answered);
        match ruling.diagnosis {
            Diagnosis::Pass => self.pass(ruling.pass_covers, labels),
            Diagnosis::JudgeUncertain | Diagnosis::NotAssessable => (),
            failing @ (Diagnosis::RetrievalMiss
            | Diagnosis::RetrievalInsufficient
            | Diagnosis::ConflictingEvidence
            | Diagnosis::AnswerIrrelevant
            | Diagnosis::GeneratorUngrounded
            | Diagnosis::AnswerIncorrect) => {
                let is_wrong = is_good(failing, labels);
                self.fails.entry(failing).or_default().add(is_wrong);
            }
        }
    }

    fn pass(&mut self, covers: DimensionSet, labels: &Labels) {
        let mut speaks = covers;
        speaks.insert(Dimension::Groundedness);
        speaks.insert(Dimension::ContextSufficiency);
        let mut any_is_bad = None;
        for dimension in speaks.iter() {
            let is_bad = label(dimension, labels).map(|label| !label);
            if is_bad.is_some() {
                self.pass_by_label.entry(dimension).or_default().add(is_bad);
                any_is_bad = any_is_bad.max(is_bad);
            }
        }
        self.pass.add(any_is_bad);
    }

    /// Rows about which something was answered, or for which the structure of the trace was enough.
    pub(super) const fn answered_count(&self) -> u64 {
        self.rows - self.unanswered
    }

    pub(super) fn report(&self) -> BenchPolicy {
        let fail = self.fails.values().copied();
        let fail = fail.fold(Decided::default(), Decided::plus);
        let decided = self.pass.count + fail.count;
        BenchPolicy {
            row_count: self.rows,
            unanswered_count: self.unanswered,
            decided_count: decided,
            decided: proportion(decided, self.rows),
            pass: self.pass.report(),
            pass_by_label: reports(&self.pass_by_label),
            fail: fail.report(),
            fail_by_diagnosis: reports(&self.fails),
        }
    }
}

fn reports<K: Ord + Copy>(decided: &BTreeMap<K, Decided>) -> BTreeMap<K, BenchRisk> {
    let reports = decided.iter();
    reports
        .map(|(kind, decided)| (*kind, decided.report()))
        .collect()
}

/// Whether what a failing diagnosis is about is labelled good; then the diagnosis is wrong.
fn is_good(failing: Diagnosis, labels: &Labels) -> Option<bool> {
    match failing {
        // A context that suffices, or that supports the answer, was not missed.
        Diagnosis::RetrievalMiss => [
            label(Dimension::ChunkRelevance, labels),
            label(Dimension::ContextSufficiency, labels),
            label(Dimension::Groundedness, labels),
        ]
        .into_iter()
        .max()
        .flatten(),
        Diagnosis::RetrievalInsufficient => label(Dimension::ContextSufficiency, labels),
        Diagnosis::ConflictingEvidence => label(Dimension::ContextConflict, labels),
        Diagnosis::AnswerIrrelevant => label(Dimension::AnswerRelevance, labels),
        Diagnosis::GeneratorUngrounded => label(Dimension::Groundedness, labels),
        Diagnosis::AnswerIncorrect => label(Dimension::Correctness, labels),
        Diagnosis::Pass | Diagnosis::JudgeUncertain | Diagnosis::NotAssessable => None,
    }
}

/// Whether a dimension is labelled good; of chunks, whether one is relevant, and without one only if all are labelled.
fn label(dimension: Dimension, labels: &Labels) -> Option<bool> {
    if dimension == Dimension::ChunkRelevance {
        let any = labels.chunks.contains(&Some(true));
        let all = !labels.chunks.is_empty() && labels.chunks.iter().all(Option::is_some);
        return (any || all).then_some(any);
    }
    let is_true = labels.whole.get(&dimension).copied()?;
    Some(is_true == (dimension.polarity() == Polarity::GoodWhenTrue))
}
