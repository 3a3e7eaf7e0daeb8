//! System One: one request for all questions, and strict reading of its answer.

use judge_cascade::domain::dimension::{Dimension, DimensionSet};
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::judgment::{JudgmentDelivery, JudgmentSource};
use judge_cascade::domain::outcome::{DecisionVariant, JudgeRole};
use judge_cascade::domain::question::{Question, QuestionSet};
use judge_cascade::judge::Ask;
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::decision::Decision;
use judge_cascade::judge::remote::Wire;
use serde_json::{Value, json};

use super::{
    ask, ask_some, context, failure, judge, judge_with, metrics, names, probability, trace,
};
use crate::support::fake_judge::{FakeJudge, Said, Script};
use crate::support::series;
use crate::wire::speech;

/// What the caller keeps to itself or the judge must not know.
const SECRETS: [&str; 7] = [
    "trace-id-7",
    "chunk-id-",
    "document-id",
    "tag-of-the-caller",
    "generator-of-the-caller",
    "0.125",
    "atomic",
];

fn honest() -> Script {
    Script::new(|seen| speech::answer(Wire::SystemOne, seen, |_| 0.9))
}

fn with_answers(answers: &Value) -> Said {
    Said::json(
        &json!({"model": "answering-model", "answers": answers, "usage": {"input_tokens": 900, "output_tokens": 9}}),
    )
}

/// The answers to all questions about a trace with one chunk, with one replaced or removed.
fn answers_but(key: &str, answer: Option<Value>) -> Value {
    let mut answers = json!({
        "chunk_0": {"type": "noul", "noul": 0.9}, "context_sufficiency": {"type": "noul", "noul": 0.9},
        "context_conflict": {"type": "noul", "noul": 0.1}, "answer_relevance": {"type": "noul", "noul": 0.9},
        "groundedness": {"type": "noul", "noul": 0.9}, "contradiction": {"type": "noul", "noul": 0.1},
        "correctness": {"type": "noul", "noul": 0.9},
    });
    let members = answers.as_object_mut().unwrap();
    match answer {
        Some(answer) => members.insert(key.to_owned(), answer),
        None => members.remove(key),
    };
    answers
}

async fn check_body(chunk_count: usize) {
    let server = FakeJudge::start(honest()).await;
    let judge = judge(Wire::SystemOne, &server);
    let answer = ask(judge.as_ref(), &trace(chunk_count)).await.unwrap();
    let seen = server.only();
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/v1/systemone")
    );
    assert_eq!(names(&seen.body), ["model", "questions", "state"]);
    assert_eq!(seen.body["model"], "asked-model");
    let state = &seen.body["state"];
    let shown = [
        "answer",
        "chunks",
        "history",
        "question",
        "reference_answer",
        "standalone_question",
    ];
    assert_eq!(names(state), shown);
    let chunks = state["chunks"].as_array().unwrap();
    assert_eq!(chunks.len(), chunk_count);
    assert!(chunks.iter().all(|chunk| names(chunk) == ["text"]));
    for secret in SECRETS {
        assert!(!seen.text.contains(secret), "{secret}");
    }
    let questions = seen.body["questions"].as_object().unwrap();
    assert_eq!(questions.len(), 6 + chunk_count);
    for (key, question) in questions {
        assert_eq!(
            names(question),
            ["criteria", "instructions", "type"],
            "{key}"
        );
        assert_eq!(question["type"], "noul");
        assert!(question["instructions"].is_string());
        assert_eq!(names(&question["criteria"]), ["false", "true"]);
        if let Some(ordinal) = key.strip_prefix("chunk_") {
            let path = format!("`chunks[{ordinal}].text`");
            assert!(question["instructions"].as_str().unwrap().contains(&path));
        }
    }
    // The state stands before the questions, so that a prefix of it can be kept.
    assert!(seen.text.find("\"state\"") < seen.text.find("\"questions\""));
    assert_eq!(
        answer.answers.iter().filter(|(_, a)| a.is_some()).count(),
        6 + chunk_count
    );
    assert_eq!(answer.calls.len(), 1);
    let call = &answer.calls[0];
    assert_eq!(call.requested_model.as_deref(), Some("asked-model"));
    assert_eq!(call.returned_model.as_deref(), Some("answering-model"));
    assert_eq!(call.usage.unwrap().input_token_count, Some(9000));
    let judgment = answer.answers[Question::chunk(chunk_count - 1)]
        .clone()
        .unwrap();
    let judged = judgment.judged().unwrap();
    assert_eq!(
        (judged.source, judged.delivery),
        (JudgmentSource::Native, JudgmentDelivery::Live)
    );
    assert!(judged.seen_fraction.is_whole() && judged.label_mass.is_none());
}

