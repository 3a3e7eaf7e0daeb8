//! Traces that have more than one row: a hash is kept of each row, and only lines whose hashes agree are looked at again.
//!
//! A row costs 16 bytes; a row that stands twice would count twice, so there is no comparison on a file that has one.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::Text;
use super::replay_line::Names;
use super::{MAX_ERRORS, Scan, WhatIfError, place};
use crate::artifact::lines::LineError;

/// The rows that were met: a hash of whose row it is about which trace, and its line.
#[derive(Default)]
pub(super) struct Met(Vec<(u64, u64)>);

impl Met {
    /// Notes a row.
    pub(super) fn add(&mut self, hash: u64, line: u64) {
        self.0.push((hash, line));
    }

    /// The same with what another thread met.
    pub(super) fn plus(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The lines whose hash a line before them has, as far as they are told, and for each the first line of that hash.
    fn suspects(mut self) -> BTreeSet<u64> {
        self.0.sort_unstable();
        let mut later = BTreeMap::new();
        for same in self.0.chunk_by(|one, other| one.0 == other.0) {
            for (_, line) in &same[1..] {
                later.insert(*line, same[0].1);
                if MAX_ERRORS < later.len() {
                    later.pop_last();
                }
            }
        }
        later
            .into_iter()
            .flat_map(|(line, first)| [line, first])
            .collect()
    }
}

impl Scan<'_> {
    /// The lines about a trace that has a row before them.
    pub(super) fn repeats(&self, met: Met) -> Result<Vec<LineError>, WhatIfError> {
        let suspects = met.suspects();
        if suspects.is_empty() {
            return Ok(Vec::new());
        }
        let (parts, _) = self.fold(|line, rows: &mut Vec<_>| {
            if suspects.contains(&line.number)
                && let Ok(names) = serde_json::from_slice::<Names<'_>>(line.bytes)
            {
                let judge_id = names.judge_id.map(|Text(id)| id.into_owned());
                rows.push((judge_id, names.trace_id.0.into_owned(), line.number));
            }
            Ok(())
        })?;
        let mut rows: Vec<_> = parts.into_iter().flatten().collect();
        rows.sort_unstable();
        let mut errors = Vec::new();
        for same in rows.chunk_by(|one, other| (&one.0, &one.1) == (&other.0, &other.1)) {
            let (judge_id, trace_id, first) = &same[0];
            let of = judge_id
                .as_ref()
                .map_or_else(String::new, |judge_id| format!(" of judge `{judge_id}`"));
            errors.extend(same[1..].iter().map(|(_, _, line)| {
                let message = format!("trace `{trace_id}` has a row{of} in line {first}");
                place(&self.name, *line).error(message)
            }));
        }
        Ok(errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_hash_are_suspects_as_far_as_they_are_told() {
        let mut met = Met::default();
        for (hash, line) in [(7, 9), (5, 2), (7, 1), (6, 3), (7, 4)] {
            met.add(hash, line);
        }
        assert!(met.suspects().into_iter().eq([1, 4, 9]));
        let mut met = Met::default();
        for line in (1..=1000).rev() {
            met.add(line % 2, line);
        }
        let suspects: Vec<_> = met.suspects().into_iter().collect();
        assert!(suspects.into_iter().eq(1..=MAX_ERRORS as u64 + 2));
    }
}
