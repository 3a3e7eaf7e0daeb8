//! Diagnoses against their labels.

use std::collections::BTreeMap;

use super::measured::{Detail, binary, calibration, proportion, risk, selective, share};
use super::row::{answered, expected, is_automatic};
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::outcome::Route;
use crate::eval::rows::{Answered, End, Row};
use crate::report::model::quality::{
    BandReport, ClassReport, ConfidenceReport, Confusion, DiagnosisReport,
};
use crate::report::model::{Measure, Mode};
use crate::stats::classification::{Binary, MultiClass};
use crate::stats::selective::round_confidence;
use crate::stats::tally::{Precision, Tally};

const CLASS_COUNT: usize = Diagnosis::ALL.len();

/// Rows and the wrong ones among them.
#[derive(Debug, Clone, Copy, Default)]
struct Wrong {
    count: u64,
    wrong: u64,
}

impl Wrong {
    fn add(&mut self, is_wrong: bool) {
        self.count += 1;
        self.wrong += u64::from(is_wrong);
    }

    fn risk(self) -> Measure {
        risk(self.wrong, self.count)
    }
}

/// The counts of diagnoses in one mode.
#[derive(Default)]
pub(super) struct DiagnosisCounts {
    /// By label and given.
    counts: [[u64; CLASS_COUNT]; CLASS_COUNT],
    /// By label.
    failed: [u64; CLASS_COUNT],
    unlabelled: u64,
    confidence: Tally,
    /// The same of what was decided: never of JUDGE_UNCERTAIN.
    decided_confidence: Tally,
    without_confidence: u64,
    /// Every PASS that was given, whichever judge gave it.
    given_pass: Wrong,
    /// Every failing diagnosis that was given; wrong is a labelled PASS.
    given_failure: Wrong,
    automatic: Wrong,
    band_labelled: u64,
    band: Wrong,
}

impl DiagnosisCounts {
    /// Nothing was counted yet.
    pub(super) fn new(precision: Precision) -> Self {
        Self {
            confidence: Tally::with(precision),
            decided_confidence: Tally::with(precision),
            ..Self::default()
        }
    }

    /// Counts an assessable row.
    pub(super) fn add(&mut self, row: &Row, mode: Mode, end: &End) {
        let Some(expected) = expected(row) else {
            self.unlabelled += 1;
            return;
        };
        let route = match end {
            End::Failed { route, .. } => *route,
            End::NotAssessable { .. } => None,
            End::Answered(answered) => Some(answered.route),
        };
        let needed_fallback = matches!(route, Some(Route::Fallback | Route::FallbackUnavailable));
        self.band_labelled += u64::from(needed_fallback);
        match answered(end) {
            None => self.failed[expected.index()] += 1,
            Some(answered) => self.add_answered(expected, answered, mode),
        }
    }

    fn add_answered(&mut self, expected: Diagnosis, answered: &Answered, mode: Mode) {
        let given = answered.diagnosis;
        let is_wrong = given != expected;
        self.counts[expected.index()][given.index()] += 1;
        match answered.confidence {
            // A probability is always in the range of a tally.
            Some(confidence) => {
                let confidence = round_confidence(confidence.value());
                self.confidence.add(confidence, !is_wrong).ok();
                if given != Diagnosis::JudgeUncertain {
                    self.decided_confidence.add(confidence, !is_wrong).ok();
                }
            }
            None => self.without_confidence += 1,
        }
        if answered.route == Route::Fallback {
            self.band.add(is_wrong);
        }
        if is_automatic(answered, mode) {
            self.automatic.add(is_wrong);
        }
        if given == Diagnosis::Pass {
            self.given_pass.add(is_wrong);
        } else if given != Diagnosis::JudgeUncertain {
            self.given_failure.add(expected == Diagnosis::Pass);
        }
    }

    pub(super) const fn is_rounded(&self) -> bool {
        self.confidence.is_rounded()
    }

