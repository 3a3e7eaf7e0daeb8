//! `serve`: the sidecar.

use anyhow::bail;
use tokio::task::JoinSet;

use super::settings::{self, ConfigArgs, ServerArgs};
use super::{End, output};
use crate::app::warm;
use crate::server::BoundServer;
use crate::server::drain::Drained;
use crate::server::notify;
use crate::server::signals::Signals;
use crate::telemetry::build::{REVISION, VERSION};
use crate::telemetry::logging;

/// What to do when an address is taken.
pub(super) const OTHER_ADDRESSES: &str = "--listen, --uds, --http-listen and --admin-listen choose other addresses; port 0 takes a free one";

/// Serves until a signal.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Configuration, then addresses, then service; a signal ends it, a second one at once.
pub(super) async fn run(args: Args) -> anyhow::Result<End> {
    let config = args.config.load(args.server.overrides())?;
    let _log = logging::init(&config.log)?;
    let app = settings::build_server(&config)?;
    tracing::info!(
        config = config.to_toml(),
        config_sha256 = config.sha256(),
        "configuration"
    );
    for warning in &app.warnings {
        tracing::warn!(warning, "configuration");
    }
    let ledger = app.ledger.clone();
    let mut signals = Signals::catch()?;
    let server = BoundServer::bind(&config.server, config.admin.listen)
        .await
        .map_err(|error| output::with_hint(error, OTHER_ADDRESSES))?;
    let (listen, admin) = (server.place().clone(), server.admin_place().clone());
    let http = server.http_place().cloned().map(tracing::field::display);
    let running = server.start(app.content).await?;
    tracing::info!(%listen, http, %admin, version = VERSION, revision = REVISION, "serving");
    notify::ready(&format!("serving on {listen}, admin on {admin}"));
    // Both end with this function; readiness does not wait for the judges.
    let mut beside = JoinSet::new();
    beside.spawn(warm::up(app.judges.into_values().collect()));
    beside.spawn(notify::keep_alive());
    let signal = tokio::select! {
        signal = signals.next() => signal,
        () = running.failed() => bail!("the server ended by itself"),
    };
    tracing::info!(signal, "draining");
    notify::stopping("draining");
    let drained = signals.unless_repeated(running.drain()).await;
    if let Some(ledger) = ledger {
        ledger.flush();
    }
    Ok(match drained {
        Some(Drained::Idle | Drained::Disconnected) => {
            tracing::info!("drained");
            End::Good
        }
        Some(Drained::GraceOver) => {
            tracing::warn!("the grace is over, calls in flight are lost");
            End::Good
        }
        None => End::Bad,
    })
}
