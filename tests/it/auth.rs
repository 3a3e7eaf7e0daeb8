//! Who may call: tokens on every transport, of the real binary.

mod client;
mod files;
mod tls;

use std::fs;

use judge_cascade::rpc::pb;
use judge_cascade::rpc::pb::diagnosis_service_client::DiagnosisServiceClient;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_types::StatusExt as _;

use crate::server::quoted;
use crate::support::process::Sidecar;

/// Tokens that stand in no other text.
const ONE: &str = "zanzibar-token-number-one";
const TWO: &str = "zanzibar-token-number-two";
const WRONG: &str = "zanzibar-token-of-nobody";

/// What the answer to a call without a right token says.
const REQUIRED: &str = "a valid token is required; send it as `authorization: Bearer TOKEN`";

/// A file of tokens in a folder of its own.
struct TokenFile {
    folder: TempDir,
    path: String,
}

impl TokenFile {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens").to_str().unwrap().to_owned();
        fs::write(&path, text).unwrap();
        Self { folder, path }
    }

    /// Puts another file into its place, as an operator does.
    fn rename_over(&self, text: &str) {
        let next = self.folder.path().join("next");
        fs::write(&next, text).unwrap();
        fs::rename(next, &self.path).unwrap();
    }

    fn start(&self, args: &[&str]) -> Sidecar {
        let key = "JUDGE_CASCADE__SERVER__AUTH__TOKEN_FILE";
        Sidecar::start_with(args, &[(key, &self.path)])
    }
}

async fn channel(endpoint: &str) -> Channel {
    let address = match endpoint.starts_with("unix:") {
        true => endpoint.to_owned(),
        false => format!("http://{endpoint}"),
    };
    let endpoint = Endpoint::from_shared(address).unwrap();
    endpoint.connect().await.unwrap()
}

