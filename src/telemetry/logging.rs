//! Logs on standard error: JSON lines or text.
//!
//! No question, context, answer or key is logged at any level.
//! A log that nobody reads, or that cannot be written, must not hold up or end the service: lines go through a bounded
//! queue to a thread of their own, and what does not fit is dropped and counted.

use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

use crate::domain::vocabulary;

vocabulary! {
    /// The form of log lines.
    "log format"
    pub enum LogFormat {
        /// One JSON object a line.
        Json = "json",
        /// Text for people.
        Text = "text",
    }
}

/// What is logged and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// A level, or a list of `target=level`.
    pub filter: String,
    /// The form of the lines.
    pub format: LogFormat,
}

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter does not parse.
    #[error("`{filter}` is not a log filter")]
    Filter {
        /// The filter.
        filter: String,
        /// What is wrong with it.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// The process logs already.
    #[error("logging is set up already")]
    Init(#[from] TryInitError),
}

/// Lines that wait to be written.
const QUEUE_LINES: usize = 1024;
/// How long the end of the process waits for the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Writes the last lines when it is dropped; keep it for as long as the process logs.
#[must_use]
#[derive(Debug)]
pub struct LogGuard(SyncSender<Entry>);

/// What goes through the queue.
#[derive(Debug)]
enum Entry {
    Line(Vec<u8>),
    /// Everything before it is written when the sender is dropped.
    Flush(SyncSender<()>),
}

/// Checks a filter without starting to log.
pub fn check_filter(filter: &str) -> Result<(), LoggingError> {
    parse(filter).map(|_| ())
}

/// Starts to log for the whole process.
pub fn init(options: &LogOptions) -> Result<LogGuard, LoggingError> {
    let (sender, queue) = sync_channel(QUEUE_LINES);
    let dropped = Arc::new(AtomicU64::new(0));
    let writer = Queue {
        sender: sender.clone(),
        dropped: Arc::clone(&dropped),
    };
    let lines = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .log_internal_errors(false)
        .with_env_filter(parse(&options.filter)?);
    match options.format {
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init()?,
        LogFormat::Text => lines.with_ansi(false).finish().try_init()?,
    }
    thread::spawn(move || write_lines(&queue, &dropped, &mut io::stderr()));
    panic::set_hook(Box::new(log_panic));
    Ok(LogGuard(sender))
}

/// Tells where a thread panicked and not why: the message may quote a text of a trace.
fn log_panic(info: &PanicHookInfo<'_>) {
    let location = info.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(location, "a thread panicked");
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        let (done, is_done) = sync_channel(0);
        if self.0.try_send(Entry::Flush(done)).is_ok() {
            is_done.recv_timeout(FLUSH_TIMEOUT).ok();
        }
    }
}

/// Takes a line at a time and never waits.
#[derive(Clone)]
struct Queue {
    sender: SyncSender<Entry>,
    dropped: Arc<AtomicU64>,
}

impl Write for Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.sender.try_send(Entry::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes until every sender is gone; a line that cannot be written is lost.
fn write_lines(queue: &Receiver<Entry>, dropped: &AtomicU64, out: &mut impl Write) {
    for entry in queue {
        match entry {
            Entry::Line(line) => {
                out.write_all(&line).ok();
            }
            Entry::Flush(done) => {
                out.flush().ok();
                drop(done);
            }
        }
        let lost = dropped.swap(0, Ordering::Relaxed);
        if 0 < lost {
            writeln!(
                out,
                "{{\"level\":\"WARN\",\"message\":\"{lost} log lines were dropped\"}}"
            )
            .ok();
        }
    }
}

fn parse(filter: &str) -> Result<EnvFilter, LoggingError> {
    EnvFilter::builder()
        .parse(filter)
        .map_err(|source| LoggingError::Filter {
            filter: filter.to_owned(),
            source,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log driver that never takes a line must not hold anybody up.
    #[test]
    fn a_full_queue_drops_lines_and_tells_how_many() {
        let (sender, queue) = sync_channel(2);
        let dropped = Arc::new(AtomicU64::new(0));
        let mut writer = Queue {
            sender,
            dropped: Arc::clone(&dropped),
        };
        for line in ["a\n", "b\n", "c\n", "d\n"] {
            assert_eq!(writer.write(line.as_bytes()).unwrap(), 2);
        }
        drop(writer);
        let mut out = Vec::new();
        write_lines(&queue, &dropped, &mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(out.starts_with("a\n{"), "{out}");
        assert!(
            out.contains("2 log lines were dropped") && out.ends_with("b\n"),
            "{out}"
        );
    }

    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_log_that_cannot_be_written_is_lost_and_nothing_else() {
        let (sender, queue) = sync_channel(2);
        sender.send(Entry::Line(b"a\n".to_vec())).unwrap();
        drop(sender);
        write_lines(&queue, &AtomicU64::new(1), &mut Broken);
    }
}
