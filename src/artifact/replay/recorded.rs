//! Files of recorded answers: every line is checked once, and a row is read again when it is asked for.
//!
//! What stays in memory is 24 bytes a row: where it stands and a hash of its trace id. Which trace a row is about is
//! told by the row itself, so two ids with one hash are no trouble, and a file that has changed since is noticed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::{ReplayRow, checked};
use crate::artifact::bounded;
use crate::artifact::digest::sha256;
use crate::artifact::lines::{self, Line, LineError, LineErrors, LineReader, Place};
use crate::domain::trace::{JudgeId, TraceId};

/// Why a file of recorded answers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error("cannot read `{file}`: {reason}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        reason: io::Error,
    },
    /// Lines are wrong.
    #[error("{0}")]
    Lines(LineErrors),
    /// No row belongs to the judge.
    #[error("{file} holds no row of judge `{judge_id}`; its rows are of {}", .found.join(", "))]
    NoRows {
        /// The file.
        file: String,
        /// The judge.
        judge_id: JudgeId,
        /// The judges that it has rows of.
        found: Vec<String>,
    },
}

/// The recorded answers of one judge.
#[derive(Debug)]
pub struct Recorded {
    file: String,
    judge_id: JudgeId,
    source: Source,
    /// Sorted.
    index: Vec<Entry>,
    hash: Hash,
}

/// From a trace id to the number that it is found by.
type Hash = fn(&TraceId) -> u64;

/// Where rows are read from.
#[derive(Debug)]
enum Source {
    Text(String),
    File(File),
}

/// Where the row of a trace stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    hash: u64,
    line: u32,
    length: u32,
    offset: u64,
}

/// Indexes the rows of one judge in a text.
pub fn read(file: &str, text: &str, judge_id: &JudgeId) -> Result<Recorded, ReplayError> {
    read_by(hash, file, text, judge_id)
}

fn read_by(
    hash: Hash,
    file: &str,
    text: &str,
    judge_id: &JudgeId,
) -> Result<Recorded, ReplayError> {
    let index = index(hash, file, text.as_bytes(), judge_id)?;
    Recorded {
        file: file.to_owned(),
        judge_id: judge_id.clone(),
        source: Source::Text(text.to_owned()),
        index,
        hash,
    }
    .checked()
}

/// Indexes the rows of one judge in a file, which must not change as long as they are in use.
pub fn open(path: &Path, judge_id: &JudgeId) -> Result<Recorded, ReplayError> {
    let name = path.display().to_string();
    let failed = |source| ReplayError::Io {
        file: name.clone(),
        reason: source,
    };
    let file = bounded::open(path).map_err(failed)?;
    let index = index(hash, &name, BufReader::new(&file), judge_id)?;
    Recorded {
        file: name,
        judge_id: judge_id.clone(),
        source: Source::File(file),
        index,
        hash,
    }
    .checked()
}

/// The judges that a file has rows of; every line is checked.
pub fn judges(path: &Path) -> Result<BTreeSet<JudgeId>, ReplayError> {
    let name = path.display().to_string();
    let file = bounded::open(path).map_err(|source| ReplayError::Io {
        file: name.clone(),
        reason: source,
    })?;
    let mut judges = BTreeSet::new();
    each_row(&name, BufReader::new(file), |_, row| {
        if !judges.contains(&row.judge_id) {
            judges.insert(row.judge_id);
        }
        Ok(())
    })?;
    Ok(judges)
}

fn index(
    hash: Hash,
    file: &str,
    reader: impl BufRead,
    judge_id: &JudgeId,
) -> Result<Vec<Entry>, ReplayError> {
    let mut index = Vec::new();
    let mut others = BTreeSet::new();
    each_row(file, reader, |line, row| {
        if row.judge_id == *judge_id {
            index.push(Entry::of(line, hash(&row.trace_id))?);
        } else if !others.contains(&row.judge_id) {
            others.insert(row.judge_id);
        }
        Ok(())
    })?;
    if index.is_empty() {
        let found = match others.len() {
            0 => vec!["no judge".to_owned()],
            _ => others.iter().map(|judge| format!("`{judge}`")).collect(),
        };
        return Err(ReplayError::NoRows {
            file: file.to_owned(),
            judge_id: judge_id.clone(),
            found,
        });
    }
    index.sort_unstable();
    index.shrink_to_fit();
    Ok(index)
}

