//! The body of a request, up to the limit.
//!
//! A body that is not wanted is read on and thrown away, up to a bound: a peer that is still sending when the connection
//! closes would see a reset instead of the answer.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt as _;

use super::Refusal;
use crate::server::receiving::Received;
use crate::server::service::Service;

/// The most bytes that are set aside for a body before any of it has come: a head alone takes no more.
const FIRST_ROOM: usize = 64 * 1024;
/// The most bytes of an unwanted body that are read.
const DISCARDED: usize = 64 * 1024 * 1024;
/// The longest time for that.
const DISCARDING: Duration = Duration::from_secs(2);

/// A body, and its part of what may be received at once; it ends with it.
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    _received: Received,
}

/// Reads a body; the time limit of the call bounds how long that takes.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    service: &Service,
) -> Result<Whole, Refusal> {
    let said = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let waits = headers.contains_key(header::EXPECT);
    if waits && said.is_some_and(|said| limit < said) {
        // The peer sends its body only when it is told to go on.
        return Err(too_long());
    }
    let mut received = service.receive();
    let mut bytes = Vec::with_capacity(first_room(said, limit));
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| {
            let detail = "the body ended early or is not framed as HTTP says";
            Refusal::Exchange(StatusCode::BAD_REQUEST, detail)
        })?;
        if limit < bytes.len() + chunk.len() {
            drop((bytes, received));
            throw_away(chunks).await;
            return Err(too_long());
        }
        if let Err(error) = received.add(chunk.len()) {
            drop((bytes, received));
            throw_away(chunks).await;
            return Err(service.failed(None, error).into());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Whole {
        bytes,
        _received: received,
    })
}

fn first_room(said: Option<usize>, limit: usize) -> usize {
    said.unwrap_or_default().min(limit).min(FIRST_ROOM)
}

/// Takes the body of a request that is refused by its head.
pub(super) async fn discard(headers: &HeaderMap, body: Body) {
    // A peer that asks first has sent none yet, and reading it would tell the peer to go on.
    if !headers.contains_key(header::EXPECT) {
        throw_away(body.into_data_stream()).await;
    }
}

async fn throw_away(mut chunks: BodyDataStream) {
    let all = async {
        let mut length: usize = 0;
        while let Some(Ok(chunk)) = chunks.next().await {
            length = length.saturating_add(chunk.len());
            if DISCARDED < length {
                break;
            }
        }
    };
    // Whoever is slower than that loses the rest of what he sends, and perhaps the answer.
    tokio::time::timeout(DISCARDING, all).await.ok();
}

const fn too_long() -> Refusal {
    let detail = "the body is longer than server.max_message_bytes";
    Refusal::Exchange(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_head_says_takes_no_memory() {
        for (said, limit, room) in [
            (None, 1 << 22, 0),
            (Some(100), 1 << 22, 100),
            (Some(100), 10, 10),
            (Some(1 << 22), 1 << 22, FIRST_ROOM),
            (Some(usize::MAX), usize::MAX, FIRST_ROOM),
        ] {
            assert_eq!(first_room(said, limit), room, "{said:?}");
        }
    }
}
