//! The sections as they are written: every key optional, numbers unchecked.

pub(super) mod remote;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::cascade::profile::{FallbackMode, OnAtomicError};
use crate::domain::dimension::Dimension;
use crate::domain::outcome::Enforcement;
use crate::judge::replay::ReplayMatch;
use crate::telemetry::logging::LogFormat;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Server {
    pub(super) listen: Option<String>,
    pub(super) uds: Option<String>,
    pub(super) uds_mode: Option<String>,
    pub(super) http_listen: Option<String>,
    pub(super) insecure_bind: Option<bool>,
    pub(super) shutdown_grace_ms: Option<i64>,
    pub(super) max_connection_count: Option<i64>,
    pub(super) max_connections_per_peer: Option<i64>,
    pub(super) max_connection_age_ms: Option<i64>,
    pub(super) first_byte_timeout_ms: Option<i64>,
    pub(super) max_message_bytes: Option<i64>,
    pub(super) reflection: Option<bool>,
    pub(super) tls: Option<Tls>,
    pub(super) auth: Option<Auth>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Tls {
    pub(super) cert_file: Option<String>,
    pub(super) key_file: Option<String>,
    pub(super) client_ca_file: Option<String>,
    pub(super) allowed_sans: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Auth {
    pub(super) token_file: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Admin {
    pub(super) listen: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Limits {
    pub(super) max_in_flight_traces: Option<i64>,
    pub(super) max_receiving_bytes: Option<i64>,
    pub(super) max_chunk_count: Option<i64>,
    pub(super) max_text_bytes: Option<i64>,
    pub(super) max_history_turns: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Time {
    pub(super) deadline_ms: Option<i64>,
    pub(super) reply_reserve_ms: Option<i64>,
    pub(super) atomic_timeout_ms: Option<i64>,
    pub(super) fallback_min_ms: Option<i64>,
}

/// The tag was read before; it is named here so that it is a known key.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Embedded {
    #[serde(rename = "type")]
    _tag: IgnoredAny,
    pub(super) clamp: Option<[f64; 2]>,
    pub(super) detect_abstention: Option<bool>,
}

/// The tag was read before; it is named here so that it is a known key.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Onnx {
    #[serde(rename = "type")]
    _tag: IgnoredAny,
    pub(super) dir: Option<String>,
    pub(super) clamp: Option<[f64; 2]>,
}

/// The tag was read before; it is named here so that it is a known key.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Replay {
    #[serde(rename = "type")]
    _tag: IgnoredAny,
    pub(super) file: Option<String>,
    pub(super) model: Option<String>,
    #[serde(rename = "match")]
    pub(super) matching: Option<ReplayMatch>,
    pub(super) simulate_latency: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Profile {
    pub(super) atomic: Option<Atomic>,
    pub(super) fallback: Option<String>,
    pub(super) fallback_mode: Option<FallbackMode>,
    pub(super) on_atomic_error: Option<OnAtomicError>,
    pub(super) policy: Option<String>,
    pub(super) enforcement: Option<Enforcement>,
    pub(super) enforce_share: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Pricing {
    pub(super) file: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Spend {
    pub(super) fleet_size: Option<i64>,
    pub(super) state_file: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Cache {
    pub(super) enabled: Option<bool>,
    pub(super) ttl_ms: Option<i64>,
    pub(super) max_bytes: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Log {
    pub(super) filter: Option<String>,
    pub(super) format: Option<LogFormat>,
}

/// The atomic judges: one, or one for each dimension.
pub(super) enum Atomic {
    One(String),
    ByDimension(BTreeMap<Dimension, String>),
}

impl<'de> Deserialize<'de> for Atomic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By hand, because an untagged enum would lose which key of the table is wrong.
        deserializer.deserialize_any(AtomicVisitor)
    }
}

struct AtomicVisitor;

impl<'de> Visitor<'de> for AtomicVisitor {
    type Value = Atomic;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a judge or a table of dimensions with such names")
    }

    fn visit_str<E>(self, name: &str) -> Result<Atomic, E> {
        Ok(Atomic::One(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Atomic, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Atomic::ByDimension)
    }
}
