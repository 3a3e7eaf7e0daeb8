//! Two modes on the same rows, and what a threshold on the confidence of the atomic diagnosis would do.

use super::measured::{BOOTSTRAP_REPLICATES, LEVEL, SEED};
use super::row::{Legs, answered, expected, is_assessable, is_automatic};
use super::spent::clamped;
use crate::domain::diagnosis::Diagnosis;
use crate::eval::rows::{Answered, End, Row};
use crate::report::model::compared::{Comparison, CostQuality};
use crate::report::model::{Measure, Mode, ModeReport, Modes};
use crate::stats::Absent;
use crate::stats::classification::Binary;
use crate::stats::paired::{self, Resampling};
use crate::stats::selective::round_confidence;

/// Groups of rows are drawn as so many blocks at most: a group is in the block of its hash.
const BLOCK_COUNT: usize = 4096;
/// The pairs of modes, each with what it is compared with.
const PAIRS: [(Mode, Mode); 3] = [
    (Mode::Cascade, Mode::BaselineOnly),
    (Mode::Cascade, Mode::AtomicOnly),
    (Mode::AtomicOnly, Mode::BaselineOnly),
];

/// The counts of a block: rows, then what [`Score`] counts of the first mode and of the second.
type Block = [u64; 1 + 2 * SCORES];
const SCORES: usize = 5;

/// The comparisons of the modes that were run.
pub(super) fn pairs_of(modes: &[Mode]) -> Vec<ComparisonCounts> {
    let both_run = |(first, second): &(Mode, Mode)| modes.contains(first) && modes.contains(second);
    PAIRS
        .into_iter()
        .filter(both_run)
        .map(|(first, second)| ComparisonCounts {
            first,
            second,
            first_only_right: 0,
            second_only_right: 0,
            blocks: vec![[0; 1 + 2 * SCORES]; BLOCK_COUNT],
        })
        .collect()
}

/// The counts of two modes on the rows that have a label.
pub(super) struct ComparisonCounts {
    first: Mode,
    second: Mode,
    first_only_right: u64,
    second_only_right: u64,
    blocks: Vec<Block>,
}

impl ComparisonCounts {
    pub(super) fn add(&mut self, row: &Row) {
        let Some(expected) = expected(row) else {
            return;
        };
        let (Some(first), Some(second)) = (row.ends.get(&self.first), row.ends.get(&self.second))
        else {
            return;
        };
        if !is_assessable(first) || !is_assessable(second) {
            return;
        }
        let first = score(expected, first);
        let second = score(expected, second);
        match (first[0] == 1, second[0] == 1) {
            (true, false) => self.first_only_right += 1,
            (false, true) => self.second_only_right += 1,
            (true, true) | (false, false) => (),
        }
        let block = &mut self.blocks[block_of(&row.group)];
        let one = std::iter::once(1).chain(first).chain(second);
        for (sum, value) in block.iter_mut().zip(one) {
            *sum += value;
        }
    }

    pub(super) fn report(&self, modes: &Modes) -> Option<Comparison> {
        let (first, second) = (modes.get(self.first)?, modes.get(self.second)?);
        let blocks: Vec<Block> = self
            .blocks
            .iter()
            .filter(|block| 0 < block[0])
            .copied()
            .collect();
        let mcnemar = paired::mcnemar(self.first_only_right, self.second_only_right);
        let is_empty = blocks.is_empty();
        let p = |value| {
            Measure::of(if is_empty {
                Err(Absent::Empty)
            } else {
                Ok(value)
            })
        };
        let (accuracy_difference, accuracy_p) = bootstrapped(&blocks, accuracy_difference);
        let (f1_difference, f1_p) = bootstrapped(&blocks, f1_difference);
        let latency = |get: fn(&ModeReport) -> Measure| difference(get(first), get(second));
        Some(Comparison {
            first: self.first,
            second: self.second,
            row_count: blocks.iter().map(|block| block[0]).sum(),
            first_only_right_count: self.first_only_right,
            second_only_right_count: self.second_only_right,
            mcnemar_p: p(mcnemar.exact),
            mcnemar_mid_p: p(mcnemar.mid_p),
            accuracy_difference,
            accuracy_p,
            f1_difference,
            f1_p,
            block_count: blocks.len() as u64,
            cost_difference_nano_usd: difference(
                first.cost.per_row_nano_usd,
                second.cost.per_row_nano_usd,
            ),
            p50_difference_ms: latency(|mode| mode.latency.all.p50_ms),
            p95_difference_ms: latency(|mode| mode.latency.all.p95_ms),
        })
    }
}

