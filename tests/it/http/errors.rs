//! Errors over HTTP: the reasons and paths of gRPC, and what only HTTP can get wrong.

use axum::body::Body;
use http::{Method, Request, StatusCode};
use judge_cascade::cascade::profile::OnAtomicError;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::rpc::pb;
use serde_json::{Value, json};
use tonic::Status;
use tonic_types::StatusExt as _;

use super::{Reply, post, send, server_of, with, written};
use crate::support::memory::InMemory;
use crate::support::scripted::{ScriptedJudge, Step, good_but};
use crate::support::{Setup, request, series, trace};

/// What a status tells, as a problem tells it.
fn as_problem(status: &Status) -> Value {
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    let violations = details.bad_request().map(|bad| {
        let violations = bad.field_violations.iter();
        let shown = violations.map(|violation| {
            json!({
                "field": violation.field,
                "reason": violation.reason,
                "description": violation.description,
            })
        });
        shown.collect::<Vec<_>>()
    });
    json!({
        "detail": status.message(),
        "reason": info.reason,
        "domain": info.domain,
        "metadata": info.metadata,
        "violations": violations,
    })
}

/// The reply tells the same as the status, with this HTTP status.
#[track_caller]
fn same(reply: &Reply, status: &Status, expected: StatusCode, retry_after: Option<&str>) {
    assert_eq!(reply.status, expected);
    assert_eq!(reply.header("content-type"), "application/problem+json");
    assert_eq!(reply.body["status"], expected.as_u16());
    let retry = reply.headers.get("retry-after");
    assert_eq!(retry.map(|value| value.to_str().unwrap()), retry_after);
    let mut told = as_problem(status);
    let reason = told["reason"].as_str().unwrap();
    assert_eq!(
        reply.body["type"],
        format!("urn:judge-cascade:error:{reason}")
    );
    // An empty map of gRPC is absent here.
    if told["metadata"] == json!({}) {
        told["metadata"] = Value::Null;
    }
    for key in ["detail", "reason", "domain", "metadata", "violations"] {
        assert_eq!(reply.body[key], told[key], "{key}");
    }
}

