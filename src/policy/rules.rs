//! The precedence: the first rule that holds wins.
//!
//! | # | condition | diagnosis |
//! |---|---|---|
//! | 1 | conflict is bad | `CONFLICTING_EVIDENCE` |
//! | 2 | no chunk has text, or every chunk is judged and negative | `RETRIEVAL_MISS` |
//! | 3 | sufficiency is bad | `RETRIEVAL_INSUFFICIENT` |
//! | 4 | answer relevance is bad, or there is no answer | `ANSWER_IRRELEVANT` |
//! | 5 | groundedness or contradiction is bad | `GENERATOR_UNGROUNDED` |
//! | 6 | correctness is bad | `ANSWER_INCORRECT` |
//! | 8 | everything required is good, seen whole and without a veto | `PASS` |
//! | 7 | otherwise | `JUDGE_UNCERTAIN` |
//!
//! PASS is spelled out and uncertainty is the rest, so that a gap in the rules can only be uncertain.
//! A claim of absence (no chunk is relevant, something is missing, something is not supported, nothing conflicts) holds
//! only if the judge saw everything; a claim of presence holds on what it saw.

mod blocking;
mod case;
#[cfg(test)]
mod tests;

use self::blocking::{Blocking, is_clear, nothing_blocks};
use self::case::{Case, Value};
use super::Policy;
use super::band::Band;
use crate::domain::diagnosis::{BlockCause, Diagnosis, FiredRule, Ground, Rule, Ruling};
use crate::domain::dimension::{Dimension, DimensionMap, DimensionRole, DimensionSet};
use crate::domain::judgment::Judgments;
use crate::domain::probability::Probability;
use crate::domain::question::QuestionSet;

use Dimension::{
    AnswerRelevance, ChunkRelevance, ContextConflict, ContextSufficiency, Contradiction,
    Correctness, Groundedness,
};

/// The diagnosis of a trace.
pub fn diagnose(policy: &Policy, judgments: &Judgments) -> Ruling {
    let case = Case::new(policy, judgments);
    let mut blocking = nothing_blocks();
    for rule in [Case::conflict, Case::miss, Case::insufficient] {
        if let Some(ruling) = case.try_rule(rule, &mut blocking) {
            return ruling;
        }
    }
    if case.answer_is_empty() {
        return case.empty_answer(blocking);
    }
    for rule in [Case::irrelevant, Case::ungrounded, Case::incorrect] {
        if let Some(ruling) = case.try_rule(rule, &mut blocking) {
            return ruling;
        }
    }
    case.pass_or_uncertain(blocking)
}

/// The questions that a fallback judge could settle: those whose judgment is uncertain, failed, vetoed or partly seen,
/// of every required dimension and of what holds a rule back. None where a rule decided.
pub fn open_questions(policy: &Policy, judgments: &Judgments, fired: &FiredRule) -> QuestionSet {
    let case = Case::new(policy, judgments);
    let is_wanted = DimensionMap::from_fn(|dimension| {
        let is_required = case.role(dimension) == DimensionRole::Required;
        fired.rule == Rule::Uncertain && (is_required || fired.blocking[dimension].is_some())
    });
    judgments
        .map(|question, _| is_wanted[question.dimension()] && case.open_cause(question).is_some())
}

/// A bad end that holds, before it is known whether the rule may fire.
struct Finding {
    rule: Rule,
    diagnosis: Diagnosis,
    confidence: Option<Probability>,
    ground: Option<Ground>,
    /// The dimensions that are at their bad end.
    about: DimensionSet,
    /// The dimensions that stand before it in the precedence.
    earlier: &'static [Dimension],
}

impl Finding {
    /// A finding that stands on one value.
    fn on(
        value: Value<'_>,
        rule: Rule,
        diagnosis: Diagnosis,
        earlier: &'static [Dimension],
    ) -> Self {
        Self {
            rule,
            diagnosis,
            confidence: value.confidence(),
            ground: Some(value.bad_ground()),
            about: [value.dimension()].into_iter().collect(),
            earlier,
        }
    }
}

// === The rules ===

impl<'a> Case<'a> {
    fn conflict(&self) -> Option<Finding> {
        let value = self.bad(ContextConflict)?;
        let diagnosis = Diagnosis::ConflictingEvidence;
        Some(Finding::on(value, Rule::Conflict, diagnosis, &[]))
    }

    fn miss(&self) -> Option<Finding> {
        const EARLIER: &[Dimension] = &[ContextConflict];
        if self.has_no_context() {
            return Some(Finding {
                rule: Rule::NoChunks,
                diagnosis: Diagnosis::RetrievalMiss,
                confidence: Some(Probability::ONE),
                ground: None,
                about: [ChunkRelevance].into_iter().collect(),
                earlier: EARLIER,
            });
        }
        // A chunk that failed or was not seen whole may be the relevant one.
        for question in self.applicable(ChunkRelevance) {
            let value = self.value(question)?;
            if value.band != Band::Negative || !value.is_whole() {
                return None;
            }
        }
        let best = self.best_chunk(|_| true)?;
        let (rule, diagnosis) = (Rule::RetrievalMiss, Diagnosis::RetrievalMiss);
        let finding = Finding::on(best, rule, diagnosis, EARLIER);
        // Every chunk decides, so one whose number is only a word leaves the confidence unknown.
        let confidence = finding
            .confidence
            .filter(|_| self.worth_is_known(ChunkRelevance));
        Some(Finding {
            confidence,
            ..finding
        })
    }

