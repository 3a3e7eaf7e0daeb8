//! Errors of calls: one code, one reason, and no text of a trace; and how a gRPC status tells them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::cascade::CascadeError;
use crate::domain::trace::{TraceError, Violation, ViolationReason};
use crate::domain::{Vocabulary as _, vocabulary};

/// The domain of every `ErrorInfo`.
pub const DOMAIN: &str = "judge-cascade";

/// Violations that are listed in the details; the whole status must fit into the 16 KiB of headers that clients accept.
const MAX_LISTED: usize = 32;
/// Violations that are told in the message.
const MAX_TOLD: usize = 3;

/// When a caller that was turned away may try again.
const RETRY_DELAY: Duration = Duration::from_millis(100);

vocabulary! {
    /// The reasons of errors, as they stand in `ErrorInfo.reason`.
    "error reason"
    pub enum ErrorReason {
        /// The trace or an option breaks a rule.
        InvalidTrace = "INVALID_TRACE",
        /// A text is too long, and nothing else is wrong.
        TextTooLong = "TEXT_TOO_LONG",
        /// There are too many chunks, and nothing else is wrong.
        TooManyChunks = "TOO_MANY_CHUNKS",
        /// No profile has the requested name.
        UnknownProfile = "UNKNOWN_PROFILE",
        /// Too many traces are in flight, or too many bytes of messages are being received.
        Overloaded = "OVERLOADED",
        /// The server is draining.
        ShuttingDown = "SHUTTING_DOWN",
        /// The atomic judge failed and the profile makes that an error.
        JudgeUnavailable = "JUDGE_UNAVAILABLE",
        /// Time ran out before any diagnosis.
        DeadlineTooShort = "DEADLINE_TOO_SHORT",
        /// The call carries no token that the server takes.
        Unauthenticated = "UNAUTHENTICATED",
        /// A broken invariant or a panic.
        Internal = "INTERNAL",
    }
}

/// An error of a call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The request is wrong.
    #[error("{}", told(&.0.0))]
    Invalid(TraceError),
    /// The body is not JSON; over HTTP only.
    #[error("the body is not JSON: {problem} at line {line}, column {column}")]
    NotJson {
        /// What is wrong, without any of the text.
        problem: String,
        /// Its line, counted from 1.
        line: usize,
        /// Its column in bytes, counted from 1.
        column: usize,
    },
    /// No profile has this name.
    #[error("profile: `{}` is not configured", shown(.0))]
    UnknownProfile(String),
    /// Too many traces are in flight.
    #[error("{limit} traces are in flight, which is the limit")]
    Overloaded {
        /// How many may be.
        limit: usize,
    },
    /// The message does not fit beside those that are being received.
    #[error("the message does not fit: {limit} bytes of messages may be received at once")]
    ReceivingTooMuch {
        /// How many bytes may be.
        limit: usize,
    },
    /// The server is draining.
    #[error("the server is draining")]
    ShuttingDown,
    /// There is no outcome.
    #[error(transparent)]
    Cascade(CascadeError),
}

impl CallError {
    /// The request has so many parts that it is not looked at.
    pub fn too_many_parts(limit: usize) -> Self {
        Self::Invalid(TraceError(vec![Violation::too_many_parts(limit)]))
    }

    /// Its reason.
    pub fn reason(&self) -> ErrorReason {
        match self {
            Self::Invalid(TraceError(violations)) => invalid_reason(violations),
            Self::NotJson { .. } => ErrorReason::InvalidTrace,
            Self::UnknownProfile(_) => ErrorReason::UnknownProfile,
            Self::Overloaded { .. } | Self::ReceivingTooMuch { .. } => ErrorReason::Overloaded,
            Self::ShuttingDown => ErrorReason::ShuttingDown,
            Self::Cascade(CascadeError::Deadline(_)) => ErrorReason::DeadlineTooShort,
            Self::Cascade(CascadeError::AtomicFailed { .. }) => ErrorReason::JudgeUnavailable,
        }
    }

    /// Its code.
    pub fn code(&self) -> Code {
        match self.reason() {
            ErrorReason::InvalidTrace
            | ErrorReason::TextTooLong
            | ErrorReason::TooManyChunks
            | ErrorReason::UnknownProfile => Code::InvalidArgument,
            ErrorReason::Overloaded => Code::ResourceExhausted,
            ErrorReason::ShuttingDown | ErrorReason::JudgeUnavailable => Code::Unavailable,
            ErrorReason::DeadlineTooShort => Code::DeadlineExceeded,
            ErrorReason::Unauthenticated => Code::Unauthenticated,
            ErrorReason::Internal => Code::Internal,
        }
    }

