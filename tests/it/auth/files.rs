//! The file of tokens: bad before the start, changed and broken while calls run, and never told.

use super::*;
use crate::support::process::{command, stderr};

#[tokio::test]
async fn tokens_rotate_without_a_call_that_fails() {
    let tokens = TokenFile::new(ONE);
    let sidecar = tokens.start(&[]);
    let channel = channel(&sidecar.endpoint).await;
    let call = async |token: &str| {
        let mut client = DiagnosisServiceClient::new(channel.clone());
        client.diagnose(with(quoted(), &[&bearer(token)])).await
    };
    refused(&call(TWO).await.unwrap_err());
    tokens.rename_over(&format!("{TWO}\n{ONE}\n"));
    // The old token is good until it is gone from the file.
    while sidecar.series(&reloads("ok")).await != Some(1.0) {
        call(ONE).await.unwrap();
    }
    call(ONE).await.unwrap();
    tokens.rename_over(&format!("{TWO}\n"));
    while sidecar.series(&reloads("ok")).await != Some(2.0) {
        call(TWO).await.unwrap();
    }
    refused(&call(ONE).await.unwrap_err());
    call(TWO).await.unwrap();
    assert_eq!(sidecar.series(&reloads("error")).await, Some(0.0));
}

#[tokio::test]
async fn a_broken_file_keeps_the_old_tokens_and_no_token_is_ever_logged() {
    let tokens = TokenFile::new(ONE);
    let mut sidecar = tokens.start(&["--http-listen", "127.0.0.1:0", "--log-filter", "trace"]);
    let channel = channel(&sidecar.endpoint).await;
    let call = async |token: &str| {
        let mut client = DiagnosisServiceClient::new(channel.clone());
        client.diagnose(with(quoted(), &[&bearer(token)])).await
    };
    tokens.rename_over(&format!("{TWO}\nzanzibar-short\n"));
    sidecar.reaches(&reloads("error"), 1.0).await;
    call(ONE).await.unwrap();
    refused(&call(TWO).await.unwrap_err());
    refused(&call(WRONG).await.unwrap_err());
    fs::remove_file(&tokens.path).unwrap();
    sidecar.reaches(&reloads("error"), 2.0).await;
    call(ONE).await.unwrap();
    for token in [ONE, WRONG] {
        send(&sidecar, &diagnose_head(Some(&bearer(token))), b"{}").await;
    }
    let (_, metrics) = sidecar.admin("/metrics").await;
    assert!(!metrics.contains("zanzibar"));
    sidecar.signal("TERM");
    assert_eq!(sidecar.ended().await.code(), Some(0));
    let log = sidecar.log();
    let told = format!("`{}` has a token in line 2 that is shorter", tokens.path);
    assert!(log.iter().any(|line| line.contains(&told)));
    assert!(
        log.iter()
            .any(|line| line.contains("\"message\":\"refused\""))
    );
    for line in &log {
        assert!(!line.contains("zanzibar"), "{line}");
    }
}

#[test]
fn a_bad_file_is_told_before_anything_is_served() {
    let tokens = TokenFile::new("zanzibar-token\n");
    let absent = tokens.folder.path().join("absent");
    let absent = absent.to_str().unwrap();
    for (file, problem) in [
        (
            &*tokens.path,
            "has a token in line 1 that is shorter than 16 characters",
        ),
        (absent, "cannot be read: No such file or directory"),
    ] {
        for subcommand in [&["config", "check"] as &[&str], &["serve"]] {
            let mut command = command(subcommand);
            command.env("JUDGE_CASCADE__SERVER__AUTH__TOKEN_FILE", file);
            // What is wrong elsewhere is told beside it.
            command.env("JUDGE_CASCADE__PROFILES__DEFAULT__POLICY", "./nowhere.toml");
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{subcommand:?}");
            let told = stderr(&output);
            assert!(
                told.contains(&format!("server.auth.token_file: `{file}` {problem}")),
                "{told}"
            );
            assert!(told.contains("nowhere.toml"), "{told}");
            assert!(!told.contains("zanzibar"), "{told}");
        }
    }
    let mut alone = command(&["config", "check"]);
    alone.env("JUDGE_CASCADE__SERVER__AUTH__TOKEN_FILE", absent);
    assert_eq!(alone.output().unwrap().status.code(), Some(2));
    fs::write(&tokens.path, ONE).unwrap();
    let mut good = command(&["config", "check"]);
    good.env("JUDGE_CASCADE__SERVER__AUTH__TOKEN_FILE", &tokens.path);
    assert_eq!(good.output().unwrap().status.code(), Some(0));
}

#[test]
fn the_demonstration_says_that_it_has_no_token() {
    let mut demo = command(&["demo", "--once"]);
    demo.env("JUDGE_CASCADE__SERVER__AUTH__TOKEN_FILE", "tokens");
    let output = demo.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("leave server.tls and server.auth out"));
}
