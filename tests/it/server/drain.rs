//! The end of the process: what it waits for, and what it does not wait for.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::{channel, plain_client, reason, slow_judge};
use crate::support::process::{Sidecar, eventually, run};
use crate::support::{request, trace};

const CALLS: usize = 24;
const IN_FLIGHT: &str = "judge_cascade_inflight_traces";
/// No test can wait for so long a grace.
const LONGEST_GRACE: &str = "shutdown_grace_ms = 600000";

async fn draining(sidecar: &Sidecar) {
    let draining = async || {
        let (status, body) = sidecar.admin("/readyz").await;
        (status.contains(" 503 ") && body == "draining").then_some(())
    };
    eventually("the drain", draining).await;
}

#[tokio::test]
async fn calls_in_flight_end_well_and_nothing_else_keeps_the_process() {
    let config = slow_judge(2000, LONGEST_GRACE);
    let mut sidecar = Sidecar::start(&["--config", &config.path]);
    let silent = TcpStream::connect(&sidecar.endpoint).await.unwrap();
    let mut half = TcpStream::connect(&sidecar.endpoint).await.unwrap();
    half.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
    let mut health = HealthClient::new(channel(&sidecar).await);
    let watch = health.watch(HealthCheckRequest::default()).await;
    let mut watch = watch.unwrap().into_inner();
    let seen = watch.message().await.unwrap().unwrap();
    assert_eq!(seen.status(), ServingStatus::Serving);
    let mut late = plain_client(&sidecar).await;
    late.get_policy(judge_cascade::rpc::pb::GetPolicyRequest::default())
        .await
        .unwrap();
    assert!(sidecar.admin("/readyz").await.0.contains(" 200 "));
    let client = plain_client(&sidecar).await;
    let mut in_flight = JoinSet::new();
    for _ in 0..CALLS {
        let mut client = client.clone();
        in_flight.spawn(async move { client.diagnose(request(trace())).await });
    }
    sidecar.reaches(IN_FLIGHT, CALLS as f64).await;

    sidecar.signal("TERM");
    let seen = watch.message().await.unwrap().unwrap();
    assert_eq!(seen.status(), ServingStatus::NotServing);
    draining(&sidecar).await;
    assert!(sidecar.admin("/livez").await.0.contains(" 200 "));
    for _ in 0..5 {
        let status = late.diagnose(request(trace())).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
        let reason = reason(&status);
        assert!(
            reason.is_none() || reason.as_deref() == Some("SHUTTING_DOWN"),
            "{status:?}"
        );
    }
    let refused = async || {
        let error = TcpStream::connect(&sidecar.endpoint).await.err()?;
        (error.kind() == ErrorKind::ConnectionRefused).then_some(())
    };
    eventually("a refused connection", refused).await;
    let health = run(&["healthcheck", "--endpoint", &sidecar.endpoint]);
    assert_ne!(health.status.code(), Some(0));
    assert_eq!(in_flight.len(), CALLS);
    assert!(
        in_flight.try_join_next().is_none(),
        "no call ended before all of this was seen"
    );

    while let Some(ended) = in_flight.join_next().await {
        ended.unwrap().unwrap();
    }
    let last = Instant::now();
    assert_eq!(sidecar.ended().await.code(), Some(0));
    assert!(last.elapsed() < Duration::from_secs(10));
    assert!(
        sidecar
            .log()
            .iter()
            .any(|line| line.contains("\"drained\""))
    );
    drop((silent, half, watch));
}

#[tokio::test]
async fn an_idle_server_ends_beside_peers_that_stay() {
    let config = slow_judge(0, LONGEST_GRACE);
    let mut sidecar = Sidecar::start(&["--config", &config.path]);
    let silent = TcpStream::connect(&sidecar.endpoint).await.unwrap();
    let mut client = plain_client(&sidecar).await;
    client.diagnose(request(trace())).await.unwrap();
    let signalled = Instant::now();
    sidecar.signal("INT");
    assert_eq!(sidecar.ended().await.code(), Some(0));
    assert!(signalled.elapsed() < Duration::from_secs(10));
    drop((silent, client));
}

#[tokio::test]
async fn a_second_signal_ends_the_process_at_once() {
    let config = slow_judge(60_000, LONGEST_GRACE);
    let mut sidecar = Sidecar::start(&["--config", &config.path]);
    let mut client = plain_client(&sidecar).await;
    let mut in_flight = JoinSet::new();
    in_flight.spawn(async move { client.diagnose(request(trace())).await });
    sidecar.reaches(IN_FLIGHT, 1.0).await;
    sidecar.signal("TERM");
    draining(&sidecar).await;
    let second = Instant::now();
    sidecar.signal("TERM");
    assert_eq!(sidecar.ended().await.code(), Some(1));
    assert!(second.elapsed() < Duration::from_secs(10));
    let status = in_flight.join_next().await.unwrap().unwrap().unwrap_err();
    assert_ne!(status.code(), Code::Ok);
    let log = sidecar.log();
    assert!(log.iter().any(|line| line.contains("second signal")));
}

#[tokio::test]
async fn a_call_longer_than_the_grace_is_cut() {
    let config = slow_judge(60_000, "shutdown_grace_ms = 300");
    let mut sidecar = Sidecar::start(&["--config", &config.path]);
    let mut client = plain_client(&sidecar).await;
    let mut in_flight = JoinSet::new();
    in_flight.spawn(async move { client.diagnose(request(trace())).await });
    sidecar.reaches(IN_FLIGHT, 1.0).await;
    let signalled = Instant::now();
    sidecar.signal("TERM");
    assert_eq!(sidecar.ended().await.code(), Some(0));
    let took = signalled.elapsed();
    assert!(
        Duration::from_millis(300) <= took && took < Duration::from_secs(10),
        "{took:?}"
    );
    in_flight.join_next().await.unwrap().unwrap().unwrap_err();
    let log = sidecar.log();
    assert!(log.iter().any(|line| line.contains("the grace is over")));
}
