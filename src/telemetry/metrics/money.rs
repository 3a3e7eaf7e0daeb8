//! What is spent and what is spared: caps, the cache of answers, and judges that judge themselves.

use metrics::{Counter, Gauge};

use super::Metrics;
use super::family::{Axis, Family, Registry, add, count};
use crate::domain::outcome::{JudgeRole, NanoUsd};
use crate::domain::trace::JudgeId;
use crate::domain::{Vocabulary as _, vocabulary};

vocabulary! {
    /// Why a cost did not arise.
    "reason of an avoided cost"
    pub enum AvoidedCost {
        /// The answer was taken from the cache.
        Cache = "cache",
    }
}

vocabulary! {
    /// How the cache of answers served a judge.
    "result of a look into the cache"
    pub enum CacheResult {
        /// The answer was there.
        Hit = "hit",
        /// The judge was asked.
        Miss = "miss",
        /// The judge was being asked the same, and its answer served both.
        Shared = "shared",
        /// The caller wanted a fresh answer.
        Bypass = "bypass",
    }
}

vocabulary! {
    /// The time over which a spend cap counts.
    "window of a spend cap"
    pub enum SpendWindow {
        /// The last minute.
        Minute = "minute",
        /// The day of UTC.
        Day = "day",
    }
}

/// Families about money.
pub(super) struct MoneyMetrics {
    avoided_cost: Family<Counter>,
    cache_requests: Family<Counter>,
    spend_cap_used: Family<Gauge>,
    generator_judged: Family<Counter>,
}

impl MoneyMetrics {
    pub(super) fn new(r: &Registry<'_>) -> Self {
        Self {
            avoided_cost: r.present(
                "judge_cascade_avoided_cost_nano_usd_total",
                "Cost in 1e-9 US dollars that did not arise, for answers from the cache whose price is known.",
                vec![Axis::of::<AvoidedCost>("reason")],
            ),
            cache_requests: r.present(
                "judge_cascade_cache_requests_total",
                "Asks of judges whose answers are cached; shared waited for the same question on its way.",
                vec![Axis::of::<CacheResult>("result")],
            ),
            spend_cap_used: r.family(
                "judge_cascade_spend_cap_used_ratio",
                "Share of a spend cap that is used or reserved, of the fuller one of US dollars and calls, as of the last \
                 call to the judge.",
                vec![r.judges(), Axis::of::<SpendWindow>("window")],
            ),
            generator_judged: r.family(
                "judge_cascade_generator_judged_total",
                "Asks of a judge about an answer that its own model wrote.",
                vec![r.judges(), Axis::of::<JudgeRole>("role")],
            ),
        }
    }
}

impl Metrics {
    /// A cost did not arise.
    pub fn cost_avoided(&self, reason: AvoidedCost, cost: NanoUsd) {
        let counter = self.money.avoided_cost.at(&[reason.index()]);
        add(Some(counter), Some(cost.0.unsigned_abs()));
    }

    /// The cache of answers was looked into.
    pub fn cache_asked(&self, result: CacheResult) {
        self.money.cache_requests.at(&[result.index()]).increment(1);
    }

    /// So much of a spend cap is used or reserved, 1 for all of it.
    pub fn spend_cap_used(&self, judge: &JudgeId, window: SpendWindow, ratio: f64) {
        let family = &self.money.spend_cap_used;
        if let Some(gauge) = family.named(judge.as_str(), &[window.index()]) {
            gauge.set(ratio);
        }
    }

    /// A judge was asked about an answer that its own model wrote.
    pub fn generator_judged(&self, judge: &JudgeId, role: JudgeRole) {
        let family = &self.money.generator_judged;
        count(family.named(judge.as_str(), &[role.index()]));
    }
}
