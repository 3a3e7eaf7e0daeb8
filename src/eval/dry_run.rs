//! What an evaluation would ask, send and cost, without a call.
//!
//! Tokens are estimated, money is bounded, and what is not known is unknown, never zero. The calls of the fallback judge
//! after the atomic one cannot be known before, so they lie between none and one for each row.

use std::sync::Arc;
use std::time::Duration;

use crate::cascade::plan::{Plan, Scope, plan};
use crate::cascade::time::TimeOptions;
use crate::dataset::load::{self, DatasetError};
use crate::domain::failure::FailureReason;
use crate::domain::outcome::{DecisionVariant, JudgeRole, NanoUsd, Usage};
use crate::domain::trace::{Trace, TraceLimits};
use crate::judge::decision::Decision;
use crate::judge::remote::{Layout, RemoteOptions, Wire};
use crate::judge::view::View;
use crate::judge::{Ask, JudgeInfo, JudgeType};
use crate::policy::Policy;
use crate::pricing::PriceTable;
use crate::report::model::Mode;

/// Rows over a limit that are named.
const NAMED_ROWS: usize = 10;

/// A judge in one of its parts of an evaluation, and what it would be asked.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it is, with the dimensions that it is asked.
    pub info: JudgeInfo,
    /// What of it is asked over HTTP; `None` for a judge inside the program and for recorded answers.
    pub remote: Option<RemoteOptions>,
    /// The part.
    pub use_: Use,
    /// Rows that it would be asked about.
    pub row_count: u64,
    /// Requests for these, at least and at most; a judge in words may have to be asked to repair what it said.
    pub call_count: (u64, u64),
    /// Estimated input tokens of the least requests.
    pub input_token_count: u64,
    /// Rows that it would not be shown whole, or not be asked everything about, because they are too long for it.
    pub cut_count: u64,
}

/// When a judge is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// First.
    Atomic,
    /// After the atomic judge, where that is uncertain or fails.
    Fallback,
    /// Alone.
    Baseline,
}

impl Use {
    /// The parts of an evaluation in these modes.
    pub fn of(modes: &[Mode]) -> Vec<Self> {
        let is_asked = |part: &Self| match part {
            Self::Atomic => modes.iter().any(|mode| *mode != Mode::BaselineOnly),
            Self::Fallback => modes.contains(&Mode::Cascade),
            Self::Baseline => modes.contains(&Mode::BaselineOnly),
        };
        let parts = [Self::Atomic, Self::Fallback, Self::Baseline];
        parts.into_iter().filter(is_asked).collect()
    }

    /// The role.
    pub const fn role(self) -> JudgeRole {
        match self {
            Self::Atomic => JudgeRole::Atomic,
            Self::Fallback | Self::Baseline => JudgeRole::Fallback,
        }
    }

    /// In words.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Fallback => "fallback, where it is needed",
            Self::Baseline => "fallback judge alone",
        }
    }
}

/// Everything that would be asked.
#[derive(Debug, Clone, Default)]
pub struct DryRun {
    /// The judges by their parts.
    pub parts: Vec<Part>,
    /// Rows.
    pub row_count: u64,
    /// Rows over a limit of a trace; they end as failed.
    pub over_limit_count: u64,
    /// The first of them, each with its place and what is wrong.
    pub over_limit: Vec<String>,
    /// Rows that cannot be judged.
    pub not_assessable_count: u64,
    /// Rows that need no judge.
    pub unasked_count: u64,
}

/// What the rows are planned by.
pub struct Plans<'a> {
    /// The policy of the profile.
    pub policy: &'a Policy,
    /// What a trace may hold at most.
    pub limits: TraceLimits,
}

impl Part {
    /// A judge that was not asked yet.
    pub fn new(info: JudgeInfo, remote: Option<RemoteOptions>, use_: Use) -> Self {
        Self {
            info,
            remote,
            use_,
            row_count: 0,
            call_count: (0, 0),
            input_token_count: 0,
            cut_count: 0,
        }
    }

    fn add(&mut self, ask: &Ask<'_>) {
        let questions = ask.questions.restricted_to(self.info.dimensions);
        if questions.is_empty() {
            return;
        }
        self.row_count += 1;
        let Some(remote) = &self.remote else {
            self.call_count = (self.call_count.0 + 1, self.call_count.1 + 1);
            return;
        };
        let questions = &questions;
        let whole = View::of(&Ask { questions, ..*ask }, &remote.view);
        let is_too_long = |(_, reason): &(_, FailureReason)| *reason == FailureReason::TooLong;
        if whole.unasked.iter().any(is_too_long) || !whole.seen_context.is_whole() {
            self.cut_count += 1;
        }
        if whole.questions.is_empty() {
            return;
        }
        let (least, most, tokens) = match remote.wire {
            Wire::OpenAiLogprobs {
                layout: Layout::PerQuestion,
                ..
            } => {
                let asked: Vec<_> = whole.questions.asked().collect();
                let tokens = asked.iter().map(|question| {
                    let questions = &questions.map(|other, _| other == *question);
                    let view = View::of(&Ask { questions, ..*ask }, &remote.view);
                    view.request_token_count(ask.decision)
                });
                let count = asked.len() as u64;
                (count, count, tokens.sum())
            }
            Wire::Chat { .. } | Wire::Anthropic { .. } => {
                (1, 2, whole.request_token_count(ask.decision))
            }
            Wire::SystemOne
            | Wire::OpenAiDecisions
            | Wire::OpenAiLogprobs {
                layout: Layout::Packed,
                ..
            } => (1, 1, whole.request_token_count(ask.decision)),
        };
        self.call_count.0 += least;
        self.call_count.1 += most;
        self.input_token_count += tokens;
    }

