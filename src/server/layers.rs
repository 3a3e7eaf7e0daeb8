//! What every call passes through, outside to inside: request id, span, RPC metrics, time limit, catch-panic, token.
//!
//! A call without a right token is refused here, before anything of its message is read.
//! A caller that is slow to send its message must not keep the call longer than its own time-out; tonic would then
//! answer CANCELLED, so the limit here is a little earlier and answers DEADLINE_EXCEEDED.
//! There is no load-shed and no concurrency layer: health must never be shed, so admission counts traces inside the
//! service.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Either};
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::time::{Instant, timeout_at};
use tonic::Code;
use tower::{Layer, Service};
use tracing::Instrument as _;
use uuid::Uuid;

use super::auth::Gate;
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
/// Whether the server serves.
const HEALTH_CHECK: &str = "grpc.health.v1.Health/Check";
/// The same, told again when it changes.
const HEALTH_WATCH: &str = "grpc.health.v1.Health/Watch";
/// Any path that is not a method of the server.
const OTHER: &str = "other";

/// Every method that is counted by name.
pub const METHODS: [&str; 9] = [
    DIAGNOSE,
    "judgecascade.v1.DiagnosisService/GetPolicy",
    HTTP_DIAGNOSE,
    HTTP_POLICY,
    HEALTH_CHECK,
    HEALTH_WATCH,
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    OTHER,
];

/// Methods for callers without a token too: probes have none.
const OPEN: [&str; 2] = [HEALTH_CHECK, HEALTH_WATCH];

/// What the layer must know of a transport, told by its responses.
pub trait Reply {
    /// How long the caller waits; `None` if it does not say so in a way that can be read.
    fn timeout(headers: &HeaderMap) -> Option<Duration>;
    /// The name of the method at a path, if there is one.
    fn method(path: &str) -> &str;
    /// The response for an error.
    fn failure(report: Report) -> Self;
    /// Gives a request up that is refused by its head.
    fn give_up<B>(request: Request<B>) -> impl Future<Output = ()> + Send
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>;
    /// How the call ended.
    fn code(&self) -> Code;
}

/// Puts a request id, a span, metrics, a time limit, a panic guard and a check of tokens around a service.
#[derive(Debug, Clone)]
pub struct CallLayer {
    metrics: Arc<Metrics>,
    time: TimeOptions,
    gate: Option<Gate>,
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
    /// A layer that counts in these metrics and ends every call after its longest time; without a gate everybody may
    /// call.
    pub const fn new(metrics: Arc<Metrics>, time: TimeOptions, gate: Option<Gate>) -> Self {
        Self {
            metrics,
            time,
            gate,
        }
    }

    fn lets_in(&self, method: &str, headers: &HeaderMap) -> bool {
        let gate = self.gate.as_ref();
        OPEN.contains(&method) || gate.is_none_or(|gate| gate.lets_in(headers))
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
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
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
        let answer = if self.layer.lets_in(method, request.headers()) {
            Either::Left(self.inner.call(request))
        } else {
            let metrics = Arc::clone(&metrics);
            Either::Right(async move {
                let report = unauthenticated(&metrics, method);
                // A body that stalls must not turn the refusal into a deadline that has passed.
                let part = at + end.duration_since(at) * 3 / 4;
                timeout_at(part, Response::<R>::give_up(request)).await.ok();
                Ok(Reply::failure(report))
            })
        };
        let guarded = std::panic::AssertUnwindSafe(answer).catch_unwind();
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

fn unauthenticated(metrics: &Metrics, method: &str) -> Report {
    let report = Report::unauthenticated();
    tracing::debug!(method, reason = report.reason.name(), "refused");
    count_failure(metrics, method, &report);
    report
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