    fn insufficient(&self) -> Option<Finding> {
        let value = self.bad(ContextSufficiency).filter(Value::is_whole)?;
        let (rule, diagnosis) = (Rule::Insufficient, Diagnosis::RetrievalInsufficient);
        let earlier = &[ContextConflict, ChunkRelevance];
        Some(Finding::on(value, rule, diagnosis, earlier))
    }

    fn irrelevant(&self) -> Option<Finding> {
        let value = self.bad(AnswerRelevance)?;
        let (rule, diagnosis) = (Rule::Irrelevant, Diagnosis::AnswerIrrelevant);
        let earlier = &[ContextConflict, ChunkRelevance, ContextSufficiency];
        Some(Finding::on(value, rule, diagnosis, earlier))
    }

    fn ungrounded(&self) -> Option<Finding> {
        let groundedness = self.only_value(Groundedness).filter(Value::is_whole);
        let contradiction = self.only_value(Contradiction);
        let ends = [groundedness, contradiction].map(|end| end.filter(Value::is_bad));
        let fired = strongest(ends)?;
        // The confidence is the stronger of both judged values, whether or not both ends fired.
        let surest = strongest([groundedness, contradiction])?;
        Some(Finding {
            rule: Rule::Ungrounded,
            diagnosis: Diagnosis::GeneratorUngrounded,
            confidence: surest.confidence(),
            ground: Some(fired.bad_ground()),
            about: ends.iter().flatten().map(Value::dimension).collect(),
            earlier: &[
                ContextConflict,
                ChunkRelevance,
                ContextSufficiency,
                AnswerRelevance,
            ],
        })
    }

    fn incorrect(&self) -> Option<Finding> {
        let value = self.bad(Correctness)?;
        let (rule, diagnosis) = (Rule::Incorrect, Diagnosis::AnswerIncorrect);
        let earlier = &[
            ContextConflict,
            ChunkRelevance,
            ContextSufficiency,
            AnswerRelevance,
            Groundedness,
            Contradiction,
        ];
        Some(Finding::on(value, rule, diagnosis, earlier))
    }

    /// There is no answer to judge: with retrieval known to be good it misses the question.
    fn empty_answer(&self, mut blocking: Blocking) -> Ruling {
        // A veto forbids a PASS and nothing else.
        let retrieval = self.without_vetoes();
        retrieval.block_required(Dimension::RETRIEVAL, &mut blocking);
        if is_clear(&blocking) {
            let confidence = Some(Probability::ONE);
            Ruling::without_ground(Diagnosis::AnswerIrrelevant, confidence, Rule::EmptyAnswer)
        } else {
            uncertain(blocking)
        }
    }

    fn pass_or_uncertain(&self, mut blocking: Blocking) -> Ruling {
        self.block_required(DimensionSet::ALL.iter(), &mut blocking);
        if !is_clear(&blocking) {
            return uncertain(blocking);
        }
        let covered = self.covered();
        if covered.is_empty() {
            uncertain(blocking)
        } else {
            self.pass(covered)
        }
    }

    /// Stands on the weakest covered whole-trace dimension; where only chunks are covered, on the best one.
    fn pass(&self, covered: DimensionSet) -> Ruling {
        let whole = covered.iter().filter(|&d| d != ChunkRelevance);
        let weakest = whole
            .filter_map(|dimension| self.only_value(dimension))
            .reduce(|weakest, value| {
                if value.goodness() < weakest.goodness() {
                    value
                } else {
                    weakest
                }
            });
        let stands_on = weakest.or_else(|| self.best_chunk(|value| self.meets_chunk_rule(value)));
        let worth_is_known = covered
            .iter()
            .all(|dimension| self.worth_is_known(dimension));
        Ruling {
            diagnosis: Diagnosis::Pass,
            confidence: stands_on
                .filter(|_| worth_is_known)
                .map(|value| value.goodness()),
            fired: FiredRule {
                rule: Rule::Pass,
                ground: stands_on.map(|value| self.good_ground(value)),
                blocking: nothing_blocks(),
            },
            pass_covers: covered,
        }
    }

    /// Fires a rule that holds, or notes what it waits for.
    fn try_rule(
        &self,
        rule: fn(&Self) -> Option<Finding>,
        blocking: &mut Blocking,
    ) -> Option<Ruling> {
        let finding = rule(self)?;
        let mut is_held_back = false;
        for &dimension in finding.earlier {
            if let Some(cause) = self.upstream_cause(finding.rule, dimension) {
                is_held_back = true;
                blocking[dimension].get_or_insert(cause);
            }
        }
        if is_held_back {
            for dimension in finding.about.iter() {
                blocking[dimension].get_or_insert(BlockCause::Upstream);
            }
            return None;
        }
        Some(Ruling {
            diagnosis: finding.diagnosis,
            confidence: finding.confidence,
            fired: FiredRule {
                rule: finding.rule,
                ground: finding.ground,
                blocking: nothing_blocks(),
            },
            pass_covers: DimensionSet::EMPTY,
        })
    }
}

/// The value that is furthest on its bad side; the first of equals.
fn strongest(values: [Option<Value<'_>>; 2]) -> Option<Value<'_>> {
    values.into_iter().flatten().reduce(|strongest, value| {
        if strongest.badness() < value.badness() {
            value
        } else {
            strongest
        }
    })
}

fn uncertain(blocking: Blocking) -> Ruling {
    Ruling {
        diagnosis: Diagnosis::JudgeUncertain,
        confidence: Some(Probability::HALF),
        fired: FiredRule {
            rule: Rule::Uncertain,
            ground: None,
            blocking,
        },
        pass_covers: DimensionSet::EMPTY,
    }
}