/// Reads and checks every row; everything that is wrong is told at once.
fn each_row(
    file: &str,
    reader: impl BufRead,
    mut take: impl FnMut(&Line<'_>, ReplayRow) -> Result<(), LineError>,
) -> Result<(), ReplayError> {
    let mut reader = LineReader::new(file.to_owned(), reader);
    let mut errors = LineErrors::default();
    let failed = |source| ReplayError::Io {
        file: file.to_owned(),
        reason: source,
    };
    while let Some(line) = reader.next_line().map_err(failed)? {
        let taken = line.and_then(|line| {
            let row = parsed(&line.place, line.text)?;
            take(&line, row)
        });
        if let Err(error) = taken {
            errors.add(error);
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ReplayError::Lines(errors))
    }
}

fn parsed(place: &Place, line: &str) -> Result<ReplayRow, LineError> {
    let row = lines::parse::<ReplayRow>(place, line)?;
    checked(row).map_err(|message| place.error(message))
}

impl Entry {
    fn of(line: &Line<'_>, hash: u64) -> Result<Self, LineError> {
        let number = u32::try_from(line.place.line).ok();
        let length = u32::try_from(line.text.len()).ok();
        let (line_number, length) = number
            .zip(length)
            .ok_or_else(|| line.place.error("is too far down in the file"))?;
        Ok(Self {
            hash,
            line: line_number,
            length,
            offset: line.offset,
        })
    }
}

fn hash(trace_id: &TraceId) -> u64 {
    let digest = sha256(trace_id.as_str().as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first)
}

impl Recorded {
    /// Every trace has one row.
    fn checked(self) -> Result<Self, ReplayError> {
        let mut errors = LineErrors::default();
        for same in self.index.chunk_by(|one, other| one.hash == other.hash) {
            if same.len() == 1 {
                continue;
            }
            let mut traces = BTreeSet::new();
            for entry in same {
                match self.at(entry) {
                    Ok(row) if traces.contains(&row.trace_id) => {
                        let message = format!("trace `{}` has a row already", row.trace_id);
                        errors.add(self.place(entry).error(message));
                    }
                    Ok(row) => {
                        traces.insert(row.trace_id);
                    }
                    Err(error) => errors.add(error),
                }
            }
        }
        if errors.is_empty() {
            Ok(self)
        } else {
            Err(ReplayError::Lines(errors))
        }
    }

    /// How many rows there are.
    pub const fn row_count(&self) -> usize {
        self.index.len()
    }

    /// The row of a trace; an error if the file has changed since it was indexed.
    pub fn row(&self, trace_id: &TraceId) -> Result<Option<ReplayRow>, LineError> {
        let hash = (self.hash)(trace_id);
        let first = self.index.partition_point(|entry| entry.hash < hash);
        for entry in self.index[first..]
            .iter()
            .take_while(|entry| entry.hash == hash)
        {
            let row = self.at(entry)?;
            if row.trace_id == *trace_id {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Reads a row again.
    fn at(&self, entry: &Entry) -> Result<ReplayRow, LineError> {
        let place = self.place(entry);
        let row = self
            .line(entry)
            .and_then(|line| parsed(&place, &line).map_err(io::Error::other))
            .map_err(|error| place.error(format!("the row cannot be read again: {error}")))?;
        if (self.hash)(&row.trace_id) != entry.hash || row.judge_id != self.judge_id {
            return Err(place.error("another row stands here than when the file was read"));
        }
        Ok(row)
    }

    fn line(&self, entry: &Entry) -> io::Result<String> {
        let length = entry.length as usize;
        match &self.source {
            Source::Text(text) => {
                let start = usize::try_from(entry.offset).map_err(io::Error::other)?;
                let line = text.get(start..start + length);
                line.map(ToOwned::to_owned)
                    .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
            Source::File(file) => {
                let mut line = vec![0; length];
                file.read_exact_at(&mut line, entry.offset)?;
                String::from_utf8(line).map_err(io::Error::other)
            }
        }
    }

    fn place(&self, entry: &Entry) -> Place {
        Place {
            file: self.file.clone(),
            line: entry.line as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn row(trace: usize, judge: &str, p: f64) -> String {
        format!(
            r#"{{"trace_id":"t{trace}","judge_id":"{judge}","decision":{{"id":"d","version":"1","variant":"without_reference"}},"answers":{{"groundedness":{p}}},"latency_ms":5}}"#
        )
    }

    fn written(lines: &[String]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        fs::write(&path, lines.join("\r\n")).unwrap();
        (folder, path)
    }

    #[test]
    fn every_row_of_the_judge_is_found_again_in_a_file_and_in_a_text() {
        let mut lines: Vec<_> = (0..300).map(|n| row(n, "j", 0.001 * n as f64)).collect();
        lines.insert(0, row(7, "other", 0.5));
        lines.insert(3, String::new());
        let (_folder, path) = written(&lines);
        let text = fs::read_to_string(&path).unwrap();
        for recorded in [
            open(&path, &"j".into()).unwrap(),
            read("r.jsonl", &text, &"j".into()).unwrap(),
        ] {
            assert_eq!(recorded.row_count(), 300);
            for n in 0..300 {
                let found = recorded.row(&format!("t{n}").into()).unwrap().unwrap();
                let p = found.answers.groundedness.unwrap().value();
                assert!((p - 0.001 * n as f64).abs() < 1e-12, "{n}: {p}");
            }
            assert_eq!(recorded.row(&"t300".into()), Ok(None));
        }
        assert_eq!(
            judges(&path).unwrap(),
            BTreeSet::from(["j".into(), "other".into()])
        );
    }

    #[test]
    fn a_row_costs_24_bytes() {
        assert_eq!(size_of::<Entry>(), 24);
        let lines: Vec<_> = (0..1000).map(|n| row(n, "j", 0.5)).collect();
        let (_folder, path) = written(&lines);
        let recorded = open(&path, &"j".into()).unwrap();
        assert_eq!(recorded.index.capacity() * size_of::<Entry>(), 24_000);
        assert!(matches!(recorded.source, Source::File(_)));
    }

    #[test]
    fn traces_with_one_hash_are_told_apart_by_their_ids() {
        let lines: Vec<_> = (1..=3).map(|n| row(n, "j", 0.5)).collect();
        let recorded = read_by(|_| 7, "r.jsonl", &lines.join("\n"), &"j".into()).unwrap();
        for trace in ["t1", "t2", "t3"].map(TraceId::from) {
            assert_eq!(recorded.row(&trace).unwrap().unwrap().trace_id, trace);
        }
        assert_eq!(recorded.row(&"t4".into()), Ok(None));
    }

    #[test]
    fn a_file_that_has_changed_is_noticed() {
        let (_folder, path) = written(&[row(1, "j", 0.1), row(2, "j", 0.2)]);
        let recorded = open(&path, &"j".into()).unwrap();
        let problem = |trace: &str| recorded.row(&trace.into()).unwrap_err().to_string();
        fs::write(&path, [row(3, "j", 0.1), row(2, "k", 0.2)].join("\r\n")).unwrap();
        assert!(
            problem("t1")
                .ends_with("r.jsonl:1: another row stands here than when the file was read")
        );
        assert!(
            problem("t2")
                .ends_with("r.jsonl:2: another row stands here than when the file was read")
        );
        fs::write(&path, "short").unwrap();
        assert!(problem("t1").contains("r.jsonl:1: the row cannot be read again"));
    }

    #[test]
    fn a_trace_has_one_row_and_the_judge_has_some() {
        let twice = [
            row(1, "j", 0.1),
            row(2, "j", 0.1),
            row(1, "j", 0.2),
            row(1, "j", 0.3),
        ];
        let error = read("r.jsonl", &twice.join("\n"), &"j".into()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "r.jsonl:3: trace `t1` has a row already\nr.jsonl:4: trace `t1` has a row already"
        );
        for (text, of) in [(row(1, "j", 0.1), "`j`"), (String::new(), "no judge")] {
            let error = read("r.jsonl", &text, &"other".into()).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("r.jsonl holds no row of judge `other`; its rows are of {of}")
            );
        }
        let error = open(Path::new("/dev/null"), &"j".into()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read `/dev/null`: it is not a file"
        );
    }
}
