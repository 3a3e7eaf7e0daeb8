//! How far a run has come: a bar on a terminal, else a line now and then.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::output;
use crate::domain::outcome::NanoUsd;
use crate::eval::run::Counters;

/// Between two lines.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Between two looks of a bar.
const BAR_EVERY: Duration = Duration::from_millis(200);

/// Tells how far a run has come until it is dropped.
pub(super) struct Progress<'a> {
    counters: &'a Counters,
    total: u64,
    /// Rows that were done before this run.
    before: u64,
    start: Instant,
    is_quiet: bool,
}

impl<'a> Progress<'a> {
    pub(super) fn new(counters: &'a Counters, total: u64, is_quiet: bool) -> Self {
        Self {
            counters,
            total,
            before: counters.done.load(Ordering::Relaxed),
            start: Instant::now(),
            is_quiet,
        }
    }

    /// Tells it again and again; it never ends by itself.
    pub(super) async fn tell(&self) -> std::convert::Infallible {
        if self.is_quiet {
            std::future::pending::<()>().await;
        }
        let is_terminal = io::stderr().is_terminal();
        let bar = is_terminal.then(|| self.bar());
        let every = if is_terminal { BAR_EVERY } else { LINE_EVERY };
        loop {
            tokio::time::sleep(every).await;
            match &bar {
                Some(bar) => {
                    bar.set_position(self.counters.done.load(Ordering::Relaxed));
                    bar.set_message(self.told());
                }
                None => output::note(&self.told()),
            }
        }
    }

    fn bar(&self) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
        match ProgressStyle::with_template("{wide_bar} {msg}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }

    /// Rows, rows a second, cost, failures, time left.
    fn told(&self) -> String {
        let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let (done, failed) = (read(&self.counters.done), read(&self.counters.failed));
        let seconds = self.start.elapsed().as_secs_f64();
        let rate = (done - self.before) as f64 / seconds.max(1e-9);
        let known = NanoUsd(self.counters.known_nano_usd.load(Ordering::Relaxed));
        let unknown = match read(&self.counters.unknown_costs) {
            0 => String::new(),
            count => format!(" and {count} unknown costs"),
        };
        let left = if 0.0 < rate {
            told_seconds((self.total - done.min(self.total)) as f64 / rate)
        } else {
            "unknown time".to_owned()
        };
        format!(
            "{done} of {} rows, {rate:.1} rows/s, {known}{unknown} so far, {failed} failed, {left} left",
            self.total
        )
    }
}

/// A time in words, short.
pub(super) fn told_seconds(seconds: f64) -> String {
    let whole = seconds.ceil().clamp(0.0, 1e15) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_short() {
        for (seconds, told) in [
            (0.0, "0 s"),
            (0.2, "1 s"),
            (61.0, "1 min 1 s"),
            (7261.0, "2 h 1 min"),
        ] {
            assert_eq!(told_seconds(seconds), told);
        }
    }
}
