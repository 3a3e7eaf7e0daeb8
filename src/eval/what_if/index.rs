//! What kind of rows a file holds, and where in a replay file the row of a judge about a trace stands.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::fs::FileExt as _;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::difference::Kind;
use super::replay_line::Names;
use super::{MAX_ERRORS, Scan, WhatIfError, message, place};
use crate::artifact::lines::LineError;
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

/// How many judges of a file are named.
const MAX_NAMED: usize = 16;

/// Where replay rows stand, by a hash of judge and trace; a row costs 24 bytes.
pub(super) struct Index {
    file: File,
    /// Sorted.
    rows: Vec<Entry>,
    hash: RandomState,
    /// The first judges by name.
    judges: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    hash: u64,
    offset: u64,
    line: u32,
    length: u32,
}

/// What one thread found.
#[derive(Default)]
struct Part {
    rows: Vec<Entry>,
    judges: BTreeSet<String>,
    /// Whether there are rows of each of the judges that were asked for.
    has: [bool; 2],
}

impl Part {
    fn see(&mut self, judge_id: &str) {
        if self.judges.contains(judge_id) {
            return;
        }
        self.judges.insert(judge_id.to_owned());
        if MAX_NAMED + 1 < self.judges.len() {
            self.judges.pop_last();
        }
    }

    fn plus(mut self, other: Self) -> Self {
        self.rows.extend(other.rows);
        for judge_id in &other.judges {
            self.see(judge_id);
        }
        for (has, other) in self.has.iter_mut().zip(other.has) {
            *has |= other;
        }
        self
    }

    fn names(&self) -> String {
        let named = self.judges.iter().take(MAX_NAMED);
        let mut names: Vec<_> = named.map(|judge_id| format!("`{judge_id}`")).collect();
        if MAX_NAMED < self.judges.len() {
            names.push("others".to_owned());
        }
        names.join(", ")
    }
}

impl Index {
    /// Finds every row, and says which lines are of a judge and a trace that have one already.
    pub(super) fn read(scan: &Scan<'_>) -> Result<(Self, Vec<LineError>), WhatIfError> {
        let unreadable = |source| WhatIfError::Io {
            file: scan.name.clone(),
            reason: source,
        };
        let roles = scan.asked_for.roles;
        let wanted = [roles.atomic, roles.fallback];
        let hash = RandomState::new();
        let (parts, errors) = scan.fold(|line, part: &mut Part| {
            // What is no row is told where rows are read in full.
            let names = std::str::from_utf8(line.bytes).map(serde_json::from_str::<Names<'_>>);
            let Ok(Ok(names)) = names else {
                return Ok(());
            };
            let judge_id = &*names.judge_id.0;
            part.see(judge_id);
            for (has, wanted) in part.has.iter_mut().zip(wanted) {
                *has |= wanted == Some(judge_id);
            }
            let too_long = |_| "is beyond what can be indexed".to_owned();
            part.rows.push(Entry {
                hash: hash.hash_one((judge_id, &*names.trace_id.0)),
                offset: line.offset,
                line: u32::try_from(line.number).map_err(too_long)?,
                length: u32::try_from(line.bytes.len()).map_err(too_long)?,
            });
            Ok(())
        })?;
        let mut part = parts.into_iter().reduce(Part::plus).unwrap_or_default();
        for (judge_id, has) in wanted.into_iter().zip(part.has) {
            if let Some(judge_id) = judge_id.filter(|_| !has) {
                return Err(WhatIfError::Asked(format!(
                    "{} holds no row of judge `{judge_id}`; its rows are of {}",
                    scan.name,
                    part.names()
                )));
            }
        }
        part.rows.sort_unstable();
        let index = Self {
            file: File::open(scan.asked_for.file).map_err(unreadable)?,
            rows: part.rows,
            hash,
            judges: part.judges,
        };
        let mut errors = errors;
        let twice = index.twice().map_err(WhatIfError::Asked)?;
        errors.extend(
            twice
                .into_iter()
                .map(|(line, message)| place(&scan.name, line).error(message)),
        );
        Ok((index, errors))
    }

    /// The first by name of the judges besides this one.
    pub(super) fn other_judge(&self, judge_id: &str) -> Option<&str> {
        let mut others = self.judges.iter().filter(|other| *other != judge_id);
        others.next().map(String::as_str)
    }

    /// The row of a judge about a trace, as it stands in the file.
    pub(super) fn line(&self, judge_id: &str, trace_id: &str) -> Result<Option<String>, String> {
        let hash = self.hash.hash_one((judge_id, trace_id));
        let first = self.rows.partition_point(|entry| entry.hash < hash);
        let same = self.rows[first..].iter();
        for entry in same.take_while(|entry| entry.hash == hash) {
            let line = self.at(entry)?;
            let names: Names<'_> = serde_json::from_str(&line).map_err(|error| message(&error))?;
            if names.judge_id.0 == judge_id && names.trace_id.0 == trace_id {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// The lines of judges and traces that have one before it, as far as they are told.
    fn twice(&self) -> Result<BTreeMap<u64, String>, String> {
        let mut errors = BTreeMap::new();
        for same in self.rows.chunk_by(|one, other| one.hash == other.hash) {
            if same.len() == 1 {
                continue;
            }
            let mut known: BTreeMap<(String, String), u32> = BTreeMap::new();
            for entry in same {
                let line = self.at(entry)?;
                let names: Names<'_> =
                    serde_json::from_str(&line).map_err(|error| message(&error))?;
                let key = (names.judge_id.0.into_owned(), names.trace_id.0.into_owned());
                let Some(first) = known.get(&key) else {
                    known.insert(key, entry.line);
                    continue;
                };
                let (judge_id, trace_id) = key;
                let problem =
                    format!("trace `{trace_id}` has a row of judge `{judge_id}` in line {first}");
                errors.insert(u64::from(entry.line), problem);
                if MAX_ERRORS < errors.len() {
                    errors.pop_last();
                }
            }
        }
        Ok(errors)
    }

    fn at(&self, entry: &Entry) -> Result<String, String> {
        let mut line = vec![0; entry.length as usize];
        self.file
            .read_exact_at(&mut line, entry.offset)
            .map_err(|error| format!("line {} cannot be read again: {error}", entry.line))?;
        let line = String::from_utf8(line).map_err(|_| "the file has changed".to_owned())?;
        Ok(line)
    }
}
