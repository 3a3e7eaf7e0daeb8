//! How a model's judge says what it found, and what the statements of an answer make of it.

use std::ops::Range;

use super::words::in_code_points;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{
    Evidence, Failure, Judged, Judgment, JudgmentBasis, JudgmentDelivery, JudgmentSource,
    SeenFraction, StatementJudgment,
};
use crate::domain::outcome::JudgeRole;
use crate::domain::probability::Probability;
use crate::domain::trace::{JudgeId, Trace};
use crate::text::statements::decidable_statements;

/// A probability is told to so many parts; the rest is the noise of processors.
const PARTS: f64 = 1e6;

/// Who speaks, and in which role.
pub(super) struct Voice<'a> {
    pub(super) judge_id: &'a JudgeId,
    pub(super) role: JudgeRole,
}

/// A statement of the answer.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    pub(super) text: String,
    /// Its place within the answer in code points; `None` if it came with the trace.
    pub(super) span: Option<Range<usize>>,
    state: State,
}

/// What can be said about a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It can be supported or not.
    Decidable,
    /// It claims something and says too little to be judged.
    OpenClaim,
    /// It claims nothing.
    NoClaim,
}

/// A probability with the window that it rests on, or why there is none.
pub(super) type Found = Result<(f64, Option<Window>), FailureReason>;

/// A stretch of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) chunk: usize,
    /// In bytes.
    pub(super) place: Range<usize>,
}

impl Voice<'_> {
    /// What was found, as a judgment about the trace.
    pub(super) fn judgment(&self, found: Found, basis: JudgmentBasis, trace: &Trace) -> Judgment {
        let (p, window) = match found {
            Ok(found) => found,
            Err(reason) => return self.failed(reason),
        };
        let Ok(probability) = Probability::try_from((p * PARTS).round() / PARTS) else {
            return self.failed(FailureReason::Protocol);
        };
        let evidence = window.and_then(|window| {
            let text = &trace.chunks.get(window.chunk)?.text;
            Some(Box::new(Evidence {
                chunk: Some(window.chunk),
                span: in_code_points(text, &window.place),
                ..Evidence::default()
            }))
        });
        Judgment::Judged(Judged {
            probability,
            judge_id: self.judge_id.clone(),
            role: self.role,
            source: JudgmentSource::Native,
            delivery: JudgmentDelivery::Live,
            basis,
            seen_fraction: SeenFraction::ALL,
            label_mass: None,
            vetoes_pass: false,
            evidence,
        })
    }

    /// No probability.
    pub(super) fn failed(&self, reason: FailureReason) -> Judgment {
        Judgment::Failed(Failure {
            judge_id: self.judge_id.clone(),
            reason,
        })
    }

    /// The groundedness of the answer, which is that of its worst statement. An undecidable claim forbids a PASS.
    pub(super) fn groundedness(
        &self,
        statements: &[Statement],
        found: &[Found],
        trace: &Trace,
    ) -> Judgment {
        let worst = deciding(found, |p, best| p < best);
        let mut whole = self.judgment(worst, JudgmentBasis::Measured, trace);
        if let Judgment::Judged(judged) = &mut whole {
            let mut states = statements.iter().map(|statement| statement.state);
            judged.vetoes_pass = states.any(|state| state == State::OpenClaim);
        }
        whole
    }

    /// The judgments of statements.
    pub(super) fn statements(
        &self,
        statements: Vec<Statement>,
        found: &[Found],
        trace: &Trace,
    ) -> Vec<StatementJudgment> {
        let pairs = statements.into_iter().zip(found);
        pairs
            .map(|(statement, found)| StatementJudgment {
                text: statement.text,
                span: statement.span,
                groundedness: self.judgment(found.clone(), JudgmentBasis::Measured, trace),
            })
            .collect()
    }
}

impl Statement {
    /// Whether it can be supported or not. One that only says that nothing was found cannot.
    pub(super) fn is_decidable(&self) -> bool {
        self.state == State::Decidable
    }
}

/// The statements that came with the trace, else those of the answer.
pub(super) fn statements_of(trace: &Trace) -> Vec<Statement> {
    let found = decidable_statements(&trace.statements, &trace.answer).into_iter();
    found
        .map(|statement| Statement {
            text: statement.text.to_owned(),
            state: match (statement.is_claim, statement.is_decidable) {
                (true, true) => State::Decidable,
                (true, false) => State::OpenClaim,
                (false, _) => State::NoClaim,
            },
            span: statement.span,
        })
        .collect()
}

/// The statement that decides about the answer: the one of the least (or the greatest) probability.
///
/// A statement that cannot be decided is left out; any other failure is one of the answer, for the least of them is then
/// not known.
pub(super) fn deciding(found: &[Found], decides: impl Fn(f64, f64) -> bool) -> Found {
    let mut deciding: Option<(f64, Option<Window>)> = None;
    for found in found {
        match found {
            Ok((p, window)) => {
                if deciding.as_ref().is_none_or(|(best, _)| decides(*p, *best)) {
                    deciding = Some((*p, window.clone()));
                }
            }
            Err(FailureReason::Undecidable) => {}
            Err(reason) => return Err(*reason),
        }
    }
    deciding.ok_or(FailureReason::Undecidable)
}
