//! The admin listener: probes and metrics over HTTP/1.
//!
//! - `GET /livez`: 200 `ok` for as long as the process answers.
//! - `GET /readyz`: 200 `ready`, or 503 `draining` once it drains. Never the state of a judge: in Kubernetes
//!   a sidecar that is not ready takes its whole Pod out of service.
//! - `GET /metrics`: the metrics in the Prometheus text format.
//!
//! It answers until after the drain of the main listener.
//! A connection serves one request, whose head has to come within a shorter time-out than the whole. Only so many are
//! open, and only a part of them from one peer, so that silent or slow peers leave room for probes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::accept::listener::{BoundListener, Socket};
use super::accept::peers::Peers;
use super::drain::Drain;
use crate::telemetry::metrics::Metrics;

/// How often recorded samples are folded into buckets.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The content type of the Prometheus text format.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the routes tell about.
#[derive(Debug, Clone)]
pub struct Admin {
    /// The metrics to render.
    pub metrics: Arc<Metrics>,
    /// Whether the server drains.
    pub drain: Drain,
}

/// Serves the routes, and keeps the metrics small, in tasks of `tracker` until `stop`.
pub fn spawn(
    listener: BoundListener,
    admin: Admin,
    tracker: &TaskTracker,
    stop: CancellationToken,
) {
    let upkeep = keep_up(Arc::clone(&admin.metrics));
    tracker.spawn(stop.clone().run_until_cancelled_owned(upkeep));
    spawn_limited(listener, router(admin), Limits::DEFAULT, tracker, stop);
}

/// The routes alone.
pub fn router(admin: Admin) -> Router {
    Router::new()
        .route("/livez", get(async || "ok"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(admin)
}

async fn ready(State(admin): State<Admin>) -> impl IntoResponse {
    if admin.drain.is_draining() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining")
    } else {
        (StatusCode::OK, "ready")
    }
}

async fn metrics(State(admin): State<Admin>) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, METRICS_TYPE)],
        admin.metrics.render(),
    )
}

async fn keep_up(metrics: Arc<Metrics>) {
    let mut ticks = interval(UPKEEP_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        metrics.run_upkeep();
    }
}

#[derive(Clone, Copy)]
struct Limits {
    connection_count: usize,
    connections_per_peer: usize,
    head_timeout: Duration,
    connection_timeout: Duration,
}

impl Limits {
    /// A few probes and scrapers, none of which waits longer than that.
    const DEFAULT: Self = Self {
        connection_count: 64,
        connections_per_peer: 16,
        head_timeout: Duration::from_secs(1),
        connection_timeout: Duration::from_secs(3),
    };
}

fn spawn_limited(
    listener: BoundListener,
    router: Router,
    limits: Limits,
    tracker: &TaskTracker,
    stop: CancellationToken,
) {
    let permits = Arc::new(Semaphore::new(limits.connection_count));
    let peers = Arc::new(Peers::new(limits.connections_per_peer));
    let (connections, stopped) = (tracker.clone(), stop.clone());
    let accept_all = async move {
        while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
            let socket = listener.accept().await;
            let address = match &socket {
                Either::Left(tcp) => tcp.peer_addr().ok(),
                Either::Right(_) => None,
            };
            let place = address.map(|address| peers.enter(address.ip()));
            if let Some(None) = place {
                tracing::debug!("a peer has too many admin connections");
                continue;
            }
            let answer = answer(socket, router.clone(), limits.head_timeout);
            let answer = timeout(limits.connection_timeout, answer);
            let answer = stopped.clone().run_until_cancelled_owned(answer);
            connections.spawn(async move {
                if let Some(Err(_)) = answer.await {
                    tracing::debug!("admin connection took too long");
                }
                drop((place, permit));
            });
        }
    };
    tracker.spawn(stop.run_until_cancelled_owned(accept_all));
}

