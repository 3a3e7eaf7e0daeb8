//! The replay judge: answers that were recorded in a file.
//!
//! A row is found by trace id and verified by the digest of what the judge saw; a row of another input is a protocol
//! failure, and a trace without a row is unavailable as a whole.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::reply::{Reply, ReplyKind};
use super::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo, JudgeType};
use crate::artifact::replay::recorded::Recorded;
use crate::artifact::replay::{ReplayRow, input_sha256};
use crate::domain::diagnosis::Verdict;
use crate::domain::dimension::DimensionSet;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, Failure, Judgment, JudgmentDelivery, JudgmentSource};
use crate::domain::outcome::JudgeCall;
use crate::domain::trace::JudgeId;
use crate::domain::vocabulary;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::judges::InvalidAnswer;

vocabulary! {
    /// How a recorded row is bound to a trace.
    "way to match recorded rows"
    pub enum ReplayMatch {
        /// By trace id, and every row must carry the digest of its input.
        InputSha256 = "input_sha256",
        /// By trace id; a row without a digest is taken as it is.
        TraceId = "trace_id",
    }
}

/// How recorded answers are replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayOptions {
    /// The model that the configuration names; it is priced where a row names none.
    pub model: Option<String>,
    /// How a row is bound to its trace.
    pub matching: ReplayMatch,
    /// Whether to wait as long as the recorded call took.
    pub simulate_latency: bool,
}

/// Answers from recorded rows.
pub struct ReplayJudge {
    info: JudgeInfo,
    options: ReplayOptions,
    rows: Recorded,
    metrics: Arc<Metrics>,
}

impl ReplayJudge {
    /// A judge over the rows that were recorded of it.
    pub fn new(
        judge_id: JudgeId,
        rows: Recorded,
        options: ReplayOptions,
        metrics: Arc<Metrics>,
    ) -> Self {
        let info = JudgeInfo {
            judge_id,
            judge_type: JudgeType::Replay,
            requested_model: options.model.clone(),
            dimensions: DimensionSet::ALL,
            source: None,
            max_state_tokens: None,
            is_local: false,
        };
        Self {
            info,
            options,
            rows,
            metrics,
        }
    }

    fn fail(&self, reason: FailureReason, detail: &str) -> JudgeError {
        JudgeError::unsent(&self.info.judge_id, reason, detail)
    }

    /// What is not recorded took no time, so that the same rows give the same report.
    fn at_once(&self, error: JudgeError, context: &CallContext) -> JudgeError {
        let call = JudgeCall {
            failure: Some(error.reason),
            failure_detail: error.detail.clone(),
            ..self.info.call(context.role)
        };
        JudgeError {
            calls: vec![call],
            ..error
        }
    }

    fn malformed(&self, problem: &str) -> JudgeError {
        self.metrics
            .invalid_answer(&self.info.judge_id, InvalidAnswer::Malformed);
        self.fail(FailureReason::Protocol, problem)
    }

    fn row(&self, ask: &Ask<'_>) -> Result<ReplayRow, JudgeError> {
        // A row is small and lies in the page cache, so that reading it is not worth a thread.
        let row = self
            .rows
            .row(&ask.trace.trace_id)
            .map_err(|error| self.malformed(&error.to_string()))?
            .ok_or_else(|| {
                self.fail(
                    FailureReason::Unavailable,
                    "no answer is recorded for the trace",
                )
            })?;
        let problem = match (&row.input_sha256, self.options.matching) {
            (Some(recorded), _) if *recorded != input_sha256(ask.trace) => {
                let found = input_sha256(ask.trace);
                Some(format!(
                    "the recorded answer is for another input: input_sha256 is {recorded}, that of the trace {found}"
                ))
            }
            (None, ReplayMatch::InputSha256) => {
                Some("the recorded answer has no input_sha256".to_owned())
            }
            _ => None,
        };
        let decision = &row.decision;
        let problem = problem.or_else(|| {
            let same = decision.id == ask.decision.id
                && decision.version == ask.decision.version
                && decision.variant == ask.decision.variant;
            (!same).then(|| {
                format!(
                    "the recorded answer is to other questions: `{}` version {} ({}), not `{}` version {} ({})",
                    decision.id,
                    decision.version,
                    decision.variant,
                    ask.decision.id,
                    ask.decision.version,
                    ask.decision.variant,
                )
            })
        });
        match problem {
            None => Ok(row),
            Some(problem) => Err(self.malformed(&problem)),
        }
    }

    /// The judgments as they were recorded.
    fn answers(
        &self,
        row: &ReplayRow,
        ask: &Ask<'_>,
        kind: ReplyKind,
    ) -> Result<Answers, JudgeError> {
        let mut reply = Reply::new(ask, &self.info, &self.metrics, kind);
        for (id, p) in &row.answers.chunk_relevance {
            reply.chunk(id, p.value())?;
        }
        for (name, p) in row.answers.whole() {
            reply.dimension(name, p.value())?;
        }
        let Some(details) = &row.details else {
            return Ok(reply.finish());
        };
        let chunk_ids: Vec<_> = ask
            .trace
            .chunks
            .iter()
            .map(|c| c.chunk_id.as_str())
            .collect();
        if !details
            .chunk_relevance
            .keys()
            .all(|id| chunk_ids.contains(&id.as_str()))
        {
            return Err(reply.unknown());
        }
        let mut answers = reply.finish();
        for question in ask.questions.asked() {
            let chunk_id = question.chunk_ordinal().map(|ordinal| chunk_ids[ordinal]);
            let Some(detail) = details.get(question.dimension(), chunk_id) else {
                continue;
            };
            if let Some(reason) = detail.failed {
                let judge_id = self.info.judge_id.clone();
                answers[question] = Some(Judgment::Failed(Failure { judge_id, reason }));
            } else if let Some(Judgment::Judged(judged)) = &mut answers[question] {
                detail.complete(judged);
            }
        }
        Ok(answers)
    }
}

#[async_trait]
impl Judge for ReplayJudge {
    fn info(&self) -> &JudgeInfo {
        &self.info
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        let row = self
            .row(ask)
            .map_err(|error| self.at_once(error, context))?;
        let latency = Duration::from_millis(row.latency_ms);
        if self.options.simulate_latency {
            tokio::time::sleep(latency).await;
        }
        let call = JudgeCall {
            returned_model: row.model.clone(),
            delivery: JudgmentDelivery::Replay,
            attempt_count: 1,
            usage: row.usage,
            latency,
            ..self.info.call(context.role)
        };
        let kind = ReplyKind {
            role: context.role,
            source: row.source.unwrap_or(JudgmentSource::Native),
            delivery: JudgmentDelivery::Replay,
        };
        let answers = self.answers(&row, ask, kind).map_err(|error| {
            let failed = JudgeCall {
                failure: Some(error.reason),
                failure_detail: error.detail.clone(),
                ..call.clone()
            };
            JudgeError {
                calls: vec![failed],
                ..error
            }
        })?;
        let verdict = row.answers.verdict.map(|verdict| Verdict {
            diagnosis: verdict.diagnosis,
            confidence: verdict.confidence,
        });
        Ok(Answer {
            answers,
            statements: Vec::new(),
            verdict,
            calls: vec![call],
        })
    }

    async fn models(&self, _deadline: Instant) -> Result<Option<Vec<String>>, JudgeError> {
        Ok(None)
    }

    async fn probe(&self, _deadline: Instant) -> Result<(), JudgeError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
