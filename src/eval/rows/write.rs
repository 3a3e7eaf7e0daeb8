//! Writing rows files: each line in one write, so that a run that is killed leaves at most one line cut off.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::read::RowsError;

/// A rows file that no other run may write to meanwhile.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for nobody: a file that another run has is an error. A file that is not there is made.
    pub fn of(path: &Path) -> Result<Self, RowsError> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(path);
        let file = file.map_err(RowsError::io(path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(RowsError::Busy(path.display().to_string())),
            Err(TryLockError::Error(error)) => Err(RowsError::io(path)(error)),
        }
    }
}

/// A file to which lines of JSON are added.
#[derive(Debug)]
pub struct LinesWriter {
    path: PathBuf,
    file: File,
    line: Vec<u8>,
}

impl LinesWriter {
    /// A new file; one that is there is emptied.
    pub fn create(path: &Path) -> Result<Self, RowsError> {
        let file = File::create(path).map_err(RowsError::io(path))?;
        Ok(Self::over(path, file))
    }

    /// A file that is continued after its first `whole_bytes`.
    pub fn resume(path: &Path, whole_bytes: u64) -> Result<Self, RowsError> {
        let file = OpenOptions::new().append(true).open(path);
        let file = file.map_err(RowsError::io(path))?;
        file.set_len(whole_bytes).map_err(RowsError::io(path))?;
        Ok(Self::over(path, file))
    }

    fn over(path: &Path, file: File) -> Self {
        Self {
            path: path.to_owned(),
            file,
            line: Vec::new(),
        }
    }

    /// Adds a line.
    pub fn add(&mut self, value: &impl Serialize) -> Result<(), RowsError> {
        self.add_all(std::iter::once(value))
    }

    /// Adds lines that belong together, in one write.
    pub fn add_all<T: Serialize>(
        &mut self,
        values: impl IntoIterator<Item = T>,
    ) -> Result<(), RowsError> {
        self.line.clear();
        for value in values {
            serde_json::to_writer(&mut self.line, &value)
                .map_err(|error| RowsError::io(&self.path)(error.into()))?;
            self.line.push(b'\n');
        }
        self.file
            .write_all(&self.line)
            .map_err(RowsError::io(&self.path))
    }

    /// Waits until everything is on the disk.
    pub fn sync(&self) -> Result<(), RowsError> {
        self.file.sync_all().map_err(RowsError::io(&self.path))
    }
}