async fn answer(socket: Socket, router: Router, head_timeout: Duration) {
    let mut http = auto::Builder::new(TokioExecutor::new()).http1_only();
    http.http1()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout);
    let service = TowerToHyperService::new(router);
    if let Err(error) = http.serve_connection(TokioIo::new(socket), service).await {
        tracing::debug!(%error, "admin connection failed");
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpSocket, TcpStream};

    use super::*;
    use crate::server::options::Listen;
    use crate::telemetry::metrics::MetricNames;

    /// Far above what a step takes: a test that needs it fails.
    const GUARD: Duration = Duration::from_secs(20);

    struct Rig {
        address: std::net::SocketAddr,
        drain: Drain,
        tracker: TaskTracker,
        stop: CancellationToken,
    }

    impl Rig {
        async fn start(limits: Option<Limits>) -> Self {
            let any_port = Listen::Tcp(([127, 0, 0, 1], 0).into());
            let listener = BoundListener::bind(&any_port).await.unwrap();
            let &Listen::Tcp(address) = listener.place() else {
                panic!("not TCP")
            };
            let metrics = Metrics::new(&MetricNames::default()).unwrap();
            let (drain, tracker) = (Drain::default(), TaskTracker::new());
            let stop = CancellationToken::new();
            let admin = Admin {
                metrics,
                drain: drain.clone(),
            };
            match limits {
                None => spawn(listener, admin, &tracker, stop.clone()),
                Some(limits) => {
                    spawn_limited(listener, router(admin), limits, &tracker, stop.clone());
                }
            }
            Self {
                address,
                drain,
                tracker,
                stop,
            }
        }

        async fn get(&self, path: &str) -> String {
            let exchange = async {
                let mut socket = TcpStream::connect(self.address).await?;
                let request = format!("GET {path} HTTP/1.1\r\nhost: admin\r\n\r\n");
                socket.write_all(request.as_bytes()).await?;
                let mut reply = String::new();
                socket.read_to_string(&mut reply).await?;
                io::Result::Ok(reply)
            };
            timeout(GUARD, exchange)
                .await
                .expect("a reply in time")
                .unwrap()
        }

        async fn assert_reply(&self, path: &str, status: &str, body: &str) {
            let reply = self.get(path).await;
            assert!(
                reply.starts_with(&format!("HTTP/1.1 {status}\r\n")),
                "{reply}"
            );
            assert!(reply.ends_with(&format!("\r\n\r\n{body}")), "{reply}");
        }
    }

    #[tokio::test]
    async fn every_route_answers_and_nothing_else_does() {
        let rig = Rig::start(None).await;
        rig.assert_reply("/livez", "200 OK", "ok").await;
        rig.assert_reply("/readyz", "200 OK", "ready").await;
        rig.assert_reply("/other", "404 Not Found", "").await;
        let metrics = rig.get("/metrics").await;
        assert!(
            metrics.contains(&format!("content-type: {METRICS_TYPE}\r\n")),
            "{metrics}"
        );
        assert!(
            metrics.contains("judge_cascade_build_info{version="),
            "{metrics}"
        );
    }

    #[tokio::test]
    async fn only_readiness_ends_with_the_drain_and_the_rest_after_it() {
        let rig = Rig::start(None).await;
        rig.drain.begin();
        rig.assert_reply("/readyz", "503 Service Unavailable", "draining")
            .await;
        rig.assert_reply("/livez", "200 OK", "ok").await;
        assert!(rig.get("/metrics").await.starts_with("HTTP/1.1 200 OK"));
        let mut silent = TcpStream::connect(rig.address).await.unwrap();
        rig.stop.cancel();
        rig.tracker.close();
        timeout(GUARD, rig.tracker.wait())
            .await
            .expect("silent peers do not hold up the end");
        timeout(GUARD, silent.read_to_end(&mut Vec::new()))
            .await
            .expect("closed")
            .ok();
        // The port is free again: it can be bound, unless somebody else was faster.
        if let Err(error) = std::net::TcpListener::bind(rig.address) {
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
            let other = TcpStream::connect(rig.address).await;
            assert!(other.is_ok(), "the port is taken and nobody listens");
        }
    }

    /// Opens connections that send nothing, or no whole head.
    async fn silent(rig: &Rig, ip: [u8; 4], count: usize) -> Vec<TcpStream> {
        let mut peers = Vec::new();
        for n in 0..count {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind((ip, 0).into()).unwrap();
            let mut peer = socket.connect(rig.address).await.unwrap();
            if n % 2 == 0 {
                let part = b"GET /livez HTTP/1.1\r\nho";
                // Over the limit it may be closed by now.
                peer.write_all(part).await.ok();
            }
            peers.push(peer);
        }
        peers
    }

    async fn assert_closed(peers: Vec<TcpStream>) {
        for mut peer in peers {
            timeout(GUARD, peer.read_to_end(&mut Vec::new()))
                .await
                .expect("closed")
                .ok();
        }
    }

    #[tokio::test]
    async fn silent_and_slow_peers_make_way() {
        let (short, long) = (Duration::from_millis(200), GUARD * 10);
        for (head_timeout, connection_timeout) in [(short, long), (long, short)] {
            let rig = Rig::start(Some(Limits {
                connection_count: 4,
                connections_per_peer: 4,
                head_timeout,
                connection_timeout,
            }))
            .await;
            assert_closed(silent(&rig, [127, 0, 0, 1], 4).await).await;
            rig.assert_reply("/livez", "200 OK", "ok").await;
        }
    }

    #[tokio::test]
    async fn one_peer_leaves_room_for_the_others() {
        let rig = Rig::start(Some(Limits {
            connection_count: 8,
            connections_per_peer: 4,
            head_timeout: GUARD * 10,
            connection_timeout: GUARD * 10,
        }))
        .await;
        let mut peers = silent(&rig, [127, 0, 0, 2], 20).await;
        rig.assert_reply("/livez", "200 OK", "ok").await;
        assert_closed(peers.split_off(4)).await;
        rig.assert_reply("/readyz", "200 OK", "ready").await;
    }
}
