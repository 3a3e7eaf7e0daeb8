//! When a judge is left alone, and when it is asked again.

use futures_util::future::join_all;

use super::*;
use crate::judge::egress::transport::TlsFault;

/// No retries, so that a call is an attempt.
fn once() -> EndpointOptions {
    EndpointOptions {
        retry: RetryOptions {
            max_attempts: 1,
            ..options().retry
        },
        ..options()
    }
}

fn state(egress: &Egress) -> &'static str {
    let states = ["closed", "open", "half_open"];
    let is = |state: &&str| {
        metric(
            egress,
            "judge_breaker_state",
            &format!(",state=\"{state}\""),
        ) == 1
    };
    let [state] = states.into_iter().filter(is).collect::<Vec<_>>()[..] else {
        panic!("not one state");
    };
    state
}

/// Whether five calls that end like this open the breaker.
async fn opens(step: Step, time: Duration) -> bool {
    let egress = egress(&Script::new([step]), once());
    for _ in 0..5 {
        assert_eq!(state(&egress), "closed");
        call_within(&egress, time).await.1.unwrap();
    }
    state(&egress) == "open"
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_judge_open_the_breaker() {
    let time = Duration::from_secs(3);
    for status in [408, 500, 503] {
        assert!(opens(Step::Answer(status, &[]), time).await, "{status}");
    }
    for error in [
        TransportError::Dns,
        TransportError::Connect("connection refused".to_owned()),
        TransportError::Tls(TlsFault::Expired),
        TransportError::Broken("connection reset".to_owned()),
        TransportError::Malformed,
    ] {
        assert!(opens(Step::Fail(error), time).await);
    }
    assert!(opens(Step::Hang, time).await);
}

#[tokio::test(start_paused = true)]
async fn what_says_nothing_about_the_judge_does_not() {
    let time = Duration::from_secs(3);
    for status in [302, 429, 529, 401, 403, 222, 223, 400, 404, 413, 422] {
        assert!(!opens(Step::Answer(status, &[]), time).await, "{status}");
    }
    assert!(!opens(Step::Hang, Duration::from_millis(900)).await);
    for error in [TransportError::Stale, TransportError::TooLarge(1024)] {
        assert!(!opens(Step::Fail(error), time).await);
    }
}

/// One caller's text that makes the judge babble must not close the way for the others.
#[tokio::test(start_paused = true)]
async fn answers_that_cannot_be_read_neither_open_nor_close_the_breaker() {
    let script = Script::new([Step::Answer(223, &[])]);
    let egress = egress(&script, once());
    for _ in 0..100 {
        assert_eq!(call(&egress).await.1, Some(FailureReason::Protocol));
    }
    assert_eq!(state(&egress), "closed");
    script.then([OK]);
    assert_eq!(call(&egress).await.1, None);
    // In between they hide no failure of the judge.
    let (down, babble) = (Step::Answer(503, &[]), Step::Answer(223, &[]));
    for step in [&down, &babble, &down, &babble, &down, &down, &babble, &down] {
        assert_eq!(state(&egress), "closed");
        script.then([step.clone()]);
        call(&egress).await.1.unwrap();
    }
    assert_eq!(state(&egress), "open");
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_turns_away_at_once_and_then_sends_one_probe() {
    let script = Script::new([Step::Answer(500, &[])]);
    let egress = egress(&script, once());
    for _ in 0..5 {
        call(&egress).await.1.unwrap();
    }
    let (record, reason) = call(&egress).await;
    assert_eq!(reason, Some(FailureReason::BreakerOpen));
    assert_eq!((record.attempt_count, record.latency), (0, Duration::ZERO));
    assert_eq!(script.count(), 5);

    tokio::time::advance(Duration::from_secs(5)).await;
    script.then([OK]);
    let ended = join_all((0..10).map(|_| call(&egress))).await;
    let answered = ended.iter().filter(|(_, reason)| reason.is_none()).count();
    let alone = ended
        .iter()
        .filter(|(_, reason)| *reason == Some(FailureReason::BreakerOpen));
    assert_eq!((answered, alone.count()), (1, 9));
    assert_eq!(script.count(), 6);
    assert_eq!(state(&egress), "closed");
    assert_eq!(call(&egress).await.1, None);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_makes_room_for_the_next() {
    let script = Script::new([Step::Answer(500, &[])]);
    let egress = egress(&script, once());
    for _ in 0..5 {
        call(&egress).await.1.unwrap();
    }
    tokio::time::advance(Duration::from_secs(5)).await;
    script.then([Step::Hang, OK]);
    let dropped = tokio::time::timeout(Duration::from_millis(50), call(&egress)).await;
    assert!(dropped.is_err());
    assert_eq!(state(&egress), "half_open");
    assert_eq!(call(&egress).await.1, None);
    assert_eq!(state(&egress), "closed");
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_the_breaker_forbids_tells_what_the_judge_did() {
    let script = Script::new([Step::Answer(500, &[])]);
    let breaker = BreakerOptions {
        failure_count: 1,
        ..options().breaker
    };
    let egress = egress(
        &script,
        EndpointOptions {
            breaker,
            ..options()
        },
    );
    let (record, reason) = call(&egress).await;
    assert_eq!(
        (record.attempt_count, reason),
        (1, Some(FailureReason::Unavailable))
    );
    assert_eq!(record.failure_detail.as_deref(), Some("status 500"));
}

/// Ten times the usual load for a minute, at a judge that fails with `failing` for half of it.
async fn burst(failing: Step) {
    let script = Script::slow(Duration::from_millis(50), [OK]);
    let retry = RetryOptions {
        max_attempts: 3,
        budget_share: Probability::try_from(0.1).unwrap(),
        ..options().retry
    };
    let egress = &egress(&script, EndpointOptions { retry, ..options() });
    let second = |calls: usize| async move {
        let gap = Duration::from_secs(1) / u32::try_from(calls).unwrap();
        let later = |at: u32| async move {
            tokio::time::sleep(gap * at).await;
            call(egress).await.1
        };
        join_all((0..u32::try_from(calls).unwrap()).map(later)).await
    };
    for _ in 0..20 {
        second(10).await;
    }
    assert_eq!(script.count(), 200);

    script.then([failing]);
    let mut asked = 0;
    for _ in 0..30 {
        second(100).await;
        asked += 100;
        assert!(script.count() * 10 <= (200 + asked) * 11);
        // What the calls before the burst paid for comes on top, but only one retry a second of it.
        let sent = script.count() - 200;
        let most = asked * 11 / 10 + asked / 100 + 1;
        assert!(sent <= most, "{sent} for {asked}");
    }

    script.then([OK]);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let first = call(egress).await.1;
    assert_eq!(first, None);
    assert_eq!(state(egress), "closed");
    let after = second(100).await;
    assert!(after.iter().all(Option::is_none), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn r33_a_burst_at_a_failing_judge_is_not_amplified_and_recovers_in_one_period() {
    burst(Step::Answer(503, &[])).await;
    burst(Step::Answer(429, &[])).await;
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_asks_a_failing_judge_once_in_each_period() {
    let script = Script::new([Step::Answer(503, &[])]);
    let egress = egress(&script, once());
    for _ in 0..5 {
        call(&egress).await.1.unwrap();
    }
    for _ in 0..250 {
        call(&egress).await.1.unwrap();
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    assert!(
        (5 + 4..=5 + 5).contains(&script.count()),
        "{}",
        script.count()
    );
}
