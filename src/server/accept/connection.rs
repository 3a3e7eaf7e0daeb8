//! A connection as tonic sees it.
//!
//! It first replays the bytes that were read while it waited for its first ones.
//! It holds what counts it, and is counted as closed once, when it is dropped.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::either::Either;
use tonic::transport::server::{Connected, TcpConnectInfo};

use super::listener::Socket;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::{Alive, ConnectionClosed};

/// What an HTTP/2 client sends first (RFC 9113, section 3.4).
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that has sent its first bytes.
///
/// The order of the fields is the order in which they are dropped: a peer that sees the end is already counted,
/// and the next one is let in when the file descriptor is free.
#[derive(Debug)]
pub struct Connection {
    count: Count,
    prefix: Prefix,
    socket: Socket,
    _permit: OwnedSemaphorePermit,
}

/// What a connection needs to be let in.
#[derive(Debug)]
pub(super) struct Entry {
    count: Count,
    permit: OwnedSemaphorePermit,
}

impl Entry {
    pub(super) fn new(metrics: Arc<Metrics>, permit: OwnedSemaphorePermit) -> Self {
        let count = Count {
            _alive: metrics.connection_opened(),
            metrics,
            reason: ConnectionClosed::Ended,
            peer_ended: false,
        };
        Self { count, permit }
    }
}

impl Connection {
    pub(super) fn new(socket: Socket, entry: Entry) -> Self {
        Self {
            count: entry.count,
            prefix: Prefix::default(),
            socket,
            _permit: entry.permit,
        }
    }

    pub(super) const fn socket(&mut self) -> &mut Socket {
        &mut self.socket
    }

    pub(super) const fn replay(&mut self, prefix: Prefix) {
        self.prefix = prefix;
    }

    pub(super) fn close_as(mut self, reason: ConnectionClosed) {
        self.count.reason = reason;
    }
}

impl Connected for Connection {
    /// Without addresses on a Unix socket; the type is the one that `tonic::Request::remote_addr` looks for.
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        match &self.socket {
            Either::Left(tcp) => tcp.connect_info(),
            Either::Right(_) => TcpConnectInfo {
                local_addr: None,
                remote_addr: None,
            },
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.prefix.take_into(buf) {
            return Poll::Ready(Ok(()));
        }
        let (before, room) = (buf.filled().len(), buf.remaining());
        let read = ready!(Pin::new(&mut self.socket).poll_read(cx, buf));
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
        let written = ready!(Pin::new(&mut self.socket).poll_write(cx, buf));
        Poll::Ready(self.count.note(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(cx, bufs));
        Poll::Ready(self.count.note(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// Counts a connection as open, and on drop as closed.
#[derive(Debug)]
struct Count {
    _alive: Alive,
    metrics: Arc<Metrics>,
    reason: ConnectionClosed,
    peer_ended: bool,
}

impl Count {
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
