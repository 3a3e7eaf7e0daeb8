//! The effective configuration as TOML: every key, in a fixed order.
//!
//! What is printed loads to the same configuration again, from the same working directory if it names files by relative
//! paths; a key that is absent stands in a comment. Secrets are named and never held, so nothing is masked.

mod remote;

use std::fmt::{Display, Write as _};
use std::path::Path;
use std::time::Duration;

use super::Config;
use super::judges::JudgeConfig;
use super::profiles::{AtomicBinding, PolicyRef, ProfileConfig};
use crate::artifact::digest::sha256_hex;
use crate::domain::probability::Probability;
use crate::judge::embedded::Clamp;
use crate::server::options::{Listen, TlsOptions};

impl Config {
    /// The effective configuration.
    pub fn to_toml(&self) -> String {
        let mut out = Lines(String::new());
        self.print_server(&mut out);
        out.section("admin");
        out.text("listen", self.admin.listen);
        out.section("limits");
        out.line("max_in_flight_traces", self.server.max_in_flight_traces);
        out.line("max_receiving_bytes", self.server.max_receiving_bytes);
        out.line("max_chunk_count", self.limits.max_chunk_count);
        out.line("max_text_bytes", self.limits.max_text_bytes);
        out.line("max_history_turns", self.limits.max_history_turns);
        out.section("time");
        out.line("deadline_ms", self.time.deadline.as_millis());
        out.line("reply_reserve_ms", self.time.reply_reserve.as_millis());
        out.line("atomic_timeout_ms", self.time.atomic_timeout.as_millis());
        out.line("fallback_min_ms", self.time.fallback_min.as_millis());
        for (name, judge) in &self.judges {
            let section = format!("judges.{name}");
            out.section(&section);
            print_judge(&mut out, &section, judge);
        }
        for (name, profile) in &self.profiles {
            out.section(&format!("profiles.{name}"));
            print_profile(&mut out, profile);
        }
        out.section("pricing");
        out.optional("file", self.pricing_file.as_deref().map(path));
        out.section("spend");
        out.line("fleet_size", self.spend.fleet_size);
        out.optional("state_file", self.spend.state_file.as_deref().map(path));
        out.section("cache");
        out.line("enabled", self.cache.enabled);
        out.line("ttl_ms", self.cache.options.ttl.as_millis());
        out.line("max_bytes", self.cache.options.max_bytes);
        out.section("log");
        out.text("filter", &self.log.filter);
        out.text("format", self.log.format);
        out.0
    }

    /// SHA-256 of the effective configuration, hexadecimal.
    pub fn sha256(&self) -> String {
        sha256_hex(self.to_toml().as_bytes())
    }

    fn print_server(&self, out: &mut Lines) {
        let server = &self.server;
        out.section("server");
        match &server.listen {
            Listen::Tcp(address) => {
                out.text("listen", address);
                out.optional("uds", None::<&str>);
                out.optional("uds_mode", None::<&str>);
            }
            Listen::Unix { path: uds, mode } => {
                out.optional("listen", None::<&str>);
                out.line("uds", path(uds));
                out.text("uds_mode", format_args!("{mode:04o}"));
            }
        }
        out.optional("http_listen", server.http_listen.map(quoted));
        out.line("insecure_bind", self.insecure_bind);
        out.line("shutdown_grace_ms", server.shutdown_grace.as_millis());
        out.line("max_connection_count", server.max_connection_count);
        let per_peer = server.max_connections_per_peer;
        out.optional("max_connections_per_peer", per_peer);
        let age = server.max_connection_age.as_ref().map(Duration::as_millis);
        out.optional("max_connection_age_ms", age);
        out.line(
            "first_byte_timeout_ms",
            server.first_byte_timeout.as_millis(),
        );
        out.line("max_message_bytes", server.max_message_bytes);
        out.line("reflection", server.reflection);
        match &server.tls {
            Some(tls) => print_tls(out, tls),
            None => out.absent("server.tls"),
        }
        match &server.auth {
            Some(auth) => {
                out.section("server.auth");
                out.line("token_file", path(&auth.token_file));
            }
            None => out.absent("server.auth"),
        }
    }
}

fn print_tls(out: &mut Lines, tls: &TlsOptions) {
    out.section("server.tls");
    out.line("cert_file", path(&tls.cert_file));
    out.line("key_file", path(&tls.key_file));
    let clients = tls.clients.as_ref();
    let ca_file = clients.map(|clients| path(&clients.ca_file));
    out.optional("client_ca_file", ca_file);
    let sans = clients.and_then(|clients| clients.allowed_sans.clone());
    out.optional("allowed_sans", sans.map(toml::Value::from));
}

fn print_judge(out: &mut Lines, section: &str, judge: &JudgeConfig) {
    out.text("type", judge.judge_type());
    match judge {
        JudgeConfig::Embedded { options } => {
            print_clamp(out, options.clamp);
            out.line("detect_abstention", options.detect_abstention);
        }
        JudgeConfig::Onnx(options) => {
            out.line("dir", path(&options.dir));
            print_clamp(out, options.clamp);
        }
        JudgeConfig::Remote { options, spend } => remote::print(out, section, options, spend),
        JudgeConfig::Replay { file, options } => {
            out.line("file", path(file));
            out.optional("model", options.model.as_deref().map(quoted));
            out.text("match", options.matching);
            out.line("simulate_latency", options.simulate_latency);
        }
    }
}

fn print_clamp(out: &mut Lines, clamp: Clamp) {
    let (low, high) = (number(clamp.low()), number(clamp.high()));
    out.line("clamp", format_args!("[{low}, {high}]"));
}

fn print_profile(out: &mut Lines, profile: &ProfileConfig) {
    match &profile.atomic {
        AtomicBinding::One(judge) => out.text("atomic", judge),
        AtomicBinding::ByDimension(judges) => {
            let pairs = judges
                .iter()
                .map(|(d, judge)| format!("{d} = {}", quoted(judge)));
            let pairs = pairs.collect::<Vec<_>>().join(", ");
            out.line("atomic", format_args!("{{ {pairs} }}"));
        }
    }
    out.optional("fallback", profile.fallback.as_ref().map(quoted));
    out.text("fallback_mode", profile.fallback_mode);
    out.text("on_atomic_error", profile.on_atomic_error);
    match &profile.policy {
        PolicyRef::BuiltIn(name) => out.text("policy", name),
        PolicyRef::File(file) => out.line("policy", path(file)),
    }
    out.text("enforcement", profile.enforcement);
    out.line("enforce_share", number(profile.enforce_share));
}

struct Lines(String);

impl Lines {
    fn section(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.push(format_args!("[{name}]"));
    }

    fn line(&mut self, key: &str, value: impl Display) {
        self.push(format_args!("{key} = {value}"));
    }

    fn text(&mut self, key: &str, value: impl Display) {
        self.line(key, quoted(value));
    }

    fn optional(&mut self, key: &str, value: Option<impl Display>) {
        match value {
            Some(value) => self.line(key, value),
            None => self.push(format_args!("# {key} is absent")),
        }
    }

    fn absent(&mut self, section: &str) {
        self.push(format_args!("\n# [{section}] is absent"));
    }

    fn push(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        _ = writeln!(self.0, "{line}");
    }
}

fn path(path: &Path) -> String {
    quoted(path.display())
}

fn quoted(text: impl Display) -> String {
    toml::Value::from(text.to_string()).to_string()
}

/// A float with its point, so that it is one in TOML too.
fn number(p: Probability) -> String {
    format!("{:?}", p.value())
}
