//! The server: listeners, connections, the same service over gRPC and HTTP, and the admin endpoints.
//!
//! [`BoundServer::bind`] takes the addresses, [`BoundServer::start`] serves, [`RunningServer::drain`] ends it: health
//! turns to NOT_SERVING, no connection is accepted any more, and traces in flight are waited for, but not for ever.

pub mod accept;
pub mod admin;
pub mod auth;
pub mod credentials;
pub mod drain;
pub mod grpc;
pub mod http;
pub mod layers;
pub mod notify;
pub mod options;
mod receiving;
pub mod service;
pub mod signals;
pub mod tls;
pub mod watched;

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
use self::credentials::{Credentials, FileErrors};
use self::drain::{Drain, Drained, all_back};
use self::grpc::{Health, ReflectionError};
use self::layers::CallLayer;
use self::options::{Listen, ServerOptions};
use self::service::Service;
use self::tls::ListenerTls;
use crate::cascade::Cascade;
use crate::cascade::time::TimeOptions;
use crate::domain::trace::TraceLimits;
use crate::rpc::json::{DescriptorError, JsonMessages};
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

/// Why an address cannot be had; the key that says it, then the cause.
#[derive(Debug, thiserror::Error)]
#[error("{key}")]
pub struct BindError {
    /// The key of the configuration.
    pub key: &'static str,
    /// What is wrong with it.
    #[source]
    pub source: ListenError,
}

/// Why a server that has its addresses cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The reflection service cannot be set up.
    #[error(transparent)]
    Reflection(#[from] ReflectionError),
    /// The messages of the API cannot be had as JSON.
    #[error("HTTP cannot be set up")]
    Json(#[from] DescriptorError),
    /// Files of credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] FileErrors),
}

/// A server that has its addresses and does not serve yet.
#[derive(Debug)]
pub struct BoundServer {
    options: ServerOptions,
    main: BoundListener,
    http: Option<BoundListener>,
    admin: BoundListener,
    credential_interval: Duration,
}

impl BoundServer {
    /// Takes the addresses.
    pub async fn bind(options: &ServerOptions, admin: SocketAddr) -> Result<Self, BindError> {
        let key = match options.listen {
            Listen::Tcp(_) => "server.listen",
            Listen::Unix { .. } => "server.uds",
        };
        let main = bind(key, &options.listen).await?;
        let http = match options.http_listen {
            Some(address) => Some(bind("server.http_listen", &Listen::Tcp(address)).await?),
            None => None,
        };
        let admin = bind("admin.listen", &Listen::Tcp(admin)).await?;
        Ok(Self {
            options: options.clone(),
            main,
            http,
            admin,
            credential_interval: watched::INTERVAL,
        })
    }

    /// Looks at the files of credentials so often.
    #[must_use]
    pub const fn with_credential_interval(mut self, interval: Duration) -> Self {
        self.credential_interval = interval;
        self
    }

    /// Where calls are accepted.
    pub const fn place(&self) -> &Listen {
        self.main.place()
    }

    /// Where calls are accepted over HTTP, if they are.
    pub fn http_place(&self) -> Option<&Listen> {
        self.http.as_ref().map(BoundListener::place)
    }

    /// Where probes and metrics are answered.
    pub const fn admin_place(&self) -> &Listen {
        self.admin.place()
    }

    /// Serves until it is drained.
    pub async fn start(self, content: Content) -> Result<RunningServer, StartError> {
        let options = &self.options;
        let credentials = Credentials::read(options)?;
        let admission = Arc::new(Semaphore::new(options.max_in_flight_traces));
        let (drain, health) = (Drain::default(), Health::new().await);
        let metrics = content.metrics;
        let layer = CallLayer::new(Arc::clone(&metrics), content.time, credentials.gate.clone());
        let service = Arc::new(Service::new(
            content.cascade,
            content.limits,
            Arc::clone(&admission),
            options.max_receiving_bytes,
            drain.clone(),
            Arc::clone(&metrics),
        ));
        let router = grpc::router(
            options,
            content.time,
            Arc::clone(&service),
            &health,
            layer.clone(),
        )?;
        let tracker = TaskTracker::new();
        let (stop, stop_admin) = (CancellationToken::new(), CancellationToken::new());
        let failed = CancellationToken::new();
        let fail = || FailUnless {
            stopped: stop.clone(),
            failed: failed.clone(),
        };
        let interval = self.credential_interval;
        credentials.keep(interval, &metrics, &tracker, &stop);
        let [http2_tls, http1_tls] = ListenerTls::pair(credentials.tls.as_ref());
        let mut connections = Vec::new();
        if let Some(listener) = self.http {
            let messages = JsonMessages::new()?;
            let routes = http::router(service, messages, options.max_message_bytes, &layer);
            let metrics = Arc::clone(&metrics);
            let (incoming, open) = accept::spawn(
                listener,
                options,
                http1_tls,
                metrics,
                &tracker,
                stop.clone(),
            );
            let age = options.max_connection_age;
            let serve = http::serve(incoming, routes, age, tracker.clone(), stop.clone());
            tracker.spawn(unless_stopped(fail(), serve));
            connections.push(open);
        }
        let admin = Admin {
            metrics: Arc::clone(&metrics),
            drain: drain.clone(),
        };
        admin::spawn(self.admin, admin, &tracker, stop_admin.clone());
        let (incoming, open) = accept::spawn(
            self.main,
            options,
            http2_tls,
            metrics,
            &tracker,
            stop.clone(),
        );
        connections.push(open);
        let serve = router.serve_with_incoming_shutdown(incoming, stop.clone().cancelled_owned());
        tracker.spawn(unless_stopped(fail(), async {
            if let Err(error) = serve.await {
                tracing::error!(%error, "the gRPC server ended");
            }
        }));
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

async fn bind(key: &'static str, place: &Listen) -> Result<BoundListener, BindError> {
    let bound = BoundListener::bind(place).await;
    bound.map_err(|source| BindError { key, source })
}

/// Serves, and keeps what tells an end that nobody asked for.
async fn unless_stopped(_fail: FailUnless, serve: impl Future<Output = ()>) {
    serve.await;
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
    connections: Vec<Connections>,
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
        let all_closed = async {
            for connections in &self.connections {
                connections.all_closed().await;
            }
        };
        let drained = self.drain.run(idle, all_closed, self.shutdown_grace).await;
        self.stop_admin.cancel();
        drained
    }
}
