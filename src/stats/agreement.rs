//! How far raters agree, beyond what chance would give.
//!
//! Agreement is never one number: where one category prevails kappa falls while raters agree, and AC1 does not. Print
//! the plain share, kappa and AC1 together.

use std::collections::BTreeMap;

use super::Absent;
use super::classification::MultiClass;

/// The share of units on which two raters agree.
pub fn percent(pairs: &MultiClass) -> Result<f64, Absent> {
    pairs.accuracy()
}

/// The kappa of Cohen (1960): (po - pe) / (1 - pe), pe by the shares of each rater.
pub fn kappa(pairs: &MultiClass) -> Result<f64, Absent> {
    let total = i128::from(pairs.total());
    if total == 0 {
        return Err(Absent::Empty);
    }
    let by_chance: i128 = pairs
        .classes()
        .map(|class| i128::from(class.support) * i128::from(class.given))
        .sum();
    let square = total * total;
    if by_chance == square {
        return Err(Absent::ZeroDenominator);
    }
    let beyond = i128::from(pairs.right()) * total - by_chance;
    Ok(beyond as f64 / (square - by_chance) as f64)
}

/// Kappa adjusted for prevalence and bias (Byrt, Bishop, Carlin 1993): (K po - 1) / (K - 1) of K categories.
pub fn pabak(pairs: &MultiClass) -> Result<f64, Absent> {
    let agreed = pairs.accuracy()?;
    let categories = pairs.class_count() as f64;
    if pairs.class_count() < 2 {
        return Err(Absent::ZeroDenominator);
    }
    Ok((categories * agreed - 1.0) / (categories - 1.0))
}

/// What any number of raters said about units, ratings may be missing: units counted by how many ratings each category
/// got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ratings {
    category_count: usize,
    units: BTreeMap<Vec<u64>, u64>,
}

impl Ratings {
    /// No units, with `category_count` categories; a category is a number below that.
    pub const fn new(category_count: usize) -> Self {
        Self {
            category_count,
            units: BTreeMap::new(),
        }
    }

    /// Counts units that two raters rated.
    pub fn of_pairs(pairs: &MultiClass) -> Self {
        let mut ratings = Self::new(pairs.class_count());
        for actual in 0..pairs.class_count() {
            for given in 0..pairs.class_count() {
                let count = pairs.count(actual, given);
                if 0 < count {
                    *ratings
                        .units
                        .entry(ratings.pattern([actual, given]))
                        .or_default() += count;
                }
            }
        }
        ratings
    }

    /// Counts one unit by the categories that its raters gave it; who said nothing is left out.
    pub fn add(&mut self, given: impl IntoIterator<Item = usize>) {
        *self.units.entry(self.pattern(given)).or_default() += 1;
    }

    fn pattern(&self, given: impl IntoIterator<Item = usize>) -> Vec<u64> {
        let mut counts = vec![0; self.category_count];
        for category in given {
            counts[category] += 1;
        }
        counts
    }
}

/// The alpha of Krippendorff (2011) for categories without an order: 1 - Do / De over the matrix of coincidences, a
/// pair of a unit with m ratings weighs 1 / (m - 1), units with fewer than two are left out.
pub fn krippendorff_alpha(ratings: &Ratings) -> Result<f64, Absent> {
    let mut observed = 0.0;
    let mut totals = vec![0_u64; ratings.category_count];
    for (counts, units) in &ratings.units {
        let rated: u64 = counts.iter().sum();
        if rated < 2 {
            continue;
        }
        observed += (*units * disagreeing(counts)) as f64 / (rated - 1) as f64;
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count * units;
        }
    }
    let count: u64 = totals.iter().sum();
    if count == 0 {
        return Err(Absent::Empty);
    }
    let expected = disagreeing(&totals);
    if expected == 0 {
        return Err(Absent::SingleClass);
    }
    Ok(1.0 - observed * (count - 1) as f64 / expected as f64)
}

/// The AC1 of Gwet (2008): (po - pe) / (1 - pe), pe = sum pi_k (1 - pi_k) / (K - 1), pi_k the mean share of category k
/// over units with a rating, po over units with at least two.
pub fn gwet_ac1(ratings: &Ratings) -> Result<f64, Absent> {
    if ratings.category_count < 2 {
        return Err(Absent::ZeroDenominator);
    }
    let mut shares = vec![0.0; ratings.category_count];
    let (mut agreed, mut paired_units, mut rated_units) = (0.0, 0_u64, 0_u64);
    for (counts, units) in &ratings.units {
        let rated: u64 = counts.iter().sum();
        if rated == 0 {
            continue;
        }
        rated_units += units;
        for (share, count) in shares.iter_mut().zip(counts) {
            *share += (count * units) as f64 / rated as f64;
        }
        if 2 <= rated {
            paired_units += units;
            let pairs = rated * (rated - 1);
            agreed += *units as f64 * ((pairs - disagreeing(counts)) as f64 / pairs as f64);
        }
    }
    if paired_units == 0 {
        return Err(Absent::Empty);
    }
    let observed = agreed / paired_units as f64;
    let spread: f64 = shares
        .iter()
        .map(|share| share / rated_units as f64)
        .map(|share| share * (1.0 - share))
        .sum();
    let by_chance = spread / (ratings.category_count - 1) as f64;
    Ok((observed - by_chance) / (1.0 - by_chance))
}

/// Ordered pairs of different categories.
fn disagreeing(counts: &[u64]) -> u64 {
    let total: u64 = counts.iter().sum();
    total * total - counts.iter().map(|count| count * count).sum::<u64>()
}
