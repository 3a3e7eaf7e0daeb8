//! The attempts of one call: each has a turn, a time and an end, and the end decides whether there is another.

use std::time::Duration;

use backon::ExponentialBackoff;
use http::StatusCode;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::breaker::Event;
use super::concurrency::{NoTurn, Permit};
use super::request::request_id;
use super::secret::Version;
use super::transport::TransportError;
use super::{Egress, Fault, Incoming, Outgoing, Pass, retry};
use crate::domain::failure::FailureReason;
use crate::judge::CallContext;
use crate::telemetry::metrics::egress::RetryReason;

/// One call and what became of it so far.
pub(super) struct Progress {
    pub(super) start: Instant,
    pub(super) attempt_count: u32,
    pub(super) upstream_request_id: Option<String>,
    /// Whether an attempt that brought no tokens may have been billed.
    pub(super) may_be_billed: bool,
    /// When the call is over: at the end of its own time or that of its caller.
    deadline: Instant,
    delays: ExponentialBackoff,
    was_stale: bool,
    had_new_key: bool,
}

/// A turn: the right to send one request.
struct Turn<'a> {
    _permit: Permit<'a>,
    pass: Pass<'a>,
}

/// An attempt that failed.
struct Failed {
    fault: Fault,
    /// Why another attempt may help.
    retry: Option<RetryReason>,
    retry_after: Option<Duration>,
    /// The secrets that were sent.
    version: Version,
}

impl Progress {
    pub(super) fn new(egress: &Egress, context: &CallContext) -> Self {
        let start = Instant::now();
        Self {
            start,
            attempt_count: 0,
            upstream_request_id: None,
            may_be_billed: false,
            deadline: context.deadline.min(start + egress.options.timeout),
            delays: egress.retries.delays(),
            was_stale: false,
            had_new_key: false,
        }
    }
}

impl Egress {
    /// Makes attempts until one succeeds or another cannot help.
    pub(super) async fn attempts<T>(
        &self,
        request: &Outgoing,
        context: &CallContext,
        classify: &(impl Fn(&Incoming) -> Result<T, Fault> + Send + Sync),
        progress: &mut Progress,
    ) -> Result<T, Fault> {
        self.retries.deposit();
        let mut last = None;
        loop {
            let turn = match self.turn(request, progress.deadline).await {
                Ok(turn) => turn,
                // What the judge did says more than that there was no other turn.
                Err(fault) => return Err(last.unwrap_or(fault)),
            };
            let result = self
                .attempt(request, context, classify, progress, turn)
                .await;
            let failed = match result {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            let Some(delay) = self.delay(&failed, progress) else {
                return Err(failed.fault);
            };
            sleep(delay).await;
            last = Some(failed.fault);
        }
    }

    /// Waits for the turn of one attempt.
    async fn turn(&self, request: &Outgoing, deadline: Instant) -> Result<Turn<'_>, Fault> {
        let late = || Fault::new(FailureReason::Timeout, "there was no time to ask");
        let alone = || Fault::new(FailureReason::BreakerOpen, "the judge keeps failing");
        if deadline <= Instant::now() {
            return Err(late());
        }
        if self.with_breaker(|breaker| breaker.is_refusing(Instant::now())) {
            return Err(alone());
        }
        let permit = self
            .concurrency
            .acquire(deadline, || self.metrics.judge_queued(&self.judge_id))
            .await
            .map_err(|no_turn| {
                let detail = match no_turn {
                    NoTurn::QueueFull => "too many calls wait already",
                    NoTurn::Late => "there was no turn in time",
                };
                Fault::new(FailureReason::Overloaded, detail)
            })?;
        let tokens = request.estimated_token_count;
        let share = self.concurrency.share();
        let at = self
            .rate
            .reserve(tokens, share, Instant::now(), deadline)
            .ok_or_else(|| {
                Fault::new(FailureReason::RateLimited, "the rate allows it only later")
            })?;
        sleep_until(at).await;
        if deadline <= Instant::now() {
            return Err(late());
        }
        let ticket = self
            .with_breaker(|breaker| breaker.admit(Instant::now()))
            .ok_or_else(alone)?;
        let pass = Pass {
            egress: self,
            ticket,
            event: Event::Neutral,
        };
        Ok(Turn {
            _permit: permit,
            pass,
        })
    }

