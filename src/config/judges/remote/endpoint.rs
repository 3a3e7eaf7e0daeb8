//! Where a judge is, how it is paid for with a key, and how often it is asked.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{HeaderName, HeaderValue};

use super::{MANY_TOKENS, secret};
use crate::config::raw::remote::{Header, Remote};
use crate::config::reader::Reader;
use crate::domain::probability::Probability;
use crate::judge::remote::{
    Auth, BreakerOptions, ConcurrencyOptions, EndpointOptions, HeaderSource, RateOptions,
    RetryOptions, Roots, SecretSource, Url, Wire,
};

/// The longest time for a call to a judge.
const TEN_MINUTES_MS: i64 = 600_000;
/// Headers that belong to the connection or that the request sets by itself.
const OUR_HEADERS: [&str; 15] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What holds unless the configuration says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_RESPONSE_BYTES: usize = 1_024 * 1_024;
const BUDGET_SHARE: f64 = 0.1;

/// Reads all of it; `None` if there is no place to go to.
pub(super) fn endpoint(
    reader: &mut Reader<'_, '_>,
    name: &str,
    wire: Wire,
    written: &Remote,
) -> Option<EndpointOptions> {
    let base_url = base_url(reader, name, written);
    let api_key = api_key(reader, name, written);
    let auth = auth(reader, name, wire, api_key.is_some(), written);
    let headers = headers(reader, name, &auth, &written.headers);
    let roots = roots(reader, name, written.roots.as_deref());
    let (timeout, attempt_timeout) = times(reader, name, written);
    let mut max_response_bytes = MAX_RESPONSE_BYTES;
    reader.number(
        &["judges", name, "max_response_bytes"],
        written.max_response_bytes,
        1_024..=268_435_456,
        &mut max_response_bytes,
    );
    let retry = retry(reader, name, written)?;
    let breaker = breaker(reader, name, written);
    let rate = RateOptions {
        requests_per_minute: reader.optional(
            &["judges", name, "rate", "requests_per_minute"],
            written.rate.requests_per_minute,
            1..=10_000_000,
        ),
        tokens_per_minute: reader.optional(
            &["judges", name, "rate", "tokens_per_minute"],
            written.rate.tokens_per_minute,
            1..=MANY_TOKENS,
        ),
    };
    let concurrency = concurrency(reader, name, written);
    let path = path(reader, name, wire, written, base_url.as_ref());
    let mut base_url = base_url?;
    if written.path.is_none() {
        without_version(&mut base_url);
    }
    Some(EndpointOptions {
        base_url,
        path,
        auth,
        api_key,
        headers,
        roots,
        timeout,
        attempt_timeout,
        max_response_bytes,
        retry,
        breaker,
        rate,
        concurrency,
    })
}

/// Whether a host is this machine.
pub(in crate::config) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    // Where a name below `localhost` leads is up to DNS.
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// An URL is told without its credentials, so most messages do not repeat it.
fn base_url(reader: &mut Reader<'_, '_>, name: &str, written: &Remote) -> Option<Url> {
    let path = ["judges", name, "base_url"];
    let Some(text) = &written.base_url else {
        reader.problem(&path, "missing; such as `https://api.example.com`");
        return None;
    };
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => {
            reader.problem(&path, format!("is not a URL: {error}"));
            return None;
        }
    };
    let host = url.host_str().unwrap_or_default();
    let insecure = written.insecure_http.unwrap_or(false);
    let problem = match url.scheme() {
        "https" | "http" if host.is_empty() => Some("names no host".to_owned()),
        "https" | "http" if !url.username().is_empty() || url.password().is_some() => {
            Some("must not hold credentials; `api_key_env` or `api_key_file` names them".to_owned())
        }
        "https" | "http" if url.query().is_some() || url.fragment().is_some() => {
            Some("must not hold a query or a fragment; a query belongs to `path`".to_owned())
        }
        "https" | "http" if url.port() == Some(0) => Some("port 0 is nowhere".to_owned()),
        "http" if !insecure && !is_loopback(&url) => Some(format!(
            "`http://{host}` is neither https nor on this machine; to send traces and the key in clear text, \
             set insecure_http"
        )),
        "https" | "http" => None,
        other => Some(format!(
            "`{other}` must be `https`, or `http` on this machine"
        )),
    };
    match problem {
        Some(problem) => {
            reader.problem(&path, problem);
            None
        }
        None => Some(url),
    }
}

/// A base URL that ends in `/v1`, as many are given, is not given a second one.
fn without_version(url: &mut Url) {
    let path = url.path().trim_end_matches('/');
    if let Some(path) = path.strip_suffix("/v1") {
        let path = path.to_owned();
        url.set_path(&path);
    }
}

