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
    /// A connection is closed gracefully at this age; `None` lets it live.
    pub max_connection_age: Option<Duration>,
    /// A connection that sends nothing for so long after it was accepted is closed.
    pub first_byte_timeout: Duration,
    /// The longest request message.
    pub max_message_bytes: usize,
    /// Traces that are diagnosed at once; further calls are turned away.
    pub max_in_flight_traces: usize,
    /// Whether the reflection service is offered.
    pub reflection: bool,
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
