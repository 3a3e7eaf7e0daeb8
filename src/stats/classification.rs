//! Classes given against classes labelled.
//!
//! Every number is one division of whole numbers or a mean of such, so that a perfect result is exactly 1. A ratio with
//! an empty denominator is absent, never 0.

use super::Absent;
use super::tally::Tally;

/// The counts of a yes/no classification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Binary {
    /// Positive and given as positive.
    pub true_positives: u64,
    /// Negative and given as positive.
    pub false_positives: u64,
    /// Negative and given as negative.
    pub true_negatives: u64,
    /// Positive and given as negative.
    pub false_negatives: u64,
}

impl Binary {
    /// Gives a row as positive if its value is at least `threshold`.
    pub fn at(tally: &Tally, threshold: f64) -> Self {
        let mut counts = Self::default();
        for cell in tally.cells() {
            if threshold <= cell.value {
                counts.true_positives += cell.positives;
                counts.false_positives += cell.negatives;
            } else {
                counts.false_negatives += cell.positives;
                counts.true_negatives += cell.negatives;
            }
        }
        counts
    }

    /// The counts of two classifications together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            true_positives: self.true_positives + other.true_positives,
            false_positives: self.false_positives + other.false_positives,
            true_negatives: self.true_negatives + other.true_negatives,
            false_negatives: self.false_negatives + other.false_negatives,
        }
    }

    /// Rows.
    pub const fn count(&self) -> u64 {
        self.positives() + self.negatives()
    }

    /// (TP + TN) / n.
    pub fn accuracy(&self) -> Result<f64, Absent> {
        ratio(
            self.true_positives + self.true_negatives,
            self.count(),
            Absent::Empty,
        )
    }

    /// Mean of the recall of both classes.
    pub fn balanced_accuracy(&self) -> Result<f64, Absent> {
        self.check_classes()?;
        let recall = ratio(self.true_positives, self.positives(), Absent::SingleClass)?;
        let other = ratio(self.true_negatives, self.negatives(), Absent::SingleClass)?;
        Ok(f64::midpoint(recall, other))
    }

    /// TP / (TP + FP).
    pub fn precision(&self) -> Result<f64, Absent> {
        self.check_rows()?;
        ratio(
            self.true_positives,
            self.true_positives + self.false_positives,
            Absent::ZeroDenominator,
        )
    }

    /// TP / (TP + FN).
    pub fn recall(&self) -> Result<f64, Absent> {
        self.check_rows()?;
        ratio(self.true_positives, self.positives(), Absent::NoPositives)
    }

    /// 2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall.
    pub fn f1(&self) -> Result<f64, Absent> {
        self.check_rows()?;
        ratio(
            2 * self.true_positives,
            2 * self.true_positives + self.false_positives + self.false_negatives,
            Absent::ZeroDenominator,
        )
    }

    /// The correlation of Matthews (1975):
    /// (TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN)).
    pub fn mcc(&self) -> Result<f64, Absent> {
        self.check_classes()?;
        self.as_classes().mcc()
    }

    /// The kappa of Cohen (1960): (po - pe) / (1 - pe).
    pub fn kappa(&self) -> Result<f64, Absent> {
        super::agreement::kappa(&self.as_classes())
    }

    /// The same counts as two classes: 0 is negative, 1 positive.
    pub fn as_classes(&self) -> MultiClass {
        MultiClass {
            counts: vec![
                vec![self.true_negatives, self.false_positives],
                vec![self.false_negatives, self.true_positives],
            ],
        }
    }

    const fn positives(&self) -> u64 {
        self.true_positives + self.false_negatives
    }

    const fn negatives(&self) -> u64 {
        self.true_negatives + self.false_positives
    }

    const fn check_rows(&self) -> Result<(), Absent> {
        if self.count() == 0 {
            Err(Absent::Empty)
        } else {
            Ok(())
        }
    }

    fn check_classes(&self) -> Result<(), Absent> {
        self.check_rows()?;
        if self.positives() == 0 || self.negatives() == 0 {
            return Err(Absent::SingleClass);
        }
        Ok(())
    }
}

/// The value that as a threshold has the highest balanced accuracy, of equals the lowest.
pub fn best_threshold(tally: &Tally) -> Result<f64, Absent> {
    let sums = tally.cumulative();
    let mut best = Err(Absent::Empty);
    let mut highest = f64::NEG_INFINITY;
    for cell in tally.cells() {
        let [false_positives, true_positives] = sums.at_least(cell.value);
        let counts = Binary {
            true_positives,
            false_positives,
            true_negatives: tally.negative_count() - false_positives,
            false_negatives: tally.positive_count() - true_positives,
        };
        let accuracy = counts.balanced_accuracy()?;
        if highest < accuracy {
            (highest, best) = (accuracy, Ok(cell.value));
        }
    }
    best
}

