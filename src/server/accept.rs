//! The way of a connection from the socket to tonic, or to HTTP.
//!
//! In this order: a permit (over the limit, connections wait in the backlog), accept, TCP_NODELAY,
//! the first bytes within a time-out, a bounded channel that tonic reads.
//! tonic has no limit and no such time-out of its own, and ignores its TCP settings when it is fed from outside.
//!
//! "First byte" means as many bytes as tell a protocol: a peer that stops within the HTTP/2 preface is as silent as
//! one that sends nothing, and hyper would neither close it nor end a graceful shutdown before it does.

pub mod connection;
pub mod listener;

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use tokio::io::AsyncReadExt as _;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::connection::{Connection, Entry, PREFACE, Prefix};
use self::listener::{BoundListener, Socket};
use super::drain::all_back;
use super::options::ServerOptions;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::ConnectionClosed;

/// Connections that have sent something and wait for tonic; it takes them at once.
const CHANNEL_CAPACITY: usize = 16;

/// The stream of connections that tonic serves; it ends when the accept loop has stopped.
#[derive(Debug)]
pub struct Incoming(mpsc::Receiver<Connection>);

impl Stream for Incoming {
    type Item = Result<Connection, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|connection| connection.map(Ok))
    }
}

/// Knows how many connections are open.
#[derive(Debug, Clone)]
pub struct Connections {
    permits: Arc<Semaphore>,
    limit: usize,
}

impl Connections {
    /// Resolves when every connection is closed; it cannot before the accept loop has been told to stop.
    pub async fn all_closed(&self) {
        all_back(&self.permits, self.limit).await;
    }
}

/// Accepts connections in a task of `tracker` until `stop`, which also frees the address.
///
/// Connections that have not sent their first bytes by then are closed; those that tonic serves are left to it.
pub fn spawn(
    listener: BoundListener,
    options: &ServerOptions,
    metrics: Arc<Metrics>,
    tracker: &TaskTracker,
    stop: CancellationToken,
) -> (Incoming, Connections) {
    let limit = options.max_connection_count.min(Semaphore::MAX_PERMITS);
    let permits = Arc::new(Semaphore::new(limit));
    let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
    let acceptor = Acceptor {
        permits: Arc::clone(&permits),
        first_byte_timeout: options.first_byte_timeout,
        metrics,
        tracker: tracker.clone(),
        stop,
        sender,
    };
    tracker.spawn(acceptor.run(listener));
    (Incoming(receiver), Connections { permits, limit })
}

struct Acceptor {
    permits: Arc<Semaphore>,
    first_byte_timeout: Duration,
    metrics: Arc<Metrics>,
    tracker: TaskTracker,
    stop: CancellationToken,
    sender: mpsc::Sender<Connection>,
}

impl Acceptor {
    async fn run(self, listener: BoundListener) {
        let stop = self.stop.clone();
        // The listener goes with the loop, so that new connects are refused while calls in flight end.
        let accept_all = async move {
            while let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await {
                let socket = listener.accept().await;
                let entry = Entry::new(Arc::clone(&self.metrics), permit);
                self.tracker.spawn(self.admit(socket, entry));
            }
        };
        stop.run_until_cancelled_owned(accept_all).await;
    }

    /// Waits for the first bytes apart from the loop, so that a silent peer holds up nobody.
    fn admit(&self, socket: Socket, entry: Entry) -> impl Future<Output = ()> + use<> {
        let (sender, stop, limit) = (
            self.sender.clone(),
            self.stop.clone(),
            self.first_byte_timeout,
        );
        async move {
            let mut connection = Connection::new(socket, entry);
            let first_bytes = timeout(limit, read_prefix(connection.socket()));
            match stop.run_until_cancelled(first_bytes).await {
                Some(Ok(Ok(Some(prefix)))) => {
                    connection.replay(prefix);
                    // An error means that tonic has stopped: the connection comes back and is closed.
                    drop(sender.send(connection).await);
                }
                Some(Ok(Err(_))) => connection.close_as(ConnectionClosed::Error),
                Some(Err(_)) => connection.close_as(ConnectionClosed::FirstByteTimeout),
                Some(Ok(Ok(None))) | None => connection.close_as(ConnectionClosed::Ended),
            }
        }
    }
}

/// The first bytes, up to where they are a whole HTTP/2 preface or something else; `None` if the peer ends before.
async fn read_prefix(socket: &mut Socket) -> io::Result<Option<Prefix>> {
    let mut prefix = Prefix::default();
    while prefix.len() < PREFACE.len() && PREFACE.starts_with(prefix.unread()) {
        let n = socket.read(prefix.space()).await?;
        if n == 0 {
            return Ok(None);
        }
        prefix.extend(n);
    }
    Ok(Some(prefix))
}
