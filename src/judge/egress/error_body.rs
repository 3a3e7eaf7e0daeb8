//! What the body of an error says, in every shape that services use, and what that means.
//!
//! It is looked through to tell errors apart and for nothing else: it may echo a trace or a key, so no word of it is
//! logged, counted, returned or made part of an error of ours. Only members that services write themselves are read, and
//! of a message only its beginning, so that an echo of the state decides nothing.

use serde_json::Value;

use crate::domain::failure::FailureReason;

/// How much of a message is looked through, in characters.
const MESSAGE_LENGTH: usize = 300;
/// How deep and how far errors are followed.
const MAX_DEPTH: usize = 4;
const MAX_ENTRIES: usize = 8;

/// Codes of errors that say more than the status, and may be shown because they are written here.
const KNOWN_CODES: [&str; 24] = [
    "api_usage_error",
    "authentication_error",
    "billing_error",
    "content_filter",
    "context_length_exceeded",
    "customer_verification_required",
    "DeploymentNotFound",
    "insufficient_quota",
    "invalid_api_key",
    "invalid_request_error",
    "max_tokens_exceeded",
    "model_not_found",
    "not_found_error",
    "overloaded_error",
    "permission_error",
    "rate_limit_error",
    "rate_limit_exceeded",
    "request_too_large",
    "ResponsibleAIPolicyViolation",
    "string_above_max_length",
    "team_model_access_denied",
    "timeout_error",
    "unsupported_parameter",
    "unsupported_value",
];
/// Words that say that the state is too long; the first is that of System One, the others are those of chat servers.
const TOO_LONG: [&str; 12] = [
    "max_tokens_exceeded",
    "context exceeded",
    "context_exceeded",
    "context_length_exceeded",
    "contextwindowexceedederror",
    "exceed_context_size",
    "exceeds the context",
    "exceeds the available context",
    "maximum context length",
    "context window",
    "prompt is too long",
    "input is too long",
];
/// Words that say that no money is left.
const NO_BUDGET: [&str; 4] = [
    "budget_exceeded",
    "budget has been exceeded",
    "exceeded budget",
    "insufficient_quota",
];
/// Words that say that the content was refused.
const REFUSED: [&str; 6] = [
    "content_filter",
    "responsibleaipolicyviolation",
    "content management policy",
    "content_policy_violation",
    "contentpolicyviolationerror",
    "guardrail_intervened",
];
/// Words that say that a parameter is not taken.
const UNSUPPORTED: [&str; 12] = [
    "unsupported",
    "not support",
    "unknown_parameter",
    "unknown parameter",
    "unknown field",
    "unrecognized",
    "extra_forbidden",
    "not permitted",
    "not allowed",
    "not available",
    "unexpected",
    "deprecated",
];

/// What the body of an error says, in lower case; it has no `Debug`, so that it is not shown by mistake.
#[derive(Default)]
pub(in crate::judge) struct ErrorBody {
    /// Codes and types, the inner ones too.
    codes: Vec<String>,
    /// The parameter that it is about.
    param: Option<String>,
    /// The places of violations, name by name.
    places: Vec<String>,
    /// The beginnings of messages.
    messages: Vec<String>,
}

impl ErrorBody {
    /// Reads the body of an error.
    pub(in crate::judge) fn read(body: &[u8]) -> Self {
        let mut found = Self::default();
        match serde_json::from_slice::<Value>(body) {
            Ok(Value::String(text)) => found.messages.push(beginning(&text)),
            Ok(value) => found.look_into(&value, 0),
            Err(_) => {
                let start = &body[..body.len().min(4 * MESSAGE_LENGTH)];
                found
                    .messages
                    .push(beginning(&String::from_utf8_lossy(start)));
            }
        }
        found
    }

    /// What its words mean, whatever the status is that it came with.
    ///
    /// No money at the service or at a proxy is [`FailureReason::Budget`]: another attempt cannot help, and the judge is
    /// not broken.
    pub(in crate::judge) fn meaning(&self, status: u16) -> Option<(FailureReason, &'static str)> {
        if self.is_too_long() {
            let what = "the trace is over the judge's context";
            Some((FailureReason::TooLong, what))
        } else if status == 402 || self.has(&NO_BUDGET) {
            let what = "the account has no budget left";
            Some((FailureReason::Budget, what))
        } else if status < 500 && self.is_refusal() {
            let what = "a content filter refused the trace";
            Some((FailureReason::Refused, what))
        } else {
            None
        }
    }

