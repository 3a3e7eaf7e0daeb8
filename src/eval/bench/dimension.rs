//! One dimension against its labels.
//!
//! Rows that share their context are one group, and a group lies in one of two halves by its digest. A threshold is
//! chosen on one half and tried on the other, both ways, so that no row has a say in the threshold that it is held against.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::dimension::Polarity;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::Judgment;
use crate::eval::summary::measured::{BIN_COUNT, LEVEL, NOISE_FLOOR_DRAWS, SEED, proportion};
use crate::report::bench::{BenchCoverage, BenchDimension, BenchSide};
use crate::report::model::Measure;
use crate::stats::classification::{Binary, best_threshold};
use crate::stats::risk_control::{Side, Target, fixed_sequence, hundredths, minimum_accepted};
use crate::stats::tally::Tally;
use crate::stats::{Absent, calibration, interval, ranking};

/// The errors that a side may have at most.
const ERRORS: [f64; 2] = [0.05, 0.10];

/// The counts.
#[derive(Debug, Default)]
pub(super) struct DimensionCounts {
    whole: Tally,
    halves: [Tally; 2],
    groups: BTreeSet<[u8; 32]>,
    failures: BTreeMap<FailureReason, u64>,
    not_applicable: u64,
}

impl DimensionCounts {
    /// Counts a labelled question.
    pub(super) fn add(&mut self, judgment: &Judgment, label: bool, group: [u8; 32]) {
        match judgment {
            Judgment::Judged(judged) => {
                let value = judged.probability.value();
                let half = usize::from(group[0] & 1);
                for tally in [&mut self.whole, &mut self.halves[half]] {
                    // A probability is always in the range of a tally.
                    tally.add(value, label).ok();
                }
                self.groups.insert(group);
            }
            Judgment::NotApplicable(_) => self.not_applicable += 1,
            Judgment::Failed(failure) => self.failed(failure.reason),
        }
    }

    /// Counts a labelled question without a probability.
    pub(super) fn failed(&mut self, reason: FailureReason) {
        *self.failures.entry(reason).or_default() += 1;
    }

    fn failed_count(&self) -> u64 {
        self.failures.values().sum()
    }

    fn labelled_count(&self) -> u64 {
        self.whole.count() + self.failed_count() + self.not_applicable
    }

    /// Whether nothing is labelled.
    pub(super) fn is_empty(&self) -> bool {
        self.labelled_count() == 0
    }

    /// The numbers of a dimension of that polarity.
    pub(super) fn report(&self, polarity: Polarity) -> BenchDimension {
        let (tally, bins) = (&self.whole, BIN_COUNT as usize);
        let floor = calibration::ece_equal_mass_noise_floor(tally, bins, NOISE_FLOOR_DRAWS, SEED);
        BenchDimension {
            labelled_count: self.labelled_count(),
            judged_count: tally.count(),
            failed_count: self.failed_count(),
            failures: self.failures.clone(),
            not_applicable_count: self.not_applicable,
            positive_count: tally.positive_count(),
            prevalence: proportion(tally.positive_count(), tally.count()),
            auroc: Measure::of(ranking::auroc(tally))
                .within(ranking::auroc_interval(tally, LEVEL).ok()),
            balanced_accuracy: Measure::of(self.balanced_accuracy()),
            group_count: self.groups.len() as u64,
            brier: Measure::of(calibration::brier(tally))
                .within(calibration::brier_interval(tally, LEVEL).ok()),
            ece: Measure::of(calibration::ece_equal_mass(tally, bins)),
            ece_noise_floor: Measure::of(floor),
            automatic: ERRORS
                .iter()
                .map(|&error| BenchCoverage {
                    error,
                    pass: self.side(polarity, error, true),
                    fail: self.side(polarity, error, false),
                })
                .collect(),
        }
    }

    /// Each half with the threshold of the other.
    fn balanced_accuracy(&self) -> Result<f64, Absent> {
        let [one, other] = &self.halves;
        let tried = Binary::at(one, best_threshold(other)?);
        let other = Binary::at(other, best_threshold(one)?);
        tried.plus(other).balanced_accuracy()
    }

    /// What a threshold decides at the good or at the bad end.
    fn side(&self, polarity: Polarity, error: f64, is_good: bool) -> BenchSide {
        let is_high = is_good == (polarity == Polarity::GoodWhenTrue);
        let side = if is_high { Side::Pass } else { Side::Fail };
        let selected = Target::new(error, 1.0 - LEVEL).ok().and_then(|target| {
            let minimum = minimum_accepted(target, 0);
            fixed_sequence(&self.whole, side, target, minimum, &hundredths()).selected
        });
        let (decided, wrong) = selected.map_or((0, 0), |at| (at.row_count, at.error_count));
        BenchSide {
            threshold: selected.map(|at| at.threshold),
            decided_count: decided,
            wrong_count: wrong,
            share: proportion(decided, self.whole.count() + self.failed_count()),
            error_bound: Measure::of(interval::clopper_pearson_upper(wrong, decided, 1.0 - LEVEL)),
        }
    }
}
