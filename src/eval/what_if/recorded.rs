//! Recorded rows as they are read: borrowed from the line wherever that is possible, and built into judgments once.
//!
//! What was not asked is absent here and never a number; the policy decides what that means.

use std::borrow::Cow;

use crate::cascade::plan::unanswered;
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::{Diagnosis, Rule, Verdict};
use crate::domain::dimension::Dimension;
use crate::domain::failure::{FailureReason, NotApplicableReason};
use crate::domain::judgment::{
    Answers, Failure, Judged, Judgment, JudgmentBasis, JudgmentDelivery, JudgmentSource, Judgments,
    SeenFraction,
};
use crate::domain::outcome::{JudgeRole, NanoUsd, Route};
use crate::domain::probability::Probability;
use crate::domain::question::{PerQuestion, Question, QuestionSet};
use crate::domain::trace::JudgeId;

/// One recorded row.
#[derive(Debug, Default)]
pub struct Recorded<'a> {
    /// Its place in the dataset, if the file tells it.
    pub index: Option<u64>,
    /// The trace.
    pub trace_id: Cow<'a, str>,
    /// Whether the trace can be judged at all.
    pub is_assessable: bool,
    /// How many chunks the trace has.
    pub chunk_count: usize,
    /// What the atomic judge said.
    pub atomic: Option<Box<Leg<'a>>>,
    /// What the fallback judge said after it.
    pub fallback: Option<Box<Leg<'a>>>,
    /// What the fallback judge said to every question.
    pub baseline: Option<Box<Leg<'a>>>,
    /// Whether the answer abstains, if that is known.
    pub abstains: Option<bool>,
    /// The true diagnosis, if it is known.
    pub label: Option<Diagnosis>,
    /// What was decided when the row was recorded.
    pub decided: Option<Decided>,
    /// Whether it went no further than the atomic judge, which failed as a whole.
    pub has_ended: bool,
}

impl Recorded<'_> {
    /// The diagnosis that decisions are held against; NOT_ASSESSABLE is none that a judge could find.
    pub fn true_diagnosis(&self) -> Option<Diagnosis> {
        self.label
            .filter(|diagnosis| *diagnosis != Diagnosis::NotAssessable)
    }
}

/// A decision, as far as two decisions over the same judgments are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decided {
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Its confidence.
    pub confidence: Option<Probability>,
    /// How it was reached.
    pub route: Route,
    /// The rule that fired.
    pub rule: Rule,
}

/// What one judge was recorded to have said.
#[derive(Debug, Default)]
pub struct Leg<'a> {
    /// The judge, unless a cell tells otherwise.
    pub judge_id: Cow<'a, str>,
    /// What kind of numbers, unless a cell tells otherwise; absent is native.
    pub source: Option<JudgmentSource>,
    /// By whole-trace dimension, in order.
    pub whole: Whole<'a>,
    /// By chunk, in order.
    pub chunks: Vec<Cell<'a>>,
    /// The ids of these chunks; empty if they stand in the order of the trace.
    pub chunk_ids: Vec<Cow<'a, str>>,
    /// A whole diagnosis in place of answers.
    pub verdict: Option<Verdict>,
    /// What it cost; `None` is unknown.
    pub cost: Option<NanoUsd>,
    /// Whether what is absent was asked and not answered, which a replay row does not tell apart.
    pub absent_failed: bool,
}

/// One cell for every whole-trace dimension.
pub type Whole<'a> = [Cell<'a>; Dimension::COUNT - 1];

/// What was recorded for one question.
#[derive(Debug, Clone, Default)]
pub enum Cell<'a> {
    /// Nothing: it was not asked, or not answered.
    #[default]
    Absent,
    /// P(true).
    Judged(JudgedCell<'a>),
    /// The question does not apply.
    NotApplicable(NotApplicableReason),
    /// The judge failed.
    Failed(FailureReason),
}

/// A probability with what the rules heed of it.
#[derive(Debug, Clone)]
pub struct JudgedCell<'a> {
    /// P(true).
    pub probability: Probability,
    /// The judge, if it is not that of the leg.
    pub judge_id: Option<Cow<'a, str>>,
    /// What kind of number it is, if not that of the leg.
    pub source: Option<JudgmentSource>,
    /// Share of the text that the judge saw.
    pub seen: SeenFraction,
    /// Whether a guard forbids a PASS.
    pub vetoes_pass: bool,
}

impl JudgedCell<'_> {
    /// A number that needs no more to be said about it.
    pub const fn plain(probability: Probability) -> Self {
        Self {
            probability,
            judge_id: None,
            source: None,
            seen: SeenFraction::ALL,
            vetoes_pass: false,
        }
    }
}

impl Cell<'_> {
    fn into_owned(self) -> Cell<'static> {
        match self {
            Self::Absent => Cell::Absent,
            Self::NotApplicable(reason) => Cell::NotApplicable(reason),
            Self::Failed(reason) => Cell::Failed(reason),
            Self::Judged(cell) => Cell::Judged(JudgedCell {
                probability: cell.probability,
                judge_id: cell.judge_id.map(|name| Cow::Owned(name.into_owned())),
                source: cell.source,
                seen: cell.seen,
                vetoes_pass: cell.vetoes_pass,
            }),
        }
    }
}

/// The names of judges that were met, so that each is kept once.
#[derive(Debug, Default)]
pub struct Judges(Vec<JudgeId>);

