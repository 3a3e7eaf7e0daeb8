//! Which judges fail, and how often that is told: failures that come and go make no more lines than lasting ones.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use crate::domain::Vocabulary as _;
use crate::domain::failure::FailureReason;
use crate::telemetry::throttle::{PAUSE, Throttle};

/// The judges that failed, and what was told about them.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    told: Throttle<(String, usize)>,
    /// When a judge failed last, until it is told that it answers again.
    failed: Mutex<BTreeMap<String, Instant>>,
}

impl Troubles {
    /// Notes a failure: how many of this reason there were since the last line, or `None` if that was just now.
    pub(super) fn fails(&self, judge: &str, reason: FailureReason) -> Option<u64> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.insert(judge.to_owned(), Instant::now());
        drop(failed);
        self.told.count((judge.to_owned(), reason.index()))
    }

    /// Whether it is to be told that a judge answers again: once, after a minute without a failure.
    pub(super) fn answers(&self, judge: &str) -> bool {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = failed.get(judge).is_some_and(|at| PAUSE <= at.elapsed());
        is_over && failed.remove(judge).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failures_that_come_and_go_are_told_once_a_minute() {
        let troubles = Troubles::default();
        let mut told = Vec::new();
        for _ in 0..120 {
            told.extend(troubles.fails("j", FailureReason::Budget));
            assert!(!troubles.answers("j"));
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(told, [1, 60]);
        assert_eq!(troubles.fails("j", FailureReason::Timeout), Some(1));
        assert_eq!(troubles.fails("other", FailureReason::Budget), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn that_a_judge_answers_again_is_told_once_after_a_minute_without_a_failure() {
        let troubles = Troubles::default();
        assert!(!troubles.answers("j"));
        troubles.fails("j", FailureReason::Budget);
        advance(PAUSE / 2).await;
        troubles.fails("j", FailureReason::Budget);
        advance(PAUSE / 2).await;
        assert!(!troubles.answers("j"));
        advance(PAUSE / 2).await;
        assert!(!troubles.answers("other"));
        assert_eq!(
            [troubles.answers("j"), troubles.answers("j")],
            [true, false]
        );
        assert_eq!(troubles.fails("j", FailureReason::Budget), Some(2));
    }
}
