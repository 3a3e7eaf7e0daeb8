//! From the names and numbers that a judge sends to judgments.
//!
//! A number that is not a probability fails its own question and is never clamped.
//! An unknown or repeated name fails the whole answer: it cannot be told what else is wrong with it.
//! A question without an answer stays absent. A known name that was not asked about is ignored in a recording, which
//! may hold more than is asked now; in the answer to a view it is unknown, because that judge was asked for nothing else.
//!
//! Where groundedness was asked about each statement, that of the answer is the least of these, and it is a failure as
//! soon as one statement that was asked about has none. What a statement claims that is too short to be asked about is
//! not known to be supported, so it forbids a PASS.

use std::str::FromStr as _;

use super::decision::STATEMENT_KEY;
use super::view::View;
use super::{Ask, JudgeError, JudgeInfo};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{
    Answers, Evidence, Failure, Guard, Judged, Judgment, JudgmentBasis, JudgmentDelivery,
    JudgmentSource, SeenFraction, StatementJudgment,
};
use crate::domain::outcome::JudgeRole;
use crate::domain::probability::Probability;
use crate::domain::question::{Question, QuestionSet};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::judges::InvalidAnswer;

/// Collects the answer of a judge, name by name.
pub struct Reply<'a> {
    ask: &'a Ask<'a>,
    info: &'a JudgeInfo,
    metrics: &'a Metrics,
    kind: ReplyKind,
    view: Option<&'a View<'a>>,
    answers: Answers,
    seen: QuestionSet,
    /// Of the statements that are asked about, by ordinal.
    statements: Vec<Option<Judgment>>,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Whole(Question),
    Statement(usize),
}

/// What is the same for every number of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyKind {
    /// The role in which the judge was asked.
    pub role: JudgeRole,
    /// What kind of numbers they are.
    pub source: JudgmentSource,
    /// Where they were taken from.
    pub delivery: JudgmentDelivery,
}

impl ReplyKind {
    /// Numbers of a call that was just made.
    pub const fn live(role: JudgeRole, source: JudgmentSource) -> Self {
        Self {
            role,
            source,
            delivery: JudgmentDelivery::Live,
        }
    }
}

impl<'a> Reply<'a> {
    /// An answer without names yet.
    pub fn new(
        ask: &'a Ask<'a>,
        info: &'a JudgeInfo,
        metrics: &'a Metrics,
        kind: ReplyKind,
    ) -> Self {
        let chunk_count = ask.trace.chunks.len();
        Self {
            ask,
            info,
            metrics,
            kind,
            view: None,
            answers: Answers::from_fn(chunk_count, |_| None),
            seen: QuestionSet::from_fn(chunk_count, |_| false),
            statements: Vec::new(),
        }
    }

    /// The answer is to a view of the trace: its judgments saw only so much, and what it could not be asked failed.
    ///
    /// If a text seems to speak to the judge, any of its judgments may follow that text, so none of them may help a PASS.
    pub fn over(mut self, view: &'a View<'a>) -> Self {
        self.view = Some(view);
        self.statements = vec![None; view.asked_statements().count()];
        for &(question, reason) in &view.unasked {
            self.answers[question] = Some(self.failure(reason));
        }
        self
    }

    /// The judge gave this number for the question of this name; see [`super::decision::key`].
    pub fn named(&mut self, key: &str, number: f64) -> Result<(), JudgeError> {
        let target = self.target(key)?;
        self.put(target, |reply| reply.judgment(target.question(), number))
    }

    /// The judge did not answer the question of this name.
    pub fn failed(&mut self, key: &str, reason: FailureReason) -> Result<(), JudgeError> {
        let target = self.target(key)?;
        self.put(target, |reply| reply.failure(reason))
    }

    /// What the judge wrote to the question of this name cannot be read, or does not belong to the trace.
    pub fn failed_as_malformed(&mut self, key: &str) -> Result<(), JudgeError> {
        self.metrics
            .invalid_answer(&self.info.judge_id, InvalidAnswer::Malformed);
        self.failed(key, FailureReason::Protocol)
    }

    /// The judge gave no number for the question of this name.
    pub fn not_a_number(&mut self, key: &str) -> Result<(), JudgeError> {
        self.failed(key, FailureReason::Protocol)?;
        self.metrics
            .invalid_answer(&self.info.judge_id, InvalidAnswer::NotAProbability);
        Ok(())
    }

