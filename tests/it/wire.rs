//! Judges over HTTP against fakes: what is sent, and what is made of the answers.

mod agreement;
mod concurrency;
mod decisions;
mod logprobs;
mod providers;
mod shown;
pub(crate) mod speech;
mod statements;
mod systemone;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use judge_cascade::domain::dimension::Dimension;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::judgment::{Answers, Judgment};
use judge_cascade::domain::outcome::{DecisionVariant, JudgeRole};
use judge_cascade::domain::probability::Probability;
use judge_cascade::domain::question::{Question, QuestionSet};
use judge_cascade::domain::trace::{
    Chunk, JudgeId, RetrievalState, Trace, TraceDraft, TraceLimits, Turn, TurnRole,
};
use judge_cascade::judge::anthropic::AnthropicJudge;
use judge_cascade::judge::chat::ChatJudge;
use judge_cascade::judge::decision::Decision;
use judge_cascade::judge::egress::Egress;
use judge_cascade::judge::openai_decisions::OpenAiDecisionsJudge;
use judge_cascade::judge::openai_logprobs::OpenAiLogprobsJudge;
use judge_cascade::judge::remote::{
    Auth, BreakerOptions, ConcurrencyOptions, EndpointOptions, Layout, ModelOptions, RateOptions,
    RemoteOptions, RetryOptions, Roots, Wire,
};
use judge_cascade::judge::systemone::SystemOneJudge;
use judge_cascade::judge::view::ViewOptions;
use judge_cascade::judge::{Answer, Ask, CallContext, Judge, JudgeError};
use judge_cascade::telemetry::metrics::Metrics;
use reqwest::Url;
use serde_json::Value;
use tokio::time::Instant;

use crate::support::Setup;
use crate::support::fake_judge::{FakeJudge, Script};
use crate::support::scripted::{ScriptedJudge, Step};

/// Far longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) const PACKED: Wire = Wire::OpenAiLogprobs {
    layout: Layout::Packed,
    min_label_mass: Probability::HALF,
};
pub(crate) const PER_QUESTION: Wire = Wire::OpenAiLogprobs {
    layout: Layout::PerQuestion,
    min_label_mass: Probability::HALF,
};
/// Every wire that gives probabilities.
pub(crate) const WIRES: [Wire; 4] = [Wire::SystemOne, Wire::OpenAiDecisions, PACKED, PER_QUESTION];

pub(crate) fn metrics() -> Arc<Metrics> {
    Setup::new(ScriptedJudge::new("atomic", [Step::Hang])).metrics
}

/// The usual path of a wire.
pub(crate) const fn path_of(wire: Wire) -> &'static str {
    match wire {
        Wire::SystemOne => "/v1/systemone",
        Wire::OpenAiDecisions => "/v1/decisions",
        Wire::OpenAiLogprobs { .. } | Wire::Chat { .. } => "/v1/chat/completions",
        Wire::Anthropic { .. } => "/v1/messages",
    }
}

/// Options that send each request once and limit nothing.
pub(crate) fn options(wire: Wire, base_url: Url) -> RemoteOptions {
    RemoteOptions {
        wire,
        endpoint: EndpointOptions {
            base_url,
            path: path_of(wire).to_owned(),
            auth: Auth::None,
            api_key: None,
            headers: BTreeMap::new(),
            roots: Roots::Bundled,
            timeout: PATIENCE,
            attempt_timeout: PATIENCE,
            max_response_bytes: 1024 * 1024,
            retry: RetryOptions {
                max_attempts: 1,
                budget_share: Probability::ZERO,
                base_delay: Duration::from_millis(1),
                max_delay: Duration::from_millis(1),
            },
            breaker: BreakerOptions {
                failure_count: 1_000_000,
                open: Duration::from_secs(1),
            },
            rate: RateOptions::default(),
            concurrency: ConcurrencyOptions {
                max_in_flight: 64,
                max_queued: 100_000,
            },
        },
        model: ModelOptions {
            model: "asked-model".to_owned(),
            expect_model: None,
            extra_body: serde_json::Map::new(),
        },
        view: ViewOptions::default(),
        cache: false,
    }
}

fn over(options: RemoteOptions, egress: Egress, metrics: &Arc<Metrics>) -> Arc<dyn Judge> {
    let id = JudgeId::from("atomic");
    let metrics = Arc::clone(metrics);
    match options.wire {
        Wire::SystemOne => Arc::new(SystemOneJudge::new(id, options, egress, metrics)),
        Wire::OpenAiDecisions => Arc::new(OpenAiDecisionsJudge::new(id, options, egress, metrics)),
        Wire::OpenAiLogprobs { .. } => {
            Arc::new(OpenAiLogprobsJudge::new(id, options, egress, metrics))
        }
        Wire::Chat { .. } => Arc::new(ChatJudge::new(id, options, egress, metrics)),
        Wire::Anthropic { .. } => Arc::new(AnthropicJudge::new(id, options, egress, metrics)),
    }
}

