//! The gRPC codec: messages by prost, with a bounded number of parts.
//!
//! An empty chunk takes two bytes on the wire and a hundred times as many in memory, so a message of four megabytes
//! could take hundreds of them before anything is validated. The parts are counted on the wire, which takes no memory.

use bytes::Buf;
use prost::DecodeError;
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstEncoder};

use super::status::CallError;

/// Parts of a request, over gRPC its fields and those of its trace, over HTTP the entries of its lists: more than the
/// limits on chunks, turns, tags and statements let through together.
pub const MAX_PARTS: usize = 32_768;

/// The field of a request that holds lists; in other messages it is read along and comes to nothing.
const TRACE: u32 = 1;

/// The codec of every service of ours.
#[derive(Debug, Clone)]
pub struct BoundedCodec<T, U>(ProstCodec<T, U>);

/// Decodes what has not too many parts.
#[derive(Debug)]
pub struct BoundedDecoder<D>(D);

impl<T, U> Default for BoundedCodec<T, U> {
    fn default() -> Self {
        Self(ProstCodec::new())
    }
}

impl<T, U> Codec for BoundedCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = BoundedDecoder<<ProstCodec<T, U> as Codec>::Decoder>;

    fn encoder(&mut self) -> Self::Encoder {
        self.0.encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        BoundedDecoder(self.0.decoder())
    }
}

impl<D: Decoder<Error = Status>> Decoder for BoundedDecoder<D> {
    type Item = D::Item;
    type Error = Status;

    fn decode(&mut self, buf: &mut DecodeBuf<'_>) -> Result<Option<D::Item>, Status> {
        // What is malformed is left to prost, which says how.
        if MAX_PARTS < parts(buf.chunk()).unwrap_or_default() {
            return Err(CallError::too_many_parts(MAX_PARTS).report().status());
        }
        self.0.decode(buf)
    }

    fn buffer_settings(&self) -> tonic::codec::BufferSettings {
        self.0.buffer_settings()
    }
}

/// The fields of a message and of its trace; it stops counting when there are too many.
fn parts(message: &[u8]) -> Result<usize, DecodeError> {
    let mut count = 0;
    let mut rest = message;
    while rest.has_remaining() && count <= MAX_PARTS {
        let (tag, wire_type) = decode_key(&mut rest)?;
        count += 1;
        if tag == TRACE && wire_type == WireType::LengthDelimited {
            let length = usize::try_from(decode_varint(&mut rest)?).unwrap_or(usize::MAX);
            let (trace, after) = rest.split_at(length.min(rest.len()));
            count += fields(trace)?;
            rest = after;
        } else {
            skip_field(wire_type, tag, &mut rest, DecodeContext::default())?;
        }
    }
    Ok(count)
}

fn fields(mut message: &[u8]) -> Result<usize, DecodeError> {
    let mut count = 0;
    while message.has_remaining() && count <= MAX_PARTS {
        let (tag, wire_type) = decode_key(&mut message)?;
        skip_field(wire_type, tag, &mut message, DecodeContext::default())?;
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::pb;

    fn request(chunk_count: usize) -> Vec<u8> {
        let trace = pb::Trace {
            chunks: vec![pb::Chunk::default(); chunk_count],
            ..Default::default()
        };
        let request = pb::DiagnoseRequest {
            trace: Some(trace),
            profile: "default".to_owned(),
            ..Default::default()
        };
        request.encode_to_vec()
    }

    #[test]
    fn the_parts_of_a_request_are_those_of_its_trace_and_its_own() {
        assert_eq!(parts(&request(0)), Ok(2));
        assert_eq!(parts(&request(5)), Ok(7));
        assert!(MAX_PARTS < parts(&request(MAX_PARTS)).unwrap());
    }

    #[test]
    fn traces_in_pieces_are_counted_together() {
        let pieces = request(MAX_PARTS / 2).repeat(3);
        assert!(MAX_PARTS < parts(&pieces).unwrap());
    }

    #[test]
    fn counting_ends_soon_after_the_limit() {
        let two_million = request(2_000_000);
        assert!(parts(&two_million).unwrap() <= MAX_PARTS + 3);
    }

    #[test]
    fn what_is_no_message_is_left_to_prost() {
        for bytes in [&[0xff; 12][..], &[0x0a, 5, 1], &[0x0a, 2, 0xff, 0xff]] {
            assert!(parts(bytes).is_err(), "{bytes:?}");
        }
    }
}
