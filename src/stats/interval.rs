//! Intervals of a share: k of n, with their level.
//!
//! The bounds 0 and 1 are exact where no row or every row counts; a share of no rows has no interval.

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::{Absent, binomial};

/// The interval of Wilson (1927) for k of n:
/// (s + z^2/2n -+ z sqrt(s(1-s)/n + z^2/4n^2)) / (1 + z^2/n), s = k/n.
pub fn wilson(k: u64, n: u64, level: f64) -> Result<(f64, f64), Absent> {
    check(k, n)?;
    let z = normal_quantile(level)?;
    let (share, rows) = (k as f64 / n as f64, n as f64);
    let centre = share + z * z / (2.0 * rows);
    let half = z * (share * (1.0 - share) / rows + z * z / (4.0 * rows * rows)).sqrt();
    let scale = 1.0 + z * z / rows;
    let low = if k == 0 { 0.0 } else { (centre - half) / scale };
    let high = if k == n { 1.0 } else { (centre + half) / scale };
    Ok((low, high))
}

/// The exact interval of Clopper and Pearson (1934) for k of n: the quantiles (1 -+ level)/2 of
/// Beta(k, n-k+1) and Beta(k+1, n-k).
pub fn clopper_pearson(k: u64, n: u64, level: f64) -> Result<(f64, f64), Absent> {
    check(k, n)?;
    check_level(level)?;
    let tail = (1.0 - level) / 2.0;
    Ok((
        1.0 - binomial::upper(n - k, n, tail),
        binomial::upper(k, n, tail),
    ))
}

/// The one-sided upper bound of Clopper and Pearson for k of n, wrong with chance `delta`: the r with
/// P(Bin(n, r) <= k) = delta, 1 if k = n.
pub fn clopper_pearson_upper(k: u64, n: u64, delta: f64) -> Result<f64, Absent> {
    check(k, n)?;
    check_level(delta)?;
    Ok(binomial::upper(k, n, delta))
}

/// How many standard deviations about the mean hold `level` of a normal distribution.
pub fn normal_quantile(level: f64) -> Result<f64, Absent> {
    check_level(level)?;
    let normal = Normal::standard();
    Ok(-normal.inverse_cdf((1.0 - level) / 2.0))
}

fn check(k: u64, n: u64) -> Result<(), Absent> {
    match (k, n) {
        (_, 0) => Err(Absent::Empty),
        (k, n) if n < k => Err(Absent::Unknown),
        _ => Ok(()),
    }
}

fn check_level(level: f64) -> Result<(), Absent> {
    if 0.0 < level && level < 1.0 {
        Ok(())
    } else {
        Err(Absent::Unknown)
    }
}
