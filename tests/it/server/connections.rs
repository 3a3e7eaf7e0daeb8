//! Silent, many and old connections.

use std::fs;
use std::pin::pin;
use std::process::Command;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::{plain_client, quoted};
use crate::support::process::{GUARD, Sidecar, eventually};

async fn silent(sidecar: &Sidecar, count: usize) -> Vec<TcpStream> {
    let connects = (0..count).map(|_| TcpStream::connect(&sidecar.endpoint));
    let connected = join_all(connects).await.into_iter();
    connected.map(Result::unwrap).collect()
}

#[tokio::test]
async fn silent_connections_are_closed_and_counted_and_hold_up_nobody() {
    let sidecar = Sidecar::start_with(
        &[],
        &[("JUDGE_CASCADE__SERVER__FIRST_BYTE_TIMEOUT_MS", "500")],
    );
    let silent = silent(&sidecar, 200).await;
    let mut client = plain_client(&sidecar).await;
    client.diagnose(quoted()).await.unwrap();
    let closed = silent.into_iter().map(|mut peer| async move {
        let read = timeout(GUARD, peer.read(&mut [0]))
            .await
            .expect("the server closes it");
        assert!(!matches!(read, Ok(1..)), "the server speaks first");
    });
    join_all(closed).await;
    let counted = "judge_cascade_connections_closed_total{reason=\"first_byte_timeout\"}";
    sidecar.reaches(counted, 200.0).await;
    assert_eq!(sidecar.series(counted).await, Some(200.0));
    client.diagnose(quoted()).await.unwrap();
    let open = sidecar.series("judge_cascade_open_connections").await;
    assert_eq!(open, Some(1.0));
}

#[tokio::test]
async fn a_client_over_the_limit_waits_until_another_leaves() {
    let sidecar = Sidecar::start_with(&[], &[("JUDGE_CASCADE__SERVER__MAX_CONNECTION_COUNT", "1")]);
    let mut first = plain_client(&sidecar).await;
    first.diagnose(quoted()).await.unwrap();
    let mut next = pin!(async { plain_client(&sidecar).await.diagnose(quoted()).await });
    let meanwhile = async {
        for _ in 0..20 {
            first.diagnose(quoted()).await.unwrap();
        }
        sleep(Duration::from_millis(200)).await;
    };
    tokio::select! {
        _ = &mut next => panic!("a second connection was let in"),
        () = meanwhile => (),
    }
    let open = sidecar.series("judge_cascade_open_connections").await;
    assert_eq!(open, Some(1.0));
    drop(first);
    next.await.unwrap();
}

#[tokio::test]
async fn a_client_lives_longer_than_its_connections() {
    let sidecar = Sidecar::start_with(
        &[],
        &[("JUDGE_CASCADE__SERVER__MAX_CONNECTION_AGE_MS", "100")],
    );
    let client = sidecar.client().await;
    let ended = "judge_cascade_connections_closed_total{reason=\"ended\"}";
    eventually("five connections that ended of age", async || {
        let calls = (0..20).map(|_| client.diagnose(quoted(), None));
        for ended in join_all(calls).await {
            ended.unwrap();
        }
        let connections = sidecar.series(ended).await;
        connections.filter(|connections| 5.0 <= *connections)
    })
    .await;
}

/// A peer that does not answer the graceful end of its connection would keep it, and what let it in, for ever.
#[tokio::test]
async fn a_connection_past_its_age_is_cut() {
    let sidecar = Sidecar::start_with(
        &[],
        &[
            ("JUDGE_CASCADE__SERVER__MAX_CONNECTION_AGE_MS", "200"),
            ("JUDGE_CASCADE__SERVER__SHUTDOWN_GRACE_MS", "200"),
        ],
    );
    let mut peer = TcpStream::connect(&sidecar.endpoint).await.unwrap();
    let empty_settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let hello = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &empty_settings[..]].concat();
    peer.write_all(&hello).await.unwrap();
    let end = timeout(GUARD, peer.read_to_end(&mut Vec::new())).await;
    end.expect("the server cuts it").ok();
    let cut = "judge_cascade_connections_closed_total{reason=\"too_old\"}";
    sidecar.reaches(cut, 1.0).await;
}

/// Time on processors, in hundredths of a second.
fn processor_ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let fields: Vec<_> = after_name.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<u64>().unwrap();
    ticks(11) + ticks(12)
}

#[tokio::test]
async fn accepting_survives_a_lack_of_file_descriptors() {
    let mut serve = Command::new("/bin/sh");
    serve
        .env_clear()
        .args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_judge-cascade"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(["--admin-listen", "127.0.0.1:0"])
        .env("JUDGE_CASCADE__SERVER__FIRST_BYTE_TIMEOUT_MS", "600000");
    let mut sidecar = Sidecar::spawn(serve);
    let greedy = silent(&sidecar, 100).await;
    let descriptors = format!("/proc/{}/fd", sidecar.id());
    let exhausted = async || (64 <= fs::read_dir(&descriptors).ok()?.count()).then_some(());
    eventually("the last file descriptor", exhausted).await;
    let before = processor_ticks(sidecar.id());
    sleep(Duration::from_secs(1)).await;
    let spent = processor_ticks(sidecar.id()) - before;
    assert!(spent < 20, "{spent} of 100 ticks");
    drop(greedy);
    let mut client = plain_client(&sidecar).await;
    client.diagnose(quoted()).await.unwrap();
    sidecar.signal("TERM");
    assert_eq!(sidecar.ended().await.code(), Some(0));
    let log = sidecar.log();
    let failures = log
        .iter()
        .filter(|line| line.contains("cannot accept a connection"));
    assert!((1..50).contains(&failures.count()), "{log:?}");
}
