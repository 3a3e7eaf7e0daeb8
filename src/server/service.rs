//! The gRPC service: admission, conversion, cascade.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::{Request, Response, Status};

use crate::cascade::profile::Profile;
use crate::cascade::{self, Cascade};
use crate::domain::Vocabulary as _;
use crate::domain::trace::{ProfileName, TraceLimits};
use crate::rpc::pb;
use crate::rpc::pb::diagnosis_service_server::DiagnosisService;
use crate::rpc::status::{CallError, code_name};
use crate::rpc::{convert, deadline};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::ShedReason;

use super::drain::Drain;
use super::layers::arrival;

/// The profile of a request that names none.
const DEFAULT_PROFILE: &str = "default";

/// Diagnoses traces for callers.
pub struct Service {
    cascade: Arc<Cascade>,
    limits: TraceLimits,
    admission: Arc<Semaphore>,
    max_in_flight: usize,
    drain: Drain,
    metrics: Arc<Metrics>,
}

impl Service {
    /// A service over a cascade; `admission` has one permit for every trace that may be in flight.
    pub fn new(
        cascade: Arc<Cascade>,
        limits: TraceLimits,
        admission: Arc<Semaphore>,
        drain: Drain,
        metrics: Arc<Metrics>,
    ) -> Self {
        let max_in_flight = admission.available_permits();
        Self {
            cascade,
            limits,
            admission,
            max_in_flight,
            drain,
            metrics,
        }
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

    async fn diagnose_admitted(
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

    fn failed(&self, profile: Option<&ProfileName>, error: &CallError) -> Status {
        self.metrics
            .diagnose_failed(profile, code_name(error.code()), error.reason().name());
        tracing::debug!(reason = error.reason().name(), %error, "diagnose failed");
        error.status()
    }
}

/// What stands around a message.
#[derive(Debug)]
struct Call {
    received: Instant,
    started: Instant,
    timeout: Option<std::time::Duration>,
    traceparent: Option<String>,
}

#[tonic::async_trait]
impl DiagnosisService for Service {
    async fn diagnose(
        &self,
        request: Request<pb::DiagnoseRequest>,
    ) -> Result<Response<pb::DiagnoseResponse>, Status> {
        let metadata = request.metadata();
        let call = Call {
            received: arrival(request.extensions()),
            started: Instant::now(),
            timeout: deadline::timeout(metadata.as_ref()),
            traceparent: metadata
                .get("traceparent")
                .and_then(|v| v.to_str().ok())
                .map(str::to_owned),
        };
        let message = request.into_inner();
        if self.drain.is_draining() {
            self.metrics.call_shed(ShedReason::ShuttingDown);
            return Err(self.failed(None, &CallError::ShuttingDown));
        }
        let Ok(_permit) = self.admission.try_acquire() else {
            self.metrics.call_shed(ShedReason::Overloaded);
            return Err(self.failed(
                None,
                &CallError::Overloaded {
                    limit: self.max_in_flight,
                },
            ));
        };
        let _alive = self.metrics.trace_in_flight();
        let profile = self
            .profile(&message.profile)
            .map_err(|error| self.failed(None, &error))?;
        let diagnosed = self.diagnose_admitted(profile, message, call).await;
        diagnosed
            .map(Response::new)
            .map_err(|error| self.failed(Some(&profile.name), &error))
    }

    async fn get_policy(
        &self,
        request: Request<pb::GetPolicyRequest>,
    ) -> Result<Response<pb::GetPolicyResponse>, Status> {
        let profile = self
            .profile(&request.get_ref().profile)
            .map_err(|error| error.status())?;
        Ok(Response::new(convert::policy::response(
            profile,
            self.cascade.pricing(),
        )))
    }
}
