//! A chat model as an atomic judge: the log-probabilities of its labels.
//!
//! The words of the model are used only to find where its labels stand; a probability comes from the numbers there or
//! not at all. Either one request holds all questions in numbered slots, or each question is a request of its own that
//! holds nothing but what it may rest on; the statements of groundedness are then slots of its request.

mod mass;
mod narrow;
mod request;
mod response;
mod slots;
mod tokens;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::time::Instant;

use self::mass::Reading;
use self::request::{Body, Prompt};
use self::response::{Completion, Labelled};
use super::chat::parameters::Parameters;
use super::egress::error_body::ErrorBody;
use super::egress::{Egress, Fault, Incoming, Sent};
use super::prompt::Fence;
use super::remote::{Layout, RemoteOptions, Wire};
use super::reply::{Reply, ReplyKind};
use super::view::View;
use super::wire::adapt::Adapting;
use super::wire::{self, Expected, Read, models};
use super::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, Failure, Judgment, JudgmentSource, StatementJudgment};
use crate::domain::outcome::JudgeRole;
use crate::domain::probability::Probability;
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::JudgeId;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::judges::InvalidAnswer;

/// A chat model as an atomic judge: the log-probabilities of its labels.
pub struct OpenAiLogprobsJudge {
    info: JudgeInfo,
    options: RemoteOptions,
    layout: Layout,
    min_label_mass: Probability,
    egress: Egress,
    fence: Fence,
    taken: Adapting<Parameters>,
    /// The service said that it gives no log-probabilities; that is not asked of it again.
    has_no_logprobs: AtomicBool,
    has_warned: AtomicBool,
    metrics: Arc<Metrics>,
}

impl OpenAiLogprobsJudge {
    /// A judge that is reached through `egress`.
    pub fn new(
        judge_id: JudgeId,
        options: RemoteOptions,
        egress: Egress,
        metrics: Arc<Metrics>,
    ) -> Self {
        let (layout, min_label_mass) = match options.wire {
            Wire::OpenAiLogprobs {
                layout,
                min_label_mass,
            } => (layout, min_label_mass),
            Wire::SystemOne
            | Wire::OpenAiDecisions
            | Wire::Chat { .. }
            | Wire::Anthropic { .. } => (Layout::Packed, Probability::HALF),
        };
        Self {
            info: options.info(judge_id, JudgmentSource::Logprob),
            options,
            layout,
            min_label_mass,
            egress,
            fence: Fence::of_process(),
            taken: Adapting::new(Parameters::without_form()),
            has_no_logprobs: AtomicBool::new(false),
            has_warned: AtomicBool::new(false),
            metrics,
        }
    }

    async fn packed(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        let view = View::of(ask, &self.options.view);
        let reply = || Reply::new(ask, &self.info, &self.metrics, kind(context)).over(&view);
        if view.questions.is_empty() {
            return Ok(wire::unsent(reply(), &view, &self.info, context));
        }
        let asked = wire::asked(ask, &view);
        let state = self.fence.state(&view);
        let prompt = Prompt::new(state, asked.iter().map(|asked| &asked.words));
        let keys: Vec<_> = asked.iter().map(|asked| asked.key.as_str()).collect();
        let read = |completion: &Completion| self.answers(completion, &keys, reply());
        self.exchange(&prompt, context, read)
            .await
            .map(wire::answer)
    }