/// The counts of a classification: labelled by given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MultiClass {
    counts: Vec<Vec<u64>>,
}

impl MultiClass {
    /// No rows of `class_count` classes; a class is a number below that.
    pub fn new(class_count: usize) -> Self {
        Self {
            counts: vec![vec![0; class_count]; class_count],
        }
    }

    /// Counts rows of a labelled and a given class.
    pub fn add(&mut self, actual: usize, given: usize, count: u64) {
        self.counts[actual][given] += count;
    }

    /// Classes.
    pub const fn class_count(&self) -> usize {
        self.counts.len()
    }

    /// Rows.
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// Rows of a labelled and a given class.
    pub fn count(&self, actual: usize, given: usize) -> u64 {
        self.counts[actual][given]
    }

    /// Rows whose given class is the labelled one.
    pub fn right(&self) -> u64 {
        (0..self.class_count())
            .map(|class| self.counts[class][class])
            .sum()
    }

    /// One class.
    pub fn class(&self, class: usize) -> Class {
        Class {
            support: self.counts[class].iter().sum(),
            given: self.counts.iter().map(|row| row[class]).sum(),
            right: self.counts[class][class],
        }
    }

    /// All classes in order.
    pub fn classes(&self) -> impl Iterator<Item = Class> {
        (0..self.class_count()).map(|class| self.class(class))
    }

    /// Share of the rows whose given class is the labelled one.
    pub fn accuracy(&self) -> Result<f64, Absent> {
        ratio(self.right(), self.total(), Absent::Empty)
    }

    /// Mean recall over the classes with rows.
    pub fn balanced_accuracy(&self) -> Result<f64, Absent> {
        mean(self.supported().map(|class| class.recall()))
    }

    /// Mean F1 over the classes with rows.
    pub fn macro_f1(&self) -> Result<f64, Absent> {
        mean(self.supported().map(|class| class.f1()))
    }

    /// The correlation of Matthews for many classes (Gorodkin 2004): with c right of s rows, t_k labelled and g_k given,
    /// (c s - sum t_k g_k) / sqrt((s^2 - sum g_k^2)(s^2 - sum t_k^2)).
    pub fn mcc(&self) -> Result<f64, Absent> {
        let total = i128::from(self.total());
        if total == 0 {
            return Err(Absent::Empty);
        }
        let (mut both, mut given, mut labelled) = (0_i128, 0_i128, 0_i128);
        for class in self.classes() {
            let (support, times_given) = (i128::from(class.support), i128::from(class.given));
            both += support * times_given;
            given += times_given * times_given;
            labelled += support * support;
        }
        let square = total * total;
        if labelled == square {
            return Err(Absent::SingleClass);
        }
        if given == square {
            return Err(Absent::ZeroDenominator);
        }
        let covariance = (i128::from(self.right()) * total - both) as f64;
        Ok(covariance / ((square - given) as f64 * (square - labelled) as f64).sqrt())
    }

    fn supported(&self) -> impl Iterator<Item = Class> {
        self.classes().filter(|class| 0 < class.support)
    }
}

/// One class of a classification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Rows with this label.
    pub support: u64,
    /// Rows that were given this class.
    pub given: u64,
    /// Rows that are both.
    pub right: u64,
}

impl Class {
    /// Right among the given.
    pub fn precision(&self) -> Result<f64, Absent> {
        ratio(self.right, self.given, Absent::ZeroDenominator)
    }

    /// Right among the labelled.
    pub fn recall(&self) -> Result<f64, Absent> {
        ratio(self.right, self.support, Absent::NoPositives)
    }

    /// 2 right / (labelled + given), the harmonic mean of precision and recall.
    pub fn f1(&self) -> Result<f64, Absent> {
        ratio(
            2 * self.right,
            self.support + self.given,
            Absent::ZeroDenominator,
        )
    }
}

/// A ratio of counts, or why there is none.
pub fn ratio(part: u64, whole: u64, absent: Absent) -> Result<f64, Absent> {
    if whole == 0 {
        return Err(absent);
    }
    Ok(part as f64 / whole as f64)
}

fn mean(values: impl Iterator<Item = Result<f64, Absent>>) -> Result<f64, Absent> {
    let (mut sum, mut count) = (0.0, 0_u64);
    for value in values {
        sum += value?;
        count += 1;
    }
    if count == 0 {
        return Err(Absent::Empty);
    }
    Ok(sum / count as f64)
}