const fn default_path(wire: Wire) -> &'static str {
    match wire {
        Wire::SystemOne => "/v1/systemone",
        Wire::OpenAiDecisions => "/v1/decisions",
        Wire::OpenAiLogprobs { .. } | Wire::Chat { .. } => "/v1/chat/completions",
        Wire::Anthropic { .. } => "/v1/messages",
    }
}

fn path(
    reader: &mut Reader<'_, '_>,
    name: &str,
    wire: Wire,
    written: &Remote,
    base_url: Option<&Url>,
) -> String {
    let Some(path) = &written.path else {
        return default_path(wire).to_owned();
    };
    let key = ["judges", name, "path"];
    if !path.starts_with('/') || path.starts_with("//") {
        reader.problem(&key, format!("`{path}` must begin with one `/`"));
    } else if path.contains('#') || path.chars().any(|c| c.is_whitespace() || c.is_control()) {
        reader.problem(&key, "must not hold a fragment or blanks");
    } else if climbs(path) {
        reader.problem(&key, "must not hold `.` or `..` as a segment, or a `\\`");
    }
    let joined = base_url.and_then(|base| base.join(path).ok());
    let mut parts = joined.iter().flat_map(Url::query_pairs);
    if let Some((part, _)) = parts.find(|(part, _)| secret::is_in_query(part)) {
        let message =
            format!("`{part}` in its query looks like a secret; send it by `auth` or `headers`");
        reader.problem(&key, message);
    }
    path.clone()
}

/// Whether a path leads elsewhere than it says, below another part of the base URL or above it.
fn climbs(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let plain = path.to_ascii_lowercase().replace("%2e", ".");
    plain.contains('\\') || plain.split('/').any(|part| matches!(part, "." | ".."))
}

fn api_key(reader: &mut Reader<'_, '_>, name: &str, written: &Remote) -> Option<SecretSource> {
    let (env_path, file_path) = (
        ["judges", name, "api_key_env"],
        ["judges", name, "api_key_file"],
    );
    if let Some(variable) = &written.api_key_env {
        reader.variable(&env_path, variable);
    }
    let file = written
        .api_key_file
        .as_deref()
        .map(|file| reader.file(&file_path, file));
    match (&written.api_key_env, file) {
        (Some(_), Some(_)) => {
            let message = "api_key_env and api_key_file are both set; leave one out";
            reader.problem(&file_path, message);
            None
        }
        (Some(variable), None) => Some(SecretSource::Env(variable.clone())),
        (None, Some(file)) => Some(SecretSource::File(file)),
        (None, None) => None,
    }
}

fn auth(
    reader: &mut Reader<'_, '_>,
    name: &str,
    wire: Wire,
    has_key: bool,
    written: &Remote,
) -> Auth {
    let path = ["judges", name, "auth"];
    let has_key = has_key || (written.api_key_env.is_some() && written.api_key_file.is_some());
    let auth = match written.auth.as_deref() {
        None if !has_key => return Auth::None,
        None => match wire {
            Wire::Anthropic { .. } => Auth::Header("x-api-key".to_owned()),
            Wire::SystemOne
            | Wire::OpenAiDecisions
            | Wire::OpenAiLogprobs { .. }
            | Wire::Chat { .. } => Auth::Bearer,
        },
        Some("none") => {
            if has_key {
                reader.warning(&path, "a key is set and `none` does not send it");
            }
            return Auth::None;
        }
        Some("bearer") => Auth::Bearer,
        Some(header) => Auth::Header(auth_header(reader, &path, header)),
    };
    if !has_key {
        reader.problem(&path, "needs api_key_env or api_key_file");
    }
    auth
}

fn auth_header(reader: &mut Reader<'_, '_>, path: &[&str], written: &str) -> String {
    let header = written.to_ascii_lowercase();
    let is_bare = header == "authorization";
    let is_name =
        HeaderName::from_bytes(header.as_bytes()).is_ok() && !secret::is_like_a_key(&header);
    if !is_name || (is_ours(&header) && !is_bare) {
        // What stands here by mistake may be the key itself.
        reader.problem(
            path,
            "must be `bearer`, `none` or the name of a header such as `api-key`",
        );
    }
    header
}

fn is_ours(header: &str) -> bool {
    OUR_HEADERS.contains(&header) || header.starts_with("content-")
}

