//! The commands over TLS: who is let in, and what everybody else is told.

use std::process::Output;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use super::*;
use crate::support::process::{command, fixture, stderr, stdout};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new([]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// PEM files of two authorities, and of what they issued.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        let (ours, others) = (authority("Ours"), authority("Others"));
        files.write("ours.ca", &ours.pem());
        files.write("others.ca", &others.pem());
        files.issue("server", &ours, "127.0.0.1", false);
        files.issue("right", &ours, "rag.test", false);
        files.issue("expired", &ours, "rag.test", true);
        files.issue("elsewhere", &ours, "elsewhere.test", false);
        files.issue("foreign", &others, "rag.test", false);
        files.write("tokens", ONE);
        files.write("wrong", WRONG);
        files.write(
            "config.toml",
            "[server.tls]\ncert_file = 'server.crt'\nkey_file = 'server.key'\n\
             client_ca_file = 'ours.ca'\nallowed_sans = ['rag.test']\n\
             [server.auth]\ntoken_file = 'tokens'\n",
        );
        files
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn issue(&self, name: &str, issuer: &Authority, san: &str, is_old: bool) {
        let mut params = CertificateParams::new([san.to_owned()]).unwrap();
        if is_old {
            params.not_before = date_time_ymd(2019, 1, 1);
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let leaf = params.signed_by(&key, issuer).unwrap();
        self.write(&format!("{name}.crt"), &leaf.pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
    }

    /// A probe with these files of authorities, certificate and key.
    fn probe(&self, endpoint: &str, ca: &str, certificate: Option<[&str; 2]>) -> Output {
        let mut probe = command(&["healthcheck", "--timeout-ms", "60000"]);
        probe.args(["--endpoint", endpoint, "--ca-file", &self.path(ca)]);
        if let Some([chain, key]) = certificate {
            probe.args(["--cert-file", &self.path(chain)]);
            probe.args(["--key-file", &self.path(key)]);
        }
        probe.output().unwrap()
    }
}

#[track_caller]
fn told(output: &Output, problem: &str) {
    let shown = stderr(output);
    assert!(shown.contains(problem), "{problem}: {shown}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(shown.lines().count(), 1, "{shown}");
}

#[test]
fn a_right_certificate_is_let_in_and_everybody_else_is_told_why_not() {
    let files = Files::new();
    let sidecar = Sidecar::start(&["--config", &files.path("config.toml")]);
    let url = format!("https://{}", sidecar.endpoint);
    let right = Some(["right.crt", "right.key"]);
    let good = files.probe(&url, "ours.ca", right);
    assert_eq!(stdout(&good), "serving\n", "{}", stderr(&good));

    let foreign = files.probe(&url, "others.ca", right);
    told(
        &foreign,
        &format!(
            "cannot connect to `{url}`: the certificate of the server is from an issuer that is not trusted"
        ),
    );
    let localhost = url.replace("127.0.0.1", "localhost");
    let other_name = files.probe(&localhost, "ours.ca", right);
    told(
        &other_name,
        "the certificate of the server is for another host",
    );
    for (certificate, problem) in [
        (None, "the server asks for a client certificate"),
        (
            Some(["foreign.crt", "foreign.key"]),
            "the server does not trust the issuer of the client certificate",
        ),
        (
            Some(["expired.crt", "expired.key"]),
            "the server refuses the client certificate, which has expired",
        ),
        (
            Some(["elsewhere.crt", "elsewhere.key"]),
            "the server refuses the client certificate",
        ),
        (
            Some(["right.crt", "foreign.key"]),
            "the client certificate and its key cannot be used",
        ),
        (
            Some(["right.key", "right.key"]),
            "right.key` holds no certificate in PEM",
        ),
        (
            Some(["right.crt", "right.crt"]),
            "right.crt` holds no private key in PEM",
        ),
    ] {
        told(&files.probe(&url, "ours.ca", certificate), problem);
    }
    told(
        &files.probe(&url, "tokens", None),
        "tokens` holds no certificate in PEM",
    );
}

#[test]
fn a_server_in_clear_text_is_told() {
    let files = Files::new();
    let sidecar = Sidecar::start(&[]);
    let url = format!("https://{}", sidecar.endpoint);
    told(
        &files.probe(&url, "ours.ca", None),
        "the server does not speak TLS",
    );
}

#[test]
fn a_client_in_clear_text_is_told_that_the_server_may_speak_tls() {
    let files = Files::new();
    let sidecar = Sidecar::start(&["--config", &files.path("config.toml")]);
    let url = format!("http://{}", sidecar.endpoint);
    let hint = "if the server speaks TLS, use https://";
    let health = command(&["healthcheck", "--endpoint", &url]).output();
    let shown = stderr(&health.unwrap());
    assert!(shown.contains(hint), "{shown}");
    let traces = fixture("traces/demo.jsonl");
    let diagnosed = command(&["diagnose", &traces, "--endpoint", &url]).output();
    let shown = stderr(&diagnosed.unwrap());
    assert!(shown.lines().next().unwrap().ends_with(hint), "{shown}");
}

#[test]
fn traces_are_diagnosed_over_tls_with_certificate_and_token() {
    let files = Files::new();
    let sidecar = Sidecar::start(&["--config", &files.path("config.toml")]);
    let diagnose = |token: &str, certificate: &str| {
        let url = format!("https://{}", sidecar.endpoint);
        let mut diagnose = command(&["diagnose", &fixture("traces/demo.jsonl")]);
        diagnose.args(["--endpoint", &url, "--ca-file", &files.path("ours.ca")]);
        diagnose.args(["--cert-file", &files.path(&format!("{certificate}.crt"))]);
        diagnose.args(["--key-file", &files.path(&format!("{certificate}.key"))]);
        diagnose.args(["--token-file", &files.path(token)]);
        diagnose.output().unwrap()
    };
    let good = diagnose("tokens", "right");
    assert_eq!(good.status.code(), Some(0), "{}", stderr(&good));
    assert!(40 < stdout(&good).lines().count());
    let wrong = diagnose("wrong", "right");
    assert_eq!(wrong.status.code(), Some(1));
    let shown = stderr(&wrong);
    assert!(
        shown.contains(&format!(":1: UNAUTHENTICATED: {REQUIRED}\n")),
        "{shown}"
    );
    let refused = diagnose("tokens", "elsewhere");
    assert_eq!(refused.status.code(), Some(1));
    let shown = stderr(&refused);
    assert!(
        shown.contains(": UNAVAILABLE: the server refuses the client certificate\n"),
        "{shown}"
    );
}
