//! What the server can be told.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Where and how calls are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// Where calls are accepted.
    pub listen: Listen,
    /// Where calls are accepted over HTTP too; `None` keeps that off.
    pub http_listen: Option<SocketAddr>,
    /// How long calls in flight may take after the signal to stop.
    pub shutdown_grace: Duration,
    /// Connections that are open at once on each listener; further ones wait in the backlog.
    pub max_connection_count: usize,
    /// Connections that one peer has open at once on each listener; further ones are closed. `None` is no limit.
    pub max_connections_per_peer: Option<usize>,
    /// A connection is closed gracefully at this age; `None` lets it live.
    pub max_connection_age: Option<Duration>,
    /// A connection that sends nothing for so long after it was accepted is closed.
    pub first_byte_timeout: Duration,
    /// The longest request message.
    pub max_message_bytes: usize,
    /// Bytes of request messages that are received at once, over all connections.
    pub max_receiving_bytes: usize,
    /// Traces that are diagnosed at once; further calls are turned away.
    pub max_in_flight_traces: usize,
    /// Whether the reflection service is offered.
    pub reflection: bool,
    /// TLS on the TCP listeners; `None` is clear text.
    pub tls: Option<TlsOptions>,
    /// Who may call; `None` lets everybody.
    pub auth: Option<AuthOptions>,
}

impl ServerOptions {
    /// Whether a caller has to prove over TLS who it is: what an address other than loopback asks for.
    pub fn authenticates(&self) -> bool {
        let tls = self.tls.as_ref();
        tls.is_some_and(|tls| tls.clients.is_some() || self.auth.is_some())
    }
}

/// A file with the key of the configuration that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The key.
    pub key: &'static str,
    /// The file.
    pub path: PathBuf,
}

/// TLS on a listener. The files are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The certificate chain, PEM, leaf first.
    pub cert_file: PathBuf,
    /// Its private key, PEM.
    pub key_file: PathBuf,
    /// Which certificates clients must show; `None` asks for none.
    pub clients: Option<ClientCertificates>,
}

impl TlsOptions {
    /// The file with the certificate chain.
    pub fn cert(&self) -> NamedFile {
        NamedFile {
            key: "server.tls.cert_file",
            path: self.cert_file.clone(),
        }
    }

    /// The file with the private key.
    pub fn key(&self) -> NamedFile {
        NamedFile {
            key: "server.tls.key_file",
            path: self.key_file.clone(),
        }
    }
}

/// Certificates that clients must show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificates {
    /// The authorities that issue them, PEM.
    pub ca_file: PathBuf,
    /// The DNS names and URIs of which a certificate must hold at least one; `None` takes any certificate.
    pub allowed_sans: Option<Vec<String>>,
}

impl ClientCertificates {
    /// The file with the authorities.
    pub fn authorities(&self) -> NamedFile {
        NamedFile {
            key: "server.tls.client_ca_file",
            path: self.ca_file.clone(),
        }
    }
}

/// The token that callers must send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthOptions {
    /// The file with the tokens, one a line. It is read again when it changes.
    pub token_file: PathBuf,
}

impl AuthOptions {
    /// The file with the tokens.
    pub fn tokens(&self) -> NamedFile {
        NamedFile {
            key: "server.auth.token_file",
            path: self.token_file.clone(),
        }
    }
}

/// Where calls are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// On a TCP address; port 0 takes a free one.
    Tcp(SocketAddr),
    /// On a Unix socket.
    Unix {
        /// Its path.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}
