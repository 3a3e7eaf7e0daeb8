//! The way out: one call to a judge over HTTP, with everything that keeps it harmless to caller, judge and bill.
//!
//! A call waits for its turn, is sent within its time, and is repeated only if that can help; what came back is judged
//! by the adapter that sent it. An error here is told in our own words: no body of a judge and no secret stands in it.

mod attempt;
pub mod breaker;
mod concurrency;
pub(in crate::judge) mod error_body;
mod rate;
mod request;
mod retry;
mod secret;
pub mod transport;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tokio::time::Instant;

use self::breaker::{Breaker, Event, Ticket};
use self::concurrency::Concurrency;
use self::error_body::ErrorBody;
use self::rate::Rate;
use self::retry::Retries;
use self::secret::{Change, Secrets};
use self::transport::{HttpTransport, Transport};
use super::remote::EndpointOptions;
use super::{CallContext, JudgeError};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::JudgmentDelivery;
use crate::domain::outcome::{JudgeCall, Usage};
use crate::domain::trace::JudgeId;
use crate::telemetry::metrics::Metrics;

/// The way out to one judge.
pub struct Egress {
    judge_id: JudgeId,
    requested_model: Option<String>,
    options: EndpointOptions,
    secrets: Secrets,
    transport: Arc<dyn Transport>,
    breaker: Mutex<Breaker>,
    concurrency: Concurrency,
    rate: Rate,
    retries: Retries,
    metrics: Arc<Metrics>,
}

/// A request to a judge.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// The path below the base URL; `None` is the path of the judge.
    pub path: Option<String>,
    /// Headers that the wire asks for, besides those that are configured.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body, JSON; empty for none.
    pub body: Bytes,
    /// The estimated tokens that it costs, for the rate.
    pub estimated_token_count: u64,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, decompressed and whole.
    pub body: Bytes,
}

/// Why what came back is no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Why.
    pub reason: FailureReason,
    /// What is wrong, in our own words.
    pub detail: String,
    /// The tokens that were used all the same, if the judge said so.
    pub usage: Option<Usage>,
    /// The model that answered all the same, if the judge said so.
    pub returned_model: Option<String>,
}

/// Why there is no way out; it names the key of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct EgressError {
    /// The key below `judges.NAME`.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
}

/// Every reason why there is no way out.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct EgressErrors(pub Vec<EgressError>);

/// What an adapter made of an answer, and the call that brought it.
#[derive(Debug, Clone)]
pub struct Sent<T> {
    /// What the adapter made of it.
    pub value: T,
    /// The call; usage and model are the adapter's to fill in.
    pub call: JudgeCall,
}

impl Incoming {
    /// Whether the status is that of an answer; others of 2xx are promises or parts.
    pub fn is_answer(&self) -> bool {
        self.status == StatusCode::OK
    }
}

impl Fault {
    /// A fault told in our own words.
    pub fn new(reason: FailureReason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
            usage: None,
            returned_model: None,
        }
    }

    /// What an answer other than 2xx means on every wire.
    pub fn of_status(incoming: &Incoming) -> Self {
        let status = incoming.status.as_u16();
        let error = ErrorBody::read(&incoming.body);
        let reason = reason_of(status);
        if reason != FailureReason::Unauthenticated
            && let Some((reason, what)) = error.meaning(status)
        {
            return Self::new(reason, format!("status {status}: {what}"));
        }
        match error.known_code() {
            Some(code) => Self::new(reason, format!("status {status}, {code}")),
            None => Self::new(reason, format!("status {status}")),
        }
    }

    /// What an answer of 2xx means that is none because of `what`: some services tell their errors in such an answer.
    pub fn within(incoming: &Incoming, what: &str) -> Self {
        let error = ErrorBody::read(&incoming.body);
        let status = error.status();
        let meaning = error.meaning(status.unwrap_or(incoming.status.as_u16()));
        match (meaning, status) {
            (Some((reason, meaning)), _) => Self::new(reason, format!("{what}: {meaning}")),
            (None, Some(status)) => {
                let detail = format!("{what} and tells an error {status}");
                Self::new(reason_of(status), detail)
            }
            (None, None) => Self::new(FailureReason::Protocol, what),
        }
    }
}

const fn reason_of(status: u16) -> FailureReason {
    match status {
        401 | 403 => FailureReason::Unauthenticated,
        402 => FailureReason::Budget,
        413 => FailureReason::TooLong,
        429 | 529 => FailureReason::RateLimited,
        408 | 500.. => FailureReason::Unavailable,
        _ => FailureReason::Protocol,
    }
}

