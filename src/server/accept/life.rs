//! When a connection ends whatever its peer does.
//!
//! At its age a connection is closed gracefully, which a peer can put off for ever by not answering; and a peer that
//! reads nothing keeps a write, and its place, for as long as it likes. Both have an end here.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// A write that makes no progress for so long ends the connection.
const STALL: Duration = Duration::from_secs(30);

/// The bounds of one connection.
#[derive(Debug)]
pub(super) struct Life {
    end: Option<Pin<Box<Sleep>>>,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Life {
    /// A life that begins now; `None` is no bound of age.
    pub(super) fn new(longest: Option<Duration>) -> Self {
        // An end that no clock can tell is none.
        let end = longest.and_then(|longest| Instant::now().checked_add(longest));
        Self {
            end: end.map(|end| Box::pin(sleep_until(end))),
            stalled: None,
        }
    }

    /// Whether its time is over; if not, the task is woken when it is.
    pub(super) fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        is_elapsed(self.end.as_mut(), cx)
    }

    /// Whether a write that is pending has been so for too long; if not, the task is woken when it has.
    pub(super) fn is_stalled(&mut self, cx: &mut Context<'_>) -> bool {
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL)));
        is_elapsed(Some(stalled), cx)
    }

    /// A write made progress.
    pub(super) fn flows(&mut self) {
        self.stalled = None;
    }
}

fn is_elapsed(timer: Option<&mut Pin<Box<Sleep>>>, cx: &mut Context<'_>) -> bool {
    timer.is_some_and(|timer| matches!(timer.as_mut().poll(cx), Poll::Ready(())))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    const AGE: Duration = Duration::from_secs(600);

    #[tokio::test(start_paused = true)]
    async fn a_life_is_over_at_its_age_and_not_before() {
        let mut life = Life::new(Some(AGE));
        let started = Instant::now();
        assert!(!poll_fn(|cx| Poll::Ready(life.is_over(cx))).await);
        let over = poll_fn(|cx| match life.is_over(cx) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        over.await;
        assert_eq!(started.elapsed(), AGE);
        assert!(poll_fn(|cx| Poll::Ready(life.is_over(cx))).await);
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_age_a_life_has_no_end() {
        for longest in [None, Some(Duration::MAX)] {
            let mut life = Life::new(longest);
            sleep(AGE).await;
            assert!(!poll_fn(|cx| Poll::Ready(life.is_over(cx))).await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_stalled_only_if_it_makes_no_progress_for_the_whole_time() {
        let mut life = Life::new(None);
        assert!(!poll_fn(|cx| Poll::Ready(life.is_stalled(cx))).await);
        sleep(STALL - Duration::from_millis(1)).await;
        life.flows();
        let started = Instant::now();
        let stalled = poll_fn(|cx| match life.is_stalled(cx) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        stalled.await;
        assert_eq!(started.elapsed(), STALL);
    }
}
