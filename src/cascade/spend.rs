//! Spend caps: what a judge may cost in a minute and in a day, in money and in calls.
//!
//! Every ask reserves the most calls that it can be and what they may cost before it is made, and what was made and did
//! cost takes the place of that afterwards, so that asks at the same time cannot pass a cap together. A repeated attempt
//! is a call more, and counts once its ask is over. An ask whose cost never becomes known, because it was cancelled,
//! timed out, broke off or came back without tokens, keeps its reservation: it may have been billed. At a cap the judge is
//! not asked and fails at once with `budget`.

mod account;
mod bill;
mod ledger;
mod store;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use self::bill::Bounds;
pub use self::ledger::{Clock, Ledger, LedgerOptions};
use crate::artifact::pricing::PricingSnapshot;
use crate::domain::failure::FailureReason;
use crate::domain::outcome::NanoUsd;
use crate::domain::trace::JudgeId;
use crate::judge::remote::RemoteOptions;
use crate::judge::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::money::SpendWindow;

/// The caps of one judge; `None` is no cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpendOptions {
    /// Money in any minute.
    pub usd_per_minute: Option<NanoUsd>,
    /// Money in a day of UTC.
    pub usd_per_day: Option<NanoUsd>,
    /// Calls in any minute, repeated ones too.
    pub calls_per_minute: Option<u64>,
    /// Calls in a day of UTC, repeated ones too.
    pub calls_per_day: Option<u64>,
}

/// Why a cap cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpendError {
    /// Without a price a cap in money would never be reached.
    #[error("judges.{judge_id}.spend: a cap in US dollars needs a price of model `{model}`")]
    Unpriced {
        /// The judge.
        judge_id: JudgeId,
        /// The model, and the one that is expected to answer if that is another.
        model: String,
    },
    /// The share of this process would be no call at all.
    #[error(
        "judges.{judge_id}.spend.{key}: nothing is left of it for each of {fleet_size} processes"
    )]
    NothingLeft {
        /// The judge.
        judge_id: JudgeId,
        /// The key of the cap.
        key: &'static str,
        /// By how many it is divided.
        fleet_size: u32,
    },
    /// Not even one ask could be made.
    #[error(
        "judges.{judge_id}.spend.{key}: one ask may be {call_count} calls, and each process has {cap}"
    )]
    NoAsk {
        /// The judge.
        judge_id: JudgeId,
        /// The key of the cap.
        key: &'static str,
        /// The most calls that the smallest ask can be.
        call_count: u64,
        /// The share of one process.
        cap: u64,
    },
    /// The state file cannot be used.
    #[error("spend.state_file: `{}` {message}", file.display())]
    State {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// A judge that is asked only within its caps.
pub struct Capped {
    inner: Arc<dyn Judge>,
    caps: SpendOptions,
    bounds: Bounds,
    pricing: Option<Arc<PricingSnapshot>>,
    ledger: Arc<Ledger>,
    metrics: Arc<Metrics>,
}

impl SpendOptions {
    /// Whether there is no cap at all.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    const fn has_money(&self) -> bool {
        self.usd_per_minute.is_some() || self.usd_per_day.is_some()
    }

    /// The share of one process out of `fleet_size`; the error is the key of a cap of which nothing would be left.
    fn divided(&self, fleet_size: u32) -> Result<Self, &'static str> {
        let money = |cap: Option<NanoUsd>, key| match cap {
            Some(NanoUsd(whole)) if 0 < whole && whole / i64::from(fleet_size) == 0 => Err(key),
            cap => Ok(cap.map(|whole| NanoUsd(whole.0 / i64::from(fleet_size)))),
        };
        let calls = |cap: Option<u64>, key| match cap {
            Some(whole) if 0 < whole && whole / u64::from(fleet_size) == 0 => Err(key),
            cap => Ok(cap.map(|whole| whole / u64::from(fleet_size))),
        };
        Ok(Self {
            usd_per_minute: money(self.usd_per_minute, "usd_per_minute")?,
            usd_per_day: money(self.usd_per_day, "usd_per_day")?,
            calls_per_minute: calls(self.calls_per_minute, "calls_per_minute")?,
            calls_per_day: calls(self.calls_per_day, "calls_per_day")?,
        })
    }
}

