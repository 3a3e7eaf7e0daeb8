//! Rows that failed leave the files of a run, so that the run that goes on asks about them again.
//!
//! Recorded answers go first: a run that is killed in between still has the failed rows, and the next one begins here
//! again. Each file is written beside its place and then put there, so that none is ever lost.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::record::Tail;
use super::rows::read::{RowsError, RowsFile};
use super::rows::{End, Header, Row};

/// Whether a row has no usable answer in one of its modes.
pub fn is_failed(row: &Row) -> bool {
    let is_failed = |end: &End| matches!(end, End::Failed { .. });
    row.ends.values().any(is_failed)
}

/// Takes the failed rows out of a rows file, and what was recorded about them out of the file of recorded answers; how
/// many they were. `header` is what the run is from now on.
pub fn drop_failed(rows: &Path, header: &Header, mut tail: Option<Tail>) -> Result<u64, RowsError> {
    let mut failed = BTreeSet::new();
    for row in RowsFile::open(rows)? {
        let row = row?;
        if let Some(tail) = &mut tail {
            tail.see(&row.trace_id);
        }
        if is_failed(&row) {
            failed.insert(row.trace_id);
        }
    }
    if failed.is_empty() {
        return Ok(0);
    }
    if let Some(tail) = tail {
        drop_recorded(&tail, &failed)?;
    }
    let mut kept = Replacing::new(rows)?;
    let mut file = RowsFile::open(rows)?;
    let first = serde_json::to_vec(header).map_err(|error| RowsError::io(rows)(error.into()))?;
    kept.add(&first)?;
    kept.add(b"\n")?;
    while let Some(row) = file.next() {
        if !is_failed(&row?) {
            kept.add(file.line())?;
        }
    }
    kept.finish()?;
    Ok(failed.len() as u64)
}

fn drop_recorded(tail: &Tail, failed: &BTreeSet<String>) -> Result<(), RowsError> {
    let path = tail.path();
    let mut kept = Replacing::new(path)?;
    let mut input = BufReader::new(File::open(path).map_err(RowsError::io(path))?);
    let (mut line, mut left) = (Vec::new(), tail.kept_bytes());
    let mut place = tail.place();
    while 0 < left {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        let read = read.map_err(RowsError::io(path))? as u64;
        if read == 0 {
            break;
        }
        left = left.saturating_sub(read);
        place.line += 1;
        if !failed.contains(&Tail::trace_id(&place, &line)?) {
            kept.add(&line)?;
        }
    }
    kept.finish()
}

/// A file that is written anew beside its place.
struct Replacing<'a> {
    path: &'a Path,
    new: PathBuf,
    out: BufWriter<File>,
}

impl<'a> Replacing<'a> {
    fn new(path: &'a Path) -> Result<Self, RowsError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let new = PathBuf::from(name);
        let file = File::create(&new).map_err(RowsError::io(&new))?;
        Ok(Self {
            path,
            new,
            out: BufWriter::new(file),
        })
    }

    fn add(&mut self, line: &[u8]) -> Result<(), RowsError> {
        self.out.write_all(line).map_err(RowsError::io(&self.new))
    }

    fn finish(self) -> Result<(), RowsError> {
        let new = self.new;
        let file = self.out.into_inner();
        let file = file.map_err(|error| RowsError::io(&new)(error.into_error()))?;
        file.sync_all().map_err(RowsError::io(&new))?;
        fs::rename(&new, self.path).map_err(RowsError::io(self.path))
    }
}
