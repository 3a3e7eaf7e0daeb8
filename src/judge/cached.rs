//! A cache of answers in front of a judge: the same question about the same texts is asked once.
//!
//! Answers are kept and never diagnoses, and only whole ones: every question judged over uncut text. A failure is never
//! kept; it reaches those who waited for it, unless it came of the time of the one that they waited for, whose end is
//! never theirs.

mod flight;
mod key;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use moka::future::Cache;
use tokio::time::Instant;

use self::flight::{Flights, Turn};
use self::key::{Key, key};
use super::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Judged, Judgment, JudgmentDelivery, StatementJudgment};
use crate::domain::outcome::{JudgeCall, Usage};
use crate::domain::question::QuestionSet;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::money::CacheResult;

/// The longest time for which the store itself keeps anything; it takes no longer ones.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// How much is kept and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOptions {
    /// How long an answer is good for.
    pub ttl: Duration,
    /// The most bytes of all answers together, estimated.
    pub max_bytes: u64,
}

/// The answers of all judges of one process.
pub struct AnswerCache {
    entries: Cache<Key, Arc<Entry>>,
    flights: Flights<Landing>,
    ttl: Duration,
    metrics: Arc<Metrics>,
}

/// A judge whose answers are kept.
pub struct Cached {
    inner: Arc<dyn Judge>,
    cache: Arc<AnswerCache>,
    max_statements: Option<usize>,
}

struct Entry {
    answer: Answer,
    since: Instant,
    bytes: u32,
}

/// What came of a question on its way.
type Landing = Arc<Result<Answer, JudgeError>>;

impl AnswerCache {
    /// An empty cache.
    pub fn new(options: CacheOptions, metrics: Arc<Metrics>) -> Arc<Self> {
        let entries = Cache::builder()
            .max_capacity(options.max_bytes)
            .weigher(|_: &Key, entry: &Arc<Entry>| entry.bytes)
            .time_to_live(options.ttl.min(LONGEST))
            .build();
        Arc::new(Self {
            entries,
            flights: Flights::default(),
            ttl: options.ttl,
            metrics,
        })
    }

    async fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        let entry = self.entries.get(key).await?;
        (entry.since.elapsed() < self.ttl).then_some(entry)
    }

    /// Keeps an answer, if it is whole.
    async fn keep(&self, key: Key, answer: &Answer, asked: &QuestionSet, by_statements: bool) {
        if is_whole(answer, asked, by_statements) {
            let entry = Entry {
                answer: answer.clone(),
                since: Instant::now(),
                bytes: bytes_of(answer),
            };
            self.entries.insert(key, Arc::new(entry)).await;
        }
    }
}

impl Cached {
    /// The judge with its answers kept in `cache`.
    pub fn new(inner: Arc<dyn Judge>, cache: Arc<AnswerCache>) -> Self {
        Self {
            inner,
            cache,
            max_statements: None,
        }
    }

    /// The same of a judge that is asked about so many statements one by one.
    pub const fn by_statements(mut self, max_statements: Option<usize>) -> Self {
        self.max_statements = max_statements;
        self
    }

    async fn ask_and_keep(
        &self,
        key: Key,
        ask: &Ask<'_>,
        context: &CallContext,
    ) -> Result<Answer, JudgeError> {
        let result = self.inner.judge(ask, context).await;
        if let Ok(answer) = &result {
            let by_statements = self.max_statements.is_some();
            let keep = self.cache.keep(key, answer, ask.questions, by_statements);
            keep.await;
        }
        result
    }

    /// What was answered to somebody, as an answer to this caller.
    fn served(&self, answer: &Answer, context: &CallContext, start: Instant) -> Answer {
        let own = |judgment: &Judgment| match judgment {
            Judgment::Judged(judged) => Judgment::Judged(Judged {
                role: context.role,
                delivery: JudgmentDelivery::Cache,
                ..judged.clone()
            }),
            Judgment::NotApplicable(_) | Judgment::Failed(_) => judgment.clone(),
        };
        let call = JudgeCall {
            returned_model: answer
                .calls
                .iter()
                .rev()
                .find_map(|c| c.returned_model.clone()),
            usage: usage_of(&answer.calls),
            ..self.call(context, start)
        };
        Answer {
            answers: answer.answers.map(|_, judgment| judgment.as_ref().map(own)),
            statements: answer
                .statements
                .iter()
                .map(|statement| StatementJudgment {
                    groundedness: own(&statement.groundedness),
                    ..statement.clone()
                })
                .collect(),
            verdict: answer.verdict,
            calls: vec![call],
        }
    }

    /// The failure of another caller's call, as that of this caller; it was not sent again and is not paid again.
    fn failed(&self, error: &JudgeError, context: &CallContext, start: Instant) -> JudgeError {
        let call = JudgeCall {
            failure: Some(error.reason),
            failure_detail: error.detail.clone(),
            ..self.call(context, start)
        };
        JudgeError {
            calls: vec![call],
            ..error.clone()
        }
    }

    fn call(&self, context: &CallContext, start: Instant) -> JudgeCall {
        JudgeCall {
            delivery: JudgmentDelivery::Cache,
            latency: start.elapsed(),
            ..self.inner.info().call(context.role)
        }
    }
}

