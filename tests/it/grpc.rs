//! Bad requests, errors and limits on the wire.

use judge_cascade::domain::Vocabulary as _;
use judge_cascade::rpc::pb;
use judge_cascade::rpc::status::{DOMAIN, ErrorReason};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::support::memory::InMemory;
use crate::support::scripted::{ScriptedJudge, Step, good_but};
use crate::support::{Setup, chunk, request, series, trace};

async fn server_of(step: Step) -> (InMemory, Setup) {
    let setup = Setup::new(ScriptedJudge::new("atomic", [step]));
    (InMemory::serve(setup.content()).await, setup)
}

async fn server() -> (InMemory, Setup) {
    server_of(good_but(&[])).await
}

/// Expects a code, exactly one `ErrorInfo` with the reason, and gives all details.
#[track_caller]
fn check(status: &Status, code: Code, reason: ErrorReason) -> ErrorDetails {
    assert_eq!(status.code(), code, "{status}");
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!(
        (info.domain.as_str(), info.reason.as_str()),
        (DOMAIN, reason.name())
    );
    details
}

fn violations(details: &ErrorDetails) -> Vec<(String, String)> {
    let listed = details.bad_request().unwrap().field_violations.iter();
    listed
        .map(|violation| (violation.field.clone(), violation.reason.clone()))
        .collect()
}

#[tokio::test]
async fn every_violation_of_a_trace_is_named_at_once_with_its_path_and_reason() {
    let (server, setup) = server().await;
    let bad = pb::Trace {
        question: " ".to_owned(),
        chunks: vec![chunk("c1", "a"), chunk("c1", "b"), chunk("", "c")],
        reference_answer: Some(String::new()),
        history: vec![pb::Turn {
            role: 0,
            text: "hello".to_owned(),
        }],
        retrieval: 77,
        statements: vec![String::new()],
        ..trace()
    };
    let status = server.diagnose(request(bad)).await.unwrap_err();
    let details = check(&status, Code::InvalidArgument, ErrorReason::InvalidTrace);
    let expected = [
        ("trace.retrieval", "UNKNOWN_VALUE"),
        ("trace.history[0].role", "REQUIRED"),
        ("trace.question", "REQUIRED"),
        ("trace.chunks[1].chunk_id", "DUPLICATE"),
        ("trace.chunks[2].chunk_id", "REQUIRED"),
        ("trace.reference_answer", "BLANK"),
        ("trace.statements[0]", "BLANK"),
    ];
    let expected = expected.map(|(path, reason)| (path.to_owned(), reason.to_owned()));
    assert_eq!(violations(&details), expected);
    assert_eq!(
        details.error_info().unwrap().metadata["violation_count"],
        "7"
    );
    assert_eq!(setup.atomic.begun(), 0);
    let errors = "judge_cascade_diagnose_errors_total{profile=\"default\",code=\"INVALID_ARGUMENT\",reason=\"INVALID_TRACE\"}";
    assert_eq!(series(&setup.metrics, errors), Some(1.0));
}

#[tokio::test]
async fn a_request_without_a_trace_is_invalid() {
    let (server, _) = server().await;
    let status = server
        .diagnose(pb::DiagnoseRequest::default())
        .await
        .unwrap_err();
    let details = check(&status, Code::InvalidArgument, ErrorReason::InvalidTrace);
    assert_eq!(
        violations(&details),
        [("trace".to_owned(), "REQUIRED".to_owned())]
    );
}

#[tokio::test]
async fn a_text_over_the_limit_and_too_many_chunks_have_reasons_of_their_own() {
    let (server, _) = server().await;
    let long = pb::Trace {
        answer: "a".repeat(70_000),
        ..trace()
    };
    let status = server.diagnose(request(long)).await.unwrap_err();
    let details = check(&status, Code::InvalidArgument, ErrorReason::TextTooLong);
    assert_eq!(
        violations(&details),
        [("trace.answer".to_owned(), "TEXT_TOO_LONG".to_owned())]
    );
    assert_eq!(details.error_info().unwrap().metadata["limit"], "65536");

    let chunks = (0..65)
        .map(|index| chunk(&index.to_string(), "text"))
        .collect();
    let many = pb::Trace { chunks, ..trace() };
    let status = server.diagnose(request(many)).await.unwrap_err();
    let details = check(&status, Code::InvalidArgument, ErrorReason::TooManyChunks);
    assert_eq!(details.error_info().unwrap().metadata["limit"], "64");
}

