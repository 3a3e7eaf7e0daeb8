//! Files that are read again when they change: what is made of them is swapped as a whole, or stays as it was.
//!
//! Contents are compared, not times or inodes, so that a rename, a symlink that is swapped and a file that is written
//! anew are all seen; only their digests are kept, for they are secret. What cannot be used is told once, and tried again
//! with the next look.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::options::NamedFile;
use crate::artifact::bounded;
use crate::artifact::digest::sha256;
use crate::domain::Vocabulary as _;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::{CredentialKind, CredentialReload};

/// How often files are looked at.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// The longest file; certificates and tokens are far shorter.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: `{}` {problem}", file.key, file.path.display())]
pub struct FileError {
    /// The file.
    pub file: NamedFile,
    /// What is wrong, as a predicate, without what the file holds.
    pub problem: String,
}

impl FileError {
    /// An error about a file.
    pub fn new(file: &NamedFile, problem: impl Into<String>) -> Self {
        Self {
            file: file.clone(),
            problem: problem.into(),
        }
    }
}

/// The contents of the files, in their order.
type Contents = Vec<Vec<u8>>;
/// SHA-256 of each.
type Digests = Vec<[u8; 32]>;
/// Makes the value of the contents.
type Parse<T> = Box<dyn Fn(&[Vec<u8>]) -> Result<T, FileError> + Send + Sync>;

/// A value made of files.
pub struct Watched<T> {
    files: Arc<[NamedFile]>,
    parse: Parse<T>,
    first: Digests,
    current: ArcSwap<T>,
}

impl<T> Watched<T> {
    /// Reads the files and makes a value of them; `parse` gets their contents in the order of `files`.
    pub fn read(
        files: Vec<NamedFile>,
        parse: impl Fn(&[Vec<u8>]) -> Result<T, FileError> + Send + Sync + 'static,
    ) -> Result<Self, FileError> {
        let contents = read_all(&files)?;
        let current = ArcSwap::from_pointee(parse(&contents)?);
        Ok(Self {
            files: files.into(),
            parse: Box::new(parse),
            first: digests(&contents),
            current,
        })
    }

    /// The value that is in force.
    pub fn current(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Looks at the files again and again; it never ends.
    pub async fn keep(&self, interval: Duration, kind: CredentialKind, metrics: &Metrics) {
        let mut state = State {
            in_force: self.first.clone(),
            refused: None,
        };
        loop {
            sleep(interval).await;
            let files = Arc::clone(&self.files);
            // A file system that hangs must not hold up a thread that serves.
            if let Ok(read) = spawn_blocking(move || read_all(&files)).await {
                self.look(read, &mut state, kind, metrics);
            }
        }
    }

    fn look(
        &self,
        read: Result<Contents, FileError>,
        state: &mut State,
        kind: CredentialKind,
        metrics: &Metrics,
    ) {
        let seen = read.as_deref().map(digests).map_err(FileError::clone);
        if seen.as_ref() == Ok(&state.in_force) {
            state.refused = None;
            return;
        }
        let made = read.and_then(|contents| (self.parse)(&contents));
        match made {
            Ok(value) => {
                self.current.store(Arc::new(value));
                metrics.credentials_reloaded(kind, CredentialReload::Ok);
                tracing::info!(kind = kind.name(), "changed credentials are in force");
                *state = State {
                    in_force: seen.unwrap_or_default(),
                    refused: None,
                };
            }
            Err(error) => {
                metrics.credentials_reloaded(kind, CredentialReload::Error);
                let is_known = state.refused.as_ref() == Some(&seen);
                if !is_known {
                    tracing::error!(
                        kind = kind.name(),
                        %error,
                        "changed credentials cannot be used, those in force stay"
                    );
                    state.refused = Some(seen);
                }
            }
        }
    }
}

/// What was seen.
struct State {
    in_force: Digests,
    refused: Option<Result<Digests, FileError>>,
}

impl<T> fmt::Debug for Watched<T> {
    /// Without what the files hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

fn digests(contents: &[Vec<u8>]) -> Digests {
    contents.iter().map(|content| sha256(content)).collect()
}

fn read_all(files: &[NamedFile]) -> Result<Contents, FileError> {
    files.iter().map(read).collect()
}

fn read(named: &NamedFile) -> Result<Vec<u8>, FileError> {
    let unreadable = |error: io::Error| FileError::new(named, format!("cannot be read: {error}"));
    bounded::read(&named.path, MAX_FILE_BYTES).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;
    use crate::telemetry::metrics::MetricNames;

    /// Two files that hold the same number, as a certificate and its key belong together.
    struct Rig {
        folder: tempfile::TempDir,
        watched: Watched<u32>,
        state: State,
        metrics: Arc<Metrics>,
    }

    fn named(path: impl Into<PathBuf>) -> NamedFile {
        NamedFile {
            key: "a.key",
            path: path.into(),
        }
    }

    fn number(contents: &[Vec<u8>]) -> Result<u32, FileError> {
        let texts: Vec<_> = contents
            .iter()
            .map(|c| String::from_utf8_lossy(c))
            .collect();
        let parsed = texts[0].parse().ok().filter(|_| texts[0] == texts[1]);
        parsed.ok_or_else(|| FileError::new(&named("one"), "does not fit"))
    }

    impl Rig {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for generation in [1, 2] {
                let inner = folder.path().join(generation.to_string());
                fs::create_dir(&inner).unwrap();
                for name in ["one", "two"] {
                    fs::write(inner.join(name), generation.to_string()).unwrap();
                }
            }
            symlink("1", folder.path().join("now")).unwrap();
            let files = ["one", "two"].map(|name| named(folder.path().join("now").join(name)));
            let watched = Watched::read(files.to_vec(), number).unwrap();
            Self {
                folder,
                state: State {
                    in_force: watched.first.clone(),
                    refused: None,
                },
                watched,
                metrics: Metrics::new(&MetricNames::default()).unwrap(),
            }
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.folder.path().join("now").join(name), text).unwrap();
        }

