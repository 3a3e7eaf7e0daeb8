//! Which attempts may have been billed although no tokens came back.

use super::*;
use crate::judge::egress::transport::TlsFault;

/// One call with one attempt for each step.
async fn may_be_billed(steps: &[Step], time: Duration) -> bool {
    let script = Script::new(steps.to_vec());
    let (call, _) = call_within(&egress(&script, options()), time).await;
    call.may_be_billed
}

#[tokio::test(start_paused = true)]
async fn what_was_surely_not_served_is_not_billed() {
    let time = Duration::from_secs(3);
    for status in [302, 400, 401, 402, 404, 408, 413, 429, 500, 503, 529] {
        let steps = [Step::Answer(status, &[])];
        assert!(!may_be_billed(&steps, time).await, "{status}");
    }
    for error in [
        TransportError::Dns,
        TransportError::Connect("connection refused".to_owned()),
        TransportError::Tls(TlsFault::Expired),
    ] {
        assert!(!may_be_billed(&[Step::Fail(error)], time).await);
    }
    assert!(!may_be_billed(&[Step::Answer(503, &[]), OK], time).await);
    assert!(
        !may_be_billed(&[OK], Duration::ZERO).await,
        "nothing was sent"
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_and_not_turned_away_may_be_billed() {
    let time = Duration::from_secs(3);
    for error in [
        TransportError::Broken("it ended too early".to_owned()),
        TransportError::Stale,
        TransportError::TooLarge(1024),
        TransportError::Malformed,
    ] {
        assert!(may_be_billed(&[Step::Fail(error)], time).await);
    }
    for status in [222, 223] {
        assert!(may_be_billed(&[Step::Answer(status, &[])], time).await);
    }
    assert!(may_be_billed(&[Step::Hang], time).await);
    let broken = Step::Fail(TransportError::Broken("connection reset".to_owned()));
    for last in [OK, Step::Answer(503, &[])] {
        assert!(may_be_billed(&[broken.clone(), last], time).await);
    }
}
