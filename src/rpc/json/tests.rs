use super::*;
use crate::rpc::codec::MAX_PARTS;

fn messages() -> JsonMessages {
    JsonMessages::new().unwrap()
}

fn read(text: &str) -> Result<pb::DiagnoseRequest, CallError> {
    messages().read_request(text.as_bytes())
}

#[track_caller]
fn misfits(text: &str) -> Vec<(String, ViolationReason)> {
    match read(text).unwrap_err() {
        CallError::Invalid(TraceError(violations)) => violations
            .into_iter()
            .map(|violation| (violation.path, violation.reason))
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_spellings_of_a_field_are_read() {
    let camel = r#"{"trace": {"traceId": "t", "referenceAnswer": "r", "chunks": [{"chunkId": "c", "retrievalScore": 0.5}]}}"#;
    let snake = r#"{"trace": {"trace_id": "t", "reference_answer": "r", "chunks": [{"chunk_id": "c", "retrieval_score": "0.5"}]}}"#;
    let message = read(camel).unwrap();
    assert_eq!(message, read(snake).unwrap());
    let trace = message.trace.unwrap();
    assert_eq!(trace.reference_answer.as_deref(), Some("r"));
    assert_eq!(trace.chunks[0].retrieval_score, Some(0.5));
}

#[test]
fn absent_and_null_are_unset_and_an_empty_text_is_set() {
    let unset = read(r#"{"trace": {"referenceAnswer": null, "chunks": null}, "options": null}"#);
    let unset = unset.unwrap();
    assert_eq!(unset.options, None);
    assert_eq!(unset.trace.unwrap(), pb::Trace::default());
    let empty = read(r#"{"trace": {"referenceAnswer": ""}}"#).unwrap();
    assert_eq!(empty.trace.unwrap().reference_answer.as_deref(), Some(""));
    assert_eq!(read("{}").unwrap(), pb::DiagnoseRequest::default());
}

#[test]
fn enums_are_read_by_name_and_by_number() {
    for retrieval in [r#""RETRIEVAL_STATE_NOT_PERFORMED""#, "2"] {
        let text = format!(r#"{{"trace": {{"retrieval": {retrieval}}}}}"#);
        let trace = read(&text).unwrap().trace.unwrap();
        assert_eq!(trace.retrieval(), pb::RetrievalState::NotPerformed);
    }
    // Whether a number means anything is for the next step to say, as over gRPC.
    let unknown = read(r#"{"scope": 77}"#).unwrap();
    assert_eq!(unknown.scope, 77);
}

#[test]
fn everything_that_does_not_fit_is_named_at_once_by_its_path() {
    let text = r#"{
        "trace": {
            "question": 7,
            "colour": "red",
            "chunks": [{"chunkId": "a"}, {"chunkId": "b", "score": 1, "text": ["x"]}, null],
            "retrieval": "PERFORMED",
            "tags": "one",
            "history": [{"role": "TURN_ROLE_USER"}, {"role": 1.5}],
            "trace_id": "t",
            "traceId": "t"
        },
        "options": {"skipCache": "yes"},
        "scope": 3000000000
    }"#;
    let expected = [
        ("trace.question", ViolationReason::WrongType),
        ("trace.colour", ViolationReason::UnknownField),
        ("trace.chunks[1].score", ViolationReason::UnknownField),
        ("trace.chunks[1].text", ViolationReason::WrongType),
        ("trace.chunks[2]", ViolationReason::WrongType),
        ("trace.retrieval", ViolationReason::UnknownValue),
        ("trace.tags", ViolationReason::WrongType),
        ("trace.history[1].role", ViolationReason::WrongType),
        ("trace.trace_id", ViolationReason::Duplicate),
        ("options.skip_cache", ViolationReason::WrongType),
        ("scope", ViolationReason::UnknownValue),
    ];
    assert_eq!(
        misfits(text),
        expected.map(|(path, reason)| (path.to_owned(), reason))
    );
    for text in ["[]", "null", "7", "\"text\""] {
        assert_eq!(misfits(text), [(String::new(), ViolationReason::WrongType)]);
    }
}

#[test]
fn a_flood_of_misfits_is_bounded() {
    let fields: Vec<_> = (0..5000).map(|n| format!("\"f{n}\": {n}")).collect();
    let found = misfits(&format!("{{{}}}", fields.join(",")));
    assert_eq!(found.len(), 1001);
    assert_eq!(found[1000], (String::new(), ViolationReason::TooMany));
}

#[test]
fn no_error_quotes_a_text() {
    for text in [
        r#"{"trace": {"question": ["marmalade"], "retrieval": "marmalade", "answer": {"marmalade": 1}}}"#,
        r#"{"trace": {"chunks": [{"retrievalScore": "marmalade"}], "tags": {"marmalade": []}}}"#,
        r#"{"trace": {"question": "marmalade}}"#,
        r#"{"trace": {"question": "marmalade" "answer"}}"#,
        r#"{"trace": {"question": "\ud800 marmalade"}}"#,
        r#"{"trace": {"question": marmalade}}"#,
    ] {
        let report = read(text).unwrap_err().report();
        assert!(!format!("{report:?}").contains("marmalade"), "{report:?}");
    }
    let long = format!("{{\"{}\": 1}}", "x".repeat(5000));
    assert_eq!(misfits(&long)[0].0.len(), 64);
}

#[test]
fn what_is_not_json_is_told_with_its_place() {
    let place = |body: &[u8]| match messages().read_request(body).unwrap_err() {
        CallError::NotJson {
            line,
            column,
            problem,
        } => (line, column, problem),
        other => panic!("{other:?}"),
    };
    let (line, column, problem) = place(b"{\n  \"trace\": }");
    assert_eq!((line, column, &*problem), (2, 12, "expected value"));
    assert_eq!(place(b"").2, "EOF while parsing a value");
    assert_eq!(place(b"{} {}").2, "trailing characters");
    let (line, column, problem) = place(b"{\"a\":\n\"\xff\"}");
    assert_eq!((line, column, &*problem), (2, 2, "it is not UTF-8"));
}

#[test]
fn no_depth_is_too_deep() {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let deep = format!("{{\"trace\": {open}{close}}}");
    let expected = ("trace".to_owned(), ViolationReason::WrongType);
    assert_eq!(misfits(&deep), [expected]);
}

#[test]
fn r14_a_zero_is_written_and_what_is_unset_is_not() {
    let response = pb::DiagnoseResponse {
        diagnosis: pb::Diagnosis::Pass as i32,
        cost: Some(pb::Cost {
            atomic_nano_usd: Some(0),
            total_nano_usd: Some(i64::MAX),
            ..Default::default()
        }),
        atomic: Some(pb::JudgePass {
            generation: Some(pb::GenerationJudgments {
                groundedness: Some(pb::Judgment {
                    judge_id: "j".to_owned(),
                    outcome: Some(pb::judgment::Outcome::Judged(pb::Judged::default())),
                }),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    };
    let json = messages().write_diagnosis(&response).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["diagnosis"], "DIAGNOSIS_PASS");
    assert_eq!(json["action"], "ACTION_UNSPECIFIED");
    assert_eq!(json["passCovers"], serde_json::json!([]));
    assert_eq!(json["cost"]["atomicNanoUsd"], "0");
    assert_eq!(json["cost"]["totalNanoUsd"], "9223372036854775807");
    let judged = &json["atomic"]["generation"]["groundedness"]["judged"];
    assert_eq!(judged["probability"], 0.0);
    for (object, absent) in [
        (&json, "confidence"),
        (&json, "fallback"),
        (&json, "timing"),
        (&json["cost"], "fallbackNanoUsd"),
        (judged, "labelMass"),
        (&json["atomic"]["generation"], "correctness"),
    ] {
        assert!(object.get(absent).is_none(), "{absent}");
    }
}

#[test]
fn a_text_of_very_many_entries_is_told_once_and_not_built() {
    let tags = vec!["\"\""; MAX_PARTS + 5].join(",");
    for text in [
        format!(r#"{{"trace": {{"tags": [{tags}]}}}}"#),
        format!(r#"{{"trace": {{"tags": [{tags}], "statements": [{tags}]}}}}"#),
    ] {
        let Err(CallError::Invalid(TraceError(violations))) = read(&text) else {
            panic!("it is read")
        };
        assert_eq!(violations, [Violation::too_many_parts(MAX_PARTS)]);
    }
}