    pub(super) fn report(&self, detail: Detail) -> DiagnosisReport {
        let mut classes = MultiClass::new(CLASS_COUNT);
        for (actual, counts) in self.counts.iter().enumerate() {
            for (given, count) in counts.iter().enumerate() {
                classes.add(actual, given, *count);
            }
        }
        let scored = self.counts.as_flattened().iter().sum::<u64>();
        let right = (0..CLASS_COUNT)
            .map(|class| self.counts[class][class])
            .sum();
        let failed = self.failed.iter().sum::<u64>();
        DiagnosisReport {
            scored_count: scored,
            failed_count: failed,
            unlabelled_count: self.unlabelled,
            accuracy: proportion(right, scored),
            overall_accuracy: proportion(right, scored + failed),
            balanced_accuracy: Measure::of(classes.balanced_accuracy()),
            mcc: Measure::of(classes.mcc()),
            macro_f1: Measure::of(classes.macro_f1()),
            classes: match detail {
                Detail::Full => self.classes(&classes),
                Detail::Slice => BTreeMap::new(),
            },
            confusion: match detail {
                Detail::Full => self.confusion(),
                Detail::Slice => Confusion::default(),
            },
            failing: binary(&self.failing()),
            false_pass: self.given_pass.risk(),
            false_fail: self.given_failure.risk(),
            confidence: ConfidenceReport {
                scored_count: self.confidence.count(),
                without_confidence_count: self.without_confidence,
                calibration: calibration(&self.confidence, detail),
                selective: selective(
                    &self.confidence,
                    &self.decided_confidence,
                    scored + failed,
                    detail,
                ),
            },
        }
    }

    fn classes(&self, classes: &MultiClass) -> BTreeMap<Diagnosis, ClassReport> {
        self.present()
            .filter(|class| self.is_scored(*class))
            .map(|class| (class, class_report(classes, class)))
            .collect()
    }

    /// What is hard: the rows that needed the fallback judge.
    pub(super) fn band(&self) -> BandReport {
        BandReport {
            labelled_count: self.band_labelled,
            answered_count: self.band.count,
            error: self.band.risk(),
            decided_error: self.automatic.risk(),
        }
    }

    /// Finding what is not a PASS.
    pub(super) fn failing(&self) -> Binary {
        let mut failing = Binary::default();
        for expected in Diagnosis::ALL {
            for given in Diagnosis::ALL {
                if *given == Diagnosis::JudgeUncertain {
                    continue;
                }
                let count = self.counts[expected.index()][given.index()];
                match (*expected == Diagnosis::Pass, *given == Diagnosis::Pass) {
                    (false, false) => failing.true_positives += count,
                    (true, false) => failing.false_positives += count,
                    (true, true) => failing.true_negatives += count,
                    (false, true) => failing.false_negatives += count,
                }
            }
        }
        failing
    }

    /// The classes that are labelled or given.
    fn present(&self) -> impl Iterator<Item = Diagnosis> + Clone {
        let is_present =
            |class: &Diagnosis| self.is_scored(*class) || 0 < self.failed[class.index()];
        Diagnosis::ALL.iter().copied().filter(is_present)
    }

    fn is_scored(&self, class: Diagnosis) -> bool {
        let index = class.index();
        self.counts.iter().any(|row| 0 < row[index]) || self.counts[index].iter().any(|n| 0 < *n)
    }

    fn confusion(&self) -> Confusion {
        let labels: Vec<_> = self.present().collect();
        let row = |actual: &Diagnosis| {
            let given = labels.iter();
            given
                .map(|given| self.counts[actual.index()][given.index()])
                .collect()
        };
        Confusion {
            counts: labels.iter().map(row).collect(),
            failed: labels
                .iter()
                .map(|class| self.failed[class.index()])
                .collect(),
            labels,
        }
    }
}

fn class_report(classes: &MultiClass, class: Diagnosis) -> ClassReport {
    let class = classes.class(class.index());
    ClassReport {
        support: class.support,
        predicted_count: class.given,
        true_positive_count: class.right,
        precision: proportion_or(class.precision(), class.right, class.given),
        recall: proportion_or(class.recall(), class.right, class.support),
        f1: Measure::of(class.f1()),
    }
}

/// A share with its interval, absent for the reason that the statistic gives.
fn proportion_or(value: Result<f64, crate::stats::Absent>, part: u64, whole: u64) -> Measure {
    match share(part, whole) {
        Ok(_) => proportion(part, whole),
        Err(_) => Measure::of(value),
    }
}
