//! How much one peer and all peers together can take.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use h2::client::SendRequest;
use h2::{Reason, SendStream};
use http::{HeaderMap, Request};
use judge_cascade::rpc::pb;
use prost::Message as _;
use tokio::time::timeout;
use tonic::Code;
use tonic_types::StatusExt as _;

use super::*;
use crate::server::{plain_client, quoted};
use crate::support::process::{GUARD, Sidecar};

const PEER_LIMIT: &str = "judge_cascade_connections_closed_total{reason=\"peer_limit\"}";
const SHED: &str = "judge_cascade_shed_total{reason=\"receiving_bytes\"}";

#[tokio::test]
async fn a_peer_over_its_limit_is_closed_at_once_on_each_listener() {
    let rig = Rig::with("server.max_connections_per_peer = 2").await;
    for address in [rig.grpc, rig.http] {
        let before = rig.value(PEER_LIMIT);
        let first = TcpStream::connect(address).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        let mut third = TcpStream::connect(address).await.unwrap();
        let read = timeout(GUARD, third.read(&mut [0])).await;
        assert!(!matches!(read.expect("closed"), Ok(1..)));
        assert_eq!(rig.value(PEER_LIMIT), before + 1);
        drop(first);
        eventually("a free place", async || {
            let mut next = TcpStream::connect(address).await.unwrap();
            // Who is let in is waited for.
            let read = timeout(Duration::from_millis(100), next.read(&mut [0])).await;
            read.is_err().then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_peer_over_its_limit_is_logged() {
    let limit = ("JUDGE_CASCADE__SERVER__MAX_CONNECTIONS_PER_PEER", "1");
    let sidecar = Sidecar::start_with(&[], &[limit]);
    let _first = TcpStream::connect(&sidecar.endpoint).await.unwrap();
    let _second = TcpStream::connect(&sidecar.endpoint).await.unwrap();
    sidecar.logs("\"peer\":\"127.0.0.1\",\"limit\":1,\"count\":1");
}

/// A connection for requests whose messages come in parts.
struct Raw(SendRequest<Bytes>);

impl Raw {
    async fn connect(address: &str) -> Self {
        let socket = TcpStream::connect(address).await.unwrap();
        let (send, connection) = h2::client::handshake(socket).await.unwrap();
        #[expect(
            clippy::disallowed_methods,
            reason = "ends with the runtime of the test"
        )]
        drop(tokio::spawn(connection));
        Self(send)
    }

    /// Begins a call, with the status if it ends before its message does.
    async fn begin(
        &mut self,
        encoding: Option<&str>,
    ) -> (h2::client::ResponseFuture, SendStream<Bytes>) {
        let mut request = Request::post("http://sidecar/judgecascade.v1.DiagnosisService/Diagnose")
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        if let Some(encoding) = encoding {
            request = request.header("grpc-encoding", encoding);
        }
        let mut ready = self.0.clone().ready().await.unwrap();
        ready
            .send_request(request.body(()).unwrap(), false)
            .unwrap()
    }
}

/// Sends bytes as fast as flow control lets it, or until the server wants no more.
async fn send(stream: &mut SendStream<Bytes>, mut bytes: Bytes) -> Result<(), Option<Reason>> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let capacity = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await;
        let capacity = match capacity {
            Some(Ok(capacity)) => capacity,
            Some(Err(error)) => return Err(error.reason()),
            None => return Err(None),
        };
        let part = bytes.split_to(capacity.min(bytes.len()));
        stream
            .send_data(part, false)
            .map_err(|error| error.reason())?;
    }
    Ok(())
}

/// A message without its last bytes.
fn unfinished(length: usize, missing: usize) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(length as u32);
    bytes.put_bytes(b'x', length - missing);
    bytes.freeze()
}

fn status(headers: &HeaderMap) -> tonic::Status {
    tonic::Status::from_header_map(headers).unwrap()
}

