//! One row as the counts see it: its label, and what stands for every question in one mode.

use std::collections::BTreeMap;

use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::{Dimension, DimensionMap};
use crate::domain::outcome::{JudgeRole, Route};
use crate::domain::trace::JudgeId;
use crate::eval::rows::{Answered, Call, Cell, End, Leg, Row};
use crate::policy::Policy;
use crate::policy::thresholds::Thresholds;
use crate::report::model::wrong::JudgmentInfo;
use crate::report::model::{JudgeInfo, Mode};

/// The thresholds of the policy, by the judge that they are for.
pub(in crate::eval) struct Pairs {
    atomic: DimensionMap<Option<Thresholds>>,
    fallback: BTreeMap<String, DimensionMap<Option<Thresholds>>>,
    fallback_judge: Option<String>,
}

impl Pairs {
    pub(in crate::eval) fn new(policy: &Policy, judges: &[JudgeInfo]) -> Self {
        let of = |role, judge_id: &str| {
            let judge_id = JudgeId::from(judge_id);
            DimensionMap::from_fn(|dimension| policy.pair(dimension, role, &judge_id))
        };
        let fallback = judges
            .iter()
            .filter(|judge| judge.role == JudgeRole::Fallback);
        Self {
            atomic: of(JudgeRole::Atomic, ""),
            fallback_judge: fallback.clone().map(|judge| judge.judge_id.clone()).next(),
            fallback: fallback
                .map(|judge| {
                    let pairs = of(JudgeRole::Fallback, &judge.judge_id);
                    (judge.judge_id.clone(), pairs)
                })
                .collect(),
        }
    }

    /// The thresholds that an answer of that judge is held against; `None` for a dimension that is off.
    pub(in crate::eval) fn get(
        &self,
        dimension: Dimension,
        role: JudgeRole,
        judge: &str,
    ) -> Option<Thresholds> {
        match role {
            JudgeRole::Atomic => self.atomic[dimension],
            JudgeRole::Fallback => self
                .fallback
                .get(judge)
                .map_or(self.atomic[dimension], |pairs| pairs[dimension]),
        }
    }

    /// The thresholds that the first judge of a mode is held against.
    pub(in crate::eval) fn of_mode(&self, dimension: Dimension, mode: Mode) -> Option<Thresholds> {
        match mode {
            Mode::AtomicOnly | Mode::Cascade => self.get(dimension, JudgeRole::Atomic, ""),
            Mode::BaselineOnly => {
                let judge = self.fallback_judge.as_deref().unwrap_or_default();
                self.get(dimension, JudgeRole::Fallback, judge)
            }
        }
    }
}

/// The diagnosis that a row is scored against; NOT_ASSESSABLE is none that a judge could find.
pub(in crate::eval) fn expected(row: &Row) -> Option<Diagnosis> {
    row.labels
        .diagnosis
        .filter(|diagnosis| *diagnosis != Diagnosis::NotAssessable)
}

/// Whether a row can be judged at all.
pub(in crate::eval) fn is_assessable(end: &End) -> bool {
    match end {
        End::Failed { .. } => true,
        End::NotAssessable { .. } => false,
        End::Answered(answered) => answered.diagnosis != Diagnosis::NotAssessable,
    }
}

/// The diagnosis of a row that got one.
pub(in crate::eval) fn answered(end: &End) -> Option<&Answered> {
    match end {
        End::Failed { .. } | End::NotAssessable { .. } => None,
        End::Answered(answered) => {
            (answered.diagnosis != Diagnosis::NotAssessable).then_some(answered)
        }
    }
}

/// Whether a mode decided by its first judge alone; everything that `baseline_only` decides, it decides so.
pub(in crate::eval) fn is_automatic(answered: &Answered, mode: Mode) -> bool {
    answered.diagnosis != Diagnosis::JudgeUncertain
        && match mode {
            Mode::AtomicOnly | Mode::Cascade => answered.route == Route::Auto,
            Mode::BaselineOnly => true,
        }
}

/// The legs of a row that a mode stands on.
#[derive(Clone, Copy)]
pub(in crate::eval) struct Legs<'a> {
    row: &'a Row,
    /// The judge that is asked first.
    pub(in crate::eval) first: Option<&'a Leg>,
    /// The fallback judge after it.
    pub(in crate::eval) second: Option<&'a Leg>,
    first_role: JudgeRole,
}

/// One question of a row: its label and what stands for it.
pub(in crate::eval) struct Standing<'a> {
    pub(in crate::eval) dimension: Dimension,
    /// The place of the chunk, for chunk relevance.
    pub(in crate::eval) chunk: Option<usize>,
    pub(in crate::eval) label: Option<bool>,
    pub(in crate::eval) cell: Option<&'a Cell>,
    /// The judge that the cell is from.
    pub(in crate::eval) judge: &'a str,
    pub(in crate::eval) role: JudgeRole,
}

