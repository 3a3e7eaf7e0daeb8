//! Connections that speak HTTP/1.1: kept alive, bounded in time and memory, ended gently.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use futures_util::StreamExt as _;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::server::accept::Incoming;
use crate::server::accept::connection::Connection;
use crate::server::layers::CallService;

/// A connection that sends no whole head of a request for so long, the first or a further one, is closed.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest head of a request; also what is read ahead of a handler.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Serves connections in tasks of `tracker` until the stream of them ends.
///
/// From `stop` on a connection ends with the request that it is in.
pub async fn serve(
    mut incoming: Incoming,
    routes: CallService<Router>,
    max_age: Option<Duration>,
    tracker: TaskTracker,
    stop: CancellationToken,
) {
    while let Some(Ok(connection)) = incoming.next().await {
        tracker.spawn(serve_one(connection, routes.clone(), max_age, stop.clone()));
    }
}

async fn serve_one(
    connection: Connection,
    routes: CallService<Router>,
    max_age: Option<Duration>,
    stop: CancellationToken,
) {
    let mut http = auto::Builder::new(TokioExecutor::new()).http1_only();
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES);
    let service = TowerToHyperService::new(routes);
    let mut served = pin!(http.serve_connection(TokioIo::new(connection), service));
    let old = async {
        match max_age {
            Some(age) => tokio::time::sleep(age).await,
            None => pending().await,
        }
    };
    let ended = tokio::select! {
        ended = served.as_mut() => Some(ended),
        () = stop.cancelled() => None,
        () = old => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "HTTP connection failed");
    }
}
