//! How the time of one call is shared out.
//!
//! Time for a call = min(caller's time-out, `deadline_ms`) less a reply reserve of min(`reply_reserve_ms`, a tenth of
//! the time); the atomic judge has min(`atomic_timeout_ms`, time left), the fallback judge the rest, if the rest is
//! more than `fallback_min_ms`.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::outcome::JudgeRole;

/// How the time of a call is shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOptions {
    /// The longest time for a call, whatever its caller allows.
    pub deadline: Duration,
    /// Kept back for the reply, but never more than a tenth of the time.
    pub reply_reserve: Duration,
    /// The longest time for the atomic judge.
    pub atomic_timeout: Duration,
    /// The fallback judge is asked only if more time than this is left.
    pub fallback_min: Duration,
}

impl TimeOptions {
    /// The time for a call whose caller waits for `timeout`.
    pub fn limit(&self, timeout: Option<Duration>) -> Duration {
        timeout.map_or(self.deadline, |timeout| timeout.min(self.deadline))
    }

    /// The longest time that a judge ever has in a role.
    pub fn longest(&self, role: JudgeRole) -> Duration {
        match role {
            JudgeRole::Atomic => self.atomic_timeout.min(self.deadline),
            JudgeRole::Fallback => self.deadline,
        }
    }

    /// What is kept back of it for the reply.
    pub fn reserve(&self, limit: Duration) -> Duration {
        self.reply_reserve.min(limit / 10)
    }
}

/// The deadlines of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    /// When the outcome must be known.
    pub(super) deadline: Instant,
    atomic_timeout: Duration,
    fallback_min: Duration,
}

impl Budget {
    /// The deadlines of a call that arrived at `received` and whose caller waits for `timeout`.
    pub(super) fn new(options: &TimeOptions, received: Instant, timeout: Option<Duration>) -> Self {
        let limit = options.limit(timeout);
        Self {
            deadline: received + (limit - options.reserve(limit)),
            atomic_timeout: options.atomic_timeout,
            fallback_min: options.fallback_min,
        }
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.deadline <= now
    }

    pub(super) fn atomic_deadline(&self, now: Instant) -> Instant {
        self.deadline.min(now + self.atomic_timeout)
    }

    pub(super) fn allows_fallback(&self, now: Instant) -> bool {
        self.fallback_min < self.deadline.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: TimeOptions = TimeOptions {
        deadline: Duration::from_millis(3000),
        reply_reserve: Duration::from_millis(10),
        atomic_timeout: Duration::from_millis(1000),
        fallback_min: Duration::from_millis(300),
    };

    /// Milliseconds from the arrival to the deadline, and to the end of the atomic slice.
    fn slices(timeout_ms: Option<u64>) -> (u128, u128) {
        let received = Instant::now();
        let budget = Budget::new(&OPTIONS, received, timeout_ms.map(Duration::from_millis));
        let micros = |end: Instant| end.duration_since(received).as_micros();
        (
            micros(budget.deadline),
            micros(budget.atomic_deadline(received)),
        )
    }

    #[test]
    fn the_shorter_of_caller_and_profile_counts_less_the_reserve() {
        assert_eq!(slices(None), (2_990_000, 1_000_000));
        assert_eq!(slices(Some(60_000)), (2_990_000, 1_000_000));
        assert_eq!(slices(Some(500)), (490_000, 490_000));
    }

    #[test]
    fn the_reserve_is_at_most_a_tenth_of_the_time() {
        assert_eq!(slices(Some(50)), (45_000, 45_000));
        assert_eq!(slices(Some(1)), (900, 900));
        assert_eq!(slices(Some(0)), (0, 0));
    }

    #[test]
    fn the_fallback_needs_more_than_its_minimum() {
        let received = Instant::now();
        let budget = Budget::new(&OPTIONS, received, None);
        let left = |ms| budget.deadline - Duration::from_millis(ms);
        assert!(budget.allows_fallback(left(301)));
        assert!(!budget.allows_fallback(left(300)));
        assert!(!budget.allows_fallback(budget.deadline + Duration::from_millis(1)));
    }
}