impl Judges {
    fn id(&mut self, name: &str) -> JudgeId {
        if let Some(known) = self.0.iter().find(|known| known.as_str() == name) {
            return known.clone();
        }
        let id = JudgeId::from(name);
        // A file with a name of its own in every row must not be remembered whole.
        if self.0.len() < 64 {
            self.0.push(id.clone());
        }
        id
    }
}

/// The place of a whole-trace dimension in [`Whole`], by name; chunk relevance has none.
pub fn whole_slot(name: &str) -> Option<usize> {
    Dimension::ALL[1..]
        .iter()
        .position(|dimension| dimension.name() == name)
}

impl<'a> Leg<'a> {
    /// The same without the line that it was read from.
    pub fn into_owned(self) -> Leg<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Leg {
            judge_id: owned(self.judge_id),
            source: self.source,
            whole: self.whole.map(Cell::into_owned),
            chunks: self.chunks.into_iter().map(Cell::into_owned).collect(),
            chunk_ids: self.chunk_ids.into_iter().map(owned).collect(),
            verdict: self.verdict,
            cost: self.cost,
            absent_failed: self.absent_failed,
        }
    }

    /// The cell of a question; `ids` are the chunks of the trace where the leg goes by id.
    fn cell(&self, question: Question, ids: &[Cow<'_, str>]) -> &Cell<'a> {
        const ABSENT: &Cell<'static> = &Cell::Absent;
        let found = match question.chunk_ordinal() {
            None => Some(&self.whole[question.dimension().index() - 1]),
            Some(ordinal) if self.chunk_ids.is_empty() => self.chunks.get(ordinal),
            Some(ordinal) => {
                let id = ids.get(ordinal);
                // Both legs mostly list the same chunks in the same order.
                let same = self.chunk_ids.get(ordinal) == id;
                let place = if same {
                    Some(ordinal)
                } else {
                    self.chunk_ids.iter().position(|known| Some(known) == id)
                };
                place.and_then(|place| self.chunks.get(place))
            }
        };
        found.unwrap_or(ABSENT)
    }

    /// The cell of a question of a leg that stands in the order of the trace.
    pub fn cell_mut(&mut self, question: Question) -> &mut Cell<'a> {
        match question.chunk_ordinal() {
            None => &mut self.whole[question.dimension().index() - 1],
            Some(ordinal) => &mut self.chunks[ordinal],
        }
    }

    /// What was recorded, as it was planned and said: a question that nobody was asked is unanswered.
    pub fn judgments(&self, chunk_count: usize, judges: &mut Judges) -> Judgments {
        let own = judges.id(&self.judge_id);
        PerQuestion::from_fn(chunk_count, |question| {
            let cell = self.cell(question, &self.chunk_ids);
            self.judgment(cell, &own, JudgeRole::Atomic, judges)
                .unwrap_or_else(unanswered)
        })
    }

    /// What was said to these questions.
    pub fn answers(
        &self,
        wanted: &QuestionSet,
        ids: &[Cow<'_, str>],
        judges: &mut Judges,
    ) -> Answers {
        let own = judges.id(&self.judge_id);
        PerQuestion::from_fn(wanted.chunk_count(), |question| {
            if wanted[question] {
                let cell = self.cell(question, ids);
                self.judgment(cell, &own, JudgeRole::Fallback, judges)
            } else {
                None
            }
        })
    }

    /// Whether a question was asked.
    pub fn was_asked(&self, question: Question, ids: &[Cow<'_, str>]) -> bool {
        match self.cell(question, ids) {
            Cell::Judged(_) | Cell::Failed(_) => true,
            Cell::Absent => self.absent_failed,
            Cell::NotApplicable(_) => false,
        }
    }

    /// Whether a question was answered.
    pub fn has_answered(&self, question: Question, ids: &[Cow<'_, str>]) -> bool {
        matches!(self.cell(question, ids), Cell::Judged(_))
    }

    /// Whether the judge was asked and answered no question.
    pub fn failed_as_a_whole(&self) -> bool {
        let mut cells = self.whole.iter().chain(&self.chunks);
        let has_failed = cells.clone().any(|cell| matches!(cell, Cell::Failed(_)));
        has_failed && !cells.any(|cell| matches!(cell, Cell::Judged(_)))
    }

    fn judgment(
        &self,
        cell: &Cell<'_>,
        own: &JudgeId,
        role: JudgeRole,
        judges: &mut Judges,
    ) -> Option<Judgment> {
        match cell {
            Cell::Absent => None,
            Cell::NotApplicable(reason) => Some(Judgment::NotApplicable(*reason)),
            Cell::Failed(reason) => Some(Judgment::Failed(Failure {
                judge_id: own.clone(),
                reason: *reason,
            })),
            Cell::Judged(cell) => Some(Judgment::Judged(Judged {
                probability: cell.probability,
                judge_id: match &cell.judge_id {
                    Some(other) if **other != *own.as_str() => judges.id(other),
                    Some(_) | None => own.clone(),
                },
                role,
                source: cell
                    .source
                    .or(self.source)
                    .unwrap_or(JudgmentSource::Native),
                delivery: JudgmentDelivery::Replay,
                basis: JudgmentBasis::Measured,
                seen_fraction: cell.seen,
                label_mass: None,
                vetoes_pass: cell.vetoes_pass,
                evidence: None,
            })),
        }
    }
}
