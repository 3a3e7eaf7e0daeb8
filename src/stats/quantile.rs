//! Quantiles and the mean of whole numbers, counted by value.
//!
//! Latency is reported by nearest rank: the value that at least the share q of the rows does not exceed, and a row has.

use std::collections::BTreeMap;

use super::Absent;

/// The nearest rank: the ceil(q n)-th of the n values in ascending order, the first for q = 0.
pub fn nearest_rank(counts: &BTreeMap<u64, u64>, q: f64) -> Result<u64, Absent> {
    let total = total(counts)?;
    // 0.07 * 100 is a little above 7 in binary; a part in 10^12 takes that back.
    let rank = (q * total as f64 * (1.0 - 1e-12)).ceil() as u64;
    at(counts, rank.clamp(1, total) - 1)
}

/// Interpolated between the two values about (n - 1) q, type 7 of Hyndman and Fan (1996).
pub fn linear(counts: &BTreeMap<u64, u64>, q: f64) -> Result<f64, Absent> {
    let last = total(counts)? - 1;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = (place as u64).min(last);
    let low = at(counts, below)? as f64;
    let high = at(counts, (below + 1).min(last))? as f64;
    Ok(low + (high - low) * (place - below as f64))
}

/// The mean.
pub fn mean(counts: &BTreeMap<u64, u64>) -> Result<f64, Absent> {
    let total = total(counts)?;
    let sum: u128 = counts
        .iter()
        .map(|(value, count)| u128::from(*value) * u128::from(*count))
        .sum();
    Ok(sum as f64 / total as f64)
}

fn total(counts: &BTreeMap<u64, u64>) -> Result<u64, Absent> {
    match counts.values().sum() {
        0 => Err(Absent::Empty),
        total => Ok(total),
    }
}

/// The value with so many before it.
fn at(counts: &BTreeMap<u64, u64>, place: u64) -> Result<u64, Absent> {
    let mut seen = 0;
    for (value, count) in counts {
        seen += count;
        if place < seen {
            return Ok(*value);
        }
    }
    Err(Absent::Empty)
}
