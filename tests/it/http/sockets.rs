//! The real binary over real sockets.

use judge_cascade::rpc::json::JsonMessages;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{lasting, written};
use crate::server::{plain_client, quoted, slow_judge};
use crate::support::process::{GUARD, Sidecar, eventually, run, stderr};

/// A quotation, as [`quoted`] has it.
fn quotation() -> Value {
    let text = "The pool opens at eight on Sundays.";
    json!({"trace": {
        "traceId": "q1",
        "question": "When does the pool open on Sundays?",
        "chunks": [{"chunkId": "c1", "text": text}],
        "answer": text,
    }})
}

fn sidecar(args: &[&str], environment: &[(&str, &str)]) -> Sidecar {
    let args = [args, &["--http-listen", "127.0.0.1:0"]].concat();
    Sidecar::start_with(&args, environment)
}

/// A connection that reads one response after the other.
struct Peer {
    socket: TcpStream,
    read: Vec<u8>,
}

/// Status, head and body.
struct Answer {
    status: u16,
    head: String,
    body: Value,
}

impl Peer {
    async fn connect(sidecar: &Sidecar) -> Self {
        let address = sidecar.http.as_ref().unwrap();
        Self {
            socket: TcpStream::connect(address).await.unwrap(),
            read: Vec::new(),
        }
    }

    async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
    }

    /// The next response; `None` if the server has closed.
    async fn answer(&mut self) -> Option<Answer> {
        timeout(GUARD, self.next_answer()).await.unwrap()
    }

    async fn next_answer(&mut self) -> Option<Answer> {
        loop {
            if let Some(answer) = self.whole() {
                return Some(answer);
            }
            match self.socket.read_buf(&mut self.read).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => (),
            }
        }
    }

    fn whole(&mut self) -> Option<Answer> {
        let end = self
            .read
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")?;
        let head = String::from_utf8(self.read[..end].to_vec()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.unwrap().parse().unwrap();
        let body = self.read.get(end + 4..end + 4 + length)?;
        let body = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(body).unwrap()
        };
        self.read.drain(..end + 4 + length);
        let status = head[9..12].parse().unwrap();
        Some(Answer { status, head, body })
    }
}

fn post(body: &Value, headers: &str) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST /v1/diagnose HTTP/1.1\r\nhost: jc\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n{headers}\r\n{body}"
    )
}

#[tokio::test]
async fn a_response_is_the_one_of_grpc_from_the_same_process() {
    let sidecar = sidecar(&[], &[]);
    let mut over_grpc = quoted();
    over_grpc.trace.as_mut().unwrap().trace_id = "q1".to_owned();
    let response = plain_client(&sidecar)
        .await
        .diagnose(over_grpc)
        .await
        .unwrap();
    let expected = JsonMessages::new()
        .unwrap()
        .write_diagnosis(response.get_ref())
        .unwrap();
    let mut peer = Peer::connect(&sidecar).await;
    peer.write(post(&quotation(), "")).await;
    let answer = peer.answer().await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["diagnosis"], "DIAGNOSIS_PASS");
    assert_eq!(
        lasting(answer.body),
        lasting(serde_json::from_slice(&expected).unwrap())
    );
}

#[tokio::test]
async fn requests_that_are_sent_ahead_are_answered_in_order_on_one_connection() {
    let sidecar = sidecar(&[], &[]);
    let mut peer = Peer::connect(&sidecar).await;
    let mut ahead = String::new();
    for n in 0..20 {
        let mut body = quotation();
        body["trace"]["traceId"] = json!(format!("q{n}"));
        ahead.push_str(&post(&body, ""));
        ahead.push_str("GET /nowhere HTTP/1.1\r\nhost: jc\r\n\r\n");
    }
    peer.write(ahead).await;
    for n in 0..20 {
        let answer = peer.answer().await.unwrap();
        assert_eq!(
            (answer.status, &answer.body["traceId"]),
            (200, &json!(format!("q{n}")))
        );
        assert_eq!(peer.answer().await.unwrap().status, 404);
    }
    let open = sidecar.series("judge_cascade_open_connections").await;
    assert_eq!(open, Some(1.0));
}