#[tokio::test]
async fn one_chunk_is_one_request_with_nothing_of_ours() {
    check_body(1).await;
}

#[tokio::test]
async fn five_chunks_are_one_request_with_nothing_of_ours() {
    check_body(5).await;
}

#[tokio::test]
async fn fifty_chunks_are_one_request_with_nothing_of_ours() {
    check_body(50).await;
}

#[tokio::test]
async fn retrieval_alone_shows_neither_answer_nor_reference() {
    let server = FakeJudge::start(honest()).await;
    let trace = trace(2);
    let retrieval: DimensionSet = Dimension::RETRIEVAL.into_iter().collect();
    let questions = QuestionSet::from_fn(2, |_| true).restricted_to(retrieval);
    let judge = judge(Wire::SystemOne, &server);
    ask_some(judge.as_ref(), &trace, &questions).await.unwrap();
    let seen = server.only();
    let shown = names(&seen.body["state"]);
    assert!(shown.contains(&"chunks") && shown.contains(&"standalone_question"));
    for hidden in ["answer", "reference_answer"] {
        assert!(!shown.contains(&hidden), "{hidden}");
    }
    assert!(!seen.text.contains(&trace.answer));
    assert!(!seen.text.contains(trace.reference_answer.as_ref().unwrap()));
    let asked = [
        "chunk_0",
        "chunk_1",
        "context_conflict",
        "context_sufficiency",
    ];
    assert_eq!(names(&seen.body["questions"]), asked);
}

#[tokio::test]
async fn what_is_no_probability_fails_its_own_question() {
    let broken = [
        json!({"type": "noul", "noul": 1.2}),
        json!({"type": "noul", "noul": -0.1}),
        json!({"type": "noul", "noul": "0.9"}),
        json!({"type": "noul", "noul": null}),
        json!({"type": "noul", "noul": true}),
        json!({"type": "noul"}),
        json!({"type": "choice", "choice": "yes", "probabilities": {"yes": 0.9}}),
        json!({"type": "score", "score": 0.9}),
        json!(0.9),
        json!(null),
    ];
    for answer in broken {
        let server = FakeJudge::saying([with_answers(&answers_but(
            "groundedness",
            Some(answer.clone()),
        ))])
        .await;
        let metrics = metrics();
        let judge = judge_with(Wire::SystemOne, &server, &metrics, |_| {});
        let answers = ask(judge.as_ref(), &trace(1)).await.unwrap().answers;
        let question = Question::about(Dimension::Groundedness);
        assert_eq!(
            failure(&answers, question),
            Some(FailureReason::Protocol),
            "{answer}"
        );
        assert_eq!(probability(&answers, Dimension::Contradiction), Some(0.1));
        let counted = "judge_cascade_judge_invalid_answers_total{judge=\"atomic\",cause=\"not_a_probability\"}";
        assert_eq!(series(&metrics, counted), Some(1.0), "{answer}");
    }
}

