//! Calls that their caller gives up.

use std::time::Duration;

use judge_cascade::rpc::pb::{self, Route};

use super::{Rig, good};
use crate::support::faults::reply::Reply;
use crate::support::faults::{Act, FaultServer};
use crate::support::{request, trace};

/// One request at a time and nobody waits, so a turn that is not given back is noticed by the next call.
const ONE_AT_A_TIME: &str = "[judges.faulty.concurrency]\nmax_in_flight = 1\nmax_queued = 0";

fn message(profile: &str) -> pb::DiagnoseRequest {
    pb::DiagnoseRequest {
        profile: profile.to_owned(),
        ..request(trace())
    }
}

/// R32: the deadline of a caller ends the request to the judge, and the next caller gets the turn.
#[tokio::test]
async fn r32_a_callers_deadline_aborts_the_request_and_returns_its_turn() {
    let server = FaultServer::start([Act::Answer(Reply::status(404))]);
    let rig = Rig::start_then(&server, ONE_AT_A_TIME, Act::BlackHole).await;
    let client = rig.sidecar.client().await;
    let short = Some(Duration::from_millis(500));
    let status = client.diagnose(message("atomic"), short).await.unwrap_err();
    assert_eq!(status.code, "DEADLINE_EXCEEDED");
    server
        .until("the end of the request", |log| log.aborted == 1)
        .await;
    server.then([Act::Answer(Reply::json(good()))]);
    let response = client.diagnose(message("atomic"), None).await.unwrap();
    assert_eq!(response.route(), Route::Auto);
}

/// R32: a caller that goes away ends the request to the judge, in the fallback role too.
#[tokio::test]
async fn r32_a_caller_that_goes_away_aborts_the_request_and_returns_its_turn() {
    for profile in ["atomic", "fallback"] {
        let server = FaultServer::start([Act::Answer(Reply::status(404))]);
        let rig = Rig::start_then(&server, ONE_AT_A_TIME, Act::BlackHole).await;
        let client = rig.sidecar.client().await;
        {
            let mut call = std::pin::pin!(client.diagnose(message(profile), None));
            let arrived = server.until("the request", |log| {
                log.requests
                    .iter()
                    .any(|seen| seen.head.starts_with("POST"))
            });
            tokio::select! {
                ended = &mut call => panic!("{ended:?}"),
                () = arrived => {}
            }
        }
        server
            .until("the end of the request", |log| log.aborted == 1)
            .await;
        server.then([Act::Answer(Reply::json(good()))]);
        let response = client.diagnose(message("atomic"), None).await.unwrap();
        assert_eq!(response.route(), Route::Auto, "{profile}");
    }
}
