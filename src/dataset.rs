//! Labelled rows in files.

pub mod record;
