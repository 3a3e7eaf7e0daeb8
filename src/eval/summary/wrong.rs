//! What is confident and wrong: lists of bounded length by a total order.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::row::{Legs, Pairs, answered, expected, is_automatic};
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::probability::Probability;
use crate::eval::rows::{Answered, Row};
use crate::policy::band::Band;
use crate::report::model::Mode;
use crate::report::model::wrong::{WrongDiagnosis, WrongJudgment};

/// The most rows that are listed.
const MAX_DIAGNOSES: usize = 50;
/// The most judgments that are listed of a dimension.
const MAX_JUDGMENTS: usize = 10;

/// The first entries of an order, however many are offered.
struct Firsts<K, V> {
    entries: BTreeMap<K, V>,
    most: usize,
}

impl<K: Ord, V> Firsts<K, V> {
    const fn new(most: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            most,
        }
    }

    fn offer(&mut self, key: K, value: impl FnOnce() -> V) {
        let is_full = self.entries.len() == self.most;
        let is_last = self
            .entries
            .last_key_value()
            .is_some_and(|(last, _)| *last < key);
        if is_full && is_last {
            return;
        }
        self.entries.insert(key, value());
        if self.most < self.entries.len() {
            self.entries.pop_last();
        }
    }
}

/// Surest first: numbers from 0 have the order of their bits; without a number comes last.
fn surest(confidence: Option<f64>) -> Reverse<Option<u64>> {
    Reverse(confidence.map(f64::to_bits))
}

/// Rows that a judge decided by itself, and wrongly; one entry a row.
pub(super) struct WrongDiagnoses {
    modes: Vec<Mode>,
    count: u64,
    firsts: Firsts<(Reverse<Option<u64>>, u64), WrongDiagnosis>,
}

impl WrongDiagnoses {
    /// What the atomic judge decides is the same in each of its modes, and the baseline decides by itself only where
    /// nothing else was run.
    pub(super) fn new(run: &[Mode]) -> Self {
        let atomic = [Mode::Cascade, Mode::AtomicOnly];
        let mut modes: Vec<_> = atomic
            .into_iter()
            .filter(|mode| run.contains(mode))
            .collect();
        if modes.is_empty() {
            modes.push(Mode::BaselineOnly);
        }
        Self {
            modes,
            count: 0,
            firsts: Firsts::new(MAX_DIAGNOSES),
        }
    }

    pub(super) fn add(&mut self, row: &Row) {
        let Some(expected) = expected(row) else {
            return;
        };
        let found = self.modes.iter().find_map(|mode| {
            let answered = answered(row.ends.get(mode)?)?;
            is_automatic(answered, *mode).then_some((*mode, answered))
        });
        let Some((mode, answered)) = found.filter(|(_, answered)| answered.diagnosis != expected)
        else {
            return;
        };
        self.count += 1;
        let confidence = answered.confidence.map(Probability::value);
        self.firsts.offer((surest(confidence), row.index), || {
            wrong_diagnosis(row, mode, answered)
        });
    }

    /// The list, and how many rows have no room in it.
    pub(super) fn list(&self) -> (Vec<WrongDiagnosis>, u64) {
        let list: Vec<_> = self.firsts.entries.values().cloned().collect();
        let left_out = self.count - list.len() as u64;
        (list, left_out)
    }
}

fn wrong_diagnosis(row: &Row, mode: Mode, answered: &Answered) -> WrongDiagnosis {
    WrongDiagnosis {
        index: row.index,
        trace_id: row.trace_id.clone(),
        mode,
        given: answered.diagnosis,
        expected: expected(row).unwrap_or(answered.diagnosis),
        confidence: answered.confidence.map(Probability::value),
        rule: answered.rule.name().to_owned(),
        dimension: answered.dimension,
        value: answered.value.map(Probability::value),
        threshold: answered.threshold.map(Probability::value),
        judgments: Legs::of(row, mode).probabilities(),
    }
}

/// The order of wrong judgments: surest, row, chunk.
type JudgmentKey = (Reverse<Option<u64>>, u64, Option<usize>);

/// Judgments of the first judge that the policy decides by, and wrongly.
pub(super) struct WrongJudgments {
    mode: Mode,
    firsts: BTreeMap<Dimension, Firsts<JudgmentKey, WrongJudgment>>,
}

impl WrongJudgments {
    pub(super) fn new(run: &[Mode]) -> Self {
        let modes = [Mode::AtomicOnly, Mode::Cascade];
        Self {
            mode: modes
                .into_iter()
                .find(|mode| run.contains(mode))
                .unwrap_or(Mode::BaselineOnly),
            firsts: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, row: &Row, pairs: &Pairs) {
        let legs = Legs::of(row, self.mode).first_alone();
        for standing in legs.standings() {
            let probability = standing.cell.and_then(|cell| cell.probability());
            let pair = pairs.get(standing.dimension, standing.role, standing.judge);
            let (Some(label), Some(probability), Some(pair)) = (standing.label, probability, pair)
            else {
                continue;
            };
            let is_wrong = match pair.band(probability) {
                Band::Negative => label,
                Band::Positive => !label,
                Band::Uncertain => false,
            };
            if !is_wrong {
                continue;
            }
            let confidence = probability.max(probability.complement()).value();
            let firsts = self.firsts.entry(standing.dimension);
            let firsts = firsts.or_insert_with(|| Firsts::new(MAX_JUDGMENTS));
            firsts.offer(
                (surest(Some(confidence)), row.index, standing.chunk),
                || WrongJudgment {
                    index: row.index,
                    trace_id: row.trace_id.clone(),
                    mode: self.mode,
                    chunk_id: legs.chunk_id(standing.chunk),
                    probability: probability.value(),
                    label,
                },
            );
        }
    }

    pub(super) fn list(&self) -> BTreeMap<Dimension, Vec<WrongJudgment>> {
        self.firsts
            .iter()
            .map(|(dimension, firsts)| (*dimension, firsts.entries.values().cloned().collect()))
            .collect()
    }
}
