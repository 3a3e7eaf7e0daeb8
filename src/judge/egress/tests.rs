//! The way out in paused time, over a transport that follows a script.

mod billing;
mod breaking;
mod retrying;
mod simulation;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::Request;

use super::transport::TransportError;
use super::*;
use crate::domain::outcome::JudgeRole;
use crate::domain::probability::Probability;
use crate::judge::remote::{
    Auth, BreakerOptions, ConcurrencyOptions, RateOptions, RetryOptions, Roots,
};
use crate::telemetry::metrics::MetricNames;

/// What the judge does with one request.
#[derive(Clone)]
enum Step {
    Answer(u16, &'static [(&'static str, &'static str)]),
    Fail(TransportError),
    Hang,
}

/// Takes one step after the other and repeats the last.
struct Script {
    steps: Mutex<VecDeque<Step>>,
    delay: Duration,
    sent: Mutex<Vec<Request<Bytes>>>,
    dropped: AtomicUsize,
}

/// Counts requests that were dropped before they ended.
struct Watch<'a>(Option<&'a AtomicUsize>);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some(dropped) = self.0 {
            dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Script {
    fn new(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        Self::slow(Duration::from_millis(10), steps)
    }

    fn slow(delay: Duration, steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        Arc::new(Self {
            steps: Mutex::new(steps.into_iter().collect()),
            delay,
            sent: Mutex::default(),
            dropped: AtomicUsize::new(0),
        })
    }

    fn then(&self, steps: impl IntoIterator<Item = Step>) {
        *self.steps.lock().unwrap() = steps.into_iter().collect();
    }

    fn count(&self) -> usize {
        self.sent.lock().unwrap().len()
    }
}

#[async_trait]
impl Transport for Script {
    async fn send(&self, request: Request<Bytes>) -> Result<Incoming, TransportError> {
        self.sent.lock().unwrap().push(request);
        let step = {
            let mut steps = self.steps.lock().unwrap();
            if 1 < steps.len() {
                steps.pop_front().unwrap()
            } else {
                steps[0].clone()
            }
        };
        let mut watch = Watch(Some(&self.dropped));
        tokio::time::sleep(self.delay).await;
        let result = match step {
            Step::Answer(status, pairs) => {
                let mut headers = HeaderMap::new();
                for (name, value) in pairs {
                    headers.insert(*name, value.parse().unwrap());
                }
                Ok(Incoming {
                    status: StatusCode::from_u16(status).unwrap(),
                    headers,
                    body: Bytes::from_static(b"{}"),
                })
            }
            Step::Fail(error) => Err(error),
            Step::Hang => std::future::pending().await,
        };
        watch.0 = None;
        result
    }
}

const OK: Step = Step::Answer(200, &[]);

/// Two attempts, every call may be retried, five failures open the breaker for five seconds.
pub(super) fn options() -> EndpointOptions {
    EndpointOptions {
        base_url: "https://judge.test/base".parse().unwrap(),
        path: "/v1/systemone".to_owned(),
        auth: Auth::None,
        api_key: None,
        headers: BTreeMap::new(),
        roots: Roots::Bundled,
        timeout: Duration::from_secs(4),
        attempt_timeout: Duration::from_secs(2),
        max_response_bytes: 1024,
        retry: RetryOptions {
            max_attempts: 2,
            budget_share: Probability::ONE,
            base_delay: Duration::from_millis(100),
            max_delay: Duration::from_secs(1),
        },
        breaker: BreakerOptions {
            failure_count: 5,
            open: Duration::from_secs(5),
        },
        rate: RateOptions::default(),
        concurrency: ConcurrencyOptions {
            max_in_flight: 64,
            max_queued: 1024,
        },
    }
}

fn metrics() -> Arc<Metrics> {
    let names = MetricNames {
        judges: vec!["judge".into()],
        ..MetricNames::default()
    };
    Metrics::new(&names).unwrap()
}

fn egress(script: &Arc<Script>, options: EndpointOptions) -> Egress {
    let transport = Arc::clone(script) as Arc<dyn Transport>;
    Egress::new(
        "judge".into(),
        Some("m".to_owned()),
        options,
        transport,
        metrics(),
    )
}

fn within(time: Duration) -> CallContext {
    CallContext::until(Instant::now() + time, JudgeRole::Atomic)
}

fn outgoing() -> Outgoing {
    Outgoing {
        headers: Vec::new(),
        method: Method::POST,
        path: None,
        body: Bytes::from_static(b"{}"),
        estimated_token_count: 100,
    }
}

/// Any 2xx is an answer, and 222 a refusal, 223 a malformed one.
fn classify(incoming: &Incoming) -> Result<u16, Fault> {
    match incoming.status.as_u16() {
        222 => Err(Fault::new(FailureReason::Refused, "refused")),
        223 => Err(Fault::new(FailureReason::Protocol, "not an answer")),
        status if incoming.status.is_success() => Ok(status),
        _ => Err(Fault::of_status(incoming)),
    }
}

/// One call with so much time; its record, and the reason if it failed.
async fn call_within(egress: &Egress, time: Duration) -> (JudgeCall, Option<FailureReason>) {
    match egress.send(&outgoing(), &within(time), classify).await {
        Ok(sent) => (sent.call, None),
        Err(error) => {
            let [call] = <[_; 1]>::try_from(error.calls).unwrap();
            assert_eq!(call.failure, Some(error.reason));
            assert_eq!(call.failure_detail, error.detail);
            (call, Some(error.reason))
        }
    }
}

async fn call(egress: &Egress) -> (JudgeCall, Option<FailureReason>) {
    call_within(egress, Duration::from_secs(3)).await
}

fn metric(egress: &Egress, name: &str, label: &str) -> u64 {
    let start = format!("judge_cascade_{name}{{judge=\"judge\"{label}}} ");
    let text = egress.metrics.render();
    let line = text.lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap_or_else(|| panic!("no {start}in {text}"))
        .parse()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_request_says_what_it_must_and_no_more() {
    let script = Script::new([Step::Answer(200, &[("x-request-id", "r-1")])]);
    let egress = egress(&script, options());
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for traceparent in [Some(parent), Some("00-made-up"), None] {
        let context = CallContext {
            traceparent: traceparent.map(str::to_owned),
            ..within(Duration::from_secs(1))
        };
        let sent = egress.send(&outgoing(), &context, classify).await.unwrap();
        assert_eq!(sent.value, 200);
        assert_eq!(sent.call.attempt_count, 1);
        assert_eq!(sent.call.requested_model.as_deref(), Some("m"));
        assert_eq!(sent.call.upstream_request_id.as_deref(), Some("r-1"));
        assert_eq!(sent.call.latency, Duration::from_millis(10));
        assert_eq!((sent.call.failure, sent.call.usage), (None, None));
    }
    let requests = script.sent.lock().unwrap();
    for (request, traceparent) in requests.iter().zip([Some(parent), None, None]) {
        assert_eq!(request.uri(), "https://judge.test/base/v1/systemone");
        let header = |name| {
            request
                .headers()
                .get(name)
                .map(|value: &http::HeaderValue| value.to_str().unwrap())
        };
        assert_eq!(header("content-type"), Some("application/json"));
        assert_eq!(header("accept"), Some("application/json"));
        assert_eq!(header("traceparent"), traceparent);
        assert_eq!(
            request.headers().len(),
            2 + usize::from(traceparent.is_some())
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_body_names_no_type_and_may_have_its_own_path() {
    let script = Script::new([OK]);
    let request = Outgoing {
        method: Method::GET,
        path: Some("/v1/models?limit=9".to_owned()),
        body: Bytes::new(),
        ..outgoing()
    };
    let egress = egress(&script, options());
    egress
        .send(&request, &within(Duration::from_secs(1)), classify)
        .await
        .unwrap();
    let requests = script.sent.lock().unwrap();
    assert_eq!(
        requests[0].uri(),
        "https://judge.test/base/v1/models?limit=9"
    );
    assert_eq!(requests[0].headers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_malformed_whatever_the_adapter_thinks() {
    let script = Script::new([Step::Answer(
        302,
        &[("location", "http://169.254.169.254/")],
    )]);
    let egress = egress(&script, options());
    let context = within(Duration::from_secs(1));
    let result = egress.send(&outgoing(), &context, |_| Ok(())).await;
    let error = result.unwrap_err();
    assert_eq!(error.reason, FailureReason::Protocol);
    assert_eq!(
        error.detail.as_deref(),
        Some("status 302: redirects are not followed")
    );
    assert_eq!(script.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn r32_an_attempt_has_its_time_and_a_call_no_more_than_its_caller() {
    for (time, expected) in [(3_000, 2_000), (700, 700)] {
        let script = Script::new([Step::Hang]);
        let egress = egress(&script, options());
        let (call, reason) = call_within(&egress, Duration::from_millis(time)).await;
        assert_eq!(reason, Some(FailureReason::Timeout));
        assert_eq!(call.latency, Duration::from_millis(expected));
        assert_eq!(call.attempt_count, 1);
        assert_eq!(script.dropped.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_sends_nothing() {
    let script = Script::new([OK]);
    let egress = egress(&script, options());
    let (call, reason) = call_within(&egress, Duration::ZERO).await;
    assert_eq!(
        (reason, call.attempt_count),
        (Some(FailureReason::Timeout), 0)
    );
    assert_eq!(script.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn r33_the_queue_is_bounded_and_the_rest_is_turned_away_at_once() {
    let script = Script::slow(Duration::from_millis(500), [OK]);
    let concurrency = ConcurrencyOptions {
        max_in_flight: 2,
        max_queued: 3,
    };
    let egress = egress(
        &script,
        EndpointOptions {
            concurrency,
            ..options()
        },
    );
    let mut calls: Vec<_> = (0..9).map(|_| Box::pin(call(&egress))).collect();
    for call in &mut calls[..5] {
        assert!(futures_util::poll!(call).is_pending());
    }
    assert_eq!(metric(&egress, "judge_queue_depth", ""), 3);
    for call in calls.drain(5..) {
        let (call, reason) = call.await;
        assert_eq!(reason, Some(FailureReason::Overloaded));
        assert_eq!((call.attempt_count, call.latency), (0, Duration::ZERO));
    }
    for (_, reason) in futures_util::future::join_all(calls).await {
        assert_eq!(reason, None);
    }
    assert_eq!(metric(&egress, "judge_queue_depth", ""), 0);
}

#[tokio::test(start_paused = true)]
async fn r32_a_dropped_call_aborts_its_request_and_gives_back_its_permit() {
    let script = Script::new([Step::Hang, OK]);
    let concurrency = ConcurrencyOptions {
        max_in_flight: 1,
        max_queued: 0,
    };
    let egress = egress(
        &script,
        EndpointOptions {
            concurrency,
            ..options()
        },
    );
    let first = tokio::time::timeout(Duration::from_millis(50), call(&egress)).await;
    assert!(first.is_err());
    assert_eq!(script.dropped.load(Ordering::SeqCst), 1);
    assert_eq!(call(&egress).await.1, None);
}

#[tokio::test(start_paused = true)]
async fn r33_a_call_that_the_rate_allows_only_after_its_deadline_fails_at_once() {
    let script = Script::new([OK]);
    let rate = RateOptions {
        requests_per_minute: Some(30),
        tokens_per_minute: None,
    };
    let egress = egress(&script, EndpointOptions { rate, ..options() });
    for _ in 0..5 {
        assert_eq!(call(&egress).await.1, None);
    }
    let start = Instant::now();
    let (call_record, reason) = call_within(&egress, Duration::from_secs(1)).await;
    assert_eq!(reason, Some(FailureReason::RateLimited));
    assert_eq!(
        (call_record.attempt_count, start.elapsed()),
        (0, Duration::ZERO)
    );
    assert_eq!(call(&egress).await.1, None);
    assert!(Duration::from_secs(1) < start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn r33_429_halves_what_is_sent_at_once_even_without_a_rate() {
    let script = Script::slow(Duration::from_millis(100), [Step::Answer(429, &[]), OK]);
    let retry = RetryOptions {
        max_attempts: 1,
        ..options().retry
    };
    let concurrency = ConcurrencyOptions {
        max_in_flight: 8,
        max_queued: 100,
    };
    let egress = egress(
        &script,
        EndpointOptions {
            concurrency,
            retry,
            ..options()
        },
    );
    assert_eq!(call(&egress).await.1, Some(FailureReason::RateLimited));
    let calls: Vec<_> = (0..8).map(|_| call(&egress)).collect();
    let all = futures_util::future::join_all(calls);
    let halfway = tokio::time::timeout(Duration::from_millis(50), all).await;
    assert!(halfway.is_err());
    assert_eq!(script.count(), 1 + 4);
    for _ in 0..40 {
        assert_eq!(call(&egress).await.1, None);
    }
    assert!((egress.concurrency.share() - 1.0).abs() < 1e-9);
}

#[test]
fn a_status_means_the_same_for_every_adapter() {
    let fault = |status: u16, body: &'static str| {
        Fault::of_status(&Incoming {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::from_static(body.as_bytes()),
        })
    };
    for (status, reason) in [
        (400, FailureReason::Protocol),
        (401, FailureReason::Unauthenticated),
        (402, FailureReason::Budget),
        (403, FailureReason::Unauthenticated),
        (404, FailureReason::Protocol),
        (408, FailureReason::Unavailable),
        (413, FailureReason::TooLong),
        (422, FailureReason::Protocol),
        (429, FailureReason::RateLimited),
        (500, FailureReason::Unavailable),
        (529, FailureReason::RateLimited),
        (599, FailureReason::Unavailable),
    ] {
        assert_eq!(fault(status, "").reason, reason, "{status}");
    }
    assert_eq!(
        fault(404, r#"{"error":{"code":"model_not_found"}}"#).detail,
        "status 404, model_not_found"
    );
    assert_eq!(
        fault(400, r#"{"error":{"message":"the trace said"}}"#).detail,
        "status 400"
    );
}
