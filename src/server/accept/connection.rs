//! A connection as tonic sees it.
//!
//! It first replays the bytes that were read while it waited for its first ones.
//! It holds what counts it, and is counted as closed once, when it is dropped.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tonic::transport::server::{Connected, TcpConnectInfo};

use super::life::Life;
use super::listener::Socket;
use super::peers::PeerPlace;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::{Alive, ConnectionClosed};

/// What an HTTP/2 client sends first (RFC 9113, section 3.4).
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What carries the bytes: a socket, or TLS over one.
pub(super) type Transport = Either<Socket, Box<TlsStream<TcpStream>>>;

/// A connection that has sent its first bytes.
///
/// The order of the fields is the order in which they are dropped: a peer that sees the end is already counted,
/// and the next one is let in when the file descriptor is free.
#[derive(Debug)]
pub struct Connection {
    count: Count,
    prefix: Prefix,
    transport: Transport,
    life: Life,
    _place: Place,
}

/// What a connection needs to be let in.
#[derive(Debug)]
pub(super) struct Place {
    /// Its place among all.
    pub(super) _permit: OwnedSemaphorePermit,
    /// Its place among those of its peer, where they are limited.
    pub(super) _of_peer: Option<PeerPlace>,
}

impl Connection {
    /// `prefix` are the bytes that were read from the transport already.
    pub(super) const fn new(
        transport: Transport,
        prefix: Prefix,
        count: Count,
        place: Place,
        life: Life,
    ) -> Self {
        Self {
            count,
            prefix,
            transport,
            life,
            _place: place,
        }
    }

    /// Ends what is past its age.
    fn check_age(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.life.is_over(cx) {
            return Err(self.count.cut(ConnectionClosed::TooOld));
        }
        Ok(())
    }

    /// What a write came to; one that is pending for too long has failed.
    fn written(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(written) => {
                self.life.flows();
                Poll::Ready(self.count.note(written))
            }
            Poll::Pending if self.life.is_stalled(cx) => {
                Poll::Ready(Err(self.count.cut(ConnectionClosed::Stalled)))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    const fn is_tls(&self) -> bool {
        matches!(self.transport, Either::Right(_))
    }
}

impl Connected for Connection {
    /// Without addresses on a Unix socket; the type is the one that `tonic::Request::remote_addr` looks for.
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        match &self.transport {
            Either::Left(Either::Left(tcp)) => tcp.connect_info(),
            Either::Left(Either::Right(_)) => TcpConnectInfo {
                local_addr: None,
                remote_addr: None,
            },
            Either::Right(tls) => tls.get_ref().0.connect_info(),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_age(cx)?;
        if self.prefix.take_into(buf) {
            return Poll::Ready(Ok(()));
        }
        let (before, room) = (buf.filled().len(), buf.remaining());
        let read = match ready!(Pin::new(&mut self.transport).poll_read(cx, buf)) {
            // Clients that close without the alert for it are many, and both HTTP versions tell where a message ends.
            Err(error) if self.is_tls() && error.kind() == ErrorKind::UnexpectedEof => Ok(()),
            read => read,
        };
        if read.is_ok() && 0 < room && buf.filled().len() == before {
            self.count.peer_ended = true;
        }
        Poll::Ready(self.count.note(read))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_age(cx)?;
        let written = Pin::new(&mut self.transport).poll_write(cx, buf);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check_age(cx)?;
        let written = Pin::new(&mut self.transport).poll_write_vectored(cx, bufs);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.transport.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }
}

/// Counts a connection as open, and on drop as closed.
#[derive(Debug)]
pub(super) struct Count {
    _alive: Alive,
    metrics: Arc<Metrics>,
    reason: ConnectionClosed,
    peer_ended: bool,
}

impl Count {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            _alive: metrics.connection_opened(),
            metrics,
            reason: ConnectionClosed::Ended,
            peer_ended: false,
        }
    }

    /// Counts it as closed for this reason.
    pub(super) fn closed(mut self, reason: ConnectionClosed) {
        self.reason = reason;
    }

    /// Counts it as closed for this reason once it is dropped, and says so to its user.
    fn cut(&mut self, reason: ConnectionClosed) -> io::Error {
        self.reason = reason;
        io::Error::from(ErrorKind::TimedOut)
    }

    /// A peer that has ended may be gone before our last frame reaches it: that is no error.
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if result.is_err() && !self.peer_ended {
            self.reason = ConnectionClosed::Error;
        }
        result
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.metrics.connection_closed(self.reason);
    }
}

/// Bytes that were read ahead.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    bytes: [u8; PREFACE.len()],
    len: usize,
    taken: usize,
}

impl Prefix {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.taken..self.len]
    }

    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.len..]
    }

    pub(super) const fn extend(&mut self, n: usize) {
        self.len += n;
    }

    /// Moves what fits into `buf`; false if there was nothing to move.
    fn take_into(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        if self.taken == self.len {
            return false;
        }
        let n = buf.remaining().min(self.len - self.taken);
        buf.put_slice(&self.bytes[self.taken..self.taken + n]);
        self.taken += n;
        true
    }
}
