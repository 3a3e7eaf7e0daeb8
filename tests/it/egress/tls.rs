//! Trust: a key leaves the program only for a judge whose certificate is good.

use super::*;
use crate::support::faults::reply::Reply;
use crate::support::faults::tls::Certificate;
use crate::support::faults::{Act, FaultServer};

fn ok() -> Act {
    Act::Answer(Reply::json("{}"))
}

/// Options that trust who issued the certificate of the server; the folder holds its own certificate.
fn trusting(server: &FaultServer, folder: &tempfile::TempDir) -> EndpointOptions {
    EndpointOptions {
        roots: Roots::File(server.roots(folder.path())),
        ..options(&server.url())
    }
}

#[tokio::test]
async fn a_judge_with_a_good_certificate_gets_the_key() {
    for server in [
        FaultServer::over_tls(Certificate::Good, [ok()]),
        FaultServer::over_http2([ok()]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for ended in ask_in_both_roles(&trusting(&server, &folder)).await {
            ended.answered(1);
        }
        let requests = server.requests();
        assert_eq!(
            requests[0].header("authorization"),
            Some("Bearer sk-one-two-three")
        );
    }
}

#[tokio::test]
async fn a_bad_certificate_is_told_apart_and_not_tried_again_and_sees_no_key() {
    for (certificate, detail) in [
        (Certificate::Expired, "the certificate has expired"),
        (
            Certificate::WrongName,
            "the certificate is for another host",
        ),
        (
            Certificate::UnknownIssuer,
            "the certificate is from an unknown issuer",
        ),
    ] {
        let server = FaultServer::over_tls(certificate, [ok()]);
        let folder = tempfile::tempdir().unwrap();
        for ended in ask_in_both_roles(&trusting(&server, &folder)).await {
            ended.failed(FailureReason::Unavailable, 1, detail);
        }
        server
            .until("two refusals", |log| log.refused_handshakes == 2)
            .await;
        assert_eq!(server.requests().len(), 0);
    }
}

#[tokio::test]
async fn the_certificates_of_program_and_system_trust_nobody_else() {
    let server = FaultServer::over_tls(Certificate::Good, [ok()]);
    for roots in [Roots::Bundled, Roots::System] {
        let is_system = roots == Roots::System;
        let options = EndpointOptions {
            roots,
            ..options(&server.url())
        };
        match try_connect(options) {
            Ok(egress) => {
                let detail = "the certificate is from an unknown issuer";
                ask(&egress)
                    .await
                    .failed(FailureReason::Unavailable, 1, detail);
            }
            // A system without certificates cannot trust anybody.
            Err(error) => assert!(is_system && error.key == "roots", "{error}"),
        }
    }
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_judge_that_does_not_speak_tls_sees_no_key() {
    let server = FaultServer::start([ok()]);
    let url = server.url().replace("http://", "https://");
    let ended = ask(&connect(options(&url))).await;
    ended.failed(FailureReason::Unavailable, 1, "the TLS handshake failed");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn roots_that_cannot_be_used_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (path, problem) in [
        (
            folder.path().join("absent"),
            "cannot be read: No such file or directory (os error 2)",
        ),
        (file("empty", ""), "holds no certificate"),
        (file("text", "no certificate"), "holds no certificate"),
        (file("broken", broken), "cannot be used"),
    ] {
        let options = EndpointOptions {
            roots: Roots::File(path),
            ..options("https://judge.test")
        };
        let error = try_connect(options).err().unwrap();
        assert_eq!(error.key, "roots");
        assert!(error.message.contains(problem), "{error}");
    }
}