    /// Sends one request and looks at what comes back.
    async fn attempt<T>(
        &self,
        request: &Outgoing,
        context: &CallContext,
        classify: &(impl Fn(&Incoming) -> Result<T, Fault> + Send + Sync),
        progress: &mut Progress,
        mut turn: Turn<'_>,
    ) -> Result<T, Failed> {
        let sent_at = Instant::now();
        let (secrets, version) = self.secrets.headers(|change| self.secret_changed(change));
        let failed = |fault, retry| Failed {
            fault,
            retry,
            retry_after: None,
            version,
        };
        let outgoing = self
            .request(request, context, secrets, progress.was_stale)
            .map_err(|fault| failed(fault, None))?;
        progress.attempt_count += 1;
        let limit = (sent_at + self.options.attempt_timeout).min(progress.deadline);
        let incoming = match timeout_at(limit, self.transport.send(outgoing)).await {
            Ok(Ok(incoming)) => incoming,
            Ok(Err(error)) => {
                // That a kept connection is gone says nothing about the judge behind it, nor does how much it has to say.
                turn.pass.event = match error {
                    TransportError::Dns
                    | TransportError::Connect(_)
                    | TransportError::Tls(_)
                    | TransportError::Broken(_)
                    | TransportError::Malformed => Event::Failed,
                    TransportError::Stale | TransportError::TooLarge(_) => Event::Neutral,
                };
                progress.may_be_billed |= was_sent(&error);
                let (fault, retry) = of_transport(&error);
                return Err(failed(fault, retry));
            }
            Err(_) => {
                progress.may_be_billed = true;
                let waited = sent_at.elapsed();
                let longest = context.longest.unwrap_or(self.options.attempt_timeout);
                if has_waited_enough(waited, longest.min(self.options.attempt_timeout)) {
                    turn.pass.event = Event::Failed;
                }
                let detail = format!("no answer within {} ms", waited.as_millis());
                return Err(failed(Fault::new(FailureReason::Timeout, detail), None));
            }
        };
        progress.upstream_request_id = request_id(&incoming.headers);
        let (result, event) = self.judged(&incoming, classify, sent_at);
        turn.pass.event = event;
        progress.may_be_billed |= result
            .as_ref()
            .is_err_and(|fault| was_served(fault, incoming.status));
        result.map_err(|fault| Failed {
            retry: retry_reason(fault.reason),
            retry_after: retry::retry_after(&incoming.headers),
            fault,
            version,
        })
    }

    /// What the adapter makes of an answer, and what that says about the judge.
    fn judged<T>(
        &self,
        incoming: &Incoming,
        classify: &(impl Fn(&Incoming) -> Result<T, Fault> + Send + Sync),
        sent_at: Instant,
    ) -> (Result<T, Fault>, Event) {
        let status = incoming.status;
        let result = if status.is_redirection() {
            let detail = format!("status {}: redirects are not followed", status.as_u16());
            Err(Fault::new(FailureReason::Protocol, detail))
        } else {
            classify(incoming)
        };
        let event = match &result {
            Ok(_) => {
                self.concurrency.answered();
                Event::Answered
            }
            Err(fault) => {
                if fault.reason == FailureReason::RateLimited {
                    self.concurrency.refused(sent_at, Instant::now());
                }
                event(fault.reason, status)
            }
        };
        (result, event)
    }

    /// How long to wait for another attempt; `None` if there is none.
    fn delay(&self, failed: &Failed, progress: &mut Progress) -> Option<Duration> {
        if failed.fault.reason == FailureReason::Unauthenticated && !progress.had_new_key {
            progress.had_new_key = true;
            if self.secrets.refused(|change| self.secret_changed(change)) == failed.version {
                return None;
            }
            return self.again(RetryReason::NewKey, Duration::ZERO, progress);
        }
        let reason = failed.retry?;
        if reason == RetryReason::StaleConnection && !progress.was_stale {
            progress.was_stale = true;
            return self.again(reason, Duration::ZERO, progress);
        }
        let usual = progress.delays.next()?;
        let delay = failed.retry_after.unwrap_or(usual);
        let is_early = Instant::now()
            .checked_add(delay)
            .is_some_and(|then| then < progress.deadline);
        if is_early && self.retries.withdraw() {
            self.again(reason, delay, progress)
        } else {
            None
        }
    }

