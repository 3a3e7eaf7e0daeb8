//! The contexts of files that other data sets must not share.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::artifact::digest::sha256;
use crate::dataset::load::{self, DatasetError};
use crate::dataset::record::{Context, Record};

/// Digests of every context text.
#[derive(Debug, Default)]
pub(super) struct Excluded(BTreeSet<[u8; 32]>);

impl Excluded {
    /// Of every row of these files.
    pub(super) fn of(files: &[PathBuf]) -> Result<Self, DatasetError> {
        let mut excluded = Self::default();
        for file in files {
            for row in load::rows(file)? {
                excluded.0.extend(digests(&row?.record));
            }
        }
        Ok(excluded)
    }

    /// Whether a row shares a context text with one of them.
    pub(super) fn shares(&self, record: &Record) -> bool {
        !self.0.is_empty() && digests(record).any(|digest| self.0.contains(&digest))
    }
}

/// Spaces and case are how a file was made and not what it says; blank chunks are the same everywhere and tell nothing.
fn digests(record: &Record) -> impl Iterator<Item = [u8; 32]> {
    let texts = record.contexts.iter().map(|Context { text, .. }| {
        let letters = text.chars().filter(|c| !c.is_whitespace());
        letters.flat_map(char::to_lowercase).collect::<String>()
    });
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(|text| sha256(text.as_bytes()))
}
