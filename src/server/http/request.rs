//! The head of a request: its form, its time-out, the profile it asks about.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};

use super::{JSON, Refusal};
use crate::domain::trace::{TraceError, Violation, ViolationReason};
use crate::rpc::status::CallError;

/// How long the caller waits, in milliseconds.
const TIMEOUT: &str = "x-timeout-ms";
/// The most digits of that; the deadline of the server is always shorter.
const MAX_TIMEOUT_DIGITS: usize = 8;

/// Refuses a body that is not said to be plain JSON.
pub(super) fn check_form(headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if !text(header::CONTENT_TYPE).is_some_and(is_json) {
        let detail = "the content type must be application/json, in UTF-8";
        return Err(unsupported(detail));
    }
    let is_plain = headers
        .get(header::CONTENT_ENCODING)
        .is_none_or(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if !is_plain {
        return Err(unsupported("the body must not be compressed"));
    }
    Ok(())
}

const fn unsupported(detail: &'static str) -> Refusal {
    Refusal::Exchange(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
}

fn is_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let is_json = parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case(JSON));
    is_json
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
                value.trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

/// How long the caller waits; `None` if it does not say.
pub(super) fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, CallError> {
    let mut values = headers.get_all(TIMEOUT).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let millis = value.to_str().ok().and_then(parse_millis);
    match (millis, values.next()) {
        (Some(millis), None) => Ok(Some(Duration::from_millis(millis))),
        _ => {
            let description = "must be one whole number of milliseconds from 1 to 99999999";
            Err(invalid(TIMEOUT, ViolationReason::WrongType, description))
        }
    }
}

fn parse_millis(text: &str) -> Option<u64> {
    let is_number = text.len() <= MAX_TIMEOUT_DIGITS && text.bytes().all(|c| c.is_ascii_digit());
    let millis = text.parse().ok().filter(|&millis: &u64| 0 < millis)?;
    is_number.then_some(millis)
}

/// The profile that a query names; the names of profiles need no percent-encoding.
pub(super) fn profile(query: Option<&str>) -> Result<&str, CallError> {
    let mut profile = None;
    let parameters = query.unwrap_or_default().split('&');
    for parameter in parameters.filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if name != "profile" {
            let description = "`profile` is the only parameter";
            return Err(invalid("query", ViolationReason::UnknownField, description));
        }
        if profile.replace(value).is_some() {
            let description = "is set more than once";
            return Err(invalid("profile", ViolationReason::Duplicate, description));
        }
    }
    Ok(profile.unwrap_or_default())
}

fn invalid(path: &str, reason: ViolationReason, description: &str) -> CallError {
    CallError::Invalid(TraceError(vec![Violation::new(path, reason, description)]))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn only_plain_json_in_utf8_is_taken() {
        for good in [
            "application/json",
            "Application/JSON",
            "application/json; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
            "application/json; profile=x",
        ] {
            assert!(check_form(&with("content-type", good)).is_ok(), "{good}");
        }
        for bad in [
            "",
            "text/json",
            "application/jsonx",
            "application/json; charset=latin1",
        ] {
            assert!(check_form(&with("content-type", bad)).is_err(), "{bad}");
        }
        assert!(check_form(&HeaderMap::new()).is_err());
        let mut gzip = with("content-type", "application/json");
        gzip.insert("content-encoding", HeaderValue::from_static("gzip"));
        assert!(check_form(&gzip).is_err());
    }

    #[test]
    fn a_timeout_is_a_whole_number_of_milliseconds() {
        assert_eq!(timeout(&HeaderMap::new()), Ok(None));
        for (text, millis) in [("1", 1), ("2500", 2500), ("99999999", 99_999_999)] {
            let read = timeout(&with(TIMEOUT, text));
            assert_eq!(read, Ok(Some(Duration::from_millis(millis))), "{text}");
        }
        for bad in ["", "0", "-1", "+1", "1.5", "1s", "100000000", " 1 2"] {
            assert!(timeout(&with(TIMEOUT, bad)).is_err(), "{bad}");
        }
        let mut twice = with(TIMEOUT, "1");
        twice.append(TIMEOUT, HeaderValue::from_static("2"));
        assert!(timeout(&twice).is_err());
    }

    #[test]
    fn a_query_names_one_profile_or_none() {
        for (query, name) in [(None, ""), (Some(""), ""), (Some("profile=a-1"), "a-1")] {
            assert_eq!(profile(query), Ok(name));
        }
        for bad in ["profile=a&profile=b", "policy=a", "profile=a&x"] {
            assert!(profile(Some(bad)).is_err(), "{bad}");
        }
    }
}
