//! The rows of a tally in bins.
//!
//! A bin keeps the sum of its values, not their mean: sums of whole multiples stay exact where means do not.

use std::collections::BTreeSet;

use crate::stats::tally::{Cell, Tally};

/// The rows of one bin, in ascending order.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    pub(super) cells: Vec<Cell>,
    pub(super) positives: u64,
    pub(super) sum: f64,
    count: u64,
}

impl Group {
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// |sum of values - positives|.
    pub(super) fn gap_sum(&self) -> f64 {
        (self.sum - self.positives as f64).abs()
    }

    /// The mean value of a bin with rows.
    pub(super) fn mean(&self) -> f64 {
        match self.cells.as_slice() {
            // n p / n is not always p.
            [only] => only.value,
            _ => self.sum / self.count as f64,
        }
    }

    /// The share of positives of a bin with rows.
    pub(super) fn rate(&self) -> f64 {
        self.positives as f64 / self.count as f64
    }

    /// The variance of the positives if every value were true.
    pub(super) fn variance(&self) -> f64 {
        self.cells
            .iter()
            .map(|cell| cell.count() as f64 * cell.value * (1.0 - cell.value))
            .sum()
    }

    fn push(&mut self, cell: Cell) {
        self.count += cell.count();
        self.positives += cell.positives;
        self.sum += cell.count() as f64 * cell.value;
        self.cells.push(cell);
    }
}

/// So many bins of equal width, at least one, empty ones too.
pub(super) fn equal_width(tally: &Tally, bins: usize) -> Vec<Group> {
    let last = bins.max(1) - 1;
    let mut groups = vec![Group::default(); last + 1];
    for cell in tally.cells() {
        let index = (cell.value * (last + 1) as f64) as usize;
        groups[index.min(last)].push(cell);
    }
    groups
}

/// At most so many bins of equal mass; the first ones are the larger by one row.
///
/// An edge within the rows of one value is no edge, so the bins on its sides are one. Where that would leave fewer than
/// half of the bins, as with probabilities of two decimals, every edge stands at the nearest end of a value instead: one
/// bin of everything would call every judge calibrated.
pub(super) fn equal_mass(tally: &Tally, bins: usize) -> Vec<Group> {
    let ends: Vec<u64> = tally
        .cells()
        .scan(0, |seen, cell| {
            *seen += cell.count();
            Some(*seen)
        })
        .collect();
    let bins = bins.max(1) as u64;
    let (size, larger) = (tally.count() / bins, tally.count() % bins);
    let wanted = (1..bins).map(|index| index * size + index.min(larger));
    let inner = 1..tally.count();
    let wanted: Vec<u64> = wanted.filter(|edge| inner.contains(edge)).collect();
    let exact: BTreeSet<u64> = wanted
        .iter()
        .copied()
        .filter(|edge| ends.binary_search(edge).is_ok())
        .collect();
    if bins <= 2 * (exact.len() as u64 + 1) {
        return between(tally, &exact);
    }
    between(
        tally,
        &wanted.iter().map(|&edge| nearest(&ends, edge)).collect(),
    )
}

/// The end of a value that is nearest to an edge, of two the lower one.
fn nearest(ends: &[u64], edge: u64) -> u64 {
    let above = ends.partition_point(|end| *end < edge);
    let around = &ends[above.saturating_sub(1)..(above + 1).min(ends.len())];
    let distance = |end: &&u64| end.abs_diff(edge);
    around.iter().min_by_key(distance).copied().unwrap_or(edge)
}

/// The rows in bins that end where so many rows have been.
fn between(tally: &Tally, edges: &BTreeSet<u64>) -> Vec<Group> {
    let (mut groups, mut group, mut seen) = (Vec::new(), Group::default(), 0);
    for cell in tally.cells() {
        seen += cell.count();
        group.push(cell);
        if edges.contains(&seen) || seen == tally.count() {
            groups.push(std::mem::take(&mut group));
        }
    }
    groups
}
