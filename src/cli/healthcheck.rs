//! `healthcheck`: a probe for container engines that cannot speak gRPC.

use std::time::Duration;

use anyhow::Context as _;

use super::settings::ConfigArgs;
use super::{End, output};
use crate::client::Client;
use crate::config::Overrides;

/// Asks a server whether it serves.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Asks this server: http://HOST:PORT or unix:PATH; without it the one that the configuration describes.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    endpoint: Option<String>,
    /// The longest time to wait, in milliseconds.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    timeout_ms: u64,
}

pub(super) async fn run(args: Args) -> anyhow::Result<End> {
    let endpoint = match args.endpoint {
        Some(endpoint) => endpoint,
        None => args
            .config
            .load(Overrides::default())?
            .server
            .listen
            .to_string(),
    };
    let asked = async { anyhow::Ok(Client::connect(&endpoint).await?.is_serving().await?) };
    let timeout = Duration::from_millis(args.timeout_ms);
    let answer = tokio::time::timeout(timeout, asked).await;
    let serving = answer
        .with_context(|| format!("`{endpoint}` does not answer within {} ms", args.timeout_ms))??;
    output::line(if serving { "serving" } else { "not serving" })?;
    Ok(if serving { End::Good } else { End::Bad })
}
