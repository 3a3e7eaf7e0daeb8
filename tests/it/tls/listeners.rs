//! TLS at the sockets: both listeners, peers that stop half-way, clear text, and what is told before serving.

use std::process::Output;

use judge_cascade::server::drain::Drained;
use tokio::time::timeout;

use super::*;
use crate::server::quoted;
use crate::support::process::{GUARD, Sidecar, run, stderr};

/// TLS without client certificates.
const TLS: &str = "[server.tls]\ncert_file = 'now/tls.crt'\nkey_file = 'now/tls.key'\n";
/// The start of a ClientHello that never ends.
const HALF_A_HELLO: &[u8] = &[0x16, 3, 1, 1, 0, 1, 0, 0, 0xfc, 3, 3];

async fn ends(mut peer: impl tokio::io::AsyncRead + Unpin) {
    let mut rest = Vec::new();
    let end = peer.read_to_end(&mut rest);
    timeout(GUARD, end).await.unwrap().ok();
}

#[tokio::test]
async fn both_transports_are_served_over_tls() {
    let rig = Rig::with(TLS).await;
    let mut client = grpc(rig.grpc, &client(&rig.authority, None)).await;
    client.diagnose(quoted()).await.unwrap();
    let config = client_of(&rig.authority, None, &BOTH, b"http/1.1");
    let mut stream = connect(rig.http, &config, SERVER).await.unwrap();
    let protocol = stream.get_ref().1.alpn_protocol();
    assert_eq!(protocol, Some(&b"http/1.1"[..]));
    let request = b"GET /v1/policy HTTP/1.1\r\nhost: sidecar.test\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
}

#[tokio::test]
async fn a_listener_speaks_its_own_protocol_only() {
    let rig = Rig::with(TLS).await;
    let http = client_of(&rig.authority, None, &BOTH, b"http/1.1");
    let alert = alert(rig.grpc, &http).await;
    assert_eq!(alert, AlertDescription::NoApplicationProtocol);
}

#[tokio::test]
async fn no_session_is_resumed() {
    let rig = Rig::mutual().await;
    let config = rig.client();
    for _ in 0..3 {
        let mut stream = connect(rig.grpc, &config, SERVER).await.unwrap();
        stream
            .write_all(b"no preface: the server ends this")
            .await
            .unwrap();
        ends(&mut stream).await;
        let kind = stream.get_ref().1.handshake_kind();
        assert_eq!(kind, Some(rustls::HandshakeKind::Full));
    }
}

#[tokio::test]
async fn peers_that_stop_half_way_are_closed_in_time() {
    let rig = Rig::with(&format!("server.first_byte_timeout_ms = 500\n{TLS}")).await;
    let silent = TcpStream::connect(rig.grpc).await.unwrap();
    let mut half = TcpStream::connect(rig.http).await.unwrap();
    half.write_all(HALF_A_HELLO).await.unwrap();
    let config = client(&rig.authority, None);
    let shaken = connect(rig.grpc, &config, SERVER).await.unwrap();
    ends(silent).await;
    ends(half).await;
    ends(shaken).await;
    rig.until("three closed", |rig| rig.closed("first_byte_timeout") == 3)
        .await;
    assert_eq!(rig.closed("tls_refused"), 0);
}

#[tokio::test]
async fn a_probe_that_only_connects_is_not_refused() {
    let rig = Rig::with(TLS).await;
    drop(TcpStream::connect(rig.grpc).await.unwrap());
    rig.until("closed", |rig| rig.closed("ended") == 1).await;
    assert_eq!(rig.closed("tls_refused"), 0);
}

#[tokio::test]
async fn clear_text_and_tls_do_not_wait_for_each_other() {
    let rig = Rig::with(TLS).await;
    for (address, text) in [
        (rig.grpc, &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..]),
        (rig.http, b"GET /v1/policy HTTP/1.1\r\n\r\n"),
    ] {
        let mut clear = TcpStream::connect(address).await.unwrap();
        clear.write_all(text).await.unwrap();
        ends(clear).await;
    }
    rig.until("refusals", |rig| rig.refused("handshake") == 2)
        .await;

    let clear = Rig::with("").await;
    for address in [clear.grpc, clear.http] {
        let config = client(&rig.authority, None);
        let refused = timeout(GUARD, connect(address, &config, SERVER)).await;
        refused.expect("the server ends it").unwrap_err();
    }
}

