//! `demo`, `healthcheck`, and the command line itself.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use judge_cascade::domain::Vocabulary as _;
use judge_cascade::domain::diagnosis::Diagnosis;
use tokio_stream::wrappers::TcpListenerStream;
use tonic_health::ServingStatus;

use super::AT_ONCE;
use crate::support::process::{Sidecar, command, run, stderr, stdout};

const FREE: [&str; 4] = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];

#[test]
fn the_demo_shows_every_diagnosis_and_sums_up() {
    let mut demo = command(&["demo", "--once"]);
    let output = demo.args(FREE).envs(AT_ONCE).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let shown = stdout(&output);
    let (verdicts, totals) = shown.split_once(" traces\n").unwrap();
    for diagnosis in Diagnosis::ALL {
        assert!(
            verdicts.contains(&format!("  {} ", diagnosis.name())),
            "{diagnosis}"
        );
        let total = totals
            .lines()
            .find(|line| line.ends_with(&format!("  {diagnosis}")));
        let count = total.unwrap().split_whitespace().next().unwrap();
        assert!(1 <= count.parse::<usize>().unwrap());
    }
    for part in [
        "fallback rate ",
        "cascade: ",
        "saved: ",
        "gRPC     127.0.0.1:",
        "http://127.0.0.1:",
    ] {
        assert!(totals.contains(part), "{part}\n{totals}");
    }
    for route in ["/metrics", "/livez", "/readyz"] {
        assert!(totals.contains(route), "{totals}");
    }
    assert!(!shown.contains("Serving"), "{totals}");
}

#[test]
fn the_demo_serves_until_it_is_interrupted() {
    let mut demo = command(&["demo"]);
    let mut child = demo
        .args(FREE)
        .envs(AT_ONCE)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut endpoint = None;
    for line in lines.by_ref().map(Result::unwrap) {
        if let Some(shown) = line.strip_prefix("gRPC ") {
            endpoint = shown.split_whitespace().next().map(str::to_owned);
        }
        if line.starts_with("Serving ") {
            break;
        }
    }
    let health = run(&["healthcheck", "--endpoint", &endpoint.unwrap()]);
    assert_eq!(health.status.code(), Some(0), "{}", stderr(&health));
    let signal = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signal.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut told = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    assert_eq!(told, "");
}

#[test]
fn the_demo_says_which_address_is_taken() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&[
        "demo",
        "--once",
        "--listen",
        &address,
        "--admin-listen",
        "127.0.0.1:0",
    ]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.contains(&address) && told.contains("--listen"),
        "{told}"
    );
    assert_eq!(stdout(&output), "");
}

#[tokio::test]
async fn healthcheck_tells_serving_from_not_serving_and_from_nobody() {
    let mut sidecar = Sidecar::start(&[]);
    let endpoint = sidecar.endpoint.clone();
    for endpoint in [endpoint.clone(), format!("http://{endpoint}")] {
        let output = run(&["healthcheck", "--endpoint", &endpoint]);
        assert_eq!(
            (output.status.code(), &*stdout(&output)),
            (Some(0), "serving\n")
        );
    }
    let mut by_configuration = command(&["healthcheck"]);
    by_configuration.env("JUDGE_CASCADE__SERVER__LISTEN", &endpoint);
    assert_eq!(by_configuration.output().unwrap().status.code(), Some(0));
    sidecar.signal("TERM");
    sidecar.ended().await;
    let output = run(&["healthcheck", "--endpoint", &endpoint]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(&format!("cannot connect to `{endpoint}`")));
}

#[tokio::test]
async fn healthcheck_ends_with_1_if_the_server_does_not_serve() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter
        .set_service_status("", ServingStatus::NotServing)
        .await;
    let server = tonic::transport::Server::builder().add_service(health);
    let serving = server.serve_with_incoming(TcpListenerStream::new(listener));
    let checked =
        tokio::task::spawn_blocking(move || run(&["healthcheck", "--endpoint", &endpoint]));
    let output = tokio::select! {
        ended = serving => panic!("{ended:?}"),
        output = checked => output.unwrap(),
    };
    assert_eq!(
        (output.status.code(), &*stdout(&output)),
        (Some(1), "not serving\n")
    );
    assert_eq!(stderr(&output), "");
}

#[tokio::test]
async fn healthcheck_does_not_wait_for_ever() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = silent.local_addr().unwrap().to_string();
    let started = std::time::Instant::now();
    let output = run(&[
        "healthcheck",
        "--endpoint",
        &endpoint,
        "--timeout-ms",
        "100",
    ]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.contains(&endpoint) && told.contains("100 ms"),
        "{told}"
    );
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn help_and_version_are_results() {
    for args in [
        &["--help"][..],
        &["help"],
        &["serve", "--help"],
        &["demo", "--help"],
        &["diagnose", "--help"],
        &["healthcheck", "--help"],
        &["config", "--help"],
        &["config", "check", "--help"],
        &["reference", "--help"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(stdout(&output).contains("Usage: judge-cascade"), "{args:?}");
        assert_eq!(stderr(&output), "");
    }
    let output = run(&["--version"]);
    assert_eq!(output.status.code(), Some(0));
    let revision = option_env!("JUDGE_CASCADE_REVISION").filter(|revision| !revision.is_empty());
    let (version, revision) = (env!("CARGO_PKG_VERSION"), revision.unwrap_or("unknown"));
    assert_eq!(
        stdout(&output),
        format!("judge-cascade {version} ({revision})\n")
    );
}

#[test]
fn a_usage_error_ends_with_2_and_prints_no_result() {
    for args in [
        &[][..],
        &["sreve"],
        &["serve", "--colour"],
        &["serve", "--listen", "127.0.0.1:0", "--uds", "/tmp/jc.sock"],
        &["diagnose"],
        &["diagnose", "-", "--scope", "some"],
        &["diagnose", "-", "--fallback-mode", "deferred"],
        &["healthcheck", "--timeout-ms", "0"],
        &["config"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(stdout(&output), "", "{args:?}");
        assert!(!stderr(&output).is_empty(), "{args:?}");
    }
}
