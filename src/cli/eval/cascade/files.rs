//! The files of a run: new ones, or those of a run that was stopped and is continued.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use anyhow::bail;

use crate::artifact::bounded;
use crate::eval::record::{Recorder, Tail};
use crate::eval::retry;
use crate::eval::rows::read::{RowsError, RowsFile};
use crate::eval::rows::write::{LinesWriter, Lock};
use crate::eval::rows::{Header, Row};
use crate::eval::seen::Seen;

/// Which files, and what may become of those that are there.
pub(super) struct Files<'a> {
    /// The rows file.
    pub(super) rows: &'a Path,
    /// The file of recorded answers.
    pub(super) record: Option<&'a Path>,
    /// Whether a run is continued.
    pub(super) resume: bool,
    /// Whether failed rows are asked about again.
    pub(super) retry_failed: bool,
    /// Whether rows that are there may be lost; recorded answers never are.
    pub(super) force: bool,
}

/// Files that are open at their end.
pub(super) struct Opened {
    pub(super) rows: LinesWriter,
    pub(super) recorder: Option<Recorder>,
    /// The rows that are done.
    pub(super) seen: Seen,
    /// Rows that failed and are asked about again.
    pub(super) retried: u64,
    /// Held until the run has ended.
    pub(super) _lock: Lock,
}

impl Files<'_> {
    /// Opens the files; every row that is done already is given to `take`.
    pub(super) fn open(
        &self,
        header: &Header,
        mut take: impl FnMut(&Row),
    ) -> anyhow::Result<Opened> {
        if !self.resume && !self.force && self.rows.exists() {
            bail!(
                "`{}` is there already\nhint: --resume continues it, --force begins anew",
                self.rows.display()
            );
        }
        let is_there = self.rows.exists();
        if is_there && self.resume && !is_barely_begun(self.rows)? {
            return self.continued(header, &mut take);
        }
        if let Some(record) = self.record {
            self.keep_recorded(record)?;
        }
        let lock = Lock::of(self.rows)?;
        let mut rows = LinesWriter::create(self.rows)?;
        rows.add(header)?;
        Ok(Opened {
            rows,
            recorder: self.record.map(Recorder::create).transpose()?,
            seen: Seen::none(header.dataset.row_count),
            retried: 0,
            _lock: lock,
        })
    }

    /// Refuses to begin a file of recorded answers that holds some: they may have been paid for.
    fn keep_recorded(&self, record: &Path) -> anyhow::Result<()> {
        if fs::metadata(record).map_or(0, |file| file.len()) == 0 {
            return Ok(());
        }
        if !self.resume {
            bail!(
                "`{}` holds recorded answers already, and no option writes over them\n\
                 hint: --resume continues a run with them; else name another file or move this one away",
                record.display()
            );
        }
        // A run that was killed at once may have recorded one row before its rows file was on the disk.
        if !self.rows.exists() || Tail::of(record)?.is_of_many() {
            bail!(
                "`{}` holds recorded answers, but `{}` holds no rows, so they are of another run\n\
                 hint: name another file or move this one away",
                record.display(),
                self.rows.display()
            );
        }
        Ok(())
    }

    fn continued(&self, header: &Header, take: &mut dyn FnMut(&Row)) -> anyhow::Result<Opened> {
        let mut lock = Lock::of(self.rows)?;
        self.check(&RowsFile::open(self.rows)?.header, header)?;
        let mut retried = 0;
        if self.retry_failed {
            retried = retry::drop_failed(self.rows, header, self.tail()?)?;
            if 0 < retried {
                // The file is another one now.
                lock = Lock::of(self.rows)?;
            }
        }
        let mut tail = self.tail()?;
        let mut file = RowsFile::open(self.rows)?;
        let mut seen = Seen::none(header.dataset.row_count);
        while let Some(row) = file.next() {
            let row = row?;
            if !seen.insert(row.index) {
                let (row, place) = (row.index + 1, file.place());
                bail!(
                    "row {row} (line {} of {}) is there twice",
                    place.line,
                    place.file
                );
            }
            if let Some(tail) = &mut tail {
                tail.see(&row.trace_id);
            }
            take(&row);
        }
        Ok(Opened {
            rows: LinesWriter::resume(self.rows, file.whole_bytes())?,
            recorder: tail.map(Tail::resume).transpose()?,
            seen,
            retried,
            _lock: lock,
        })
    }

    /// A run is continued only as it was begun; what failed may be asked again of other recorded answers.
    fn check(&self, begun: &Header, header: &Header) -> anyhow::Result<()> {
        let mut begun = begun.clone();
        if self.retry_failed {
            for (judge, now) in begun.judges.iter_mut().zip(&header.judges) {
                judge.answers_sha256.clone_from(&now.answers_sha256);
            }
        }
        let mut differences = begun.differences(header);
        if begun.shard != header.shard {
            differences.push(format!("shard: `{}` and `{}`", begun.shard, header.shard));
        }
        if !differences.is_empty() {
            bail!(
                "`{}` was begun otherwise; it and this run differ in\n{}",
                self.rows.display(),
                differences.join("\n")
            );
        }
        Ok(())
    }

    fn tail(&self) -> anyhow::Result<Option<Tail>> {
        let Some(path) = self.record else {
            return Ok(None);
        };
        if !path.exists() {
            bail!(
                "`{}` is not there, so the answers about the rows that are done were not recorded",
                path.display()
            );
        }
        Ok(Some(Tail::of(path)?))
    }
}

/// What every first line begins with.
const BEGINNING: &[u8] = b"{\"schema_version\":";

/// Whether a run was killed before it had written its first line; any other file is left alone.
fn is_barely_begun(rows: &Path) -> anyhow::Result<bool> {
    match RowsFile::open(rows) {
        Ok(_) => Ok(false),
        Err(error @ RowsError::NoHeader(_)) => {
            let mut begun = Vec::new();
            let mut file = bounded::open(rows)?.take(BEGINNING.len() as u64);
            file.read_to_end(&mut begun)?;
            if BEGINNING.starts_with(&begun) {
                return Ok(true);
            }
            Err(error.into())
        }
        Err(error) => Err(error.into()),
    }
}
