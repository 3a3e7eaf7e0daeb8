//! From counts to measures: how every number of a report is made, and with which interval.
//!
//! Shares of rows have Wilson intervals; risks have exact (Clopper-Pearson) ones.

use crate::report::model::Measure;
use crate::report::model::quality::{
    Bin, BinaryReport, Calibration, CurvePoint, Selective, SelectivePoint,
};
use crate::stats::classification::Binary;
use crate::stats::tally::Tally;
use crate::stats::{Absent, calibration, interval, selective};

/// Bins of every reliability table.
pub(in crate::eval) const BIN_COUNT: u32 = 10;
/// Where log loss is clipped.
pub(super) const LOG_LOSS_EPSILON: f64 = 1e-15;
/// The level of every interval.
pub(in crate::eval) const LEVEL: f64 = 0.95;
/// Where a probability alone counts as true.
pub(super) const DECISION_THRESHOLD: f64 = 0.5;
/// Resamples of the paired bootstrap.
pub(super) const BOOTSTRAP_REPLICATES: u32 = 2000;
/// Draws for the noise floor of ECE.
pub(in crate::eval) const NOISE_FLOOR_DRAWS: u32 = 1000;
/// The seed of every generator.
pub(in crate::eval) const SEED: u64 = 20_240_229;
/// Confidences whose coverage and risk are listed.
const THRESHOLDS: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0];
/// The most points that a curve is written with.
const MAX_CURVE_POINTS: usize = 200;
/// The least rows of a bin that `mce_of_ten` looks at.
const TEN: u64 = 10;

/// How much of the numbers is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Everything.
    Full,
    /// Without tables, curves and the noise floor, and of a component the counts and three numbers alone.
    Slice,
}

/// The share of `part` in `whole`.
pub(in crate::eval) fn share(part: u64, whole: u64) -> Result<f64, Absent> {
    if whole == 0 {
        Err(Absent::Empty)
    } else {
        Ok(part as f64 / whole as f64)
    }
}

/// A share of rows.
pub(in crate::eval) fn proportion(part: u64, whole: u64) -> Measure {
    Measure::of(share(part, whole)).within(interval::wilson(part, whole, LEVEL).ok())
}

/// A share of wrong ones.
pub(super) fn risk(wrong: u64, whole: u64) -> Measure {
    Measure::of(share(wrong, whole)).within(interval::clopper_pearson(wrong, whole, LEVEL).ok())
}

/// A yes/no classification with its interval of accuracy.
pub(super) fn binary(counts: &Binary) -> BinaryReport {
    let right = counts.true_positives + counts.true_negatives;
    BinaryReport {
        true_positive_count: counts.true_positives,
        false_positive_count: counts.false_positives,
        true_negative_count: counts.true_negatives,
        false_negative_count: counts.false_negatives,
        accuracy: proportion(right, counts.count()),
        balanced_accuracy: Measure::of(counts.balanced_accuracy()),
        precision: Measure::of(counts.precision()),
        recall: Measure::of(counts.recall()),
        f1: Measure::of(counts.f1()),
        mcc: Measure::of(counts.mcc()),
    }
}

/// Whether the values mean what they say.
pub(super) fn calibration(tally: &Tally, detail: Detail) -> Calibration {
    let bins = BIN_COUNT as usize;
    let noise_floor = match detail {
        Detail::Full => Some(Measure::of(calibration::ece_noise_floor(
            tally,
            bins,
            NOISE_FLOOR_DRAWS,
            SEED,
        ))),
        Detail::Slice => None,
    };
    Calibration {
        ece: Measure::of(calibration::ece(tally, bins)),
        ece_equal_mass: Measure::of(calibration::ece_equal_mass(tally, bins)),
        ece_noise_floor: noise_floor,
        mce: Measure::of(calibration::mce(tally, bins, 1)),
        mce_of_ten: Measure::of(calibration::mce(tally, bins, TEN)),
        rmsce: Measure::of(calibration::rmsce(tally, bins)),
        reliability: match detail {
            Detail::Full => reliability(tally, bins),
            Detail::Slice => Vec::new(),
        },
    }
}

fn reliability(tally: &Tally, bins: usize) -> Vec<Bin> {
    let bins = calibration::bins(tally, bins).into_iter().map(|bin| {
        let count = bin.negatives + bin.positives;
        Bin {
            low: bin.low,
            high: bin.high,
            count,
            mean: Measure::of(bin.mean),
            rate: proportion(bin.positives, count),
        }
    });
    bins.collect()
}

/// What may be accepted at which risk, of so many rows; positive is right, and only what is decided is ever accepted.
pub(super) fn selective(
    tally: &Tally,
    decided: &Tally,
    row_count: u64,
    detail: Detail,
) -> Selective {
    let point = |threshold| {
        let accepted = selective::accepted(decided, threshold);
        SelectivePoint {
            threshold,
            accepted_count: accepted.count,
            wrong_count: accepted.wrong,
            coverage: proportion(accepted.count, row_count),
            risk: risk(accepted.wrong, accepted.count),
        }
    };
    let (thresholds, curve) = match detail {
        Detail::Full => (THRESHOLDS.map(point).to_vec(), curve(decided, row_count)),
        Detail::Slice => (Vec::new(), Vec::new()),
    };
    Selective {
        aurc: Measure::of(selective::aurc(tally)),
        e_aurc: Measure::of(selective::e_aurc(tally)),
        augrc: Measure::of(selective::augrc(tally)),
        row_count,
        thresholds,
        curve,
    }
}

/// The curve with its last point, and of the others every so manieth.
fn curve(decided: &Tally, row_count: u64) -> Vec<CurvePoint> {
    let points = selective::curve(decided);
    // Back to rows: a share of a whole number of rows is within half a row of it.
    let rows = |coverage: f64| (coverage * decided.count() as f64).round();
    let step = points.len().div_ceil(MAX_CURVE_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points
        .into_iter()
        .enumerate()
        .filter(|(place, _)| place % step == 0 || *place == last)
        .map(|(_, point)| CurvePoint {
            confidence: point.confidence,
            coverage: rows(point.coverage) / row_count as f64,
            risk: point.risk,
        })
        .collect()
}
