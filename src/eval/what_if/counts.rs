//! Counts of what two policies make of rows: counted row by row, added up in any order, told at the end.
//!
//! The counts of parts of a file add up to the counts of the file, whoever read which part.

use std::collections::{BTreeMap, BTreeSet};

use super::decide::{Decision, NOT_ASSESSABLE, Served};
use super::difference::{
    AsRecorded, CostSum, Crossed, CrossedAction, Difference, Flip, Kind, LabelChange, NotDecided,
    Quality, SCHEMA_VERSION, Side,
};
use super::recorded::{Decided, Recorded};
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::{Action, Diagnosis};
use crate::domain::dimension::Dimension;
use crate::domain::outcome::{NanoUsd, Route};
use crate::policy::Policy;
use crate::report::model::{Measure, SnapshotInfo};
use crate::stats::Absent;
use crate::stats::interval::clopper_pearson;

/// The level of every interval.
const LEVEL: f64 = 0.95;
const DIAGNOSES: usize = Diagnosis::ALL.len();
const ACTIONS: usize = Action::ALL.len();

/// The two policies and how much is told.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Both policies.
    pub policies: [&'a Policy; 2],
    /// How many examples are kept of each flip.
    pub examples: usize,
}

/// The place of a trace in the dataset, if the file tells it, and its id.
type Example = (Option<u64>, String);

/// Counts of what two policies make of some rows.
#[derive(Debug, Default)]
pub struct Counts {
    row_count: u64,
    not_assessable_count: u64,
    not_decided: BTreeMap<NotDecided, u64>,
    has_cut_off_line: bool,
    not_in_data_count: u64,
    sides: [SideCounts; 2],
    crossed: [[u64; DIAGNOSES]; DIAGNOSES],
    /// By place in the dataset, else by trace id, so that they are the same in whatever order the lines stand.
    examples: BTreeMap<(Diagnosis, Diagnosis), BTreeSet<Example>>,
    actions: [[u64; ACTIONS]; ACTIONS],
    abstention_unknown_count: u64,
    mended_count: u64,
    broken_count: u64,
}

#[derive(Debug, Default)]
struct SideCounts {
    routes: [u64; Route::ALL.len()],
    served: [u64; Served::ALL.len()],
    never_asked: [u64; Dimension::COUNT],
    known_cost: NanoUsd,
    unknown_cost_count: u64,
    recorded_count: u64,
    same_count: u64,
    labelled_count: u64,
    right_count: u64,
    automatic: Wrong,
    automatic_pass: Wrong,
    automatic_fail: Wrong,
}

#[derive(Debug, Default, Clone, Copy)]
struct Wrong {
    count: u64,
    wrong_count: u64,
}

impl Wrong {
    fn add(&mut self, is_wrong: bool) {
        self.count += 1;
        self.wrong_count += u64::from(is_wrong);
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            wrong_count: self.wrong_count + other.wrong_count,
        }
    }

    fn share(self) -> Measure {
        share(self.wrong_count, self.count)
    }
}

impl Counts {
    /// Counts a row that cannot be decided again.
    pub fn not_decided(&mut self, reason: NotDecided) {
        *self.not_decided.entry(reason).or_default() += 1;
    }

    /// Counts a last line that was cut off.
    pub fn cut_off(&mut self) {
        self.has_cut_off_line = true;
    }

    /// Counts a trace that the dataset does not have.
    pub fn not_in_data(&mut self) {
        self.not_in_data_count += 1;
    }

    /// Counts a trace that cannot be judged.
    pub fn not_assessable(&mut self, asked: Asked<'_>, row: &Recorded<'_>) {
        self.not_assessable_count += 1;
        self.crossed(asked, row, [NOT_ASSESSABLE; 2]);
    }

    /// Counts a trace that both policies decided.
    pub fn add(&mut self, asked: Asked<'_>, row: &Recorded<'_>, decisions: [Decision; 2]) {
        for (side, decision) in self.sides.iter_mut().zip(&decisions) {
            side.add(decision, row);
        }
        let decided = decisions.map(|decision| decision.decided);
        if let Some(label) = row.true_diagnosis() {
            let [before, after] = decided.map(|decided| decided.diagnosis == label);
            self.mended_count += u64::from(after && !before);
            self.broken_count += u64::from(before && !after);
        }
        self.crossed(asked, row, decided);
    }

