//! Whether probabilities mean what they say.
//!
//! Bins of equal width are [i/M, (i+1)/M), the last with 1; a value p lies in bin floor(p M). The gap of a bin is
//! |sum of p - positives| / rows, so that what is exactly right is exactly 0.

mod grouped;

use self::grouped::{Group, equal_mass, equal_width};
use super::random::SplitMix64;
use super::tally::{Cell, Tally};
use super::{Absent, interval, selective};

/// Up to how many rows of a bin the noise floor draws one by one.
const DRAWN_ROWS: u64 = 200;

/// A bin of equal width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// Its lower edge, inclusive.
    pub low: f64,
    /// Its upper edge, exclusive but for the last.
    pub high: f64,
    /// Negative rows.
    pub negatives: u64,
    /// Positive rows.
    pub positives: u64,
    /// The mean value.
    pub mean: Result<f64, Absent>,
}

/// The parts of a Brier score: brier = reliability - resolution + uncertainty + within_bin_variance -
/// within_bin_covariance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Murphy {
    /// sum n_k/n (mean p_k - mean y_k)^2.
    pub reliability: f64,
    /// sum n_k/n (mean y_k - mean y)^2.
    pub resolution: f64,
    /// mean y (1 - mean y).
    pub uncertainty: f64,
    /// mean (p - mean p_k)^2.
    pub within_bin_variance: f64,
    /// mean 2 (y - mean y_k)(p - mean p_k).
    pub within_bin_covariance: f64,
}

/// The score of Brier (1950) for two classes: mean (p - y)^2, from 0 to 1.
pub fn brier(tally: &Tally) -> Result<f64, Absent> {
    mean_of(tally, squared_error)
}

/// The normal interval of the Brier score, a mean of squared errors: mean -+ z s / sqrt(n), cut to 0..1.
pub fn brier_interval(tally: &Tally, level: f64) -> Result<(f64, f64), Absent> {
    let mean = brier(tally)?;
    if tally.count() < 2 {
        return Err(Absent::ZeroDenominator);
    }
    let squares = sum_of(tally, |p, y| (squared_error(p, y) - mean).powi(2));
    let rows = tally.count() as f64;
    let half = interval::normal_quantile(level)? * (squares / (rows - 1.0) / rows).sqrt();
    Ok(((mean - half).max(0.0), (mean + half).min(1.0)))
}

/// Log loss: -mean ln q, q = p of a positive and 1 - p of a negative row, at least `epsilon`. Only what would be
/// infinite is cut, so that a perfect judge has exactly 0.
pub fn log_loss(tally: &Tally, epsilon: f64) -> Result<f64, Absent> {
    let loss = |p: f64, is_positive: bool| {
        let given = if is_positive { p } else { 1.0 - p };
        // Adding 0 turns -0 into 0.
        -given.max(epsilon).ln() + 0.0
    };
    mean_of(tally, loss)
}

/// The decomposition of Murphy (1973), with the parts within bins of Stephenson, Coelho and Jolliffe (2008).
pub fn murphy(tally: &Tally, bins: usize) -> Result<Murphy, Absent> {
    let rows = rows(tally)?;
    let rate = tally.positive_count() as f64 / rows;
    let mut parts = Murphy {
        reliability: 0.0,
        resolution: 0.0,
        uncertainty: rate * (1.0 - rate),
        within_bin_variance: 0.0,
        within_bin_covariance: 0.0,
    };
    for group in equal_width(tally, bins)
        .iter()
        .filter(|group| 0 < group.count())
    {
        let (count, mean, bin_rate) = (group.count() as f64, group.mean(), group.rate());
        parts.reliability += count * (mean - bin_rate).powi(2);
        parts.resolution += count * (bin_rate - rate).powi(2);
        for cell in &group.cells {
            let gap = cell.value - mean;
            let (positives, negatives) = (cell.positives as f64, cell.negatives as f64);
            parts.within_bin_variance += (positives + negatives) * gap.powi(2);
            parts.within_bin_covariance +=
                2.0 * gap * (positives * (1.0 - bin_rate) - negatives * bin_rate);
        }
    }
    parts.reliability /= rows;
    parts.resolution /= rows;
    parts.within_bin_variance /= rows;
    parts.within_bin_covariance /= rows;
    Ok(parts)
}

/// All bins of equal width, empty ones too.
pub fn bins(tally: &Tally, bins: usize) -> Vec<Bin> {
    let groups = equal_width(tally, bins);
    let width = groups.len() as f64;
    groups
        .iter()
        .enumerate()
        .map(|(index, group)| Bin {
            low: index as f64 / width,
            high: (index + 1) as f64 / width,
            negatives: group.count() - group.positives,
            positives: group.positives,
            mean: match group.count() {
                0 => Err(Absent::Empty),
                _ => Ok(group.mean()),
            },
        })
        .collect()
}

/// Expected calibration error (Naeini, Cooper, Hauskrecht 2015) over bins of equal width: sum n_b/n gap_b.
pub fn ece(tally: &Tally, bins: usize) -> Result<f64, Absent> {
    mean_gap(tally, &equal_width(tally, bins))
}

