//! The commands that call a server: `diagnose` with a token, `healthcheck` without one and on the admin address.

use std::net::TcpListener;

use super::*;
use crate::server::{plain_client, slow_judge};
use crate::support::process::{command, eventually, fixture, run, stderr, stdout};
use crate::support::{request, trace};

fn diagnose(endpoint: &str, args: &[&str]) -> std::process::Output {
    let traces = fixture("traces/demo.jsonl");
    let mut diagnose = command(&["diagnose", &traces, "--endpoint", endpoint]);
    diagnose.args(args).output().unwrap()
}

#[test]
fn diagnose_sends_the_token_of_a_file() {
    let tokens = TokenFile::new(ONE);
    let sidecar = tokens.start(&[]);
    let file = |name: &str, text: &str| {
        let path = tokens.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let right = file(
        "right",
        &format!("{ONE} \r\nanother line, which is not sent\n"),
    );
    let output = diagnose(&sidecar.endpoint, &["--token-file", &right]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let wrong = file("wrong", WRONG);
    for args in [&[] as &[&str], &["--token-file", &wrong]] {
        let output = diagnose(&sidecar.endpoint, args);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(stdout(&output), "");
        let told = stderr(&output);
        let first = format!(":1: UNAUTHENTICATED: {REQUIRED}\n");
        assert!(
            told.contains(&first) && !told.contains("zanzibar"),
            "{told}"
        );
    }
    for text in ["", "\nlater", "zanzibar token", "zanzibar\u{e9}"] {
        let bad = file("bad", text);
        let output = diagnose(&sidecar.endpoint, &["--token-file", &bad]);
        assert_eq!(output.status.code(), Some(2));
        let told = stderr(&output);
        assert!(
            told.contains(&format!("{bad}:1: the token is empty or holds")),
            "{told}"
        );
        assert!(!told.contains("zanzibar"), "{told}");
    }
    let output = diagnose(&sidecar.endpoint, &["--token-file", "/nowhere/token"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot read `/nowhere/token`"));
    let health = run(&["healthcheck", "--endpoint", &sidecar.endpoint]);
    assert_eq!(stdout(&health), "serving\n");
}

#[test]
fn a_file_that_would_be_waited_for_or_never_ends_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (pipe, long) = (path("pipe"), path("long"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    fs::write(&long, "x".repeat((1 << 20) + 1)).unwrap();
    for (file, problem) in [
        (&pipe, "it is not a file"),
        (&long, "it is longer than 1048576 bytes"),
    ] {
        let endpoint = ["--endpoint", "https://localhost:1", "--ca-file", file];
        let asked = run(&[&["healthcheck"], &endpoint[..]].concat());
        let called = diagnose("localhost:1", &["--token-file", file]);
        for output in [asked, called] {
            assert_eq!(output.status.code(), Some(2));
            let told = stderr(&output);
            let expected = format!("cannot read `{file}`: {problem}\n");
            assert!(told.contains(&expected), "{told}");
        }
    }
}

#[test]
fn an_endpoint_of_another_scheme_is_refused_and_not_dialled() {
    for endpoint in [
        "ftp://localhost:1",
        "grpc://localhost:1",
        "httpx://localhost:1",
    ] {
        let output = run(&["healthcheck", "--endpoint", endpoint]);
        assert_eq!(output.status.code(), Some(2));
        let told = stderr(&output);
        let expected = format!("`{endpoint}` is not an endpoint; write https://HOST:PORT");
        assert!(told.contains(&expected), "{told}");
    }
}

#[test]
fn flags_of_a_client_that_do_not_go_together_are_told() {
    for (args, problem) in [
        (
            &["healthcheck", "--token-file", "t"] as &[&str],
            "--endpoint",
        ),
        (&["healthcheck", "--ca-file", "c"], "--endpoint"),
        (
            &[
                "healthcheck",
                "--endpoint",
                "https://localhost:1",
                "--cert-file",
                "c",
            ],
            "--key-file",
        ),
        (
            &[
                "healthcheck",
                "--endpoint",
                "https://localhost:1",
                "--key-file",
                "k",
            ],
            "--cert-file",
        ),
        (
            &["healthcheck", "--endpoint", "localhost:1", "--admin"],
            "--admin",
        ),
        (
            &["healthcheck", "--endpoint", "https://localhost:1"],
            "`https://localhost:1` needs a file with the authorities to trust: --ca-file",
        ),
        (
            &["healthcheck", "--endpoint", "localhost:1", "--ca-file", "c"],
            "--ca-file and --cert-file are for https, and `localhost:1` is not",
        ),
        (
            &[
                "healthcheck",
                "--endpoint",
                "https://localhost:1",
                "--ca-file",
                "/nowhere/ca",
            ],
            "cannot read `/nowhere/ca`",
        ),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let told = stderr(&output);
        assert!(told.contains(problem), "{told}");
    }
}

/// Asks the admin address by `healthcheck`.
fn probe(admin: &str, environment: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut probe = command(&["healthcheck", "--admin", "--timeout-ms", "60000"]);
    probe.env("JUDGE_CASCADE__ADMIN__LISTEN", admin);
    probe.envs(environment.iter().copied());
    let output = probe.output().unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

#[tokio::test]
async fn the_admin_address_tells_a_draining_server_from_one_that_is_gone() {
    let config = slow_judge(600_000, "");
    let mut sidecar = Sidecar::start(&["--config", &config.path]);
    let serving = (Some(0), "serving\n".to_owned(), String::new());
    assert_eq!(probe(&sidecar.admin, &[]), serving);
    let port = sidecar.admin.rsplit_once(':').unwrap().1;
    assert_eq!(probe(&format!("0.0.0.0:{port}"), &[]), serving);
    let tls = [
        ("JUDGE_CASCADE__SERVER__TLS__CERT_FILE", "absent"),
        ("JUDGE_CASCADE__SERVER__TLS__KEY_FILE", "absent"),
    ];
    let mut by_tls = command(&["healthcheck"]);
    by_tls.env("JUDGE_CASCADE__ADMIN__LISTEN", &sidecar.admin);
    let output = by_tls.envs(tls).output().unwrap();
    assert_eq!(stdout(&output), "serving\n", "{}", stderr(&output));

    let mut client = plain_client(&sidecar).await;
    let slow = client.diagnose(request(trace()));
    let draining = async {
        sidecar.reaches("judge_cascade_inflight_traces", 1.0).await;
        sidecar.signal("TERM");
        sidecar.logs("\"draining\"");
        eventually("the end of readiness", async || {
            let (code, shown, told) = probe(&sidecar.admin, &[]);
            (code == Some(1)).then(|| assert_eq!((&*shown, &*told), ("not serving\n", "")))
        })
        .await;
    };
    tokio::select! {
        ended = slow => panic!("{ended:?}"),
        () = draining => (),
    }
    drop(client);
    sidecar.ended().await;
    let (code, shown, told) = probe(&sidecar.admin, &[]);
    assert_eq!((code, &*shown), (Some(2), ""));
    let expected = format!("cannot connect to the admin address `{}`", sidecar.admin);
    assert!(told.contains(&expected), "{told}");
}

#[test]
fn a_probe_at_the_wrong_address_is_told() {
    let sidecar = Sidecar::start(&["--http-listen", "127.0.0.1:0"]);
    let (code, _, told) = probe(sidecar.http.as_ref().unwrap(), &[]);
    assert_eq!(code, Some(2));
    assert!(
        told.contains("answers 404 Not Found to `GET /readyz`"),
        "{told}"
    );
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut probe = command(&["healthcheck", "--admin", "--timeout-ms", "50"]);
    let address = silent.local_addr().unwrap().to_string();
    let output = probe.env("JUDGE_CASCADE__ADMIN__LISTEN", &address).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = format!("`{address}` does not answer within 50 ms");
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
}
