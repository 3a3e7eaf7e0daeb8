//! What a call does, whatever brought it: admission, conversion, cascade.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::cascade::profile::Profile;
use crate::cascade::{self, Cascade};
use crate::domain::Vocabulary as _;
use crate::domain::trace::{ProfileName, TraceLimits};
use crate::rpc::convert;
use crate::rpc::pb;
use crate::rpc::status::{CallError, code_name};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::{Alive, ShedReason};

use super::drain::Drain;
use super::receiving::{Received, Receiving};

/// The profile of a request that names none.
const DEFAULT_PROFILE: &str = "default";

/// Diagnoses traces for callers; every transport calls the same one.
pub struct Service {
    cascade: Arc<Cascade>,
    limits: TraceLimits,
    admission: Arc<Semaphore>,
    max_in_flight: usize,
    receiving: Arc<Receiving>,
    drain: Drain,
    metrics: Arc<Metrics>,
}

/// What stands around a message.
#[derive(Debug)]
pub(super) struct Call {
    /// When its headers arrived.
    pub(super) received: Instant,
    /// When its message was there.
    pub(super) started: Instant,
    /// How long its caller waits.
    pub(super) timeout: Option<Duration>,
    /// The W3C trace context of its caller.
    pub(super) traceparent: Option<String>,
}

/// A place among the traces in flight.
#[derive(Debug)]
pub(super) struct Admitted<'a> {
    _permit: SemaphorePermit<'a>,
    _alive: Alive,
}

impl Service {
    /// A service over a cascade; `admission` has one permit for every trace that may be in flight, and messages of
    /// `max_receiving_bytes` are received at once.
    pub fn new(
        cascade: Arc<Cascade>,
        limits: TraceLimits,
        admission: Arc<Semaphore>,
        max_receiving_bytes: usize,
        drain: Drain,
        metrics: Arc<Metrics>,
    ) -> Self {
        let max_in_flight = admission.available_permits();
        let receiving = Receiving::new(max_receiving_bytes, Arc::clone(&metrics));
        Self {
            cascade,
            limits,
            admission,
            max_in_flight,
            receiving: Arc::new(receiving),
            drain,
            metrics,
        }
    }

    /// Nothing yet of a message, which takes from what may be received at once.
    pub(super) fn receive(&self) -> Received {
        self.receiving.begin()
    }

    /// Lets a call in, unless the server drains or is full.
    pub(super) fn admit(&self) -> Result<Admitted<'_>, CallError> {
        if self.drain.is_draining() {
            self.metrics.call_shed(ShedReason::ShuttingDown);
            return Err(self.failed(None, CallError::ShuttingDown));
        }
        let Ok(permit) = self.admission.try_acquire() else {
            self.metrics.call_shed(ShedReason::Overloaded);
            let limit = self.max_in_flight;
            return Err(self.failed(None, CallError::Overloaded { limit }));
        };
        Ok(Admitted {
            _permit: permit,
            _alive: self.metrics.trace_in_flight(),
        })
    }

    /// Diagnoses the trace of a call that was let in.
    pub(super) async fn diagnose(
        &self,
        _admitted: &Admitted<'_>,
        message: pb::DiagnoseRequest,
        call: Call,
    ) -> Result<pb::DiagnoseResponse, CallError> {
        let profile = self
            .profile(&message.profile)
            .map_err(|error| self.failed(None, error))?;
        let diagnosed = self.diagnose_with(profile, message, call).await;
        diagnosed.map_err(|error| self.failed(Some(&profile.name), error))
    }

    /// Tells what a profile runs.
    pub(super) fn policy(&self, profile: &str) -> Result<pb::GetPolicyResponse, CallError> {
        let profile = self.profile(profile)?;
        Ok(convert::policy::response(profile, self.cascade.pricing()))
    }

    /// Counts an error of a diagnosis.
    pub(super) fn failed(&self, profile: Option<&ProfileName>, error: CallError) -> CallError {
        self.metrics
            .diagnose_failed(profile, code_name(error.code()), error.reason().name());
        tracing::debug!(reason = error.reason().name(), %error, "diagnose failed");
        error
    }

    fn profile(&self, name: &str) -> Result<&Profile, CallError> {
        let name = if name.is_empty() {
            DEFAULT_PROFILE
        } else {
            name
        };
        self.cascade
            .profile(name)
            .ok_or_else(|| CallError::UnknownProfile(name.to_owned()))
    }

    async fn diagnose_with(
        &self,
        profile: &Profile,
        message: pb::DiagnoseRequest,
        call: Call,
    ) -> Result<pb::DiagnoseResponse, CallError> {
        let parsed = convert::request::parse(message, &self.limits).map_err(CallError::Invalid)?;
        tracing::Span::current().record("trace_id", parsed.trace.trace_id.as_str());
        let request = cascade::Request {
            trace: parsed.trace,
            scope: parsed.scope,
            fallback_mode: parsed.fallback_mode,
            received: call.received,
            started: call.started,
            timeout: call.timeout,
            traceparent: call.traceparent,
            skip_cache: parsed.skip_cache,
        };
        let outcome = self
            .cascade
            .diagnose(profile, request)
            .await
            .map_err(CallError::Cascade)?;
        let policy = &profile.policy.policy;
        Ok(convert::response::response(
            &outcome,
            policy,
            parsed.include_statements,
        ))
    }
}
