//! How much is sent in a minute: requests, and estimated tokens.
//!
//! A call reserves its place ahead of time, in the order of arrival, and is told when it may go; one that could not go
//! before its deadline reserves nothing, and one that is dropped while it waits leaves its place empty. At most ten
//! seconds' worth may go at once. A judge that says it is over its rate makes every call count for more until it has
//! recovered: `share` is the part of the rate that is in force.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

use crate::judge::remote::RateOptions;

/// A request counts for so many cells, so that shares of the rate can be told in whole cells.
const CELLS_PER_REQUEST: u32 = 16;
/// So much of a minute may go at once.
const BURST_PART: u32 = 6;

/// Reserves places in the minutes to come.
pub(super) struct Rate {
    origin: Instant,
    buckets: Mutex<Buckets>,
}

struct Buckets {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

/// A limiter that is asked about the time at which the next call in line would go.
struct Bucket {
    limiter: RateLimiter<NotKeyed, InMemoryState, Ahead, NoOpMiddleware<Nanos>>,
    clock: Ahead,
    burst: u32,
    nanos_per_cell: u64,
    last: u64,
}

/// A clock that shows the time it was set to: nanoseconds of tokio's time.
#[derive(Debug, Clone, Default)]
struct Ahead(Arc<AtomicU64>);

impl Clock for Ahead {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(self.0.load(Ordering::Relaxed))
    }
}

impl Rate {
    pub(super) fn new(options: RateOptions) -> Self {
        let requests = options.requests_per_minute.and_then(|count| {
            Bucket::new(count.saturating_mul(CELLS_PER_REQUEST), CELLS_PER_REQUEST)
        });
        let tokens = options
            .tokens_per_minute
            .and_then(|count| Bucket::new(count, 1));
        Self {
            origin: Instant::now(),
            buckets: Mutex::new(Buckets { requests, tokens }),
        }
    }

    /// When a call with so many tokens may go; `None` if that is not before `deadline`.
    pub(super) fn reserve(
        &self,
        token_count: u64,
        share: f64,
        now: Instant,
        deadline: Instant,
    ) -> Option<Instant> {
        let nanos = |time: Instant| nanos(time.saturating_duration_since(self.origin));
        let (mut at, until) = (nanos(now), nanos(deadline));
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let Buckets { requests, tokens } = &mut *buckets;
        if let Some(bucket) = requests {
            at = bucket.reserve(enlarged(u64::from(CELLS_PER_REQUEST), share), at, until)?;
        }
        if let Some(bucket) = tokens {
            at = bucket.reserve(enlarged(token_count, share), at, until)?;
        }
        Some(self.origin + Duration::from_nanos(at))
    }
}

impl Bucket {
    fn new(cells_per_minute: u32, least_burst: u32) -> Option<Self> {
        let cells = NonZeroU32::new(cells_per_minute)?;
        let burst = NonZeroU32::new((cells_per_minute / BURST_PART).max(least_burst))?;
        let quota = Quota::per_minute(cells).allow_burst(burst);
        let clock = Ahead::default();
        Some(Self {
            limiter: RateLimiter::direct_with_clock(quota, clock.clone()),
            clock,
            burst: burst.get(),
            nanos_per_cell: nanos(quota.replenish_interval()),
            last: 0,
        })
    }

    /// Takes cells at the first time from `from` on at which they are there; takes none if that is after `until`.
    fn reserve(&mut self, cells: u64, from: u64, until: u64) -> Option<u64> {
        let mut at = from.max(self.last);
        let mut left = cells;
        while let Some(piece) = NonZeroU32::new(piece(left, self.burst)) {
            left -= u64::from(piece.get());
            loop {
                // What is more than a burst comes in afterwards, cell by cell.
                if until < at.saturating_add(left.saturating_mul(self.nanos_per_cell)) {
                    return None;
                }
                self.clock.0.store(at, Ordering::Relaxed);
                match self.limiter.check_n(piece).ok()? {
                    Ok(()) => break,
                    Err(not_until) => {
                        at += nanos(not_until.wait_time_from(Nanos::new(at))).max(1);
                    }
                }
            }
        }
        self.last = at;
        Some(at)
    }
}

fn piece(cells: u64, burst: u32) -> u32 {
    u32::try_from(cells).map_or(burst, |cells| cells.min(burst))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What a cost comes to when only a share of the rate is in force.
fn enlarged(cost: u64, share: f64) -> u64 {
    (cost as f64 / share).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(requests: Option<u32>, tokens: Option<u32>) -> RateOptions {
        RateOptions {
            requests_per_minute: requests,
            tokens_per_minute: tokens,
        }
    }

    /// When each of `count` calls that come at once may go, in milliseconds.
    fn times(rate: &Rate, count: usize, tokens: u64, share: f64) -> Vec<u128> {
        let now = rate.origin;
        let hour = now + Duration::from_secs(3600);
        let at = |_| {
            let at = rate.reserve(tokens, share, now, hour).unwrap();
            (at - now).as_micros().div_ceil(1000)
        };
        (0..count).map(at).collect()
    }

    #[test]
    fn ten_seconds_worth_goes_at_once_and_the_rest_at_the_rate() {
        let rate = Rate::new(options(Some(12), None));
        assert_eq!(times(&rate, 4, 1, 1.0), [0, 0, 5_000, 10_000]);
    }

    #[test]
    fn half_of_the_rate_is_half_as_fast() {
        let rate = Rate::new(options(Some(12), None));
        assert_eq!(times(&rate, 4, 1, 0.5), [0, 10_000, 20_000, 30_000]);
    }

    #[test]
    fn a_call_larger_than_a_burst_of_tokens_goes_when_its_last_token_is_there() {
        let rate = Rate::new(options(None, Some(600)));
        assert_eq!(times(&rate, 2, 100, 1.0), [0, 10_000]);
        assert_eq!(times(&rate, 1, 250, 1.0), [35_000]);
    }

    #[test]
    fn without_a_rate_everything_goes_at_once() {
        let rate = Rate::new(options(None, None));
        assert_eq!(times(&rate, 3, 1_000_000, 1.0), [0, 0, 0]);
    }

    #[test]
    fn a_call_that_would_wait_past_its_deadline_takes_nothing() {
        let rate = Rate::new(options(Some(6), Some(600)));
        let now = rate.origin;
        let in_seconds = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(rate.reserve(1, 1.0, now, in_seconds(1)), Some(now));
        assert_eq!(rate.reserve(1, 1.0, now, in_seconds(9)), None);
        assert_eq!(
            rate.reserve(1, 1.0, now, in_seconds(10)),
            Some(in_seconds(10))
        );
        let tokens = Rate::new(options(None, Some(600)));
        let now = tokens.origin;
        let in_seconds = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(tokens.reserve(250, 1.0, now, in_seconds(14)), None);
        assert_eq!(
            tokens.reserve(250, 1.0, now, in_seconds(15)),
            Some(in_seconds(15))
        );
    }
}
