//! Everything at once: random faults, deadlines and cancels, from seeds.

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use super::*;
use crate::judge::egress::transport::TlsFault;

/// Numbers that look random and follow from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % end
    }

    fn millis(&mut self, end: u64) -> Duration {
        Duration::from_millis(self.below(end))
    }

    fn step(&mut self) -> Step {
        match self.below(14) {
            0 => Step::Hang,
            1 => Step::Fail(TransportError::Stale),
            2 => Step::Fail(TransportError::Tls(TlsFault::Expired)),
            3 => Step::Fail(TransportError::Broken("connection reset".to_owned())),
            4 => Step::Answer(429, &[("retry-after-ms", "300")]),
            5 => Step::Answer(503, &[]),
            6 => Step::Answer(401, &[]),
            7 => Step::Answer(222, &[]),
            8 => Step::Answer(223, &[]),
            _ => OK,
        }
    }
}

async fn simulate(seed: u64) {
    let mut numbers = Numbers(seed);
    let steps: Vec<_> = (0..300).map(|_| numbers.step()).collect();
    let stale = |step: &&Step| matches!(step, Step::Fail(TransportError::Stale));
    let free_retries = steps.iter().filter(stale).count();
    let script = Script::slow(Duration::from_millis(80), steps);
    let concurrency = ConcurrencyOptions {
        max_in_flight: 6,
        max_queued: 12,
    };
    let retry = RetryOptions {
        max_attempts: 4,
        budget_share: Probability::try_from(0.1).unwrap(),
        ..options().retry
    };
    let rate = RateOptions {
        requests_per_minute: Some(1_200),
        tokens_per_minute: Some(200_000),
    };
    let options = EndpointOptions {
        concurrency,
        retry,
        rate,
        ..options()
    };
    let egress = &egress(&script, options);
    let plans: Vec<_> = (0..200)
        .map(|_| {
            let is_cancelled = numbers.below(5) == 0;
            let cancel = if is_cancelled {
                numbers.millis(500)
            } else {
                Duration::MAX
            };
            (numbers.millis(10_000), numbers.millis(3_000), cancel)
        })
        .collect();
    join_all(plans.iter().map(|&(start, time, cancel)| async move {
        sleep(start).await;
        let ended = timeout(cancel, call_within(egress, time)).await;
        if let Ok((call, _)) = ended {
            // Timers have a resolution of a millisecond.
            assert!(
                call.latency <= time + Duration::from_millis(2),
                "seed {seed}: {call:?} within {time:?}"
            );
        }
    }))
    .await;

    assert!(
        script.count() <= 200 * 11 / 10 + free_retries,
        "seed {seed}"
    );
    assert_eq!(metric(egress, "judge_queue_depth", ""), 0, "seed {seed}");
    script.then([OK]);
    sleep(Duration::from_secs(60)).await;
    for _ in 0..60 {
        assert_eq!(call(egress).await.1, None, "seed {seed}");
    }
    // Every permit is back: as many requests are in flight as ever.
    let before = script.count();
    let wave = timeout(
        Duration::from_millis(40),
        join_all((0..6).map(|_| call(egress))),
    );
    assert!(wave.await.is_err());
    assert_eq!(script.count(), before + 6, "seed {seed}");
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_calls_end_in_time_and_everything_is_given_back() {
    for seed in 0..50 {
        simulate(seed).await;
    }
}
