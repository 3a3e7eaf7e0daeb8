//! What a request to a judge says besides its body, and which id comes back.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use reqwest::Url;

use super::transport::OnNewConnection;
use super::{Egress, Fault, Outgoing};
use crate::domain::failure::FailureReason;
use crate::judge::CallContext;

/// Where services put the id of a request.
const REQUEST_IDS: [&str; 4] = [
    "x-request-id",
    "x-typesafe-request-id",
    "request-id",
    "apim-request-id",
];
/// A longer id is not passed on.
const MAX_ID_BYTES: usize = 128;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

impl Egress {
    /// The request with everything that every judge is told.
    pub(super) fn request(
        &self,
        request: &Outgoing,
        context: &CallContext,
        secrets: HeaderMap,
        is_on_new_connection: bool,
    ) -> Result<Request<Bytes>, Fault> {
        let url = url(
            &self.options.base_url,
            request.path.as_deref().unwrap_or(&self.options.path),
        );
        let mut outgoing = Request::builder()
            .method(request.method.clone())
            .uri(url.as_str())
            .body(request.body.clone())
            .map_err(|_| {
                Fault::new(FailureReason::Protocol, "the URL of the judge is not valid")
            })?;
        let headers = outgoing.headers_mut();
        headers.insert(ACCEPT, JSON);
        if !request.body.is_empty() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        let parent = context
            .traceparent
            .as_deref()
            .filter(|text| is_traceparent(text));
        if let Some(Ok(parent)) = parent.map(HeaderValue::from_str) {
            headers.insert(TRACEPARENT, parent);
        }
        for (name, value) in &request.headers {
            headers.insert(name, value.clone());
        }
        for (name, value) in &secrets {
            headers.insert(name, value.clone());
        }
        if is_on_new_connection {
            outgoing.extensions_mut().insert(OnNewConnection);
        }
        Ok(outgoing)
    }
}

/// The base with the path behind its own, and with the query of both.
fn url(base: &Url, path: &str) -> Url {
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    let queries: Vec<&str> = base.query().into_iter().chain(query).collect();
    if !queries.is_empty() {
        url.set_query(Some(&queries.join("&")));
    }
    url
}

/// The id that the service gave the request, if it can be shown.
pub(super) fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = REQUEST_IDS.iter().find_map(|name| headers.get(*name))?;
    let id = id.to_str().ok()?;
    let is_plain = !id.is_empty()
        && id.len() <= MAX_ID_BYTES
        && id.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain.then(|| id.to_owned())
}

/// Whether this is a `traceparent` of version 00.
fn is_traceparent(text: &str) -> bool {
    let is_hex = |part: &str, length: usize| {
        part.len() == length
            && part
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_id = |part: &str, length| is_hex(part, length) && part.bytes().any(|byte| byte != b'0');
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts[..], ["00", trace, parent, flags]
        if is_id(trace, 32) && is_id(parent, 16) && is_hex(flags, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_judge_stands_behind_that_of_the_base() {
        let whole = |base: &str, path| url(&Url::parse(base).unwrap(), path).to_string();
        assert_eq!(whole("https://a.test", "/v1/x"), "https://a.test/v1/x");
        assert_eq!(whole("https://a.test/p/", "/v1/x"), "https://a.test/p/v1/x");
        assert_eq!(
            whole("http://a.test:8/p", "/x?api-version=1"),
            "http://a.test:8/p/x?api-version=1"
        );
        assert_eq!(
            whole("https://a.test/?k=1", "/x?y=2"),
            "https://a.test/x?k=1&y=2"
        );
    }

    #[test]
    fn only_a_traceparent_of_the_right_form_is_one() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(is_traceparent(good));
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ] {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }

    #[test]
    fn a_request_id_is_short_and_plain_or_none() {
        let id = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            request_id(&headers)
        };
        assert_eq!(
            id(&[("apim-request-id", "b"), ("request-id", "a")]).as_deref(),
            Some("a")
        );
        assert_eq!(id(&[("x-request-id", "two words")]), None);
        assert_eq!(id(&[("x-request-id", &"a".repeat(129))]), None);
        assert_eq!(id(&[]), None);
    }
}
