//! Connections: those that cannot be made, those that are kept, and those that are given up.

use futures_util::future::join_all;

use super::*;
use crate::support::faults::reply::Reply;
use crate::support::faults::{Act, FaultServer};

fn ok() -> Act {
    Act::Answer(Reply::json("{}"))
}

#[tokio::test]
async fn a_judge_that_is_not_there_is_asked_again_once() {
    for ended in ask_in_both_roles(&options(&FaultServer::nobody())).await {
        let detail = "cannot connect: connection refused";
        ended.failed(FailureReason::Unavailable, 2, detail);
    }
}

/// A label of 64 letters is longer than any name may have, so that nobody has to be asked for it.
#[tokio::test]
async fn a_judge_without_an_address_is_unavailable() {
    let url = format!("http://{}.test", "a".repeat(64));
    for ended in ask_in_both_roles(&once(&url)).await {
        let detail = "the name of the host cannot be resolved";
        ended.failed(FailureReason::Unavailable, 1, detail);
    }
}

#[tokio::test]
async fn a_connection_that_is_closed_at_once_is_a_broken_one() {
    let server = FaultServer::start([Act::CloseAtOnce, Act::CloseAtOnce, ok()]);
    let ended = ask(&connect(options(&server.url()))).await;
    assert_eq!(
        ended.result,
        Err(FailureReason::Unavailable),
        "{}",
        ended.detail()
    );
    assert_eq!(ended.call.attempt_count, 2);
    assert_eq!(server.log().requests.len(), 0);
}

#[tokio::test]
async fn a_connection_is_kept() {
    let server = FaultServer::start([ok()]);
    let egress = connect(options(&server.url()));
    for _ in 0..5 {
        ask(&egress).await.answered(1);
    }
    assert_eq!(server.log().connections, 1);
    let requests = server.requests();
    assert_eq!(
        requests[0].header("authorization"),
        Some("Bearer sk-one-two-three")
    );
    assert!(requests.iter().all(|seen| seen.connection == 1));
    assert_eq!(requests[0].json(), serde_json::json!({"model": "m"}));
}

#[tokio::test]
async fn the_trace_context_goes_out_and_the_id_of_the_request_comes_back() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let server = FaultServer::start([Act::AnswerTo(|seen| {
        Reply::json("{}").header("x-typesafe-request-id", seen.header("traceparent").unwrap())
    })]);
    let egress = connect(options(&server.url()));
    let context = CallContext {
        traceparent: Some(parent.to_owned()),
        ..CallContext::until(Instant::now() + LONG, JudgeRole::Atomic)
    };
    let sent = egress.send(&outgoing(), &context, classify).await.unwrap();
    assert_eq!(sent.call.upstream_request_id.as_deref(), Some(parent));
}

#[tokio::test]
async fn a_kept_connection_that_the_peer_closed_costs_nothing() {
    let server = FaultServer::start([ok(), Act::HangUp, ok()]);
    let egress = connect(once(&server.url()));
    ask(&egress).await.answered(1);
    for connection in [1, 2] {
        let before = server.log().connections;
        ask(&egress).await.answered(2);
        assert_eq!(server.log().connections, before + 1, "{connection}");
        // The retry goes over a connection that is not kept, so that the next call makes one that is.
        ask_to_keep(&server, &egress).await;
    }
}

/// Leaves a kept connection behind, whatever was there before.
async fn ask_to_keep(server: &FaultServer, egress: &Egress) {
    server.then([ok()]);
    ask(egress).await.answered(1);
    server.then([Act::Reset, ok()]);
}

#[tokio::test]
async fn a_new_connection_that_is_closed_without_an_answer_is_no_stale_one() {
    for act in [Act::HangUp, Act::Reset] {
        let server = FaultServer::start([act]);
        let ended = ask(&connect(once(&server.url()))).await;
        assert_eq!(
            (ended.result, ended.call.attempt_count),
            (Err(FailureReason::Unavailable), 1)
        );
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn r32_a_cancelled_call_aborts_its_request_and_gives_back_its_turn() {
    let server = FaultServer::start([Act::BlackHole, ok()]);
    let egress = connect(EndpointOptions {
        concurrency: ConcurrencyOptions {
            max_in_flight: 1,
            max_queued: 0,
        },
        ..options(&server.url())
    });
    tokio::select! {
        ended = ask(&egress) => panic!("{:?}", ended.result),
        () = server.until("a request", |log| log.requests.len() == 1) => {}
    }
    server
        .until("an aborted request", |log| log.aborted == 1)
        .await;
    ask(&egress).await.answered(1);
}

#[tokio::test]
async fn r32_the_deadline_of_the_caller_aborts_the_request() {
    let server = FaultServer::start([Act::BlackHole, ok()]);
    let egress = connect(options(&server.url()));
    let ended = ask_as(&egress, JudgeRole::Fallback, SHORT).await;
    assert_eq!(ended.result, Err(FailureReason::Timeout));
    assert_eq!(ended.call.role, JudgeRole::Fallback);
    server
        .until("an aborted request", |log| log.aborted == 1)
        .await;
    ask(&egress).await.answered(1);
}

#[tokio::test]
async fn r33_no_more_requests_are_in_flight_than_allowed_and_the_queue_is_bounded() {
    let server = FaultServer::start([Act::BlackHole]);
    let egress = connect(EndpointOptions {
        concurrency: ConcurrencyOptions {
            max_in_flight: 3,
            max_queued: 2,
        },
        attempt_timeout: SHORT,
        ..options(&server.url())
    });
    let ended = join_all((0..9).map(|_| ask(&egress))).await;
    let with = |reason| {
        ended
            .iter()
            .filter(|ended| ended.result == Err(reason))
            .count()
    };
    assert_eq!(with(FailureReason::Timeout), 3 + 2);
    assert_eq!(with(FailureReason::Overloaded), 4);
    assert_eq!(server.log().connections, 3 + 2);
}
