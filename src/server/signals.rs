//! The signals that ask the process to end: the first one gently, the second one at once.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT, caught from the moment this exists.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Catches the signals; until then they end the process.
    pub fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The name of the next signal.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Runs `end` to its end; `None` if a signal comes before, and then the caller exits at once.
    pub async fn unless_repeated<T>(&mut self, end: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = end => Some(done),
            name = self.next() => {
                tracing::warn!(signal = name, "second signal, not waiting for calls in flight");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::process::Command;

    use super::*;

    fn raise(signal: &str) {
        let command = format!("kill -{signal} {}", std::process::id());
        assert!(
            Command::new("sh")
                .args(["-c", &command])
                .status()
                .unwrap()
                .success()
        );
    }

    /// One test, because signals go to the whole process.
    #[tokio::test]
    async fn the_first_signal_is_named_and_the_second_cuts_the_end_short() {
        let mut signals = Signals::catch().unwrap();
        raise("TERM");
        assert_eq!(signals.next().await, "SIGTERM");
        assert_eq!(signals.unless_repeated(async { 7 }).await, Some(7));
        let second = async {
            raise("INT");
            pending::<()>().await;
        };
        assert_eq!(signals.unless_repeated(second).await, None);
    }
}