/// Right, then true and false positives, true and false negatives of finding what is not a PASS.
fn score(expected: Diagnosis, end: &End) -> [u64; SCORES] {
    let mut score = [0; SCORES];
    let Some(answered) = answered(end) else {
        return score;
    };
    let given = answered.diagnosis;
    score[0] = u64::from(given == expected);
    if given != Diagnosis::JudgeUncertain {
        let place = match (expected == Diagnosis::Pass, given == Diagnosis::Pass) {
            (false, false) => 1,
            (true, false) => 2,
            (true, true) => 3,
            (false, true) => 4,
        };
        score[place] = 1;
    }
    score
}

/// The block of a group; a name that is no hash is as good as any other.
fn block_of(group: &str) -> usize {
    let hash = u64::from_str_radix(group, 16).unwrap_or_default();
    (hash % BLOCK_COUNT as u64) as usize
}

/// Takes a sum of blocks apart: rows, first, second.
fn halves(sums: &Block) -> (u64, &[u64], &[u64]) {
    (sums[0], &sums[1..=SCORES], &sums[1 + SCORES..])
}

fn accuracy_difference(sums: &Block) -> Option<f64> {
    let (rows, first, second) = halves(sums);
    (0 < rows).then(|| (first[0] as f64 - second[0] as f64) / rows as f64)
}

fn f1_difference(sums: &Block) -> Option<f64> {
    let f1 = |counts: &[u64]| {
        let counts = Binary {
            true_positives: counts[1],
            false_positives: counts[2],
            true_negatives: counts[3],
            false_negatives: counts[4],
        };
        counts.f1().ok()
    };
    let (_, first, second) = halves(sums);
    Some(f1(first)? - f1(second)?)
}

/// A difference with its interval, and its p-value.
fn bootstrapped(blocks: &[Block], statistic: fn(&Block) -> Option<f64>) -> (Measure, Measure) {
    let resampling = Resampling {
        replicates: BOOTSTRAP_REPLICATES,
        seed: SEED,
        level: LEVEL,
    };
    match paired::bootstrap(blocks, resampling, statistic) {
        Ok(result) => (
            Measure::of(Ok(result.estimate)).within(Some((result.low, result.high))),
            Measure::of(Ok(result.p)),
        ),
        Err(absent) => (Measure::of(Err(absent)), Measure::of(Err(absent))),
    }
}

/// The first less the second, absent for the reason of either.
fn difference(first: Measure, second: Measure) -> Measure {
    let values = first.value.zip(second.value);
    let absent = first.absent.or(second.absent).unwrap_or(Absent::Unknown);
    Measure::of(values.map(|(first, second)| first - second).ok_or(absent))
}

/// The last threshold in hundredths.
const LAST: usize = 100;

/// Rows by the highest threshold at which they are accepted; the last entry is for those that never are.
pub(super) struct CostQualityCounts {
    row_count: u64,
    accepted: [u64; LAST + 2],
    accepted_right: [u64; LAST + 2],
    baseline_right: [u64; LAST + 2],
    atomic_nano_usd: Option<i128>,
    baseline_nano_usd: Option<[i128; LAST + 2]>,
    atomic_us: u128,
    baseline_us: [u128; LAST + 2],
}

