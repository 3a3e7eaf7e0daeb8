//! The acts over HTTP/2.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use h2::Reason;
use h2::server::SendResponse;
use http::{Request, Response};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;

use super::{Act, Seen, Shared};

/// Serves streams until one side is done.
pub(super) async fn serve(stream: TlsStream<TcpStream>, shared: &Arc<Shared>, number: usize) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    let mut streams = JoinSet::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        let shared = Arc::clone(shared);
        if shared.is_next(|act| matches!(act, Act::HangUp)) {
            shared.next_for(seen(&request, Vec::new(), number));
            connection.abrupt_shutdown(Reason::NO_ERROR);
            continue;
        }
        streams.spawn(async move { answer(request, respond, &shared, number).await });
    }
}

async fn answer(
    mut request: Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    shared: &Shared,
    number: usize,
) {
    let mut body = Vec::new();
    while let Some(Ok(part)) = request.body_mut().data().await {
        request
            .body_mut()
            .flow_control()
            .release_capacity(part.len())
            .unwrap();
        body.extend_from_slice(&part);
    }
    match shared.next_for(seen(&request, body, number)) {
        Act::Answer(reply) => {
            let mut head = Response::builder().status(reply.status);
            for (name, value) in &reply.headers {
                head = head.header(name, value);
            }
            let head = head.body(()).unwrap();
            // The peer may have gone away, and nothing depends on it.
            if let Ok(mut stream) = respond.send_response(head, false) {
                drop(stream.send_data(Bytes::from(reply.body), true));
            }
        }
        Act::Reset => respond.send_reset(Reason::INTERNAL_ERROR),
        Act::BlackHole => {
            drop(poll_fn(|context| respond.poll_reset(context)).await);
            shared.note(|log| log.aborted += 1);
        }
        other => panic!("{other:?} is no act over HTTP/2"),
    }
}

fn seen(request: &Request<h2::RecvStream>, body: Vec<u8>, connection: usize) -> Seen {
    let mut head = format!("{} {} HTTP/2\r\n", request.method(), request.uri().path());
    for (name, value) in request.headers() {
        head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    Seen {
        head,
        body,
        connection,
    }
}