    fn crossed(&mut self, asked: Asked<'_>, row: &Recorded<'_>, both: [Decided; 2]) {
        self.row_count += 1;
        self.abstention_unknown_count += u64::from(row.abstains.is_none());
        let [before, after] = both.map(|decided| decided.diagnosis);
        self.crossed[before.index()][after.index()] += 1;
        let abstains = row.abstains == Some(true);
        let actions = [0, 1].map(|side| {
            let table = &asked.policies[side].actions;
            table.action(both[side].diagnosis, abstains).index()
        });
        self.actions[actions[0]][actions[1]] += 1;
        if before != after {
            let examples = self.examples.entry((before, after)).or_default();
            let is_early = examples.len() < asked.examples
                || examples.last().is_some_and(|(index, trace_id)| {
                    (row.index, &*row.trace_id) < (*index, trace_id)
                });
            if is_early && 0 < asked.examples {
                examples.insert((row.index, row.trace_id.clone().into_owned()));
                if asked.examples < examples.len() {
                    examples.pop_last();
                }
            }
        }
    }

    /// Adds the counts of other rows of the same file.
    #[must_use]
    pub fn plus(mut self, other: Self, examples: usize) -> Self {
        self.row_count += other.row_count;
        self.not_assessable_count += other.not_assessable_count;
        for (reason, count) in other.not_decided {
            *self.not_decided.entry(reason).or_default() += count;
        }
        self.has_cut_off_line |= other.has_cut_off_line;
        self.not_in_data_count += other.not_in_data_count;
        for (side, other) in self.sides.iter_mut().zip(&other.sides) {
            side.plus(other);
        }
        add_all(
            self.crossed.as_flattened_mut(),
            other.crossed.as_flattened(),
        );
        add_all(
            self.actions.as_flattened_mut(),
            other.actions.as_flattened(),
        );
        for (flip, others) in other.examples {
            let kept = self.examples.entry(flip).or_default();
            kept.extend(others);
            while examples < kept.len() {
                kept.pop_last();
            }
        }
        self.abstention_unknown_count += other.abstention_unknown_count;
        self.mended_count += other.mended_count;
        self.broken_count += other.broken_count;
        self
    }

    /// What the counts say.
    pub fn difference(self, kind: Kind, policies: [SnapshotInfo; 2]) -> Difference {
        let assessable = self.row_count - self.not_assessable_count;
        let [before, after] = policies;
        let [first, second] = &self.sides;
        let is_labelled = 0 < first.labelled_count;
        let diagnoses = crossed(&self.crossed, |before, after, count| Crossed {
            before,
            after,
            count,
        });
        let mut examples = self.examples;
        let flips: Vec<Flip> = diagnoses
            .iter()
            .filter(|cell| cell.before != cell.after)
            .map(|cell| Flip {
                before: cell.before,
                after: cell.after,
                count: cell.count,
                examples: examples
                    .remove(&(cell.before, cell.after))
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(_, trace_id)| trace_id)
                    .collect(),
            })
            .collect();
        Difference {
            schema_version: SCHEMA_VERSION,
            kind,
            row_count: self.row_count,
            not_assessable_count: self.not_assessable_count,
            not_decided: self.not_decided,
            has_cut_off_line: self.has_cut_off_line,
            not_in_data_count: self.not_in_data_count,
            changed_count: flips.iter().map(|flip| flip.count).sum(),
            before: first.side(before, assessable),
            after: second.side(after, assessable),
            diagnoses,
            flips,
            actions: crossed(&self.actions, |before, after, count| CrossedAction {
                before,
                after,
                count,
            }),
            abstention_unknown_count: self.abstention_unknown_count,
            labels: is_labelled.then_some(LabelChange {
                mended_count: self.mended_count,
                broken_count: self.broken_count,
            }),
        }
    }
}