    /// The judge gave this number for the question of this name, with so much probability on the labels.
    pub fn weighed(
        &mut self,
        key: &str,
        number: f64,
        label_mass: Probability,
    ) -> Result<(), JudgeError> {
        let target = self.target(key)?;
        self.put(target, |reply| {
            let mut judgment = reply.judgment(target.question(), number);
            if let Judgment::Judged(judged) = &mut judgment {
                judged.label_mass = Some(label_mass);
            }
            judgment
        })
    }

    fn target(&self, key: &str) -> Result<Target, JudgeError> {
        let ordinal = key.strip_prefix(STATEMENT_KEY).and_then(ordinal_of);
        match ordinal.filter(|&ordinal| ordinal < self.statements.len()) {
            Some(ordinal) => Ok(Target::Statement(ordinal)),
            None => self.question(key).map(Target::Whole),
        }
    }

    fn question(&self, key: &str) -> Result<Question, JudgeError> {
        let question = match key.strip_prefix("chunk_") {
            Some(ordinal) => ordinal_of(ordinal)
                .filter(|&ordinal| ordinal < self.ask.trace.chunks.len())
                .map(Question::chunk),
            None => None,
        };
        let question = question.or_else(|| {
            let dimension = Dimension::from_str(key).ok()?;
            (dimension != Dimension::ChunkRelevance).then(|| Question::about(dimension))
        });
        question.ok_or_else(|| self.unknown())
    }

    /// The refusal of an answer that names an unknown question.
    pub fn unknown(&self) -> JudgeError {
        self.refuse(InvalidAnswer::Unknown, "names an unknown question")
    }

    /// The refusal of an answer that answers a question twice.
    pub fn repeated(&self) -> JudgeError {
        self.refuse(InvalidAnswer::Duplicate, "answers a question twice")
    }

    /// The refusal of an answer that cannot be read.
    pub fn malformed(&self) -> JudgeError {
        self.refuse(
            InvalidAnswer::Malformed,
            "is not in the form that was asked for",
        )
    }

    /// The judge gave this number for a whole-trace dimension.
    pub fn dimension(&mut self, name: &str, number: f64) -> Result<(), JudgeError> {
        match Dimension::from_str(name) {
            Ok(dimension) if dimension != Dimension::ChunkRelevance => {
                self.number(Question::about(dimension), number)
            }
            _ => Err(self.refuse(InvalidAnswer::Unknown, "names an unknown dimension")),
        }
    }

    /// The judge gave this number for the relevance of a chunk.
    pub fn chunk(&mut self, chunk_id: &str, number: f64) -> Result<(), JudgeError> {
        let chunks = &self.ask.trace.chunks;
        match chunks
            .iter()
            .position(|chunk| chunk.chunk_id.as_str() == chunk_id)
        {
            Some(ordinal) => self.number(Question::chunk(ordinal), number),
            None => Err(self.refuse(InvalidAnswer::Unknown, "names an unknown chunk")),
        }
    }

    /// The judgments; a question that was asked and not answered is absent.
    pub fn finish(self) -> Answers {
        self.answers
    }

    /// Nothing that was asked is answered, for this reason.
    pub fn failed_as_a_whole(mut self, reason: FailureReason) -> Self {
        let failed = self.failure(reason);
        for question in self.ask.questions.asked() {
            self.answers[question].get_or_insert_with(|| failed.clone());
        }
        self.statements.fill(Some(failed));
        self
    }

    /// The judgments, with one for every statement of the answer if groundedness was to be asked about each.
    pub fn findings(mut self) -> (Answers, Vec<StatementJudgment>) {
        let Some(view) = self.view.filter(|view| !view.statements.is_empty()) else {
            return (self.answers, Vec::new());
        };
        let groundedness = Question::about(Dimension::Groundedness);
        let mut said = std::mem::take(&mut self.statements).into_iter();
        let unasked = view.unasked.iter().find(|(q, _)| *q == groundedness);
        let judgments = view.statements.iter().map(|own| match unasked {
            _ if !own.is_decidable => self.failure(FailureReason::Undecidable),
            Some((_, reason)) => self.failure(*reason),
            None => said
                .next()
                .flatten()
                .unwrap_or_else(|| self.failure(FailureReason::Protocol)),
        });
        let judgments: Vec<_> = judgments.collect();
        if unasked.is_none() {
            self.answers[groundedness] = worst(view, &judgments);
        }
        let statements = view.statements.iter().zip(judgments);
        let statements = statements.map(|(own, groundedness)| StatementJudgment {
            text: own.text.clone(),
            span: own.span.clone(),
            groundedness,
        });
        (self.answers, statements.collect())
    }

