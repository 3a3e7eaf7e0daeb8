//! Evaluation: the cascade over labelled rows, and what its recorded judgments would give under another policy.
//!
//! One run writes one line a row ([`rows`]); a report is made from such lines alone ([`summary`]), in any order, so that
//! shards, concurrency and resumption change no bit of it.

pub mod bench;
pub mod dry_run;
pub mod gate;
pub mod merge;
pub mod parity;
pub mod record;
pub mod retry;
pub mod rows;
pub mod run;
pub mod seen;
pub mod summary;
pub mod what_if;
