//! Connections over TLS that remember why they broke.
//!
//! A server refuses a certificate after the connection is there for the client, and the library may then tell a call
//! only that it was cancelled.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint, Error, Uri};

use super::fault;

/// The port of an address that names none.
const DEFAULT_PORT: u16 = 443;

/// Why the last connection broke, if TLS was the reason and nobody has been told.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusal(Arc<Mutex<Option<String>>>);

impl Refusal {
    fn note(&self, error: &io::Error) {
        if let Some(problem) = fault::of_tls(error) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
        }
    }

    /// The reason, once.
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Connects to a target; every further connection of the channel is made in the same way.
pub(super) async fn connect(
    target: Endpoint,
    config: ClientConfig,
    refusal: Refusal,
) -> Result<Channel, Error> {
    let connector = TlsConnector::from(Arc::new(config));
    let open = tower::service_fn(move |uri: Uri| {
        let (connector, refusal) = (connector.clone(), refusal.clone());
        async move {
            let host = uri.host().unwrap_or_default();
            let host = host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned();
            let port = uri.port_u16().unwrap_or(DEFAULT_PORT);
            let tcp = TcpStream::connect((&*host, port)).await?;
            tcp.set_nodelay(true)?;
            let name = ServerName::try_from(host).map_err(io::Error::other)?;
            let stream = connector.connect(name, tcp).await?;
            io::Result::Ok(TokioIo::new(Noted { stream, refusal }))
        }
    });
    target.connect_with_connector(open).await
}

/// A connection whose failure is noted.
struct Noted {
    stream: TlsStream<TcpStream>,
    refusal: Refusal,
}

impl AsyncRead for Noted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Poll::Ready(Err(error)) = &polled {
            self.refusal.note(error);
        }
        polled
    }
}

impl AsyncWrite for Noted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
