//! The files that say who the server is and who may call; they are read before anything is served.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::auth::Gate;
use super::options::ServerOptions;
use super::tls::{self, Configs};
use super::watched::{FileError, Watched};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::CredentialKind;

/// What is wrong with the files, each on a line of its own.
#[derive(Debug)]
pub struct FileErrors(Vec<FileError>);

impl fmt::Display for FileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for FileErrors {}

/// What the files of the options hold.
#[derive(Debug)]
pub struct Credentials {
    /// TLS on the TCP listeners; `None` is clear text.
    pub tls: Option<Arc<Watched<Configs>>>,
    /// Which calls are let in; `None` lets all in.
    pub gate: Option<Gate>,
}

impl Credentials {
    /// Reads every file that the options name.
    pub fn read(options: &ServerOptions) -> Result<Self, FileErrors> {
        let tls = options.tls.as_ref().map(tls::watch).transpose();
        let gate = options.auth.as_ref();
        let gate = gate.map(|auth| Gate::read(auth.tokens())).transpose();
        match (tls, gate) {
            (Ok(tls), Ok(gate)) => Ok(Self {
                tls: tls.map(Arc::new),
                gate,
            }),
            (tls, gate) => Err(FileErrors(
                tls.err().into_iter().chain(gate.err()).collect(),
            )),
        }
    }

    /// Reads them again when they change, in tasks of `tracker` until `stop`.
    pub fn keep(
        &self,
        interval: Duration,
        metrics: &Arc<Metrics>,
        tracker: &TaskTracker,
        stop: &CancellationToken,
    ) {
        if let Some(tls) = &self.tls {
            let (tls, metrics) = (Arc::clone(tls), Arc::clone(metrics));
            let keep = async move { tls.keep(interval, CredentialKind::Tls, &metrics).await };
            tracker.spawn(stop.clone().run_until_cancelled_owned(keep));
        }
        if let Some(gate) = self.gate.clone() {
            let keep = gate.keep(interval, Arc::clone(metrics));
            tracker.spawn(stop.clone().run_until_cancelled_owned(keep));
        }
    }
}