/// A judge over a socket, with changed options.
pub(crate) fn judge_with(
    wire: Wire,
    server: &FakeJudge,
    metrics: &Arc<Metrics>,
    change: impl FnOnce(&mut RemoteOptions),
) -> Arc<dyn Judge> {
    let mut options = options(wire, server.base_url());
    change(&mut options);
    let id = JudgeId::from("atomic");
    let model = Some(options.model.model.clone());
    let endpoint = options.endpoint.clone();
    let variable = |name: &str| (name == "JUDGE_KEY").then(|| "key-of-the-judge".to_owned());
    let egress = Egress::connect(id, model, endpoint, &variable, Arc::clone(metrics));
    over(options, egress.unwrap(), metrics)
}

/// A judge over a socket.
pub(crate) fn judge(wire: Wire, server: &FakeJudge) -> Arc<dyn Judge> {
    judge_with(wire, server, &metrics(), |_| {})
}

/// A judge that plays a script without a socket.
pub(crate) fn played(wire: Wire, script: &Script, metrics: &Arc<Metrics>) -> Arc<dyn Judge> {
    played_with(wire, script, metrics, |_| {})
}

/// The same with changed options.
pub(crate) fn played_with(
    wire: Wire,
    script: &Script,
    metrics: &Arc<Metrics>,
    change: impl FnOnce(&mut RemoteOptions),
) -> Arc<dyn Judge> {
    let base_url = Url::parse("http://127.0.0.1:9").unwrap();
    let mut options = options(wire, base_url);
    change(&mut options);
    let egress = Egress::new(
        JudgeId::from("atomic"),
        Some(options.model.model.clone()),
        options.endpoint.clone(),
        Arc::new(script.clone()),
        Arc::clone(metrics),
    );
    over(options, egress, metrics)
}

/// A trace with so many chunks and something in every field.
pub(crate) fn draft(chunk_count: usize) -> TraceDraft {
    let chunk = |ordinal| Chunk {
        chunk_id: format!("chunk-id-{ordinal}").into(),
        text: format!("Passage {ordinal}: the north gate closes at {ordinal} past seven."),
        document_id: Some("document-id".to_owned()),
        retrieval_score: Some(0.125),
    };
    TraceDraft {
        trace_id: "trace-id-7".into(),
        question: "And when does it close?".to_owned(),
        chunks: (0..chunk_count).map(chunk).collect(),
        answer: "The gate closes shortly after seven.".to_owned(),
        reference_answer: Some("A little past seven o'clock.".to_owned()),
        history: vec![Turn {
            role: TurnRole::User,
            text: "Where is the north gate?".to_owned(),
        }],
        standalone_question: Some("When does the north gate close?".to_owned()),
        retrieval: RetrievalState::Performed,
        tags: vec!["tag-of-the-caller".to_owned()],
        generator_model: Some("generator-of-the-caller".to_owned()),
        language: Some("en".to_owned()),
        statements: Vec::new(),
    }
}

pub(crate) fn trace_of(draft: TraceDraft) -> Arc<Trace> {
    let limits = TraceLimits {
        max_chunk_count: 64,
        max_text_bytes: 65536,
        max_history_turns: 8,
    };
    Arc::new(Trace::new(draft, &limits).unwrap())
}

pub(crate) fn trace(chunk_count: usize) -> Arc<Trace> {
    trace_of(draft(chunk_count))
}

pub(crate) fn context() -> CallContext {
    CallContext::until(Instant::now() + PATIENCE, JudgeRole::Atomic)
}

/// Asks every question about a trace.
pub(crate) async fn ask(judge: &dyn Judge, trace: &Arc<Trace>) -> Result<Answer, JudgeError> {
    let all = QuestionSet::from_fn(trace.chunks.len(), |_| true);
    ask_some(judge, trace, &all).await
}

/// Asks these questions about a trace.
pub(crate) async fn ask_some(
    judge: &dyn Judge,
    trace: &Arc<Trace>,
    questions: &QuestionSet,
) -> Result<Answer, JudgeError> {
    let ask = Ask {
        trace,
        questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: false,
    };
    judge.judge(&ask, &context()).await
}

/// The probability of a whole-trace dimension.
pub(crate) fn probability(answers: &Answers, dimension: Dimension) -> Option<f64> {
    let judgment = answers[Question::about(dimension)].as_ref()?;
    Some(judgment.judged()?.probability.value())
}

/// Why a question has no probability; `None` also if it is absent.
pub(crate) fn failure(answers: &Answers, question: Question) -> Option<FailureReason> {
    match answers[question].as_ref()? {
        Judgment::Failed(failure) => Some(failure.reason),
        Judgment::Judged(_) | Judgment::NotApplicable(_) => None,
    }
}

/// The names of the members of an object.
pub(crate) fn names(object: &Value) -> Vec<&str> {
    let members = object.as_object().unwrap();
    members.keys().map(String::as_str).collect()
}
