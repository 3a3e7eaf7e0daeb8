//! Judges that answer in words, and the services behind them.

/// The Messages API of Anthropic.
mod anthropic;
/// One service after the other, over sockets.
mod providers;
/// What words are worth.
mod whole;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use judge_cascade::domain::dimension::Dimension;
use judge_cascade::domain::judgment::{Answers, Judged};
use judge_cascade::domain::outcome::{DecisionVariant, JudgeRole};
use judge_cascade::domain::probability::Probability;
use judge_cascade::domain::question::{Question, QuestionSet};
use judge_cascade::domain::trace::{Chunk, RetrievalState, Trace, TraceDraft};
use judge_cascade::judge::chat::ChatJudge;
use judge_cascade::judge::decision::Decision;
use judge_cascade::judge::egress::Egress;
use judge_cascade::judge::egress::transport::Transport;
use judge_cascade::judge::prompt::Fence;
use judge_cascade::judge::remote::{
    Auth, BreakerOptions, ConcurrencyOptions, EndpointOptions, ModelOptions, RateOptions,
    RemoteOptions, RetryOptions, Roots, Wire,
};
use judge_cascade::judge::view::ViewOptions;
use judge_cascade::judge::{Answer, Ask, CallContext, Judge, JudgeError};
use judge_cascade::telemetry::metrics::Metrics;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::scripted::{ScriptedJudge, Step};
use crate::support::{LIMITS, Setup};

/// The judge in these tests.
pub(crate) const ID: &str = "fallback";

pub(crate) fn metrics() -> Arc<Metrics> {
    Setup::new(ScriptedJudge::new("atomic", [Step::Hang])).metrics
}

/// A judge over HTTP whose limits nothing reaches.
pub(crate) fn options(base_url: &str, path: &str, wire: Wire) -> RemoteOptions {
    RemoteOptions {
        wire,
        endpoint: EndpointOptions {
            base_url: base_url.parse().unwrap(),
            path: path.to_owned(),
            auth: Auth::None,
            api_key: None,
            headers: BTreeMap::new(),
            roots: Roots::Bundled,
            timeout: Duration::from_secs(20),
            attempt_timeout: Duration::from_secs(20),
            max_response_bytes: 1 << 20,
            retry: RetryOptions {
                max_attempts: 1,
                budget_share: Probability::ONE,
                base_delay: Duration::from_millis(10),
                max_delay: Duration::from_millis(10),
            },
            breaker: BreakerOptions {
                failure_count: 100,
                open: Duration::from_secs(1),
            },
            rate: RateOptions::default(),
            concurrency: ConcurrencyOptions {
                max_in_flight: 8,
                max_queued: 8,
            },
        },
        model: ModelOptions {
            model: "judge-model".to_owned(),
            expect_model: None,
            extra_body: serde_json::Map::new(),
        },
        view: ViewOptions::default(),
        cache: false,
    }
}

pub(crate) fn chat_options(base_url: &str) -> RemoteOptions {
    let wire = Wire::Chat {
        max_output_tokens: 512,
    };
    options(base_url, "/v1/chat/completions", wire)
}

pub(crate) fn egress(
    options: &RemoteOptions,
    transport: Arc<dyn Transport>,
    metrics: &Arc<Metrics>,
) -> Egress {
    Egress::new(
        ID.into(),
        Some(options.model.model.clone()),
        options.endpoint.clone(),
        transport,
        Arc::clone(metrics),
    )
}

/// A chat judge in memory.
pub(crate) fn judge(transport: Arc<dyn Transport>, options: RemoteOptions) -> ChatJudge {
    let metrics = metrics();
    let egress = egress(&options, transport, &metrics);
    ChatJudge::new(ID.into(), options, egress, metrics).with_fence(Fence::fixed())
}

pub(crate) fn in_memory(transport: Arc<dyn Transport>) -> ChatJudge {
    judge(transport, chat_options("http://judge.test"))
}

/// A trace with two chunks, an answer of two statements and a reference answer.
pub(crate) fn trace() -> Arc<Trace> {
    let chunk = |id: &str, text: &str| Chunk {
        chunk_id: id.into(),
        text: text.to_owned(),
        document_id: None,
        retrieval_score: None,
    };
    let draft = TraceDraft {
        trace_id: "t1".into(),
        question: "When does the Tarn pool open on Sundays?".to_owned(),
        chunks: vec![
            chunk("hours", "On Sundays the Tarn pool opens at eight."),
            chunk("sauna", "The sauna is closed in August."),
        ],
        answer: "It opens at eight. A ticket costs 6 euros.".to_owned(),
        reference_answer: Some("At eight.".to_owned()),
        history: Vec::new(),
        standalone_question: None,
        retrieval: RetrievalState::Performed,
        tags: Vec::new(),
        generator_model: None,
        language: None,
        statements: Vec::new(),
    };
    Arc::new(Trace::new(draft, &LIMITS).unwrap())
}

/// Asks everything about a trace.
pub(crate) async fn ask(judge: &dyn Judge, trace: &Arc<Trace>) -> Result<Answer, JudgeError> {
    ask_within(judge, trace, Duration::from_secs(20)).await
}

pub(crate) async fn ask_within(
    judge: &dyn Judge,
    trace: &Arc<Trace>,
    time: Duration,
) -> Result<Answer, JudgeError> {
    let variant = if trace.reference_answer.is_some() {
        DecisionVariant::WithReference
    } else {
        DecisionVariant::WithoutReference
    };
    let correctness = Question::about(Dimension::Correctness);
    let questions = QuestionSet::from_fn(trace.chunks.len(), |question| {
        question != correctness || trace.reference_answer.is_some()
    });
    let ask = Ask {
        trace,
        questions: &questions,
        decision: Decision::of(variant),
        history_is_evidence: false,
    };
    let context = CallContext::until(Instant::now() + time, JudgeRole::Fallback);
    judge.judge(&ask, &context).await
}

/// What a judge writes that finds everything as it is.
pub(crate) fn written() -> Value {
    json!({
        "answer_relevance": "true",
        "chunks": [
            { "id": "chunk_0", "label": "true" },
            { "id": "chunk_1", "label": "false" },
        ],
        "context_conflict": "false",
        "context_sufficiency": "true",
        "contradiction": "false",
        "correctness": "true",
        "groundedness": "false",
        "unsupported_sentences": ["A ticket costs 6 euros."],
    })
}

pub(crate) fn judged(answers: &Answers, question: Question) -> &Judged {
    answers[question].as_ref().unwrap().judged().unwrap()
}

pub(crate) fn probability(answers: &Answers, question: Question) -> f64 {
    judged(answers, question).probability.value()
}

/// Everything that [`written`] says, as numbers: whole dimensions in order, then chunks.
#[track_caller]
pub(crate) fn check_as_written(answer: &Answer) {
    let asked = answer.answers.iter().map(|(question, _)| question);
    let numbers: Vec<_> = asked
        .map(|question| probability(&answer.answers, question))
        .collect();
    assert_eq!(numbers, [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    let statements = answer.statements.iter();
    let supported: Vec<_> = statements
        .map(|statement| statement.groundedness.judged().unwrap().probability.value())
        .collect();
    assert_eq!(supported, [1.0, 0.0]);
}
