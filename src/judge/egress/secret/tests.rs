//! Secrets: where they are read, what is refused, and when a file is read again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::judge::egress::tests::options;

/// A judge with a key and some headers; a variable holds its own name in lower case.
fn read(
    auth: Auth,
    api_key: Option<SecretSource>,
    headers: &[(&str, HeaderSource)],
) -> Result<Secrets, EgressErrors> {
    let headers = headers
        .iter()
        .map(|(name, source)| ((*name).to_owned(), source.clone()));
    let options = EndpointOptions {
        auth,
        api_key,
        headers: headers.collect::<BTreeMap<_, _>>(),
        ..options()
    };
    Secrets::read(&options, &|name| match name {
        "UNSET" => None,
        "EMPTY" => Some("\n".to_owned()),
        "ODD" => Some("caf\u{e9}".to_owned()),
        "TWO" => Some("two words".to_owned()),
        name => Some(format!("{}\n", name.to_lowercase())),
    })
}

fn env(name: &str) -> SecretSource {
    SecretSource::Env(name.to_owned())
}

fn key_file(text: &str) -> (tempfile::TempDir, PathBuf, Secrets) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    fs::write(&path, text).unwrap();
    let source = SecretSource::File(path.clone());
    let secrets = read(Auth::Bearer, Some(source), &[]).unwrap();
    (folder, path, secrets)
}

fn sent(secrets: &Secrets, header: &str) -> Option<String> {
    let (headers, _) = secrets.headers(|_| {});
    let value = headers.get(header)?.to_str().unwrap();
    Some(value.to_owned())
}

#[test]
fn the_key_is_sent_as_configured() {
    let bearer = read(Auth::Bearer, Some(env("KEY")), &[]).unwrap();
    assert_eq!(
        sent(&bearer, "authorization").as_deref(),
        Some("Bearer key")
    );
    let header = read(Auth::Header("api-key".to_owned()), Some(env("KEY")), &[]).unwrap();
    assert_eq!(sent(&header, "api-key").as_deref(), Some("key"));
    let none = read(Auth::None, Some(env("KEY")), &[]).unwrap();
    assert!(none.headers(|_| {}).0.is_empty());
    assert!(
        read(Auth::Bearer, None, &[])
            .unwrap()
            .headers(|_| {})
            .0
            .is_empty()
    );
}

#[test]
fn headers_are_literal_or_secret() {
    let headers = [
        (
            "x-portkey-provider",
            HeaderSource::Literal("typesafe".to_owned()),
        ),
        ("x-token", HeaderSource::Secret(env("TWO"))),
    ];
    let secrets = read(Auth::None, None, &headers).unwrap();
    assert_eq!(
        sent(&secrets, "x-portkey-provider").as_deref(),
        Some("typesafe")
    );
    assert_eq!(sent(&secrets, "x-token").as_deref(), Some("two words"));
}

#[test]
fn no_value_is_shown() {
    let secrets = read(Auth::Bearer, Some(env("KEY")), &[]).unwrap();
    let (headers, _) = secrets.headers(|_| {});
    let shown = format!("{secrets:?} {headers:?}").replace("api_key_env", "");
    assert!(!shown.contains("key"), "{shown}");
}

#[test]
fn what_cannot_be_sent_is_refused_with_its_place() {
    let secret = |name: &str| HeaderSource::Secret(env(name));
    let literal = || HeaderSource::Literal("x".to_owned());
    let nowhere = SecretSource::File(PathBuf::from("/nowhere/key"));
    let cases = [
        (
            read(Auth::Bearer, Some(env("UNSET")), &[]),
            "api_key_env: the variable `UNSET` is not set",
        ),
        (
            read(Auth::Bearer, Some(env("EMPTY")), &[]),
            "api_key_env: the variable `EMPTY` is empty",
        ),
        (
            read(Auth::Bearer, Some(env("ODD")), &[]),
            "api_key_env: the variable `ODD` holds a character that is not printable ASCII, or a space",
        ),
        (
            read(Auth::Bearer, Some(env("TWO")), &[]),
            "api_key_env: the variable `TWO` holds a character that is not printable ASCII, or a space",
        ),
        (
            read(Auth::Bearer, Some(nowhere), &[]),
            "api_key_file: the file `/nowhere/key` cannot be read: No such file or directory (os error 2)",
        ),
        (
            read(Auth::Header("a b".to_owned()), Some(env("KEY")), &[]),
            "auth: `a b` is not the name of a header",
        ),
        (
            read(Auth::None, None, &[("host", literal())]),
            "headers.host: the header `host` belongs to the connection",
        ),
        (
            read(
                Auth::None,
                None,
                &[("x-a", HeaderSource::Literal("a\nb".to_owned()))],
            ),
            "headers.x-a: is not the value of a header",
        ),
        (
            read(Auth::None, None, &[("x-a", secret("UNSET"))]),
            "headers.x-a: the variable `UNSET` is not set",
        ),
    ];
    for (result, error) in cases {
        assert_eq!(result.unwrap_err().to_string(), error);
    }
}

#[test]
fn everything_that_is_missing_is_told_at_once() {
    let secret = |name: &str| HeaderSource::Secret(env(name));
    let headers = [("x-a", secret("UNSET")), ("x-b", secret("EMPTY"))];
    let errors = read(Auth::Bearer, Some(env("UNSET")), &headers).unwrap_err();
    let keys: Vec<_> = errors.0.iter().map(|error| &*error.key).collect();
    assert_eq!(keys, ["headers.x-a", "headers.x-b", "api_key_env"]);
}

#[tokio::test(start_paused = true)]
async fn a_changed_file_is_seen_within_a_second() {
    let (_folder, path, secrets) = key_file("old\r\n");
    assert_eq!(
        sent(&secrets, "authorization").as_deref(),
        Some("Bearer old")
    );
    fs::write(&path, "new").unwrap();
    assert_eq!(
        sent(&secrets, "authorization").as_deref(),
        Some("Bearer old")
    );
    tokio::time::advance(READ_AGAIN).await;
    assert_eq!(
        sent(&secrets, "authorization").as_deref(),
        Some("Bearer new")
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_read_again_at_once() {
    let (_folder, path, secrets) = key_file("old");
    let (_, version) = secrets.headers(|_| {});
    assert_eq!(secrets.refused(|_| {}), version);
    fs::write(&path, "new").unwrap();
    let mut changes = Vec::new();
    assert_ne!(secrets.refused(|change| changes.push(change)), version);
    assert_eq!(changes, [Change::New("api_key_file".to_owned())]);
    assert_eq!(
        sent(&secrets, "authorization").as_deref(),
        Some("Bearer new")
    );
}

#[tokio::test(start_paused = true)]
async fn a_file_that_vanishes_or_breaks_leaves_the_old_key_and_is_told_once() {
    let (_folder, path, secrets) = key_file("old");
    let mut changes = Vec::new();
    for text in [None, Some(""), Some("a b")] {
        match text {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        secrets.refused(|change| changes.push(change));
        assert_eq!(
            sent(&secrets, "authorization").as_deref(),
            Some("Bearer old")
        );
    }
    let problem = "cannot be read: No such file or directory (os error 2)".to_owned();
    assert_eq!(changes, [Change::Lost("api_key_file".to_owned(), problem)]);
}
