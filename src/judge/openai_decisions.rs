//! The Decisions API of OpenAI: questions in a list over one shared input.
//!
//! A question that the model declines fails alone, as refused. Criteria are written into the instructions, because
//! this wire has none.

mod request;
mod response;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use self::request::Request;
use super::egress::Egress;
use super::remote::RemoteOptions;
use super::view::View;
use super::wire::native::Native;
use super::wire::{self, Asked};
use super::{Answer, Ask, CallContext, Judge, JudgeError, JudgeInfo};
use crate::domain::trace::JudgeId;
use crate::telemetry::metrics::Metrics;

/// The Decisions API of OpenAI: questions in a list over one shared input.
pub struct OpenAiDecisionsJudge(Native);

impl OpenAiDecisionsJudge {
    /// A judge that is reached through `egress`.
    pub fn new(
        judge_id: JudgeId,
        options: RemoteOptions,
        egress: Egress,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self(Native::new(judge_id, options, egress, metrics))
    }
}

#[async_trait]
impl Judge for OpenAiDecisionsJudge {
    fn info(&self) -> &JudgeInfo {
        &self.0.info
    }

    async fn judge(&self, ask: &Ask<'_>, context: &CallContext) -> Result<Answer, JudgeError> {
        let Native { info, options, .. } = &self.0;
        let options = &options.model;
        let write = |view: &View<'_>, asked: &[Asked]| {
            let body = Request {
                options,
                view,
                asked,
            };
            wire::encode(info, &body)
        };
        self.0.ask(ask, context, write, response::read).await
    }

    async fn models(&self, deadline: Instant) -> Result<Option<Vec<String>>, JudgeError> {
        self.0.models(deadline).await
    }

    async fn probe(&self, _deadline: Instant) -> Result<(), JudgeError> {
        Ok(())
    }
}
