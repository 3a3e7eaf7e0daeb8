//! The sections of fixed names but for the listeners: limits, time, pricing, spend, cache and log.

use std::error::Error as _;

use super::reader::Reader;
use super::{Config, raw};
use crate::telemetry::logging::check_filter;

/// The names of all sections.
const SECTIONS: [&str; 10] = [
    "server", "admin", "limits", "time", "judges", "profiles", "pricing", "spend", "cache", "log",
];

/// The longest time for a part of a call.
pub(super) const TEN_MINUTES_MS: i64 = 600_000;
/// The longest life of a connection.
pub(super) const WEEK_MS: i64 = 604_800_000;
pub(super) fn unknown(reader: &mut Reader<'_, '_>) {
    for key in reader.sources.root().keys() {
        let name: &str = key.get_ref();
        if !SECTIONS.contains(&name) {
            let known = SECTIONS.map(|section| format!("`{section}`")).join(", ");
            let message = format!("unknown key `{name}`, expected one of {known}");
            reader.problem(&[name], message);
        }
    }
}

pub(super) fn limits(reader: &mut Reader<'_, '_>, config: &mut Config) {
    let Some(limits) = reader.section::<raw::Limits>(&["limits"]) else {
        return;
    };
    reader.number(
        &["limits", "max_in_flight_traces"],
        limits.max_in_flight_traces,
        1..=65_536,
        &mut config.server.max_in_flight_traces,
    );
    reader.number(
        &["limits", "max_receiving_bytes"],
        limits.max_receiving_bytes,
        1..=68_719_476_736,
        &mut config.server.max_receiving_bytes,
    );
    let message = config.server.max_message_bytes;
    if config.server.max_receiving_bytes < message {
        let problem = format!("must not be less than server.max_message_bytes, {message}");
        reader.problem(&["limits", "max_receiving_bytes"], problem);
    }
    reader.number(
        &["limits", "max_chunk_count"],
        limits.max_chunk_count,
        1..=4_096,
        &mut config.limits.max_chunk_count,
    );
    reader.number(
        &["limits", "max_text_bytes"],
        limits.max_text_bytes,
        1..=67_108_864,
        &mut config.limits.max_text_bytes,
    );
    reader.number(
        &["limits", "max_history_turns"],
        limits.max_history_turns,
        1..=4_096,
        &mut config.limits.max_history_turns,
    );
}

pub(super) fn time(reader: &mut Reader<'_, '_>, config: &mut Config) {
    let Some(time) = reader.section::<raw::Time>(&["time"]) else {
        return;
    };
    let options = &mut config.time;
    for (key, written, slot) in [
        ("deadline_ms", time.deadline_ms, &mut options.deadline),
        (
            "reply_reserve_ms",
            time.reply_reserve_ms,
            &mut options.reply_reserve,
        ),
        (
            "atomic_timeout_ms",
            time.atomic_timeout_ms,
            &mut options.atomic_timeout,
        ),
        (
            "fallback_min_ms",
            time.fallback_min_ms,
            &mut options.fallback_min,
        ),
    ] {
        reader.millis(&["time", key], written, TEN_MINUTES_MS, slot);
    }
}

pub(super) fn pricing(reader: &mut Reader<'_, '_>, config: &mut Config) {
    let pricing = reader.section::<raw::Pricing>(&["pricing"]);
    if let Some(file) = pricing.and_then(|pricing| pricing.file) {
        config.pricing_file = Some(reader.file(&["pricing", "file"], &file));
    }
}

pub(super) fn spend(reader: &mut Reader<'_, '_>, config: &mut Config) {
    let Some(spend) = reader.section::<raw::Spend>(&["spend"]) else {
        return;
    };
    reader.number(
        &["spend", "fleet_size"],
        spend.fleet_size,
        1..=100_000,
        &mut config.spend.fleet_size,
    );
    if let Some(file) = spend.state_file {
        config.spend.state_file = Some(reader.file(&["spend", "state_file"], &file));
    }
}

pub(super) fn cache(reader: &mut Reader<'_, '_>, config: &mut Config) {
    let Some(cache) = reader.section::<raw::Cache>(&["cache"]) else {
        return;
    };
    config.cache.enabled = cache.enabled.unwrap_or(config.cache.enabled);
    reader.millis(
        &["cache", "ttl_ms"],
        cache.ttl_ms,
        WEEK_MS,
        &mut config.cache.options.ttl,
    );
    reader.number(
        &["cache", "max_bytes"],
        cache.max_bytes,
        1_024..=68_719_476_736,
        &mut config.cache.options.max_bytes,
    );
}

pub(super) fn log(reader: &mut Reader<'_, '_>, config: &mut Config) {
    let Some(log) = reader.section::<raw::Log>(&["log"]) else {
        return;
    };
    config.log.format = log.format.unwrap_or(config.log.format);
    if let Some(filter) = log.filter {
        if let Err(error) = check_filter(&filter) {
            let cause = error.source().map(|cause| format!(": {cause}"));
            let message = format!("{error}{}", cause.unwrap_or_default());
            reader.problem(&["log", "filter"], message);
        }
        config.log.filter = filter;
    }
}
