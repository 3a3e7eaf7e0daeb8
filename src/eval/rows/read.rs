//! Reading rows files: strict, one line at a time.
//!
//! Every error has its file and line. Only a last line without its end, which a run that was killed leaves behind, is no
//! error: what stands before it is whole.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use super::{Header, Row, SCHEMA_VERSION};
use crate::artifact::bounded;
use crate::artifact::lines::{self, LineError, Place};
use crate::domain::judgment::SeenFraction;

/// Why a rows file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// It cannot be read or written.
    #[error("{file}: {reason}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        reason: io::Error,
    },
    /// A line is wrong.
    #[error(transparent)]
    Line(#[from] LineError),
    /// Another run writes to it.
    #[error("{0}: another run writes to it")]
    Busy(String),
    /// There is not even a whole first line.
    #[error("{0}: is no rows file: it has no whole first line")]
    NoHeader(String),
}

impl RowsError {
    /// An error of the file system.
    pub fn io(file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.display().to_string();
        move |reason| Self::Io { file, reason }
    }
}

/// A rows file whose first line was read; it gives the rows.
#[derive(Debug)]
pub struct RowsFile {
    /// The first line.
    pub header: Header,
    place: Place,
    input: BufReader<File>,
    line: Vec<u8>,
    whole_bytes: u64,
    is_torn: bool,
}

impl RowsFile {
    /// Opens a file and reads its first line.
    pub fn open(path: &Path) -> Result<Self, RowsError> {
        let file = bounded::open(path).map_err(RowsError::io(path))?;
        let mut input = BufReader::with_capacity(1 << 17, file);
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line);
        let whole_bytes = read.map_err(RowsError::io(path))? as u64;
        let place = Place {
            file: path.display().to_string(),
            line: 1,
        };
        if line.last() != Some(&b'\n') {
            return Err(RowsError::NoHeader(place.file));
        }
        Ok(Self {
            header: header(&place, &line)?,
            place,
            input,
            line,
            whole_bytes,
            is_torn: false,
        })
    }

    /// The line that was read last.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// The line that was read last, with its end.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Bytes up to the end of the last whole line that was read.
    pub const fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// Whether the file ended within a line.
    pub const fn is_torn(&self) -> bool {
        self.is_torn
    }

    fn read(&mut self) -> Result<Option<Row>, RowsError> {
        self.line.clear();
        let read = self.input.read_until(b'\n', &mut self.line);
        let count = read.map_err(RowsError::io(Path::new(&self.place.file)))? as u64;
        if self.line.last() != Some(&b'\n') {
            self.is_torn = count > 0;
            return Ok(None);
        }
        self.place.line += 1;
        self.whole_bytes += count;
        let row: Row = lines::parse(&self.place, text(&self.place, &self.line)?)?;
        let checked = check(&self.header, &row);
        checked.map_err(|message| self.place.error(message))?;
        Ok(Some(row))
    }
}

impl Iterator for RowsFile {
    type Item = Result<Row, RowsError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn text<'a>(place: &Place, line: &'a [u8]) -> Result<&'a str, LineError> {
    str::from_utf8(line).map_err(|_| place.error("is not UTF-8"))
}

fn header(place: &Place, line: &[u8]) -> Result<Header, LineError> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let line = text(place, line)?;
    lines::check_first(place, line)?;
    let Version { schema_version } = lines::parse(place, line)?;
    if schema_version != SCHEMA_VERSION {
        return Err(place.error(format!(
            "schema_version is `{schema_version}`; this program reads {SCHEMA_VERSION}"
        )));
    }
    let header: Header = lines::parse(place, line)?;
    let shard = header.shard;
    if shard.index == 0 || shard.count < shard.index {
        return Err(place.error(format!("`{shard}` is not a shard")));
    }
    Ok(header)
}

/// What a row promises beyond its shape.
fn check(header: &Header, row: &Row) -> Result<(), String> {
    if header.dataset.row_count <= row.index {
        return Err(format!("the dataset has no row {}", row.index + 1));
    }
    if !header.shard.holds(row.index) {
        return Err(format!(
            "row {} is not of shard {}",
            row.index + 1,
            header.shard
        ));
    }
    if let Some(place) = row
        .slices
        .iter()
        .find(|place| header.slices.len() <= **place)
    {
        return Err(format!("there is no slice `{place}`"));
    }
    if !row.labels.chunks.is_empty() && row.labels.chunks.len() != row.chunk_ids.len() {
        return Err("labels.chunks: there must be one for each chunk".to_owned());
    }
    let legs = [&row.atomic, &row.fallback, &row.baseline];
    let mut legs = legs.into_iter().flatten();
    if legs.any(|leg| !leg.chunks.is_empty() && leg.chunks.len() != row.chunk_ids.len()) {
        return Err("chunks: there must be one for each chunk".to_owned());
    }
    let cells = [&row.atomic, &row.fallback, &row.baseline]
        .into_iter()
        .flatten();
    let mut cells = cells.flat_map(|leg| leg.whole.values().chain(leg.chunks.iter().flatten()));
    let is_share = |share: f64| SeenFraction::new(share).is_some();
    if cells.any(|cell| cell.seen_fraction().is_some_and(|share| !is_share(share))) {
        return Err("seen_fraction: must be above 0 and at most 1".to_owned());
    }
    if !row.ends.keys().eq(&header.modes) {
        return Err("ends: there must be one for each mode".to_owned());
    }
    Ok(())
}
