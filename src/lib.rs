//! Diagnoses the answers of retrieval-augmented applications.
//!
//! Modules stand in the order in which data flows through them; ARCHITECTURE.md tells what each may use.

pub mod domain;
pub mod text;
pub mod policy;
pub mod stats;
pub mod pricing;
pub mod telemetry;
pub mod artifact;
pub mod judge;
pub mod cascade;
pub mod dataset;
pub mod report;
pub mod eval;
pub mod rpc;
pub mod server;
pub mod client;
pub mod config;
pub mod app;
pub mod cli;