    async fn per_question(
        &self,
        ask: &Ask<'_>,
        context: &CallContext,
    ) -> Result<Answer, JudgeError> {
        let asked: Vec<_> = ask.questions.asked().collect();
        let replies = asked
            .iter()
            .map(|&question| self.one(ask, question, context));
        let replies = join_all(replies).await;
        let mut whole = Answer {
            answers: Answers::from_fn(ask.trace.chunks.len(), |_| None),
            statements: Vec::new(),
            verdict: None,
            calls: Vec::new(),
        };
        let mut first_error = None;
        let mut unsent = None;
        for (question, reply) in asked.into_iter().zip(replies) {
            match reply {
                Ok(answer) => {
                    whole.answers[question] = answer.answers[question].clone();
                    whole.statements.extend(answer.statements);
                    for call in answer.calls {
                        if call.attempt_count == 0 {
                            unsent.get_or_insert(call);
                        } else {
                            whole.calls.push(call);
                        }
                    }
                }
                Err(error) => {
                    whole.answers[question] = Some(Judgment::Failed(Failure {
                        judge_id: error.judge_id.clone(),
                        reason: error.reason,
                    }));
                    let failed = self.failed_statements(ask, question, error.reason, context);
                    whole.statements.extend(failed);
                    whole.calls.extend(error.calls.iter().cloned());
                    first_error.get_or_insert(error);
                }
            }
        }
        match first_error {
            // Nothing was sent, so the failure stands for the call.
            Some(error) if whole.calls.is_empty() => Err(error),
            None if whole.calls.is_empty() => {
                whole.calls.extend(unsent);
                Ok(whole)
            }
            _ => Ok(whole),
        }
    }

    /// The judgments of the statements that a question is asked about one by one, if it failed as a whole.
    fn failed_statements(
        &self,
        ask: &Ask<'_>,
        question: Question,
        reason: FailureReason,
        context: &CallContext,
    ) -> Vec<StatementJudgment> {
        let only = QuestionSet::from_fn(ask.trace.chunks.len(), |other| other == question);
        let ask = Ask {
            questions: &only,
            ..*ask
        };
        let view = View::of(&ask, &self.options.view);
        let reply = Reply::new(&ask, &self.info, &self.metrics, kind(context)).over(&view);
        reply.failed_as_a_whole(reason).findings().1
    }

    async fn one(
        &self,
        ask: &Ask<'_>,
        question: Question,
        context: &CallContext,
    ) -> Result<Answer, JudgeError> {
        let only = QuestionSet::from_fn(ask.trace.chunks.len(), |other| other == question);
        let ask = Ask {
            questions: &only,
            ..*ask
        };
        let view = View::of(&ask, &self.options.view);
        let reply = || Reply::new(&ask, &self.info, &self.metrics, kind(context)).over(&view);
        if view.questions.is_empty() {
            return Ok(wire::unsent(reply(), &view, &self.info, context));
        }
        let (narrow, within) = narrow::to(view.clone(), question);
        let asked = wire::asked_about(&ask, (question, within), &narrow);
        let state = self.fence.state(&narrow);
        let prompt = Prompt::new(state, asked.iter().map(|asked| &asked.words));
        let keys: Vec<_> = asked.iter().map(|asked| asked.key.as_str()).collect();
        let read = |completion: &Completion| self.answers(completion, &keys, reply());
        self.exchange(&prompt, context, read)
            .await
            .map(wire::answer)
    }

    /// Sends a prompt, again without what the service refuses.
    async fn exchange<T>(
        &self,
        prompt: &Prompt,
        context: &CallContext,
        read: impl Fn(&Completion) -> Result<T, Fault> + Send + Sync,
    ) -> Result<Sent<T>, JudgeError> {
        if self.has_no_logprobs.load(Ordering::Relaxed) {
            let detail = "the service gives no log-probabilities, as it said before";
            let reason = FailureReason::LogprobsUnsupported;
            return Err(JudgeError::unsent(&self.info.judge_id, reason, detail));
        }
        let options = &self.options.model;
        let request = |parameters| {
            let body = Body {
                options,
                prompt,
                parameters,
            };
            let body = wire::encode(&self.info, &body)?;
            Ok(wire::post(body, prompt.estimated_token_count))
        };
        let instead = |parameters: Parameters, incoming: &Incoming| {
            let is_hopeless = refuses_logprobs(incoming);
            parameters.instead(incoming).filter(|_| !is_hopeless)
        };
        let read = |incoming: &Incoming| self.completion(incoming, prompt).and_then(|c| read(&c));
        let read = |incoming: &Incoming| {
            read(incoming).inspect_err(|fault| {
                if incoming.status.is_success() && fault.reason == FailureReason::Protocol {
                    self.metrics
                        .invalid_answer(&self.info.judge_id, InvalidAnswer::Malformed);
                }
            })
        };
        let way = (&self.egress, context);
        self.taken.send(way, request, instead, read).await
    }

