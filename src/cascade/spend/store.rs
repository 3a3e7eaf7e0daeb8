//! The state file: written by a thread of its own, at most once a second and at the end, and always as a whole.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::SpendError;
use super::ledger::Books;
use crate::artifact::spend::{self, SpendState};

/// The shortest time between two writes.
const PAUSE: Duration = Duration::from_secs(1);

/// Writes the state of the books into a file.
pub(super) struct Store {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    file: PathBuf,
    books: Arc<Mutex<Books>>,
    pending: Mutex<Pending>,
    wake: Condvar,
    /// Held while the file is written, so that no two do it at once.
    writing: Mutex<()>,
}

#[derive(Default)]
struct Pending {
    is_changed: bool,
    is_over: bool,
    /// The last write failed, which was told once.
    is_failing: bool,
}

/// What a state file says; a file that is not there yet says nothing.
pub(super) fn read(file: &Path) -> Result<SpendState, SpendError> {
    let wrong = |message| SpendError::State {
        file: file.to_owned(),
        message,
    };
    match fs::read_to_string(file) {
        Ok(text) => spend::read(&text)
            .map_err(|message| wrong(format!("{message}; remove it to begin the day at zero"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SpendState::default()),
        Err(error) => Err(wrong(format!("cannot be read: {error}"))),
    }
}

impl Store {
    /// Opens the file for writing, by writing it.
    pub(super) fn open(file: PathBuf, books: Arc<Mutex<Books>>) -> Result<Self, SpendError> {
        let shared = Arc::new(Shared {
            file,
            books,
            pending: Mutex::default(),
            wake: Condvar::new(),
            writing: Mutex::default(),
        });
        let wrong = |error: io::Error| SpendError::State {
            file: shared.file.clone(),
            message: format!("cannot be written: {error}"),
        };
        shared.write().map_err(wrong)?;
        let writer = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("spend-state".to_owned())
            .spawn(move || writer.run())
            .map_err(wrong)?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// The books changed.
    pub(super) fn changed(&self) {
        self.shared.pending().is_changed = true;
        self.shared.wake.notify_all();
    }

    /// Writes now what changed.
    pub(super) fn flush(&self) {
        self.shared.write_changes();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.pending().is_over = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer of the spend state file stopped before its end");
        }
        self.shared.write_changes();
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let pending = self.pending();
            let pending = self
                .wake
                .wait_while(pending, |pending| !pending.is_changed && !pending.is_over)
                .unwrap_or_else(PoisonError::into_inner);
            let is_over = pending.is_over;
            drop(pending);
            if is_over {
                return;
            }
            self.write_changes();
            let pending = self.pending();
            let waited = self
                .wake
                .wait_timeout_while(pending, PAUSE, |pending| !pending.is_over);
            drop(waited);
        }
    }

    fn write_changes(&self) {
        if !std::mem::take(&mut self.pending().is_changed) {
            return;
        }
        let result = self.write();
        let mut pending = self.pending();
        let was_failing = std::mem::replace(&mut pending.is_failing, result.is_err());
        if let Err(error) = result {
            pending.is_changed = true;
            drop(pending);
            if !was_failing {
                let file = self.file.display();
                tracing::warn!(%file, %error, "cannot write the spend state file");
            }
        }
    }

    /// A reader finds the old file or the new one, never half of one.
    fn write(&self) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self
            .books
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .state();
        let text = spend::write(state)?;
        let mut name = self.file.clone().into_os_string();
        name.push(".new");
        let new = PathBuf::from(name);
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.file)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