fn lines(errors: &[EgressError]) -> String {
    let lines: Vec<_> = errors.iter().map(EgressError::to_string).collect();
    lines.join("\n")
}

impl EgressError {
    fn new(key: &str, message: impl Into<String>) -> Self {
        Self {
            key: key.to_owned(),
            message: message.into(),
        }
    }
}

impl Egress {
    /// A way out over a transport, without keys or further headers.
    pub fn new(
        judge_id: JudgeId,
        requested_model: Option<String>,
        options: EndpointOptions,
        transport: Arc<dyn Transport>,
        metrics: Arc<Metrics>,
    ) -> Self {
        metrics.way_out_opened(&judge_id);
        Self {
            judge_id,
            requested_model,
            secrets: Secrets::none(),
            transport,
            breaker: Mutex::new(Breaker::new(options.breaker)),
            concurrency: Concurrency::new(options.concurrency),
            rate: Rate::new(options.rate),
            retries: Retries::new(options.retry),
            options,
            metrics,
        }
    }

    /// A way out over HTTP; `variable` looks up variables of the environment. All that is wrong is told at once.
    pub fn connect(
        judge_id: JudgeId,
        requested_model: Option<String>,
        options: EndpointOptions,
        variable: &dyn Fn(&str) -> Option<String>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, EgressErrors> {
        match (
            Secrets::read(&options, variable),
            HttpTransport::new(&options),
        ) {
            (Ok(secrets), Ok(transport)) => {
                let transport = Arc::new(transport);
                let egress = Self::new(judge_id, requested_model, options, transport, metrics);
                Ok(Self { secrets, ..egress })
            }
            (secrets, transport) => {
                let EgressErrors(mut errors) = secrets.err().unwrap_or_default();
                errors.extend(transport.err());
                Err(EgressErrors(errors))
            }
        }
    }

    /// Sends a request and lets the adapter judge what came back with `classify`.
    ///
    /// Dropping the future aborts the request and gives back whatever the call held.
    pub async fn send<T>(
        &self,
        request: &Outgoing,
        context: &CallContext,
        classify: impl Fn(&Incoming) -> Result<T, Fault> + Send + Sync,
    ) -> Result<Sent<T>, JudgeError> {
        let mut progress = attempt::Progress::new(self, context);
        let result = self
            .attempts(request, context, &classify, &mut progress)
            .await;
        let call = JudgeCall {
            judge_id: self.judge_id.clone(),
            role: context.role,
            requested_model: self.requested_model.clone(),
            returned_model: None,
            is_local: false,
            delivery: JudgmentDelivery::Live,
            attempt_count: progress.attempt_count,
            usage: None,
            cost: None,
            latency: progress.start.elapsed(),
            failure: None,
            failure_detail: None,
            upstream_request_id: progress.upstream_request_id,
            may_be_billed: progress.may_be_billed,
        };
        match result {
            Ok(value) => Ok(Sent { value, call }),
            Err(fault) => {
                let failed = JudgeCall {
                    failure: Some(fault.reason),
                    failure_detail: Some(fault.detail.clone()),
                    usage: fault.usage,
                    returned_model: fault.returned_model,
                    ..call
                };
                Err(JudgeError {
                    is_unsent: failed.attempt_count == 0,
                    calls: vec![failed],
                    ..JudgeError::new(&self.judge_id, fault.reason, fault.detail)
                })
            }
        }
    }

    /// Looks at the breaker or changes it, and tells if its state is another one now.
    fn with_breaker<T>(&self, act: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        let before = breaker.state();
        let result = act(&mut breaker);
        let after = breaker.state();
        // Told under the lock, so that the last state told is the last state.
        if before != after {
            self.metrics.breaker_changed(&self.judge_id, after);
        }
        result
    }

    fn secret_changed(&self, change: Change) {
        match change {
            Change::New(key) => self.metrics.secret_changed(&self.judge_id, &key),
            Change::Lost(key, problem) => {
                self.metrics.secret_lost(&self.judge_id, &key, &problem);
            }
        }
    }
}

/// An attempt that the breaker let through; unless its end is told, it says nothing about the judge.
struct Pass<'a> {
    egress: &'a Egress,
    ticket: Ticket,
    event: Event,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let (ticket, event) = (self.ticket, self.event);
        self.egress
            .with_breaker(|breaker| breaker.on(ticket, event, Instant::now()));
    }
}

#[cfg(test)]
mod tests;