/// A request with these values of `authorization`.
fn with<T>(message: T, values: &[&str]) -> Request<T> {
    let mut request = Request::new(message);
    for value in values {
        let value = value.parse().unwrap();
        request.metadata_mut().append("authorization", value);
    }
    request
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn refused(status: &Status) {
    assert_eq!(status.code(), Code::Unauthenticated);
    assert_eq!(status.message(), REQUIRED);
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!(info.reason, "UNAUTHENTICATED");
    assert!(info.metadata.is_empty());
}

#[tokio::test]
async fn a_call_over_grpc_needs_one_right_token() {
    let tokens = TokenFile::new(&format!("{ONE}\n\n{TWO}\n"));
    let sidecar = tokens.start(&[]);
    let mut client = DiagnosisServiceClient::new(channel(&sidecar.endpoint).await);
    for right in [ONE, TWO] {
        for value in [bearer(right), format!("bearer {right}")] {
            let response = client.diagnose(with(quoted(), &[&value])).await.unwrap();
            assert_eq!(response.into_inner().diagnosis(), pb::Diagnosis::Pass);
        }
    }
    let (one, two, wrong) = (bearer(ONE), bearer(TWO), bearer(WRONG));
    let basic = format!("Basic {ONE}");
    let not_let_in = [
        &[] as &[&str],
        &[""],
        &[ONE],
        &[&wrong],
        &[&basic],
        &[&one, &two],
        &[&one, &wrong],
    ];
    for values in not_let_in {
        refused(&client.diagnose(with(quoted(), values)).await.unwrap_err());
        let policy = pb::GetPolicyRequest::default();
        refused(&client.get_policy(with(policy, values)).await.unwrap_err());
    }
    let policy = with(pb::GetPolicyRequest::default(), &[&two]);
    assert!(client.get_policy(policy).await.is_ok());

    let count = not_let_in.len() as f64;
    for (series, value) in [
        (
            "rpc_requests_total{method=\"judgecascade.v1.DiagnosisService/Diagnose\",code=\"UNAUTHENTICATED\"}",
            count,
        ),
        (
            "rpc_requests_total{method=\"judgecascade.v1.DiagnosisService/GetPolicy\",code=\"UNAUTHENTICATED\"}",
            count,
        ),
        (
            "diagnose_errors_total{profile=\"\",code=\"UNAUTHENTICATED\",reason=\"UNAUTHENTICATED\"}",
            count,
        ),
        (
            "judge_requests_total{judge=\"embedded\",role=\"atomic\",outcome=\"ok\"}",
            4.0,
        ),
        ("shed_total{reason=\"overloaded\"}", 0.0),
    ] {
        let series = format!("judge_cascade_{series}");
        assert_eq!(sidecar.series(&series).await, Some(value), "{series}");
    }
}

#[tokio::test]
async fn a_call_without_a_token_is_refused_before_its_message_is_looked_at() {
    let tokens = TokenFile::new(ONE);
    let sidecar = tokens.start(&[]);
    let mut client = DiagnosisServiceClient::new(channel(&sidecar.endpoint).await);
    let mut long = quoted();
    // More than the server takes, and more than it reads ahead.
    long.trace.as_mut().unwrap().answer = "x".repeat(8 << 20);
    refused(&client.diagnose(long.clone()).await.unwrap_err());
    let too_long = client.diagnose(with(long, &[&bearer(ONE)])).await;
    assert_eq!(too_long.unwrap_err().code(), Code::OutOfRange);
    let good = client.diagnose(with(quoted(), &[&bearer(ONE)])).await;
    assert!(good.is_ok(), "the connection goes on");
    assert_eq!(
        sidecar.series("judge_cascade_open_connections").await,
        Some(1.0)
    );
}

#[tokio::test]
async fn a_token_holds_on_a_unix_socket_too() {
    let tokens = TokenFile::new(ONE);
    let socket = tokens.folder.path().join("jc.sock");
    let sidecar = tokens.start(&["--uds", socket.to_str().unwrap()]);
    let mut client = DiagnosisServiceClient::new(channel(&sidecar.endpoint).await);
    refused(&client.diagnose(quoted()).await.unwrap_err());
    let right = client.diagnose(with(quoted(), &[&bearer(ONE)])).await;
    assert_eq!(right.unwrap().into_inner().diagnosis(), pb::Diagnosis::Pass);
}

#[tokio::test]
async fn health_is_told_to_everybody_and_reflection_is_not() {
    let tokens = TokenFile::new(ONE);
    let sidecar = tokens.start(&[]);
    let channel = channel(&sidecar.endpoint).await;
    let mut health = HealthClient::new(channel.clone());
    let answer = health.check(HealthCheckRequest::default()).await.unwrap();
    assert_eq!(answer.into_inner().status, 1);
    let watch = health.watch(HealthCheckRequest::default()).await.unwrap();
    let first = watch.into_inner().message().await.unwrap();
    assert_eq!(first.unwrap().status, 1);

    let mut reflection = ServerReflectionClient::new(channel);
    let mut list = async |values: &[&str]| {
        let messages = tokio_stream::once(ServerReflectionRequest::default());
        reflection
            .server_reflection_info(with(messages, values))
            .await
    };
    refused(&list(&[]).await.unwrap_err());
    assert!(list(&[&bearer(ONE)]).await.is_ok());
}

/// What is answered over HTTP: the head, and the body as JSON.
async fn send(sidecar: &Sidecar, head: &str, body: &[u8]) -> (String, Value) {
    let address = sidecar.http.as_ref().unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let head =
        format!("{head}\r\nhost: it\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), serde_json::from_str(body).unwrap())
}

fn diagnose_head(authorization: Option<&str>) -> String {
    let head = "POST /v1/diagnose HTTP/1.1\r\ncontent-type: application/json";
    match authorization {
        Some(value) => format!("{head}\r\nauthorization: {value}"),
        None => head.to_owned(),
    }
}

#[tokio::test]
async fn a_request_over_http_needs_one_right_token() {
    let tokens = TokenFile::new(ONE);
    let sidecar = tokens.start(&["--http-listen", "127.0.0.1:0"]);
    let text = "The pool opens at eight on Sundays.";
    let body = json!({"trace": {
        "question": "When does the pool open on Sundays?",
        "chunks": [{"chunkId": "c1", "text": text}],
        "answer": text,
    }});
    let body = body.to_string();
    let (head, answer) = send(
        &sidecar,
        &diagnose_head(Some(&bearer(ONE))),
        body.as_bytes(),
    )
    .await;
    assert!(head.starts_with("http/1.1 200 ok\r\n"), "{head}");
    assert_eq!(answer["diagnosis"], "DIAGNOSIS_PASS");

    // The answer arrives although the body is longer than what a socket holds.
    let long = vec![b'x'; 8 << 20];
    let wrong = bearer(WRONG);
    let basic = format!("Basic {ONE}");
    let mut not_let_in = Vec::new();
    for value in [None, Some(&*wrong), Some(&*basic), Some(ONE)] {
        not_let_in.push((diagnose_head(value), body.as_bytes()));
        not_let_in.push((diagnose_head(value), &long));
    }
    for path in ["/v1/policy", "/nowhere", "/grpc.health.v1.Health/Check"] {
        not_let_in.push((format!("GET {path} HTTP/1.1"), b""));
    }
    let expected = json!({
        "type": "urn:judge-cascade:error:UNAUTHENTICATED",
        "title": "A valid token is required",
        "status": 401,
        "detail": REQUIRED,
        "reason": "UNAUTHENTICATED",
        "domain": "judge-cascade",
    });
    for (head, body) in not_let_in {
        let (head, answer) = send(&sidecar, &head, body).await;
        assert!(head.starts_with("http/1.1 401 unauthorized\r\n"), "{head}");
        assert!(head.contains("\r\nwww-authenticate: bearer\r\n"), "{head}");
        assert!(head.contains("\r\nx-request-id: "), "{head}");
        assert_eq!(answer, expected);
    }
    let policy = format!("GET /v1/policy HTTP/1.1\r\nauthorization: {}", bearer(ONE));
    let (head, _) = send(&sidecar, &policy, b"").await;
    assert!(head.starts_with("http/1.1 200 ok\r\n"), "{head}");
    let unauthenticated = "rpc_requests_total{method=\"http/diagnose\",code=\"UNAUTHENTICATED\"}";
    let series = format!("judge_cascade_{unauthenticated}");
    assert_eq!(sidecar.series(&series).await, Some(8.0));
}

#[tokio::test]
async fn a_request_without_a_token_is_unauthenticated_also_if_its_body_stalls() {
    let tokens = TokenFile::new(ONE);
    let sidecar = tokens.start(&["--http-listen", "127.0.0.1:0"]);
    let mut socket = TcpStream::connect(sidecar.http.as_ref().unwrap())
        .await
        .unwrap();
    let head = diagnose_head(None);
    let head = format!("{head}\r\nhost: it\r\nx-timeout-ms: 200\r\ncontent-length: 100\r\n\r\n{{");
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"),
        "{answer}"
    );
    let counted = async |code: &str| {
        let series = format!("rpc_requests_total{{method=\"http/diagnose\",code=\"{code}\"}}");
        sidecar.series(&format!("judge_cascade_{series}")).await
    };
    assert_eq!(counted("UNAUTHENTICATED").await, Some(1.0));
    assert_ne!(counted("DEADLINE_EXCEEDED").await, Some(1.0));
}

/// The series that counts reads of changed tokens.
fn reloads(result: &str) -> String {
    format!("judge_cascade_credential_reloads_total{{kind=\"token\",result=\"{result}\"}}")
}