    /// The status that it names as a code of its own.
    pub(in crate::judge) fn status(&self) -> Option<u16> {
        let mut codes = self.codes.iter().filter_map(|code| code.parse().ok());
        codes.find(|code| (400..600).contains(code))
    }

    /// The first of its codes that is one of our words.
    pub(super) fn known_code(&self) -> Option<&'static str> {
        let ours = |code: &String| {
            let mut known = KNOWN_CODES.into_iter();
            known.find(|known| known.eq_ignore_ascii_case(code))
        };
        self.codes.iter().find_map(ours)
    }

    /// Whether it says that something is not taken.
    pub(in crate::judge) fn is_unsupported(&self) -> bool {
        self.has(&UNSUPPORTED)
    }

    /// Whether it is about the trace and not about how it was asked for.
    pub(in crate::judge) fn is_about_the_trace(&self) -> bool {
        self.is_too_long() || self.is_refusal()
    }

    /// Whether it blames this parameter, whatever is wrong with it.
    pub(in crate::judge) fn blames(&self, parameter: &str) -> bool {
        let named = self.param.as_deref().map(root);
        named == Some(parameter) || self.places.iter().any(|place| place == parameter)
    }

    /// Where it names a parameter: 0 if it blames it, else its place in the messages unless it blames another one.
    pub(in crate::judge) fn place_of(&self, parameter: &str) -> Option<usize> {
        if self.blames(parameter) {
            return Some(0);
        }
        if self.param.is_some() {
            return None;
        }
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut before = 1;
        for text in &self.messages {
            let mut places = text.match_indices(parameter);
            let whole = places.find(|(at, name)| {
                !text[..*at].ends_with(is_name) && !text[at + name.len()..].starts_with(is_name)
            });
            if let Some((at, _)) = whole {
                return Some(before + at);
            }
            before += text.len();
        }
        None
    }

    fn is_too_long(&self) -> bool {
        self.has(&TOO_LONG)
    }

    fn is_refusal(&self) -> bool {
        self.has(&REFUSED)
    }

    fn has(&self, phrases: &[&str]) -> bool {
        let mut words = self.codes.iter().chain(&self.messages);
        words.any(|text| phrases.iter().any(|phrase| text.contains(phrase)))
    }

    fn look_into(&mut self, value: &Value, depth: usize) {
        let Some(members) = value.as_object().filter(|_| depth <= MAX_DEPTH) else {
            return;
        };
        let member = |name: &str| members.get(name);
        // What is within says more than what is around it.
        for name in ["innererror", "inner_error"] {
            member(name)
                .into_iter()
                .for_each(|inner| self.look_into(inner, depth + 1));
        }
        for name in ["code", "error_code", "type", "error_type", "status"] {
            match member(name) {
                Some(Value::String(code)) => self.codes.push(beginning(code)),
                Some(Value::Number(code)) => self.codes.push(code.to_string()),
                _ => {}
            }
        }
        if let Some(Value::String(param)) = member("param") {
            self.param.get_or_insert_with(|| beginning(param));
        }
        // The place of a violation: `["body", "temperature"]`.
        let places = member("loc")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let places = places.take(MAX_ENTRIES).filter_map(Value::as_str);
        self.places.extend(places.map(beginning));
        for name in ["error", "message", "msg", "detail", "errors"] {
            match member(name) {
                Some(Value::String(text)) => self.messages.push(beginning(text)),
                Some(Value::Array(list)) => list
                    .iter()
                    .take(MAX_ENTRIES)
                    .for_each(|entry| self.look_into(entry, depth + 1)),
                Some(inner) => self.look_into(inner, depth + 1),
                None => {}
            }
        }
    }
}

/// The beginning of a text, in lower case.
fn beginning(text: &str) -> String {
    let start: String = text.chars().take(MESSAGE_LENGTH).collect();
    start.to_lowercase()
}

/// The parameter of a path into it.
fn root(param: &str) -> &str {
    param.split(['.', '[']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
