//! TLS on the listeners: what is made of the files, and the handshake of a connection.
//!
//! No session is resumed: every connection shows its certificate anew, so that what was taken back (an authority, a
//! name, a certificate that has expired) is taken back for the next connection.

mod clients;
mod files;
mod refusals;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use self::refusals::Refusals;
use super::options::{ClientCertificates, TlsOptions};
use super::watched::{FileError, Watched};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::ConnectionClosed;

/// How long a peer that was refused may take to read why.
const LAST_WORD: Duration = Duration::from_secs(1);
/// The most bytes of such a peer that are read: what it has sent on when it is closed would destroy the alert.
const MAX_UNREAD: usize = 64 * 1024;

/// What is spoken over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2, for gRPC.
    Http2,
    /// HTTP/1.1.
    Http1,
}

/// The configurations of all listeners, made of the same files.
#[derive(Debug)]
pub struct Configs {
    http2: Arc<ServerConfig>,
    http1: Arc<ServerConfig>,
}

/// Reads the files; the error names the one that is wrong.
pub fn watch(options: &TlsOptions) -> Result<Watched<Configs>, FileError> {
    let mut files = vec![options.cert(), options.key()];
    files.extend(options.clients.iter().map(ClientCertificates::authorities));
    let options = options.clone();
    Watched::read(files, move |contents| files::configs(&options, contents))
}

/// TLS of one listener.
#[derive(Debug, Clone)]
pub struct ListenerTls {
    configs: Arc<Watched<Configs>>,
    protocol: Protocol,
    refusals: Arc<Refusals>,
}

/// Why there is no TLS connection.
pub(super) struct Failed {
    pub(super) socket: TcpStream,
    pub(super) closed: ConnectionClosed,
}

impl ListenerTls {
    /// TLS for the HTTP/2 listener and for the HTTP/1.1 listener.
    ///
    /// `None` if there are no configurations: clear text.
    pub fn pair(configs: Option<&Arc<Watched<Configs>>>) -> [Option<Self>; 2] {
        let refusals = Arc::new(Refusals::default());
        [Protocol::Http2, Protocol::Http1].map(|protocol| {
            Some(Self {
                configs: Arc::clone(configs?),
                protocol,
                refusals: Arc::clone(&refusals),
            })
        })
    }

    /// Shakes hands; a refusal is counted and logged here. It may take as long as the peer likes.
    pub(super) async fn accept(
        &self,
        socket: TcpStream,
        peer: Option<SocketAddr>,
        metrics: &Metrics,
    ) -> Result<TlsStream<TcpStream>, Failed> {
        let configs = self.configs.current();
        let config = match self.protocol {
            Protocol::Http2 => &configs.http2,
            Protocol::Http1 => &configs.http1,
        };
        let acceptor = TlsAcceptor::from(Arc::clone(config));
        let handshake = acceptor.accept(socket).into_fallible();
        let (ended, names) = clients::with_names(handshake).await;
        let (error, socket) = match ended {
            Ok(stream) => return Ok(stream),
            Err(failed) => failed,
        };
        let refused = error.get_ref().and_then(|inner| inner.downcast_ref());
        let closed = match refused {
            Some(refused) => {
                self.refusals.tell(refused, names.as_deref(), peer, metrics);
                ConnectionClosed::TlsRefused
            }
            // A probe that only connects is not refused.
            None if error.kind() == io::ErrorKind::UnexpectedEof => ConnectionClosed::Ended,
            None => ConnectionClosed::Error,
        };
        Err(Failed { socket, closed })
    }
}

/// Gives a peer that was refused the time to read the alert.
pub(super) async fn last_word(socket: &mut TcpStream) {
    let read = async {
        if socket.shutdown().await.is_err() {
            return;
        }
        let (mut buffer, mut length) = ([0; 1024], 0);
        while let Ok(1..) = socket.read(&mut buffer).await
            && length < MAX_UNREAD
        {
            length += buffer.len();
        }
    };
    timeout(LAST_WORD, read).await.ok();
}
