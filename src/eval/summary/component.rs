//! One dimension against its labels.

use std::collections::BTreeMap;

use super::measured::{
    BIN_COUNT, DECISION_THRESHOLD, Detail, LEVEL, LOG_LOSS_EPSILON, binary, calibration,
    proportion, risk, selective,
};
use super::row::{Pairs, Standing};
use crate::domain::failure::FailureReason;
use crate::eval::rows::Cell;
use crate::policy::band::Band;
use crate::policy::thresholds::Thresholds;
use crate::report::model::Measure;
use crate::report::model::quality::{
    BinaryReport, Calibration, ComponentReport, Murphy, Selective, Sides, TwoSided,
};
use crate::stats::classification::Binary;
use crate::stats::tally::{Precision, Tally};
use crate::stats::{calibration as calibrated, ranking, selective as accepted};

/// The counts of one dimension.
#[derive(Default)]
pub(super) struct ComponentCounts {
    tally: Tally,
    not_applicable: u64,
    failures: BTreeMap<FailureReason, u64>,
    unlabelled: u64,
    /// Judged true by the policy, by label.
    positive: [u64; 2],
    /// Judged false by the policy, by label.
    negative: [u64; 2],
    /// In the band of the policy.
    uncertain: u64,
}

impl ComponentCounts {
    /// Nothing was counted yet.
    pub(super) fn new(precision: Precision) -> Self {
        Self {
            tally: Tally::with(precision),
            ..Self::default()
        }
    }

    /// Counts a question of an assessable row; `lost` is why no judge could be asked.
    pub(super) fn add(
        &mut self,
        standing: &Standing<'_>,
        lost: Option<FailureReason>,
        pairs: &Pairs,
    ) {
        let Some(label) = standing.label else {
            let is_asked = match standing.cell {
                Some(Cell::Plain(_) | Cell::Judged { .. } | Cell::Failed { .. }) => true,
                Some(Cell::NotApplicable { .. }) | None => false,
            };
            self.unlabelled += u64::from(is_asked);
            return;
        };
        let probability = match standing.cell {
            Some(Cell::Failed { failed }) => {
                *self.failures.entry(*failed).or_default() += 1;
                return;
            }
            None | Some(Cell::NotApplicable { .. }) => {
                match lost.filter(|_| standing.cell.is_none()) {
                    Some(reason) => *self.failures.entry(reason).or_default() += 1,
                    None => self.not_applicable += 1,
                }
                return;
            }
            Some(Cell::Plain(probability) | Cell::Judged { probability, .. }) => *probability,
        };
        // A probability is always in the range of a tally.
        self.tally.add(probability.value(), label).ok();
        let pair = pairs.get(standing.dimension, standing.role, standing.judge);
        match pair.map(|pair| pair.band(probability)) {
            Some(Band::Positive) => self.positive[usize::from(label)] += 1,
            Some(Band::Negative) => self.negative[usize::from(label)] += 1,
            Some(Band::Uncertain) => self.uncertain += 1,
            None => (),
        }
    }

    fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Whether anything was counted.
    pub(super) fn is_empty(&self) -> bool {
        self.tally.count() + self.not_applicable + self.failed() + self.unlabelled == 0
    }

    /// Whether a probability was labelled or not.
    pub(super) const fn is_rounded(&self) -> bool {
        self.tally.is_rounded()
    }

    pub(super) fn report(&self, pair: Option<Thresholds>, detail: Detail) -> ComponentReport {
        let tally = &self.tally;
        let scored = tally.count();
        let decided = Binary::at(tally, DECISION_THRESHOLD);
        let right = decided.true_positives + decided.true_negatives;
        let few = ComponentReport {
            scored_count: scored,
            not_applicable_count: self.not_applicable,
            failed_count: self.failed(),
            failures: self.failures.clone(),
            unlabelled_count: self.unlabelled,
            positive_count: tally.positive_count(),
            decided: BinaryReport::default(),
            overall_accuracy: proportion(right, scored + self.failed()),
            brier: Measure::of(calibrated::brier(tally))
                .within(calibrated::brier_interval(tally, LEVEL).ok()),
            murphy: None,
            log_loss: Measure::default(),
            auroc: Measure::of(ranking::auroc(tally))
                .within(ranking::auroc_interval(tally, LEVEL).ok()),
            average_precision: Measure::default(),
            calibration: Calibration::default(),
            confidence_ece: Measure::default(),
            selective: Selective::default(),
            at_policy: None,
            sides: None,
        };
        match detail {
            Detail::Full => self.with_all(few, &decided, pair),
            Detail::Slice => few,
        }
    }

    /// What only the results over all rows have.
    fn with_all(
        &self,
        few: ComponentReport,
        decided: &Binary,
        pair: Option<Thresholds>,
    ) -> ComponentReport {
        let tally = &self.tally;
        let confidence = calibrated::confidence(tally);
        ComponentReport {
            decided: binary(decided),
            murphy: murphy(tally),
            log_loss: Measure::of(calibrated::log_loss(tally, LOG_LOSS_EPSILON)),
            average_precision: Measure::of(ranking::average_precision(tally)),
            calibration: calibration(tally, Detail::Full),
            confidence_ece: Measure::of(calibrated::ece(&confidence, BIN_COUNT as usize)),
            selective: selective(&confidence, &confidence, tally.count(), Detail::Full),
            at_policy: pair.map(|pair| self.at_policy(pair)),
            sides: Some(sides(tally)),
            ..few
        }
    }

    fn at_policy(&self, pair: Thresholds) -> TwoSided {
        let (positive, negative) = (
            self.positive.iter().sum::<u64>(),
            self.negative.iter().sum::<u64>(),
        );
        let (positive_wrong, negative_wrong) = (self.positive[0], self.negative[1]);
        let decided = positive + negative;
        TwoSided {
            fail_at: pair.fail_at().value(),
            pass_at: pair.pass_at().value(),
            positive_count: positive,
            positive_wrong_count: positive_wrong,
            negative_count: negative,
            negative_wrong_count: negative_wrong,
            uncertain_count: self.uncertain,
            coverage: proportion(decided, decided + self.uncertain),
            risk: risk(positive_wrong + negative_wrong, decided),
            positive_risk: risk(positive_wrong, positive),
            negative_risk: risk(negative_wrong, negative),
        }
    }
}

fn murphy(tally: &Tally) -> Option<Murphy> {
    let parts = calibrated::murphy(tally, BIN_COUNT as usize).ok()?;
    Some(Murphy {
        reliability: parts.reliability,
        resolution: parts.resolution,
        uncertainty: parts.uncertainty,
        within_bin_variance: parts.within_bin_variance,
        within_bin_covariance: parts.within_bin_covariance,
    })
}

fn sides(tally: &Tally) -> Sides {
    let sides = accepted::sides(tally);
    Sides {
        at_or_above: sides.at_or_above,
        at_or_above_wrong: sides.at_or_above_wrong,
        at_or_below: sides.at_or_below,
        at_or_below_wrong: sides.at_or_below_wrong,
    }
}
