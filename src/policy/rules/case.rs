//! Reading judgments: what a trace's judgments are worth under a policy.
//!
//! A question of a dimension that is off has no value, and one that does not apply is skipped.

use crate::domain::diagnosis::Ground;
use crate::domain::dimension::{Dimension, DimensionRole, DimensionSet, Polarity};
use crate::domain::failure::NotApplicableReason;
use crate::domain::judgment::{Judged, Judgment, JudgmentSource, Judgments};
use crate::domain::probability::Probability;
use crate::domain::question::Question;
use crate::policy::band::Band;
use crate::policy::thresholds::Thresholds;
use crate::policy::{ChunkRule, Policy};

/// The judgments of one trace under one policy.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) policy: &'a Policy,
    pub(super) judgments: &'a Judgments,
    heeds_vetoes: bool,
}

/// A judgment that is a probability, with the thresholds that it is held against.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    question: Question,
    judged: &'a Judged,
    thresholds: Thresholds,
    pub(super) band: Band,
    pub(super) is_vetoed: bool,
}

impl<'a> Case<'a> {
    pub(super) const fn new(policy: &'a Policy, judgments: &'a Judgments) -> Self {
        Self {
            policy,
            judgments,
            heeds_vetoes: true,
        }
    }

    /// The same, as if no guard of a judge had fired.
    pub(super) const fn without_vetoes(self) -> Self {
        Self {
            heeds_vetoes: false,
            ..self
        }
    }

    pub(super) fn role(&self, dimension: Dimension) -> DimensionRole {
        self.policy.role(dimension)
    }

    /// The value of a judgment; `None` if it is none, or if its dimension is off.
    pub(super) fn value(&self, question: Question) -> Option<Value<'a>> {
        let judged = self.judgments[question].judged()?;
        let thresholds = self.policy.thresholds(question.dimension(), judged)?;
        Some(Value {
            question,
            judged,
            thresholds,
            band: thresholds.band(judged.probability),
            is_vetoed: self.heeds_vetoes && judged.vetoes_pass,
        })
    }

    /// The value of a whole-trace dimension.
    pub(super) fn only_value(&self, dimension: Dimension) -> Option<Value<'a>> {
        self.value(Question::about(dimension))
    }

    /// The value of a whole-trace dimension at its bad end.
    pub(super) fn bad(&self, dimension: Dimension) -> Option<Value<'a>> {
        self.only_value(dimension).filter(Value::is_bad)
    }

    /// The questions of a dimension that apply.
    pub(super) fn applicable(&self, dimension: Dimension) -> impl Iterator<Item = Question> {
        let is_off = self.role(dimension) == DimensionRole::Off;
        let judgments = self.judgments.of(dimension).iter().enumerate();
        judgments
            .filter(move |(_, judgment)| !is_off && !matches!(judgment, Judgment::NotApplicable(_)))
            .map(move |(ordinal, _)| match dimension {
                Dimension::ChunkRelevance => Question::chunk(ordinal),
                whole => Question::about(whole),
            })
    }

    /// The values of a dimension: at most one for a whole-trace dimension.
    pub(super) fn values(&self, dimension: Dimension) -> impl Iterator<Item = Value<'a>> {
        self.applicable(dimension)
            .filter_map(|question| self.value(question))
    }

    /// The most relevant chunk of those that meet a condition; the first of equals.
    pub(super) fn best_chunk(&self, condition: impl Fn(&Value<'a>) -> bool) -> Option<Value<'a>> {
        self.values(Dimension::ChunkRelevance)
            .filter(|value| condition(value))
            .reduce(|best, value| {
                if best.judged.probability < value.judged.probability {
                    value
                } else {
                    best
                }
            })
    }

    /// Words of a judge are numbers only after a calibration.
    pub(super) fn worth_is_known(&self, dimension: Dimension) -> bool {
        self.values(dimension).all(|value| value.worth_is_known())
    }

    /// The dimensions that are required and judged.
    pub(super) fn covered(&self) -> DimensionSet {
        DimensionSet::ALL
            .iter()
            .filter(|&dimension| self.role(dimension) == DimensionRole::Required)
            .filter(|&dimension| self.values(dimension).next().is_some())
            .collect()
    }

    pub(super) fn has_no_context(&self) -> bool {
        let no_context = Judgment::NotApplicable(NotApplicableReason::NoContext);
        self.judgments
            .of(Dimension::ChunkRelevance)
            .iter()
            .all(|judgment| *judgment == no_context)
    }

    pub(super) fn answer_is_empty(&self) -> bool {
        let empty = Judgment::NotApplicable(NotApplicableReason::EmptyAnswer);
        Dimension::GENERATION
            .iter()
            .any(|&dimension| self.judgments[Question::about(dimension)] == empty)
    }

    /// What a PASS stands on.
    pub(super) fn good_ground(&self, value: Value<'a>) -> Ground {
        let any_band = self.policy.chunk_rule == ChunkRule::None;
        let threshold = match (value.dimension(), value.dimension().polarity()) {
            // Without a chunk rule a chunk has only to be above its lower threshold.
            (Dimension::ChunkRelevance, _) if any_band => value.thresholds.fail_at(),
            (_, Polarity::GoodWhenTrue) => value.thresholds.pass_at(),
            (_, Polarity::BadWhenTrue) => value.thresholds.fail_at(),
        };
        value.ground(threshold)
    }
}

impl Value<'_> {
    pub(super) fn dimension(&self) -> Dimension {
        self.question.dimension()
    }

    pub(super) fn is_good(&self) -> bool {
        self.band
            == match self.dimension().polarity() {
                Polarity::GoodWhenTrue => Band::Positive,
                Polarity::BadWhenTrue => Band::Negative,
            }
    }

    pub(super) fn is_bad(&self) -> bool {
        self.band
            == match self.dimension().polarity() {
                Polarity::GoodWhenTrue => Band::Negative,
                Polarity::BadWhenTrue => Band::Positive,
            }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.judged.seen_fraction.is_whole()
    }

    /// The probability that the dimension is good.
    pub(super) fn goodness(&self) -> Probability {
        match self.dimension().polarity() {
            Polarity::GoodWhenTrue => self.judged.probability,
            Polarity::BadWhenTrue => self.judged.probability.complement(),
        }
    }

    /// The probability that the dimension is bad.
    pub(super) fn badness(&self) -> Probability {
        match self.dimension().polarity() {
            Polarity::GoodWhenTrue => self.judged.probability.complement(),
            Polarity::BadWhenTrue => self.judged.probability,
        }
    }

    fn worth_is_known(&self) -> bool {
        self.judged.source != JudgmentSource::Verbalized
    }

    /// The confidence of a finding at the bad end.
    pub(super) fn confidence(&self) -> Option<Probability> {
        self.worth_is_known().then(|| self.badness())
    }

    /// What a finding at the bad end stands on.
    pub(super) fn bad_ground(&self) -> Ground {
        self.ground(match self.dimension().polarity() {
            Polarity::GoodWhenTrue => self.thresholds.fail_at(),
            Polarity::BadWhenTrue => self.thresholds.pass_at(),
        })
    }

    fn ground(&self, threshold: Probability) -> Ground {
        Ground {
            dimension: self.dimension(),
            chunk: self.question.chunk_ordinal(),
            value: self.judged.probability,
            threshold,
        }
    }
}
