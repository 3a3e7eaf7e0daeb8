//! Two modes on the same rows.
//!
//! Rows that share a question are drawn together, as one block, and a draw is the same for both modes: what both get
//! wrong for the same reason is not counted as a difference, nor as two proofs of one.

use std::collections::BTreeMap;

use super::random::SplitMix64;
use super::{Absent, binomial};

/// The p-values of McNemar's test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct McNemar {
    /// Exact, two-sided.
    pub exact: f64,
    /// Less half of the chance of just this result on both sides: less cautious.
    pub mid_p: f64,
}

/// How a bootstrap draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// How often it draws.
    pub replicates: u32,
    /// The seed of [`super::random`].
    pub seed: u64,
    /// The level of the interval.
    pub level: f64,
}

/// The result of a bootstrap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// The statistic of the rows as they are.
    pub estimate: f64,
    /// The lower end of the percentile interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Two-sided p-value of no difference.
    pub p: f64,
}

/// The test of McNemar (1947), exact: `b` rows are right in the first mode alone, `c` in the second alone;
/// 2 P(Bin(b + c, 1/2) <= min(b, c)), at most 1. The mid-p of Lancaster (1961) takes P(= min) off.
pub fn mcnemar(b: u64, c: u64) -> McNemar {
    let (few, all) = (b.min(c), b + c);
    let twice = 2.0 * binomial::at_most(few, all, 0.5);
    McNemar {
        exact: twice.min(1.0),
        // By symmetry; the sum of points misses 1 in its last bit.
        mid_p: if b == c {
            1.0
        } else {
            twice - binomial::point(few, all, 0.5)
        },
    }
}

/// The paired bootstrap (Efron and Tibshirani 1993) over blocks of counts: `statistic` of the summed counts of blocks
/// drawn with replacement. A draw without a statistic is left out; without one of the rows as they are there is none.
///
/// The order of the blocks changes no bit. The interval is of percentiles by nearest rank. p = 2 min(P(d <= 0), P(d >= 0)), at least 1 / (B + 1), at most 1.
pub fn bootstrap<const N: usize>(
    blocks: &[[u64; N]],
    resampling: Resampling,
    statistic: impl Fn(&[u64; N]) -> Option<f64>,
) -> Result<Bootstrap, Absent> {
    if blocks.is_empty() {
        return Err(Absent::Empty);
    }
    let patterns = Patterns::of(blocks);
    let estimate = statistic(&patterns.sum(&patterns.counts)).ok_or(Absent::ZeroDenominator)?;
    let mut random = SplitMix64::new(resampling.seed);
    let mut drawn: Vec<f64> = (0..resampling.replicates)
        .filter_map(|_| statistic(&patterns.draw(&mut random)))
        .collect();
    if drawn.is_empty() {
        return Err(Absent::ZeroDenominator);
    }
    drawn.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - resampling.level) / 2.0;
    Ok(Bootstrap {
        estimate,
        low: drawn[rank(tail, drawn.len())],
        high: drawn[rank(1.0 - tail, drawn.len())],
        p: two_sided(&drawn),
    })
}

/// The distinct blocks in order: what is drawn does not depend on the order in which blocks came, and a draw counts
/// each instead of summing all.
struct Patterns<const N: usize> {
    distinct: Vec<[u64; N]>,
    /// How often each is there.
    counts: Vec<u64>,
    /// For each block the place of its pattern.
    places: Vec<usize>,
}

impl<const N: usize> Patterns<N> {
    fn of(blocks: &[[u64; N]]) -> Self {
        let mut sorted = BTreeMap::new();
        for block in blocks {
            *sorted.entry(*block).or_insert(0) += 1;
        }
        let mut patterns = Self {
            distinct: Vec::new(),
            counts: Vec::new(),
            places: Vec::new(),
        };
        for (place, (block, count)) in sorted.into_iter().enumerate() {
            patterns.distinct.push(block);
            patterns.counts.push(count);
            patterns.places.extend((0..count).map(|_| place));
        }
        patterns
    }

    /// As many blocks as there are, with replacement.
    fn draw(&self, random: &mut SplitMix64) -> [u64; N] {
        let mut counts = vec![0; self.distinct.len()];
        for _ in 0..self.places.len() {
            counts[self.places[random.below(self.places.len())]] += 1;
        }
        self.sum(&counts)
    }

    fn sum(&self, counts: &[u64]) -> [u64; N] {
        let mut sum = [0; N];
        for (block, times) in self.distinct.iter().zip(counts) {
            for (sum, count) in sum.iter_mut().zip(block) {
                *sum += times * count;
            }
        }
        sum
    }
}

/// The place of the nearest rank among so many sorted values.
fn rank(share: f64, count: usize) -> usize {
    let rank = (share * count as f64 * (1.0 - 1e-12)).ceil() as usize;
    rank.clamp(1, count) - 1
}

/// Of sorted differences.
fn two_sided(drawn: &[f64]) -> f64 {
    let count = drawn.len() as f64;
    let below = drawn.partition_point(|value| *value < 0.0) as f64;
    let not_above = drawn.partition_point(|value| *value <= 0.0) as f64;
    let smaller = not_above.min(count - below);
    (2.0 * smaller / count).max(1.0 / (count + 1.0)).min(1.0)
}
