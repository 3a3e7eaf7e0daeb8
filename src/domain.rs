//! The nouns of the program: traces, dimensions, judgments, diagnoses and outcomes.
//!
//! Construction is validation: a value that exists is a valid one.
//! Nothing here knows files, wires, clocks, metrics or tasks.

mod vocabulary;

pub mod diagnosis;
pub mod dimension;
pub mod failure;
pub mod judgment;
pub mod outcome;
pub mod probability;
pub mod question;
pub mod trace;

pub(crate) use vocabulary::vocabulary;
pub use vocabulary::{UnknownName, Vocabulary};
