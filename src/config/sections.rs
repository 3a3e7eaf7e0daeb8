//! The sections of fixed names: server, admin, limits, time, pricing and log.

use std::error::Error as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::reader::Reader;
use super::{Config, raw};
use crate::server::options::Listen;
use crate::telemetry::logging::check_filter;

/// The names of all sections.
const SECTIONS: [&str; 10] = [
    "server", "admin", "limits", "time", "judges", "profiles", "pricing", "spend", "cache", "log",
];

/// The longest time for a part of a call.
const TEN_MINUTES_MS: i64 = 600_000;
/// The longest life of a connection.
const WEEK_MS: i64 = 604_800_000;
/// The permissions of a Unix socket: its owner and group.
const UDS_MODE: u32 = 0o660;
/// No bits but those for reading, writing and executing.
const MAX_UDS_MODE: u32 = 0o777;

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

pub(super) fn server(reader: &mut Reader<'_, '_>, config: &mut Config) {
    let written = reader.section::<raw::Server>(&["server"]);
    let admin = reader.section::<raw::Admin>(&["admin"]).unwrap_or_default();
    let admin_path = ["admin", "listen"];
    reader.address(
        &admin_path,
        admin.listen.as_deref(),
        &mut config.admin.listen,
    );
    // What a section that cannot be read says about `insecure_bind` is not known.
    let Some(server) = written else { return };
    config.insecure_bind = server.insecure_bind.unwrap_or(config.insecure_bind);
    loopback(
        reader,
        &admin_path,
        config.admin.listen,
        config.insecure_bind,
    );
    listen(reader, &server, config);
    http_listen(reader, server.http_listen.as_deref(), config);

    let options = &mut config.server;
    reader.millis(
        &["server", "shutdown_grace_ms"],
        server.shutdown_grace_ms,
        TEN_MINUTES_MS,
        &mut options.shutdown_grace,
    );
    reader.number(
        &["server", "max_connection_count"],
        server.max_connection_count,
        1..=1_000_000,
        &mut options.max_connection_count,
    );
    let mut age = Duration::ZERO;
    reader.millis(
        &["server", "max_connection_age_ms"],
        server.max_connection_age_ms,
        WEEK_MS,
        &mut age,
    );
    options.max_connection_age = (!age.is_zero()).then_some(age);
    reader.millis(
        &["server", "first_byte_timeout_ms"],
        server.first_byte_timeout_ms,
        TEN_MINUTES_MS,
        &mut options.first_byte_timeout,
    );
    reader.number(
        &["server", "max_message_bytes"],
        server.max_message_bytes,
        1..=268_435_456,
        &mut options.max_message_bytes,
    );
    options.reflection = server.reflection.unwrap_or(options.reflection);
}

fn listen(reader: &mut Reader<'_, '_>, server: &raw::Server, config: &mut Config) {
    let path = ["server", "listen"];
    if let Listen::Tcp(address) = &mut config.server.listen {
        reader.address(&path, server.listen.as_deref(), address);
        loopback(reader, &path, *address, config.insecure_bind);
    }
    let mode = uds_mode(reader, server.uds_mode.as_deref());
    let Some(uds) = &server.uds else {
        if server.uds_mode.is_some() {
            reader.warning(&["server", "uds_mode"], "has no effect without server.uds");
        }
        return;
    };
    let uds_path = ["server", "uds"];
    if uds.is_empty() {
        reader.problem(&uds_path, "must not be empty");
    }
    if server.listen.is_some() {
        let place = reader.sources.origin(reader.sources.offset(&path));
        reader.problem(
            &uds_path,
            format!("`{uds}` and server.listen ({place}) are both set; leave one out"),
        );
    }
    config.server.listen = Listen::Unix {
        path: PathBuf::from(uds),
        mode,
    };
}

fn http_listen(reader: &mut Reader<'_, '_>, written: Option<&str>, config: &mut Config) {
    let path = ["server", "http_listen"];
    // It stays when what is written is no address.
    let mut address = SocketAddr::from(([127, 0, 0, 1], 0));
    reader.address(&path, written, &mut address);
    loopback(reader, &path, address, config.insecure_bind);
    config.server.http_listen = written.map(|_| address);
}

fn uds_mode(reader: &mut Reader<'_, '_>, written: Option<&str>) -> u32 {
    let Some(text) = written else { return UDS_MODE };
    let digits = text.bytes().all(|c| matches!(c, b'0'..=b'7'));
    match u32::from_str_radix(text, 8) {
        Ok(mode) if digits && mode <= MAX_UDS_MODE => mode,
        _ => {
            let message = format!("`{text}` must be octal digits from `0` to `0777`");
            reader.problem(&["server", "uds_mode"], message);
            UDS_MODE
        }
    }
}

fn loopback(reader: &mut Reader<'_, '_>, path: &[&str], address: SocketAddr, insecure: bool) {
    if !insecure && !address.ip().to_canonical().is_loopback() {
        reader.problem(
            path,
            format!(
                "`{address}` is not a loopback address and there is no TLS; \
                 to accept that, set server.insecure_bind or --insecure-bind"
            ),
        );
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
