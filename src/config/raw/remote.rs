//! A judge over HTTP as it is written: the keys of all types together; which of them a type has is checked before.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::judge::remote::Layout;
use crate::judge::view::Field;

/// The tag was read before; it is named here so that it is a known key.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Remote {
    #[serde(rename = "type")]
    _tag: IgnoredAny,
    pub(in crate::config) base_url: Option<String>,
    pub(in crate::config) insecure_http: Option<bool>,
    pub(in crate::config) path: Option<String>,
    pub(in crate::config) model: Option<String>,
    pub(in crate::config) expect_model: Option<String>,
    pub(in crate::config) api_key_env: Option<String>,
    pub(in crate::config) api_key_file: Option<String>,
    pub(in crate::config) auth: Option<String>,
    pub(in crate::config) headers: BTreeMap<String, Header>,
    pub(in crate::config) extra_body: toml::Table,
    pub(in crate::config) max_state_tokens: Option<i64>,
    pub(in crate::config) send_fields: Option<Vec<Field>>,
    pub(in crate::config) redact: Vec<String>,
    pub(in crate::config) cache: Option<bool>,
    pub(in crate::config) roots: Option<String>,
    pub(in crate::config) timeout_ms: Option<i64>,
    pub(in crate::config) attempt_timeout_ms: Option<i64>,
    pub(in crate::config) max_response_bytes: Option<i64>,
    pub(in crate::config) statements: Option<bool>,
    pub(in crate::config) max_statements: Option<i64>,
    pub(in crate::config) layout: Option<Layout>,
    pub(in crate::config) min_label_mass: Option<f64>,
    pub(in crate::config) max_output_tokens: Option<i64>,
    pub(in crate::config) retry: Retry,
    pub(in crate::config) breaker: Breaker,
    pub(in crate::config) rate: Rate,
    pub(in crate::config) concurrency: Concurrency,
    pub(in crate::config) spend: Spend,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Retry {
    pub(in crate::config) max_attempts: Option<i64>,
    pub(in crate::config) budget_share: Option<f64>,
    pub(in crate::config) base_delay_ms: Option<i64>,
    pub(in crate::config) max_delay_ms: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Breaker {
    pub(in crate::config) failure_count: Option<i64>,
    pub(in crate::config) open_ms: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Rate {
    pub(in crate::config) requests_per_minute: Option<i64>,
    pub(in crate::config) tokens_per_minute: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Concurrency {
    pub(in crate::config) max_in_flight: Option<i64>,
    pub(in crate::config) max_queued: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Spend {
    pub(in crate::config) usd_per_minute: Option<f64>,
    pub(in crate::config) usd_per_day: Option<f64>,
    pub(in crate::config) calls_per_minute: Option<i64>,
    pub(in crate::config) calls_per_day: Option<i64>,
}

/// The value of a header: itself, or where the secret is.
pub(in crate::config) enum Header {
    Literal(String),
    Env(String),
    File(String),
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By hand, because an untagged enum would lose which key of the table is wrong.
        deserializer.deserialize_any(HeaderVisitor)
    }
}

struct HeaderVisitor;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Reference {
    env: Option<String>,
    file: Option<String>,
}

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, `{ env = \"NAME\" }` or `{ file = \"PATH\" }`")
    }

    fn visit_str<E>(self, text: &str) -> Result<Header, E> {
        Ok(Header::Literal(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Header, A::Error> {
        match Reference::deserialize(MapAccessDeserializer::new(map))? {
            Reference {
                env: Some(env),
                file: None,
            } => Ok(Header::Env(env)),
            Reference {
                env: None,
                file: Some(file),
            } => Ok(Header::File(file)),
            _ => Err(A::Error::custom("needs one of `env` and `file`")),
        }
    }
}
