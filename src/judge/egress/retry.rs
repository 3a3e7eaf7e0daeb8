//! When a request is sent again, and after how long.
//!
//! Retries are paid for by the calls of the last minute, so that a judge that fails everything is hardly asked more
//! often than it would be anyway; a judge that has not been called ten times in a minute is not asked again at all.
//! Whatever the judge asks to be waited for is waited for, if that fits into the time that is left.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderName};
use tower::retry::budget::{Budget as _, TpsBudget};

use crate::domain::probability::Probability;
use crate::judge::remote::RetryOptions;

/// Calls of so long ago still pay.
const SAVED: Duration = Duration::from_secs(60);
/// What was saved is spent no faster than what comes in during this time allows, and one retry more.
const SPENT: Duration = Duration::from_secs(1);

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// The retries that all calls to one judge share.
pub(super) struct Retries {
    options: RetryOptions,
    saved: TpsBudget,
    spent: TpsBudget,
    seed: AtomicU64,
}

impl Retries {
    pub(super) fn new(options: RetryOptions) -> Self {
        let share = share_of_calls(options.budget_share);
        Self {
            options,
            saved: TpsBudget::new(SAVED, 0, share),
            spent: TpsBudget::new(SPENT, 1, share),
            seed: AtomicU64::new(RandomState::new().hash_one(0)),
        }
    }

    /// A call begins, and pays its share.
    pub(super) fn deposit(&self) {
        self.saved.deposit();
        self.spent.deposit();
    }

    /// Takes a retry, if one is paid for.
    pub(super) fn withdraw(&self) -> bool {
        self.spent.withdraw() && self.saved.withdraw()
    }

    /// The delays of one call, one for each retry that it may make.
    pub(super) fn delays(&self) -> ExponentialBackoff {
        let seed = self.seed.fetch_add(1, Ordering::Relaxed);
        delays(self.options, seed)
    }
}

fn delays(options: RetryOptions, seed: u64) -> ExponentialBackoff {
    let retries = options.max_attempts.saturating_sub(1);
    ExponentialBuilder::new()
        .with_min_delay(options.base_delay)
        .with_max_delay(options.max_delay)
        .with_max_times(usize::try_from(retries).unwrap_or(usize::MAX))
        .with_jitter()
        .with_jitter_seed(seed)
        .build()
}

/// The budget counts whole calls for each retry; rounded so that there are never more retries than the share.
fn share_of_calls(share: Probability) -> f32 {
    if share == Probability::ZERO {
        return 0.0;
    }
    let calls_per_retry = (1.0 / f64::from(share)).ceil() as f32;
    1.0 / (calls_per_retry + 0.5)
}

/// How long the judge asks to be left alone.
///
/// A date is told relative to the date of the answer, so that no clock has to be right.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text(&RETRY_AFTER_MS).and_then(|ms| ms.parse::<f64>().ok()) {
        return seconds(ms / 1_000.0);
    }
    let wanted = text(&RETRY_AFTER)?;
    if let Ok(number) = wanted.parse::<f64>() {
        return seconds(number);
    }
    let wanted = httpdate::parse_http_date(wanted).ok()?;
    let sent = httpdate::parse_http_date(text(&DATE)?).ok()?;
    Some(wanted.duration_since(sent).unwrap_or_default())
}

/// A number of seconds that can be waited for; one without end is longer than any deadline.
fn seconds(number: f64) -> Option<Duration> {
    if number.is_nan() || number < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: RetryOptions = RetryOptions {
        max_attempts: 4,
        budget_share: Probability::ZERO,
        base_delay: Duration::from_millis(100),
        max_delay: Duration::from_millis(250),
    };

    fn retries(share: f64) -> Retries {
        Retries::new(RetryOptions {
            budget_share: Probability::try_from(share).unwrap(),
            ..OPTIONS
        })
    }

    fn wait(pairs: &[(&str, &str)]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::try_from(*name).unwrap();
            headers.insert(name, value.parse().unwrap());
        }
        retry_after(&headers)
    }

    #[tokio::test(start_paused = true)]
    async fn retries_are_a_share_of_calls_from_the_first_call_on() {
        for (share, calls, most) in [(0.1, 100, 10), (0.15, 100, 14), (1.0, 5, 5), (0.0, 100, 0)] {
            let retries = retries(share);
            let mut taken = 0;
            for _ in 0..calls {
                retries.deposit();
                taken += usize::from(retries.withdraw());
            }
            assert_eq!(taken, most, "{share}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_quiet_minute_saved_is_not_spent_in_one_second() {
        let retries = retries(0.1);
        for _ in 0..500 {
            retries.deposit();
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        let taken = (0..100).filter(|_| retries.withdraw()).count();
        assert!((1..=2).contains(&taken), "{taken}");
    }

    #[test]
    fn delays_double_up_to_the_longest_with_jitter_from_a_seed() {
        let first: Vec<_> = delays(OPTIONS, 7).collect();
        let again: Vec<_> = delays(OPTIONS, 7).collect();
        assert_eq!(first, again);
        assert_ne!(first, delays(OPTIONS, 8).collect::<Vec<_>>());
        let bounds = [(100, 200), (200, 400), (250, 500)];
        assert_eq!(first.len(), bounds.len());
        for (delay, (least, most)) in first.iter().zip(bounds) {
            assert!((least..=most).contains(&delay.as_millis()), "{delay:?}");
        }
    }

    #[test]
    fn retry_after_is_read_in_every_form() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let after = |text| wait(&[("retry-after", text), date]);
        assert_eq!(after("2"), Some(Duration::from_secs(2)));
        assert_eq!(after(" 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(after("1e9"), Some(Duration::from_secs(1_000_000_000)));
        assert_eq!(after("1e300"), Some(Duration::MAX));
        assert_eq!(after("-1"), None);
        assert_eq!(after("NaN"), None);
        assert_eq!(after("soon"), None);
        assert_eq!(
            after("Sun, 06 Nov 1994 08:49:47 GMT"),
            Some(Duration::from_secs(10))
        );
        assert_eq!(after("Sun, 06 Nov 1994 08:49:07 GMT"), Some(Duration::ZERO));
        assert_eq!(
            wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")]),
            None
        );
        assert_eq!(
            wait(&[("retry-after-ms", "250"), ("retry-after", "9")]),
            Some(Duration::from_millis(250))
        );
        assert_eq!(wait(&[date]), None);
    }
}