    fn number(&mut self, question: Question, number: f64) -> Result<(), JudgeError> {
        self.put(Target::Whole(question), |reply| {
            reply.judgment(question, number)
        })
    }

    fn put(
        &mut self,
        target: Target,
        judgment: impl FnOnce(&Self) -> Judgment,
    ) -> Result<(), JudgeError> {
        match target {
            Target::Whole(question) => {
                self.claim(question)?;
                if self.ask.questions[question] {
                    self.answers[question] = Some(judgment(self));
                }
            }
            Target::Statement(ordinal) => {
                if self.statements[ordinal].is_some() {
                    return Err(self.repeated());
                }
                self.statements[ordinal] = Some(judgment(self));
            }
        }
        Ok(())
    }

    fn claim(&mut self, question: Question) -> Result<(), JudgeError> {
        if self.seen[question] {
            return Err(self.repeated());
        }
        let is_split = question == Target::Statement(0).question() && !self.statements.is_empty();
        if is_split || self.view.is_some_and(|view| !view.questions[question]) {
            let detail = "names a question that was not asked";
            return Err(self.refuse(InvalidAnswer::Unknown, detail));
        }
        self.seen[question] = true;
        Ok(())
    }

    /// The judgment that the judge did not answer.
    pub fn failure(&self, reason: FailureReason) -> Judgment {
        Judgment::Failed(Failure {
            judge_id: self.info.judge_id.clone(),
            reason,
        })
    }

    /// The judgment that the judge gave this number for a question.
    pub fn judgment(&self, question: Question, number: f64) -> Judgment {
        let is_steered = self.view.is_some_and(|view| view.has_injection_signal);
        let evidence = Evidence {
            guards: vec![Guard::InjectionSignal],
            ..Evidence::default()
        };
        match Probability::try_from(number) {
            Ok(probability) => Judgment::Judged(Judged {
                probability,
                judge_id: self.info.judge_id.clone(),
                role: self.kind.role,
                source: self.kind.source,
                delivery: self.kind.delivery,
                basis: JudgmentBasis::Measured,
                seen_fraction: self
                    .view
                    .map_or(SeenFraction::ALL, |view| view.seen(question)),
                label_mass: None,
                vetoes_pass: is_steered,
                evidence: is_steered.then(|| Box::new(evidence)),
            }),
            Err(_) => {
                self.metrics
                    .invalid_answer(&self.info.judge_id, InvalidAnswer::NotAProbability);
                self.failure(FailureReason::Protocol)
            }
        }
    }

    fn refuse(&self, cause: InvalidAnswer, detail: &str) -> JudgeError {
        self.metrics.invalid_answer(&self.info.judge_id, cause);
        JudgeError::new(
            &self.info.judge_id,
            FailureReason::Protocol,
            format!("its answer {detail}"),
        )
    }
}

impl Target {
    fn question(self) -> Question {
        match self {
            Self::Whole(question) => question,
            Self::Statement(_) => Question::about(Dimension::Groundedness),
        }
    }
}

/// The groundedness of an answer by the judgments of its statements: the least, or a failure if one failed that could
/// be asked about.
fn worst(view: &View<'_>, judgments: &[Judgment]) -> Option<Judgment> {
    let all = || view.statements.iter().zip(judgments);
    let asked = || all().filter(|(own, _)| own.is_decidable);
    if let Some((_, failed)) = asked().find(|(_, judgment)| judgment.judged().is_none()) {
        return Some(failed.clone());
    }
    let judged = asked().filter_map(|(_, judgment)| judgment.judged());
    let worst = judged.clone().min_by(|a, b| {
        let (a, b) = (a.probability.value(), b.probability.value());
        a.total_cmp(&b)
    })?;
    let has_open_claim = all().any(|(own, _)| !own.is_decidable && own.is_claim);
    let is_vetoed = judged.clone().any(|judged| judged.vetoes_pass);
    Some(Judgment::Judged(Judged {
        vetoes_pass: is_vetoed || has_open_claim,
        ..worst.clone()
    }))
}

/// An ordinal as [`super::decision::key`] writes it, and in no other way.
fn ordinal_of(text: &str) -> Option<usize> {
    let ordinal: usize = text.parse().ok()?;
    (ordinal.to_string() == text).then_some(ordinal)
}