impl SideCounts {
    fn add(&mut self, decision: &Decision, row: &Recorded<'_>) {
        let decided = &decision.decided;
        self.routes[decided.route.index()] += 1;
        self.served[decision.served.index()] += 1;
        for dimension in decision.never_asked.iter() {
            self.never_asked[dimension.index()] += 1;
        }
        match decision.cost {
            Some(cost) => self.known_cost = self.known_cost.plus(cost),
            None => self.unknown_cost_count += 1,
        }
        if let Some(recorded) = &row.decided {
            self.recorded_count += 1;
            self.same_count += u64::from(recorded == decided);
        }
        let Some(label) = row.true_diagnosis() else {
            return;
        };
        let is_right = decided.diagnosis == label;
        self.labelled_count += 1;
        self.right_count += u64::from(is_right);
        if decided.route == Route::Auto {
            self.automatic.add(!is_right);
            if decided.diagnosis == Diagnosis::Pass {
                self.automatic_pass.add(!is_right);
            } else {
                self.automatic_fail.add(label == Diagnosis::Pass);
            }
        }
    }

    fn plus(&mut self, other: &Self) {
        add_all(&mut self.routes, &other.routes);
        add_all(&mut self.served, &other.served);
        add_all(&mut self.never_asked, &other.never_asked);
        self.known_cost = self.known_cost.plus(other.known_cost);
        self.unknown_cost_count += other.unknown_cost_count;
        self.recorded_count += other.recorded_count;
        self.same_count += other.same_count;
        self.labelled_count += other.labelled_count;
        self.right_count += other.right_count;
        self.automatic = self.automatic.plus(other.automatic);
        self.automatic_pass = self.automatic_pass.plus(other.automatic_pass);
        self.automatic_fail = self.automatic_fail.plus(other.automatic_fail);
    }

    fn side(&self, policy: SnapshotInfo, assessable: u64) -> Side {
        let automatic = self.routes[Route::Auto.index()];
        let needed = assessable - automatic;
        Side {
            policy,
            routes: by_name(&self.routes),
            fallback_rate: rate(needed, assessable),
            served: by_name(&self.served),
            never_asked: by_name(&self.never_asked),
            cost: CostSum {
                nano_usd: (self.unknown_cost_count == 0).then_some(self.known_cost.0),
                known_nano_usd: self.known_cost.0,
                unknown_count: self.unknown_cost_count,
            },
            as_recorded: (0 < self.recorded_count).then_some(AsRecorded {
                recorded_count: self.recorded_count,
                same_count: self.same_count,
            }),
            quality: (0 < self.labelled_count).then(|| Quality {
                labelled_count: self.labelled_count,
                accuracy: share(self.right_count, self.labelled_count),
                automatic_count: self.automatic.count,
                automatic_risk: self.automatic.share(),
                false_pass: self.automatic_pass.share(),
                false_fail: self.automatic_fail.share(),
            }),
        }
    }
}

fn rate(part: u64, whole: u64) -> Measure {
    let value = if whole == 0 {
        Err(Absent::Empty)
    } else {
        Ok(part as f64 / whole as f64)
    };
    Measure::of(value)
}

/// A share with its exact interval.
fn share(part: u64, whole: u64) -> Measure {
    rate(part, whole).within(clopper_pearson(part, whole, LEVEL).ok())
}

fn add_all(counts: &mut [u64], others: &[u64]) {
    for (count, other) in counts.iter_mut().zip(others) {
        *count += other;
    }
}

/// What was counted at all, by name.
fn by_name<T: crate::domain::Vocabulary + Ord>(counts: &[u64]) -> BTreeMap<T, u64> {
    let all = T::ALL.iter().copied().zip(counts.iter().copied());
    all.filter(|(_, count)| 0 < *count).collect()
}

/// The cells of a cross table that hold anything, row by row.
fn crossed<T: crate::domain::Vocabulary, U, const N: usize>(
    table: &[[u64; N]; N],
    cell: impl Fn(T, T, u64) -> U,
) -> Vec<U> {
    let rows = T::ALL.iter().zip(table);
    rows.flat_map(|(before, row)| {
        T::ALL
            .iter()
            .zip(row)
            .map(move |(after, count)| (before, after, count))
    })
    .filter(|(_, _, count)| 0 < **count)
    .map(|(before, after, count)| cell(*before, *after, *count))
    .collect()
}