/// R5: what the judge counts is our own names, and an answer with another name is not used at all.
#[tokio::test]
async fn r5_an_answer_with_an_unknown_or_repeated_name_fails_as_a_whole() {
    let good = answers_but("chunk_0", Some(json!({"type": "noul", "noul": 0.9}))).to_string();
    let and = |more: &str| format!("{},{more}}}", &good[..good.len() - 1]);
    let cases = [
        (and(r#""chunk_1":{"type":"noul","noul":0.9}"#), "unknown"),
        (and(r#""chunk_00":{"type":"noul","noul":0.9}"#), "unknown"),
        (
            and(r#""chunk_relevance":{"type":"noul","noul":0.9}"#),
            "unknown",
        ),
        (and(r#""summary":{"type":"noul","noul":0.9}"#), "unknown"),
        (and(r#""summary":null"#), "unknown"),
        (
            and(r#""groundedness":{"type":"noul","noul":0.1}"#),
            "duplicate",
        ),
        (and(r#""chunk_0":{"type":"noul","noul":0.9}"#), "duplicate"),
    ];
    for (answers, cause) in cases {
        let body = format!(r#"{{"model":"m","answers":{answers},"usage":{{"input_tokens":900}}}}"#);
        let server = FakeJudge::saying([Said::new(200, &body)]).await;
        let metrics = metrics();
        let judge = judge_with(Wire::SystemOne, &server, &metrics, |_| {});
        let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
        assert_eq!(error.reason, FailureReason::Protocol, "{body}");
        // It is billed all the same.
        assert_eq!(error.calls.len(), 1);
        assert_eq!(error.calls[0].usage.unwrap().input_token_count, Some(900));
        assert_eq!(error.calls[0].returned_model.as_deref(), Some("m"));
        let counted = format!(
            "judge_cascade_judge_invalid_answers_total{{judge=\"atomic\",cause=\"{cause}\"}}"
        );
        assert_eq!(series(&metrics, &counted), Some(1.0), "{body}");
        assert_eq!(
            server.seen().len(),
            1,
            "a malformed answer is not asked for again"
        );
    }
}

#[tokio::test]
async fn an_answer_to_what_was_not_asked_fails_as_a_whole() {
    let server = FakeJudge::saying([with_answers(&answers_but(
        "groundedness",
        Some(json!({"type": "noul", "noul": 0.9})),
    ))])
    .await;
    let only = [Dimension::Groundedness].into_iter().collect();
    let questions = QuestionSet::from_fn(1, |_| true).restricted_to(only);
    let judge = judge(Wire::SystemOne, &server);
    let error = ask_some(judge.as_ref(), &trace(1), &questions)
        .await
        .unwrap_err();
    assert_eq!(error.reason, FailureReason::Protocol);
}

#[tokio::test]
async fn a_missing_answer_is_absent_and_fails_its_question_in_the_end() {
    let said = with_answers(&answers_but("correctness", None));
    let server = FakeJudge::saying([said]).await;
    let metrics = metrics();
    let judge = judge_with(Wire::SystemOne, &server, &metrics, |_| {});
    let trace = trace(1);
    let question = Question::about(Dimension::Correctness);
    let answers = ask(judge.as_ref(), &trace).await.unwrap().answers;
    assert_eq!(answers[question], None);
    let questions = QuestionSet::from_fn(1, |_| true);
    let ask = Ask {
        trace: &trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: false,
    };
    let composite = Composite::of(judge, metrics.clone());
    let answers = composite.judge(&ask, &context()).await.answers;
    assert_eq!(failure(&answers, question), Some(FailureReason::Protocol));
    assert_eq!(probability(&answers, Dimension::Groundedness), Some(0.9));
}

#[tokio::test]
async fn what_is_no_answer_at_all_is_a_protocol_failure() {
    for body in [
        "",
        "<html>busy</html>",
        "[]",
        "{}",
        "null",
        r#"{"answers":null}"#,
        r#"{"answers":{"chunk_0":"#,
    ] {
        let server = FakeJudge::saying([Said::new(200, body)]).await;
        let judge = judge(Wire::SystemOne, &server);
        let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
        assert_eq!(error.reason, FailureReason::Protocol, "{body}");
        assert!(!error.to_string().contains("busy"));
    }
}

#[tokio::test]
async fn usage_that_is_not_reported_is_unknown() {
    for usage in [
        json!(null),
        json!({}),
        json!({"input_tokens": -1}),
        json!({"input_tokens": "9"}),
        json!(7),
    ] {
        let good = answers_but("chunk_0", Some(json!({"type": "noul", "noul": 0.9})));
        let said = Said::json(&json!({"answers": good, "usage": usage}));
        let server = FakeJudge::saying([said]).await;
        let judge = judge(Wire::SystemOne, &server);
        let call = ask(judge.as_ref(), &trace(1))
            .await
            .unwrap()
            .calls
            .remove(0);
        assert_eq!((call.usage, call.returned_model), (None, None), "{usage}");
    }
}

#[tokio::test]
async fn another_model_than_the_expected_one_is_refused_and_billed() {
    let good = answers_but("chunk_0", Some(json!({"type": "noul", "noul": 0.9})));
    let named = with_answers(&good);
    let unnamed = Said::json(&json!({"answers": good, "usage": {"input_tokens": 900}}));
    for (said, expected, is_good) in [
        (&named, "answering-model", true),
        (&named, "other-model", false),
        (&unnamed, "answering-model", false),
    ] {
        let server = FakeJudge::saying([said.clone()]).await;
        let judge = judge_with(Wire::SystemOne, &server, &metrics(), |options| {
            options.model.expect_model = Some(expected.to_owned());
        });
        match ask(judge.as_ref(), &trace(1)).await {
            Ok(_) => assert!(is_good, "{expected}"),
            Err(error) => {
                assert!(!is_good, "{error}");
                assert_eq!(error.reason, FailureReason::ModelMismatch);
                assert_eq!(error.calls[0].usage.unwrap().input_token_count, Some(900));
            }
        }
    }
}

#[tokio::test]
async fn what_the_configuration_adds_to_the_body_replaces_ours() {
    let server = FakeJudge::start(honest()).await;
    let judge = judge_with(Wire::SystemOne, &server, &metrics(), |options| {
        let extra = json!({"model": "pinned", "provider": {"only": ["a"]}});
        options.model.extra_body = extra.as_object().unwrap().clone();
    });
    ask(judge.as_ref(), &trace(1)).await.unwrap();
    let seen = server.only();
    assert_eq!(
        names(&seen.body),
        ["model", "provider", "questions", "state"]
    );
    assert_eq!(seen.body["model"], "pinned");
    assert_eq!(seen.text.matches("\"model\"").count(), 1);
}

#[tokio::test]
async fn a_context_that_is_too_long_is_told_from_an_outage() {
    for (status, body) in [
        (400, r#"{"detail":{"error_type":"max_tokens_exceeded"}}"#),
        (
            422,
            r#"{"detail":{"error_type":"max_tokens_exceeded","message":null}}"#,
        ),
        (413, "too large"),
        (500, r#"{"error":{"message":"context exceeded"}}"#),
        (503, r#"{"error":"Context exceeded: 210000 tokens"}"#),
    ] {
        let server = FakeJudge::saying([Said::new(status, body)]).await;
        let judge = judge_with(Wire::SystemOne, &server, &metrics(), |options| {
            options.endpoint.retry.max_attempts = 3;
            options.endpoint.retry.budget_share =
                judge_cascade::domain::probability::Probability::ONE;
        });
        let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
        assert_eq!(error.reason, FailureReason::TooLong, "{status} {body}");
        assert_eq!(server.seen().len(), 1, "{status} {body}");
    }
}

#[tokio::test]
async fn models_are_listed_without_a_question() {
    let listed = Said::json(
        &json!({"models": [{"name": "jev-1.13.0", "description": "", "release_date": ""}]}),
    );
    let server = FakeJudge::saying([listed, Said::new(404, "nothing here")]).await;
    let judge = judge(Wire::SystemOne, &server);
    let deadline = context().deadline;
    let models = judge.models(deadline).await.unwrap();
    assert_eq!(models.as_deref(), Some(&["jev-1.13.0".to_owned()][..]));
    assert_eq!(judge.models(deadline).await.unwrap(), None);
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("GET", "/v1/models")
    );
    assert_eq!(seen.text, "");
    assert_eq!(context().role, JudgeRole::Atomic);
}
