//! What every command that needs a configuration takes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use crate::app::{self, App};
use crate::artifact::policy::{self, PolicySnapshot};
use crate::client::{self, CertificateFiles};
use crate::config::judges::JudgeConfig;
use crate::config::{self, Config, Overrides, config_file, environment};
use crate::server::credentials::Credentials;

/// Where the configuration comes from.
#[derive(Debug, clap::Args)]
pub(super) struct ConfigArgs {
    /// The configuration file; without it the one that JUDGE_CASCADE_CONFIG names, else the defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// How a server that is asked from outside is to be trusted, and what it is shown.
#[derive(Debug, clap::Args)]
pub(super) struct CredentialArgs {
    /// The authorities, PEM, one of which must have issued the certificate of the server; required for https.
    #[arg(long, value_name = "FILE", requires = "endpoint")]
    ca_file: Option<PathBuf>,
    /// The client certificate to show, PEM.
    #[arg(
        long,
        value_name = "FILE",
        requires = "endpoint",
        requires = "key_file"
    )]
    cert_file: Option<PathBuf>,
    /// The key of that certificate, PEM.
    #[arg(
        long,
        value_name = "FILE",
        requires = "endpoint",
        requires = "cert_file"
    )]
    key_file: Option<PathBuf>,
    /// A file whose first line is the token to send.
    #[arg(long, value_name = "FILE", requires = "endpoint")]
    token_file: Option<PathBuf>,
}

impl CredentialArgs {
    /// The same for a client.
    pub(super) fn credentials(self) -> client::Credentials {
        let certificate = self.cert_file.zip(self.key_file);
        client::Credentials {
            ca_file: self.ca_file,
            certificate: certificate.map(|(cert_file, key_file)| CertificateFiles {
                cert_file,
                key_file,
            }),
            token_file: self.token_file,
        }
    }
}

/// Flags that override the configuration of a server.
#[derive(Debug, clap::Args)]
pub(super) struct ServerArgs {
    /// Accepts calls on this TCP address.
    #[arg(long, value_name = "IP:PORT", conflicts_with = "uds")]
    listen: Option<String>,
    /// Accepts calls on this Unix socket.
    #[arg(long, value_name = "PATH")]
    uds: Option<String>,
    /// Accepts calls over HTTP too, on this TCP address.
    #[arg(long, value_name = "IP:PORT")]
    http_listen: Option<String>,
    /// Answers probes and metrics on this TCP address.
    #[arg(long, value_name = "IP:PORT")]
    admin_listen: Option<String>,
    /// Allows addresses other than loopback, without TLS.
    #[arg(long)]
    insecure_bind: bool,
    /// What is logged: a level, or a list of target=level.
    #[arg(long, value_name = "FILTER")]
    log_filter: Option<String>,
    /// The form of log lines: json or text.
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl ServerArgs {
    /// The same as overrides.
    pub(super) fn overrides(self) -> Overrides {
        Overrides {
            listen: self.listen,
            uds: self.uds,
            http_listen: self.http_listen,
            insecure_bind: self.insecure_bind,
            admin_listen: self.admin_listen,
            log_filter: self.log_filter,
            log_format: self.log_format,
        }
    }
}

impl ConfigArgs {
    /// The checked configuration.
    pub(super) fn load(&self, overrides: Overrides) -> anyhow::Result<Config> {
        let env = environment()?;
        let file = match config_file(self.config.clone(), &env) {
            Some(path) => Some((path.display().to_string(), read(&path)?)),
            None => None,
        };
        let file = file
            .as_ref()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        Ok(config::load(file, &env, overrides)?)
    }
}

/// What a configuration describes, with the files and variables of this machine.
pub(super) fn build(config: &Config) -> anyhow::Result<App> {
    app::build(config, app::Files::Disk, &config::variable)
}

/// The same for a server, which needs what its listeners are told by files too.
pub(super) fn build_server(config: &Config) -> anyhow::Result<App> {
    match (build(config), Credentials::read(&config.server)) {
        (Ok(app), Ok(_)) => Ok(app),
        (Err(app), Err(credentials)) => Err(anyhow!("{app:#}\n{credentials}")),
        (Err(error), Ok(_)) => Err(error),
        (Ok(_), Err(error)) => Err(error.into()),
    }
}

/// A server turns away what would wait for long; an evaluation has time, so every request waits for its turn.
pub(super) fn wait_for_turns(config: &mut Config) {
    for judge in config.judges.values_mut() {
        if let JudgeConfig::Remote { options, .. } = judge {
            options.endpoint.concurrency.max_queued = usize::MAX;
        }
    }
}

/// A built-in policy by its name, or the one in a file.
pub(super) fn policy(name: &str) -> anyhow::Result<PolicySnapshot> {
    if let Some(built_in) = policy::built_in(name) {
        return Ok(built_in?);
    }
    let known = policy::BUILT_IN.map(|(known, _)| known).join(", ");
    let text = read(Path::new(name))
        .with_context(|| format!("`{name}` is neither a built-in policy ({known}) nor a file"))?;
    Ok(policy::read(name, &text)?)
}

/// The text of a file.
pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}
