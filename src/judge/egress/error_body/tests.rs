//! Errors in the shapes that services send them in, and echoes that decide nothing.

use http::{HeaderMap, StatusCode};

use super::*;
use crate::judge::egress::{Fault, Incoming};

#[track_caller]
fn check(status: u16, body: &str, expected: FailureReason) {
    let fault = Fault::of_status(&incoming(status, body));
    assert_eq!(fault.reason, expected, "{status} {body}");
    assert!(!fault.detail.contains("pool"), "{}", fault.detail);
}

fn incoming(status: u16, body: &str) -> Incoming {
    Incoming {
        status: StatusCode::from_u16(status).unwrap(),
        headers: HeaderMap::new(),
        body: body.to_owned().into(),
    }
}

#[test]
fn errors_are_read_in_every_shape() {
    use FailureReason::{
        Budget, Protocol, RateLimited, Refused, TooLong, Unauthenticated, Unavailable,
    };
    let typed = r#"{"detail":{"error_type":"max_tokens_exceeded"}}"#;
    check(400, typed, TooLong);
    let told = r#"{"detail":{"error_type":"max_tokens_exceeded","message":"pool"}}"#;
    check(422, told, TooLong);
    let code = r#"{"error":{"code":"context_length_exceeded","message":"pool"}}"#;
    check(400, code, TooLong);
    let proxy = r#"{"error":{"message":"litellm.ContextWindowExceededError: pool"}}"#;
    check(400, proxy, TooLong);
    check(500, r#"{"error":"Context exceeded for pool"}"#, TooLong);
    check(503, "context exceeded", TooLong);
    check(400, r#""context exceeded""#, TooLong);
    check(400, r#"{"message":"prompt is too long: pool"}"#, TooLong);
    check(400, r#"{"detail":"the input is too long"}"#, TooLong);
    let violation = r#"{"detail":[{"loc":["body","state"],"msg":"it exceeds the context"}]}"#;
    check(422, violation, TooLong);
    let envelope = r#"{"success":false,"errors":[{"code":7,"message":"context window is full"}]}"#;
    check(400, envelope, TooLong);
    check(413, "", TooLong);
    check(400, r#"{"error":{"message":"unknown model"}}"#, Protocol);
    check(400, r#""unknown model""#, Protocol);
    let denied = r#"{"detail":{"error_type":"authentication_error"}}"#;
    check(401, denied, Unauthenticated);
    let team = r#"{"error":{"type":"team_model_access_denied"}}"#;
    check(403, team, Unauthenticated);
    check(402, r#"{"error":{"message":"pool"}}"#, Budget);
    check(429, r#"{"error":{"code":"insufficient_quota"}}"#, Budget);
    check(400, r#"{"error":{"type":"budget_exceeded"}}"#, Budget);
    let filter = r#"{"error":{"code":"content_filter","innererror":{"code":"x"}}}"#;
    check(400, filter, Refused);
    let inner = r#"{"error":{"innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
    check(400, inner, Refused);
    let proxy = r#"{"error":{"code":400,"type":"ContentPolicyViolationError"}}"#;
    check(400, proxy, Refused);
    check(429, "{}", RateLimited);
    check(529, "{}", RateLimited);
    check(408, "", Unavailable);
    check(500, "<html>pool</html>", Unavailable);
    check(503, r#"{"detail":"busy"}"#, Unavailable);
    check(302, "", Protocol);
}

#[test]
fn an_echo_of_the_state_decides_nothing() {
    let echo = format!("{} context exceeded", "the pool opens at eight ".repeat(20));
    let body = serde_json::json!({"error": {"message": echo}}).to_string();
    check(400, &body, FailureReason::Protocol);
    for echo in [
        r#"{"detail":[{"loc":["body"],"msg":"missing","type":"missing","input":"context exceeded"}]}"#,
        r#"{"detail":[{"input":{"code":"content_filter","message":"context exceeded"}}]}"#,
    ] {
        check(422, echo, FailureReason::Protocol);
    }
}

#[test]
fn an_error_within_a_success_means_what_its_status_would() {
    for (body, expected) in [
        (
            r#"{"error":{"code":402,"message":"pool"}}"#,
            FailureReason::Budget,
        ),
        (r#"{"error":{"code":"429"}}"#, FailureReason::RateLimited),
        (r#"{"error":{"code":502}}"#, FailureReason::Unavailable),
        (
            r#"{"error":{"code":"content_filter"}}"#,
            FailureReason::Refused,
        ),
        (r#"{"error":{"code":7009}}"#, FailureReason::Protocol),
        (r#"{"error":"pool"}"#, FailureReason::Protocol),
        ("{}", FailureReason::Protocol),
    ] {
        let fault = Fault::within(&incoming(200, body), "its answer is empty");
        assert_eq!(fault.reason, expected, "{body}");
        assert!(!fault.detail.contains("pool"), "{}", fault.detail);
    }
}

#[test]
fn a_refused_parameter_is_told_from_a_bad_value() {
    let of = |text: &str| ErrorBody::read(text.as_bytes());
    let unsupported = of(
        r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
    );
    assert!(unsupported.is_unsupported() && unsupported.blames("max_tokens"));
    assert_eq!(unsupported.place_of("max_tokens"), Some(0));
    for other in ["temperature", "max_completion_tokens", "tokens"] {
        assert_eq!(unsupported.place_of(other), None, "{other}");
    }
    let value =
        of(r#"{"error":{"message":"9 is too large","param":"max_tokens","code":"invalid_value"}}"#);
    assert!(value.blames("max_tokens") && !value.is_unsupported());
    let forbidden = of(
        r#"{"detail":[{"loc":["body","seed"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}"#,
    );
    assert!(forbidden.is_unsupported() && forbidden.blames("seed"));
    let message = of(r#"{"error":{"message":"top_logprobs and seed are not supported"}}"#);
    assert_eq!(message.place_of("logprobs"), None);
    assert!(message.place_of("top_logprobs") < message.place_of("seed"));
    let path = of(r#"{"error":{"param":"response_format.json_schema"}}"#);
    assert!(path.blames("response_format"));
}

#[test]
fn only_codes_of_our_own_list_are_shown() {
    let code = |body: &str| ErrorBody::read(body.as_bytes()).known_code();
    assert_eq!(
        code(r#"{"error":{"code":"Invalid_API_key"}}"#),
        Some("invalid_api_key")
    );
    let inner = r#"{"error":{"code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
    assert_eq!(code(inner), Some("ResponsibleAIPolicyViolation"));
    let typed = r#"{"type":"error","error":{"type":"overloaded_error"}}"#;
    assert_eq!(code(typed), Some("overloaded_error"));
    assert_eq!(code(r#"{"error":{"code":"sk-secret"}}"#), None);
    assert_eq!(code("<html>"), None);
}
