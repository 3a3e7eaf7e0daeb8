//! Faults after the connection is there: answers that are late, broken, malformed, huge, or none.

use super::*;
use crate::support::faults::reply::Reply;
use crate::support::faults::{Act, FaultServer};

const PAUSE: Duration = Duration::from_secs(1);

fn answer(reply: Reply) -> Act {
    Act::Answer(reply)
}

fn ok() -> Act {
    answer(Reply::json("{}"))
}

/// Ten bytes of JSON.
fn ten() -> Reply {
    Reply::json("[1,2,3,40]")
}

#[tokio::test]
async fn an_answer_that_comes_too_slowly_is_stopped_by_the_time_of_the_attempt() {
    for act in [
        Act::SlowHead(ten(), PAUSE),
        Act::Drip(ten(), PAUSE),
        Act::BlackHole,
        Act::Deaf,
    ] {
        let server = FaultServer::start([act.clone()]);
        let options = EndpointOptions {
            attempt_timeout: SHORT,
            ..options(&server.url())
        };
        for ended in ask_in_both_roles(&options).await {
            let got = (ended.result.clone(), ended.call.attempt_count);
            assert_eq!(got, (Err(FailureReason::Timeout), 1));
            assert!(ended.detail().starts_with("no answer within "));
        }
        if !matches!(act, Act::Deaf) {
            server
                .until("two aborted requests", |log| log.aborted == 2)
                .await;
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again_once_and_never_used() {
    for (act, detail) in [
        (
            Act::Truncate(ten(), 4),
            "the connection broke: it ended too early",
        ),
        (
            Act::ResetMidBody(ten(), 4),
            "the connection broke: connection reset",
        ),
        (Act::HangUp, "the connection broke: it ended too early"),
        (Act::Reset, "the connection broke: connection reset"),
    ] {
        let server = FaultServer::start([act.clone(), ok()]);
        let ended = ask(&connect(options(&server.url()))).await;
        ended.answered(2);
        server.then([act]);
        for ended in ask_in_both_roles(&options(&server.url())).await {
            ended.failed(FailureReason::Unavailable, 2, detail);
        }
        for ended in ask_in_both_roles(&once(&server.url())).await {
            ended.failed(FailureReason::Unavailable, 1, detail);
        }
        assert_eq!(server.requests().len(), 8);
    }
}

#[tokio::test]
async fn streams_that_break_over_http2_are_asked_for_again_once() {
    let folder = tempfile::tempdir().unwrap();
    for act in [Act::HangUp, Act::Reset] {
        let server = FaultServer::over_http2([act.clone(), ok(), act]);
        let roots = Roots::File(server.roots(folder.path()));
        let options = EndpointOptions {
            roots,
            ..options(&server.url())
        };
        ask(&connect(options.clone())).await.answered(2);
        for ended in ask_in_both_roles(&options).await {
            assert_eq!(
                ended.result,
                Err(FailureReason::Unavailable),
                "{}",
                ended.detail()
            );
            assert_eq!(ended.call.attempt_count, 2);
        }
        assert!(
            server.requests()[0]
                .head
                .starts_with("POST /v1/systemone HTTP/2")
        );
    }
}

#[tokio::test]
async fn what_is_not_an_answer_is_not_asked_for_again() {
    for reply in [
        Reply::html(),
        Reply::status(200),
        Reply::json("{\"answers\":"),
        Reply::json("{}")
            .header("content-encoding", "gzip")
            .body("not gzip"),
    ] {
        let server = FaultServer::start([answer(reply)]);
        for ended in ask_in_both_roles(&options(&server.url())).await {
            assert_eq!(
                ended.result,
                Err(FailureReason::Protocol),
                "{}",
                ended.detail()
            );
            assert_eq!(ended.call.attempt_count, 1);
        }
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn the_body_of_an_error_is_never_passed_on() {
    let echo = format!(r#"{{"error":{{"message":"bad key {KEY}","code":"{KEY}"}}}}"#);
    let server = FaultServer::start([answer(Reply::status(400).body(echo))]);
    for ended in ask_in_both_roles(&options(&server.url())).await {
        ended.failed(FailureReason::Protocol, 1, "status 400");
    }
}

#[tokio::test]
async fn an_answer_is_bounded_however_it_comes() {
    let too_long = "the answer is longer than 1048576 bytes";
    let malformed = "what came back is not HTTP, or its head is too large";
    for (act, detail) in [
        (Act::Endless, too_long),
        (answer(Reply::gzip_bomb(1 << 26)), too_long),
        (answer(Reply::json(" ".repeat(1_048_577))), too_long),
        (answer(Reply::many_headers(10_000)), malformed),
    ] {
        let server = FaultServer::start([act]);
        for ended in ask_in_both_roles(&options(&server.url())).await {
            ended.failed(FailureReason::Protocol, 1, detail);
        }
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_compressed_answer_is_read() {
    let server = FaultServer::start([answer(Reply::json("{}").gzip())]);
    ask(&connect(options(&server.url()))).await.answered(1);
    let requests = server.requests();
    assert_eq!(requests[0].header("accept-encoding"), Some("gzip"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = FaultServer::start([ok()]);
    for target in [
        elsewhere.url(),
        "http://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let server = FaultServer::start([answer(Reply::redirect(&target))]);
        for ended in ask_in_both_roles(&options(&server.url())).await {
            let detail = "status 302: redirects are not followed";
            ended.failed(FailureReason::Protocol, 1, detail);
        }
        assert_eq!(server.requests().len(), 2);
    }
    assert_eq!(elsewhere.log().connections, 0);
}

#[tokio::test]
async fn r33_a_judge_over_its_rate_is_waited_for_only_if_that_fits() {
    let busy = |wait: &str| answer(Reply::status(429).header("retry-after", wait));
    let server = FaultServer::start([busy("0"), ok()]);
    ask(&connect(options(&server.url()))).await.answered(2);
    for wait in ["60", "1e9", "Sat, 06 Nov 2094 08:49:37 GMT"] {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let reply = Reply::status(429)
            .header("retry-after", wait)
            .header("date", date);
        let server = FaultServer::start([answer(reply)]);
        for ended in ask_in_both_roles(&options(&server.url())).await {
            ended.failed(FailureReason::RateLimited, 1, "status 429");
        }
    }
}

#[tokio::test]
async fn r33_a_judge_that_fails_every_call_sees_hardly_more_requests_than_calls() {
    let server = FaultServer::start([answer(Reply::status(503))]);
    let options = options(&server.url());
    let retry = RetryOptions {
        max_attempts: 4,
        budget_share: Probability::try_from(0.1).unwrap(),
        ..options.retry
    };
    let egress = connect(EndpointOptions { retry, ..options });
    for _ in 0..100 {
        let ended = ask(&egress).await;
        assert_eq!(ended.result, Err(FailureReason::Unavailable));
    }
    let count = server.requests().len();
    assert!((101..=110).contains(&count), "{count}");
}

#[tokio::test]
async fn a_refused_key_is_not_tried_again_unless_its_file_has_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "first\n").unwrap();
    let server = FaultServer::start([answer(Reply::status(401)), answer(Reply::status(403)), ok()]);
    let egress = connect(EndpointOptions {
        api_key: Some(SecretSource::File(path.clone())),
        ..options(&server.url())
    });
    ask(&egress)
        .await
        .failed(FailureReason::Unauthenticated, 1, "status 401");
    std::fs::write(&path, "second\n").unwrap();
    ask(&egress).await.answered(2);
    std::fs::remove_file(&path).unwrap();
    ask(&egress).await.answered(1);
    let requests = server.requests();
    let keys: Vec<_> = requests
        .iter()
        .map(|seen| seen.header("authorization").unwrap())
        .collect();
    // Whether the second call still begins with the old key depends on how long ago the file was looked at.
    assert_eq!(keys[0], "Bearer first");
    assert_eq!(keys[2..], ["Bearer second", "Bearer second"]);
}