/// The same over bins of equal mass: sizes differ by at most one, bins that share a value at their edge are merged.
pub fn ece_equal_mass(tally: &Tally, bins: usize) -> Result<f64, Absent> {
    mean_gap(tally, &equal_mass(tally, bins))
}

/// The largest gap of a bin of equal width that has at least `min_count` rows, and one.
pub fn mce(tally: &Tally, bins: usize, min_count: u64) -> Result<f64, Absent> {
    equal_width(tally, bins)
        .iter()
        .filter(|group| min_count.max(1) <= group.count())
        .map(|group| group.gap_sum() / group.count() as f64)
        .reduce(f64::max)
        .ok_or(Absent::Empty)
}

/// sqrt(sum n_b/n gap_b^2) over bins of equal width.
pub fn rmsce(tally: &Tally, bins: usize) -> Result<f64, Absent> {
    let rows = rows(tally)?;
    let squares: f64 = equal_width(tally, bins)
        .iter()
        .filter(|group| 0 < group.count())
        .map(|group| group.gap_sum().powi(2) / group.count() as f64)
        .sum();
    Ok((squares / rows).sqrt())
}

/// What [`ece`] would be if every value were true: its mean over `draws` of y ~ Bernoulli(p) (the consistency resampling
/// of Broecker and Smith, 2007), by the generator of [`super::random`].
///
/// Bins with at most 200 rows are drawn row by row. In a larger one the gap is drawn from the normal distribution
/// with the same variance, sum p (1 - p).
pub fn ece_noise_floor(tally: &Tally, bins: usize, draws: u32, seed: u64) -> Result<f64, Absent> {
    noise_floor(tally, &equal_width(tally, bins), draws, seed)
}

/// The same of [`ece_equal_mass`], whose bins stand on the values alone.
pub fn ece_equal_mass_noise_floor(
    tally: &Tally,
    bins: usize,
    draws: u32,
    seed: u64,
) -> Result<f64, Absent> {
    noise_floor(tally, &equal_mass(tally, bins), draws, seed)
}

/// The confidence max(p, 1 - p) in whether p is at least 0.5, against that being right; rounded as
/// [`selective::round_confidence`] says, so that p and 1 - p tie.
pub fn confidence(tally: &Tally) -> Tally {
    let mut confidences = Tally::default();
    for cell in tally.cells() {
        let says_positive = 0.5 <= cell.value;
        let (value, positives, negatives) = if says_positive {
            (cell.value, cell.positives, cell.negatives)
        } else {
            (1.0 - cell.value, cell.negatives, cell.positives)
        };
        let added = confidences.add_cell(Cell {
            value: selective::round_confidence(value),
            negatives,
            positives,
        });
        debug_assert!(
            added.is_ok(),
            "max(p, 1 - p) of a p from 0 to 1 is from 0 to 1"
        );
    }
    confidences
}

fn noise_floor(tally: &Tally, groups: &[Group], draws: u32, seed: u64) -> Result<f64, Absent> {
    let rows = rows(tally)?;
    if draws == 0 {
        return Err(Absent::Empty);
    }
    let mut random = SplitMix64::new(seed);
    let mut sum = 0.0;
    for _ in 0..draws {
        for group in groups {
            sum += drawn_gap(group, &mut random);
        }
    }
    Ok(sum / f64::from(draws) / rows)
}

fn drawn_gap(group: &Group, random: &mut SplitMix64) -> f64 {
    if DRAWN_ROWS < group.count() {
        return (group.variance().sqrt() * random.normal()).abs();
    }
    let mut positives = 0_u64;
    for cell in &group.cells {
        for _ in 0..cell.count() {
            positives += u64::from(random.unit() < cell.value);
        }
    }
    (group.sum - positives as f64).abs()
}

fn mean_gap(tally: &Tally, groups: &[Group]) -> Result<f64, Absent> {
    let rows = rows(tally)?;
    Ok(groups.iter().map(Group::gap_sum).sum::<f64>() / rows)
}

fn squared_error(p: f64, is_positive: bool) -> f64 {
    if is_positive {
        (1.0 - p).powi(2)
    } else {
        p.powi(2)
    }
}

fn mean_of(tally: &Tally, loss: impl Fn(f64, bool) -> f64) -> Result<f64, Absent> {
    Ok(sum_of(tally, loss) / rows(tally)?)
}

fn sum_of(tally: &Tally, loss: impl Fn(f64, bool) -> f64) -> f64 {
    let mut sum = 0.0;
    for cell in tally.cells() {
        for (count, is_positive) in [(cell.negatives, false), (cell.positives, true)] {
            if 0 < count {
                sum += count as f64 * loss(cell.value, is_positive);
            }
        }
    }
    sum
}

fn rows(tally: &Tally) -> Result<f64, Absent> {
    match tally.count() {
        0 => Err(Absent::Empty),
        count => Ok(count as f64),
    }
}
