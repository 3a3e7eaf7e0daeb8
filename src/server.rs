//! The server: listeners, connections, the gRPC service and the admin endpoints.
//!
//! [`BoundServer::bind`] takes the addresses, [`BoundServer::start`] serves, [`RunningServer::drain`] ends it: health
//! turns to NOT_SERVING, no connection is accepted any more, and traces in flight are waited for, but not for ever.

pub mod accept;
pub mod admin;
pub mod drain;
pub mod grpc;
pub mod layers;
pub mod options;
pub mod service;
pub mod signals;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic_health::ServingStatus;

use self::accept::Connections;
use self::accept::listener::{BoundListener, ListenError};
use self::admin::Admin;
use self::drain::{Drain, Drained, all_back};
use self::grpc::{Health, ReflectionError};
use self::options::{Listen, ServerOptions};
use self::service::Service;
use crate::cascade::Cascade;
use crate::cascade::time::TimeOptions;
use crate::domain::trace::TraceLimits;
use crate::telemetry::metrics::Metrics;

/// What the server serves.
#[derive(Clone)]
pub struct Content {
    /// The profiles.
    pub cascade: Arc<Cascade>,
    /// What a trace may hold at most.
    pub limits: TraceLimits,
    /// How the time of a call is shared out.
    pub time: TimeOptions,
    /// The metrics of the process.
    pub metrics: Arc<Metrics>,
}

/// A server that has its addresses and does not serve yet.
#[derive(Debug)]
pub struct BoundServer {
    options: ServerOptions,
    main: BoundListener,
    admin: BoundListener,
}

impl BoundServer {
    /// Takes the addresses.
    pub async fn bind(options: &ServerOptions, admin: SocketAddr) -> Result<Self, ListenError> {
        let main = BoundListener::bind(&options.listen).await?;
        let admin = BoundListener::bind(&Listen::Tcp(admin)).await?;
        Ok(Self {
            options: options.clone(),
            main,
            admin,
        })
    }

    /// Where calls are accepted.
    pub const fn place(&self) -> &Listen {
        self.main.place()
    }

    /// Where probes and metrics are answered.
    pub const fn admin_place(&self) -> &Listen {
        self.admin.place()
    }

    /// Serves until it is drained.
    pub async fn start(self, content: Content) -> Result<RunningServer, ReflectionError> {
        let options = &self.options;
        let admission = Arc::new(Semaphore::new(options.max_in_flight_traces));
        let (drain, health) = (Drain::default(), Health::new().await);
        let service = Service::new(
            content.cascade,
            content.limits,
            Arc::clone(&admission),
            drain.clone(),
            Arc::clone(&content.metrics),
        );
        let router = grpc::router(options, content.time, service, &health, &content.metrics)?;
        let tracker = TaskTracker::new();
        let (stop, stop_admin) = (CancellationToken::new(), CancellationToken::new());
        let admin = Admin {
            metrics: Arc::clone(&content.metrics),
            drain: drain.clone(),
        };
        admin::spawn(self.admin, admin, &tracker, stop_admin.clone());
        let failed = CancellationToken::new();
        let fail = FailUnless {
            stopped: stop.clone(),
            failed: failed.clone(),
        };
        let (incoming, connections) =
            accept::spawn(self.main, options, content.metrics, &tracker, stop.clone());
        let serve = router.serve_with_incoming_shutdown(incoming, stop.clone().cancelled_owned());
        tracker.spawn(async move {
            let _fail = fail;
            if let Err(error) = serve.await {
                tracing::error!(%error, "the gRPC server ended");
            }
        });
        health.set(ServingStatus::Serving).await;
        Ok(RunningServer {
            admission,
            max_in_flight: options.max_in_flight_traces,
            shutdown_grace: options.shutdown_grace,
            connections,
            drain,
            health,
            stop,
            stop_admin,
            failed,
        })
    }
}

/// Tells that the server ended although nobody stopped it: the stream of connections is over, or its task panicked.
struct FailUnless {
    stopped: CancellationToken,
    failed: CancellationToken,
}

impl Drop for FailUnless {
    fn drop(&mut self) {
        if !self.stopped.is_cancelled() {
            self.failed.cancel();
        }
    }
}

/// A server that serves.
///
/// Its tasks are not waited for: hyper may wait for ever for a peer that says nothing.
pub struct RunningServer {
    admission: Arc<Semaphore>,
    max_in_flight: usize,
    shutdown_grace: Duration,
    connections: Connections,
    drain: Drain,
    health: Health,
    stop: CancellationToken,
    stop_admin: CancellationToken,
    failed: CancellationToken,
}

impl RunningServer {
    /// Resolves if the server ends although nobody stopped it; it is then of no use.
    pub async fn failed(&self) {
        self.failed.cancelled().await;
    }

    /// Takes no more work and waits for what is in flight, at most the grace.
    pub async fn drain(self) -> Drained {
        self.drain.begin();
        self.health.set(ServingStatus::NotServing).await;
        self.stop.cancel();
        let idle = all_back(&self.admission, self.max_in_flight);
        let drained = self
            .drain
            .run(idle, self.connections.all_closed(), self.shutdown_grace)
            .await;
        self.stop_admin.cancel();
        drained
    }
}
