//! The same calls over HTTP: the routes without a connection here, the real binary below.

mod errors;
mod sockets;

use axum::body::{Body, to_bytes};
use http::{HeaderMap, Request, StatusCode};
use judge_cascade::rpc::json::JsonMessages;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::support::memory::InMemory;
use crate::support::scripted::{ScriptedJudge, Step, good_but};
use crate::support::{Setup, request, series, trace};

/// What came back.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Reply {
    #[track_caller]
    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

async fn server_of(step: Step) -> (InMemory, Setup) {
    let setup = Setup::new(ScriptedJudge::new("atomic", [step]));
    (InMemory::serve(setup.content()).await, setup)
}

fn post(body: impl Into<Body>) -> Request<Body> {
    Request::post("/v1/diagnose")
        .header("content-type", "application/json")
        .body(body.into())
        .unwrap()
}

fn with(mut request: Request<Body>, name: &'static str, value: &str) -> Request<Body> {
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

async fn send(server: &InMemory, request: Request<Body>) -> Reply {
    let response = server.routes.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    Reply {
        status: head.status,
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap(),
    }
}

/// [`trace`] as a caller without a library writes it.
fn written() -> Value {
    json!({
        "trace": {
            "traceId": "t1",
            "question": "When does the pool open on Sundays?",
            "chunks": [
                {"chunkId": "c1", "text": "On Sundays the pool opens at eight."},
                {"chunk_id": "c2", "text": "The sauna is closed in August."},
            ],
            "answer": "It opens at eight.",
            "referenceAnswer": "At eight.",
        },
    })
}

/// Without what differs from call to call.
fn lasting(mut response: Value) -> Value {
    let fields = response.as_object_mut().unwrap();
    assert!(fields.remove("timing").is_some());
    for call in fields["judgeCalls"].as_array_mut().unwrap() {
        assert!(call.as_object_mut().unwrap().remove("latency").is_some());
    }
    response
}

#[tokio::test]
async fn a_response_is_the_one_of_grpc_as_json() {
    for changes in [vec![], vec![("groundedness", 0.5)], vec![("chunk:c1", 0.0)]] {
        let (server, _) = server_of(good_but(&changes)).await;
        let over_grpc = server.diagnose(request(trace())).await.unwrap();
        let over_grpc = JsonMessages::new()
            .unwrap()
            .write_diagnosis(&over_grpc)
            .unwrap();
        let over_http = send(&server, post(written().to_string())).await;
        assert_eq!(over_http.status, StatusCode::OK);
        assert_eq!(over_http.header("content-type"), "application/json");
        let over_grpc = serde_json::from_slice(&over_grpc).unwrap();
        assert_eq!(lasting(over_http.body), lasting(over_grpc));
    }
}

/// R14: a diagnosis is named, and nothing that is missing can be taken for a PASS or for a zero.
#[tokio::test]
async fn r14_enums_are_names_and_what_is_unset_is_absent() {
    let (server, _) = server_of(good_but(&[("contradiction", 0.0)])).await;
    let reply = send(&server, post(written().to_string())).await.body;
    assert_eq!(reply["diagnosis"], "DIAGNOSIS_PASS");
    assert_eq!(reply["route"], "ROUTE_AUTO");
    assert_eq!(reply["action"], "ACTION_ALLOW");
    assert_eq!(
        reply["fallbackUnavailableReason"],
        "FALLBACK_UNAVAILABLE_REASON_UNSPECIFIED"
    );
    let generation = &reply["atomic"]["generation"];
    assert_eq!(generation["contradiction"]["judged"]["probability"], 0.0);
    for (object, absent) in [
        (&reply, "fallback"),
        (&reply["cost"], "atomicNanoUsd"),
        (&reply["judgeCalls"][0], "usage"),
    ] {
        assert!(object.get(absent).is_none(), "{absent}");
    }
    let greeting = json!({"trace": {
        "question": "hi", "answer": "Hello!", "retrieval": "RETRIEVAL_STATE_NOT_PERFORMED",
    }});
    let reply = send(&server, post(greeting.to_string())).await.body;
    assert_eq!(reply["diagnosis"], "DIAGNOSIS_NOT_ASSESSABLE");
    assert!(!reply["traceId"].as_str().unwrap().is_empty());
    assert!(reply.get("confidence").is_none() && reply.get("atomic").is_none());
}

#[tokio::test]
async fn absent_optional_fields_have_their_documented_meaning() {
    let (server, setup) = server_of(good_but(&[])).await;
    let bare = json!({"trace": {
        "question": "When does the pool open?",
        "chunks": [{"chunkId": "c1", "text": "It opens at eight."}, {"chunkId": "c2", "text": "The sauna is closed."}],
        "answer": "At eight.",
        "referenceAnswer": null,
    }});
    let reply = send(&server, post(bare.to_string())).await.body;
    assert_eq!(reply["diagnosis"], "DIAGNOSIS_PASS");
    assert_eq!(reply["provenance"]["profile"], "default");
    assert_eq!(
        reply["provenance"]["decisionVariant"],
        "DECISION_VARIANT_WITHOUT_REFERENCE"
    );
    assert_eq!(
        reply["atomic"]["generation"]["correctness"]["notApplicableReason"],
        "NOT_APPLICABLE_REASON_NO_REFERENCE"
    );
    assert_eq!(setup.atomic.begun(), 1);
}

#[tokio::test]
async fn the_policy_is_the_one_of_grpc_as_json() {
    let (server, setup) = server_of(good_but(&[])).await;
    let over_grpc = server.client().await.policy("").await.unwrap();
    let over_grpc = JsonMessages::new()
        .unwrap()
        .write_policy(&over_grpc)
        .unwrap();
    let over_grpc: Value = serde_json::from_slice(&over_grpc).unwrap();
    for uri in ["/v1/policy", "/v1/policy?profile=default"] {
        let reply = send(&server, Request::get(uri).body(Body::empty()).unwrap()).await;
        assert_eq!(
            (reply.status, reply.body),
            (StatusCode::OK, over_grpc.clone())
        );
    }
    let unknown = Request::get("/v1/policy?profile=nobody")
        .body(Body::empty())
        .unwrap();
    let reply = send(&server, unknown).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(reply.body["reason"], "UNKNOWN_PROFILE");
    let counted = "judge_cascade_rpc_requests_total{method=\"http/policy\",code=\"OK\"}";
    assert_eq!(series(&setup.metrics, counted), Some(2.0));
}

#[tokio::test]
async fn the_request_id_is_returned_and_the_trace_context_goes_on() {
    let (server, setup) = server_of(good_but(&[])).await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let given = with(post(written().to_string()), "x-request-id", "call-7");
    let reply = send(&server, with(given, "traceparent", parent)).await;
    assert_eq!(reply.header("x-request-id"), "call-7");
    assert_eq!(setup.atomic.traceparents(), [Some(parent.to_owned())]);
    let made = send(&server, post(written().to_string())).await;
    assert_eq!(made.header("x-request-id").len(), 36);
    let long = with(post("{}"), "x-request-id", &"a".repeat(129));
    assert_eq!(send(&server, long).await.header("x-request-id").len(), 36);
}

#[tokio::test]
async fn calls_are_counted_by_closed_names() {
    let (server, setup) = server_of(good_but(&[])).await;
    send(&server, post(written().to_string())).await;
    send(&server, post("{}")).await;
    for path in ["/v1/guess", "/judgecascade.v1.DiagnosisService/Diagnose"] {
        let strange = Request::post(path).body(Body::empty()).unwrap();
        assert_eq!(send(&server, strange).await.status, StatusCode::NOT_FOUND);
    }
    for (name, value) in [
        (
            "rpc_requests_total{method=\"http/diagnose\",code=\"OK\"}",
            1.0,
        ),
        (
            "rpc_requests_total{method=\"http/diagnose\",code=\"INVALID_ARGUMENT\"}",
            1.0,
        ),
        (
            "rpc_requests_total{method=\"other\",code=\"UNIMPLEMENTED\"}",
            2.0,
        ),
        (
            "diagnose_errors_total{profile=\"default\",code=\"INVALID_ARGUMENT\",reason=\"INVALID_TRACE\"}",
            1.0,
        ),
        ("inflight_traces", 0.0),
    ] {
        let name = format!("judge_cascade_{name}");
        assert_eq!(series(&setup.metrics, &name), Some(value), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_callers_time_ends_a_call_and_the_judge_with_it() {
    let (server, setup) = server_of(Step::Hang).await;
    let start = tokio::time::Instant::now();
    let reply = send(
        &server,
        with(post(written().to_string()), "x-timeout-ms", "500"),
    )
    .await;
    assert_eq!(start.elapsed().as_millis(), 490);
    assert_eq!(reply.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(reply.body["reason"], "DEADLINE_TOO_SHORT");
    assert_eq!(reply.body["metadata"]["stage"], "atomic");
    assert_eq!(setup.atomic.cancelled(), 1);
    // Without a time of its own it has that of the server, in which a judge that hangs is no error.
    let reply = send(&server, post(written().to_string())).await;
    assert_eq!(reply.body["diagnosis"], "DIAGNOSIS_JUDGE_UNCERTAIN");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_costs_no_more_than_the_time_of_the_call() {
    let (server, setup) = server_of(good_but(&[])).await;
    let first = tokio_stream::once(Ok::<_, std::io::Error>("{\"trace\":"));
    let never = tokio_stream::StreamExt::chain(first, tokio_stream::pending());
    let start = tokio::time::Instant::now();
    let reply = send(&server, post(Body::from_stream(never))).await;
    assert_eq!(start.elapsed().as_millis(), 2995);
    assert_eq!(reply.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(reply.body["metadata"]["stage"], "start");
    assert_eq!(server.admission.available_permits(), 8);
    let counted = "judge_cascade_diagnose_errors_total{profile=\"\",code=\"DEADLINE_EXCEEDED\",reason=\"DEADLINE_TOO_SHORT\"}";
    assert_eq!(series(&setup.metrics, counted), Some(1.0));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_does_not_wait_for_a_body_that_never_ends() {
    let (server, setup) = server_of(good_but(&[])).await;
    let body = Body::from_stream(tokio_stream::pending::<Result<&str, std::io::Error>>());
    let start = tokio::time::Instant::now();
    let request = Request::post("/v1/diagnose").body(body).unwrap();
    let reply = send(&server, request).await;
    assert_eq!(start.elapsed().as_millis(), 2000);
    assert_eq!(reply.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(setup.atomic.begun(), 0);
}

#[tokio::test]
async fn a_call_that_is_dropped_is_counted_as_cancelled_and_cancels_its_judge() {
    let (server, setup) = server_of(Step::Hang).await;
    let call = send(&server, post(written().to_string()));
    let begun = async {
        while setup.atomic.begun() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = call => panic!("the judge hangs"),
        () = begun => (),
    }
    assert_eq!(setup.atomic.cancelled(), 1);
    let counted = "judge_cascade_rpc_requests_total{method=\"http/diagnose\",code=\"CANCELLED\"}";
    assert_eq!(series(&setup.metrics, counted), Some(1.0));
    assert_eq!(server.admission.available_permits(), 8);
}
