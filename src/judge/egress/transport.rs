//! What carries requests: HTTP over TLS, or a script in tests.
//!
//! Redirects are not followed, proxies of the environment are not used, and an answer is bounded in its head and in
//! its decompressed body. What goes wrong is told in our own words, apart from what the peer sent.

mod connecting;
mod fault;

use async_trait::async_trait;
use bytes::Bytes;
use http::Request;
use reqwest::{Certificate, Client, ClientBuilder, redirect, retry};
use std::time::Duration;

use tower::util::MapRequestLayer;

use super::{EgressError, Incoming};
use crate::artifact::bounded;
use crate::judge::remote::{EndpointOptions, Roots};

/// The most bytes of the head of an answer over HTTP/2; over HTTP/1 it is at most [`MAX_HEADERS`] lines.
const MAX_HEAD_BYTES: u32 = 65_536;
/// The longest file of trusted certificates.
const MAX_ROOTS_BYTES: u64 = 16 * 1024 * 1024;
/// The most headers of an answer.
const MAX_HEADERS: usize = 100;
/// A kept connection that has not been used for so long is closed.
const IDLE: Duration = Duration::from_secs(60);
/// A connection over HTTP/2 on which a request waits is asked so often whether it is alive.
const PING: Duration = Duration::from_secs(5);

/// Carries one request to a judge and brings the answer.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Carries it. Dropping the future aborts the request.
    ///
    /// A request with [`OnNewConnection`] among its extensions goes over a new connection.
    async fn send(&self, request: Request<Bytes>) -> Result<Incoming, TransportError>;
}

/// Marks a request that must not go over a kept connection, because one of them was just found to be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnNewConnection;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The host has no address.
    #[error("the name of the host cannot be resolved")]
    Dns,
    /// There is no connection.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// There is no trust.
    #[error("{0}")]
    Tls(TlsFault),
    /// A kept connection was gone before anything came back.
    #[error("the kept connection was gone")]
    Stale,
    /// The connection broke before the answer was whole.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The answer is longer than this.
    #[error("the answer is longer than {0} bytes")]
    TooLarge(usize),
    /// What came back is no answer over HTTP, or its head is too large.
    #[error("what came back is not HTTP, or its head is too large")]
    Malformed,
}

/// Why there is no trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsFault {
    /// The certificate is too old.
    #[error("the certificate has expired")]
    Expired,
    /// The certificate is too new.
    #[error("the certificate is not valid yet")]
    NotYetValid,
    /// The certificate is for another host.
    #[error("the certificate is for another host")]
    WrongName,
    /// Nobody who is trusted issued the certificate.
    #[error("the certificate is from an unknown issuer")]
    UnknownIssuer,
    /// The certificate was withdrawn.
    #[error("the certificate is revoked")]
    Revoked,
    /// The certificate is bad in another way.
    #[error("the certificate is not valid")]
    BadCertificate,
    /// The two sides found no common language.
    #[error("the TLS handshake failed")]
    Handshake,
}

/// HTTP over TLS.
pub struct HttpTransport {
    kept: Client,
    new: Client,
    max_response_bytes: usize,
}

impl HttpTransport {
    /// A transport as an endpoint wants it.
    pub fn new(options: &EndpointOptions) -> Result<Self, EgressError> {
        let idle = options.concurrency.max_in_flight;
        Ok(Self {
            kept: client(options, idle)?,
            new: client(options, 0)?,
            max_response_bytes: options.max_response_bytes,
        })
    }
}

#[async_trait]
impl Transport for HttpTransport {
    async fn send(&self, request: Request<Bytes>) -> Result<Incoming, TransportError> {
        let client = match request.extensions().get::<OnNewConnection>() {
            Some(OnNewConnection) => &self.new,
            None => &self.kept,
        };
        let request = reqwest::Request::try_from(request).map_err(|_| TransportError::Malformed)?;
        let (answer, is_kept) = connecting::watched(client.execute(request)).await;
        let mut response = answer.map_err(|error| fault::before_the_head(&error, is_kept))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| fault::of(&error))? {
            if self.max_response_bytes < body.len() + part.len() {
                return Err(TransportError::TooLarge(self.max_response_bytes));
            }
            body.extend_from_slice(&part);
        }
        Ok(Incoming {
            status,
            headers,
            body: body.into(),
        })
    }
}

fn client(options: &EndpointOptions, idle: usize) -> Result<Client, EgressError> {
    let builder = Client::builder()
        .user_agent(concat!("judge-cascade/", env!("CARGO_PKG_VERSION")))
        .https_only(options.base_url.scheme() == "https")
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(retry::never())
        .connect_timeout(options.attempt_timeout)
        .connector_layer(MapRequestLayer::new(connecting::seen))
        .tcp_nodelay(true)
        .pool_max_idle_per_host(idle)
        .pool_idle_timeout(IDLE)
        .http1_max_headers(MAX_HEADERS)
        .http2_max_header_list_size(MAX_HEAD_BYTES)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PING);
    let builder = trusting(builder, &options.roots)?;
    builder
        .build()
        .map_err(|_| EgressError::new("roots", "the trusted certificates cannot be used"))
}

fn trusting(builder: ClientBuilder, roots: &Roots) -> Result<ClientBuilder, EgressError> {
    let unusable = |message: String| EgressError::new("roots", message);
    match roots {
        Roots::System => Ok(builder.tls_backend_rustls()),
        Roots::Bundled => {
            let certificates = webpki_root_certs::TLS_SERVER_ROOT_CERTS
                .iter()
                .map(|der| Certificate::from_der(der))
                .collect::<Result<Vec<_>, _>>()
                .map_err(|_| unusable("the bundled certificates cannot be read".to_owned()))?;
            Ok(builder.tls_certs_only(certificates))
        }
        Roots::File(path) => {
            let shown = path.display();
            let text = bounded::read(path, MAX_ROOTS_BYTES)
                .map_err(|error| unusable(format!("`{shown}` cannot be read: {error}")))?;
            let certificates = Certificate::from_pem_bundle(&text)
                .map_err(|_| unusable(format!("`{shown}` is not a PEM file")))?;
            if certificates.is_empty() {
                return Err(unusable(format!("`{shown}` holds no certificate")));
            }
            Ok(builder.tls_certs_only(certificates))
        }
    }
}
