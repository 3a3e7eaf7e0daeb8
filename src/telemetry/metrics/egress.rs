//! The way out to judges: what was tried again, who is left alone, who waits.

use metrics::{Counter, Gauge};

use super::Metrics;
use super::family::{Axis, Family, Registry, count};
use super::server::Alive;
use crate::domain::trace::JudgeId;
use crate::domain::{Vocabulary as _, vocabulary};

vocabulary! {
    /// The state of the breaker of a judge.
    "state of a breaker"
    pub enum BreakerState {
        /// Calls go through.
        Closed = "closed",
        /// Calls are turned away.
        Open = "open",
        /// One call may try.
        HalfOpen = "half_open",
    }
}

vocabulary! {
    /// Why a request was sent again.
    "reason of a retry"
    pub enum RetryReason {
        /// There was no connection, or it broke.
        Connection = "connection",
        /// A kept connection was gone; this costs no budget.
        StaleConnection = "stale_connection",
        /// The judge is over its rate.
        RateLimited = "rate_limited",
        /// The judge cannot answer now.
        Unavailable = "unavailable",
        /// The judge refused the key, and there is a new one; this costs no budget.
        NewKey = "new_key",
    }
}

/// Families about the way out.
pub(super) struct EgressMetrics {
    retries: Family<Counter>,
    breaker_state: Family<Gauge>,
    queue_depth: Family<Gauge>,
}

impl EgressMetrics {
    pub(super) fn new(r: &Registry<'_>) -> Self {
        Self {
            retries: r.family(
                "judge_cascade_judge_retries_total",
                "Requests to judges that were sent again.",
                vec![r.judges(), Axis::of::<RetryReason>("reason")],
            ),
            breaker_state: r.family(
                "judge_cascade_judge_breaker_state",
                "1 for the state of the breaker of a judge, 0 for the others.",
                vec![r.judges(), Axis::of::<BreakerState>("state")],
            ),
            queue_depth: r.family(
                "judge_cascade_judge_queue_depth",
                "Calls that wait for their turn with a judge.",
                vec![r.judges()],
            ),
        }
    }
}

impl Metrics {
    /// A judge over HTTP is configured.
    pub fn way_out_opened(&self, judge: &JudgeId) {
        self.breaker_is(judge, BreakerState::Closed);
        if let Some(gauge) = self.egress.queue_depth.named(judge.as_str(), &[]) {
            gauge.set(0.0);
        }
        for reason in RetryReason::ALL {
            if let Some(counter) = self.egress.retries.named(judge.as_str(), &[reason.index()]) {
                counter.increment(0);
            }
        }
    }

    /// A request is sent again.
    pub fn retried(&self, judge: &JudgeId, reason: RetryReason) {
        count(self.egress.retries.named(judge.as_str(), &[reason.index()]));
        tracing::debug!(
            judge = judge.as_str(),
            reason = reason.name(),
            "judge asked again"
        );
    }

    /// The breaker of a judge is in this state.
    pub fn breaker_is(&self, judge: &JudgeId, state: BreakerState) {
        for &other in BreakerState::ALL {
            let gauge = self
                .egress
                .breaker_state
                .named(judge.as_str(), &[other.index()]);
            if let Some(gauge) = gauge {
                gauge.set(if other == state { 1.0 } else { 0.0 });
            }
        }
    }

    /// The breaker of a judge changed its state.
    pub fn breaker_changed(&self, judge: &JudgeId, state: BreakerState) {
        self.breaker_is(judge, state);
        match state {
            BreakerState::Open => {
                tracing::warn!(
                    judge = judge.as_str(),
                    "judge keeps failing and is left alone"
                );
            }
            BreakerState::HalfOpen => {}
            BreakerState::Closed => tracing::info!(judge = judge.as_str(), "judge answers again"),
        }
    }

    /// A call waits for its turn for as long as the result lives.
    pub fn judge_queued(&self, judge: &JudgeId) -> Option<Alive> {
        let gauge = self.egress.queue_depth.named(judge.as_str(), &[])?;
        Some(Alive::new(gauge))
    }

    /// The key of a judge was read again and is another one.
    pub fn secret_changed(&self, judge: &JudgeId, key: &str) {
        tracing::info!(judge = judge.as_str(), key, "secret read again");
    }

    /// The file with a secret of a judge cannot be used any more; the old value stays in force.
    pub fn secret_lost(&self, judge: &JudgeId, key: &str, problem: &str) {
        tracing::warn!(
            judge = judge.as_str(),
            key,
            problem,
            "secret cannot be read again; the old one is kept"
        );
    }
}
