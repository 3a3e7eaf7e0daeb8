//! A judge like one over HTTP: it is shown a view, finds everything good, takes its time and reports its tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use judge_cascade::domain::dimension::{DimensionSet, Polarity};
use judge_cascade::domain::judgment::{JudgmentDelivery, JudgmentSource};
use judge_cascade::domain::outcome::{JudgeCall, Usage};
use judge_cascade::judge::reply::{Reply, ReplyKind};
use judge_cascade::judge::view::{View, ViewOptions};
use judge_cascade::judge::{
    Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo, JudgeType, decision,
};
use judge_cascade::telemetry::metrics::Metrics;
use tokio::time::Instant;

/// The model that it asks for and that answers unless told otherwise.
pub(crate) const MODEL: &str = "paid-model";

pub(crate) struct PaidJudge {
    info: JudgeInfo,
    pub(crate) view: ViewOptions,
    pub(crate) usage: Option<Usage>,
    pub(crate) delay: Duration,
    /// The model that answers.
    pub(crate) model: String,
    metrics: Arc<Metrics>,
    begun: AtomicUsize,
}

impl PaidJudge {
    pub(crate) fn new(id: &str, metrics: &Arc<Metrics>) -> Self {
        Self {
            info: JudgeInfo {
                judge_id: id.into(),
                judge_type: JudgeType::SystemOne,
                requested_model: Some(MODEL.to_owned()),
                dimensions: DimensionSet::ALL,
                source: Some(JudgmentSource::Native),
                max_state_tokens: None,
                is_local: false,
            },
            view: ViewOptions::default(),
            usage: Some(Usage {
                input_token_count: Some(400),
                output_token_count: Some(100),
                ..Usage::default()
            }),
            delay: Duration::ZERO,
            model: MODEL.to_owned(),
            metrics: Arc::clone(metrics),
            begun: AtomicUsize::new(0),
        }
    }

    /// How often it was asked.
    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Judge for PaidJudge {
    fn info(&self) -> &JudgeInfo {
        &self.info
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let view = View::of(ask, &self.view);
        let kind = ReplyKind {
            role: context.role,
            source: JudgmentSource::Native,
            delivery: JudgmentDelivery::Live,
        };
        let mut reply = Reply::new(ask, &self.info, &self.metrics, kind).over(&view);
        for question in view.questions.asked() {
            let number = match question.dimension().polarity() {
                Polarity::GoodWhenTrue => 0.97,
                Polarity::BadWhenTrue => 0.03,
            };
            reply.named(&decision::key(question), number)?;
        }
        Ok(Answer {
            answers: reply.finish(),
            statements: Vec::new(),
            verdict: None,
            calls: vec![JudgeCall {
                judge_id: self.info.judge_id.clone(),
                role: context.role,
                requested_model: self.info.requested_model.clone(),
                returned_model: Some(self.model.clone()),
                is_local: false,
                delivery: JudgmentDelivery::Live,
                attempt_count: 1,
                usage: self.usage,
                cost: None,
                latency: self.delay,
                failure: None,
                failure_detail: None,
                upstream_request_id: None,
                may_be_billed: false,
            }],
        })
    }

    async fn models(&self, _deadline: Instant) -> Result<Option<Vec<String>>, JudgeError> {
        Ok(None)
    }

    async fn probe(&self, _deadline: Instant) -> Result<(), JudgeError> {
        Ok(())
    }
}