/// Sends the same request over both transports.
async fn both(server: &InMemory, message: pb::DiagnoseRequest, body: Value) -> (Reply, Status) {
    let status = server.diagnose(message).await.unwrap_err();
    (send(server, post(body.to_string())).await, status)
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_as_over_grpc() {
    let (server, _) = server_of(good_but(&[])).await;
    let invalid = pb::DiagnoseRequest {
        trace: Some(pb::Trace {
            question: " ".to_owned(),
            chunks: vec![pb::Chunk::default(); 2],
            reference_answer: Some(String::new()),
            retrieval: 77,
            ..Default::default()
        }),
        scope: 9,
        fallback_mode: pb::FallbackMode::Deferred as i32,
        ..Default::default()
    };
    let written = json!({
        "trace": {"question": " ", "chunks": [{}, {}], "referenceAnswer": "", "retrieval": 77},
        "scope": 9,
        "fallbackMode": "FALLBACK_MODE_DEFERRED",
    });
    let (reply, status) = both(&server, invalid, written).await;
    assert!(3 < reply.body["violations"].as_array().unwrap().len());
    same(&reply, &status, StatusCode::BAD_REQUEST, None);

    let (reply, status) = both(&server, pb::DiagnoseRequest::default(), json!({})).await;
    same(&reply, &status, StatusCode::BAD_REQUEST, None);
}

#[tokio::test]
async fn limits_and_profiles_have_their_own_reasons() {
    let (server, _) = server_of(good_but(&[])).await;
    let long = "a".repeat(70_000);
    let mut body = written();
    body["trace"]["answer"] = json!(long);
    let message = request(pb::Trace {
        answer: long,
        ..trace()
    });
    let (reply, status) = both(&server, message, body).await;
    assert_eq!(reply.body["reason"], "TEXT_TOO_LONG");
    same(&reply, &status, StatusCode::BAD_REQUEST, None);

    let ids = (0..65).map(|n| n.to_string());
    let mut body = written();
    body["trace"]["chunks"] = ids
        .clone()
        .map(|id| json!({"chunkId": id, "text": "x"}))
        .collect();
    let chunks = ids.map(|id| crate::support::chunk(&id, "x")).collect();
    let (reply, status) = both(&server, request(pb::Trace { chunks, ..trace() }), body).await;
    assert_eq!(reply.body["reason"], "TOO_MANY_CHUNKS");
    same(&reply, &status, StatusCode::BAD_REQUEST, None);

    let mut body = written();
    body["profile"] = json!("nobody");
    let message = pb::DiagnoseRequest {
        profile: "nobody".to_owned(),
        ..request(trace())
    };
    let (reply, status) = both(&server, message, body).await;
    assert_eq!(reply.body["reason"], "UNKNOWN_PROFILE");
    same(&reply, &status, StatusCode::BAD_REQUEST, None);
}

#[tokio::test]
async fn a_full_and_a_draining_server_say_when_to_come_again() {
    let (server, setup) = server_of(good_but(&[])).await;
    let held = server.admission.try_acquire_many(8).unwrap();
    let (reply, status) = both(&server, request(trace()), written()).await;
    same(&reply, &status, StatusCode::TOO_MANY_REQUESTS, Some("1"));
    drop(held);
    server.drain.begin();
    let (reply, status) = both(&server, request(trace()), written()).await;
    assert_eq!(reply.body["reason"], "SHUTTING_DOWN");
    same(&reply, &status, StatusCode::SERVICE_UNAVAILABLE, Some("1"));
    assert_eq!(setup.atomic.begun(), 0);
    for reason in ["overloaded", "shutting_down"] {
        let shed = format!("judge_cascade_shed_total{{reason=\"{reason}\"}}");
        assert_eq!(series(&setup.metrics, &shed), Some(2.0));
    }
}

#[tokio::test]
async fn a_judge_that_fails_is_an_error_only_where_the_profile_says_so() {
    let judge = || ScriptedJudge::new("atomic", [Step::Fail(FailureReason::Unavailable)]);
    let mut strict = Setup::new(judge());
    strict.on_atomic_error = OnAtomicError::Fail;
    let server = InMemory::serve(strict.content()).await;
    let (reply, status) = both(&server, request(trace()), written()).await;
    assert_eq!(
        reply.body["metadata"],
        json!({"judge": "atomic", "kind": "unavailable"})
    );
    same(&reply, &status, StatusCode::SERVICE_UNAVAILABLE, Some("1"));

    let server = InMemory::serve(Setup::new(judge()).content()).await;
    let reply = send(&server, post(written().to_string())).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.body["diagnosis"], "DIAGNOSIS_JUDGE_UNCERTAIN");
}

#[tokio::test]
async fn a_panic_is_an_internal_error_and_the_server_lives() {
    let (server, setup) = server_of(Step::Panic).await;
    let call = with(post(written().to_string()), "x-request-id", "call-7");
    let reply = send(&server, call).await;
    let mut over_grpc = tonic::Request::new(request(trace()));
    let id = "call-7".parse().unwrap();
    over_grpc.metadata_mut().insert("x-request-id", id);
    let status = server.diagnose(over_grpc).await.unwrap_err();
    same(&reply, &status, StatusCode::INTERNAL_SERVER_ERROR, None);
    assert_eq!(reply.header("x-request-id"), "call-7");
    assert!(!reply.body.to_string().contains("scripted"));
    assert_eq!(
        series(&setup.metrics, "judge_cascade_panics_total"),
        Some(2.0)
    );
    assert_eq!(server.admission.available_permits(), 8);
}

#[tokio::test]
async fn a_field_that_the_message_does_not_have_is_refused_by_its_name() {
    let (server, setup) = server_of(good_but(&[])).await;
    let mut body = written();
    body["trace"]["chunks"][1]["score"] = json!(0.7);
    body["trace"]["retrieval"] = json!("PERFORMED");
    body["trace"]["question"] = json!(["orange", "marmalade"]);
    let reply = send(&server, post(body.to_string())).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(reply.body["reason"], "INVALID_TRACE");
    let violations = reply.body["violations"].as_array().unwrap();
    let mut found: Vec<_> = violations
        .iter()
        .map(|violation| {
            (
                violation["field"].as_str().unwrap(),
                violation["reason"].as_str().unwrap(),
            )
        })
        .collect();
    found.sort_unstable();
    let expected = [
        ("trace.chunks[1].score", "UNKNOWN_FIELD"),
        ("trace.question", "WRONG_TYPE"),
        ("trace.retrieval", "UNKNOWN_VALUE"),
    ];
    assert_eq!(found, expected);
    assert!(
        !reply.body.to_string().contains("marmalade"),
        "{}",
        reply.body
    );
    assert_eq!(setup.atomic.begun(), 0);
    let errors = "judge_cascade_diagnose_errors_total{profile=\"\",code=\"INVALID_ARGUMENT\",reason=\"INVALID_TRACE\"}";
    assert_eq!(series(&setup.metrics, errors), Some(1.0));
}

