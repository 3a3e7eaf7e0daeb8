//! Connections that cannot be made or that break, and answers that come too slowly or never.

use std::time::Duration;

use judge_cascade::rpc::pb::FailureReason;
use tempfile::TempDir;

use super::{Faulty, Rig, good};
use crate::support::faults::reply::Reply;
use crate::support::faults::tls::Certificate;
use crate::support::faults::{Act, FaultServer};

/// Long enough for an answer in time, short enough for a test.
const IMPATIENT: &str = "timeout_ms = 800\nattempt_timeout_ms = 400";

/// A breaker that never opens, so that every call of a test gets through.
const STUBBORN: &str = "[judges.faulty.breaker]\nfailure_count = 1000";

#[tokio::test]
async fn nobody_listens() {
    let faulty = Faulty {
        url: FaultServer::nobody(),
        keys: STUBBORN,
        ..Faulty::default()
    };
    let rig = Rig::start(&faulty);
    rig.fails_as(FailureReason::Unavailable).await;
    rig.ends_without(&[]).await;
}

#[tokio::test]
async fn the_name_of_the_host_has_no_address() {
    let faulty = Faulty {
        url: format!("http://{}.test", "a".repeat(64)),
        keys: STUBBORN,
        ..Faulty::default()
    };
    let rig = Rig::start(&faulty);
    rig.fails_as(FailureReason::Unavailable).await;
}

/// The key is sent only once the certificate is verified, and such a fault is not tried again.
#[tokio::test]
async fn the_certificate_is_no_good() {
    for certificate in [
        Certificate::Expired,
        Certificate::WrongName,
        Certificate::UnknownIssuer,
    ] {
        let folder = TempDir::new().unwrap();
        let server = FaultServer::over_tls(certificate, [Act::Answer(Reply::json(good()))]);
        let faulty = Faulty {
            roots: Some(server.roots(folder.path())),
            ..Faulty::at(&server)
        };
        let rig = Rig::start(&faulty.with(STUBBORN));
        rig.fails_as(FailureReason::Unavailable).await;
        assert!(server.requests().is_empty(), "{certificate:?}");
        rig.ends_without(&[]).await;
    }
}

#[tokio::test]
async fn a_certificate_that_the_roots_vouch_for_is_trusted() {
    let folder = TempDir::new().unwrap();
    let server = FaultServer::over_tls(Certificate::Good, [Act::Answer(Reply::json(good()))]);
    let faulty = Faulty {
        roots: Some(server.roots(folder.path())),
        ..Faulty::at(&server)
    };
    let rig = Rig::start(&faulty);
    let response = rig.diagnose("atomic").await;
    assert_eq!(response.route(), judge_cascade::rpc::pb::Route::Auto);
}

#[tokio::test]
async fn r32_an_answer_that_drips_is_stopped_in_time() {
    let second = Duration::from_secs(1);
    for act in [
        Act::SlowHead(Reply::json(good()), second),
        Act::Drip(Reply::json(good()), second),
        Act::BlackHole,
        Act::Deaf,
    ] {
        let server = FaultServer::start([act]);
        let rig = Rig::start(&Faulty::at(&server).with(IMPATIENT));
        rig.fails_as(FailureReason::Timeout).await;
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_read_in_part() {
    for act in [
        Act::Truncate(Reply::json(good()), 200),
        Act::ResetMidBody(Reply::json(good()), 200),
        Act::HangUp,
        Act::Reset,
    ] {
        let server = FaultServer::start([act]);
        let rig = Rig::start(&Faulty::at(&server).with(STUBBORN));
        rig.fails_as(FailureReason::Unavailable).await;
    }
}

#[tokio::test]
async fn a_stream_of_http2_is_reset_or_its_connection_ends() {
    for act in [Act::Reset, Act::HangUp] {
        let folder = TempDir::new().unwrap();
        let server = FaultServer::over_http2([act]);
        let faulty = Faulty {
            roots: Some(server.roots(folder.path())),
            ..Faulty::at(&server)
        };
        let rig = Rig::start(&faulty.with(STUBBORN));
        rig.fails_as(FailureReason::Unavailable).await;
    }
}

/// The peer closed a kept connection: the call goes over a new one, and nobody notices.
#[tokio::test]
async fn a_kept_connection_that_went_stale_costs_nothing() {
    let answer = || Act::Answer(Reply::json(good()));
    let server = FaultServer::start([answer()]);
    let rig = Rig::start(&Faulty::at(&server));
    rig.diagnose("atomic").await;
    server.then([Act::HangUp, answer()]);
    let response = rig.diagnose("atomic").await;
    assert_eq!(response.route(), judge_cascade::rpc::pb::Route::Auto);
}

/// The atomic slice is shorter than an attempt may take, and a judge that used all of it in vain is still given up.
#[tokio::test]
async fn a_judge_that_never_answers_is_left_alone() {
    let server = FaultServer::start([Act::BlackHole]);
    let keys = "[judges.faulty.breaker]\nfailure_count = 2\nopen_ms = 600000";
    let rig = Rig::start(&Faulty::at(&server).with(keys));
    for reason in [
        FailureReason::Timeout,
        FailureReason::Timeout,
        FailureReason::BreakerOpen,
    ] {
        let response = rig.diagnose("atomic").await;
        assert_eq!(response.judge_calls[0].failure_reason(), reason);
    }
}