#[async_trait]
impl Judge for Cached {
    fn info(&self) -> &JudgeInfo {
        self.inner.info()
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        let start = Instant::now();
        let key = key(ask, self.inner.info(), self.max_statements);
        let metrics = &self.cache.metrics;
        if context.skip_cache {
            metrics.cache_asked(CacheResult::Bypass);
            return self.ask_and_keep(key, ask, context).await;
        }
        loop {
            let turn = self.cache.flights.turn(key);
            // Whoever led before has kept the answer before it landed.
            if let Some(entry) = self.cache.get(&key).await {
                metrics.cache_asked(CacheResult::Hit);
                return Ok(self.served(&entry.answer, context, start));
            }
            match turn {
                Turn::Lead(leader) => {
                    metrics.cache_asked(CacheResult::Miss);
                    let result = Arc::new(self.ask_and_keep(key, ask, context).await);
                    if !is_late(&result) {
                        leader.land(&result);
                    }
                    return Arc::unwrap_or_clone(result);
                }
                Turn::Follow(follower) => {
                    // A leader that went away leaves its place to one of those that waited.
                    if let Some(landing) = follower.landing().await {
                        metrics.cache_asked(CacheResult::Shared);
                        return match &*landing {
                            Ok(answer) => Ok(self.served(answer, context, start)),
                            Err(error) => Err(self.failed(error, context, start)),
                        };
                    }
                }
            }
        }
    }

    async fn models(&self, deadline: Instant) -> Result<Option<Vec<String>>, JudgeError> {
        self.inner.models(deadline).await
    }

    async fn probe(&self, deadline: Instant) -> Result<(), JudgeError> {
        self.inner.probe(deadline).await
    }
}

/// Whether every question that was asked is judged over uncut text. Where it is asked `by_statements`, those that are
/// undecidable are so for ever and were not asked.
fn is_whole(answer: &Answer, asked: &QuestionSet, by_statements: bool) -> bool {
    let is_judged = |judgment: &Judgment| {
        let judged = judgment.judged();
        judged.is_some_and(|judged| judged.seen_fraction.is_whole())
    };
    let mut judgments = asked.asked().map(|question| &answer.answers[question]);
    let mut statements = answer.statements.iter();
    answer.verdict.is_none()
        && judgments.all(|judgment| judgment.as_ref().is_some_and(is_judged))
        && statements.all(|statement| {
            let groundedness = &statement.groundedness;
            is_judged(groundedness) || (by_statements && groundedness.is_undecidable())
        })
}

/// Whether time ran out for any of it.
fn is_late(result: &Result<Answer, JudgeError>) -> bool {
    match result {
        Err(error) => error.reason == FailureReason::Timeout,
        Ok(answer) => answer.answers.iter().any(|(_, judgment)| {
            matches!(judgment, Some(Judgment::Failed(failure)) if failure.reason == FailureReason::Timeout)
        }),
    }
}

/// The tokens of all calls together; a whole that one of them does not know is unknown.
fn usage_of(calls: &[JudgeCall]) -> Option<Usage> {
    let whole = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let part = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    let mut usages = calls.iter().map(|call| call.usage);
    let first = usages.next()??;
    usages.try_fold(first, |sum, usage| {
        let usage = usage?;
        Some(Usage {
            input_token_count: whole(sum.input_token_count, usage.input_token_count),
            cached_input_token_count: part(
                sum.cached_input_token_count,
                usage.cached_input_token_count,
            ),
            cache_write_input_token_count: part(
                sum.cache_write_input_token_count,
                usage.cache_write_input_token_count,
            ),
            output_token_count: whole(sum.output_token_count, usage.output_token_count),
            reasoning_token_count: part(sum.reasoning_token_count, usage.reasoning_token_count),
        })
    })
}

/// What an answer takes in memory, with its key and its place in the store.
fn bytes_of(answer: &Answer) -> u32 {
    const OVERHEAD: usize = 512;
    let judgments = answer.answers.iter().map(|(_, judgment)| judgment.as_ref());
    let statements = answer.statements.iter();
    let judgments = judgments.chain(statements.clone().map(|s| Some(&s.groundedness)));
    let judgments: usize = judgments.map(judgment_bytes).sum();
    let texts: usize = statements.map(|s| size_of_val(s) + s.text.len()).sum();
    let models = answer.calls.iter().flat_map(|call| &call.returned_model);
    let calls =
        size_of::<JudgeCall>() * answer.calls.len() + models.map(String::len).sum::<usize>();
    u32::try_from(OVERHEAD + judgments + texts + calls).unwrap_or(u32::MAX)
}

fn judgment_bytes(judgment: Option<&Judgment>) -> usize {
    let evidence = judgment
        .and_then(Judgment::judged)
        .and_then(|judged| judged.evidence.as_ref());
    let evidence = evidence.map_or(0, |evidence| {
        let terms = evidence.missing_terms.iter();
        size_of_val(&**evidence)
            + terms
                .map(|term| size_of_val(term) + term.len())
                .sum::<usize>()
    });
    size_of::<Option<Judgment>>() + evidence
}

#[cfg(test)]
mod tests;