impl<'a> Legs<'a> {
    pub(in crate::eval) fn of(row: &'a Row, mode: Mode) -> Self {
        let (first, second, first_role) = match mode {
            Mode::AtomicOnly => (row.atomic.as_ref(), None, JudgeRole::Atomic),
            Mode::BaselineOnly => (row.baseline.as_ref(), None, JudgeRole::Fallback),
            Mode::Cascade => (
                row.atomic.as_ref(),
                row.fallback.as_ref(),
                JudgeRole::Atomic,
            ),
        };
        Self {
            row,
            first,
            second,
            first_role,
        }
    }

    /// Those of the judge that is asked first alone.
    pub(in crate::eval) fn first_alone(self) -> Self {
        Self {
            second: None,
            ..self
        }
    }

    /// Whether a judge gave a whole diagnosis in place of judgments.
    pub(in crate::eval) fn has_verdict(self) -> bool {
        let legs = [self.first, self.second].into_iter().flatten();
        legs.into_iter().any(|leg| leg.verdict.is_some())
    }

    /// How long the calls took that had to wait for each other; `None` if no judge was asked.
    pub(in crate::eval) fn latency_us(self) -> Option<u64> {
        let asked = [self.first, self.second]
            .into_iter()
            .flatten()
            .filter(|leg| was_asked(leg));
        asked.map(|leg| leg.latency_us).reduce(u64::saturating_add)
    }

    /// What both legs cost, if that is known; nothing was spent where no judge was asked.
    pub(in crate::eval) fn nano_usd(self) -> Option<i64> {
        let cost = |leg: Option<&Leg>| match leg {
            Some(leg) if was_asked(leg) => leg.nano_usd,
            Some(_) | None => Some(0),
        };
        Some(cost(self.first)?.saturating_add(cost(self.second)?))
    }

    /// Every question of the row; an answer of the fallback judge stands in the place of the open one.
    pub(in crate::eval) fn standings(self) -> impl Iterator<Item = Standing<'a>> {
        let labels = &self.row.labels;
        let legs = [self.first, self.second].into_iter().flatten();
        let chunk_count = legs
            .map(|leg| leg.chunks.len())
            .chain([self.row.chunk_ids.len(), labels.chunks.len()])
            .max()
            .unwrap_or_default();
        let chunks = (0..chunk_count).map(|place| (Dimension::ChunkRelevance, Some(place)));
        let whole = Dimension::ALL
            .iter()
            .filter(|dimension| **dimension != Dimension::ChunkRelevance)
            .map(|dimension| (*dimension, None));
        chunks
            .chain(whole)
            .map(move |(dimension, chunk)| self.standing(dimension, chunk))
    }

    fn standing(self, dimension: Dimension, chunk: Option<usize>) -> Standing<'a> {
        let labels = &self.row.labels;
        let label = match chunk {
            Some(place) => labels.chunks.get(place).copied().flatten(),
            None => labels.whole.get(&dimension).copied(),
        };
        let first = self.first.and_then(|leg| said(leg, dimension, chunk));
        let second = self
            .second
            .and_then(|leg| said(leg, dimension, chunk))
            .filter(|(cell, _)| cell.probability().is_some());
        let (found, role) = match second {
            Some(second) => (Some(second), JudgeRole::Fallback),
            None => (first, self.first_role),
        };
        Standing {
            dimension,
            chunk,
            label,
            cell: found.map(|(cell, _)| cell),
            judge: found.map_or("", |(_, judge)| judge),
            role,
        }
    }

    /// Every probability of the row.
    pub(in crate::eval) fn probabilities(self) -> Vec<JudgmentInfo> {
        let judged = self.standings().filter_map(|standing| {
            let probability = standing.cell?.probability()?;
            Some(JudgmentInfo {
                dimension: standing.dimension,
                chunk_id: self.chunk_id(standing.chunk),
                probability: probability.value(),
                label: standing.label,
            })
        });
        judged.collect()
    }

    /// The id of a chunk by its place.
    pub(in crate::eval) fn chunk_id(self, place: Option<usize>) -> Option<String> {
        place.and_then(|place| self.row.chunk_ids.get(place).cloned())
    }
}

/// Whether any judge was asked in a leg.
pub(in crate::eval) fn was_asked(leg: &Leg) -> bool {
    leg.calls.iter().any(is_sent)
}

/// Whether a call was sent; one that failed at once and told nothing was not: an open breaker, a spent budget, a recorded
/// answer that is missing.
pub(in crate::eval) const fn is_sent(call: &Call) -> bool {
    call.failure.is_none() || call.latency_us != 0 || call.usage.is_some()
}

/// What a leg said to a question, and which judge said it.
fn said(leg: &Leg, dimension: Dimension, chunk: Option<usize>) -> Option<(&Cell, &str)> {
    let cell = match chunk {
        Some(place) => leg.chunks.get(place)?.as_ref()?,
        None => leg.whole.get(&dimension)?,
    };
    let judge = match cell {
        Cell::Judged {
            judge_id: Some(judge_id),
            ..
        } => judge_id,
        Cell::Judged { judge_id: None, .. }
        | Cell::Plain(_)
        | Cell::NotApplicable { .. }
        | Cell::Failed { .. } => &leg.judge_id,
    };
    Some((cell, judge))
}