fn headers(
    reader: &mut Reader<'_, '_>,
    name: &str,
    auth: &Auth,
    written: &BTreeMap<String, Header>,
) -> BTreeMap<String, HeaderSource> {
    let mut headers = BTreeMap::new();
    for (written_name, value) in written {
        let path = ["judges", name, "headers", written_name];
        let header = written_name.to_ascii_lowercase();
        if HeaderName::from_bytes(header.as_bytes()).is_err() {
            reader.problem(
                &path,
                format!("`{written_name}` is not the name of a header"),
            );
        } else if is_ours(&header) {
            let message = format!("`{written_name}` cannot be set; for a key there is `auth`");
            reader.problem(&path, message);
        } else if *auth == Auth::Header(header.clone()) {
            reader.problem(&path, "carries the key already, as `auth` says");
        }
        let source = match value {
            Header::Env(variable) => {
                reader.variable(&path, variable);
                HeaderSource::Secret(SecretSource::Env(variable.clone()))
            }
            Header::File(file) => {
                HeaderSource::Secret(SecretSource::File(reader.file(&path, file)))
            }
            Header::Literal(text) => {
                if secret::is_header(&header) || secret::is_in_header(text) {
                    reader.problem(
                        &path,
                        "looks like a secret; write `{ env = \"NAME\" }` or `{ file = \"PATH\" }`",
                    );
                } else if HeaderValue::from_str(text).is_err() {
                    reader.problem(&path, "must be printable ASCII");
                }
                HeaderSource::Literal(text.clone())
            }
        };
        if headers.insert(header, source).is_some() {
            reader.problem(&path, "is set twice; letters of both cases are the same");
        }
    }
    headers
}

fn roots(reader: &mut Reader<'_, '_>, name: &str, written: Option<&str>) -> Roots {
    match written {
        None | Some("bundled") => Roots::Bundled,
        Some("system") => Roots::System,
        Some(file) => Roots::File(reader.file(&["judges", name, "roots"], file)),
    }
}

fn times(reader: &mut Reader<'_, '_>, name: &str, written: &Remote) -> (Duration, Duration) {
    let mut timeout = TIMEOUT;
    let path = ["judges", name, "timeout_ms"];
    reader.millis(&path, written.timeout_ms, TEN_MINUTES_MS, &mut timeout);
    let mut attempt_timeout = ATTEMPT_TIMEOUT.min(timeout);
    let path = ["judges", name, "attempt_timeout_ms"];
    let written = written.attempt_timeout_ms;
    reader.millis(&path, written, TEN_MINUTES_MS, &mut attempt_timeout);
    if timeout < attempt_timeout {
        let (attempt, all) = (attempt_timeout.as_millis(), timeout.as_millis());
        reader.problem(
            &path,
            format!("`{attempt}` must not be above timeout_ms = `{all}`"),
        );
    }
    (timeout, attempt_timeout)
}

fn retry(reader: &mut Reader<'_, '_>, name: &str, written: &Remote) -> Option<RetryOptions> {
    let path = |key| ["judges", name, "retry", key];
    let written = &written.retry;
    let mut retry = RetryOptions {
        max_attempts: 2,
        budget_share: Probability::try_from(BUDGET_SHARE).ok()?,
        base_delay: Duration::from_millis(50),
        max_delay: Duration::from_secs(1),
    };
    reader.number(
        &path("max_attempts"),
        written.max_attempts,
        1..=10,
        &mut retry.max_attempts,
    );
    reader.share(
        &path("budget_share"),
        written.budget_share,
        &mut retry.budget_share,
    );
    reader.millis(
        &path("base_delay_ms"),
        written.base_delay_ms,
        TEN_MINUTES_MS,
        &mut retry.base_delay,
    );
    reader.millis(
        &path("max_delay_ms"),
        written.max_delay_ms,
        TEN_MINUTES_MS,
        &mut retry.max_delay,
    );
    if retry.max_delay < retry.base_delay {
        let (base, max) = (retry.base_delay.as_millis(), retry.max_delay.as_millis());
        let message = format!("`{max}` must not be below base_delay_ms = `{base}`");
        reader.problem(&path("max_delay_ms"), message);
    }
    Some(retry)
}

fn breaker(reader: &mut Reader<'_, '_>, name: &str, written: &Remote) -> BreakerOptions {
    let mut breaker = BreakerOptions {
        failure_count: 5,
        open: Duration::from_secs(5),
    };
    reader.number(
        &["judges", name, "breaker", "failure_count"],
        written.breaker.failure_count,
        1..=1_000_000,
        &mut breaker.failure_count,
    );
    reader.millis(
        &["judges", name, "breaker", "open_ms"],
        written.breaker.open_ms,
        TEN_MINUTES_MS,
        &mut breaker.open,
    );
    breaker
}

fn concurrency(reader: &mut Reader<'_, '_>, name: &str, written: &Remote) -> ConcurrencyOptions {
    let mut concurrency = ConcurrencyOptions {
        max_in_flight: 64,
        max_queued: 256,
    };
    reader.number(
        &["judges", name, "concurrency", "max_in_flight"],
        written.concurrency.max_in_flight,
        1..=65_536,
        &mut concurrency.max_in_flight,
    );
    reader.number(
        &["judges", name, "concurrency", "max_queued"],
        written.concurrency.max_queued,
        0..=1_000_000,
        &mut concurrency.max_queued,
    );
    concurrency
}