impl CostQualityCounts {
    /// Only where both judges were asked alone.
    pub(super) fn of(modes: &[Mode]) -> Option<Self> {
        let are_run = modes.contains(&Mode::AtomicOnly) && modes.contains(&Mode::BaselineOnly);
        are_run.then_some(Self {
            row_count: 0,
            accepted: [0; LAST + 2],
            accepted_right: [0; LAST + 2],
            baseline_right: [0; LAST + 2],
            atomic_nano_usd: Some(0),
            baseline_nano_usd: Some([0; LAST + 2]),
            atomic_us: 0,
            baseline_us: [0; LAST + 2],
        })
    }

    pub(super) fn add(&mut self, row: &Row) {
        let Some(expected) = expected(row) else {
            return;
        };
        let ends = (
            row.ends.get(&Mode::AtomicOnly),
            row.ends.get(&Mode::BaselineOnly),
        );
        let (Some(atomic), Some(baseline)) = ends else {
            return;
        };
        if !is_assessable(atomic) || !is_assessable(baseline) {
            return;
        }
        let is_right = |end| answered(end).is_some_and(|answered| answered.diagnosis == expected);
        let highest = answered(atomic).and_then(highest_threshold);
        let place = highest.unwrap_or(LAST + 1);
        self.row_count += 1;
        self.accepted[place] += 1;
        self.accepted_right[place] += u64::from(is_right(atomic));
        self.baseline_right[place] += u64::from(is_right(baseline));
        let atomic = Legs::of(row, Mode::AtomicOnly);
        let baseline = Legs::of(row, Mode::BaselineOnly);
        self.atomic_nano_usd = self
            .atomic_nano_usd
            .zip(atomic.nano_usd())
            .map(|(sum, cost)| sum + i128::from(cost));
        match (&mut self.baseline_nano_usd, baseline.nano_usd()) {
            (Some(sums), Some(cost)) => sums[place] += i128::from(cost),
            (_, None) => self.baseline_nano_usd = None,
            (None, Some(_)) => (),
        }
        self.atomic_us += u128::from(atomic.latency_us().unwrap_or_default());
        self.baseline_us[place] += u128::from(baseline.latency_us().unwrap_or_default());
    }

    pub(super) fn report(&self) -> Option<CostQuality> {
        if self.row_count == 0 {
            return None;
        }
        let thresholds = 0..=LAST;
        // Accepted at j is what stays accepted up to j or higher; the rest goes on.
        let above = |counts: &[u64; LAST + 2], j: usize| counts[j..=LAST].iter().sum::<u64>();
        let below =
            |counts: &[u64; LAST + 2], j: usize| counts[..j].iter().sum::<u64>() + counts[LAST + 1];
        let mean_ms = |j: usize| {
            let baseline_us =
                self.baseline_us[..j].iter().sum::<u128>() + self.baseline_us[LAST + 1];
            (self.atomic_us + baseline_us) as f64 / self.row_count as f64 / 1000.0
        };
        let costs = self.atomic_nano_usd.zip(self.baseline_nano_usd);
        Some(CostQuality {
            row_count: self.row_count,
            accepted: thresholds
                .clone()
                .map(|j| above(&self.accepted, j))
                .collect(),
            accepted_wrong: thresholds
                .clone()
                .map(|j| above(&self.accepted, j) - above(&self.accepted_right, j))
                .collect(),
            right: thresholds
                .clone()
                .map(|j| above(&self.accepted_right, j) + below(&self.baseline_right, j))
                .collect(),
            nano_usd: costs.map(|(atomic, baseline)| {
                let cost =
                    |j: usize| atomic + baseline[..j].iter().sum::<i128>() + baseline[LAST + 1];
                thresholds.clone().map(|j| clamped(cost(j))).collect()
            }),
            mean_latency_ms: thresholds.map(mean_ms).collect(),
        })
    }
}

/// The highest threshold in hundredths at which the atomic diagnosis is accepted.
fn highest_threshold(answered: &Answered) -> Option<usize> {
    if !is_automatic(answered, Mode::AtomicOnly) {
        return None;
    }
    let confidence = round_confidence(answered.confidence?.value());
    (0..=LAST).rev().find(|j| *j as f64 / 100.0 <= confidence)
}
