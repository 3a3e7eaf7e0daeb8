//! The configuration: a file, the environment and flags, checked as a whole.
//!
//! Later layers win: defaults, the file, `JUDGE_CASCADE__SECTION__KEY`, flags. Everything that is wrong is reported at
//! once, each problem with the place where its value was set. [`load`] is pure; the files that a configuration names
//! are read elsewhere.

mod environment;
pub mod judges;
mod listeners;
mod print;
pub mod problem;
pub mod profiles;
mod raw;
mod reader;
pub mod reference;
mod replayed;
mod room;
mod sections;
mod sources;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::environment::{
    CONFIG_VARIABLE, Overrides, PREFIX, config_file, environment, variable,
};
use self::judges::JudgeConfig;
use self::problem::{ConfigError, Warning};
use self::profiles::ProfileConfig;
use self::reader::Reader;
use self::sources::Sources;
use crate::cascade::spend::LedgerOptions;
use crate::cascade::time::TimeOptions;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::{Dimension, DimensionRole};
use crate::domain::trace::{JudgeId, ProfileName, TraceLimits};
use crate::judge::cached::CacheOptions;
use crate::policy::{DimensionPolicy, Policy};
use crate::server::options::{Listen, ServerOptions};
use crate::telemetry::logging::{LogFormat, LogOptions};

/// The file that documents every key and sets each to its default.
pub const DEFAULT_FILE: &str = include_str!("../deploy/config.default.toml");

/// A configuration that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The gRPC server; how many traces it takes at once stands in `[limits]`.
    pub server: ServerOptions,
    /// Whether addresses other than loopback may be bound although callers need not show who they are.
    pub insecure_bind: bool,
    /// The endpoints for operators.
    pub admin: AdminConfig,
    /// What a trace may hold at most.
    pub limits: TraceLimits,
    /// How the time of a call is shared out.
    pub time: TimeOptions,
    /// The judges; `embedded` is always among them.
    pub judges: BTreeMap<JudgeId, JudgeConfig>,
    /// The profiles; `default` is always among them.
    pub profiles: BTreeMap<ProfileName, ProfileConfig>,
    /// The price snapshot; without one nothing is priced.
    pub pricing_file: Option<PathBuf>,
    /// How spending is counted; the caps stand with the judges.
    pub spend: LedgerOptions,
    /// Whether answers of judges are kept, and how long.
    pub cache: CacheConfig,
    /// What is logged and how.
    pub log: LogOptions,
    /// What works and is hardly meant.
    pub warnings: Vec<Warning>,
}

/// The endpoints for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminConfig {
    /// Where they are served; port 0 takes a free one.
    pub listen: SocketAddr,
}

/// Whether answers of judges are kept, and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheConfig {
    /// Whether they are.
    pub enabled: bool,
    /// How many and how long.
    pub options: CacheOptions,
}

/// Merges the layers and checks the whole; `file` is a name and a text.
///
/// Names of files in values are relative to the folder of that file, whichever layer they are from.
pub fn load(
    file: Option<(&str, &str)>,
    env: &BTreeMap<String, String>,
    flags: Overrides,
) -> Result<Config, ConfigError> {
    let mut sources = Sources::parse(file)?;
    let mut problems = sources.overlay_environment(env);
    problems.extend(sources.overlay_flags(flags));
    let folder = file.and_then(|(name, _)| Path::new(name).parent());
    let folder = folder.unwrap_or_else(|| Path::new(""));

    let mut reader = Reader::new(&sources, folder, problems);
    let mut config = Config::default();
    sections::unknown(&mut reader);
    listeners::server(&mut reader, &mut config);
    sections::limits(&mut reader, &mut config);
    sections::time(&mut reader, &mut config);
    judges::judges(&mut reader, &mut config.judges);
    profiles::profiles(&mut reader, &config.judges, &mut config.profiles);
    room::room(&mut reader, &config.judges, &config.profiles);
    sections::pricing(&mut reader, &mut config);
    sections::spend(&mut reader, &mut config);
    sections::cache(&mut reader, &mut config);
    sections::log(&mut reader, &mut config);
    config.warnings = reader.finish().map_err(ConfigError)?;
    Ok(config)
}

