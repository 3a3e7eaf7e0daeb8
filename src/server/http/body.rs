//! The body of a request, up to the limit.
//!
//! A body that is not wanted is read on and thrown away, up to a bound: a peer that is still sending when the connection
//! closes would see a reset instead of the answer.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt as _;

use super::Refusal;

/// The most bytes of an unwanted body that are read.
const DISCARDED: usize = 64 * 1024 * 1024;
/// The longest time for that.
const DISCARDING: Duration = Duration::from_secs(2);

/// Reads a body; the time limit of the call bounds how long that takes.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Vec<u8>, Refusal> {
    let said = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let waits = headers.contains_key(header::EXPECT);
    if waits && said.is_some_and(|said| limit < said) {
        // The peer sends its body only when it is told to go on.
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(said.unwrap_or_default().min(limit));
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| {
            let detail = "the body ended early or is not framed as HTTP says";
            Refusal::Exchange(StatusCode::BAD_REQUEST, detail)
        })?;
        if limit < bytes.len() + chunk.len() {
            drop(bytes);
            throw_away(chunks).await;
            return Err(too_long());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
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