    fn again(&self, reason: RetryReason, delay: Duration, progress: &Progress) -> Option<Duration> {
        if progress.deadline <= Instant::now() {
            return None;
        }
        self.metrics.retried(&self.judge_id, reason);
        Some(delay)
    }
}

/// A time-out says something about the judge only if the judge had at least half of the longest time it ever has.
fn has_waited_enough(waited: Duration, longest: Duration) -> bool {
    longest <= waited * 2
}

fn of_transport(error: &TransportError) -> (Fault, Option<RetryReason>) {
    let (reason, retry) = match error {
        TransportError::Dns | TransportError::Connect(_) | TransportError::Broken(_) => {
            (FailureReason::Unavailable, Some(RetryReason::Connection))
        }
        TransportError::Stale => (
            FailureReason::Unavailable,
            Some(RetryReason::StaleConnection),
        ),
        TransportError::Tls(_) => (FailureReason::Unavailable, None),
        TransportError::TooLarge(_) | TransportError::Malformed => (FailureReason::Protocol, None),
    };
    (Fault::new(reason, error.to_string()), retry)
}

/// Whether a request that brought no answer may have reached the judge.
const fn was_sent(error: &TransportError) -> bool {
    match error {
        TransportError::Dns | TransportError::Connect(_) | TransportError::Tls(_) => false,
        TransportError::Stale
        | TransportError::Broken(_)
        | TransportError::TooLarge(_)
        | TransportError::Malformed => true,
    }
}

/// Whether the judge may have worked for an answer that is none and tells no tokens; a refusal is work.
fn was_served(fault: &Fault, status: StatusCode) -> bool {
    let was_turned_away = !status.is_success() && fault.reason != FailureReason::Refused;
    fault.usage.is_none() && !was_turned_away
}

/// What an answer that is none says about the judge.
fn event(reason: FailureReason, status: StatusCode) -> Event {
    match reason {
        FailureReason::Unavailable | FailureReason::Timeout => Event::Failed,
        // An answer in time that cannot be read may come of what was asked: one text must not close the way for all.
        FailureReason::Protocol if status.is_server_error() => Event::Failed,
        FailureReason::Protocol
        | FailureReason::RateLimited
        | FailureReason::Unauthenticated
        | FailureReason::Refused
        | FailureReason::OutputTruncated
        | FailureReason::TooLong
        | FailureReason::TruncatedByJudge
        | FailureReason::Undecidable
        | FailureReason::UnsupportedLanguage
        | FailureReason::LowLabelMass
        | FailureReason::LogprobsUnsupported
        | FailureReason::ModelMismatch
        | FailureReason::Budget
        | FailureReason::BreakerOpen
        | FailureReason::Overloaded => Event::Neutral,
    }
}

/// Whether the same request may have an answer later.
fn retry_reason(reason: FailureReason) -> Option<RetryReason> {
    match reason {
        FailureReason::RateLimited => Some(RetryReason::RateLimited),
        FailureReason::Unavailable => Some(RetryReason::Unavailable),
        FailureReason::Timeout
        | FailureReason::Unauthenticated
        | FailureReason::Protocol
        | FailureReason::Refused
        | FailureReason::OutputTruncated
        | FailureReason::TooLong
        | FailureReason::TruncatedByJudge
        | FailureReason::Undecidable
        | FailureReason::UnsupportedLanguage
        | FailureReason::LowLabelMass
        | FailureReason::LogprobsUnsupported
        | FailureReason::ModelMismatch
        | FailureReason::Budget
        | FailureReason::BreakerOpen
        | FailureReason::Overloaded => None,
    }
}
