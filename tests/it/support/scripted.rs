//! A judge that follows a script and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use judge_cascade::domain::Vocabulary as _;
use judge_cascade::domain::dimension::{Dimension, DimensionSet, Polarity};
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::judgment::{JudgmentDelivery, JudgmentSource};
use judge_cascade::judge::reply::{Reply, ReplyKind};
use judge_cascade::judge::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo, JudgeType};
use judge_cascade::telemetry::metrics::Metrics;
use tokio::time::Instant;

/// What the judge does when it is asked.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// It sends these names and numbers; `chunk:ID` names a chunk.
    Numbers(Vec<(String, f64)>),
    /// It fails.
    Fail(FailureReason),
    /// It never answers.
    Hang,
    /// Its code is broken.
    Panic,
}

/// A judge that takes one step after the other and repeats the last.
pub(crate) struct ScriptedJudge {
    info: JudgeInfo,
    steps: Mutex<VecDeque<Step>>,
    delay: Duration,
    metrics: Option<Arc<Metrics>>,
    asked: Mutex<Vec<Vec<String>>>,
    traceparents: Mutex<Vec<Option<String>>>,
    begun: AtomicUsize,
    cancelled: Arc<AtomicUsize>,
}

impl ScriptedJudge {
    pub(crate) fn new(id: &str, steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            info: JudgeInfo {
                judge_id: id.into(),
                judge_type: JudgeType::Replay,
                requested_model: None,
                dimensions: DimensionSet::ALL,
                source: Some(JudgmentSource::Native),
                max_state_tokens: None,
                is_local: false,
            },
            steps: Mutex::new(steps.into_iter().collect()),
            delay: Duration::ZERO,
            metrics: None,
            asked: Mutex::new(Vec::new()),
            traceparents: Mutex::new(Vec::new()),
            begun: AtomicUsize::new(0),
            cancelled: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// It asks for a model.
    pub(crate) fn asking_for(mut self, model: &str) -> Self {
        self.info.requested_model = Some(model.to_owned());
        self
    }

    /// It waits so long before each step.
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub(super) fn with(mut self, metrics: &Arc<Metrics>) -> Self {
        self.metrics = Some(Arc::clone(metrics));
        self
    }

    /// The names of the questions of every call.
    pub(crate) fn asked(&self) -> Vec<Vec<String>> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn traceparents(&self) -> Vec<Option<String>> {
        self.traceparents.lock().unwrap().clone()
    }

    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    /// Calls that were dropped before they ended.
    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::SeqCst)
    }

    fn step(&self) -> Step {
        let mut steps = self.steps.lock().unwrap();
        if steps.len() > 1 {
            steps.pop_front().unwrap()
        } else {
            steps.front().unwrap().clone()
        }
    }
}

/// Numbers at the good end for every question about [`super::trace`], with changes.
pub(crate) fn good_but(changes: &[(&str, f64)]) -> Step {
    let mut numbers = vec![("chunk:c1".to_owned(), 0.97), ("chunk:c2".to_owned(), 0.02)];
    for &dimension in Dimension::ALL
        .iter()
        .filter(|&&d| d != Dimension::ChunkRelevance)
    {
        let good = if dimension.polarity() == Polarity::GoodWhenTrue {
            0.95
        } else {
            0.05
        };
        numbers.push((dimension.name().to_owned(), good));
    }
    for &(name, number) in changes {
        match numbers.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = number,
            None => numbers.push((name.to_owned(), number)),
        }
    }
    Step::Numbers(numbers)
}

/// The same without one of the names.
pub(crate) fn good_without(name: &str) -> Step {
    let Step::Numbers(numbers) = good_but(&[]) else {
        unreachable!()
    };
    Step::Numbers(
        numbers
            .into_iter()
            .filter(|(known, _)| known != name)
            .collect(),
    )
}

struct CancelGuard {
    armed: bool,
    cancelled: Arc<AtomicUsize>,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if self.armed {
            self.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[async_trait]
impl Judge for ScriptedJudge {
    fn info(&self) -> &JudgeInfo {
        &self.info
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        let chunks = &ask.trace.chunks;
        let names = ask
            .questions
            .asked()
            .map(|question| match question.chunk_ordinal() {
                Some(ordinal) => format!("chunk:{}", chunks[ordinal].chunk_id),
                None => question.dimension().name().to_owned(),
            });
        self.asked.lock().unwrap().push(names.collect());
        self.traceparents
            .lock()
            .unwrap()
            .push(context.traceparent.clone());
        self.begun.fetch_add(1, Ordering::SeqCst);
        let step = self.step();
        let mut guard = CancelGuard {
            armed: true,
            cancelled: Arc::clone(&self.cancelled),
        };
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        if matches!(step, Step::Hang) {
            std::future::pending::<()>().await;
        }
        guard.armed = false;
        match step {
            Step::Numbers(numbers) => {
                let kind = ReplyKind {
                    role: context.role,
                    source: JudgmentSource::Native,
                    delivery: JudgmentDelivery::Live,
                };
                let metrics = self.metrics.as_ref().unwrap();
                let mut reply = Reply::new(ask, &self.info, metrics, kind);
                for (name, number) in &numbers {
                    match name.strip_prefix("chunk:") {
                        Some(id) => reply.chunk(id, *number)?,
                        None => reply.dimension(name, *number)?,
                    }
                }
                let answers = reply.finish();
                Ok(Answer {
                    answers,
                    statements: Vec::new(),
                    verdict: None,
                    calls: Vec::new(),
                })
            }
            Step::Fail(reason) => Err(JudgeError::new(&self.info.judge_id, reason, "as scripted")),
            Step::Hang => unreachable!(),
            Step::Panic => panic!("as scripted"),
        }
    }

    async fn models(&self, _deadline: Instant) -> Result<Option<Vec<String>>, JudgeError> {
        Ok(None)
    }

    async fn probe(&self, _deadline: Instant) -> Result<(), JudgeError> {
        Ok(())
    }
}
