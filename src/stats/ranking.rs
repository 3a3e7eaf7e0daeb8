//! How well values put positive rows above negative ones.
//!
//! Only the order of the values counts; equal values count half.

use super::tally::Tally;
use super::{Absent, interval};

/// Area under the ROC curve, the statistic of Mann and Whitney (1947): the chance that a positive row has a higher value
/// than a negative one, ties half.
pub fn auroc(tally: &Tally) -> Result<f64, Absent> {
    let (positives, negatives) = classes(tally)?;
    let (mut below, mut twice) = (0_u64, 0_u128);
    for cell in tally.cells() {
        twice += u128::from(cell.positives) * u128::from(2 * below + cell.negatives);
        below += cell.negatives;
    }
    Ok(twice as f64 / (2 * u128::from(positives) * u128::from(negatives)) as f64)
}

/// The interval of DeLong, DeLong and Clarke-Pearson (1988): AUROC -+ z sqrt(s10/n1 + s01/n0), cut to 0..1, with the
/// sample variances of the share of negatives below each positive and of positives above each negative.
///
/// Of a perfect order both variances are 0 and the interval is a point, however few the rows are.
pub fn auroc_interval(tally: &Tally, level: f64) -> Result<(f64, f64), Absent> {
    let (positives, negatives) = classes(tally)?;
    let area = auroc(tally)?;
    let z = interval::normal_quantile(level)?;
    if positives < 2 || negatives < 2 {
        return Err(Absent::ZeroDenominator);
    }
    let (n1, n0) = (positives as f64, negatives as f64);
    let (mut negatives_below, mut positives_below) = (0_u64, 0_u64);
    let (mut s10, mut s01) = (0.0, 0.0);
    for cell in tally.cells() {
        let below = (2 * negatives_below + cell.negatives) as f64 / (2.0 * n0);
        let not_above = (2 * positives_below + cell.positives) as f64 / (2.0 * n1);
        s10 += cell.positives as f64 * (below - area).powi(2);
        s01 += cell.negatives as f64 * (1.0 - not_above - area).powi(2);
        negatives_below += cell.negatives;
        positives_below += cell.positives;
    }
    let half = z * (s10 / (n1 - 1.0) / n1 + s01 / (n0 - 1.0) / n0).sqrt();
    Ok(((area - half).max(0.0), (area + half).min(1.0)))
}

/// Average precision: sum (R_k - R_(k-1)) P_k over the distinct values from the highest, not the trapezoid, which is too
/// high (Davis and Goadrich 2006).
pub fn average_precision(tally: &Tally) -> Result<f64, Absent> {
    if tally.count() == 0 {
        return Err(Absent::Empty);
    }
    if tally.positive_count() == 0 {
        return Err(Absent::NoPositives);
    }
    let (mut positives, mut rows, mut sum) = (0_u64, 0_u64, 0.0);
    for cell in tally.cells().rev() {
        positives += cell.positives;
        rows += cell.count();
        sum += cell.positives as f64 * (positives as f64 / rows as f64);
    }
    Ok(sum / tally.positive_count() as f64)
}

/// Positive and negative rows, if there are both.
fn classes(tally: &Tally) -> Result<(u64, u64), Absent> {
    match (tally.positive_count(), tally.negative_count()) {
        (0, 0) => Err(Absent::Empty),
        (0, _) | (_, 0) => Err(Absent::SingleClass),
        both => Ok(both),
    }
}
