//! Calls to judges: how they ended, how long they took, what they used and cost.

mod troubles;

use metrics::{Counter, Histogram};

use self::troubles::Troubles;
use super::Metrics;
use super::family::{Axis, Family, Registry, add, count};
use super::info::Info;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::JudgmentDelivery;
use crate::domain::outcome::{JudgeCall, JudgeRole, Usage};
use crate::domain::trace::{JudgeId, SnapshotId};
use crate::domain::{Vocabulary as _, vocabulary};

vocabulary! {
    /// What is wrong with an answer of a judge.
    "cause of an invalid answer"
    pub enum InvalidAnswer {
        /// A number is NaN, infinite, below 0 or above 1.
        NotAProbability = "not_a_probability",
        /// A question that was asked has no answer.
        Missing = "missing",
        /// A dimension or chunk is not known.
        Unknown = "unknown",
        /// A question is answered twice.
        Duplicate = "duplicate",
        /// The answer cannot be read, or does not belong to the question.
        Malformed = "malformed",
    }
}

/// The types of tokens that are counted apart, in the order of [`counts`].
const TOKEN_TYPES: [&str; 5] = [
    "input",
    "cached_input",
    "output",
    "reasoning",
    "cache_write_input",
];

/// Families about judges.
pub(super) struct JudgeMetrics {
    requests: Family<Counter>,
    request_duration: Family<Histogram>,
    invalid_answers: Family<Counter>,
    tokens: Family<Counter>,
    cost: Family<Counter>,
    model_info: Info,
    pricing_info: Info,
    troubles: Troubles,
}

impl JudgeMetrics {
    pub(super) fn new(r: &Registry<'_>) -> Self {
        let role = || Axis::of::<JudgeRole>("role");
        let outcome = || {
            let failures = FailureReason::ALL.iter().map(|reason| reason.name());
            Axis::named("outcome", std::iter::once("ok").chain(failures))
        };
        Self {
            requests: r.family(
                "judge_cascade_judge_requests_total",
                "Calls to judges, by how they ended: ok, or the reason of the failure.",
                vec![r.judges(), role(), outcome()],
            ),
            request_duration: r.family(
                "judge_cascade_judge_request_duration_seconds",
                "Time that a call to a judge took with all its attempts; of a recorded answer the recorded time.",
                vec![r.judges(), role(), outcome()],
            ),
            invalid_answers: r.present(
                "judge_cascade_judge_invalid_answers_total",
                "Answers of judges that were refused, by what is wrong with them.",
                vec![r.judges(), Axis::of::<InvalidAnswer>("cause")],
            ),
            tokens: r.family(
                "judge_cascade_tokens_total",
                "Tokens that judges reported: those from the cache and those written to it are among the input, \
                 reasoning is among the output; answers from our own cache used none.",
                vec![r.judges(), role(), Axis::named("type", TOKEN_TYPES)],
            ),
            cost: r.family(
                "judge_cascade_cost_nano_usd_total",
                "Cost of priced calls in 1e-9 US dollars.",
                vec![r.judges(), role()],
            ),
            model_info: r.info(
                "judge_cascade_judge_model_info",
                "1 for the model that answered last; after 16 models of one judge further ones are told as other, and a \
                 name above 256 bytes or with control characters is none.",
                &[r.judges(), role(), Axis::ids("requested"), Axis::ids("answered")],
            ),
            pricing_info: r.info(
                "judge_cascade_pricing_info",
                "1 for the price table that is in force.",
                &[Axis::ids("id"), Axis::ids("sha256")],
            ),
            troubles: Troubles::default(),
        }
    }
}

impl JudgeMetrics {
    /// Logs that a judge fails, at once and then now and again, and that it answers again.
    fn tell_trouble(&self, call: &JudgeCall) {
        let (judge, role) = (call.judge_id.as_str(), call.role.name());
        let Some(reason) = call.failure else {
            if self.troubles.answers(judge) {
                tracing::info!(judge, role, "the judge answers again");
            }
            return;
        };
        let detail = call.failure_detail.as_deref().unwrap_or("");
        let name = reason.name();
        match self.troubles.fails(judge, reason) {
            Some(count) => {
                tracing::warn!(
                    judge,
                    role,
                    reason = name,
                    detail,
                    count,
                    "the judge failed"
                );
            }
            None => tracing::debug!(judge, role, reason = name, detail, "the judge failed"),
        }
    }
}

impl Metrics {
    /// A price table is loaded.
    pub fn pricing_loaded(&self, pricing: &SnapshotId) {
        self.judges
            .pricing_info
            .set(&[&pricing.id], &pricing.sha256);
    }

    /// A profile asks a judge in a role: its calls are there from zero on, so that a rate misses none.
    pub fn judge_bound(&self, judge: &JudgeId, role: JudgeRole) {
        for outcome in 0..=FailureReason::ALL.len() {
            // To look a series up is to have it.
            self.judges
                .requests
                .named(judge.as_str(), &[role.index(), outcome]);
        }
    }

    /// A call to a judge ended; its cost is known or not. An answer from the cache is no call and used nothing.
    pub fn judge_called(&self, call: &JudgeCall) {
        if call.delivery == JudgmentDelivery::Cache {
            return;
        }
        let families = &self.judges;
        let (judge, role) = (call.judge_id.as_str(), call.role.index());
        let outcome = call.failure.map_or(0, |reason| 1 + reason.index());
        count(families.requests.named(judge, &[role, outcome]));
        if let Some(duration) = families.request_duration.named(judge, &[role, outcome]) {
            duration.record(call.latency);
        }
        for (place, tokens) in call.usage.iter().flat_map(counts).enumerate() {
            add(families.tokens.named(judge, &[role, place]), tokens);
        }
        add(
            families.cost.named(judge, &[role]),
            call.cost.map(|cost| cost.0.unsigned_abs()),
        );
        if let Some(answered) = &call.returned_model {
            let requested = call.requested_model.as_deref().unwrap_or("");
            families
                .model_info
                .set(&[judge, call.role.name(), requested], answered);
        }
        self.judges.tell_trouble(call);
        self.sampled();
    }

    /// A judge sent something that is not an answer.
    pub fn invalid_answer(&self, judge: &JudgeId, cause: InvalidAnswer) {
        count(
            self.judges
                .invalid_answers
                .named(judge.as_str(), &[cause.index()]),
        );
    }
}

const fn counts(usage: &Usage) -> [Option<u64>; TOKEN_TYPES.len()] {
    [
        usage.input_token_count,
        usage.cached_input_token_count,
        usage.output_token_count,
        usage.reasoning_token_count,
        usage.cache_write_input_token_count,
    ]
}
