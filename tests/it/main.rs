//! The integration tests, one binary: a module for each thing that users rely on.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

/// Who may name whom in the source.
mod architecture;
/// What a broken judge can and cannot do.
mod cascade;
/// The commands, as processes.
mod cli;
/// What the codec answers before any handler runs.
mod codec;
/// Deadlines and cancellation in paused time.
mod deadlines;
/// Bad requests, errors and limits on the wire.
mod grpc;
/// The documents say what the code does.
mod documents;
/// The embedded judge as a caller sees it.
mod embedded;
/// The files that the project ships.
mod fixtures;
/// The seed's nine rows.
mod parity;
/// The style of the API.
mod proto_style;
/// Promises that answer public complaints, by their numbers.
mod requirements;
/// The real binary over real sockets.
mod server;
mod support;
