//! A judge that gives probabilities for named questions, whatever the form of its requests and answers.
//!
//! However many chunks a trace has, it is one request: the state is read once and every question is answered over it.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use super::{Asked, Billed, Ending, Expected, Read, models};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::JudgmentSource;
use crate::domain::trace::JudgeId;
use crate::judge::egress::{Egress, Fault, Incoming};
use crate::judge::remote::RemoteOptions;
use crate::judge::reply::{Reply, ReplyKind};
use crate::judge::view::View;
use crate::judge::{Answer, Ask, CallContext, JudgeError, JudgeInfo, wire};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::judges::InvalidAnswer;

/// A judge that gives probabilities for named questions.
pub(in crate::judge) struct Native {
    pub(in crate::judge) info: JudgeInfo,
    pub(in crate::judge) options: RemoteOptions,
    egress: Egress,
    metrics: Arc<Metrics>,
}

/// A response.
#[derive(Debug)]
pub(in crate::judge) struct Response {
    /// The answers in their order, repeated names too; a name that is none is empty.
    pub(in crate::judge) answers: Vec<(String, Said)>,
    pub(in crate::judge) billed: Billed,
}

/// What was said to one question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::judge) enum Said {
    /// A number; not yet a probability.
    Probability(f64),
    /// That it is declined.
    Refusal,
    /// Nothing that answers it.
    Nothing,
}

impl Native {
    /// A judge that is reached through `egress`.
    pub(in crate::judge) fn new(
        judge_id: JudgeId,
        options: RemoteOptions,
        egress: Egress,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            info: options.info(judge_id, JudgmentSource::Native),
            options,
            egress,
            metrics,
        }
    }

    /// Asks by a request whose body is `write` and whose answer is read by `read`.
    pub(in crate::judge) async fn ask(
        &self,
        ask: &Ask<'_>,
        context: &CallContext,
        write: impl FnOnce(&View<'_>, &[Asked]) -> Result<Bytes, JudgeError>,
        read: impl Fn(&Incoming) -> Result<Response, Fault> + Send + Sync,
    ) -> Result<Answer, JudgeError> {
        let view = View::of(ask, &self.options.view);
        let kind = ReplyKind::live(context.role, JudgmentSource::Native);
        let reply = || Reply::new(ask, &self.info, &self.metrics, kind).over(&view);
        if view.questions.is_empty() {
            return Ok(wire::unsent(reply(), &view, &self.info, context));
        }
        let asked = wire::asked(ask, &view);
        let estimate = wire::estimate(&view, &asked);
        let body = write(&view, &asked)?;
        let read = |incoming: &Incoming| {
            let response = read(incoming).inspect_err(|fault| self.count(incoming, fault))?;
            self.answers(response, estimate, reply())
        };
        let request = wire::post(body, estimate);
        let sent = self.egress.send(&request, context, read).await;
        sent.map(wire::answer)
    }

    /// The models that its service lists.
    pub(in crate::judge) async fn models(
        &self,
        deadline: Instant,
    ) -> Result<Option<Vec<String>>, JudgeError> {
        let path = &self.options.endpoint.path;
        models::list(&self.egress, path, Vec::new(), deadline).await
    }

    fn answers(
        &self,
        response: Response,
        estimated_token_count: u64,
        mut reply: Reply<'_>,
    ) -> Result<Read, Fault> {
        let billed = response.billed;
        let expected = Expected {
            options: &self.options,
            estimated_token_count,
            output_limit: String::new(),
        };
        billed.check(Ending::Done, &expected)?;
        for (name, said) in &response.answers {
            let read = match said {
                Said::Probability(number) => reply.named(name, *number),
                Said::Refusal => reply.failed(name, FailureReason::Refused),
                Said::Nothing => reply.not_a_number(name),
            };
            read.map_err(|error| billed.refusal(error))?;
        }
        let (answers, statements) = reply.findings();
        Ok(Read {
            answers,
            statements,
            billed,
        })
    }

    fn count(&self, incoming: &Incoming, fault: &Fault) {
        if incoming.status.is_success() && fault.reason == FailureReason::Protocol {
            self.metrics
                .invalid_answer(&self.info.judge_id, InvalidAnswer::Malformed);
        }
    }
}
