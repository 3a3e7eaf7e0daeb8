//! The judge over a model: it waits for a thread, then works through the trace until the deadline.

use std::num::NonZero;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::batches::Forward;
use super::engine::Engine;
use super::verdicts::Voice;
use super::{embedding, pairs, token_labels};
use crate::artifact::model_folder::ModelKind;
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, JudgmentSource, StatementJudgment};
use crate::domain::outcome::{JudgeCall, JudgeRole};
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{JudgeId, Trace};
use crate::judge::embedded::Clamp;
use crate::judge::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo, JudgeType};

/// Judges by a model.
pub(super) struct OnnxJudge {
    info: JudgeInfo,
    engine: Arc<Engine>,
    clamp: Clamp,
    /// Threads for models, so that they take no more than the processors there are.
    threads: Arc<Semaphore>,
}

/// Everything that is needed to judge one trace.
pub(super) struct Job {
    pub(super) engine: Arc<Engine>,
    pub(super) trace: Arc<Trace>,
    pub(super) questions: QuestionSet,
    pub(super) history_is_evidence: bool,
    pub(super) judge_id: JudgeId,
    pub(super) role: JudgeRole,
    pub(super) clamp: Clamp,
    pub(super) deadline: Instant,
}

/// Judgments, and those of the statements.
pub(super) type Findings = (Answers, Vec<StatementJudgment>);

impl OnnxJudge {
    /// A judge under a name.
    pub(super) fn new(judge_id: JudgeId, engine: Engine, clamp: Clamp) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            info: JudgeInfo {
                judge_id,
                judge_type: JudgeType::Onnx,
                requested_model: Some(engine.contract.model()),
                dimensions: engine.contract.dimensions(),
                source: Some(JudgmentSource::Native),
                max_state_tokens: None,
                is_local: true,
            },
            engine: Arc::new(engine),
            clamp,
            threads: Arc::new(Semaphore::new(threads)),
        }
    }

    /// Works on a thread for blocking work. The permit lives as long as the work, also if nobody waits for it any more.
    async fn run_apart(&self, job: Job) -> Result<Findings, JudgeError> {
        let unavailable = |detail: String| {
            let judge_id = &self.info.judge_id;
            JudgeError::new(judge_id, FailureReason::Unavailable, detail)
        };
        let permit = Arc::clone(&self.threads)
            .acquire_owned()
            .await
            .map_err(|_| unavailable("no thread is given out any more".to_owned()))?;
        let task = tokio::task::spawn_blocking(move || {
            let findings = job.run();
            drop(permit);
            findings
        });
        task.await
            .map_err(|_| unavailable("the model stopped before it was done".to_owned()))?
            .map_err(|detail| unavailable(format!("the model does not run: {detail}")))
    }
}

impl Job {
    fn run(&self) -> Result<Findings, String> {
        self.engine.on_a_thread(|thread| {
            let forward = Forward {
                engine: &self.engine,
                thread,
                deadline: self.deadline,
            };
            match self.engine.contract.kind {
                ModelKind::PairClassifier
                | ModelKind::PairRegressor
                | ModelKind::PromptClassifier => pairs::judge(self, &forward),
                ModelKind::TokenClassifier => token_labels::judge(self, &forward),
                ModelKind::Embedding => embedding::judge(self, &forward),
            }
        })
    }

    /// Whether a whole-trace dimension is asked and is one of the model.
    pub(super) fn asks(&self, dimension: Dimension) -> bool {
        dimension != Dimension::ChunkRelevance
            && self.questions[Question::about(dimension)]
            && self.engine.contract.dimensions().contains(dimension)
    }

    /// The chunks whose relevance is asked, if the model tells it.
    pub(super) fn asked_chunks(&self) -> Vec<usize> {
        let relevance = Dimension::ChunkRelevance;
        if !self.engine.contract.dimensions().contains(relevance) {
            return Vec::new();
        }
        let asked = self.questions.asked();
        asked.filter_map(Question::chunk_ordinal).collect()
    }

    /// Who speaks.
    pub(super) const fn voice(&self) -> Voice<'_> {
        Voice {
            judge_id: &self.judge_id,
            role: self.role,
        }
    }

    /// Nothing is answered yet.
    pub(super) fn no_answers(&self) -> Answers {
        Answers::from_fn(self.trace.chunks.len(), |_| None)
    }
}

#[async_trait]
impl Judge for OnnxJudge {
    fn info(&self) -> &JudgeInfo {
        &self.info
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        let start = Instant::now();
        let job = Job {
            engine: Arc::clone(&self.engine),
            trace: Arc::clone(ask.trace),
            questions: ask.questions.clone(),
            history_is_evidence: ask.history_is_evidence,
            judge_id: self.info.judge_id.clone(),
            role: context.role,
            clamp: self.clamp,
            deadline: context.deadline,
        };
        let (answers, statements) = self.run_apart(job).await?;
        let call = JudgeCall {
            returned_model: self.info.requested_model.clone(),
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