/// A status travels in headers, which clients bound; a thousand violations must still arrive.
#[tokio::test]
async fn a_flood_of_violations_still_arrives() {
    let (server, _) = server().await;
    let bad = pb::Trace {
        statements: vec![String::new(); 1000],
        ..trace()
    };
    let status = server.diagnose(request(bad)).await.unwrap_err();
    let details = check(&status, Code::InvalidArgument, ErrorReason::InvalidTrace);
    assert_eq!(
        details.error_info().unwrap().metadata["violation_count"],
        "1000"
    );
    assert_eq!(violations(&details).len(), 32);
    assert!(
        status.message().ends_with("and 997 more"),
        "{}",
        status.message()
    );
    let long_ids = (0..64).map(|_| chunk(&"é".repeat(4000), "text")).collect();
    let status = server
        .diagnose(request(pb::Trace {
            chunks: long_ids,
            ..trace()
        }))
        .await
        .unwrap_err();
    check(&status, Code::InvalidArgument, ErrorReason::InvalidTrace);
}

#[tokio::test]
async fn an_unknown_profile_is_named_and_cut_to_a_readable_length() {
    let (server, setup) = server().await;
    let unknown = pb::DiagnoseRequest {
        profile: "x".repeat(5000),
        ..request(trace())
    };
    let status = server.diagnose(unknown).await.unwrap_err();
    let details = check(&status, Code::InvalidArgument, ErrorReason::UnknownProfile);
    assert_eq!(
        violations(&details),
        [("profile".to_owned(), "UNKNOWN_PROFILE".to_owned())]
    );
    assert_eq!(details.error_info().unwrap().metadata["profile"].len(), 64);
    let errors = "judge_cascade_diagnose_errors_total{profile=\"\",code=\"INVALID_ARGUMENT\",reason=\"UNKNOWN_PROFILE\"}";
    assert_eq!(series(&setup.metrics, errors), Some(1.0));
    let status = server.client().await.policy("nobody").await.unwrap_err();
    assert_eq!(status.code, "INVALID_ARGUMENT");
}

#[tokio::test]
async fn a_mode_that_is_not_offered_and_values_that_are_not_known_are_refused() {
    let (server, _) = server().await;
    let deferred = pb::FallbackMode::Deferred as i32;
    let message = pb::DiagnoseRequest {
        fallback_mode: deferred,
        scope: 9,
        ..request(trace())
    };
    let status = server.diagnose(message).await.unwrap_err();
    let details = check(&status, Code::InvalidArgument, ErrorReason::InvalidTrace);
    let expected = [("scope", "UNKNOWN_VALUE"), ("fallback_mode", "NOT_OFFERED")];
    assert_eq!(
        violations(&details),
        expected.map(|(f, r)| (f.to_owned(), r.to_owned()))
    );
}

/// No question, chunk, answer or reference stands in any status.
#[tokio::test]
async fn no_status_shows_a_text() {
    let (server, _) = server().await;
    let secret = "orange-marmalade";
    let long = format!("{secret}{}", "a".repeat(70_000));
    let bad = pb::Trace {
        question: long.clone(),
        chunks: vec![chunk("c1", &long), chunk("c1", secret)],
        answer: long.clone(),
        reference_answer: Some(long),
        ..trace()
    };
    let status = server.diagnose(request(bad)).await.unwrap_err();
    assert!(!status.message().contains(secret));
    assert!(!format!("{:?}", status.get_error_details()).contains(secret));
}

#[tokio::test]
async fn over_the_limit_a_call_is_turned_away_and_health_is_not() {
    let (server, setup) = server_of(Step::Hang).await;
    let _held = server.admission.try_acquire_many(8).unwrap();
    let status = server.diagnose(request(trace())).await.unwrap_err();
    let details = check(&status, Code::ResourceExhausted, ErrorReason::Overloaded);
    assert!(details.retry_info().unwrap().retry_delay.is_some());
    assert_eq!(details.error_info().unwrap().metadata["limit"], "8");
    assert_eq!(setup.atomic.begun(), 0);
    assert_eq!(
        series(
            &setup.metrics,
            "judge_cascade_shed_total{reason=\"overloaded\"}"
        ),
        Some(1.0)
    );
    assert!(server.client().await.is_serving().await.unwrap());
}

#[tokio::test]
async fn while_draining_a_call_is_turned_away_before_admission() {
    let (server, setup) = server().await;
    let _held = server.admission.try_acquire_many(8).unwrap();
    server.drain.begin();
    let status = server.diagnose(request(trace())).await.unwrap_err();
    check(&status, Code::Unavailable, ErrorReason::ShuttingDown);
    assert_eq!(
        series(
            &setup.metrics,
            "judge_cascade_shed_total{reason=\"shutting_down\"}"
        ),
        Some(1.0)
    );
}

