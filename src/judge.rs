//! Judges: whoever answers the atomic questions about a trace.
//!
//! One trait serves both roles. A judge keeps no state between calls, never sees a label, an id of ours or another
//! judgment, and reports a failure as a failure: never as a number and never as a verdict.

pub mod anthropic;
pub mod cached;
pub mod chat;
pub mod composite;
pub mod decision;
pub mod egress;
pub mod embedded;
pub mod onnx;
pub mod openai_decisions;
pub mod openai_logprobs;
pub mod prompt;
pub mod remote;
pub mod replay;
pub mod reply;
pub mod systemone;
pub mod thoughts;
pub mod verbal;
pub mod view;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use self::decision::Decision;
use crate::domain::diagnosis::Verdict;
use crate::domain::dimension::DimensionSet;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, JudgmentDelivery, JudgmentSource, StatementJudgment};
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

    /// The models that its service lists; `None` if it has no list.
    ///
    /// It costs nothing, so it also opens a connection before the first trace needs one.
    async fn models(&self, deadline: Instant) -> Result<Option<Vec<String>>, JudgeError>;

    /// Finds out at start-up whether the service can do what the judge needs of it, and remembers what it cannot.
    async fn probe(&self, deadline: Instant) -> Result<(), JudgeError>;
}

vocabulary! {
    /// The types of judges that a configuration can name.
    "judge type"
    pub enum JudgeType {
        /// A System One model over HTTP: probabilities for named questions.
        SystemOne = "systemone",
        /// The Decisions API of OpenAI.
        OpenAiDecisions = "openai_decisions",
        /// A chat model over an OpenAI-compatible API, by the log-probabilities of its labels.
        OpenAiLogprobs = "openai_logprobs",
        /// A chat model over an OpenAI-compatible API, by its words.
        Chat = "chat",
        /// A model over the Messages API of Anthropic, by its words.
        Anthropic = "anthropic",
        /// The lexical judge inside the program.
        Embedded = "embedded",
        /// A model of the user's own inside the program.
        Onnx = "onnx",
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
    /// The most tokens of state and questions that it takes; `None` is unlimited.
    pub max_state_tokens: Option<u64>,
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
    /// Whether a cached answer will not do.
    pub skip_cache: bool,
    /// The longest time that a call in this role ever has, however long its caller waits; `None` is unlimited.
    pub longest: Option<Duration>,
}

impl CallContext {
    /// A call that nothing but its deadline bounds.
    pub const fn until(deadline: Instant, role: JudgeRole) -> Self {
        Self {
            deadline,
            role,
            traceparent: None,
            skip_cache: false,
            longest: None,
        }
    }
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
    /// Whether nothing was sent, so that nothing can have been billed.
    pub is_unsent: bool,
}

impl JudgeInfo {
    /// A call to the judge, of which nothing has been sent yet.
    pub fn call(&self, role: JudgeRole) -> JudgeCall {
        JudgeCall {
            judge_id: self.judge_id.clone(),
            role,
            requested_model: self.requested_model.clone(),
            returned_model: None,
            is_local: self.is_local,
            delivery: JudgmentDelivery::Live,
            attempt_count: 0,
            usage: None,
            cost: None,
            latency: Duration::ZERO,
            failure: None,
            failure_detail: None,
            upstream_request_id: None,
            may_be_billed: false,
        }
    }
}

impl JudgeError {
    /// A failure told in our own words.
    pub fn new(judge_id: &JudgeId, reason: FailureReason, detail: impl Into<String>) -> Self {
        Self {
            judge_id: judge_id.clone(),
            reason,
            detail: Some(detail.into()),
            calls: Vec::new(),
            is_unsent: false,
        }
    }

    /// The same of a call for which nothing was sent.
    pub fn unsent(judge_id: &JudgeId, reason: FailureReason, detail: impl Into<String>) -> Self {
        Self {
            is_unsent: true,
            ..Self::new(judge_id, reason, detail)
        }
    }
}
