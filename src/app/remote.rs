//! Judges over HTTP: the adapter of each type over its own way out, within its caps, behind the cache.

use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};

use super::Variable;
use crate::artifact::pricing::PricingSnapshot;
use crate::cascade::spend::{Capped, Ledger, SpendOptions};
use crate::config::Config;
use crate::config::judges::JudgeConfig;
use crate::domain::trace::JudgeId;
use crate::judge::Judge;
use crate::judge::anthropic::AnthropicJudge;
use crate::judge::cached::{AnswerCache, Cached};
use crate::judge::chat::ChatJudge;
use crate::judge::egress::{Egress, EgressError, EgressErrors};
use crate::judge::openai_decisions::OpenAiDecisionsJudge;
use crate::judge::openai_logprobs::OpenAiLogprobsJudge;
use crate::judge::remote::{RemoteOptions, Wire};
use crate::judge::systemone::SystemOneJudge;
use crate::telemetry::metrics::Metrics;

/// What all judges over HTTP share.
pub(super) struct Remote<'a> {
    fleet_size: u32,
    variable: Variable<'a>,
    pricing: Option<Arc<PricingSnapshot>>,
    /// Only if there is a cap.
    pub(super) ledger: Option<Arc<Ledger>>,
    /// Only if answers are kept.
    cache: Option<Arc<AnswerCache>>,
    metrics: Arc<Metrics>,
}

impl<'a> Remote<'a> {
    /// What the configuration asks for; the state file of the ledger is read.
    pub(super) fn new(
        config: &Config,
        variable: Variable<'a>,
        pricing: Option<Arc<PricingSnapshot>>,
        metrics: &Arc<Metrics>,
    ) -> anyhow::Result<Self> {
        let is_capped = config.judges.values().any(|judge| match judge {
            JudgeConfig::Remote { spend, .. } => !spend.is_unlimited(),
            JudgeConfig::Embedded { .. } | JudgeConfig::Onnx(_) | JudgeConfig::Replay { .. } => {
                false
            }
        });
        #[expect(clippy::disallowed_methods, reason = "caps go by days of UTC")]
        let clock = Arc::new(SystemTime::now);
        let ledger = is_capped
            .then(|| Ledger::new(config.spend.clone(), clock))
            .transpose()?;
        let cache = &config.cache;
        let cache = cache
            .enabled
            .then(|| AnswerCache::new(cache.options, Arc::clone(metrics)));
        Ok(Self {
            fleet_size: config.spend.fleet_size,
            variable,
            pricing,
            ledger,
            cache,
            metrics: Arc::clone(metrics),
        })
    }

    /// A judge over HTTP; nothing is sent yet.
    pub(super) fn judge(
        &self,
        judge_id: &JudgeId,
        options: &RemoteOptions,
        spend: &SpendOptions,
    ) -> anyhow::Result<Arc<dyn Judge>> {
        let mut judge = self.adapter(judge_id, options)?;
        if !spend.is_unlimited() {
            let ledger = self.ledger.as_ref().context("there is no ledger")?;
            judge = Arc::new(Capped::remote(
                judge,
                options,
                *spend,
                self.pricing.clone(),
                Arc::clone(ledger),
                Arc::clone(&self.metrics),
            )?);
        }
        Ok(match &self.cache {
            Some(cache) if options.cache => {
                let cached = Cached::new(judge, Arc::clone(cache));
                Arc::new(cached.by_statements(options.view.max_statements))
            }
            Some(_) | None => judge,
        })
    }

    fn adapter(
        &self,
        judge_id: &JudgeId,
        options: &RemoteOptions,
    ) -> anyhow::Result<Arc<dyn Judge>> {
        let options = shared(options, self.fleet_size);
        let egress = Egress::connect(
            judge_id.clone(),
            Some(options.model.model.clone()),
            options.endpoint.clone(),
            self.variable,
            Arc::clone(&self.metrics),
        )
        .map_err(|EgressErrors(errors)| {
            let line = |error: &EgressError| format!("judges.{judge_id}.{error}");
            let lines: Vec<_> = errors.iter().map(line).collect();
            anyhow!("{}", lines.join("\n"))
        })?;
        let (id, metrics) = (judge_id.clone(), Arc::clone(&self.metrics));
        Ok(match options.wire {
            Wire::SystemOne => Arc::new(SystemOneJudge::new(id, options, egress, metrics)),
            Wire::OpenAiDecisions => {
                Arc::new(OpenAiDecisionsJudge::new(id, options, egress, metrics))
            }
            Wire::OpenAiLogprobs { .. } => {
                Arc::new(OpenAiLogprobsJudge::new(id, options, egress, metrics))
            }
            Wire::Chat { .. } => Arc::new(ChatJudge::new(id, options, egress, metrics)),
            Wire::Anthropic { .. } => Arc::new(AnthropicJudge::new(id, options, egress, metrics)),
        })
    }
}

/// The options with the part of each rate that one process of a fleet may take, at least 1.
fn shared(options: &RemoteOptions, fleet_size: u32) -> RemoteOptions {
    let mut options = options.clone();
    let part = |whole: u32| (whole / fleet_size.max(1)).max(1);
    let rate = &mut options.endpoint.rate;
    rate.requests_per_minute = rate.requests_per_minute.map(part);
    rate.tokens_per_minute = rate.tokens_per_minute.map(part);
    options
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{self, Overrides};

    #[test]
    fn everything_that_a_judge_lacks_is_told_at_once() {
        let text = "[judges.j]\ntype = 'chat'\nbase_url = 'https://j.example'\nmodel = 'm'\n\
                    api_key_env = 'A'\nroots = '/nowhere/roots.pem'\nheaders = { x-b = { env = 'B' } }";
        let text = Some(("c.toml", text));
        let config = config::load(text, &BTreeMap::new(), Overrides::default()).unwrap();
        let read = |_: &std::path::Path| Ok(String::new());
        let built = crate::app::build(&config, crate::app::Files::Texts(&read), &|_| None);
        let told = built.err().unwrap().to_string();
        assert_eq!(
            told.lines().collect::<Vec<_>>(),
            [
                "judges.j.headers.x-b: the variable `B` is not set",
                "judges.j.api_key_env: the variable `A` is not set",
                "judges.j.roots: `/nowhere/roots.pem` cannot be read: No such file or directory (os error 2)",
            ]
        );
    }

    #[test]
    fn a_fleet_shares_the_rates_and_leaves_each_at_least_one() {
        let text = "[judges.j]\ntype = 'chat'\nbase_url = 'https://j.example'\nmodel = 'm'\n\
                    rate = { requests_per_minute = 10, tokens_per_minute = 2 }";
        let config = config::load(
            Some(("c.toml", text)),
            &BTreeMap::new(),
            Overrides::default(),
        );
        let config = config.unwrap();
        let JudgeConfig::Remote { options, .. } = &config.judges[&JudgeId::from("j")] else {
            panic!("not over HTTP");
        };
        let rate = shared(options, 3).endpoint.rate;
        assert_eq!(
            (rate.requests_per_minute, rate.tokens_per_minute),
            (Some(3), Some(1))
        );
        assert_eq!(shared(options, 1), **options);
    }
}
