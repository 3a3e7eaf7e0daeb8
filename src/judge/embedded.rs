//! The embedded judge: words, numbers and their order, without a model and without a network.
//!
//! Groundedness is measured, by a model that `judges fit` fits; everything else is a rule of thumb that is kept between the
//! two ends of [`EmbeddedOptions::clamp`], but for a chunk that shares no content word with the question. The word lists are English:
//! a question about texts in another language fails as such, except that a quotation of whole sentences needs no list.
//! All text is read, whatever its length. The same input gives the same bits.

mod antonyms;
mod common_words;
pub mod features;
mod answer_type;
mod conflict;
mod containment;
mod generation;
mod groundedness;
mod index;
mod lexicon;
mod matching;
pub mod model;
mod quotation;
mod retrieval;
mod structure;
mod voice;
mod work;

use std::num::NonZero;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::time::Instant;

pub use self::containment::containment;
use self::features::Features;
use self::work::{Findings, Work};
use super::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo, JudgeType};
use crate::domain::dimension::DimensionSet;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::JudgmentSource;
use crate::domain::outcome::JudgeCall;
use crate::domain::probability::Probability;
use crate::domain::trace::{JudgeId, Trace};

/// The name of the model, which is its version.
pub const MODEL: &str = "lexical-v1";

/// Up to so many bytes of text a trace is judged at once; longer ones go to a thread of their own.
const INLINE_BYTES: usize = 8 * 1024;

/// How the embedded judge is set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmbeddedOptions {
    /// The range of rules of thumb.
    pub clamp: Clamp,
    /// Whether a statement that abstains is taken as such; otherwise it is judged like any other.
    pub detect_abstention: bool,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            clamp: Clamp::default(),
            detect_abstention: true,
        }
    }
}

/// The features of the decidable statements of an answer, for fitting a model.
pub fn features(trace: &Trace) -> Vec<Features> {
    work::features(trace)
}

/// A probability that is only guessed at is kept within these bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clamp {
    low: Probability,
    high: Probability,
}

impl Clamp {
    /// A pair with `low < high`; `None` otherwise.
    pub fn new(low: Probability, high: Probability) -> Option<Self> {
        (low < high).then_some(Self { low, high })
    }

    /// The least.
    pub const fn low(self) -> Probability {
        self.low
    }

    /// The greatest.
    pub const fn high(self) -> Probability {
        self.high
    }
}

impl Default for Clamp {
    /// A quarter and three quarters: inside the band of every threshold pair of `lexical-default` for what is guessed.
    fn default() -> Self {
        let low = Probability::try_from(0.25).unwrap_or(Probability::ZERO);
        let high = low.complement();
        Self { low, high }
    }
}

/// Judges by words.
pub struct EmbeddedJudge {
    info: JudgeInfo,
    options: EmbeddedOptions,
    /// Threads for long traces, so that they take no more than the processors there are.
    threads: Arc<Semaphore>,
}

impl EmbeddedJudge {
    /// A judge under a name.
    pub fn new(judge_id: JudgeId, options: EmbeddedOptions) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            info: JudgeInfo {
                judge_id,
                judge_type: JudgeType::Embedded,
                requested_model: Some(MODEL.to_owned()),
                dimensions: DimensionSet::ALL,
                source: Some(JudgmentSource::Embedded),
                max_state_tokens: None,
                is_local: true,
            },
            options,
            threads: Arc::new(Semaphore::new(threads)),
        }
    }

    /// Judges on a thread for blocking work. The permit lives as long as the work, also if nobody waits for it any more.
    async fn run_apart(&self, work: Work) -> Result<Findings, JudgeError> {
        let unavailable = |detail| {
            let judge_id = &self.info.judge_id;
            JudgeError::new(judge_id, FailureReason::Unavailable, detail)
        };
        let permit = Arc::clone(&self.threads)
            .acquire_owned()
            .await
            .map_err(|_| unavailable("no thread is given out any more"))?;
        let task = tokio::task::spawn_blocking(move || {
            let findings = work.run();
            drop(permit);
            findings
        });
        task.await
            .map_err(|_| unavailable("the judge stopped before it was done"))
    }
}

#[async_trait]
impl Judge for EmbeddedJudge {
    fn info(&self) -> &JudgeInfo {
        &self.info
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        let start = Instant::now();
        let work = Work {
            trace: Arc::clone(ask.trace),
            questions: ask.questions.clone(),
            history_is_evidence: ask.history_is_evidence,
            judge_id: self.info.judge_id.clone(),
            role: context.role,
            options: self.options,
        };
        let (answers, statements) = if Work::size(ask.trace) <= INLINE_BYTES {
            work.run()
        } else {
            self.run_apart(work).await?
        };
        let call = JudgeCall {
            returned_model: Some(MODEL.to_owned()),
            attempt_count: 1,
            latency: start.elapsed(),
            ..self.info.call(context.role)
        };
        Ok(Answer {
            answers,
            statements,
            verdict: None,
            calls: vec![call],
        })
    }

    async fn models(&self, _deadline: Instant) -> Result<Option<Vec<String>>, JudgeError> {
        Ok(None)
    }

    async fn probe(&self, _deadline: Instant) -> Result<(), JudgeError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
