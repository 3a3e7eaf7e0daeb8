//! Errors as problem details (RFC 9457): the same reasons, metadata and field paths as in a gRPC status.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use serde::Serialize;

use super::status::{DOMAIN, ErrorReason, Report, Violated};
use crate::domain::Vocabulary as _;

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// What the type of a problem with a reason begins with; the reason follows.
const TYPE_PREFIX: &str = "urn:judge-cascade:error:";
/// The type of a problem that its status code says all about.
const BLANK: &str = "about:blank";

/// When a caller may try again who was not told so.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The body of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violations: Vec<Violated>,
}

impl Problem {
    /// A problem of the exchange itself, which no call had a part in.
    pub fn of_exchange(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            r#type: BLANK.to_owned(),
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail: detail.into(),
            reason: None,
            domain: None,
            metadata: BTreeMap::new(),
            violations: Vec::new(),
        }
    }

    /// The body.
    pub fn to_json(&self) -> Vec<u8> {
        // Texts and numbers can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl From<Report> for Problem {
    fn from(report: Report) -> Self {
        Self {
            r#type: format!("{TYPE_PREFIX}{}", report.reason.name()),
            title: title(report.reason),
            status: status(report.reason).as_u16(),
            detail: report.message,
            reason: Some(report.reason.name()),
            domain: Some(DOMAIN),
            metadata: report.metadata,
            violations: report.violations,
        }
    }
}

/// The status of an error.
pub const fn status(reason: ErrorReason) -> StatusCode {
    match reason {
        ErrorReason::InvalidTrace
        | ErrorReason::TextTooLong
        | ErrorReason::TooManyChunks
        | ErrorReason::UnknownProfile => StatusCode::BAD_REQUEST,
        ErrorReason::Overloaded => StatusCode::TOO_MANY_REQUESTS,
        ErrorReason::ShuttingDown | ErrorReason::JudgeUnavailable => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        ErrorReason::DeadlineTooShort => StatusCode::GATEWAY_TIMEOUT,
        ErrorReason::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorReason::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Whole seconds after which the caller may try again; `None` if that would change nothing.
pub fn retry_after(report: &Report) -> Option<u64> {
    let may_retry = match report.reason {
        ErrorReason::Overloaded | ErrorReason::ShuttingDown | ErrorReason::JudgeUnavailable => true,
        ErrorReason::InvalidTrace
        | ErrorReason::TextTooLong
        | ErrorReason::TooManyChunks
        | ErrorReason::UnknownProfile
        | ErrorReason::DeadlineTooShort
        | ErrorReason::Unauthenticated
        | ErrorReason::Internal => false,
    };
    let delay = report.retry_after.unwrap_or(RETRY_DELAY);
    let seconds = delay.as_secs() + u64::from(0 < delay.subsec_nanos());
    may_retry.then_some(seconds)
}

const fn title(reason: ErrorReason) -> &'static str {
    match reason {
        ErrorReason::InvalidTrace => "The request is invalid",
        ErrorReason::TextTooLong => "A text is too long",
        ErrorReason::TooManyChunks => "There are too many chunks",
        ErrorReason::UnknownProfile => "The profile is not configured",
        ErrorReason::Overloaded => "Too much is in flight",
        ErrorReason::ShuttingDown => "The server is draining",
        ErrorReason::JudgeUnavailable => "The atomic judge is unavailable",
        ErrorReason::DeadlineTooShort => "Time ran out",
        ErrorReason::Unauthenticated => "A valid token is required",
        ErrorReason::Internal => "Internal error",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cascade::{CascadeError, Stage};
    use crate::rpc::status::CallError;

    fn shown(error: &CallError) -> Value {
        serde_json::from_slice(&Problem::from(error.report()).to_json()).unwrap()
    }

    #[test]
    fn a_problem_tells_what_a_status_tells() {
        let overloaded = json!({
            "type": "urn:judge-cascade:error:OVERLOADED",
            "title": "Too much is in flight",
            "status": 429,
            "detail": "8 traces are in flight, which is the limit",
            "reason": "OVERLOADED",
            "domain": "judge-cascade",
            "metadata": {"limit": "8"},
        });
        assert_eq!(shown(&CallError::Overloaded { limit: 8 }), overloaded);
        let unknown = shown(&CallError::UnknownProfile("nobody".to_owned()));
        assert_eq!(
            unknown["violations"],
            json!([{
                "field": "profile",
                "reason": "UNKNOWN_PROFILE",
                "description": "names no configured profile",
            }])
        );
        let late = shown(&CallError::Cascade(CascadeError::Deadline(Stage::Atomic)));
        assert_eq!(
            (&late["status"], &late["metadata"]["stage"]),
            (&json!(504), &json!("atomic"))
        );
    }

    #[test]
    fn a_problem_of_the_exchange_has_no_reason() {
        let problem = Problem::of_exchange(StatusCode::NOT_FOUND, "there is nothing here");
        let shown: Value = serde_json::from_slice(&problem.to_json()).unwrap();
        let expected = json!({
            "type": "about:blank",
            "title": "Not Found",
            "status": 404,
            "detail": "there is nothing here",
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn only_what_may_pass_is_worth_a_retry() {
        let after = |error: CallError| retry_after(&error.report());
        assert_eq!(after(CallError::Overloaded { limit: 1 }), Some(1));
        assert_eq!(after(CallError::ShuttingDown), Some(1));
        assert_eq!(after(CallError::UnknownProfile(String::new())), None);
        assert_eq!(retry_after(&Report::internal("r1")), None);
    }
}
