//! One recorded row under one policy.
//!
//! The rules are those of the policy and what happens between two judges is what the cascade does; only the answers come
//! from a record. An answer that is needed and was not recorded is never guessed.

use std::borrow::Cow;

use super::recorded::{Decided, Judges, Leg, Recorded};
use crate::cascade::settle;
use crate::domain::diagnosis::{Diagnosis, Rule, Ruling};
use crate::domain::dimension::{DimensionRole, DimensionSet};
use crate::domain::failure::NotApplicableReason;
use crate::domain::judgment::{Judgment, Judgments};
use crate::domain::outcome::{NanoUsd, Route};
use crate::domain::question::QuestionSet;
use crate::domain::vocabulary;
use crate::policy::{self, Policy};

vocabulary! {
    /// Where the answers of the fallback judge come from.
    "source of fallback answers"
    pub enum Served {
        /// None were needed.
        NotNeeded = "not_needed",
        /// From what it was asked after the atomic judge.
        Fallback = "fallback",
        /// From what it was asked alone.
        Baseline = "baseline",
        /// From what it was asked, which is not all that this policy would ask; the rest stays open.
        Partly = "partly_recorded",
        /// It was asked and failed.
        Failed = "failed",
        /// It was not asked what this policy would ask.
        NotRecorded = "not_recorded",
        /// There is nothing that it could be asked.
        NothingToAsk = "nothing_to_ask",
    }
}

/// What a policy makes of a recorded row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The decision.
    pub decided: Decided,
    /// Where the answers of the fallback judge came from.
    pub served: Served,
    /// The dimensions that the policy wants and that were never asked.
    pub never_asked: DimensionSet,
    /// What the calls cost that this policy needs; `None` is unknown.
    pub cost: Option<NanoUsd>,
}

/// The judgments of one row, made once for both policies.
pub struct Case<'r, 'a> {
    row: &'r Recorded<'a>,
    atomic: &'r Leg<'a>,
    judgments: Judgments,
    /// The dimensions that were switched off when the row was recorded.
    off: DimensionSet,
}

impl<'r, 'a> Case<'r, 'a> {
    /// The judgments of a row; nothing if the atomic judge has not answered.
    pub fn new(row: &'r Recorded<'a>, judges: &mut Judges) -> Option<Self> {
        let atomic = row.atomic.as_deref()?;
        let judgments = atomic.judgments(row.chunk_count, judges);
        let off = judgments
            .iter()
            .filter(|(_, judgment)| {
                matches!(
                    judgment,
                    Judgment::NotApplicable(NotApplicableReason::SwitchedOff)
                )
            })
            .map(|(question, _)| question.dimension())
            .collect();
        Some(Self {
            row,
            atomic,
            judgments,
            off,
        })
    }

    /// What a policy makes of it.
    pub fn decide(&self, policy: &Policy, judges: &mut Judges) -> Decision {
        let judgments = settle::under(policy, &self.judgments)
            .map_or(Cow::Borrowed(&self.judgments), Cow::Owned);
        let ruling = policy::diagnose(policy, &judgments);
        let never_asked = self.never_asked(policy);
        if ruling.diagnosis != Diagnosis::JudgeUncertain {
            return Decision {
                decided: decided(&ruling, Route::Auto),
                served: Served::NotNeeded,
                never_asked,
                cost: self.atomic.cost,
            };
        }
        let questions = self.questions(policy, &judgments, &ruling);
        let (served, leg) = self.served(&questions);
        let decided = match leg {
            Some(leg) => {
                let answers = leg.answers(&questions, &self.atomic.chunk_ids, judges);
                let ruling = settle::settled(policy, &judgments, &answers, leg.verdict);
                decided(&ruling, Route::Fallback)
            }
            None => decided(&ruling, Route::FallbackUnavailable),
        };
        Decision {
            decided,
            served,
            never_asked,
            cost: self.cost(served),
        }
    }

    fn questions(&self, policy: &Policy, judgments: &Judgments, ruling: &Ruling) -> QuestionSet {
        // Nearly every row has an answer, and then there is no need to copy what was said.
        let has_answer = judgments
            .iter()
            .any(|(_, judgment)| judgment.judged().is_some());
        let atomic_failed = !has_answer && {
            let said = judgments.map(|_, judgment| Some(judgment.clone()));
            settle::whole_failure(&said).is_some()
        };
        let asked = || judgments.map(|_, judgment| !matches!(judgment, Judgment::NotApplicable(_)));
        settle::fallback_questions(policy, judgments, &ruling.fired, asked, atomic_failed)
    }

    /// Which recorded answers settle these questions: those to all of them before those to some, and those to the very
    /// call before those to another.
    fn served(&self, questions: &QuestionSet) -> (Served, Option<&'r Leg<'a>>) {
        if questions.is_empty() {
            return (Served::NothingToAsk, None);
        }
        let ids = &self.atomic.chunk_ids;
        let legs = [
            (self.row.fallback.as_deref(), Served::Fallback),
            (self.row.baseline.as_deref(), Served::Baseline),
        ];
        let mut partly = None;
        for (leg, served) in legs {
            let Some(leg) = leg else {
                continue;
            };
            let has_answer = leg.verdict.is_some()
                || questions
                    .asked()
                    .any(|question| leg.has_answered(question, ids));
            let is_whole = leg.verdict.is_some()
                || questions
                    .asked()
                    .all(|question| leg.was_asked(question, ids));
            match (is_whole, has_answer) {
                (true, true) => return (served, Some(leg)),
                (true, false) => return (Served::Failed, None),
                (false, true) => partly = partly.or(Some(leg)),
                (false, false) => (),
            }
        }
        match partly {
            Some(leg) => (Served::Partly, Some(leg)),
            None => (Served::NotRecorded, None),
        }
    }

    fn cost(&self, served: Served) -> Option<NanoUsd> {
        let of = |leg: &Option<Box<Leg<'_>>>| leg.as_ref().and_then(|leg| leg.cost);
        let fallback = match served {
            Served::NotNeeded | Served::NothingToAsk => Some(NanoUsd::ZERO),
            Served::Fallback => of(&self.row.fallback),
            Served::Baseline => of(&self.row.baseline),
            Served::Failed => of(&self.row.fallback).or_else(|| of(&self.row.baseline)),
            Served::Partly | Served::NotRecorded => None,
        };
        Some(self.atomic.cost?.plus(fallback?))
    }

    fn never_asked(&self, policy: &Policy) -> DimensionSet {
        self.off
            .iter()
            .filter(|&dimension| policy.dimensions[dimension].role != DimensionRole::Off)
            .collect()
    }
}

/// The decision about a trace that cannot be judged.
pub const NOT_ASSESSABLE: Decided = Decided {
    diagnosis: Diagnosis::NotAssessable,
    confidence: None,
    route: Route::Auto,
    rule: Rule::NotAssessable,
};

fn decided(ruling: &Ruling, route: Route) -> Decided {
    Decided {
        diagnosis: ruling.diagnosis,
        confidence: ruling.confidence,
        route,
        rule: ruling.fired.rule,
    }
}
