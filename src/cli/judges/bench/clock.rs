//! How long a judge takes: every answer by itself, and the time in which it had something to do.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::report::bench::BenchLatency;
use crate::report::model::Measure;
use crate::stats::{Absent, quantile};

/// Watches the calls to a judge.
#[derive(Debug, Default)]
pub(super) struct Clock(Mutex<Busy>);

#[derive(Debug, Default)]
struct Busy {
    calls: usize,
    since: Option<Instant>,
    total: Duration,
}

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// Answered rows by microseconds.
    counts: BTreeMap<u64, u64>,
    busy: Duration,
}

impl Clock {
    /// A call begins.
    pub(super) fn begin(&self) -> Instant {
        let now = Instant::now();
        let mut busy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        busy.calls += 1;
        busy.since.get_or_insert(now);
        now
    }

    /// It ends; what it took.
    pub(super) fn end(&self, begun: Instant) -> Duration {
        let now = Instant::now();
        let mut busy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        busy.calls = busy.calls.saturating_sub(1);
        if busy.calls == 0
            && let Some(since) = busy.since.take()
        {
            busy.total += now - since;
        }
        now - begun
    }

    /// The time with at least one call.
    pub(super) fn busy(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).total
    }
}

impl Times {
    /// Adds an answered row.
    pub(super) fn add(&mut self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        *self.counts.entry(us).or_default() += 1;
    }

    /// Takes over how long the judge was busy.
    pub(super) const fn busy_for(&mut self, busy: Duration) {
        self.busy = busy;
    }

    /// The numbers; `None` without an answer.
    pub(super) fn report(&self, concurrency: usize) -> Option<BenchLatency> {
        let row_count: u64 = self.counts.values().sum();
        let at = |q| Measure::of(quantile::nearest_rank(&self.counts, q).map(|us| us as f64));
        let seconds = self.busy.as_secs_f64();
        let rate = if 0.0 < seconds {
            Ok(row_count as f64 / seconds)
        } else {
            Err(Absent::ZeroDenominator)
        };
        (0 < row_count).then(|| BenchLatency {
            row_count,
            concurrency: concurrency as u64,
            p50_us: at(0.5),
            p95_us: at(0.95),
            rows_per_second: Measure::of(rate),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_at_once_are_counted_as_one_time() {
        let clock = Clock::default();
        let (first, second) = (clock.begin(), clock.begin());
        let (one, other) = (clock.end(first), clock.end(second));
        let busy = clock.busy();
        assert!(one.max(other) <= busy && busy <= one + other + (second - first));
    }

    #[test]
    fn percentiles_are_values_that_rows_have() {
        let mut times = Times::default();
        assert_eq!(times.report(1), None);
        for us in 1..=100 {
            times.add(Duration::from_micros(us));
        }
        times.busy_for(Duration::from_secs(2));
        let report = times.report(4).unwrap();
        assert_eq!(report.p50_us, Measure::of(Ok(50.0)));
        assert_eq!(report.p95_us, Measure::of(Ok(95.0)));
        assert_eq!(report.rows_per_second, Measure::of(Ok(50.0)));
        assert_eq!((report.row_count, report.concurrency), (100, 4));
    }
}
