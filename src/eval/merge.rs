//! One evaluation out of the rows files of its shards.
//!
//! Every row of the dataset must stand in exactly one of them; where it does not, the rows are named.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::rows::read::{RowsError, RowsFile};
use super::rows::{Header, Row, Shard};
use super::seen::Seen;
use crate::artifact::lines::Place;

/// Ranges of missing rows that are named.
const NAMED_RANGES: usize = 20;

/// Why there is no one evaluation.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file cannot be used.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// Two files are of different evaluations.
    #[error("{first} and {second} are not of one evaluation:\n{}", differences.join("\n"))]
    Different {
        /// A file.
        first: String,
        /// Another one.
        second: String,
        /// What they do not agree on.
        differences: Vec<String>,
    },
    /// A row is there more than once.
    #[error("row {row} (line {} of {}) is there twice", .place.line, .place.file)]
    Twice {
        /// The file and line of the second time.
        place: Place,
        /// The row, from 1.
        row: u64,
    },
    /// Rows are missing.
    #[error("{0}")]
    Missing(String),
}

/// Rows files that belong together.
#[derive(Debug)]
pub struct Shards {
    /// What was evaluated, as a single run would have written it.
    pub header: Header,
    files: Vec<PathBuf>,
    shards: Vec<Shard>,
}

impl Shards {
    /// Reads the first lines.
    pub fn open(files: Vec<PathBuf>) -> Result<Option<Self>, MergeError> {
        let mut whole: Option<Header> = None;
        let mut shards = Vec::new();
        for file in &files {
            let header = RowsFile::open(file)?.header;
            shards.push(header.shard);
            match &whole {
                None => {
                    whole = Some(Header {
                        shard: Shard::WHOLE,
                        ..header
                    });
                }
                Some(first) => {
                    let differences = first.differences(&header);
                    if !differences.is_empty() {
                        return Err(MergeError::Different {
                            first: files[0].display().to_string(),
                            second: file.display().to_string(),
                            differences,
                        });
                    }
                }
            }
        }
        Ok(whole.map(|header| Self {
            header,
            files,
            shards,
        }))
    }

    /// Gives every row once, or tells what is wrong.
    pub fn each_row(&self, mut take: impl FnMut(&Row)) -> Result<(), MergeError> {
        let mut seen = Seen::none(self.header.dataset.row_count);
        let mut short = Vec::new();
        for path in &self.files {
            let mut file = RowsFile::open(path)?;
            let before = seen.count();
            while let Some(row) = file.next() {
                let row = row?;
                if !seen.insert(row.index) {
                    return Err(MergeError::Twice {
                        place: file.place().clone(),
                        row: row.index + 1,
                    });
                }
                take(&row);
            }
            let (held, shard) = (seen.count() - before, file.header.shard);
            let expected = shard.row_count(self.header.dataset.row_count);
            if held < expected {
                let path = path.display();
                short.push(format!(
                    "{path}: holds {held} of the {expected} rows of shard {shard}; its run continues it with --resume"
                ));
            }
        }
        if seen.count() == self.header.dataset.row_count {
            return Ok(());
        }
        Err(MergeError::Missing(self.missing(&seen, short)))
    }

    fn missing(&self, seen: &Seen, short: Vec<String>) -> String {
        let row_count = self.header.dataset.row_count;
        let missing = row_count - seen.count();
        let mut lines = vec![format!("{missing} of {row_count} rows are missing")];
        let counts: BTreeSet<u64> = self.shards.iter().map(|shard| shard.count).collect();
        let whole_shards = self.missing_shards(&counts);
        if whole_shards.is_empty() {
            let mut ranges = seen.missing().map(|range| match range.end - range.start {
                1 => (range.start + 1).to_string(),
                _ => format!("{} to {}", range.start + 1, range.end),
            });
            let named: Vec<_> = ranges.by_ref().take(NAMED_RANGES).collect();
            let more = match ranges.next() {
                Some(_) => " and more",
                None => "",
            };
            lines.push(format!("missing are rows {}{more}", named.join(", ")));
        } else {
            lines.push(format!(
                "missing are the shards {}",
                whole_shards.join(", ")
            ));
        }
        lines.extend(short);
        lines.join("\n")
    }

    /// The shards of which there is no file, if all files are of one way to split.
    fn missing_shards(&self, counts: &BTreeSet<u64>) -> Vec<String> {
        let mut counts = counts.iter();
        let (Some(&count), None) = (counts.next(), counts.next()) else {
            return Vec::new();
        };
        let there: BTreeSet<u64> = self.shards.iter().map(|shard| shard.index).collect();
        (1..=count)
            .filter(|index| !there.contains(index))
            .map(|index| Shard { index, count }.to_string())
            .collect()
    }
}