#[tokio::test]
async fn a_drain_does_not_wait_for_handshakes() {
    let rig = Rig::with(TLS).await;
    let mut half = TcpStream::connect(rig.grpc).await.unwrap();
    half.write_all(HALF_A_HELLO).await.unwrap();
    let silent = TcpStream::connect(rig.http).await.unwrap();
    rig.until("both", |rig| {
        rig.value("judge_cascade_open_connections") == 2
    })
    .await;
    let drained = timeout(GUARD, rig.running.drain()).await;
    assert_ne!(drained.expect("a drain in time"), Drained::GraceOver);
    ends(half).await;
    ends(silent).await;
}

#[tokio::test]
async fn the_binary_serves_what_its_configuration_says() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("Authority");
    let server = authority.issue(SERVER, Valid::Now);
    server.write(folder.path(), &authority);
    let config = folder.path().join("c.toml");
    let text = format!(
        "{}allowed_sans = ['rag.test']\n",
        MUTUAL.replace("now/", "")
    );
    fs::write(&config, text).unwrap();
    let sidecar = Sidecar::start(&["--config", config.to_str().unwrap()]);
    let address = sidecar.endpoint.parse().unwrap();
    let identity = authority.issue(CLIENT, Valid::Now);
    let mut good = grpc(address, &client(&authority, Some(&identity))).await;
    good.diagnose(quoted()).await.unwrap();
    let identity = authority.issue("other.test", Valid::Now);
    let other = client(&authority, Some(&identity));
    assert_eq!(alert(address, &other).await, AlertDescription::AccessDenied);
    sidecar.logs("\"cause\":\"name_not_allowed\",\"names\":\"`other.test`\"");
}

/// What `config check` and `serve` say about the same file.
fn told(config: &Path) -> [Output; 2] {
    let config = config.to_str().unwrap();
    let listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let serve = [
        &["serve", "--log-filter", "off", "--config", config][..],
        &listen,
    ]
    .concat();
    [run(&["config", "check", "--config", config]), run(&serve)]
}

#[test]
fn files_that_cannot_be_used_are_told_before_serving() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    let authority = Authority::new("Authority");
    let server = authority.issue(SERVER, Valid::Now);
    let other = authority.issue(SERVER, Valid::Now);
    let config = here("c.toml");
    fs::write(&config, MUTUAL.replace("now/", "")).unwrap();
    let cut = server.key_pem().replace("-----END", "");
    for (name, content, problem) in [
        ("tls.crt", None, "cannot be read: No such file or directory"),
        ("tls.crt", Some(String::new()), "holds no certificate"),
        ("tls.crt", Some(server.key_pem()), "holds no certificate"),
        ("tls.key", None, "cannot be read: No such file or directory"),
        (
            "tls.key",
            Some(server.certificate_pem()),
            "holds no private key",
        ),
        ("tls.key", Some(cut), "ends within a PEM section"),
        (
            "tls.key",
            Some(other.key_pem()),
            "is not the key of the first certificate in",
        ),
        ("ca.crt", None, "cannot be read: No such file or directory"),
        ("ca.crt", Some("none".to_owned()), "holds no certificate"),
    ] {
        server.write(folder.path(), &authority);
        match &content {
            Some(content) => fs::write(here(name), content).unwrap(),
            None => fs::remove_file(here(name)).unwrap(),
        }
        for output in told(&config) {
            assert_eq!(output.status.code(), Some(2), "{name}");
            let key = match name {
                "tls.crt" => "cert_file",
                "tls.key" => "key_file",
                _ => "client_ca_file",
            };
            let path = here(name);
            let expected = format!("error: server.tls.{key}: `{}` {problem}", path.display());
            let told = stderr(&output);
            assert!(told.starts_with(&expected), "{told}\n{expected}");
        }
    }
}