#[tokio::test]
async fn what_is_no_object_is_told_without_a_path() {
    let (server, _) = server_of(good_but(&[])).await;
    for body in ["[]", "7", "null"] {
        let reply = send(&server, post(body)).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.body["detail"], "must be an object");
    }
}

#[tokio::test]
async fn what_is_not_json_is_told_with_line_and_column() {
    let (server, _) = server_of(good_but(&[])).await;
    for (body, line, column, problem) in [
        (&b"{\"trace\":\n}"[..], "2", "1", "expected value"),
        (b"", "1", "0", "EOF while parsing a value"),
        (
            b"{\"trace\": {\"question\": \"\xff\"}}",
            "1",
            "25",
            "it is not UTF-8",
        ),
    ] {
        let reply = send(&server, post(body.to_vec())).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.body["reason"], "INVALID_TRACE");
        assert_eq!(
            reply.body["metadata"],
            json!({"line": line, "column": column})
        );
        let detail = reply.body["detail"].as_str().unwrap();
        assert!(detail.contains(problem), "{detail}");
    }
}

#[tokio::test]
async fn a_time_that_cannot_be_read_is_refused() {
    let (server, setup) = server_of(good_but(&[])).await;
    for bad in ["0", "soon", "1.5", "999999999"] {
        let reply = send(
            &server,
            with(post(written().to_string()), "x-timeout-ms", bad),
        )
        .await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{bad}");
        assert_eq!(reply.body["violations"][0]["field"], "x-timeout-ms");
    }
    assert_eq!(setup.atomic.begun(), 0);
}

#[tokio::test]
async fn what_is_wrong_with_the_exchange_has_a_status_and_no_reason() {
    let (server, setup) = server_of(good_but(&[])).await;
    let of = |method: Method, path: &str| {
        let request = Request::builder().method(method).uri(path);
        request.body(Body::from(written().to_string())).unwrap()
    };
    let typed = |content_type: &str| {
        with(
            of(Method::POST, "/v1/diagnose"),
            "content-type",
            content_type,
        )
    };
    let oversize = json!({"trace": {"answer": "a".repeat(10 << 20)}}).to_string();
    for (request, status, code) in [
        (of(Method::GET, "/v1/diagnose"), 405, "UNIMPLEMENTED"),
        (of(Method::POST, "/v1/policy"), 405, "UNIMPLEMENTED"),
        (of(Method::POST, "/v1/diagnose/"), 404, "UNIMPLEMENTED"),
        (of(Method::POST, "/"), 404, "UNIMPLEMENTED"),
        (of(Method::POST, "/v1/diagnose"), 415, "UNIMPLEMENTED"),
        (typed("text/plain"), 415, "UNIMPLEMENTED"),
        (
            typed("application/json; charset=latin1"),
            415,
            "UNIMPLEMENTED",
        ),
        (
            with(typed("application/json"), "content-encoding", "gzip"),
            415,
            "UNIMPLEMENTED",
        ),
        (post(oversize), 413, "OUT_OF_RANGE"),
    ] {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let reply = send(&server, request).await;
        assert_eq!(reply.status.as_u16(), status, "{method} {path}");
        assert_eq!(reply.header("content-type"), "application/problem+json");
        assert_eq!(reply.body["type"], "about:blank");
        assert_eq!(reply.body["status"], status);
        assert!(reply.body["detail"].is_string() && reply.body.get("reason").is_none());
        assert!(!reply.header("x-request-id").is_empty());
        let label = match &*path {
            "/v1/diagnose" => "http/diagnose",
            "/v1/policy" => "http/policy",
            _ => "other",
        };
        let counted =
            format!("judge_cascade_rpc_requests_total{{method=\"{label}\",code=\"{code}\"}}");
        assert!(series(&setup.metrics, &counted).is_some(), "{counted}");
        if status == 405 {
            let allowed = if path == "/v1/policy" {
                "GET,HEAD"
            } else {
                "POST"
            };
            assert_eq!(reply.header("allow"), allowed);
        }
    }
    assert_eq!(setup.atomic.begun(), 0);
}
