//! Judges: whoever answers the atomic questions about a trace.
//!
//! One trait serves both roles. A judge keeps no state between calls, never sees a label, an id of ours or another
//! judgment, and reports a failure as a failure: never as a number and never as a verdict.

pub mod composite;
pub mod decision;
pub mod embedded;
pub mod replay;
pub mod reply;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use self::decision::Decision;
use crate::domain::diagnosis::Verdict;
use crate::domain::dimension::DimensionSet;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, JudgmentSource, StatementJudgment};
use crate::domain::outcome::{JudgeCall, JudgeRole};
use crate::domain::question::QuestionSet;
use crate::domain::trace::{JudgeId, Trace};
use crate::domain::vocabulary;

/// Answers questions about traces.
#[async_trait]
pub trait Judge: Send + Sync {
    /// What the judge is.
    fn info(&self) -> &JudgeInfo;

    /// Answers the questions, or says why it cannot. Dropping the future cancels the call.
    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError>;
}

vocabulary! {
    /// The types of judges that a configuration can name.
    "judge type"
    pub enum JudgeType {
        /// The lexical judge inside the program.
        Embedded = "embedded",
        /// Answers recorded in a file.
        Replay = "replay",
    }
}

/// What a judge is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeInfo {
    /// Its name in the configuration.
    pub judge_id: JudgeId,
    /// Its type in the configuration.
    pub judge_type: JudgeType,
    /// The model asked for, if there is a choice.
    pub requested_model: Option<String>,
    /// The dimensions that it can answer.
    pub dimensions: DimensionSet,
    /// What kind of probabilities it gives; `None` if each answer says its own.
    pub source: Option<JudgmentSource>,
    /// Whether it runs inside the program, so that a call costs nothing.
    pub is_local: bool,
}

/// What a judge is asked.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The trace.
    pub trace: &'a Arc<Trace>,
    /// The questions to answer.
    pub questions: &'a QuestionSet,
    /// The words of the questions.
    pub decision: &'a Decision,
    /// Whether groundedness and contradiction may rest on earlier turns too.
    pub history_is_evidence: bool,
}

/// The circumstances of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallContext {
    /// When the answer is no longer of use.
    pub deadline: Instant,
    /// The role in which the judge is asked.
    pub role: JudgeRole,
    /// The W3C trace context of the caller, to be passed on.
    pub traceparent: Option<String>,
}

/// What a judge answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The judgments; a question that was asked and is absent here was not answered.
    pub answers: Answers,
    /// The judgments of the statements of the answer, from a judge that works by statements.
    pub statements: Vec<StatementJudgment>,
    /// A whole diagnosis in place of judgments.
    pub verdict: Option<Verdict>,
    /// The calls that were made.
    pub calls: Vec<JudgeCall>,
}

/// Why a judge gave no answer at all. Neither prompt nor answer text stands in it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("judge `{judge_id}` failed: {reason}{}", detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default())]
pub struct JudgeError {
    /// Which judge.
    pub judge_id: JudgeId,
    /// Why.
    pub reason: FailureReason,
    /// What failed, in our own words.
    pub detail: Option<String>,
    /// The calls that were made; empty if the one call is told by this error alone.
    pub calls: Vec<JudgeCall>,
}

impl JudgeError {
    /// A failure told in our own words.
    pub fn new(judge_id: &JudgeId, reason: FailureReason, detail: impl Into<String>) -> Self {
        Self {
            judge_id: judge_id.clone(),
            reason,
            detail: Some(detail.into()),
            calls: Vec::new(),
        }
    }
}
