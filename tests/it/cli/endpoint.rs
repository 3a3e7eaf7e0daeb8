//! `diagnose` through a server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Output, Stdio};

use judge_cascade::artifact::verdict::{TimingRow, VerdictRow};
use judge_cascade::domain::outcome::Route;

use super::{AT_ONCE, feed, good, ids, rows};
use crate::support::process::{Sidecar, command, fixture, run, stderr};

fn without_time(output: &Output) -> Vec<VerdictRow> {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let mut rows = rows(output);
    for row in &mut rows {
        row.timing = TimingRow::default();
        for call in &mut row.judge_calls {
            call.latency_ms = 0.0;
        }
    }
    rows
}

#[test]
fn a_server_gives_the_rows_that_the_command_gives_alone() {
    let (traces, config) = (fixture("traces/demo.jsonl"), fixture("demo.toml"));
    let sidecar = Sidecar::start_with(&["--config", &config], &AT_ONCE);
    for (profile, options) in [
        ("demo", &[][..]),
        ("default", &[]),
        ("demo", &["--scope", "retrieval"]),
        ("demo", &["--fallback-mode", "none"]),
    ] {
        let mut alone = command(&["diagnose", &traces, "--profile", profile]);
        alone
            .args(options)
            .args(["--config", &config])
            .envs(AT_ONCE);
        let alone = without_time(&alone.output().unwrap());
        let mut there = command(&["diagnose", &traces, "--profile", profile]);
        there.args(options).args(["--endpoint", &sidecar.endpoint]);
        let there = without_time(&there.output().unwrap());
        assert!(40 < alone.len());
        for (alone, there) in alone.iter().zip(&there) {
            assert_eq!(alone, there);
        }
        assert_eq!(alone.len(), there.len());
        let fallen_back = alone.iter().any(|row| row.route == Route::Fallback);
        assert_eq!(
            fallen_back,
            profile == "demo" && options != ["--fallback-mode", "none"]
        );
    }
}

#[test]
fn the_server_names_what_is_wrong_with_a_line() {
    let sidecar = Sidecar::start_with(&[], &[("JUDGE_CASCADE__LIMITS__MAX_TEXT_BYTES", "100")]);
    let url = format!("http://{}", sidecar.endpoint);
    let long = good("long").replace("opens at eight", &"x".repeat(200));
    let input = format!("{}\n{long}\n{{}}\n{}\n", good("a"), good("b"));
    let output = feed(
        command(&["diagnose", "-", "--endpoint", &url]),
        input.as_bytes(),
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(ids(&rows(&output)), ["a", "b"]);
    let told = stderr(&output);
    let told: Vec<_> = told.lines().collect();
    assert!(
        told[0].starts_with("error: stdin:2: INVALID_ARGUMENT: trace."),
        "{told:?}"
    );
    assert!(
        told[0].contains("100") && !told[0].contains("xxx"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("error: stdin:3: missing field"),
        "{told:?}"
    );
    let unknown = feed(
        command(&["diagnose", "-", "--endpoint", &url, "--profile", "nobody"]),
        good("a").as_bytes(),
    );
    assert_eq!(unknown.status.code(), Some(1));
    let told = stderr(&unknown);
    assert!(
        told.contains("stdin:1: INVALID_ARGUMENT: ") && told.contains("nobody"),
        "{told}"
    );
}

#[test]
fn an_endpoint_without_a_server_is_told_before_any_line() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    for (endpoint, problem) in [
        (&*address, "cannot connect to"),
        ("unix:/nowhere/jc.sock", "cannot connect to"),
        ("http://", "is not an endpoint"),
        ("a b", "is not an endpoint"),
    ] {
        let output = run(&[
            "diagnose",
            &fixture("traces/demo.jsonl"),
            "--endpoint",
            endpoint,
        ]);
        assert_eq!(output.status.code(), Some(2), "{endpoint}");
        let told = stderr(&output);
        assert!(
            told.contains(problem) && told.contains(&format!("`{endpoint}`")),
            "{told}"
        );
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[tokio::test]
async fn a_server_that_dies_costs_the_lines_that_it_did_not_answer() {
    let mut sidecar = Sidecar::start(&[]);
    let mut child = command(&["diagnose", "-", "--endpoint", &sidecar.endpoint])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    writeln!(stdin, "{}", good("a")).unwrap();
    let mut row = String::new();
    answers.read_line(&mut row).unwrap();
    assert!(row.contains("\"trace_id\":\"a\""), "{row}");
    sidecar.signal("KILL");
    sidecar.ended().await;
    writeln!(stdin, "{}\n{}", good("b"), good("c")).unwrap();
    drop(stdin);
    let mut told = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let told: Vec<_> = told.lines().collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(
        told[0].starts_with("error: stdin:2: UNAVAILABLE: "),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("error: stdin:3: UNAVAILABLE: "),
        "{told:?}"
    );
    assert_eq!(told[2], "2 of 3 lines gave no verdict");
}
