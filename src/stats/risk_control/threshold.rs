//! Thresholds on a probability that hold a risk.
//!
//! The grid is fixed in advance, never taken from the labelled rows. A walk goes from the strictest threshold to looser
//! ones and stops for good at the first that it cannot show.

use super::binomial_p_value;
use crate::stats::OutOfRange;
use crate::stats::binomial;
use crate::stats::tally::{Cumulative, Tally};

/// Which side of a probability is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// At least the threshold; an error is a negative row.
    Pass,
    /// At most the threshold; an error is a positive row.
    Fail,
}

/// A risk that is to be held: at most `alpha`, but for a chance of `delta`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    alpha: f64,
    delta: f64,
}

impl Target {
    /// Both lie between 0 and 1, neither of them included.
    pub fn new(alpha: f64, delta: f64) -> Result<Self, OutOfRange> {
        for value in [alpha, delta] {
            if !(0.0 < value && value < 1.0) {
                return Err(OutOfRange(value));
            }
        }
        Ok(Self { alpha, delta })
    }

    /// The risk.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The chance that the promise does not hold.
    pub const fn delta(&self) -> f64 {
        self.delta
    }

    /// The target of each of so many promises that hold together (Bonferroni).
    pub fn divided(&self, promises: u32) -> Self {
        Self {
            delta: self.delta / f64::from(promises.max(1)),
            ..*self
        }
    }
}

/// One threshold that was tested.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// The threshold.
    pub threshold: f64,
    /// Rows that the risk is over.
    pub row_count: u64,
    /// Errors among them.
    pub error_count: u64,
    /// The exact binomial p-value.
    pub p_value: f64,
    /// The upper bound of the risk.
    pub upper: f64,
}

/// How a walk along a grid went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Walk {
    /// The last threshold that was shown; every stricter tested one is shown too.
    pub selected: Option<Tested>,
    /// The first that was not.
    pub stopped: Option<Tested>,
}

/// A threshold of conformal risk control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conformal {
    /// The threshold.
    pub threshold: f64,
    /// Accepted rows.
    pub accepted_count: u64,
    /// Errors among them.
    pub error_count: u64,
    /// What the expected risk is at most: (errors + 1) / (n + 1).
    pub bound: f64,
}

/// The default grid: j / 100 for j from 0 to 100.
pub fn hundredths() -> Vec<f64> {
    (0..=100).map(|j| f64::from(j) / 100.0).collect()
}

/// Fixed-sequence testing (Angelopoulos et al. 2021, "Learn then Test") of the selective risk, the share of errors among
/// the accepted. A threshold with fewer than `minimum` accepted rows is skipped untested; choose it without a look at
/// the labels, by [`super::minimum_accepted`].
pub fn fixed_sequence(
    tally: &Tally,
    side: Side,
    target: Target,
    minimum: u64,
    grid: &[f64],
) -> Walk {
    let sums = tally.cumulative();
    walk(side, target, grid, |threshold| {
        let (accepted, errors) = side.accepted(&sums, threshold);
        (minimum <= accepted).then_some((accepted, errors))
    })
}

/// Fixed-sequence testing of the class-conditional risk: the share that is accepted of the rows that must not be.
pub fn class_conditional(tally: &Tally, side: Side, target: Target, grid: &[f64]) -> Walk {
    let sums = tally.cumulative();
    let wrong_class = match side {
        Side::Pass => tally.negative_count(),
        Side::Fail => tally.positive_count(),
    };
    walk(side, target, grid, |threshold| {
        let (_, errors) = side.accepted(&sums, threshold);
        Some((wrong_class, errors))
    })
}

/// Conformal risk control (Angelopoulos et al. 2022) of the marginal risk, errors among all rows: the loosest threshold
/// with n/(n+1) risk + 1/(n+1) <= alpha. This holds the expected risk, not the risk with a chance.
pub fn conformal(tally: &Tally, side: Side, alpha: f64, grid: &[f64]) -> Option<Conformal> {
    let sums = tally.cumulative();
    side.strictest_first(grid)
        .into_iter()
        .map(|threshold| {
            let (accepted_count, error_count) = side.accepted(&sums, threshold);
            Conformal {
                threshold,
                accepted_count,
                error_count,
                bound: (error_count + 1) as f64 / (tally.count() + 1) as f64,
            }
        })
        .take_while(|candidate| candidate.bound <= alpha)
        .last()
}

/// Selection with guaranteed risk (Geifman and El-Yaniv 2017): a binary search of K = ceil(log2 n) steps over the
/// rows by value, each with the bound of Clopper and Pearson at delta / K; the last threshold that met the target.
pub fn sgr(tally: &Tally, side: Side, target: Target) -> Option<Tested> {
    let rows = tally.count();
    let steps = rows.checked_next_power_of_two()?.checked_ilog2()?;
    let target = target.divided(steps);
    let sums = tally.cumulative();
    let (mut low, mut high) = (1, rows);
    let mut selected = None;
    for _ in 0..steps {
        let middle = u64::midpoint(low, high + 1);
        let threshold = side.value_at(tally, middle)?;
        let (accepted, errors) = side.accepted(&sums, threshold);
        let tested = Tested::of(threshold, accepted, errors, target);
        if tested.upper <= target.alpha {
            high = middle;
            selected = Some(tested);
        } else {
            low = middle;
        }
    }
    selected
}

/// Tests one threshold after the other until one is not shown; one without counts is skipped.
fn walk(
    side: Side,
    target: Target,
    grid: &[f64],
    counts: impl Fn(f64) -> Option<(u64, u64)>,
) -> Walk {
    let test = |(threshold, rows, errors)| Tested::of(threshold, rows, errors, target);
    let mut last = None;
    for threshold in side.strictest_first(grid) {
        let Some((rows, errors)) = counts(threshold) else {
            continue;
        };
        let next = (threshold, rows, errors);
        if target.delta < binomial_p_value(errors, rows, target.alpha) {
            return Walk {
                selected: last.map(test),
                stopped: Some(test(next)),
            };
        }
        last = Some(next);
    }
    Walk {
        selected: last.map(test),
        stopped: None,
    }
}

impl Tested {
    fn of(threshold: f64, row_count: u64, error_count: u64, target: Target) -> Self {
        Self {
            threshold,
            row_count,
            error_count,
            p_value: binomial_p_value(error_count, row_count, target.alpha),
            upper: binomial::upper(error_count, row_count, target.delta),
        }
    }
}

impl Side {
    /// Accepted rows, and the errors among them.
    fn accepted(self, sums: &Cumulative, threshold: f64) -> (u64, u64) {
        let ([negatives, positives], is_error_positive) = match self {
            Self::Pass => (sums.at_least(threshold), false),
            Self::Fail => (sums.at_most(threshold), true),
        };
        let errors = if is_error_positive {
            positives
        } else {
            negatives
        };
        (negatives + positives, errors)
    }

    fn strictest_first(self, grid: &[f64]) -> Vec<f64> {
        let mut grid = grid.to_vec();
        grid.sort_unstable_by(f64::total_cmp);
        match self {
            Self::Pass => grid.reverse(),
            Self::Fail => {}
        }
        grid
    }

    /// The value of a row by its place, counted from 1 at the loosest.
    fn value_at(self, tally: &Tally, place: u64) -> Option<f64> {
        let mut seen = 0;
        let mut reached = |count: u64| {
            seen += count;
            place <= seen
        };
        let cell = match self {
            Self::Pass => tally.cells().find(|cell| reached(cell.count())),
            Self::Fail => tally.cells().rev().find(|cell| reached(cell.count())),
        };
        cell.map(|cell| cell.value)
    }
}
