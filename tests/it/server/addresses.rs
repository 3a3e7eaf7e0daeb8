//! Where a server listens, and where it refuses to.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};

use super::quoted;
use crate::support::process::{Sidecar, command, fixture, run, stderr, stdout};

fn mode(path: &str) -> u32 {
    let metadata = fs::metadata(path).unwrap();
    assert!(metadata.file_type().is_socket());
    metadata.permissions().mode() & 0o777
}

#[tokio::test]
async fn a_unix_socket_serves_every_command_and_a_stale_one_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jc.sock").to_str().unwrap().to_owned();
    let mut killed = Sidecar::start(&["--uds", &path]);
    assert_eq!(mode(&path), 0o660);
    let endpoint = format!("unix:{path}");
    assert_eq!(killed.endpoint, endpoint);
    let health = run(&["healthcheck", "--endpoint", &endpoint]);
    assert_eq!(
        (health.status.code(), &*stdout(&health)),
        (Some(0), "serving\n")
    );
    let traces = fixture("traces/parity.jsonl");
    let rows = run(&["diagnose", &traces, "--endpoint", &endpoint]);
    assert_eq!(rows.status.code(), Some(0), "{}", stderr(&rows));
    assert_eq!(stdout(&rows).lines().count(), 9);

    let second = run(&["serve", "--uds", &path, "--admin-listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(2));
    let expected =
        format!("error: server.uds: cannot listen on `{endpoint}`: another process answers there");
    assert!(stderr(&second).contains(&expected), "{}", stderr(&second));
    killed
        .client()
        .await
        .diagnose(quoted(), None)
        .await
        .unwrap();

    killed.signal("KILL");
    assert_eq!(killed.ended().await.code(), None);
    assert!(fs::symlink_metadata(&path).is_ok());
    let gone = run(&["healthcheck", "--endpoint", &endpoint]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(stderr(&gone).contains(&endpoint), "{}", stderr(&gone));

    let mut next = Sidecar::start_with(
        &["--uds", &path],
        &[("JUDGE_CASCADE__SERVER__UDS_MODE", "'0600'")],
    );
    assert_eq!(mode(&path), 0o600);
    next.client().await.diagnose(quoted(), None).await.unwrap();
    next.signal("TERM");
    assert_eq!(next.ended().await.code(), Some(0));
    assert!(
        fs::symlink_metadata(&path).is_err(),
        "the file goes with its server"
    );
}

#[test]
fn a_taken_port_is_an_error_that_names_it_and_its_key() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let free = "127.0.0.1:0";
    for (key, [main, http, admin]) in [
        ("server.listen", [&*address, free, free]),
        ("server.http_listen", [free, &*address, free]),
        ("admin.listen", [free, free, &*address]),
    ] {
        let flags = [
            "--listen",
            main,
            "--http-listen",
            http,
            "--admin-listen",
            admin,
        ];
        let output = run(&[&["serve"], &flags[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        let expected = format!("error: {key}: cannot listen on `{address}`: ");
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn a_bad_configuration_is_told_in_full_before_anything_is_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.toml");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let text = format!(
        "[server]\nlisten = '{address}'\nmax_message_bytes = 0\n[limits]\nmax_chunks = 8\n\
         [profiles.default]\nfallback = 'nobody'\n"
    );
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let output = run(&["serve", "--config", path, "--log-filter", "loud=loud"]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    let places: Vec<_> = told.lines().collect();
    assert_eq!(places.len(), 4, "{told}");
    for (told, place) in places.iter().zip([
        format!("error: {path}:3: server.max_message_bytes: "),
        format!("{path}:5: limits.max_chunks: "),
        format!("{path}:7: profiles.default.fallback: "),
        "--log-filter: log.filter: ".to_owned(),
    ]) {
        assert!(told.starts_with(&place), "{told}\n{place}");
    }
}

#[test]
fn a_missing_file_is_told_before_anything_is_bound() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let config = fixture("configs/valid/two-profiles.toml");
    let output = run(&["serve", "--config", &config, "--listen", &address]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.contains("cannot read `") && told.contains("recorded.jsonl"),
        "{told}"
    );
    let output = run(&[
        "serve",
        "--config",
        "/nowhere/jc.toml",
        "--listen",
        &address,
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: cannot read `/nowhere/jc.toml`"));
}

#[test]
fn only_loopback_is_bound_without_being_told_otherwise() {
    for flag in ["--listen", "--http-listen"] {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let output = run(&["serve", flag, address]);
            assert_eq!(output.status.code(), Some(2));
            let told = stderr(&output);
            assert!(
                told.contains(address) && told.contains("--insecure-bind"),
                "{told}"
            );
            let allowed = run(&["config", "check", flag, address, "--insecure-bind"]);
            assert_eq!(allowed.status.code(), Some(0), "{}", stderr(&allowed));
        }
    }
    let mut by_environment = command(&["config", "check"]);
    by_environment.env("JUDGE_CASCADE__SERVER__LISTEN", "0.0.0.0:1");
    let output = by_environment.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.contains("environment JUDGE_CASCADE__SERVER__LISTEN: "),
        "{told}"
    );
}
