//! A log that cannot be written, or that nobody reads, costs log lines and nothing else.

use std::fs::OpenOptions;
use std::process::{Child, Stdio};

use judge_cascade::client::Client;

use super::quoted;
use crate::support::process::{command, eventually};

/// Starts a server on a socket that logs a lot, makes calls and ends it well.
async fn check(stderr: Stdio, then: impl FnOnce(&mut Child)) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("jc.sock");
    let socket = socket.to_str().unwrap();
    let args = [
        "serve",
        "--uds",
        socket,
        "--admin-listen",
        "127.0.0.1:0",
        "--log-filter",
        "trace",
    ];
    let mut child = command(&args).stderr(stderr).spawn().unwrap();
    then(&mut child);
    let endpoint = format!("unix:{socket}");
    let connected = async || Client::connect(&endpoint).await.ok();
    let client = eventually("the server", connected).await;
    for _ in 0..200 {
        client.diagnose(quoted(), None).await.unwrap();
    }
    let id = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let status = eventually("the end", async || child.try_wait().unwrap()).await;
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn a_full_disk_ends_no_server() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    check(full.into(), |_| ()).await;
}

#[tokio::test]
async fn a_reader_that_is_gone_ends_no_server() {
    check(Stdio::piped(), |child| drop(child.stderr.take())).await;
}

#[tokio::test]
async fn a_reader_that_is_stuck_holds_up_no_call() {
    check(Stdio::piped(), |_| ()).await;
}
