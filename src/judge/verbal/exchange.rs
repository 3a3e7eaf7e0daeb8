//! A judge in words, whatever the API: prompt, answer, at most one repair.
//!
//! The repair sends the form and the judge's own words, nothing of the trace, and only if there is as much time left as
//! the answer took. What is still no answer then is a protocol failure and never a number.

use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderName, HeaderValue};
use serde::Serialize;
use tokio::time::Instant;

use super::Form;
use super::completion::Completion;
use super::prompt::Prompt;
use super::read::{Findings, Unread, read};
use crate::domain::judgment::JudgmentSource;
use crate::domain::outcome::JudgeCall;
use crate::domain::trace::JudgeId;
use crate::judge::egress::{Egress, Fault, Incoming, Outgoing, Sent};
use crate::judge::prompt::Fence;
use crate::judge::remote::RemoteOptions;
use crate::judge::reply::{Reply, ReplyKind};
use crate::judge::view::View;
use crate::judge::wire::adapt::Adapting;
use crate::judge::wire::{self, Expected, models};
use crate::judge::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo};
use crate::telemetry::metrics::Metrics;
use crate::text::tokens::estimated_token_count;

/// How words are sent to a service and got back.
pub trait Api: Send + Sync + 'static {
    /// What a service may refuse to take.
    type Parameters: Copy + PartialEq + Default + Send + Sync;

    /// The headers that it asks for besides those of the configuration.
    fn headers(_options: &RemoteOptions) -> Vec<(HeaderName, HeaderValue)> {
        Vec::new()
    }

    /// The body of a request with these parameters.
    fn body(saying: Saying<'_>, parameters: Self::Parameters) -> impl Serialize;

    /// What to send instead if the service says that it does not take one of these parameters.
    fn instead(parameters: Self::Parameters, incoming: &Incoming) -> Option<Self::Parameters>;

    /// What was said.
    fn read(incoming: &Incoming) -> Result<Completion, Fault>;
}

/// What is said to a judge.
#[derive(Debug, Clone, Copy)]
pub struct Saying<'a> {
    /// What the judge is.
    pub options: &'a RemoteOptions,
    /// The words.
    pub prompt: &'a Prompt,
}

/// A judge in words over an API.
pub struct VerbalJudge<A: Api> {
    info: JudgeInfo,
    options: RemoteOptions,
    taken: Adapting<A::Parameters>,
    fence: Fence,
    egress: Egress,
    metrics: Arc<Metrics>,
}

impl Saying<'_> {
    /// The most tokens that may be said in answer.
    pub fn max_output_tokens(&self) -> u64 {
        self.options.wire.max_output_tokens().map_or(0, u64::from)
    }
}

impl<A: Api> VerbalJudge<A> {
    /// A judge that is reached through `egress`.
    pub fn new(
        judge_id: JudgeId,
        options: RemoteOptions,
        egress: Egress,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            info: options.info(judge_id, JudgmentSource::Verbalized),
            options,
            taken: Adapting::default(),
            fence: Fence::of_process(),
            egress,
            metrics,
        }
    }

    /// The same with another fence, for recordings and tests.
    #[must_use]
    pub fn with_fence(self, fence: Fence) -> Self {
        Self { fence, ..self }
    }

    /// Whether what the judge wrote is short enough for it to write it again.
    fn may_be_repaired(&self, written: &str) -> bool {
        let limit = self.options.wire.max_output_tokens().map_or(0, u64::from);
        estimated_token_count(written) as u64 <= limit * 2
    }

    /// Says it and brings the words of the answer.
    async fn say(
        &self,
        prompt: &Prompt,
        context: &CallContext,
    ) -> Result<Sent<String>, JudgeError> {
        let saying = Saying {
            options: &self.options,
            prompt,
        };
        let estimated_token_count = prompt.estimated_token_count();
        let request = |parameters| {
            let body = wire::encode(&self.info, &A::body(saying, parameters))?;
            Ok(Outgoing {
                headers: A::headers(&self.options),
                ..wire::post(body, estimated_token_count)
            })
        };
        let read = |incoming: &Incoming| {
            A::read(incoming)?.checked(&Expected {
                options: &self.options,
                estimated_token_count,
                output_limit: format!("`max_output_tokens` = {}", saying.max_output_tokens()),
            })
        };
        let way = (&self.egress, context);
        let sent = self.taken.send(way, request, A::instead, read).await?;
        let (Completion { text, billed, .. }, mut call) = (sent.value, sent.call);
        billed.enter(&mut call);
        Ok(Sent { value: text, call })
    }
}

#[async_trait]
impl<A: Api> Judge for VerbalJudge<A> {
    fn info(&self) -> &JudgeInfo {
        &self.info
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        let info = &self.info;
        let view = View::of(ask, &self.options.view);
        let kind = ReplyKind::live(context.role, JudgmentSource::Verbalized);
        let reply = || Reply::new(ask, info, &self.metrics, kind).over(&view);
        if view.questions.is_empty() {
            return Ok(wire::unsent(reply(), &view, info, context));
        }
        let form = Form::of(&view);
        let prompt = Prompt::new(&self.fence, &view, ask.decision, &form);
        let understand = |text: &str| read(text, &form, (ask.trace, &view), reply());
        let Sent { value, mut call } = self.say(&prompt, context).await?;
        match understand(&value) {
            Ok(findings) => Ok(answer(findings, vec![call])),
            Err(Unread::Refused(error)) => Err(failed(error, vec![call])),
            Err(Unread::Malformed) => {
                let error = reply().malformed();
                let is_late = context.deadline < Instant::now() + call.latency;
                if is_late || !self.may_be_repaired(&value) {
                    return Err(failed(error, vec![call]));
                }
                call.failure = Some(error.reason);
                call.failure_detail.clone_from(&error.detail);
                let repair = Prompt::repair(&self.fence, &value, &form);
                let Sent { value, call: again } = match self.say(&repair, context).await {
                    Ok(sent) => sent,
                    Err(second) => {
                        let calls = std::iter::once(call).chain(second.calls).collect();
                        return Err(JudgeError { calls, ..error });
                    }
                };
                match understand(&value) {
                    Ok(findings) => Ok(answer(findings, vec![call, again])),
                    Err(Unread::Refused(error)) => Err(failed(error, vec![call, again])),
                    Err(Unread::Malformed) => Err(failed(error, vec![call, again])),
                }
            }
        }
    }

    async fn models(&self, deadline: Instant) -> Result<Option<Vec<String>>, JudgeError> {
        let path = &self.options.endpoint.path;
        models::list(&self.egress, path, A::headers(&self.options), deadline).await
    }

    async fn probe(&self, _deadline: Instant) -> Result<(), JudgeError> {
        Ok(())
    }
}

fn answer((answers, statements): Findings, calls: Vec<JudgeCall>) -> Answer {
    Answer {
        answers,
        statements,
        verdict: None,
        calls,
    }
}

/// The error with the calls that led to it; the last of them brought it.
fn failed(error: JudgeError, mut calls: Vec<JudgeCall>) -> JudgeError {
    if let Some(last) = calls.last_mut() {
        last.failure = Some(error.reason);
        last.failure_detail.clone_from(&error.detail);
    }
    JudgeError { calls, ..error }
}
