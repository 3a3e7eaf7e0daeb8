//! The integration tests, one binary: a module for each thing that users rely on.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

/// Who may name whom in the source.
mod architecture;
/// Texts that speak to the judge.
mod attacks;
/// Who may call, and what callers are told.
mod auth;
/// Judges on labelled data sets.
mod bench;
/// Answers that are kept, and those that never are.
mod cache;
/// What a broken judge can and cannot do.
mod cascade;
/// Judges that answer in words, and the services behind them.
mod chat;
/// The commands, as processes.
mod cli;
/// What the codec answers before any handler runs.
mod codec;
/// Deadlines and cancellation in paused time.
mod deadlines;
/// Reports against accepted ones.
mod gate;
/// Bad requests, errors and limits on the wire.
mod grpc;
/// What operators take fits the program.
mod deploy;
/// The documents say what the code does.
mod documents;
/// Judges over HTTP that go wrong.
mod egress;
/// Evaluations over labelled data.
mod evaluation;
/// The embedded judge as a caller sees it.
mod embedded;
/// What the embedded judge may and may not let pass.
mod lexical;
/// The files that the project ships.
mod fixtures;
/// Models of the user's own.
mod onnx;
/// The seed's nine rows.
mod parity;
/// The style of the API.
mod proto_style;
/// The references are generated from the code.
mod reference;
/// Promises that answer public complaints, by their numbers.
mod requirements;
/// The same calls over HTTP.
mod http;
/// Judges that go wrong, asked by the real binary.
mod upstream;
/// The real binary over real sockets.
mod server;
/// Caps on what judges cost.
mod spend;
/// Statements in, statements out.
mod statements;
/// Licences, versions and sources of what this is built from.
mod supply_chain;
mod support;
/// TLS, client certificates, rotation and limits of the listeners.
mod tls;
/// What is sent to judges over HTTP, and what is made of their answers.
mod wire;
/// What judges are not shown.
mod view;
/// Recorded judgments under another policy.
mod what_if;
