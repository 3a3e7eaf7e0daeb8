//! The acts over HTTP/1.1.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;

use super::{Act, Seen, Shared};

/// The first byte of a client that speaks TLS; most servers answer it in plain text.
const TLS_HANDSHAKE: u8 = 22;

/// A stream of bytes over a connection that can be reset.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {
    fn connection(&self) -> &TcpStream;
}

impl Wire for TcpStream {
    fn connection(&self) -> &TcpStream {
        self
    }
}

impl Wire for TlsStream<TcpStream> {
    fn connection(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// What becomes of the connection after an act.
enum Next {
    Keep,
    Close,
    Reset,
}

/// Serves requests until one side is done.
pub(super) async fn serve(mut wire: impl Wire, shared: &Shared, number: usize) {
    let mut buffer = Vec::new();
    while let Ok(Some(seen)) = request(&mut wire, &mut buffer, number).await {
        match act(&mut wire, shared.next_for(seen)).await {
            Ok(Next::Keep) => {}
            Ok(Next::Close) => {
                // What the peer does now does not matter any more.
                drop(wire.shutdown().await);
                return;
            }
            Ok(Next::Reset) => {
                wire.connection().set_zero_linger().unwrap();
                return;
            }
            Err(_) => {
                shared.note(|log| log.aborted += 1);
                return;
            }
        }
    }
}

/// The next request, or nothing if the peer is done.
async fn request(
    wire: &mut impl Wire,
    buffer: &mut Vec<u8>,
    connection: usize,
) -> io::Result<Option<Seen>> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
            break at + 4;
        }
        if wire.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
        if buffer[0] == TLS_HANDSHAKE {
            wire.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                .await?;
            return Ok(None);
        }
    };
    let head = String::from_utf8(buffer[..head_end].to_vec()).unwrap();
    let mut seen = Seen {
        head,
        body: Vec::new(),
        connection,
    };
    let length = seen
        .header("content-length")
        .map_or(0, |text| text.parse().unwrap());
    while buffer.len() < head_end + length {
        if wire.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    seen.body = buffer[head_end..head_end + length].to_vec();
    buffer.drain(..head_end + length);
    Ok(Some(seen))
}

/// Does what is to be done; an error means that the peer went away first.
async fn act(wire: &mut impl Wire, act: Act) -> io::Result<Next> {
    match act {
        Act::Answer(reply) => {
            wire.write_all(reply.head().as_bytes()).await?;
            wire.write_all(&reply.body).await?;
            wire.flush().await?;
            Ok(Next::Keep)
        }
        Act::SlowHead(reply, pause) => {
            let bytes = [reply.head().into_bytes(), reply.body].concat();
            slowly(wire, &bytes, pause).await?;
            Ok(Next::Keep)
        }
        Act::Drip(reply, pause) => {
            wire.write_all(reply.head().as_bytes()).await?;
            slowly(wire, &reply.body, pause).await?;
            Ok(Next::Keep)
        }
        Act::Truncate(reply, length) => {
            wire.write_all(reply.head().as_bytes()).await?;
            wire.write_all(&reply.body[..length]).await?;
            Ok(Next::Close)
        }
        Act::ResetMidBody(reply, length) => {
            wire.write_all(reply.head().as_bytes()).await?;
            wire.write_all(&reply.body[..length]).await?;
            wire.flush().await?;
            // The peer must have read what was sent before the reset takes it away.
            sleep(Duration::from_millis(50)).await;
            Ok(Next::Reset)
        }
        Act::Endless => {
            let part = [b"10000\r\n".as_slice(), &[b' '; 65_536], b"\r\n"].concat();
            wire.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                .await?;
            loop {
                wire.write_all(&part).await?;
            }
        }
        Act::HangUp | Act::CloseAtOnce => Ok(Next::Close),
        Act::Reset => Ok(Next::Reset),
        Act::BlackHole | Act::Deaf | Act::AnswerTo(_) => {
            gone(wire).await;
            Err(io::ErrorKind::ConnectionAborted.into())
        }
    }
}

async fn slowly(wire: &mut impl Wire, bytes: &[u8], pause: Duration) -> io::Result<()> {
    for byte in bytes {
        wire.write_all(&[*byte]).await?;
        wire.flush().await?;
        tokio::select! {
            () = sleep(pause) => {}
            () = gone(wire) => return Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
    Ok(())
}

/// Waits until the peer goes away; it sends nothing while it waits for an answer.
async fn gone(wire: &mut impl Wire) {
    let mut byte = [0];
    while let Ok(1) = wire.read(&mut byte).await {}
}