#[tokio::test]
async fn a_body_of_ten_megabytes_is_refused_and_the_answer_arrives() {
    let sidecar = sidecar(&[], &[]);
    let large = json!({"trace": {"question": "x".repeat(10 << 20)}});
    let mut whole = Peer::connect(&sidecar).await;
    whole.write(post(&large, "")).await;
    let answer = whole.answer().await.unwrap();
    assert_eq!(
        (answer.status, &answer.body["title"]),
        (413, &json!("Payload Too Large"))
    );

    let mut chunked = Peer::connect(&sidecar).await;
    chunked
        .write("POST /v1/diagnose HTTP/1.1\r\nhost: jc\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        .await;
    for _ in 0..10 {
        chunked
            .write(format!("100000\r\n{}\r\n", "x".repeat(1 << 20)))
            .await;
    }
    chunked.write("0\r\n\r\n").await;
    assert_eq!(chunked.answer().await.unwrap().status, 413);

    // A peer that asks first is told at once.
    let mut polite = Peer::connect(&sidecar).await;
    let head = post(&large, "expect: 100-continue\r\n");
    polite.write(head.split_once("\r\n\r\n").unwrap().0).await;
    polite.write("\r\n\r\n").await;
    assert_eq!(polite.answer().await.unwrap().status, 413);

    let mut next = Peer::connect(&sidecar).await;
    next.write(post(&quotation(), "")).await;
    assert_eq!(next.answer().await.unwrap().status, 200);
}

/// Whatever refuses a request before its body is read, its sender sees the answer and may go on.
#[tokio::test]
async fn a_refusal_by_the_head_reaches_a_peer_that_is_still_sending() {
    let sidecar = sidecar(&[], &[]);
    let large = json!({"trace": {"question": "x".repeat(3_900_000)}});
    let whole = post(&large, "");
    let changed = |from: &str, to: &str| whole.replacen(from, to, 1);
    for (request, status) in [
        (changed("POST /v1/diagnose", "POST /nowhere"), 404),
        (changed("POST", "PUT"), 405),
        (changed("POST /v1/diagnose", "GET /v1/policy?x=y"), 400),
        (changed("application/json", "text/plain"), 415),
        (changed("host: jc", "host: jc\r\nx-timeout-ms: soon"), 400),
        (
            changed("host: jc", "host: jc\r\ncontent-encoding: gzip"),
            415,
        ),
    ] {
        let mut peer = Peer::connect(&sidecar).await;
        for _ in 0..3 {
            peer.write(&request).await;
            assert_eq!(peer.answer().await.unwrap().status, status);
        }
        peer.write(post(&quotation(), "")).await;
        assert_eq!(peer.answer().await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_peer_that_leaves_cancels_its_call() {
    let config = slow_judge(600_000, "");
    let sidecar = sidecar(&["--config", &config.path], &[]);
    let mut peer = Peer::connect(&sidecar).await;
    peer.write(post(&written(), "")).await;
    sidecar.reaches("judge_cascade_inflight_traces", 1.0).await;
    drop(peer);
    let cancelled = "judge_cascade_rpc_requests_total{method=\"http/diagnose\",code=\"CANCELLED\"}";
    sidecar.reaches(cancelled, 1.0).await;
    assert_eq!(
        sidecar.series("judge_cascade_inflight_traces").await,
        Some(0.0)
    );
}

#[tokio::test]
async fn silent_peers_are_closed_and_what_is_no_http_is_answered() {
    let sidecar = sidecar(
        &[],
        &[("JUDGE_CASCADE__SERVER__FIRST_BYTE_TIMEOUT_MS", "300")],
    );
    let mut silent = Peer::connect(&sidecar).await;
    assert!(silent.answer().await.is_none());
    let closed = "judge_cascade_connections_closed_total{reason=\"first_byte_timeout\"}";
    sidecar.reaches(closed, 1.0).await;
    for garbage in ["hello\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut odd = Peer::connect(&sidecar).await;
        odd.write(garbage).await;
        let answer = odd.answer().await;
        assert!(
            answer.is_none_or(|answer| answer.status == 400),
            "{garbage}"
        );
    }
}

#[tokio::test]
async fn a_drain_finishes_what_is_in_flight_and_refuses_the_rest() {
    let config = slow_judge(2000, "shutdown_grace_ms = 600000");
    let mut sidecar = sidecar(&["--config", &config.path], &[]);
    let mut idle = Peer::connect(&sidecar).await;
    idle.write("GET /v1/policy?profile=plain HTTP/1.1\r\nhost: jc\r\n\r\n")
        .await;
    assert_eq!(idle.answer().await.unwrap().status, 200);
    let mut late = Peer::connect(&sidecar).await;
    let whole = post(&written(), "");
    let (begin, rest) = whole.split_at(whole.len() - 10);
    late.write(begin).await;
    let mut in_flight = Peer::connect(&sidecar).await;
    in_flight.write(&whole).await;
    sidecar.reaches("judge_cascade_inflight_traces", 1.0).await;
    sidecar.reaches("judge_cascade_open_connections", 3.0).await;

    sidecar.signal("TERM");
    let draining = async || {
        let (status, _) = sidecar.admin("/readyz").await;
        status.contains(" 503 ").then_some(())
    };
    eventually("the drain", draining).await;
    late.write(rest).await;
    let refused = late.answer().await.unwrap();
    assert_eq!(
        (refused.status, &refused.body["reason"]),
        (503, &json!("SHUTTING_DOWN"))
    );
    assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
    assert!(
        late.answer().await.is_none(),
        "the connection ends with its request"
    );
    assert!(idle.answer().await.is_none(), "an idle connection ends");
    let refused = async || {
        TcpStream::connect(sidecar.http.as_ref().unwrap())
            .await
            .err()
    };
    eventually("a refused connection", refused).await;
    let answer = in_flight.answer().await.unwrap();
    assert_eq!(
        (answer.status, &answer.body["diagnosis"]),
        (200, &json!("DIAGNOSIS_PASS"))
    );
    assert_eq!(sidecar.ended().await.code(), Some(0));
}

#[tokio::test]
async fn http_is_off_unless_it_is_asked_for_and_stays_on_loopback() {
    assert_eq!(Sidecar::start(&[]).http, None);
    let open = run(&["serve", "--http-listen", "0.0.0.0:0"]);
    assert_eq!(open.status.code(), Some(2));
    let said = stderr(&open);
    assert!(
        said.contains("--http-listen: server.http_listen: `0.0.0.0:0` is not a loopback address"),
        "{said}"
    );
}

#[tokio::test]
async fn an_old_connection_ends_between_two_requests() {
    let sidecar = sidecar(
        &[],
        &[("JUDGE_CASCADE__SERVER__MAX_CONNECTION_AGE_MS", "300")],
    );
    let mut peer = Peer::connect(&sidecar).await;
    peer.write(post(&quotation(), "")).await;
    assert_eq!(peer.answer().await.unwrap().status, 200);
    assert!(peer.answer().await.is_none());
    let ended = "judge_cascade_connections_closed_total{reason=\"ended\"}";
    sidecar.reaches(ended, 1.0).await;
}

#[tokio::test]
async fn no_text_of_a_trace_is_logged_at_any_level() {
    let mut sidecar = sidecar(&["--log-filter", "trace"], &[]);
    let mut peer = Peer::connect(&sidecar).await;
    let secret = "zanzibar";
    let mut good = quotation();
    good["trace"]["question"] = json!(format!("What is the {secret}?"));
    good["trace"]["referenceAnswer"] = json!(secret);
    let mut twice = good.clone();
    twice["trace"]["chunks"] = json!([{"chunkId": "c", "text": secret}, {"chunkId": "c"}]);
    let mut typed = good.clone();
    typed["trace"]["answer"] = json!([secret]);
    typed["trace"]["retrieval"] = json!(secret);
    for (body, status) in [(&good, 200), (&twice, 400), (&typed, 400)] {
        peer.write(post(body, "")).await;
        assert_eq!(peer.answer().await.unwrap().status, status);
    }
    let broken = post(&json!(secret), "").replace("\"zanzibar\"", "[zanzibar]");
    peer.write(broken).await;
    assert_eq!(peer.answer().await.unwrap().status, 400);
    sidecar.signal("TERM");
    assert_eq!(sidecar.ended().await.code(), Some(0));
    let log = sidecar.log();
    assert!(log.iter().any(|line| line.contains("INVALID_TRACE")));
    for line in &log {
        assert!(!line.contains(secret), "{line}");
    }
}
