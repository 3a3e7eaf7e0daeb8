//! The only place that writes to standard output and standard error.

use std::io::{self, Write as _};

/// A line of the result.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A line beside the result; where nobody reads it, it is lost.
pub(super) fn note(text: &str) {
    writeln!(io::stderr(), "{text}").ok();
}

/// Why a command did not run, with every cause.
pub(super) fn error(error: &anyhow::Error) {
    note(&format!("error: {error:#}"));
}

/// The same error with a line that tells what to do about it.
pub(super) fn with_hint(error: impl Into<anyhow::Error>, hint: &str) -> anyhow::Error {
    anyhow::anyhow!("{:#}\nhint: {hint}", error.into())
}

/// Whether the reader of standard output went away, as `head` does; that is no error of ours.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
