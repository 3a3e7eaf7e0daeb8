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
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};
use tracing::Instrument as _;
use uuid::Uuid;

use crate::cascade::time::TimeOptions;
use crate::cascade::{CascadeError, Stage};
use crate::domain::Vocabulary as _;
use crate::rpc::deadline;
use crate::rpc::status::{CallError, ErrorReason, code_name, internal};
use crate::telemetry::metrics::Metrics;

/// The header that correlates a call with the log.
const REQUEST_ID: &str = "x-request-id";
/// The longest request id that is taken over from a caller.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// The one method whose errors are counted by profile and reason.
const DIAGNOSE: &str = "judgecascade.v1.DiagnosisService/Diagnose";
/// Any path that is not a method of the server.
const OTHER: &str = "other";

/// Every method that is counted by name.
pub const METHODS: [&str; 7] = [
    DIAGNOSE,
    "judgecascade.v1.DiagnosisService/GetPolicy",
    "grpc.health.v1.Health/Check",
    "grpc.health.v1.Health/Watch",
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    OTHER,
];

/// Puts a request id, a span, metrics, a time limit and a panic guard around a service.
#[derive(Debug, Clone)]
pub struct CallLayer {
    metrics: Arc<Metrics>,
    time: TimeOptions,
}

/// When the headers of a call arrived.
#[derive(Debug, Clone, Copy)]
struct Arrival(Instant);

/// When a call arrived; outside of a server, now.
pub(super) fn arrival(extensions: &http::Extensions) -> Instant {
    extensions
        .get()
        .map_or_else(Instant::now, |Arrival(at)| *at)
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

impl<S> Service<Request<Body>> for CallService<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let arrived = Instant::now();
        request.extensions_mut().insert(Arrival(arrived));
        let end = arrived + time_limit(request.headers(), &self.layer.time);
        let request_id = request_id(&request);
        let method = method(request.uri().path());
        let span =
            tracing::info_span!("call", method, request_id, trace_id = tracing::field::Empty,);
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
                Ok(Err(_)) => {
                    report_panic(&metrics, method, &request_id);
                    internal(&request_id).into_http()
                }
                Err(_) => out_of_time(&metrics, method).into_http(),
            };
            counted.ended(code_of(&response));
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
fn time_limit(headers: &HeaderMap, time: &TimeOptions) -> Duration {
    let limit = time.limit(deadline::timeout(headers));
    limit - time.reserve(limit) / 2
}

fn out_of_time(metrics: &Metrics, method: &str) -> Status {
    let error = CallError::Cascade(CascadeError::Deadline(Stage::Start));
    if method == DIAGNOSE {
        metrics.diagnose_failed(None, code_name(error.code()), error.reason().name());
    }
    error.status()
}

fn report_panic(metrics: &Metrics, method: &str, request_id: &str) {
    tracing::error!(request_id, method, "a handler panicked");
    metrics.panicked();
    if method == DIAGNOSE {
        metrics.diagnose_failed(
            None,
            code_name(Code::Internal),
            ErrorReason::Internal.name(),
        );
    }
}

/// The caller's request id, if it is short and printable, else a new one.
fn request_id(request: &Request<Body>) -> String {
    let given = request
        .headers()
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok());
    match given {
        Some(id) if !id.is_empty() && id.len() <= MAX_REQUEST_ID_BYTES => id.to_owned(),
        _ => Uuid::now_v7().to_string(),
    }
}

fn method(path: &str) -> &'static str {
    let name = path.strip_prefix('/').unwrap_or(path);
    METHODS
        .into_iter()
        .find(|&known| known == name)
        .unwrap_or(OTHER)
}

/// An error of a unary call stands in the headers; what only the trailers tell has begun well.
fn code_of(response: &Response<Body>) -> Code {
    response
        .headers()
        .get("grpc-status")
        .map_or(Code::Ok, |value| Code::from_bytes(value.as_bytes()))
}
