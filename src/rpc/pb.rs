//! Messages and service stubs generated from `proto/`.

#![expect(clippy::allow_attributes, reason = "generated code")]

tonic::include_proto!("judgecascade.v1");

/// The descriptors of every file of the API, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/judgecascade.v1.binpb"));
