//! Judgments: what a judge says to one question, with its provenance.
//!
//! A judgment is a probability, a structural reason or a failure, and nothing else: no failure can be read as a number.

use std::ops::Range;

use super::failure::{FailureReason, NotApplicableReason};
use super::outcome::JudgeRole;
use super::probability::Probability;
use super::question::PerQuestion;
use super::trace::JudgeId;
use super::vocabulary;

/// What stands for one question.
#[derive(Debug, Clone, PartialEq)]
pub enum Judgment {
    /// The judge gave a probability.
    Judged(Judged),
    /// The question does not apply to the trace.
    NotApplicable(NotApplicableReason),
    /// The judge did not answer the question.
    Failed(Failure),
}

/// A probability and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// P(true).
    pub probability: Probability,
    /// Which judge gave it.
    pub judge_id: JudgeId,
    /// In which role the judge was asked.
    pub role: JudgeRole,
    /// What kind of number it is.
    pub source: JudgmentSource,
    /// Where it was taken from.
    pub delivery: JudgmentDelivery,
    /// How well founded it is.
    pub basis: JudgmentBasis,
    /// Share of the text in question that the judge saw.
    pub seen_fraction: SeenFraction,
    /// Probability mass on the labels, from log-probabilities only.
    pub label_mass: Option<Probability>,
    /// A guard of the judge fired and forbids an automatic PASS.
    pub vetoes_pass: bool,
    /// What it rests on, if the judge shows it.
    pub evidence: Option<Box<Evidence>>,
}

/// A question that a judge did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which judge.
    pub judge_id: JudgeId,
    /// Why.
    pub reason: FailureReason,
}

/// What a probability rests on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// The ordinal of the chunk, if one stands out.
    pub chunk: Option<usize>,
    /// The passage within the chunk, in Unicode code points; empty if none stands out.
    pub span: Range<usize>,
    /// Words and numbers that were looked for and not found.
    pub missing_terms: Vec<String>,
    /// Guards that fired.
    pub guards: Vec<Guard>,
}

/// The judgment of one statement of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementJudgment {
    /// The statement.
    pub text: String,
    /// Its place within the answer in Unicode code points; `None` for a statement that came with the trace.
    pub span: Option<Range<usize>>,
    /// Whether the context supports it.
    pub groundedness: Judgment,
}

/// How many statements of an answer were judged, and how well they are supported on the whole.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StatementSummary {
    /// Statements with a probability.
    pub decided_count: usize,
    /// Statements that say too little to be decided.
    pub undecidable_count: usize,
    /// Statements that were not judged for any other reason.
    pub failed_count: usize,
    /// The mean probability of the decided ones; `None` if there are none.
    pub mean_groundedness: Option<Probability>,
}

/// What a policy decides over: one judgment for every question of a trace.
pub type Judgments = PerQuestion<Judgment>;

/// What one judge said: a judgment for every question that it was asked.
pub type Answers = PerQuestion<Option<Judgment>>;

/// The share of the text in question that a judge saw, above 0 and at most 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct SeenFraction(f64);

impl SeenFraction {
    /// The judge saw everything.
    pub const ALL: Self = Self(1.0);

    /// A share; `None` unless it lies above 0 and at most at 1.
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Self(share))
    }

    /// The number.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Whether nothing was left out.
    pub fn is_whole(self) -> bool {
        self >= Self::ALL
    }
}

impl Judgment {
    /// The probability with its provenance, if there is one.
    pub const fn judged(&self) -> Option<&Judged> {
        match self {
            Self::Judged(judged) => Some(judged),
            Self::NotApplicable(_) | Self::Failed(_) => None,
        }
    }

    /// Whether the question cannot be decided for its text.
    pub fn is_undecidable(&self) -> bool {
        match self {
            Self::Failed(failure) => failure.reason == FailureReason::Undecidable,
            Self::Judged(_) | Self::NotApplicable(_) => false,
        }
    }
}