        /// The value after another look, and how many reloads went well and badly.
        fn look(&mut self) -> (u32, [u32; 2]) {
            let read = read_all(&self.watched.files);
            self.watched
                .look(read, &mut self.state, CredentialKind::Tls, &self.metrics);
            let text = self.metrics.render();
            let count = |result| {
                let series = format!(
                    "judge_cascade_credential_reloads_total{{kind=\"tls\",result=\"{result}\"}} "
                );
                let value = text.lines().find_map(|line| line.strip_prefix(&series));
                value.unwrap().parse().unwrap()
            };
            (*self.watched.current(), [count("ok"), count("error")])
        }
    }

    #[test]
    fn a_swapped_symlink_is_seen_and_what_stays_is_not_read_again() {
        let mut rig = Rig::new();
        assert_eq!(rig.look(), (1, [0, 0]));
        let now = rig.folder.path().join("now");
        symlink("2", rig.folder.path().join("next")).unwrap();
        fs::rename(rig.folder.path().join("next"), now).unwrap();
        assert_eq!(rig.look(), (2, [1, 0]));
        assert_eq!(rig.look(), (2, [1, 0]));
    }

    #[test]
    fn files_that_do_not_fit_together_change_nothing_until_they_do() {
        let mut rig = Rig::new();
        rig.write("one", "7");
        assert_eq!(rig.look(), (1, [0, 1]));
        assert_eq!(rig.look(), (1, [0, 2]));
        rig.write("two", "7");
        assert_eq!(rig.look(), (7, [1, 2]));
        fs::remove_file(rig.folder.path().join("now/two")).unwrap();
        assert_eq!(rig.look(), (7, [1, 3]));
        rig.write("two", "7");
        assert_eq!(rig.look(), (7, [1, 3]));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("absent");
        let long = folder.path().join("long");
        fs::write(&long, vec![b'x'; MAX_FILE_BYTES as usize + 1]).unwrap();
        for (path, problem) in [
            (
                absent.as_path(),
                "cannot be read: No such file or directory (os error 2)",
            ),
            (folder.path(), "cannot be read: it is not a file"),
            (&long, "cannot be read: it is longer than 1048576 bytes"),
        ] {
            let error = Watched::read(vec![named(path)], number).err().unwrap();
            assert_eq!(
                error.to_string(),
                format!("a.key: `{}` {problem}", path.display())
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_comes_into_force_by_itself() {
        let rig = Rig::new();
        let keep = rig
            .watched
            .keep(INTERVAL, CredentialKind::Token, &rig.metrics);
        let changed = async {
            sleep(INTERVAL * 2).await;
            rig.write("one", "3");
            rig.write("two", "3");
            while *rig.watched.current() != 3 {
                sleep(INTERVAL).await;
            }
        };
        tokio::select! {
            () = keep => (),
            () = changed => (),
        }
        assert_eq!(*rig.watched.current(), 3);
    }
}