impl Default for Config {
    /// What holds without a file, without variables and without flags.
    fn default() -> Self {
        let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self {
            server: ServerOptions {
                listen: Listen::Tcp(loopback(50_051)),
                http_listen: None,
                shutdown_grace: Duration::from_secs(10),
                max_connection_count: 1_024,
                max_connections_per_peer: None,
                max_connection_age: None,
                first_byte_timeout: Duration::from_secs(5),
                max_message_bytes: 4 * 1_024 * 1_024,
                max_receiving_bytes: 64 * 1_024 * 1_024,
                max_in_flight_traces: 256,
                reflection: true,
                tls: None,
                auth: None,
            },
            insecure_bind: false,
            admin: AdminConfig {
                listen: loopback(9_464),
            },
            limits: TraceLimits {
                max_chunk_count: 64,
                max_text_bytes: 256 * 1_024,
                max_history_turns: 64,
            },
            time: TimeOptions {
                deadline: Duration::from_secs(3),
                reply_reserve: Duration::from_millis(10),
                atomic_timeout: Duration::from_secs(1),
                fallback_min: Duration::from_millis(300),
            },
            judges: judges::default_judges(),
            profiles: profiles::default_profiles(),
            pricing_file: None,
            spend: LedgerOptions {
                fleet_size: 1,
                state_file: None,
            },
            cache: CacheConfig {
                enabled: false,
                options: CacheOptions {
                    ttl: Duration::from_secs(3_600),
                    max_bytes: 64 * 1_024 * 1_024,
                },
            },
            log: LogOptions {
                filter: "info".to_owned(),
                format: LogFormat::Json,
            },
            warnings: Vec::new(),
        }
    }
}

impl Config {
    /// What is odd about a policy in a profile, one sentence each.
    pub fn policy_warnings(&self, profile: &ProfileConfig, policy: &Policy) -> Vec<String> {
        let mut warnings = self.decided_guesses(profile, policy);
        warnings.extend(self.hidden_fields(profile, policy));
        let is_required =
            |(_, row): (Dimension, &DimensionPolicy)| row.role == DimensionRole::Required;
        if !policy.dimensions.iter().any(is_required) {
            warnings.push(format!(
                "policy `{}`: requires no dimension, so nothing can PASS",
                policy.id
            ));
        }
        let unknown = policy
            .fallback
            .keys()
            .filter(|judge| !self.judges.contains_key(*judge));
        warnings.extend(unknown.map(|judge| {
            format!(
                "policy `{}`: fallback.{judge}: no judge of this name is configured",
                policy.id
            )
        }));
        warnings
    }

    /// Where a policy would decide by what the embedded judge only guesses at.
    ///
    /// The embedded judge measures groundedness and guesses at the rest, so it keeps the rest within its clamp; a
    /// threshold that the clamp reaches turns such a guess into a verdict. A fallback judge is held to its own pairs.
    fn decided_guesses(&self, profile: &ProfileConfig, policy: &Policy) -> Vec<String> {
        let mut warnings = Vec::new();
        for (dimension, row) in policy.dimensions.iter() {
            if dimension == Dimension::Groundedness || row.role == DimensionRole::Off {
                continue;
            }
            let fallback = profile.fallback.as_ref().map(|judge| {
                let own = policy
                    .fallback
                    .get(judge)
                    .and_then(|pairs| pairs[dimension]);
                (judge, own.or(row.thresholds))
            });
            let atomic = (profile.atomic.judge(dimension), row.thresholds);
            let asked = [
                Some(atomic),
                fallback.filter(|fallback| *fallback != atomic),
            ];
            for (judge, thresholds) in asked.into_iter().flatten() {
                let (Some(JudgeConfig::Embedded { options }), Some(pair)) =
                    (self.judges.get(judge), thresholds)
                else {
                    continue;
                };
                let (low, high) = (options.clamp.low(), options.clamp.high());
                if low <= pair.fail_at() || pair.pass_at() <= high {
                    warnings.push(format!(
                        "policy `{}`: dimensions.{dimension}: fail_at = `{}` and pass_at = `{}` decide by guesses of \
                         the judge `{judge}`, which lie from {low} to {high}",
                        policy.id,
                        pair.fail_at(),
                        pair.pass_at(),
                    ));
                }
            }
        }
        warnings
    }

    /// Where a policy requires what a judge cannot answer, because it is not shown what the question rests on.
    fn hidden_fields(&self, profile: &ProfileConfig, policy: &Policy) -> Vec<String> {
        let mut warnings = Vec::new();
        for &dimension in Dimension::ALL {
            if policy.role(dimension) != DimensionRole::Required {
                continue;
            }
            let atomic = profile.atomic.judge(dimension);
            let fallback = profile.fallback.as_ref().filter(|judge| *judge != atomic);
            for judge in std::iter::once(atomic).chain(fallback) {
                let Some(JudgeConfig::Remote { options, .. }) = self.judges.get(judge) else {
                    continue;
                };
                let shown = &options.view.send_fields;
                let hidden = profiles::rests_on(dimension)
                    .iter()
                    .filter(|field| !shown.contains(field));
                warnings.extend(hidden.map(|field| {
                    format!(
                        "policy `{}`: dimensions.{dimension}: it is required, and the judge `{judge}` cannot answer \
                         it: its send_fields leave `{field}` out",
                        policy.id
                    )
                }));
            }
        }
        warnings
    }
}
