//! The same calls over HTTP/1.1: JSON in, JSON or problem details out.
//!
//! - `POST /v1/diagnose`: a `DiagnoseRequest` in proto3 JSON; answers with a `DiagnoseResponse`.
//! - `GET /v1/policy?profile=NAME`: answers with a `GetPolicyResponse`.
//!
//! Everything but the form of a message is shared with gRPC: the call layer, admission, the service.
//! docs/http.md tells the rest.

mod body;
mod connection;
mod request;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::routing::{get, post};
use axum::{BoxError, Router};
use tokio::time::Instant;
use tonic::Code;
use tower::Layer as _;

use super::layers::{
    CallLayer, CallService, HTTP_DIAGNOSE, HTTP_POLICY, Reply, arrival, request_id, traceparent,
};
use super::service::{Call, Service};
use crate::rpc::json::{JsonMessages, WriteError};
use crate::rpc::pb;
use crate::rpc::problem::{self, Problem};
use crate::rpc::status::{CallError, ErrorReason, Report};

pub use self::connection::serve;

const DIAGNOSE_PATH: &str = "/v1/diagnose";
const POLICY_PATH: &str = "/v1/policy";
const JSON: &str = "application/json";

/// What the routes need.
#[derive(Clone)]
struct Shared {
    service: Arc<Service>,
    messages: JsonMessages,
    max_body_bytes: usize,
}

/// Why a request has no answer.
enum Refusal {
    /// The call ended in an error.
    Call(CallError),
    /// The exchange itself is wrong, before there is a call.
    Exchange(StatusCode, &'static str),
    /// A broken invariant.
    Internal(WriteError),
}

impl From<WriteError> for Refusal {
    fn from(error: WriteError) -> Self {
        Self::Internal(error)
    }
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// The routes behind the call layer.
pub fn router(
    service: Arc<Service>,
    messages: JsonMessages,
    max_body_bytes: usize,
    layer: &CallLayer,
) -> CallService<Router> {
    let shared = Shared {
        service,
        messages,
        max_body_bytes,
    };
    let wrong_method = async |request: Request| {
        unread(request).await;
        let detail = "the path does not take this method; see the header `Allow`";
        refused(StatusCode::METHOD_NOT_ALLOWED, detail)
    };
    let unknown_path = async |request: Request| {
        unread(request).await;
        let detail = "there are only `POST /v1/diagnose` and `GET /v1/policy`";
        refused(StatusCode::NOT_FOUND, detail)
    };
    let routes = Router::new()
        .route(DIAGNOSE_PATH, post(diagnose).fallback(wrong_method))
        .route(POLICY_PATH, get(policy).fallback(wrong_method))
        .fallback(unknown_path)
        .with_state(shared);
    layer.layer(routes)
}

async fn diagnose(State(shared): State<Shared>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let diagnosed = shared.diagnose(&head, body).await;
    answered(
        &head,
        diagnosed.and_then(|message| Ok(shared.messages.write_diagnosis(&message)?)),
    )
}

async fn policy(State(shared): State<Shared>, request: Request) -> Response<Body> {
    let head = unread(request).await;
    let policy = request::profile(head.uri.query())
        .and_then(|profile| shared.service.policy(profile))
        .map_err(Refusal::Call);
    answered(
        &head,
        policy.and_then(|message| Ok(shared.messages.write_policy(&message)?)),
    )
}

/// The head of a request whose body nobody wants.
async fn unread(request: Request) -> Parts {
    let (head, body) = request.into_parts();
    body::discard(&head.headers, body).await;
    head
}

impl Shared {
    /// How long the caller waits, unless the head is wrong.
    fn checked(&self, head: &Parts) -> Result<Option<Duration>, Refusal> {
        request::check_form(&head.headers)?;
        let timeout = request::timeout(&head.headers);
        Ok(timeout.map_err(|error| self.service.failed(None, error))?)
    }

    async fn diagnose(&self, head: &Parts, body: Body) -> Result<pb::DiagnoseResponse, Refusal> {
        let timeout = match self.checked(head) {
            Ok(timeout) => timeout,
            Err(refusal) => {
                body::discard(&head.headers, body).await;
                return Err(refusal);
            }
        };
        let limit = self.max_body_bytes;
        let body = body::read(&head.headers, body, limit, &self.service).await?;
        let call = Call {
            received: arrival(&head.extensions),
            started: Instant::now(),
            timeout,
            traceparent: traceparent(&head.headers),
        };
        let admitted = self.service.admit()?;
        let message = self
            .messages
            .read_request(&body.bytes)
            .map_err(|error| self.service.failed(None, error))?;
        drop(body);
        Ok(self.service.diagnose(&admitted, message, call).await?)
    }
}

fn answered(head: &Parts, body: Result<Vec<u8>, Refusal>) -> Response<Body> {
    match body {
        Ok(body) => response(StatusCode::OK, JSON, body),
        Err(Refusal::Call(error)) => Reply::failure(error.report()),
        Err(Refusal::Exchange(status, detail)) => refused(status, detail),
        Err(Refusal::Internal(error)) => {
            let request_id = request_id(&head.extensions);
            tracing::error!(request_id, %error, "a message cannot be written");
            Reply::failure(Report::internal(request_id))
        }
    }
}

fn refused(status: StatusCode, detail: &str) -> Response<Body> {
    let body = Problem::of_exchange(status, detail).to_json();
    let mut response = response(status, problem::MEDIA_TYPE, body);
    response.extensions_mut().insert(exchange_code(status));
    response
}

/// What gRPC answers where the exchange itself is wrong.
fn exchange_code(status: StatusCode) -> Code {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => Code::OutOfRange,
        StatusCode::BAD_REQUEST => Code::InvalidArgument,
        _ => Code::Unimplemented,
    }
}

fn response(status: StatusCode, media_type: &'static str, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

impl Reply for Response<Body> {
    fn timeout(headers: &HeaderMap) -> Option<Duration> {
        request::timeout(headers).ok().flatten()
    }

    fn method(path: &str) -> &str {
        match path {
            DIAGNOSE_PATH => HTTP_DIAGNOSE,
            POLICY_PATH => HTTP_POLICY,
            _ => "",
        }
    }

    fn failure(report: Report) -> Self {
        let (status, code, reason) = (problem::status(report.reason), report.code, report.reason);
        let retry_after = problem::retry_after(&report);
        let body = Problem::from(report).to_json();
        let mut response = response(status, problem::MEDIA_TYPE, body);
        if let Some(seconds) = retry_after {
            let seconds = HeaderValue::from(seconds);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        if reason == ErrorReason::Unauthenticated {
            let scheme = HeaderValue::from_static("Bearer");
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        response.extensions_mut().insert(code);
        response
    }

    async fn give_up<B>(request: Request<B>)
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        unread(request.map(Body::new)).await;
    }

    fn code(&self) -> Code {
        self.extensions().get().copied().unwrap_or(Code::Ok)
    }
}