    /// The error as every transport tells it.
    pub fn report(&self) -> Report {
        let mut report = Report {
            code: self.code(),
            reason: self.reason(),
            message: self.to_string(),
            metadata: BTreeMap::new(),
            violations: Vec::new(),
            retry_after: None,
        };
        let metadata = &mut report.metadata;
        match self {
            Self::Invalid(TraceError(violations)) => {
                metadata.insert("violation_count", violations.len().to_string());
                let limit = violations.iter().find_map(|violation| violation.limit);
                metadata.extend(limit.map(|limit| ("limit", limit.to_string())));
                let listed = violations.iter().take(MAX_LISTED);
                report.violations = listed.cloned().map(Violated::from).collect();
            }
            Self::NotJson { line, column, .. } => {
                metadata.insert("line", line.to_string());
                metadata.insert("column", column.to_string());
            }
            Self::UnknownProfile(name) => {
                metadata.insert("profile", shown(name));
                report.violations.push(Violated {
                    field: "profile".to_owned(),
                    reason: self.reason().name(),
                    description: "names no configured profile".to_owned(),
                });
            }
            Self::Overloaded { limit } | Self::ReceivingTooMuch { limit } => {
                metadata.insert("limit", limit.to_string());
                report.retry_after = Some(RETRY_DELAY);
            }
            Self::ShuttingDown => (),
            Self::Cascade(CascadeError::Deadline(stage)) => {
                metadata.insert("stage", stage.name().to_owned());
            }
            Self::Cascade(CascadeError::AtomicFailed { judge_id, reason }) => {
                metadata.insert("judge", judge_id.to_string());
                metadata.insert("kind", reason.name().to_owned());
            }
        }
        report
    }
}

/// An error as every transport tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its code.
    pub code: Code,
    /// Its reason.
    pub reason: ErrorReason,
    /// What is wrong, in words.
    pub message: String,
    /// More about it.
    pub metadata: BTreeMap<&'static str, String>,
    /// What is wrong with the request, field by field.
    pub violations: Vec<Violated>,
    /// When the caller may try again.
    pub retry_after: Option<Duration>,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Violated {
    /// The path of the field.
    pub field: String,
    /// The kind of violation.
    pub reason: &'static str,
    /// What is wrong, in words.
    pub description: String,
}

impl From<Violation> for Violated {
    fn from(violation: Violation) -> Self {
        Self {
            field: violation.path,
            reason: violation.reason.name(),
            description: violation.description,
        }
    }
}

impl Report {
    /// A call without a token that the server takes; it does not tell whether there was none or a wrong one.
    pub fn unauthenticated() -> Self {
        Self {
            code: Code::Unauthenticated,
            reason: ErrorReason::Unauthenticated,
            message: "a valid token is required; send it as `authorization: Bearer TOKEN`"
                .to_owned(),
            metadata: BTreeMap::new(),
            violations: Vec::new(),
            retry_after: None,
        }
    }

    /// A broken invariant; the cause is in the log only.
    pub fn internal(request_id: &str) -> Self {
        Self {
            code: Code::Internal,
            reason: ErrorReason::Internal,
            message: format!("internal error; the log has more under request id `{request_id}`"),
            metadata: BTreeMap::from([("request_id", request_id.to_owned())]),
            violations: Vec::new(),
            retry_after: None,
        }
    }

    /// The same as a status.
    pub fn status(self) -> Status {
        let mut details = ErrorDetails::new();
        if !self.violations.is_empty() {
            let violations = self.violations.into_iter().map(|violated| FieldViolation {
                field: violated.field,
                description: violated.description,
                reason: violated.reason.to_owned(),
                ..Default::default()
            });
            details.set_bad_request(violations.collect::<Vec<_>>());
        }
        if self.retry_after.is_some() {
            details.set_retry_info(self.retry_after);
        }
        let metadata: HashMap<String, String> = self
            .metadata
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        details.set_error_info(self.reason.name(), DOMAIN, metadata);
        Status::with_error_details(self.code, self.message, details)
    }
}

/// The first violations in words, and how many more there are.
fn told(violations: &[Violation]) -> String {
    let first = TraceError(violations.iter().take(MAX_TOLD).cloned().collect()).to_string();
    match violations.len().saturating_sub(MAX_TOLD) {
        0 => first,
        more => format!("{first}; and {more} more"),
    }
}

/// The start of a name that a caller made up.
pub(super) fn shown(name: &str) -> String {
    let printable = |c: char| {
        if c.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    name.chars().take(64).map(printable).collect()
}

/// One kind of violation of a limit is named by its own reason, anything else by the general one.
fn invalid_reason(violations: &[Violation]) -> ErrorReason {
    let all = |reason| {
        violations
            .iter()
            .all(|violation| violation.reason == reason)
    };
    if all(ViolationReason::TextTooLong) {
        ErrorReason::TextTooLong
    } else if all(ViolationReason::TooManyChunks) {
        ErrorReason::TooManyChunks
    } else {
        ErrorReason::InvalidTrace
    }
}

/// The name of a status code as gRPC writes it.
pub const fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// The names of all status codes.
pub fn code_names() -> Vec<&'static str> {
    (0..=16)
        .map(|number| code_name(Code::from_i32(number)))
        .collect()
}
