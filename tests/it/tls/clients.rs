//! Who is let in, and how the others learn that they are not.

use super::*;
use crate::server::quoted;

#[tokio::test]
async fn a_client_with_an_allowed_name_is_let_in() {
    let rig = Rig::mutual().await;
    for name in [CLIENT, "spiffe://test/rag"] {
        let identity = rig.authority.issue(name, Valid::Now);
        for version in BOTH {
            let config = client_of(&rig.authority, Some(&identity), &[version], b"h2");
            let mut client = grpc(rig.grpc, &config).await;
            client.diagnose(quoted()).await.unwrap();
        }
    }
    assert_eq!(rig.closed("tls_refused"), 0);
}

#[tokio::test]
async fn everybody_else_is_refused_with_an_alert_and_a_cause() {
    let rig = Rig::mutual().await;
    let other = Authority::new("Other");
    let own = &rig.authority;
    let cases = [
        (
            None,
            "no_certificate",
            AlertDescription::CertificateRequired,
        ),
        (
            Some(other.issue(CLIENT, Valid::Now)),
            "unknown_issuer",
            AlertDescription::UnknownCA,
        ),
        (
            Some(own.issue(CLIENT, Valid::Past)),
            "expired",
            AlertDescription::CertificateExpired,
        ),
        (
            Some(own.issue(CLIENT, Valid::Future)),
            "not_yet_valid",
            AlertDescription::CertificateExpired,
        ),
        (
            Some(own.issue("other.test", Valid::Now)),
            "name_not_allowed",
            AlertDescription::AccessDenied,
        ),
        (
            Some(own.issue("spiffe://test/RAG", Valid::Now)),
            "name_not_allowed",
            AlertDescription::AccessDenied,
        ),
        (
            // The DNS name of the list, as a URI.
            Some(own.issue_uri("RAG.test")),
            "name_not_allowed",
            AlertDescription::AccessDenied,
        ),
    ];
    let mut count = 0;
    for (identity, cause, expected) in cases {
        let before = rig.refused(cause);
        for (address, protocol) in [(rig.grpc, &b"h2"[..]), (rig.http, b"http/1.1")] {
            let config = client_of(own, identity.as_ref(), &[&TLS13], protocol);
            assert_eq!(alert(address, &config).await, expected, "{cause}");
        }
        rig.until(cause, |rig| rig.refused(cause) == before + 2)
            .await;
        let config = client_of(own, identity.as_ref(), &[&TLS12], b"h2");
        alert(rig.grpc, &config).await;
        rig.until(cause, |rig| rig.refused(cause) == before + 3)
            .await;
        count += 3;
    }
    rig.until("closed", |rig| rig.closed("tls_refused") == count)
        .await;
    let mut client = grpc(rig.grpc, &rig.client()).await;
    client.diagnose(quoted()).await.unwrap();
    assert_eq!(rig.value("judge_cascade_open_connections"), 1);
}

#[tokio::test]
async fn without_a_list_any_name_of_the_authority_will_do() {
    let rig = Rig::with(MUTUAL).await;
    let identity = rig.authority.issue("any.test", Valid::Now);
    let mut client = grpc(rig.grpc, &client(&rig.authority, Some(&identity))).await;
    client.diagnose(quoted()).await.unwrap();
    let nobody = client_of(&rig.authority, None, &[&TLS13], b"h2");
    let refused = alert(rig.grpc, &nobody).await;
    assert_eq!(refused, AlertDescription::CertificateRequired);
}

#[tokio::test]
async fn a_client_refuses_a_server_of_another_name_and_that_is_told_apart() {
    let rig = Rig::mutual().await;
    let error = connect(rig.grpc, &rig.client(), "elsewhere.test")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("not valid for name"), "{error}");
    rig.until("a refusal", |rig| rig.refused("handshake") == 1)
        .await;
}
