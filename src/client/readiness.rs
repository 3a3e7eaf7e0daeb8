//! The question of a probe to the admin listener: one request, of whose answer only the status counts.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::{Request, StatusCode, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Why it is not known whether a server is ready.
#[derive(Debug, thiserror::Error)]
pub enum ReadinessError {
    /// Nobody answers there.
    #[error("cannot connect to the admin address `{address}`")]
    Connect {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// What answers is no HTTP.
    #[error("the admin address `{address}` gives no answer over HTTP")]
    Exchange {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: hyper::Error,
    },
    /// Somebody else answers.
    #[error("`{address}` answers {status} to `GET /readyz`, which no admin listener does")]
    Status {
        /// The address.
        address: SocketAddr,
        /// The status.
        status: StatusCode,
    },
}

/// Whether the server with this admin address is ready; an address that stands for all of a machine is asked on loopback.
pub async fn is_ready(listen: SocketAddr) -> Result<bool, ReadinessError> {
    let address = reachable(listen);
    let socket = TcpStream::connect(address)
        .await
        .map_err(|source| ReadinessError::Connect { address, source })?;
    let exchange = async {
        let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
        let mut request = Request::new(String::new());
        *request.uri_mut() = http::Uri::from_static("/readyz");
        let host = address.to_string().try_into();
        if let Ok(host) = host {
            request.headers_mut().insert(header::HOST, host);
        }
        // The connection does the work of the request, and it may end first.
        let (answer, _) = tokio::join!(sender.send_request(request), connection);
        answer.map(|answer| answer.status())
    };
    let status = exchange
        .await
        .map_err(|source| ReadinessError::Exchange { address, source })?;
    match status {
        StatusCode::OK => Ok(true),
        StatusCode::SERVICE_UNAVAILABLE => Ok(false),
        _ => Err(ReadinessError::Status { address, status }),
    }
}

fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_all_interfaces_is_asked_on_loopback() {
        for (listen, asked) in [
            ("0.0.0.0:9464", "127.0.0.1:9464"),
            ("[::]:9464", "[::1]:9464"),
            ("10.1.2.3:9464", "10.1.2.3:9464"),
        ] {
            let listen: SocketAddr = listen.parse().unwrap();
            assert_eq!(reachable(listen).to_string(), asked);
        }
    }
}
