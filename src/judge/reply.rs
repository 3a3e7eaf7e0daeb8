//! From the names and numbers that a judge sends to judgments.
//!
//! A number that is not a probability fails its own question and is never clamped.
//! An unknown or repeated name fails the whole answer: it cannot be told what else is wrong with it.
//! A known name that was not asked about is ignored, and a question without an answer stays absent.

use std::str::FromStr as _;

use super::{Ask, JudgeError, JudgeInfo};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{
    Answers, Failure, Judged, Judgment, JudgmentBasis, JudgmentDelivery, JudgmentSource,
    SeenFraction,
};
use crate::domain::outcome::JudgeRole;
use crate::domain::probability::Probability;
use crate::domain::question::Question;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::judges::InvalidAnswer;

/// Collects the answer of a judge, name by name.
pub struct Reply<'a> {
    ask: &'a Ask<'a>,
    info: &'a JudgeInfo,
    metrics: &'a Metrics,
    kind: ReplyKind,
    answers: Answers,
    seen: Vec<Question>,
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

impl<'a> Reply<'a> {
    /// An answer without names yet.
    pub fn new(
        ask: &'a Ask<'a>,
        info: &'a JudgeInfo,
        metrics: &'a Metrics,
        kind: ReplyKind,
    ) -> Self {
        let answers = Answers::from_fn(ask.trace.chunks.len(), |_| None);
        Self {
            ask,
            info,
            metrics,
            kind,
            answers,
            seen: Vec::new(),
        }
    }

    /// The judge gave this number for a whole-trace dimension.
    pub fn dimension(&mut self, name: &str, number: f64) -> Result<(), JudgeError> {
        match Dimension::from_str(name) {
            Ok(dimension) if dimension != Dimension::ChunkRelevance => {
                self.put(Question::about(dimension), number)
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
            Some(ordinal) => self.put(Question::chunk(ordinal), number),
            None => Err(self.refuse(InvalidAnswer::Unknown, "names an unknown chunk")),
        }
    }

    /// The judgments; a question that was asked and not answered is absent.
    pub fn finish(self) -> Answers {
        self.answers
    }

    fn put(&mut self, question: Question, number: f64) -> Result<(), JudgeError> {
        if self.seen.contains(&question) {
            return Err(self.refuse(InvalidAnswer::Duplicate, "answers a question twice"));
        }
        self.seen.push(question);
        if self.ask.questions[question] {
            self.answers[question] = Some(self.judgment(number));
        }
        Ok(())
    }

    fn judgment(&self, number: f64) -> Judgment {
        match Probability::try_from(number) {
            Ok(probability) => Judgment::Judged(Judged {
                probability,
                judge_id: self.info.judge_id.clone(),
                role: self.kind.role,
                source: self.kind.source,
                delivery: self.kind.delivery,
                basis: JudgmentBasis::Measured,
                seen_fraction: SeenFraction::ALL,
                label_mass: None,
                vetoes_pass: false,
                evidence: None,
            }),
            Err(_) => {
                self.metrics
                    .invalid_answer(&self.info.judge_id, InvalidAnswer::NotAProbability);
                Judgment::Failed(Failure {
                    judge_id: self.info.judge_id.clone(),
                    reason: FailureReason::Protocol,
                })
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
