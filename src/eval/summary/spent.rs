//! Time and money.

use std::collections::BTreeMap;

use super::measured::share;
use super::row::{is_sent, was_asked};
use crate::eval::rows::Leg;
use crate::report::model::Measure;
use crate::report::model::spent::{CostReport, Latency, LegCost};
use crate::stats::{Absent, quantile};

/// Up to which latency in microseconds which step of it is told apart: whole recorded milliseconds stay exact up to
/// 100 seconds, and the number of steps is bounded.
const STEPS: [(u64, u64); 4] = [
    (1_000, 1),
    (10_000, 10),
    (1_000_000, 100),
    (100_000_000, 1_000),
];
/// The step above all of these.
const COARSE_US: u64 = 100_000;
/// The longest latency that is told apart: one day.
const LONGEST_US: u64 = 86_400_000_000;

/// The counts of a distribution of latencies.
#[derive(Default)]
pub(super) struct LatencyCounts {
    counts: BTreeMap<u64, u64>,
    count: u64,
    sum_us: u128,
    max_us: u64,
}

impl LatencyCounts {
    pub(super) fn add(&mut self, latency_us: u64) {
        *self.counts.entry(stepped(latency_us)).or_default() += 1;
        self.count += 1;
        self.sum_us += u128::from(latency_us);
        self.max_us = self.max_us.max(latency_us);
    }

    /// Rows that asked a judge.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn report(&self) -> Latency {
        let at = |q| {
            let latency_us = quantile::nearest_rank(&self.counts, q);
            // A step may be rounded up above the longest of all.
            Measure::of(latency_us.map(|us| milliseconds(us.min(self.max_us))))
        };
        let present = |value| {
            if self.count == 0 {
                Err(Absent::Empty)
            } else {
                Ok(value)
            }
        };
        Latency {
            count: self.count,
            mean_ms: Measure::of(present(self.sum_us as f64 / self.count as f64 / 1000.0)),
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: Measure::of(present(milliseconds(self.max_us))),
        }
    }
}

/// A latency on its step.
fn stepped(latency_us: u64) -> u64 {
    let step = STEPS
        .iter()
        .find(|(end, _)| latency_us < *end)
        .map_or(COARSE_US, |(_, step)| *step);
    (latency_us.min(LONGEST_US) + step / 2) / step * step
}

/// Microseconds as milliseconds.
pub(super) fn milliseconds(us: u64) -> f64 {
    us as f64 / 1000.0
}

/// The counts of one leg.
#[derive(Default)]
pub(super) struct LegCounts {
    row_count: u64,
    unknown_count: u64,
    known_nano_usd: i128,
    input_tokens: u64,
    output_tokens: u64,
    untold_count: u64,
    failed_calls: u64,
}

impl LegCounts {
    /// Counts a leg, if a judge was asked in it; of one that asked nobody, the calls that failed alone.
    pub(super) fn add(&mut self, leg: &Leg) {
        let failed = leg.calls.iter().filter(|call| call.failure.is_some());
        self.failed_calls += failed.count() as u64;
        if !was_asked(leg) {
            return;
        }
        self.row_count += 1;
        match leg.nano_usd {
            Some(nano_usd) => self.known_nano_usd += i128::from(nano_usd),
            None => self.unknown_count += 1,
        }
        for call in leg.calls.iter().filter(|call| is_sent(call)) {
            let usage = call.usage.unwrap_or_default();
            let (input, output) = (usage.input_token_count, usage.output_token_count);
            self.input_tokens = self.input_tokens.saturating_add(input.unwrap_or_default());
            self.output_tokens = self
                .output_tokens
                .saturating_add(output.unwrap_or_default());
            self.untold_count += u64::from(input.is_none() && output.is_none());
        }
    }

    fn total(&self) -> Option<i128> {
        (self.unknown_count == 0).then_some(self.known_nano_usd)
    }

    fn report(&self) -> LegCost {
        LegCost {
            row_count: self.row_count,
            unknown_count: self.unknown_count,
            nano_usd: self.total().map(clamped),
            known_nano_usd: clamped(self.known_nano_usd),
            input_token_count: self.input_tokens,
            output_token_count: self.output_tokens,
            failed_call_count: self.failed_calls,
            untold_count: self.untold_count,
        }
    }
}

/// What both legs cost over so many assessable rows; the rows that asked a judge are counted by the caller.
pub(super) fn cost(first: &LegCounts, second: &LegCounts, assessable: u64) -> CostReport {
    let total = first
        .total()
        .zip(second.total())
        .map(|(first, second)| first + second);
    let per_row = match total {
        None => Err(Absent::Unknown),
        Some(total) => share(1, assessable).map(|_| total as f64 / assessable as f64),
    };
    CostReport {
        row_count: 0,
        unknown_count: 0,
        total_nano_usd: total.map(clamped),
        first: first.report(),
        second: second.report(),
        per_row_nano_usd: Measure::of(per_row),
    }
}

/// A sum at the end of the range stays there.
pub(super) fn clamped(nano_usd: i128) -> i64 {
    nano_usd.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_percentile_is_above_the_slowest_row() {
        for us in [1_005, 10_050, 1_000_501, 100_050_001] {
            let mut counts = LatencyCounts::default();
            counts.add(us);
            let report = counts.report();
            assert!(us < stepped(us), "{us} us");
            assert_eq!(report.max_ms.value, Some(milliseconds(us)));
            for measure in [report.p50_ms, report.p95_ms, report.p99_ms] {
                assert_eq!(measure.value, report.max_ms.value, "{us} us");
            }
        }
    }

    #[test]
    fn whole_recorded_milliseconds_stay_exact_and_steps_are_bounded() {
        for ms in [0, 1, 15, 39, 999, 1_000, 1_001, 59_999, 99_999] {
            assert_eq!(stepped(ms * 1000), ms * 1000, "{ms} ms");
        }
        for (us, expected) in [
            (7, 7),
            (1_004, 1_000),
            (1_005, 1_010),
            (10_049, 10_000),
            (10_050, 10_100),
            (1_000_499, 1_000_000),
            (1_000_500, 1_001_000),
            (100_049_999, 100_000_000),
            (100_050_000, 100_100_000),
            (u64::MAX, LONGEST_US),
        ] {
            assert_eq!(stepped(us), expected, "{us} us");
        }
    }

    #[test]
    fn percentiles_are_of_nearest_rank_and_the_mean_is_of_the_exact_sum() {
        let mut counts = LatencyCounts::default();
        for ms in (1..=20).rev() {
            counts.add(ms * 1000);
        }
        let report = counts.report();
        assert_eq!(report.count, 20);
        assert_eq!(report.p50_ms.value, Some(10.0));
        assert_eq!(report.p95_ms.value, Some(19.0));
        assert_eq!(report.p99_ms.value, Some(20.0));
        assert_eq!(report.max_ms.value, Some(20.0));
        assert_eq!(report.mean_ms.value, Some(10.5));
        let none = LatencyCounts::default().report();
        assert_eq!(none.mean_ms, Measure::of(Err(Absent::Empty)));
        assert_eq!(none.max_ms.absent, Some(Absent::Empty));
    }
}
