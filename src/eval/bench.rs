//! What a judge is worth on a labelled data set: from judgments and labels to the numbers of `judges bench`.
//!
//! Counts by value and by name go in, so neither the order of the rows nor concurrency changes a bit of the result. A
//! failed judgment is a count and never a number.

mod accepted;
mod decisions;
mod dimension;
mod guards;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use self::accepted::{Compared, compared};
use self::decisions::DecisionCounts;
use self::dimension::DimensionCounts;
use self::guards::GuardCounts;
use super::rows::Labels;
use super::rows::make::labels;
use super::summary::measured::{BIN_COUNT, LEVEL, NOISE_FLOOR_DRAWS, SEED};
use crate::artifact::digest::sha256;
use crate::cascade::settle;
use crate::dataset::record::{Context, Record};
use crate::domain::dimension::{Dimension, DimensionMap, DimensionRole, DimensionSet};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::Judgments;
use crate::policy::{self, Policy};
use crate::report::bench::{BenchConventions, BenchFile, BenchSet};

/// From which containment on guards are measured.
const GUARD_CONTAINMENT: f64 = 0.85;

/// How the numbers are made.
pub fn conventions() -> BenchConventions {
    BenchConventions {
        level: LEVEL,
        bin_count: BIN_COUNT,
        noise_floor_draws: NOISE_FLOOR_DRAWS,
        seed: SEED,
        guard_containment: GUARD_CONTAINMENT,
    }
}

/// What is known of a row before anybody is asked.
#[derive(Debug, Clone)]
pub struct Known {
    labels: Labels,
    group: [u8; 32],
}

impl Known {
    /// The labels of a row, and the group of rows that share its context.
    pub fn of(record: &Record) -> Self {
        let expected = record.expected.as_ref();
        Self {
            labels: expected
                .map(|expected| labels(expected, record))
                .unwrap_or_default(),
            group: group(&record.contexts),
        }
    }
}

/// The digest of all texts of a context, in order.
fn group(contexts: &[Context]) -> [u8; 32] {
    let mut bytes = Vec::new();
    for context in contexts {
        bytes.extend_from_slice(&(context.text.len() as u64).to_le_bytes());
        bytes.extend_from_slice(context.text.as_bytes());
    }
    sha256(&bytes)
}

/// The policy with every dimension asked, so that those that it switches off are measured too.
pub fn asking_all(policy: &Policy) -> Policy {
    let dimensions = DimensionMap::from_fn(|dimension| {
        let mut own = policy.dimensions[dimension];
        if own.role == DimensionRole::Off {
            own.role = DimensionRole::Advisory;
        }
        own
    });
    Policy {
        dimensions,
        ..policy.clone()
    }
}

/// Everything that is counted over one data set.
pub struct Counts<'a> {
    policy: &'a Policy,
    row_count: u64,
    excluded_row_count: u64,
    not_assessable_count: u64,
    /// By dimension that the judge is asked about.
    dimensions: BTreeMap<Dimension, DimensionCounts>,
    guards: GuardCounts,
    decisions: DecisionCounts,
}

impl<'a> Counts<'a> {
    /// Nothing yet, for a judge that is asked about these dimensions.
    pub fn new(policy: &'a Policy, asked: DimensionSet) -> Self {
        Self {
            policy,
            row_count: 0,
            excluded_row_count: 0,
            not_assessable_count: 0,
            dimensions: asked
                .iter()
                .map(|dimension| (dimension, DimensionCounts::default()))
                .collect(),
            guards: GuardCounts::default(),
            decisions: DecisionCounts::default(),
        }
    }

    /// A row that shares a context with an excluded file.
    pub fn excluded(&mut self) {
        self.excluded_row_count += 1;
    }

    /// A row that cannot be judged.
    pub fn not_assessable(&mut self) {
        self.row_count += 1;
        self.not_assessable_count += 1;
    }

    /// A row about which no judge could be asked.
    pub fn lost(&mut self, known: &Known, reason: FailureReason) {
        self.row_count += 1;
        for (dimension, counts) in &mut self.dimensions {
            for _ in known.labels_of(*dimension) {
                counts.failed(reason);
            }
        }
        self.decisions.unanswered();
    }

    /// A row with what stands for every question, as [`asking_all`] asks; `containment` is the share of the content
    /// words of the answer that stand in the context.
    pub fn add(&mut self, known: &Known, judgments: &Judgments, containment: Option<f64>) {
        self.row_count += 1;
        for (dimension, counts) in &mut self.dimensions {
            let judged = judgments.of(*dimension);
            for (place, label) in known.labels_of(*dimension) {
                if let Some(judgment) = judged.get(place) {
                    counts.add(judgment, label, known.group);
                }
            }
        }
        if containment.is_some_and(|share| GUARD_CONTAINMENT <= share)
            && let Some(label) = known.labels.whole.get(&Dimension::Groundedness)
        {
            self.guards.add(judgments, *label);
        }
        let under = settle::under(self.policy, judgments);
        let judgments = under.as_ref().unwrap_or(judgments);
        let ruling = policy::diagnose(self.policy, judgments);
        self.decisions.add(&ruling, &known.labels, judgments);
    }

    /// Rows about which the judge answered something.
    pub const fn answered_count(&self) -> u64 {
        self.decisions.answered_count()
    }

    /// The numbers.
    pub fn report(&self, name: String, file: BenchFile) -> BenchSet {
        let dimensions = self.dimensions.iter();
        let dimensions = dimensions.filter(|(_, counts)| !counts.is_empty());
        BenchSet {
            name,
            file,
            row_count: self.row_count,
            excluded_row_count: self.excluded_row_count,
            not_assessable_count: self.not_assessable_count,
            dimensions: dimensions
                .map(|(dimension, counts)| (*dimension, counts.report(dimension.polarity())))
                .collect(),
            guards: self.guards.report(),
            policy: self.decisions.report(),
        }
    }
}

impl Known {
    /// The labels of a dimension with the places of their judgments among those of the dimension.
    fn labels_of(&self, dimension: Dimension) -> impl Iterator<Item = (usize, bool)> {
        let (chunks, whole) = match dimension {
            Dimension::ChunkRelevance => (self.labels.chunks.as_slice(), None),
            whole => (&[][..], self.labels.whole.get(&whole).copied()),
        };
        let chunks = chunks.iter().enumerate();
        let chunks = chunks.filter_map(|(place, label)| Some((place, (*label)?)));
        chunks.chain(whole.map(|label| (0, label)))
    }
}