    /// The calls, at least and at most.
    pub const fn calls(&self) -> (u64, u64) {
        match self.use_ {
            Use::Atomic | Use::Baseline => self.call_count,
            Use::Fallback => (0, self.call_count.1),
        }
    }

    /// The most output tokens, if something bounds them.
    pub fn max_output_token_count(&self) -> Option<u64> {
        let each = self.remote.as_ref()?.wire.max_output_tokens()?;
        Some(u64::from(each) * self.call_count.1)
    }

    /// Whether nothing is spent: the judge runs inside the program, or its answers are recorded.
    pub fn is_free(&self) -> bool {
        self.info.is_local || self.info.judge_type == JudgeType::Replay
    }

    /// The cost, at least and at most; each is `None` if it is unknown.
    pub fn cost(&self, prices: Option<&PriceTable>) -> (Option<NanoUsd>, Option<NanoUsd>) {
        if self.is_free() || self.call_count.1 == 0 {
            return (Some(NanoUsd::ZERO), Some(NanoUsd::ZERO));
        }
        let priced = prices.and_then(|prices| {
            let model = &self.remote.as_ref()?.model;
            let models = [Some(&model.model), model.expect_model.as_ref()];
            let mut models = models.into_iter().flatten();
            let model = models.find(|model| prices.models.contains_key(*model))?;
            Some((prices, model))
        });
        let Some((prices, model)) = priced else {
            return (None, None);
        };
        let input = Usage {
            input_token_count: Some(self.input_token_count),
            output_token_count: Some(0),
            ..Usage::default()
        };
        let least = match self.use_ {
            Use::Atomic | Use::Baseline => prices.cost(model, &input),
            Use::Fallback => Some(NanoUsd::ZERO),
        };
        let most = self.max_output_token_count().and_then(|output| {
            // The estimate errs, and a repair is sent again what was said.
            let tokens = self.input_token_count;
            prices.upper_bound(model, tokens + tokens / 4 + output, output)
        });
        (least, most)
    }

    /// The time that the configured rates alone take.
    pub fn least_time(&self) -> Duration {
        let Some(remote) = &self.remote else {
            return Duration::ZERO;
        };
        let rate = remote.endpoint.rate;
        let (calls, tokens) = match self.use_ {
            Use::Atomic | Use::Baseline => (self.call_count.0, self.input_token_count),
            Use::Fallback => (0, 0),
        };
        let minutes = |count: u64, per_minute: Option<u32>| {
            per_minute.map_or(0.0, |rate| count as f64 / f64::from(rate.max(1)))
        };
        let minutes =
            minutes(calls, rate.requests_per_minute).max(minutes(tokens, rate.tokens_per_minute));
        Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX)
    }
}

impl DryRun {
    /// Plans every row of a dataset.
    pub fn of(
        rows: impl Iterator<Item = Result<load::Row, DatasetError>>,
        parts: Vec<Part>,
        plans: &Plans<'_>,
    ) -> Result<Self, DatasetError> {
        let mut run = Self {
            parts,
            ..Self::default()
        };
        for row in rows {
            run.add(row?, plans);
        }
        Ok(run)
    }

    fn add(&mut self, row: load::Row, plans: &Plans<'_>) {
        self.row_count += 1;
        let trace = match row.record.trace(&plans.limits) {
            Ok(trace) => Arc::new(trace),
            Err(error) => {
                self.over_limit_count += 1;
                if self.over_limit.len() < NAMED_ROWS {
                    self.over_limit.push(format!("{}: {error}", row.place));
                }
                return;
            }
        };
        let questions = match plan(&trace, plans.policy, Scope::Full) {
            Plan::NotAssessable(_) => {
                self.not_assessable_count += 1;
                return;
            }
            Plan::Judge { questions, .. } => questions,
        };
        if questions.is_empty() {
            self.unasked_count += 1;
            return;
        }
        let ask = Ask {
            trace: &trace,
            questions: &questions,
            decision: decision(&trace),
            history_is_evidence: plans.policy.history_is_evidence,
        };
        for part in &mut self.parts {
            part.add(&ask);
        }
    }

    /// Rows about which a judge is asked.
    pub const fn asked_count(&self) -> u64 {
        self.row_count - self.over_limit_count - self.not_assessable_count - self.unasked_count
    }

    /// The longest that it can take by the deadlines, if so many rows are asked about at once.
    pub fn most_time(&self, time: &TimeOptions, modes: &[Mode], concurrency: usize) -> Duration {
        let diagnosis = if modes.contains(&Mode::Cascade) {
            time.deadline
        } else if modes.contains(&Mode::AtomicOnly) {
            time.longest(JudgeRole::Atomic)
        } else {
            Duration::ZERO
        };
        let baseline = match modes.contains(&Mode::BaselineOnly) {
            true => time.deadline,
            false => Duration::ZERO,
        };
        let rounds = self.asked_count().div_ceil(concurrency.max(1) as u64);
        (diagnosis + baseline).saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX))
    }

    /// The time that the configured rates alone take.
    pub fn least_time(&self) -> Duration {
        let times = self.parts.iter().map(Part::least_time);
        times.max().unwrap_or(Duration::ZERO)
    }
}

fn decision(trace: &Trace) -> &'static Decision {
    Decision::of(match trace.reference_answer {
        Some(_) => DecisionVariant::WithReference,
        None => DecisionVariant::WithoutReference,
    })
}
