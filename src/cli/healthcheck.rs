//! `healthcheck`: a probe for container engines that cannot speak gRPC.
//!
//! A server that asks callers for certificates has none for its own probe, and one that drains accepts no calls; the
//! admin listener answers in both cases.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;

use super::settings::{ConfigArgs, CredentialArgs};
use super::{End, output};
use crate::client::{self, Client, Credentials};
use crate::config::Overrides;

/// Asks a server whether it serves.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Asks this server: https://HOST:PORT, http://HOST:PORT or unix:PATH; without it the one that the configuration
    /// describes, on its admin address if it speaks TLS.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    endpoint: Option<String>,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// Asks GET /readyz on the admin address of the configuration, which also answers while the server drains.
    #[arg(long, conflicts_with = "endpoint")]
    admin: bool,
    /// The longest time to wait, in milliseconds.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    timeout_ms: u64,
}

pub(super) async fn run(args: Args) -> anyhow::Result<End> {
    let limit_ms = args.timeout_ms;
    let timeout = Duration::from_millis(limit_ms);
    let target = args.target()?;
    let answer = tokio::time::timeout(timeout, target.is_serving()).await;
    let asked = match &target {
        Target::Calls(endpoint, _) => endpoint.clone(),
        Target::Admin(address) => address.to_string(),
    };
    let serving =
        answer.with_context(|| format!("`{asked}` does not answer within {limit_ms} ms"))??;
    output::line(if serving { "serving" } else { "not serving" })?;
    Ok(if serving { End::Good } else { End::Bad })
}

/// Who is asked.
enum Target {
    /// The health service beside the calls.
    Calls(String, Credentials),
    /// The admin listener.
    Admin(SocketAddr),
}

impl Args {
    fn target(self) -> anyhow::Result<Target> {
        if let Some(endpoint) = self.endpoint {
            return Ok(Target::Calls(endpoint, self.credentials.credentials()));
        }
        let config = self.config.load(Overrides::default())?;
        if self.admin || config.server.tls.is_some() {
            return Ok(Target::Admin(config.admin.listen));
        }
        let endpoint = config.server.listen.to_string();
        Ok(Target::Calls(endpoint, Credentials::default()))
    }
}

impl Target {
    async fn is_serving(&self) -> anyhow::Result<bool> {
        Ok(match self {
            Self::Calls(endpoint, credentials) => {
                let client = Client::connect_with(endpoint, credentials).await?;
                client.is_serving().await?
            }
            Self::Admin(address) => client::is_ready(*address).await?,
        })
    }
}
