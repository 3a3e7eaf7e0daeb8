//! What kind of rows a file holds, and where in a replay file the row of a judge about a trace stands.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::difference::Kind;
use super::replay_line::Names;
use super::{Scan, WhatIfError, message};
use crate::eval::rows;

/// What tells the kinds of rows apart.
#[derive(Deserialize)]
struct Probe {
    #[serde(default)]
    fired_rule: Option<IgnoredAny>,
    #[serde(default)]
    answers: Option<IgnoredAny>,
    #[serde(default)]
    shard: Option<IgnoredAny>,
    #[serde(default)]
    judge_id: Option<String>,
}

/// The kind of rows that a file holds, by its first line, and for replay rows the judge of that line.
pub fn recognised(first: &str) -> Result<(Kind, String), String> {
    let first = first.trim_start_matches('\u{feff}');
    let probe: Probe = serde_json::from_str(first).map_err(|error| message(&error))?;
    if probe.shard.is_some() {
        let header: rows::Header = serde_json::from_str(first).map_err(|error| message(&error))?;
        if header.schema_version != rows::SCHEMA_VERSION {
            return Err(format!(
                "schema_version is `{}`; this program reads {}",
                header.schema_version,
                rows::SCHEMA_VERSION
            ));
        }
        return Ok((Kind::Rows, String::new()));
    }
    match (probe.fired_rule, probe.answers, probe.judge_id) {
        (Some(_), None, _) => Ok((Kind::Verdicts, String::new())),
        (None, Some(_), Some(judge_id)) => Ok((Kind::Replay, judge_id)),
        _ => Err(
            "is neither a verdict row nor the first line of a rows file nor a replay row"
                .to_owned(),
        ),
    }
}

/// Where the replay rows of one judge stand, by a hash of judge and trace; a row costs 24 bytes.
pub(super) struct Index {
    file: File,
    /// Sorted.
    rows: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    hash: u64,
    offset: u64,
    length: usize,
}

impl Index {
    /// Finds every row of a judge.
    pub(super) fn read(scan: &Scan<'_>, judge_id: &str) -> Result<Self, WhatIfError> {
        let file = File::open(scan.asked_for.file).map_err(|source| WhatIfError::Io {
            file: scan.name.clone(),
            reason: source,
        })?;
        // What is no row is told where rows are read in full.
        let (parts, _) = scan.fold(|line, rows: &mut Vec<Entry>| {
            if let Some(names) = names(line.bytes)
                && is_of(&names, judge_id)
            {
                rows.push(Entry {
                    hash: scan.hash(Some(judge_id), &names.trace_id.0),
                    offset: line.offset,
                    length: line.bytes.len(),
                });
            }
            Ok(())
        })?;
        let mut rows = parts.concat();
        rows.sort_unstable();
        Ok(Self { file, rows })
    }

    /// The row of its judge about a trace, as it stands in the file.
    pub(super) fn line(
        &self,
        hash: u64,
        judge_id: &str,
        trace_id: &str,
    ) -> Result<Option<String>, String> {
        let first = self.rows.partition_point(|entry| entry.hash < hash);
        let same = self.rows[first..].iter();
        for entry in same.take_while(|entry| entry.hash == hash) {
            let mut line = vec![0; entry.length];
            self.file
                .read_exact_at(&mut line, entry.offset)
                .map_err(|error| {
                    format!("the row of judge `{judge_id}` cannot be read again: {error}")
                })?;
            let line = String::from_utf8(line).map_err(|_| "the file has changed".to_owned())?;
            let names: Names<'_> = serde_json::from_str(&line).map_err(|error| message(&error))?;
            if is_of(&names, judge_id) && names.trace_id.0 == trace_id {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

fn names(line: &[u8]) -> Option<Names<'_>> {
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

fn is_of(names: &Names<'_>, judge_id: &str) -> bool {
    names.judge_id.as_ref().is_some_and(|id| id.0 == judge_id)
}