#[tokio::test]
async fn a_panic_is_an_internal_error_with_a_request_id_and_the_server_lives() {
    let (server, setup) = server_of(Step::Panic).await;
    let mut call = tonic::Request::new(request(trace()));
    call.metadata_mut()
        .insert("x-request-id", "call-7".parse().unwrap());
    let status = server.diagnose(call).await.unwrap_err();
    let details = check(&status, Code::Internal, ErrorReason::Internal);
    assert_eq!(
        details.error_info().unwrap().metadata["request_id"],
        "call-7"
    );
    assert!(
        !status.message().contains("scripted"),
        "the cause is in the log only"
    );
    assert_eq!(status.metadata().get("x-request-id").unwrap(), "call-7");
    assert_eq!(
        series(&setup.metrics, "judge_cascade_panics_total"),
        Some(1.0)
    );
    assert_eq!(server.admission.available_permits(), 8);
    assert!(server.client().await.is_serving().await.unwrap());
}

#[tokio::test]
async fn a_call_without_a_request_id_gets_one() {
    let (server, _) = server().await;
    let status = server
        .diagnose(pb::DiagnoseRequest::default())
        .await
        .unwrap_err();
    assert_eq!(status.metadata().get("x-request-id").unwrap().len(), 36);
}

#[tokio::test]
async fn a_request_id_that_is_no_id_is_replaced() {
    let (server, _) = server().await;
    for (given, is_kept) in [
        ("a".repeat(128), true),
        ("a".repeat(129), false),
        (String::new(), false),
    ] {
        let mut call = tonic::Request::new(pb::DiagnoseRequest::default());
        call.metadata_mut()
            .insert("x-request-id", given.parse().unwrap());
        let status = server.diagnose(call).await.unwrap_err();
        let returned = status.metadata().get("x-request-id").unwrap();
        assert_eq!(returned == given.as_str(), is_kept);
    }
}

/// The reasons that this file and the others do not produce would be documented and not exist.
#[test]
fn every_error_reason_is_produced_by_some_test() {
    let tests = [
        include_str!("grpc.rs"),
        include_str!("auth.rs"),
        include_str!("cascade.rs"),
        include_str!("deadlines.rs"),
    ]
    .concat();
    for reason in ErrorReason::ALL {
        let variant = format!("ErrorReason::{reason:?})");
        let by_name = format!("\"{reason}\"");
        assert!(
            tests.contains(&variant) || tests.contains(&by_name),
            "{reason} is produced by no test"
        );
    }
}

#[tokio::test]
async fn the_policy_of_a_profile_is_told_with_its_digest_and_questions() {
    let (server, setup) = server().await;
    let policy = server.client().await.policy("").await.unwrap();
    assert_eq!(policy.profile, "default");
    let told = policy.policy.unwrap();
    assert_eq!(told.policy_id, "parity-v1");
    assert_eq!(told.sha256, *setup.policy.id.sha256);
    assert_eq!(told.dimensions.len(), 7);
    assert!(
        told.dimensions
            .iter()
            .all(|row| row.fail_at == Some(0.2) && row.pass_at == Some(0.8))
    );
    let bad_when_true: Vec<_> = told
        .dimensions
        .iter()
        .filter(|row| row.polarity() == pb::Polarity::BadWhenTrue)
        .map(pb::DimensionPolicy::dimension)
        .collect();
    assert_eq!(
        bad_when_true,
        [pb::Dimension::ContextConflict, pb::Dimension::Contradiction]
    );
    assert_eq!(told.actions.len(), 18);
    let questions: Vec<_> = policy
        .decisions
        .iter()
        .map(|decision| decision.questions.len())
        .collect();
    assert_eq!(questions, [7, 6]);
    assert_eq!(policy.judges[0].judge_id, "atomic");
    assert_eq!(policy.pricing_id, "");
}

#[tokio::test]
async fn the_response_names_the_policy_that_decided() {
    let (server, setup) = server().await;
    let response = server.diagnose(request(trace())).await.unwrap();
    let provenance = response.provenance.unwrap();
    assert_eq!(provenance.policy_id, "parity-v1");
    assert_eq!(provenance.policy_sha256, *setup.policy.id.sha256);
    assert_eq!(provenance.decision_id, "judge-cascade.rag.with-reference");
    assert_eq!(provenance.server_version, env!("CARGO_PKG_VERSION"));
    let info = format!(
        "judge_cascade_policy_info{{id=\"parity-v1\",sha256=\"{}\"}}",
        provenance.policy_sha256
    );
    assert_eq!(series(&setup.metrics, &info), Some(1.0));
    let state = "judge_cascade_calibration_state{profile=\"default\",state=\"UNCALIBRATED\"}";
    assert_eq!(series(&setup.metrics, state), Some(1.0));
}

#[tokio::test]
async fn no_number_in_a_response_is_other_than_finite() {
    for broken in [f64::NAN, f64::INFINITY, -1.0, 2.0] {
        let (server, _) =
            server_of(good_but(&[("correctness", broken), ("chunk:c1", broken)])).await;
        let response = server.diagnose(request(trace())).await.unwrap();
        let text = format!("{response:?}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
