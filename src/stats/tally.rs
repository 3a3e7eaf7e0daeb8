//! Counts by distinct value: what every metric over probabilities is made from.
//!
//! Up to a limit, distinct values are kept as they are. Beyond, all are rounded, so that memory does not grow with the
//! rows ([`Precision`]); whether that happened depends on the values alone, not on their order.

use std::collections::BTreeMap;

use super::OutOfRange;

/// How many distinct values are kept, and what becomes of them beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Precision {
    /// How many distinct values are kept exactly.
    pub exact_limit: usize,
    /// Decimals that are kept beyond; within a hundred of their units of 0 and 1, two digits of the distance.
    pub decimals: u32,
}

impl Precision {
    /// For the few tallies over all rows.
    pub const FINE: Self = Self {
        exact_limit: 16_384,
        decimals: 4,
    };
    /// For the many tallies over slices.
    pub const COARSE: Self = Self {
        exact_limit: 2_048,
        decimals: 3,
    };

    /// To the kept decimals; near 0 and near 1 to two digits of the distance, so that nothing that was almost certain
    /// becomes certain: log loss and the outermost thresholds stand on that distance.
    fn rounded(self, value: f64) -> f64 {
        let scale = 10_f64.powi(self.decimals.cast_signed());
        let distance = value.min(1.0 - value);
        if distance <= 0.0 || 100.0 <= distance * scale {
            return (value * scale).round() / scale + 0.0;
        }
        let digits = 10_f64.powi(1 - distance.log10().floor() as i32);
        let kept = (distance * digits).round() / digits;
        if value < 0.5 { kept } else { 1.0 - kept }
    }
}

impl Default for Precision {
    fn default() -> Self {
        Self::FINE
    }
}

/// Counts of negative and positive rows by value from 0 to 1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// By the bits of the value, which have the order of the values.
    counts: BTreeMap<u64, [u64; 2]>,
    totals: [u64; 2],
    precision: Precision,
    is_rounded: bool,
}

/// The rows of one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The value.
    pub value: f64,
    /// Negative rows.
    pub negatives: u64,
    /// Positive rows.
    pub positives: u64,
}

impl Cell {
    /// Rows.
    pub const fn count(&self) -> u64 {
        self.negatives + self.positives
    }
}

impl Tally {
    /// No rows yet.
    pub fn with(precision: Precision) -> Self {
        Self {
            precision,
            ..Self::default()
        }
    }

    /// Counts pairs of a value and whether the row is positive.
    pub fn of(pairs: impl IntoIterator<Item = (f64, bool)>) -> Result<Self, OutOfRange> {
        let mut tally = Self::default();
        for (value, is_positive) in pairs {
            tally.add(value, is_positive)?;
        }
        Ok(tally)
    }

    /// Counts one row.
    pub fn add(&mut self, value: f64, is_positive: bool) -> Result<(), OutOfRange> {
        self.add_cell(Cell {
            value,
            negatives: u64::from(!is_positive),
            positives: u64::from(is_positive),
        })
    }

    /// Counts the rows of a cell; one without rows is not kept.
    pub fn add_cell(&mut self, cell: Cell) -> Result<(), OutOfRange> {
        let Cell {
            value,
            negatives,
            positives,
        } = cell;
        if !(0.0..=1.0).contains(&value) {
            return Err(OutOfRange(value));
        }
        if cell.count() == 0 {
            return Ok(());
        }
        // Adding 0 turns -0 into 0.
        let value = if self.is_rounded {
            self.precision.rounded(value)
        } else {
            value + 0.0
        };
        count(&mut self.counts, value, [negatives, positives]);
        self.totals[0] += negatives;
        self.totals[1] += positives;
        if self.precision.exact_limit < self.counts.len() {
            self.round();
        }
        Ok(())
    }

    /// The values in ascending order.
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = Cell> + ExactSizeIterator + Clone {
        self.counts
            .iter()
            .map(|(bits, [negatives, positives])| Cell {
                value: f64::from_bits(*bits),
                negatives: *negatives,
                positives: *positives,
            })
    }

    /// The sums of the cells, to ask for many thresholds.
    pub fn cumulative(&self) -> Cumulative {
        let mut seen = [0, 0];
        let mut sums = vec![seen];
        for [negatives, positives] in self.counts.values() {
            seen[0] += negatives;
            seen[1] += positives;
            sums.push(seen);
        }
        let values = self.counts.keys().map(|bits| f64::from_bits(*bits));
        Cumulative {
            values: values.collect(),
            sums,
        }
    }

    /// Rows.
    pub const fn count(&self) -> u64 {
        self.totals[0] + self.totals[1]
    }

    /// Positive rows.
    pub const fn positive_count(&self) -> u64 {
        self.totals[1]
    }

    /// Negative rows.
    pub const fn negative_count(&self) -> u64 {
        self.totals[0]
    }

    /// Whether values were rounded.
    pub const fn is_rounded(&self) -> bool {
        self.is_rounded
    }

    fn round(&mut self) {
        self.is_rounded = true;
        for (bits, added) in std::mem::take(&mut self.counts) {
            let value = self.precision.rounded(f64::from_bits(bits));
            count(&mut self.counts, value, added);
        }
    }
}

/// Sums over the values from the lowest; pairs are negative and positive rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Cumulative {
    values: Vec<f64>,
    /// Entry i sums the first i values.
    sums: Vec<[u64; 2]>,
}

impl Cumulative {
    /// The rows with a value of at most `threshold`.
    pub fn at_most(&self, threshold: f64) -> [u64; 2] {
        self.sums[self.values.partition_point(|value| *value <= threshold)]
    }

    /// The rows with a value of at least `threshold`.
    pub fn at_least(&self, threshold: f64) -> [u64; 2] {
        let below = self.sums[self.values.partition_point(|value| *value < threshold)];
        let all = self.sums[self.values.len()];
        [all[0] - below[0], all[1] - below[1]]
    }
}

fn count(counts: &mut BTreeMap<u64, [u64; 2]>, value: f64, added: [u64; 2]) {
    let [negatives, positives] = counts.entry(value.to_bits()).or_default();
    *negatives += added[0];
    *positives += added[1];
}
