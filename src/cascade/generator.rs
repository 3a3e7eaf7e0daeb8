//! Models that judge their own answers: they are told of, once per judge, and counted.
//!
//! A model tends to like what it wrote itself. The names of models are compared as they are, but for white space around
//! them and the case of letters; nothing else is known of them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::domain::outcome::{JudgeCall, JudgeRole};
use crate::domain::trace::{JudgeId, Trace};
use crate::telemetry::metrics::Metrics;

/// Remembers which judges were told of.
#[derive(Debug, Default)]
pub(super) struct GeneratorWatch {
    told: Mutex<BTreeSet<JudgeId>>,
}

impl GeneratorWatch {
    /// Looks at the calls of one ask; each judge counts once.
    pub(super) fn watch(&self, trace: &Trace, calls: &[JudgeCall], metrics: &Metrics) {
        let Some(generator) = &trace.generator_model else {
            return;
        };
        let judges: BTreeSet<(&JudgeId, JudgeRole)> = calls
            .iter()
            .filter(|call| is_of(call, generator))
            .map(|call| (&call.judge_id, call.role))
            .collect();
        for (judge_id, role) in judges {
            metrics.generator_judged(judge_id, role);
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.insert(judge_id.clone()) {
                tracing::warn!(
                    judge = judge_id.as_str(),
                    "the judge judges answers that its own model wrote"
                );
            }
        }
    }
}

fn is_of(call: &JudgeCall, generator: &str) -> bool {
    let plain = |model: &str| model.trim().to_lowercase();
    let generator = plain(generator);
    let models = [&call.requested_model, &call.returned_model];
    let mut models = models.into_iter().flatten();
    !generator.is_empty() && models.any(|model| plain(model) == generator)
}
