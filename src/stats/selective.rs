//! What may be accepted at which risk, by a threshold on a confidence.
//!
//! A tally here counts confidences; positive is right, negative is wrong. Confidences are compared after rounding to 12
//! decimals: 1 - p and the confidence of the mirrored row differ in their last bits and are the same.

use super::Absent;
use super::tally::{Cell, Tally};

/// One point of a risk-coverage curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The confidence.
    pub confidence: f64,
    /// Share that is at least as confident.
    pub coverage: f64,
    /// Share of wrong ones among them.
    pub risk: f64,
}

/// What one threshold accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accepted {
    /// Accepted rows.
    pub count: u64,
    /// Wrong ones among them.
    pub wrong: u64,
}

/// What every threshold j / 100 on a probability decides, j from 0 to 100, closed on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sides {
    /// How many lie at or above.
    pub at_or_above: Vec<u64>,
    /// Negative ones among them.
    pub at_or_above_wrong: Vec<u64>,
    /// How many lie at or below.
    pub at_or_below: Vec<u64>,
    /// Positive ones among them.
    pub at_or_below_wrong: Vec<u64>,
}

/// A confidence to 12 decimals.
pub fn round_confidence(confidence: f64) -> f64 {
    (confidence * 1e12).round() / 1e12
}

/// Area under the risk-coverage curve (Geifman, Uziel, El-Yaniv 2019): the mean risk of all prefixes, expected over the
/// order of ties. A tie of k rows with e wrong after k0 rows with e0 wrong adds sum_j (e0 + e j/k) / (k0 + j).
pub fn aurc(tally: &Tally) -> Result<f64, Absent> {
    let (mut rows, mut wrong, mut sum) = (0_u64, 0_u64, 0.0);
    for Cell {
        negatives,
        positives,
        ..
    } in tied(tally)
    {
        let count = negatives + positives;
        for member in 1..=count {
            let expected = (negatives * member) as f64 / count as f64;
            sum += (wrong as f64 + expected) / (rows + member) as f64;
        }
        rows += count;
        wrong += negatives;
    }
    mean(sum, rows)
}

/// The AURC of a perfect order of so many right and wrong rows: the mean of max(0, i - right) / i.
pub fn optimal_aurc(tally: &Tally) -> Result<f64, Absent> {
    let right = tally.positive_count();
    let sum = (1..=tally.negative_count())
        .map(|wrong| wrong as f64 / (right + wrong) as f64)
        .fold(0.0, |sum, risk| sum + risk);
    mean(sum, tally.count())
}

/// AURC less that of a perfect order.
pub fn e_aurc(tally: &Tally) -> Result<f64, Absent> {
    Ok(aurc(tally)? - optimal_aurc(tally)?)
}

/// Area under the generalised risk-coverage curve (Traub et al. 2024): wrong accepted rows over all rows by coverage,
/// trapezoids over the distinct confidences from (0, 0); from 0 to 0.5.
pub fn augrc(tally: &Tally) -> Result<f64, Absent> {
    let (mut wrong, mut twice) = (0_u64, 0_u128);
    for cell in tied(tally) {
        twice += u128::from(cell.count()) * u128::from(2 * wrong + cell.negatives);
        wrong += cell.negatives;
    }
    let rows = u128::from(tally.count());
    if rows == 0 {
        return Err(Absent::Empty);
    }
    Ok(twice as f64 / (2 * rows * rows) as f64)
}

/// The risk-coverage curve, one point a confidence, from the surest.
pub fn curve(tally: &Tally) -> Vec<Point> {
    let total = tally.count() as f64;
    let (mut rows, mut wrong) = (0_u64, 0_u64);
    tied(tally)
        .map(|cell| {
            rows += cell.count();
            wrong += cell.negatives;
            Point {
                confidence: cell.value,
                coverage: rows as f64 / total,
                risk: wrong as f64 / rows as f64,
            }
        })
        .collect()
}

/// The rows with a confidence of at least `threshold`.
pub fn accepted(tally: &Tally, threshold: f64) -> Accepted {
    let threshold = round_confidence(threshold);
    let mut accepted = Accepted::default();
    for cell in tied(tally).take_while(|cell| threshold <= cell.value) {
        accepted.count += cell.count();
        accepted.wrong += cell.negatives;
    }
    accepted
}

/// What every threshold j / 100 decides on a tally of probabilities.
pub fn sides(tally: &Tally) -> Sides {
    let sums = tally.cumulative();
    let mut sides = Sides::default();
    for hundredths in 0..=100 {
        let threshold = f64::from(hundredths) / 100.0;
        let [negatives, positives] = sums.at_least(threshold);
        sides.at_or_above.push(negatives + positives);
        sides.at_or_above_wrong.push(negatives);
        let [negatives, positives] = sums.at_most(threshold);
        sides.at_or_below.push(negatives + positives);
        sides.at_or_below_wrong.push(positives);
    }
    sides
}

/// The cells from the surest, those whose confidence is the same after rounding as one.
fn tied(tally: &Tally) -> impl Iterator<Item = Cell> {
    let mut cells = tally
        .cells()
        .rev()
        .map(|cell| Cell {
            value: round_confidence(cell.value),
            ..cell
        })
        .peekable();
    std::iter::from_fn(move || {
        let mut tie = cells.next()?;
        while let Some(next) = cells.next_if(|next| next.value.total_cmp(&tie.value).is_eq()) {
            tie.negatives += next.negatives;
            tie.positives += next.positives;
        }
        Some(tie)
    })
}

fn mean(sum: f64, rows: u64) -> Result<f64, Absent> {
    if rows == 0 {
        return Err(Absent::Empty);
    }
    Ok(sum / rows as f64)
}
