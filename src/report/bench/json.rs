//! A bench as JSON: canonical bytes out, strict and versioned in.

use super::{Bench, SCHEMA_VERSION};
use crate::report::json::{ReportError, document, versioned};

/// The bench as indented JSON with a final line end; the same bench gives the same bytes.
pub fn write(bench: &Bench) -> serde_json::Result<String> {
    document(bench)
}

/// Reads a bench and refuses what is not exactly one.
pub fn read(file: &str, text: &str) -> Result<Bench, ReportError> {
    versioned(file, text, SCHEMA_VERSION, "bench")
}
