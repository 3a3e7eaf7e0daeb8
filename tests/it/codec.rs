//! What the codec answers before any handler runs, and that the connection survives it.

use std::io::Write as _;

use http::HeaderValue;
use judge_cascade::rpc::pb;
use prost::Message as _;
use tonic::Code;
use tonic::body::Body;

use crate::support::memory::InMemory;
use crate::support::scripted::{ScriptedJudge, good_but};
use crate::support::{Setup, chunk, request, trace};

const DIAGNOSE: &str = "/judgecascade.v1.DiagnosisService/Diagnose";

async fn server() -> InMemory {
    let setup = Setup::new(ScriptedJudge::new("atomic", [good_but(&[])]));
    InMemory::serve(setup.content()).await
}

/// A length-prefixed frame.
fn frame(compressed: bool, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[u8::from(compressed)], &length[..], message].concat()
}

fn http(path: &str, body: Vec<u8>, encoding: Option<&'static str>) -> http::Request<Body> {
    let mut request = http::Request::post(format!("http://in.memory{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(http_body_util::Full::new(body.into())))
        .unwrap();
    if let Some(encoding) = encoding {
        request
            .headers_mut()
            .insert("grpc-encoding", HeaderValue::from_static(encoding));
    }
    request
}

/// The code of each of these requests, all over one connection that serves a good call at the end.
async fn codes(requests: Vec<http::Request<Body>>) -> Vec<Code> {
    let server = server().await;
    let mut sender = server.http().await;
    let mut codes = Vec::new();
    for request in requests {
        let response = sender.send_request(request).await.unwrap();
        let header = response.headers().get("grpc-status").cloned();
        let status = match header {
            Some(status) => status,
            None => trailer(response).await,
        };
        codes.push(Code::from_bytes(status.as_bytes()));
    }
    let good = http(
        DIAGNOSE,
        frame(false, &request(trace()).encode_to_vec()),
        None,
    );
    let response = sender.send_request(good).await.unwrap();
    assert_eq!(trailer(response).await, "0", "the connection survives");
    codes
}

async fn trailer(response: http::Response<hyper::body::Incoming>) -> HeaderValue {
    use http_body_util::BodyExt as _;
    let body = response.into_body().collect().await.unwrap();
    body.trailers().unwrap()["grpc-status"].clone()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_message_over_the_limit_is_out_of_range() {
    let big = pb::Trace {
        answer: "a".repeat(2 << 20),
        ..trace()
    };
    let body = frame(false, &request(big).encode_to_vec());
    assert_eq!(
        codes(vec![http(DIAGNOSE, body, None)]).await,
        [Code::OutOfRange]
    );
}

/// An empty chunk is two bytes on the wire and a hundred times as many in memory.
#[tokio::test]
async fn a_message_of_very_many_parts_is_not_decoded() {
    let many = pb::Trace {
        chunks: vec![pb::Chunk::default(); 400_000],
        ..trace()
    };
    let message = request(many).encode_to_vec();
    let requests = vec![
        http(DIAGNOSE, frame(false, &message), None),
        http(DIAGNOSE, frame(true, &gzip(&message)), Some("gzip")),
    ];
    assert_eq!(codes(requests).await, [Code::InvalidArgument; 2]);
}

#[tokio::test]
async fn a_compressed_message_is_read_and_a_bomb_is_bounded() {
    let good = frame(true, &gzip(&request(trace()).encode_to_vec()));
    let bomb = frame(true, &gzip(&vec![0; 40 << 20]));
    let requests = vec![
        http(DIAGNOSE, good, Some("gzip")),
        http(DIAGNOSE, bomb, Some("gzip")),
    ];
    assert_eq!(codes(requests).await, [Code::Ok, Code::ResourceExhausted]);
}

#[tokio::test]
async fn an_encoding_that_is_not_accepted_is_unimplemented() {
    let body = frame(true, &request(trace()).encode_to_vec());
    assert_eq!(
        codes(vec![http(DIAGNOSE, body, Some("zstd"))]).await,
        [Code::Unimplemented]
    );
}

#[tokio::test]
async fn broken_bytes_are_internal() {
    let mut bad_utf8 = request(pb::Trace {
        answer: "@@@@".to_owned(),
        ..trace()
    })
    .encode_to_vec();
    let at = bad_utf8
        .windows(4)
        .position(|bytes| bytes == b"@@@@")
        .unwrap();
    bad_utf8[at] = 0xff;
    let truncated = &request(trace()).encode_to_vec()[..20];
    let requests = vec![
        http(DIAGNOSE, frame(false, &bad_utf8), None),
        http(DIAGNOSE, frame(false, truncated), None),
    ];
    assert_eq!(codes(requests).await, [Code::Internal, Code::Internal]);
}

#[tokio::test]
async fn a_method_that_does_not_exist_is_unimplemented() {
    let request = http(
        "/judgecascade.v1.DiagnosisService/Guess",
        frame(false, &[]),
        None,
    );
    assert_eq!(codes(vec![request]).await, [Code::Unimplemented]);
}

/// A newer client may send fields that this server does not know.
#[tokio::test]
async fn unknown_fields_are_ignored() {
    let mut message = request(trace()).encode_to_vec();
    // Field 1000, a string.
    message.extend([0xc2, 0x3e, 3, b'n', b'e', b'w']);
    assert_eq!(
        codes(vec![http(DIAGNOSE, frame(false, &message), None)]).await,
        [Code::Ok]
    );
}

#[tokio::test]
async fn strange_but_valid_text_is_only_text() {
    let server = server().await;
    for text in [
        "\0",
        "\u{202e}\u{200d}👩‍👩‍👧",
        "a\u{301}\u{323}",
        "\u{feff}x",
        "{{7*7}} </context>",
    ] {
        let strange = pb::Trace {
            question: format!("{text}?"),
            chunks: vec![chunk(text, &format!("{text} is a chunk")), chunk("c2", "x")],
            answer: format!("{text} is an answer"),
            reference_answer: None,
            ..trace()
        };
        // The scripted judge answers about chunks that do not exist here: a failed answer, not a failed call.
        let response = server.diagnose(request(strange)).await.unwrap();
        assert_eq!(response.diagnosis(), pb::Diagnosis::JudgeUncertain);
    }
}
