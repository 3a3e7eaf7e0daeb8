//! What judges answered, as a file of recorded answers that can be replayed.
//!
//! The recorded answers about a row are written before the row itself, so a run that is killed leaves at most those of
//! one row too many, at the end; they are cut off when it is resumed.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::rows::read::RowsError;
use super::rows::write::LinesWriter;
use crate::artifact::lines::{self, Place};
use crate::artifact::replay::ReplayRow;
use crate::cascade::Attempt;
use crate::domain::outcome::{JudgeRole, Outcome};

/// Writes recorded answers.
#[derive(Debug)]
pub struct Recorder {
    lines: LinesWriter,
}

impl Recorder {
    /// A new file; one that is there is emptied, so whoever calls makes sure that nothing is lost.
    pub fn create(path: &Path) -> Result<Self, RowsError> {
        let lines = LinesWriter::create(path)?;
        Ok(Self { lines })
    }

    /// Adds the answers about one row.
    pub fn add(&mut self, rows: &[ReplayRow]) -> Result<(), RowsError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.lines.add_all(rows)
    }
}

/// The end of a file of recorded answers that is to be continued.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    /// The trace that the last lines are about.
    trace_id: Option<String>,
    /// Where these lines begin.
    begin: u64,
    /// Where the last whole line ends.
    whole_bytes: u64,
    is_done: bool,
}

impl Tail {
    /// Reads a file to its end; a last line that was cut off is no part of it.
    pub fn of(path: &Path) -> Result<Self, RowsError> {
        let file = File::open(path).map_err(RowsError::io(path))?;
        let mut input = BufReader::new(file);
        let mut place = Place {
            file: path.display().to_string(),
            line: 0,
        };
        let mut tail = Self {
            path: path.to_owned(),
            trace_id: None,
            begin: 0,
            whole_bytes: 0,
            is_done: false,
        };
        let mut line = String::new();
        loop {
            line.clear();
            let read = input.read_line(&mut line).map_err(RowsError::io(path))?;
            if !line.ends_with('\n') {
                return Ok(tail);
            }
            place.line += 1;
            let trace_id = Self::trace_id(&place, line.as_bytes())?;
            if tail.trace_id.as_ref() != Some(&trace_id) {
                tail.trace_id = Some(trace_id);
                tail.begin = tail.whole_bytes;
            }
            tail.whole_bytes += read as u64;
        }
    }

    /// A row of the rows file is about this trace.
    pub fn see(&mut self, trace_id: &str) {
        self.is_done |= self.trace_id.as_deref() == Some(trace_id);
    }

    /// Continues the file behind the answers about rows that are done.
    pub fn resume(self) -> Result<Recorder, RowsError> {
        let lines = LinesWriter::resume(&self.path, self.kept_bytes())?;
        Ok(Recorder { lines })
    }

    /// Whether the file holds answers about more traces than a run that was killed leaves behind without their rows.
    pub const fn is_of_many(&self) -> bool {
        0 < self.begin
    }

    /// Where the answers about rows that are done end.
    pub(super) const fn kept_bytes(&self) -> u64 {
        if self.is_done {
            self.whole_bytes
        } else {
            self.begin
        }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The place before the first line.
    pub(super) fn place(&self) -> Place {
        Place {
            file: self.path.display().to_string(),
            line: 0,
        }
    }

    /// The trace that a line is about.
    pub(super) fn trace_id(place: &Place, line: &[u8]) -> Result<String, RowsError> {
        #[derive(Deserialize)]
        struct Id {
            trace_id: String,
        }
        let line = str::from_utf8(line).map_err(|_| place.error("is not UTF-8"))?;
        if place.line == 1 {
            lines::check_first(place, line)?;
        }
        let Id { trace_id } = lines::parse(place, line)?;
        Ok(trace_id)
    }
}

/// The answers about one row, of each judge that gave some. Of the fallback judge it is those of the baseline, if that
/// was run: it was asked every question there.
pub(super) fn rows(attempt: Option<&Attempt>, baseline: Option<&Outcome>) -> Vec<ReplayRow> {
    let outcome = attempt.and_then(|attempt| attempt.outcome.as_ref().ok());
    let mut rows = Vec::new();
    if let Some(outcome) = outcome {
        rows.extend(ReplayRow::of(outcome, JudgeRole::Atomic));
    }
    if let Some(outcome) = baseline.or(outcome) {
        let said = ReplayRow::of(outcome, JudgeRole::Fallback);
        // One judge may have both roles; what it said first was to every question.
        let is_new = |row: &ReplayRow| {
            rows.iter()
                .all(|other: &ReplayRow| other.judge_id != row.judge_id)
        };
        let said: Vec<_> = said.into_iter().filter(is_new).collect();
        rows.extend(said);
    }
    rows
}
