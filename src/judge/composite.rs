//! One judge out of several: each dimension goes to the judge that the profile names for it.
//!
//! All members are asked at once, each under the deadline of the call; a member that fails or is late fails only its
//! own questions. Every question that was asked is answered here, with a failure if need be.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout_at};

use super::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo};
use crate::domain::dimension::{DimensionMap, DimensionSet};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, Failure, Judgment};
use crate::domain::outcome::{JudgeCall, JudgeRole};
use crate::domain::question::QuestionSet;
use crate::domain::trace::JudgeId;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::judges::InvalidAnswer;

/// A judge for each dimension.
pub struct Composite {
    members: Vec<Member>,
    metrics: Arc<Metrics>,
}

struct Member {
    judge: Arc<dyn Judge>,
    dimensions: DimensionSet,
}

impl Composite {
    /// One judge for every dimension.
    pub fn of(judge: Arc<dyn Judge>, metrics: Arc<Metrics>) -> Self {
        Self {
            members: vec![Member {
                judge,
                dimensions: DimensionSet::ALL,
            }],
            metrics,
        }
    }

    /// A judge for each dimension; the same judge may serve several.
    pub fn by_dimension(judges: &DimensionMap<Arc<dyn Judge>>, metrics: Arc<Metrics>) -> Self {
        let mut members: BTreeMap<JudgeId, Member> = BTreeMap::new();
        for (dimension, judge) in judges.iter() {
            let member = members
                .entry(judge.info().judge_id.clone())
                .or_insert_with(|| Member {
                    judge: Arc::clone(judge),
                    dimensions: DimensionSet::EMPTY,
                });
            member.dimensions.insert(dimension);
        }
        Self {
            members: members.into_values().collect(),
            metrics,
        }
    }

    /// What each member is, with the dimensions that it is asked.
    pub fn members(&self) -> impl Iterator<Item = JudgeInfo> {
        self.members.iter().map(|member| {
            let info = member.judge.info();
            let asked = info
                .dimensions
                .iter()
                .filter(|d| member.dimensions.contains(*d));
            JudgeInfo {
                dimensions: asked.collect(),
                ..info.clone()
            }
        })
    }

    /// Asks every member for its share of the questions.
    ///
    /// Nothing fails as a whole here: what a judge did not answer stands in the answer as its failure.
    pub async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Answer {
        let shares: Vec<(&Member, QuestionSet)> = self
            .members
            .iter()
            .map(|member| (member, ask.questions.restricted_to(member.dimensions)))
            .filter(|(_, questions)| !questions.is_empty())
            .collect();
        let replies = join_all(shares.iter().map(|(member, questions)| {
            let ask = Ask { questions, ..*ask };
            async move { member.ask(&ask, context).await }
        }))
        .await;

        let mut whole = Answer {
            answers: Answers::from_fn(ask.trace.chunks.len(), |_| None),
            statements: Vec::new(),
            verdict: None,
            calls: Vec::new(),
        };
        for ((member, questions), (reply, calls)) in shares.iter().zip(replies) {
            let judge_id = &member.judge.info().judge_id;
            whole.calls.extend(calls);
            match reply {
                Ok(answer) => self.fill(answer, questions, judge_id, &mut whole),
                Err(reason) => {
                    for question in questions.asked() {
                        whole.answers[question] = Some(failed(judge_id, reason));
                    }
                }
            }
        }
        whole
    }

    fn fill(&self, answer: Answer, asked: &QuestionSet, judge_id: &JudgeId, into: &mut Answer) {
        for question in asked.asked() {
            let judgment = answer.answers[question].clone();
            if judgment.is_none() && answer.verdict.is_none() {
                self.metrics
                    .invalid_answer(judge_id, InvalidAnswer::Missing);
                into.answers[question] = Some(failed(judge_id, FailureReason::Protocol));
            } else {
                into.answers[question] = judgment;
            }
        }
        into.statements.extend(answer.statements);
        into.verdict = into.verdict.or(answer.verdict);
    }
}

impl Member {
    /// Asks within the deadline; every ask leaves at least one call on record.
    async fn ask(
        &self,
        ask: &Ask<'_>,
        context: &CallContext,
    ) -> (Result<Answer, FailureReason>, Vec<JudgeCall>) {
        let info = self.judge.info();
        let start = Instant::now();
        let reply = match timeout_at(context.deadline, self.judge.judge(ask, context)).await {
            Ok(reply) => reply,
            Err(_) => Err(JudgeError::new(
                &info.judge_id,
                FailureReason::Timeout,
                format!("no answer within {} ms", start.elapsed().as_millis()),
            )),
        };
        let call = |was_sent, failure, failure_detail| JudgeCall {
            attempt_count: u32::from(was_sent),
            latency: start.elapsed(),
            failure,
            failure_detail,
            may_be_billed: !info.is_local && failure == Some(FailureReason::Timeout),
            ..info.call(context.role)
        };
        match reply {
            Ok(mut answer) => {
                // A whole diagnosis has no dimensions, so it can stand only in place of a fallback judge's judgments.
                if context.role == JudgeRole::Atomic {
                    answer.verdict = None;
                }
                let mut calls = std::mem::take(&mut answer.calls);
                if calls.is_empty() {
                    calls.push(call(true, None, None));
                }
                (Ok(answer), calls)
            }
            Err(error) => {
                let mut calls = error.calls;
                if calls.is_empty() {
                    calls.push(call(!error.is_unsent, Some(error.reason), error.detail));
                }
                (Err(error.reason), calls)
            }
        }
    }
}

fn failed(judge_id: &JudgeId, reason: FailureReason) -> Judgment {
    Judgment::Failed(Failure {
        judge_id: judge_id.clone(),
        reason,
    })
}
