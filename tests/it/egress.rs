//! The way out to judges over real sockets: every fault of a judge, and what it may and may not do.

mod connections;
mod faults;
mod tls;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::outcome::{JudgeCall, JudgeRole};
use judge_cascade::domain::probability::Probability;
use judge_cascade::judge::CallContext;
use judge_cascade::judge::egress::{Egress, EgressError, Fault, Incoming, Outgoing};
use judge_cascade::judge::remote::{
    Auth, BreakerOptions, ConcurrencyOptions, EndpointOptions, RateOptions, RetryOptions, Roots,
    SecretSource,
};
use judge_cascade::telemetry::metrics::{MetricNames, Metrics};
use tokio::time::Instant;

/// Longer than anything here should take.
const LONG: Duration = Duration::from_secs(20);
/// Short enough to wait for, and long enough for what goes well.
const SHORT: Duration = Duration::from_millis(400);
/// The key of every judge here.
const KEY: &str = "sk-one-two-three";

/// Two attempts, and every call pays for a retry.
fn options(base_url: &str) -> EndpointOptions {
    EndpointOptions {
        base_url: base_url.parse().unwrap(),
        path: "/v1/systemone".to_owned(),
        auth: Auth::Bearer,
        api_key: Some(SecretSource::Env("JUDGE_KEY".to_owned())),
        headers: BTreeMap::new(),
        roots: Roots::Bundled,
        timeout: LONG,
        attempt_timeout: LONG,
        max_response_bytes: 1_048_576,
        retry: RetryOptions {
            max_attempts: 2,
            budget_share: Probability::ONE,
            base_delay: Duration::from_millis(1),
            max_delay: Duration::from_millis(2),
        },
        breaker: BreakerOptions {
            failure_count: 1_000,
            open: LONG,
        },
        rate: RateOptions::default(),
        concurrency: ConcurrencyOptions {
            max_in_flight: 8,
            max_queued: 8,
        },
    }
}

/// The same without retries that are paid for.
fn once(base_url: &str) -> EndpointOptions {
    let options = options(base_url);
    EndpointOptions {
        retry: RetryOptions {
            max_attempts: 1,
            budget_share: Probability::ZERO,
            ..options.retry
        },
        ..options
    }
}

fn connect(options: EndpointOptions) -> Egress {
    try_connect(options).unwrap()
}

fn try_connect(options: EndpointOptions) -> Result<Egress, EgressError> {
    let names = MetricNames {
        judges: vec!["judge".into()],
        ..MetricNames::default()
    };
    let variable = |name: &str| (name == "JUDGE_KEY").then(|| KEY.to_owned());
    let metrics = Metrics::new(&names).unwrap();
    let connected = Egress::connect("judge".into(), None, options, &variable, metrics);
    connected.map_err(|errors| errors.0[0].clone())
}

/// What an adapter does that wants JSON.
fn classify(incoming: &Incoming) -> Result<String, Fault> {
    if !incoming.status.is_success() {
        return Err(Fault::of_status(incoming));
    }
    let value: serde_json::Value = serde_json::from_slice(&incoming.body)
        .map_err(|_| Fault::new(FailureReason::Protocol, "the answer is not JSON"))?;
    Ok(value.to_string())
}

/// How one call ended, with its record.
struct Ended {
    result: Result<String, FailureReason>,
    call: JudgeCall,
}

impl Ended {
    fn detail(&self) -> &str {
        self.call.failure_detail.as_deref().unwrap_or("")
    }

    /// It failed for this reason after so many attempts, and says so.
    #[track_caller]
    fn failed(&self, reason: FailureReason, attempt_count: u32, detail: &str) {
        let got = (self.result.clone(), self.call.attempt_count, self.detail());
        assert_eq!(got, (Err(reason), attempt_count, detail));
        assert_eq!(self.call.failure, Some(reason));
        let shown = format!("{:?}", self.call);
        assert!(!shown.contains(KEY), "{shown}");
    }

    /// It went well after so many attempts.
    #[track_caller]
    fn answered(&self, attempt_count: u32) {
        let got = (self.result.as_deref(), self.call.attempt_count);
        assert_eq!(got, (Ok("{}"), attempt_count), "{}", self.detail());
    }
}

fn outgoing() -> Outgoing {
    Outgoing {
        method: Method::POST,
        path: None,
        headers: Vec::new(),
        body: Bytes::from_static(br#"{"model":"m"}"#),
        estimated_token_count: 10,
    }
}

async fn ask_as(egress: &Egress, role: JudgeRole, time: Duration) -> Ended {
    let context = CallContext::until(Instant::now() + time, role);
    match egress.send(&outgoing(), &context, classify).await {
        Ok(sent) => Ended {
            result: Ok(sent.value),
            call: sent.call,
        },
        Err(error) => Ended {
            result: Err(error.reason),
            call: error.calls[0].clone(),
        },
    }
}

async fn ask(egress: &Egress) -> Ended {
    ask_as(egress, JudgeRole::Atomic, LONG).await
}

/// One call in each role over a way out of its own.
async fn ask_in_both_roles(options: &EndpointOptions) -> [Ended; 2] {
    let (atomic, fallback) = (connect(options.clone()), connect(options.clone()));
    [
        ask_as(&atomic, JudgeRole::Atomic, LONG).await,
        ask_as(&fallback, JudgeRole::Fallback, LONG).await,
    ]
}
