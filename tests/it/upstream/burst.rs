//! Ten times the load on a judge that fails.

use futures_util::future::join_all;
use judge_cascade::rpc::pb::{self, Diagnosis, Route};

use super::{Faulty, Rig, good};
use crate::support::faults::reply::Reply;
use crate::support::faults::{Act, FaultServer};
use crate::support::process::eventually;
use crate::support::{request, trace};

/// Calls of one burst; a judge like this one is asked by a tenth of them.
const BURST: usize = 250;

/// Far below what a call that is kept by mistake would cost in a burst.
const FLAT_KIB: u64 = 16 * 1024;

async fn burst(rig: &Rig) -> Vec<pb::JudgeCall> {
    let client = rig.sidecar.client().await;
    let calls = (0..BURST).map(|_| {
        let client = client.clone();
        async move {
            let message = pb::DiagnoseRequest {
                profile: "alone".to_owned(),
                fallback_mode: pb::FallbackMode::None as i32,
                ..request(trace())
            };
            client.diagnose(message, None).await.unwrap()
        }
    });
    let all = join_all(calls);
    let probes = async {
        for _ in 0..5 {
            assert_eq!(rig.sidecar.admin("/livez").await.1, "ok");
            assert_eq!(rig.sidecar.admin("/readyz").await.1, "ready");
        }
    };
    let (responses, ()) = tokio::join!(all, probes);
    let mut made = Vec::new();
    for response in responses {
        assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
        made.extend(response.judge_calls);
    }
    made
}

fn posts(server: &FaultServer) -> usize {
    let requests = server.requests();
    requests
        .iter()
        .filter(|seen| seen.head.starts_with("POST"))
        .count()
}

fn resident_kib(rig: &Rig) -> u64 {
    let path = format!("/proc/{}/status", rig.sidecar.id());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// R33: retries are a tenth of the calls at most, from the first second on, even with a breaker that never opens.
#[tokio::test]
async fn r33_a_failing_judge_is_sent_a_tenth_more_than_it_is_asked() {
    let server = FaultServer::start([Act::Answer(Reply::status(503))]);
    let keys = "[judges.faulty.breaker]\nfailure_count = 1000000\n[judges.faulty.retry]\nmax_attempts = 5\n\
                base_delay_ms = 1\nmax_delay_ms = 5\n[judges.faulty.concurrency]\nmax_queued = 1000";
    let rig = Rig::start(&Faulty::at(&server).with(keys));
    let calls = burst(&rig).await;
    let attempts = calls.iter().map(|call| call.attempt_count);
    // On a slow machine some calls run out of time before it is their turn; those send nothing.
    let made = attempts.clone().filter(|&count| count > 0).count();
    let sent = posts(&server);
    assert!(0 < sent && sent <= made + BURST / 10, "{made} {sent}");
    assert!(attempts.sum::<i32>() >= sent as i32);
}

/// The breaker keeps a burst away from a failing judge, memory stays flat, and the judge is back within one period.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_burst_at_a_failing_judge_is_kept_away_and_ends_with_it() {
    let server = FaultServer::start([Act::Answer(Reply::status(503))]);
    let keys = "[judges.faulty.breaker]\nfailure_count = 5\nopen_ms = 1000";
    let rig = Rig::start(&Faulty::at(&server).with(keys));
    burst(&rig).await;
    let after_one = resident_kib(&rig);
    for _ in 0..4 {
        burst(&rig).await;
    }
    let after_five = resident_kib(&rig);
    assert!(
        after_five < after_one + FLAT_KIB,
        "{after_one} {after_five}"
    );
    assert!(posts(&server) < BURST, "{}", posts(&server));

    server.then([Act::Answer(Reply::json(good()))]);
    let recovered = async || {
        let route = rig.diagnose("alone").await.route();
        (route == Route::Auto).then_some(())
    };
    eventually("the judge to be asked again", recovered).await;
}
