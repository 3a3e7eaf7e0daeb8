//! What every call passes through, outside to inside: request id, span, RPC metrics, time limit, catch-panic.
//!
//! A caller that is slow to send its message must not keep the call longer than its own time-out; tonic would then
//! answer CANCELLED, so the limit here is a little earlier and answers DEADLINE_EXCEEDED.
//! There is no load-shed and no concurrency layer: health must never be shed, so admission counts traces inside the
//! service.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::time::{Instant, timeout_at};
use tonic::Code;
use tower::{Layer, Service};
use tracing::Instrument as _;
use uuid::Uuid;

use crate::cascade::time::TimeOptions;
use crate::cascade::{CascadeError, Stage};
use crate::domain::Vocabulary as _;
use crate::rpc::status::{CallError, Report, code_name};
use crate::telemetry::metrics::Metrics;

/// The header that correlates a call with the log.
const REQUEST_ID: &str = "x-request-id";
/// The longest request id that is taken over from a caller.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// The one method whose errors are counted by profile and reason, over gRPC.
const DIAGNOSE: &str = "judgecascade.v1.DiagnosisService/Diagnose";
/// The same over HTTP.
pub(super) const HTTP_DIAGNOSE: &str = "http/diagnose";
/// What a profile runs, over HTTP.
pub(super) const HTTP_POLICY: &str = "http/policy";
/// Any path that is not a method of the server.
const OTHER: &str = "other";

/// Every method that is counted by name.
pub const METHODS: [&str; 9] = [
    DIAGNOSE,
    "judgecascade.v1.DiagnosisService/GetPolicy",
    HTTP_DIAGNOSE,
    HTTP_POLICY,
    "grpc.health.v1.Health/Check",
    "grpc.health.v1.Health/Watch",
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    OTHER,
];

/// What the layer must know of a transport, told by its responses.
pub trait Reply {
    /// How long the caller waits; `None` if it does not say so in a way that can be read.
    fn timeout(headers: &HeaderMap) -> Option<Duration>;
    /// The name of the method at a path, if there is one.
    fn method(path: &str) -> &str;
    /// The response for an error.
    fn failure(report: Report) -> Self;
    /// How the call ended.
    fn code(&self) -> Code;
}

/// Puts a request id, a span, metrics, a time limit and a panic guard around a service.
#[derive(Debug, Clone)]
pub struct CallLayer {
    metrics: Arc<Metrics>,
    time: TimeOptions,
}

/// When the headers of a call arrived, and its id.
#[derive(Debug, Clone)]
struct Arrival {
    at: Instant,
    request_id: Arc<str>,
}

/// When a call arrived; outside of a server, now.
pub(super) fn arrival(extensions: &http::Extensions) -> Instant {
    extensions
        .get()
        .map_or_else(Instant::now, |arrival: &Arrival| arrival.at)
}

/// The id of a call; outside of a server, empty.
pub(super) fn request_id(extensions: &http::Extensions) -> &str {
    let arrival = extensions.get::<Arrival>();
    arrival.map_or("", |arrival| &arrival.request_id)
}

impl CallLayer {
    /// A layer that counts in these metrics and ends every call after its longest time.
    pub const fn new(metrics: Arc<Metrics>, time: TimeOptions) -> Self {
        Self { metrics, time }
    }
}

impl<S> Layer<S> for CallLayer {
    type Service = CallService<S>;

    fn layer(&self, inner: S) -> CallService<S> {
        CallService {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service that [`CallLayer`] makes.
#[derive(Debug, Clone)]
pub struct CallService<S> {
    inner: S,
    layer: CallLayer,
}

impl<S, B, R> Service<Request<B>> for CallService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    R: Send + 'static,
    Response<R>: Reply,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<R>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let at = Instant::now();
        let timeout = Response::<R>::timeout(request.headers());
        let end = at + time_limit(timeout, &self.layer.time);
        let request_id: Arc<str> = given_or_new_id(request.headers()).into();
        request.extensions_mut().insert(Arrival {
            at,
            request_id: Arc::clone(&request_id),
        });
        let method = known_method(Response::<R>::method(request.uri().path()));
        let span = tracing::info_span!(
            "call",
            method,
            request_id = &*request_id,
            trace_id = tracing::field::Empty,
        );
        let metrics = Arc::clone(&self.layer.metrics);
        let inner = self.inner.call(request);
        let guarded = std::panic::AssertUnwindSafe(inner).catch_unwind();
        let call = async move {
            let counted = CountedCall {
                metrics: &metrics,
                method,
                code: Code::Cancelled,
            };
            let mut response = match timeout_at(end, guarded).await {
                Ok(Ok(response)) => response?,
                Ok(Err(_)) => Reply::failure(panicked(&metrics, method, &request_id)),
                Err(_) => Reply::failure(out_of_time(&metrics, method)),
            };
            counted.ended(response.code());
            if let Ok(value) = HeaderValue::from_str(&request_id) {
                response.headers_mut().insert(REQUEST_ID, value);
            }
            Ok(response)
        };
        call.instrument(span).boxed()
    }
}

/// Counts a call when it ends; one that is dropped before was given up by its caller.
struct CountedCall<'a> {
    metrics: &'a Metrics,
    method: &'static str,
    code: Code,
}

impl CountedCall<'_> {
    fn ended(mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for CountedCall<'_> {
    fn drop(&mut self) {
        self.metrics.rpc_ended(self.method, code_name(self.code));
    }
}

/// The time of a call until it is ended here: half the reply reserve before tonic would end it, and after the cascade,
/// which keeps the whole reserve back.
fn time_limit(timeout: Option<Duration>, time: &TimeOptions) -> Duration {
    let limit = time.limit(timeout);
    limit - time.reserve(limit) / 2
}

fn out_of_time(metrics: &Metrics, method: &str) -> Report {
    let report = CallError::Cascade(CascadeError::Deadline(Stage::Start)).report();
    count_failure(metrics, method, &report);
    report
}

fn panicked(metrics: &Metrics, method: &str, request_id: &str) -> Report {
    tracing::error!(request_id, method, "a handler panicked");
    metrics.panicked();
    let report = Report::internal(request_id);
    count_failure(metrics, method, &report);
    report
}

fn count_failure(metrics: &Metrics, method: &str, report: &Report) {
    if [DIAGNOSE, HTTP_DIAGNOSE].contains(&method) {
        metrics.diagnose_failed(None, code_name(report.code), report.reason.name());
    }
}

/// The caller's request id, if it is short and printable, else a new one.
fn given_or_new_id(headers: &HeaderMap) -> String {
    let given = headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok());
    match given {
        Some(id) if !id.is_empty() && id.len() <= MAX_REQUEST_ID_BYTES => id.to_owned(),
        _ => Uuid::now_v7().to_string(),
    }
}

/// The W3C trace context of the caller.
pub(super) fn traceparent(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("traceparent")?.to_str().ok()?;
    Some(value.to_owned())
}

fn known_method(name: &str) -> &'static str {
    METHODS
        .into_iter()
        .find(|&known| known == name)
        .unwrap_or(OTHER)
}