    /// Reads an answer, or remembers that there will be none.
    fn completion(&self, incoming: &Incoming, prompt: &Prompt) -> Result<Completion, Fault> {
        if refuses_logprobs(incoming) {
            self.has_no_logprobs.store(true, Ordering::Relaxed);
            let status = incoming.status.as_u16();
            let detail = format!("status {status} names logprobs or top_logprobs; see extra_body");
            return Err(Fault::new(FailureReason::LogprobsUnsupported, detail));
        }
        let completion = response::read(incoming)?;
        let limit = prompt.output_limit(&self.options.model);
        completion.check(&Expected {
            options: &self.options,
            estimated_token_count: prompt.estimated_token_count,
            output_limit: format!("`max_tokens` = {limit}; see extra_body"),
        })?;
        Ok(completion)
    }

    fn answers(
        &self,
        completion: &Completion,
        keys: &[&str],
        mut reply: Reply<'_>,
    ) -> Result<Read, Fault> {
        let billed = completion.billed();
        let labels = completion.labels(keys.len())?;
        for (key, label) in keys.iter().zip(labels) {
            self.put(key, label, &mut reply)
                .map_err(|error| billed.refusal(error))?;
        }
        let (answers, statements) = reply.findings();
        Ok(Read {
            answers,
            statements,
            billed: billed.clone(),
        })
    }

    /// Puts what the position of a label says into the reply.
    fn put(&self, key: &str, label: Labelled<'_>, reply: &mut Reply<'_>) -> Result<(), JudgeError> {
        let Some(candidates) = label.map(tokens::Token::candidates) else {
            return reply.not_a_number(key);
        };
        if mass::looks_processed(&candidates) && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                judge = self.info.judge_id.as_str(),
                "the log-probabilities look processed; thresholds need raw ones"
            );
        }
        let Some(Reading {
            probability,
            label_mass,
        }) = mass::read(&candidates)
        else {
            return reply.not_a_number(key);
        };
        match Probability::try_from(label_mass) {
            Ok(mass) if self.min_label_mass <= mass && Probability::ZERO < mass => {
                reply.weighed(key, probability, mass)
            }
            Ok(_) => reply.failed(key, FailureReason::LowLabelMass),
            Err(_) => reply.not_a_number(key),
        }
    }
}

#[async_trait]
impl Judge for OpenAiLogprobsJudge {
    fn info(&self) -> &JudgeInfo {
        &self.info
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        match self.layout {
            Layout::Packed => self.packed(ask, context).await,
            Layout::PerQuestion => self.per_question(ask, context).await,
        }
    }

    async fn models(&self, deadline: Instant) -> Result<Option<Vec<String>>, JudgeError> {
        let path = &self.options.endpoint.path;
        models::list(&self.egress, path, Vec::new(), deadline).await
    }

    async fn probe(&self, deadline: Instant) -> Result<(), JudgeError> {
        let words = ["Is a week longer than a day?", "It is.", "It is not."].map(str::to_owned);
        let prompt = Prompt::new(String::from("{}"), [&words]);
        let context = CallContext::until(deadline, JudgeRole::Atomic);
        let read = |completion: &Completion| completion.labels(1).map(|_| ());
        let sent = self.exchange(&prompt, &context, read).await;
        if let Err(error) = &sent
            && error.reason == FailureReason::LogprobsUnsupported
        {
            self.has_no_logprobs.store(true, Ordering::Relaxed);
        }
        sent.map(|_| ())
    }
}

fn kind(context: &CallContext) -> ReplyKind {
    ReplyKind::live(context.role, JudgmentSource::Logprob)
}

/// Whether this is a refusal of log-probabilities.
fn refuses_logprobs(incoming: &Incoming) -> bool {
    if ![400, 403, 422, 501].contains(&incoming.status.as_u16()) {
        return false;
    }
    let error = ErrorBody::read(&incoming.body);
    let mut names = ["logprobs", "top_logprobs"].into_iter();
    // A message may echo the trace, so that it merely names them is not enough.
    names.any(|name| {
        error.blames(name) || (error.is_unsupported() && error.place_of(name).is_some())
    })
}
