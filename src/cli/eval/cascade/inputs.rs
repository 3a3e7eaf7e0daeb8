//! The files that a run reads: it must not write to them, and nobody may change them meanwhile.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, bail};

use crate::artifact::bounded;
use crate::artifact::digest::Hashing;

/// Files with what they were when the run began.
pub(super) struct Inputs(Vec<Input>);

struct Input {
    path: PathBuf,
    /// Its place without links.
    real: PathBuf,
    was: (u64, Option<SystemTime>),
}

impl Inputs {
    /// Notes what the files are now.
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> anyhow::Result<Self> {
        let inputs = paths.into_iter().map(|path| {
            let seen =
                fs::metadata(&path).and_then(|metadata| Ok((metadata, path.canonicalize()?)));
            let (metadata, real) =
                seen.with_context(|| format!("cannot read `{}`", path.display()))?;
            Ok(Input {
                was: state(&metadata),
                real,
                path,
            })
        });
        inputs.collect::<anyhow::Result<_>>().map(Self)
    }

    /// Refuses a file that would be written over one that is read.
    pub(super) fn refuse(&self, output: &Path) -> anyhow::Result<()> {
        let Ok(real) = output.canonicalize() else {
            return Ok(());
        };
        if self.0.iter().any(|input| input.real == real) {
            bail!(
                "`{}` is read by this run, which cannot write to it",
                output.display()
            );
        }
        Ok(())
    }

    /// Refuses a result that stands on two states of a file.
    pub(super) fn unchanged(&self) -> anyhow::Result<()> {
        for input in &self.0 {
            let now = fs::metadata(&input.path).map(|metadata| state(&metadata));
            if now.ok() != Some(input.was) {
                bail!(
                    "`{}` was changed during the run, so its rows are of two states of the file\nhint: --force begins anew",
                    input.path.display()
                );
            }
        }
        Ok(())
    }
}

/// Changes with the content, but for a change within the resolution of the clock of the file system.
fn state(metadata: &Metadata) -> (u64, Option<SystemTime>) {
    (metadata.len(), metadata.modified().ok())
}

/// SHA-256 of a file, in lower-case hexadecimal.
pub(super) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hashing = Hashing::new(bounded::open(path)?);
    io::copy(&mut hashing, &mut io::sink())?;
    Ok(hashing.sha256_hex())
}
