//! The way of a connection from the socket to tonic, or to HTTP.
//!
//! In this order: a permit (over the limit, connections wait in the backlog), accept, TCP_NODELAY, a place among the
//! connections of the peer (over that limit, it is closed), the TLS handshake and the first bytes within one time-out,
//! a bounded channel that tonic reads.
//! tonic has no limit and no such time-out of its own, and ignores its TCP settings when it is fed from outside.
//!
//! "First byte" means as many bytes as tell a protocol: a peer that stops within the HTTP/2 preface is as silent as
//! one that sends nothing, and hyper would neither close it nor end a graceful shutdown before it does.

pub mod connection;
mod life;
pub mod listener;
pub(super) mod peers;

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::connection::{Connection, Count, PREFACE, Place, Prefix, Transport};
use self::life::Life;
use self::listener::{BoundListener, Socket};
use self::peers::Peers;
use super::drain::all_back;
use super::options::ServerOptions;
use super::tls::{self, ListenerTls};
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
/// `tls` holds for TCP only.
pub fn spawn(
    listener: BoundListener,
    options: &ServerOptions,
    tls: Option<ListenerTls>,
    metrics: Arc<Metrics>,
    tracker: &TaskTracker,
    stop: CancellationToken,
) -> (Incoming, Connections) {
    let limit = options.max_connection_count.min(Semaphore::MAX_PERMITS);
    let permits = Arc::new(Semaphore::new(limit));
    let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
    let age = options.max_connection_age;
    let of_one_peer = options.max_connections_per_peer;
    let acceptor = Acceptor {
        permits: Arc::clone(&permits),
        peers: of_one_peer.map(|limit| Arc::new(Peers::new(limit))),
        door: Door {
            tls,
            first_byte_timeout: options.first_byte_timeout,
            longest_life: age.map(|age| age + options.shutdown_grace),
            metrics,
            stop,
            sender,
        },
        tracker: tracker.clone(),
    };
    tracker.spawn(acceptor.run(listener));
    (Incoming(receiver), Connections { permits, limit })
}

struct Acceptor {
    permits: Arc<Semaphore>,
    peers: Option<Arc<Peers>>,
    door: Door,
    tracker: TaskTracker,
}

impl Acceptor {
    async fn run(self, listener: BoundListener) {
        let stop = self.door.stop.clone();
        // The listener goes with the loop, so that new connects are refused while calls in flight end.
        let accept_all = async move {
            while let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await {
                let socket = listener.accept().await;
                let count = Count::new(Arc::clone(&self.door.metrics));
                match self.place(&socket, permit) {
                    Some(place) => {
                        // Apart from the loop, so that a silent peer holds up nobody.
                        let admit = self.door.clone().admit(socket, count, place);
                        self.tracker.spawn(admit);
                    }
                    None => count.closed(ConnectionClosed::PeerLimit),
                }
            }
        };
        stop.run_until_cancelled_owned(accept_all).await;
    }

    fn place(&self, socket: &Socket, permit: OwnedSemaphorePermit) -> Option<Place> {
        let of_peer = match (&self.peers, socket) {
            // A peer without an address is gone already.
            (Some(peers), Either::Left(tcp)) => match tcp.peer_addr() {
                Ok(address) => Some(peers.enter(address.ip())?),
                Err(_) => None,
            },
            (None, _) | (_, Either::Right(_)) => None,
        };
        Some(Place {
            _permit: permit,
            _of_peer: of_peer,
        })
    }
}

/// What stands between an accepted socket and tonic.
#[derive(Clone)]
struct Door {
    tls: Option<ListenerTls>,
    first_byte_timeout: Duration,
    longest_life: Option<Duration>,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
    sender: mpsc::Sender<Connection>,
}

/// A transport, and what it sent first, or why it is to be closed.
struct Opened {
    transport: Transport,
    prefix: Result<Prefix, ConnectionClosed>,
}

impl Door {
    /// Waits for the first bytes; `place` is given back after the socket is closed.
    async fn admit(self, socket: Socket, count: Count, place: Place) {
        let Self { stop, sender, .. } = &self;
        let mut open = pin!(self.open(socket));
        let opened = timeout(self.first_byte_timeout, open.as_mut());
        match stop.run_until_cancelled(opened).await {
            Some(Ok(Opened { transport, prefix })) => match prefix {
                Ok(prefix) => {
                    let life = Life::new(self.longest_life);
                    let connection = Connection::new(transport, prefix, count, place, life);
                    // An error means that tonic has stopped: the connection comes back and is closed.
                    drop(sender.send(connection).await);
                }
                Err(reason) => {
                    count.closed(reason);
                    let is_refused = reason == ConnectionClosed::TlsRefused;
                    if is_refused && let Either::Left(Either::Left(mut tcp)) = transport {
                        stop.run_until_cancelled(tls::last_word(&mut tcp)).await;
                    }
                }
            },
            Some(Err(_)) => count.closed(ConnectionClosed::FirstByteTimeout),
            None => count.closed(ConnectionClosed::Ended),
        }
    }

    async fn open(&self, socket: Socket) -> Opened {
        let transport = match (&self.tls, socket) {
            (Some(tls), Either::Left(tcp)) => {
                let peer = tcp.peer_addr().ok();
                match tls.accept(tcp, peer, &self.metrics).await {
                    Ok(stream) => Ok(Either::Right(Box::new(stream))),
                    Err(failed) => Err(failed),
                }
            }
            (None, socket) | (Some(_), socket @ Either::Right(_)) => Ok(Either::Left(socket)),
        };
        match transport {
            Ok(mut transport) => {
                let prefix = match read_prefix(&mut transport).await {
                    Ok(Some(prefix)) => Ok(prefix),
                    Ok(None) => Err(ConnectionClosed::Ended),
                    Err(_) => Err(ConnectionClosed::Error),
                };
                Opened { transport, prefix }
            }
            Err(failed) => Opened {
                transport: Either::Left(Either::Left(failed.socket)),
                prefix: Err(failed.closed),
            },
        }
    }
}

/// The first bytes, up to where they are a whole HTTP/2 preface or something else; `None` if the peer ends before.
async fn read_prefix(socket: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Prefix>> {
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
