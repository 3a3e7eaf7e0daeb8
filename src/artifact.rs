//! File rows and snapshots: strict read, canonical write, sha256.
//!
//! Wire and file shapes live here and nowhere else; the types of the domain are never serialised whole.

pub mod bounded;
pub mod digest;
pub mod gate_rules;
pub mod lines;
pub mod model_folder;
pub mod policy;
pub mod pricing;
pub mod replace;
pub mod replay;
pub mod spend;
pub mod verdict;