fn resident_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn unfinished_messages_share_a_budget_and_others_are_served() {
    const MESSAGE: usize = 4_000_000;
    let sidecar = Sidecar::start_with(&[], &[("JUDGE_CASCADE__TIME__DEADLINE_MS", "600000")]);
    plain_client(&sidecar)
        .await
        .diagnose(quoted())
        .await
        .unwrap();
    let before = resident_bytes(sidecar.id());
    let (mut held, mut refused) = (Vec::new(), 0);
    for _ in 0..12 {
        let mut raw = Raw::connect(&sidecar.endpoint).await;
        for _ in 0..10 {
            let (response, mut stream) = raw.begin(None).await;
            let sent = timeout(GUARD, send(&mut stream, unfinished(MESSAGE, 1))).await;
            if sent.expect("the server takes it or refuses").is_ok() && held.len() < 16 {
                held.push((response, stream, raw.0.clone()));
                continue;
            }
            let response = timeout(GUARD, response).await.expect("an answer").unwrap();
            let status = status(response.headers());
            assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
            let details = status.get_error_details();
            assert_eq!(details.error_info().unwrap().reason, "OVERLOADED");
            assert!(details.retry_info().unwrap().retry_delay.is_some());
            refused += 1;
        }
    }
    assert_eq!((held.len(), refused), (16, 104));
    assert_eq!(sidecar.series(SHED).await, Some(104.0));
    let grown = resident_bytes(sidecar.id()).saturating_sub(before);
    assert!(grown < 160 * 1024 * 1024, "{grown} bytes more");
    // A connection whose calls were refused is as good as any.
    let mut client = plain_client(&sidecar).await;
    client.diagnose(quoted()).await.unwrap();
    drop(held);
    let free = async || {
        let mut raw = Raw::connect(&sidecar.endpoint).await;
        let mut all = Vec::new();
        for _ in 0..16 {
            let (response, mut stream) = raw.begin(None).await;
            send(&mut stream, unfinished(MESSAGE, 1)).await.ok()?;
            all.push((response, stream));
        }
        Some(())
    };
    eventually("the budget back", free).await;
}

#[tokio::test]
async fn a_connection_survives_a_refused_message() {
    let rig =
        Rig::with("server.max_message_bytes = 100000\nlimits.max_receiving_bytes = 100000").await;
    let mut raw = Raw::connect(&rig.grpc.to_string()).await;
    let (_held, mut first) = raw.begin(None).await;
    send(&mut first, unfinished(99_000, 100)).await.unwrap();
    let (refused, mut second) = raw.begin(None).await;
    eventually("a refusal", async || {
        send(&mut second, unfinished(50_000, 49_000)).await.ok();
        (0 < rig.value(SHED)).then_some(())
    })
    .await;
    let refused = refused.await.unwrap();
    assert_eq!(status(refused.headers()).code(), Code::ResourceExhausted);
    let failed = "judge_cascade_diagnose_errors_total{profile=\"\",code=\"RESOURCE_EXHAUSTED\",reason=\"OVERLOADED\"}";
    assert_eq!(rig.value(failed), 1);
    first.send_reset(Reason::CANCEL);
    let message = quoted().encode_to_vec();
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.put_slice(&message);
    let framed = framed.freeze();
    eventually("an answer on the same connection", async || {
        let (response, mut stream) = raw.begin(None).await;
        stream.send_data(framed.clone(), true).unwrap();
        let response = response.await.unwrap();
        response
            .headers()
            .get("grpc-status")
            .is_none()
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_compressed_message_takes_as_much_as_the_longest() {
    let rig =
        Rig::with("server.max_message_bytes = 100000\nlimits.max_receiving_bytes = 250000").await;
    let mut raw = Raw::connect(&rig.grpc.to_string()).await;
    let large = pb::DiagnoseRequest {
        profile: "x".repeat(90_000),
        ..Default::default()
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut encoder, &large.encode_to_vec()).unwrap();
    let small = encoder.finish().unwrap();
    let mut framed = BytesMut::new();
    framed.put_u8(1);
    framed.put_u32(small.len() as u32);
    framed.put_slice(&small);
    let framed = framed.freeze();
    let mut held = Vec::new();
    for _ in 0..3 {
        // The message is whole, but its stream is not: it is held decompressed.
        let (response, mut stream) = raw.begin(Some("gzip")).await;
        stream.send_data(framed.clone(), false).unwrap();
        held.push((response, stream));
    }
    rig.until("a refusal", |rig| rig.value(SHED) == 1).await;
}

#[tokio::test]
async fn bodies_over_http_take_from_the_same_budget() {
    let rig =
        Rig::with("server.max_message_bytes = 100000\nlimits.max_receiving_bytes = 100000").await;
    let mut raw = Raw::connect(&rig.grpc.to_string()).await;
    let (_held, mut first) = raw.begin(None).await;
    send(&mut first, unfinished(99_000, 100)).await.unwrap();
    let post = async || {
        let mut socket = TcpStream::connect(rig.http).await.unwrap();
        let head = "POST /v1/diagnose HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
                    connection: close\r\ncontent-length: 50000\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&[b' '; 50_000]).await.unwrap();
        let mut reply = String::new();
        socket.read_to_string(&mut reply).await.unwrap();
        reply
    };
    let reply = eventually("a refusal", async || {
        let reply = post().await;
        reply.starts_with("HTTP/1.1 429 ").then_some(reply)
    })
    .await;
    assert!(reply.contains("retry-after: 1\r\n"), "{reply}");
    assert!(reply.contains("\"reason\":\"OVERLOADED\""), "{reply}");
    first.send_reset(Reason::CANCEL);
    eventually("room", async || {
        post().await.starts_with("HTTP/1.1 400 ").then_some(())
    })
    .await;
}