impl Capped {
    /// A judge within caps, priced as the model that it asks for.
    pub fn new(
        inner: Arc<dyn Judge>,
        options: SpendOptions,
        pricing: Option<Arc<PricingSnapshot>>,
        ledger: Arc<Ledger>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, SpendError> {
        let bounds = Bounds::of_any(inner.info());
        Self::within(inner, bounds, options, pricing, ledger, metrics)
    }

    /// The same over HTTP, where more is known: the model that must answer, the requests for an ask, the longest output.
    pub fn remote(
        inner: Arc<dyn Judge>,
        remote: &RemoteOptions,
        options: SpendOptions,
        pricing: Option<Arc<PricingSnapshot>>,
        ledger: Arc<Ledger>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, SpendError> {
        let bounds = Bounds::of_remote(inner.info(), remote);
        Self::within(inner, bounds, options, pricing, ledger, metrics)
    }

    fn within(
        inner: Arc<dyn Judge>,
        bounds: Bounds,
        options: SpendOptions,
        pricing: Option<Arc<PricingSnapshot>>,
        ledger: Arc<Ledger>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, SpendError> {
        let judge_id = &inner.info().judge_id;
        let table = pricing.as_ref().map(|pricing| &pricing.table);
        let is_priced = table.is_some_and(|table| bounds.priced_model(table).is_some());
        if options.has_money() && !inner.info().is_local && !is_priced {
            return Err(SpendError::Unpriced {
                judge_id: judge_id.clone(),
                model: bounds.model_names(),
            });
        }
        let fleet_size = ledger.fleet_size();
        let caps = options
            .divided(fleet_size)
            .map_err(|key| SpendError::NothingLeft {
                judge_id: judge_id.clone(),
                key,
                fleet_size,
            })?;
        let call_count = bounds.max_call_count(1);
        for (key, cap) in [
            ("calls_per_minute", caps.calls_per_minute),
            ("calls_per_day", caps.calls_per_day),
        ] {
            if let Some(cap) = cap.filter(|cap| (1..call_count).contains(cap)) {
                return Err(SpendError::NoAsk {
                    judge_id: judge_id.clone(),
                    key,
                    call_count,
                    cap,
                });
            }
        }
        let capped = Self {
            inner,
            caps,
            bounds,
            pricing,
            ledger,
            metrics,
        };
        capped.show();
        Ok(capped)
    }

    /// Shows how much of the caps is used.
    fn show(&self) {
        let judge_id = &self.inner.info().judge_id;
        let used = self.ledger.used(judge_id, &self.caps);
        for (window, ratio) in [SpendWindow::Minute, SpendWindow::Day]
            .into_iter()
            .zip(used)
        {
            if let Some(ratio) = ratio {
                self.metrics.spend_cap_used(judge_id, window, ratio);
            }
        }
    }
}

#[async_trait]
impl Judge for Capped {
    fn info(&self) -> &JudgeInfo {
        self.inner.info()
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        let judge_id = &self.inner.info().judge_id;
        let table = self.pricing.as_ref().map(|pricing| &pricing.table);
        let estimate = table.and_then(|table| self.bounds.estimate(ask, table));
        let call_count = ask.questions.asked().count() as u64;
        let call_count = self.bounds.max_call_count(call_count);
        let estimate = estimate.unwrap_or(NanoUsd::ZERO);
        let reserved = self
            .ledger
            .reserve(judge_id, &self.caps, call_count, estimate);
        self.show();
        let reservation = reserved.map_err(|key| {
            let detail = format!("spend.{key} is used up");
            JudgeError::unsent(judge_id, FailureReason::Budget, detail)
        })?;
        // A caller that goes away here leaves the reservation where it is.
        let result = self.inner.judge(ask, context).await;
        let bill = self.bounds.bill(&result, self.pricing.as_deref());
        self.ledger.settle(&reservation, bill);
        self.show();
        result
    }

    async fn models(&self, deadline: Instant) -> Result<Option<Vec<String>>, JudgeError> {
        self.inner.models(deadline).await
    }

    async fn probe(&self, deadline: Instant) -> Result<(), JudgeError> {
        self.inner.probe(deadline).await
    }
}