impl StatementSummary {
    /// The summary of the statements of an answer; `None` if there are none.
    pub fn of(statements: &[StatementJudgment]) -> Option<Self> {
        if statements.is_empty() {
            return None;
        }
        let judgments = || statements.iter().map(|statement| &statement.groundedness);
        let judged = judgments().filter_map(Judgment::judged);
        let probabilities: Vec<f64> = judged.map(|judged| judged.probability.value()).collect();
        let decided_count = probabilities.len();
        let undecidable_count = judgments().filter(|one| one.is_undecidable()).count();
        let mean = probabilities.iter().sum::<f64>() / decided_count as f64;
        Some(Self {
            decided_count,
            undecidable_count,
            failed_count: statements.len() - decided_count - undecidable_count,
            // The sum of many ones may be rounded up; that of none has no mean.
            mean_groundedness: Probability::try_from(mean.min(1.0))
                .ok()
                .filter(|_| 0 < decided_count),
        })
    }
}

vocabulary! {
    /// What kind of number a probability is. Thresholds are bound to it.
    "source of a judgment"
    pub enum JudgmentSource {
        /// The model is trained to give probabilities.
        Native = "native",
        /// From token log-probabilities.
        Logprob = "logprob",
        /// From words: true, unsure and false are 1, 0.5 and 0.
        Verbalized = "verbalized",
        /// From the embedded judge.
        Embedded = "embedded",
        /// From a rule.
        Rule = "rule",
    }
}

vocabulary! {
    /// Where a probability was taken from.
    "delivery of a judgment"
    pub enum JudgmentDelivery {
        /// From the judge.
        Live = "live",
        /// From a cache of answers.
        Cache = "cache",
        /// From a recording.
        Replay = "replay",
    }
}

vocabulary! {
    /// How well founded a probability is.
    "basis of a judgment"
    pub enum JudgmentBasis {
        /// The judge stands behind the number.
        Measured = "measured",
        /// A rule of thumb, kept away from both ends.
        Heuristic = "heuristic",
    }
}

vocabulary! {
    /// A guard of a judge: a surface mismatch that forbids an automatic PASS and decides nothing else.
    "guard"
    pub enum Guard {
        /// A number of the statement stands nowhere in the context.
        MissingNumber = "missing_number",
        /// The best evidence has numbers, but not one of the statement.
        NumberConflict = "number_conflict",
        /// A capitalised word of the statement stands nowhere in the context.
        MissingName = "missing_name",
        /// The statement and its best evidence differ in negation.
        NegationParity = "negation_parity",
        /// The opposite of a word of the statement stands in its best evidence.
        Antonym = "antonym",
        /// The statement has the words of its best evidence in another order.
        WordOrder = "word_order",
        /// The sentences around a quotation take it back, or it starts with a pronoun that stood after another sentence.
        QuotedContext = "quoted_context",
        /// No chunk that supports the answer shares a word with the question.
        OffTopic = "off_topic",
        /// A text of the trace seems to speak to the judge.
        InjectionSignal = "injection_signal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(groundedness: Judgment) -> StatementJudgment {
        StatementJudgment {
            text: "A statement.".to_owned(),
            span: None,
            groundedness,
        }
    }

    fn judged(probability: f64) -> StatementJudgment {
        statement(Judgment::Judged(Judged {
            probability: Probability::try_from(probability).unwrap(),
            judge_id: "j".into(),
            role: JudgeRole::Atomic,
            source: JudgmentSource::Native,
            delivery: JudgmentDelivery::Live,
            basis: JudgmentBasis::Measured,
            seen_fraction: SeenFraction::ALL,
            label_mass: None,
            vetoes_pass: false,
            evidence: None,
        }))
    }

    fn failed(reason: FailureReason) -> StatementJudgment {
        statement(Judgment::Failed(Failure {
            judge_id: "j".into(),
            reason,
        }))
    }

    #[test]
    fn undecidable_and_failed_statements_are_in_no_mean() {
        let all = [
            judged(0.25),
            failed(FailureReason::Undecidable),
            judged(0.75),
            failed(FailureReason::Protocol),
        ];
        let summary = StatementSummary::of(&all).unwrap();
        let expected = StatementSummary {
            decided_count: 2,
            undecidable_count: 1,
            failed_count: 1,
            mean_groundedness: Some(Probability::HALF),
        };
        assert_eq!(summary, expected);
        let summary = StatementSummary::of(&all[1..2]).unwrap();
        assert_eq!(
            (summary.decided_count, summary.mean_groundedness),
            (0, None)
        );
        assert_eq!(StatementSummary::of(&[]), None);
    }
}
