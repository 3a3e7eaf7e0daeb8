//! What is sent again, when, and what pays for it.

use std::fs;

use super::*;
use crate::judge::egress::transport::{OnNewConnection, TlsFault};
use crate::judge::remote::SecretSource;

async fn attempts(first: Step) -> (u32, Option<FailureReason>) {
    let egress = egress(&Script::new([first, OK]), options());
    let (call, reason) = call(&egress).await;
    (call.attempt_count, reason)
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again() {
    for status in [408, 429, 500, 502, 503, 504, 529] {
        assert_eq!(
            attempts(Step::Answer(status, &[])).await,
            (2, None),
            "{status}"
        );
    }
    for error in [
        TransportError::Dns,
        TransportError::Connect("connection refused".to_owned()),
        TransportError::Broken("connection reset".to_owned()),
    ] {
        assert_eq!(attempts(Step::Fail(error)).await, (2, None));
    }
}

#[tokio::test(start_paused = true)]
async fn what_stays_is_not_tried_again() {
    for (status, reason) in [
        (400, FailureReason::Protocol),
        (401, FailureReason::Unauthenticated),
        (403, FailureReason::Unauthenticated),
        (404, FailureReason::Protocol),
        (413, FailureReason::TooLong),
        (422, FailureReason::Protocol),
        (222, FailureReason::Refused),
        (223, FailureReason::Protocol),
        (302, FailureReason::Protocol),
    ] {
        assert_eq!(
            attempts(Step::Answer(status, &[])).await,
            (1, Some(reason)),
            "{status}"
        );
    }
    for (error, reason) in [
        (
            TransportError::Tls(TlsFault::Expired),
            FailureReason::Unavailable,
        ),
        (
            TransportError::Tls(TlsFault::Handshake),
            FailureReason::Unavailable,
        ),
        (TransportError::TooLarge(9), FailureReason::Protocol),
        (TransportError::Malformed, FailureReason::Protocol),
    ] {
        assert_eq!(attempts(Step::Fail(error)).await, (1, Some(reason)));
    }
    assert_eq!(
        attempts(Step::Hang).await,
        (1, Some(FailureReason::Timeout))
    );
}

#[tokio::test(start_paused = true)]
async fn there_are_no_more_attempts_than_configured_and_the_last_one_is_told() {
    let script = Script::new([Step::Answer(500, &[]), Step::Answer(503, &[]), OK]);
    let egress = egress(&script, options());
    let (call, reason) = call(&egress).await;
    assert_eq!(
        (call.attempt_count, reason),
        (2, Some(FailureReason::Unavailable))
    );
    assert_eq!(call.failure_detail.as_deref(), Some("status 503"));
    assert_eq!(
        metric(&egress, "judge_retries_total", ",reason=\"unavailable\""),
        1
    );
    let delay = call.latency - Duration::from_millis(20);
    assert!((100..=202).contains(&delay.as_millis()), "{delay:?}");
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_that_fits_is_waited_for() {
    for (headers, waited) in [
        (&[("retry-after", "2")] as &[_], 2_000),
        (&[("retry-after-ms", "1500"), ("retry-after", "9")], 1_500),
        (
            &[
                ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ("retry-after", "Sun, 06 Nov 1994 08:49:38 GMT"),
            ],
            1_000,
        ),
    ] {
        let script = Script::new([Step::Answer(429, headers), OK]);
        let egress = egress(&script, options());
        let (call, reason) = call(&egress).await;
        assert_eq!((call.attempt_count, reason), (2, None));
        let delay = call.latency - Duration::from_millis(20);
        assert!(
            (waited..waited + 3).contains(&delay.as_millis()),
            "{delay:?}"
        );
        assert_eq!(
            metric(&egress, "judge_retries_total", ",reason=\"rate_limited\""),
            1
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_beyond_the_deadline_is_not_waited_for() {
    for headers in [
        &[("retry-after", "3")] as &[_],
        &[("retry-after", "1e9")],
        &[("retry-after", "1e300")],
        &[
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-after", "Sat, 06 Nov 2094 08:49:38 GMT"),
        ],
    ] {
        let egress = egress(&Script::new([Step::Answer(429, headers), OK]), options());
        let (call, reason) = call(&egress).await;
        assert_eq!(
            (call.attempt_count, reason),
            (1, Some(FailureReason::RateLimited))
        );
        assert_eq!(call.latency, Duration::from_millis(10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_that_was_gone_costs_one_retry_on_a_new_one_and_no_budget() {
    let retry = RetryOptions {
        max_attempts: 1,
        budget_share: Probability::ZERO,
        ..options().retry
    };
    let stale = || Step::Fail(TransportError::Stale);
    let script = Script::new([stale(), OK, stale(), stale(), OK]);
    let egress = egress(&script, EndpointOptions { retry, ..options() });
    let (first, reason) = call(&egress).await;
    assert_eq!((first.attempt_count, reason), (2, None));
    let is_new = |at: usize| {
        let sent = script.sent.lock().unwrap();
        sent[at].extensions().get::<OnNewConnection>().is_some()
    };
    assert!(!is_new(0) && is_new(1));
    let (second, reason) = call(&egress).await;
    assert_eq!(
        (second.attempt_count, reason),
        (2, Some(FailureReason::Unavailable))
    );
    assert_eq!(
        metric(
            &egress,
            "judge_retries_total",
            ",reason=\"stale_connection\""
        ),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_tried_again_once_and_only_if_there_is_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    fs::write(&path, "old").unwrap();
    let script = Script::new([Step::Answer(401, &[])]);
    let retry = RetryOptions {
        max_attempts: 1,
        ..options().retry
    };
    let options = EndpointOptions {
        auth: Auth::Bearer,
        api_key: Some(SecretSource::File(path.clone())),
        retry,
        ..options()
    };
    let secrets = Secrets::read(&options, &|_| None).unwrap();
    let egress = Egress {
        secrets,
        ..egress(&script, options)
    };
    let refused = Some(FailureReason::Unauthenticated);
    assert_eq!(call(&egress).await.1, refused);
    assert_eq!(script.count(), 1);
    fs::write(&path, "new").unwrap();
    let (record, reason) = call(&egress).await;
    assert_eq!((record.attempt_count, reason), (2, refused));
    fs::write(&path, "newest").unwrap();
    script.then([Step::Answer(403, &[]), OK]);
    let (record, reason) = call(&egress).await;
    assert_eq!((record.attempt_count, reason), (2, None));
    let keys: Vec<_> = script
        .sent
        .lock()
        .unwrap()
        .iter()
        .map(|request| {
            request.headers()["authorization"]
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        keys,
        [
            "Bearer old",
            "Bearer old",
            "Bearer new",
            "Bearer new",
            "Bearer newest"
        ]
    );
    assert_eq!(
        metric(&egress, "judge_retries_total", ",reason=\"new_key\""),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn r33_retries_are_at_most_a_tenth_of_calls_from_the_first_call_on() {
    let retry = RetryOptions {
        max_attempts: 5,
        budget_share: Probability::try_from(0.1).unwrap(),
        ..options().retry
    };
    let script = Script::new([Step::Answer(429, &[])]);
    let egress = egress(&script, EndpointOptions { retry, ..options() });
    for count in 1..=100 {
        assert_eq!(call(&egress).await.1, Some(FailureReason::RateLimited));
        assert!(
            script.count() * 10 <= count * 11,
            "{} of {count}",
            script.count()
        );
    }
    assert!(100 < script.count());
}
