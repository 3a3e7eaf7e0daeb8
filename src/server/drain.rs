//! The end of the server: no new work, then a bounded wait for what is in flight.
//!
//! The wait is for traces, not for connections: hyper may wait for ever for a peer that says nothing,
//! and a health `Watch` has no end.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long the last replies may take to be written after their traces are done.
const LAST_REPLIES: Duration = Duration::from_millis(100);

/// Whether the server is about to end; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Drain(CancellationToken);

/// What ended the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// No trace was in flight any more.
    Idle,
    /// Every connection was closed.
    Disconnected,
    /// The time was over; what was in flight is lost.
    GraceOver,
}

impl Drain {
    /// From now on no new work is taken; there is no way back.
    pub fn begin(&self) {
        self.0.cancel();
    }

    /// Whether it has begun.
    pub fn is_draining(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the server can end, at most `grace`: until `no_trace_in_flight` (see [`all_back`])
    /// and a moment for the last replies, or until `all_closed`, whichever is first.
    pub async fn run(
        &self,
        no_trace_in_flight: impl Future<Output = ()>,
        all_closed: impl Future<Output = ()>,
        grace: Duration,
    ) -> Drained {
        self.begin();
        let idle = async {
            no_trace_in_flight.await;
            sleep(LAST_REPLIES).await;
        };
        let done = async {
            tokio::select! {
                biased;
                () = all_closed => Drained::Disconnected,
                () = idle => Drained::Idle,
            }
        };
        timeout(grace, done).await.unwrap_or(Drained::GraceOver)
    }
}

/// Resolves when all of the `count` permits of `semaphore` are there at once.
pub async fn all_back(semaphore: &Semaphore, count: usize) {
    let mut held = Vec::new();
    let mut missing = count;
    // A semaphore counts in `usize`, but gives at most `u32::MAX` permits at once.
    while 0 < missing {
        let part = missing.min(u32::MAX as usize);
        let Ok(permits) = semaphore.acquire_many(part as u32).await else {
            return;
        };
        held.push(permits);
        missing -= part;
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::{Arc, Mutex};

    use super::*;

    const GRACE: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn an_idle_server_ends_after_the_last_replies() {
        let drain = Drain::default();
        assert!(!drain.is_draining());
        let start = tokio::time::Instant::now();
        let drained = drain.run(ready(()), pending(), GRACE).await;
        assert_eq!(drained, Drained::Idle);
        assert_eq!(start.elapsed(), LAST_REPLIES);
        assert!(drain.is_draining());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_without_connections_ends_at_once() {
        let start = tokio::time::Instant::now();
        let drained = Drain::default().run(pending(), ready(()), GRACE).await;
        assert_eq!(drained, Drained::Disconnected);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_trace_that_never_ends_is_cut_after_the_grace() {
        let admission = Semaphore::new(4);
        let _trace = admission.try_acquire().unwrap();
        let start = tokio::time::Instant::now();
        let drained = Drain::default()
            .run(all_back(&admission, 4), pending(), GRACE)
            .await;
        assert_eq!(drained, Drained::GraceOver);
        assert_eq!(start.elapsed(), GRACE);
        assert_eq!(admission.available_permits(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn the_drain_ends_after_the_last_of_the_traces_in_flight() {
        let admission = Arc::new(Semaphore::new(2));
        let order = Mutex::new(Vec::new());
        let trace = |name: &'static str, duration| {
            let permit = Arc::clone(&admission).try_acquire_owned().unwrap();
            let order = &order;
            async move {
                sleep(duration).await;
                order.lock().unwrap().push(name);
                drop(permit);
            }
        };
        let long = trace("long", Duration::from_secs(20));
        let short = trace("short", Duration::from_secs(10));
        let drained = async {
            let drained = Drain::default()
                .run(all_back(&admission, 2), pending(), GRACE)
                .await;
            order.lock().unwrap().push("drained");
            drained
        };
        let ((), (), drained) = tokio::join!(long, short, drained);
        assert_eq!(drained, Drained::Idle);
        assert_eq!(*order.lock().unwrap(), ["short", "long", "drained"]);
    }
}
