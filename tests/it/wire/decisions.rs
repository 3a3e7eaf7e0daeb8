//! The Decisions API: a list of questions, and a refusal for one of them.

use judge_cascade::domain::dimension::{Dimension, DimensionSet};
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::question::{Question, QuestionSet};
use judge_cascade::judge::remote::Wire;
use serde_json::{Value, json};

use super::{ask, ask_some, failure, judge, judge_with, metrics, names, probability, trace};
use crate::support::fake_judge::{FakeJudge, Said, Script};
use crate::support::series;
use crate::wire::speech;

fn said(answers: &[Value]) -> Said {
    Said::json(&json!({"model": "m", "answers": answers, "usage": {"input_tokens": 9000}}))
}

fn predicate(name: &str, probability: f64) -> Value {
    json!({"type": "predicate", "name": name, "probability": probability})
}

fn good() -> Vec<Value> {
    let whole = [
        "context_sufficiency",
        "context_conflict",
        "answer_relevance",
        "groundedness",
        "contradiction",
        "correctness",
    ];
    let whole = whole.into_iter().map(|name| predicate(name, 0.75));
    whole.chain([predicate("chunk_0", 0.75)]).collect()
}

#[tokio::test]
async fn all_questions_are_one_request_with_a_list() {
    let script = Script::new(|seen| speech::answer(Wire::OpenAiDecisions, seen, |_| 0.75));
    let server = FakeJudge::start(script).await;
    let judge = judge(Wire::OpenAiDecisions, &server);
    let answer = ask(judge.as_ref(), &trace(5)).await.unwrap();
    assert_eq!(
        probability(&answer.answers, Dimension::Groundedness),
        Some(0.75)
    );
    let seen = server.only();
    assert_eq!(seen.path, "/v1/decisions");
    assert_eq!(names(&seen.body), ["input", "model", "questions"]);
    let state: Value = serde_json::from_str(seen.body["input"].as_str().unwrap()).unwrap();
    assert_eq!(state["chunks"].as_array().unwrap().len(), 5);
    let questions = seen.body["questions"].as_array().unwrap();
    assert_eq!(questions.len(), 11);
    for question in questions {
        assert_eq!(names(question), ["instructions", "name", "type"]);
        assert_eq!(question["type"], "predicate");
        let lines: Vec<_> = question["instructions"].as_str().unwrap().lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].starts_with("If true: ") && lines[2].starts_with("If false: "));
    }
    for secret in ["trace-id-7", "chunk-id-", "tag-of-the-caller"] {
        assert!(!seen.text.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn retrieval_alone_shows_neither_answer_nor_reference() {
    let script = Script::new(|seen| speech::answer(Wire::OpenAiDecisions, seen, |_| 0.75));
    let server = FakeJudge::start(script).await;
    let retrieval: DimensionSet = Dimension::RETRIEVAL.into_iter().collect();
    let questions = QuestionSet::from_fn(2, |_| true).restricted_to(retrieval);
    let judge = judge(Wire::OpenAiDecisions, &server);
    ask_some(judge.as_ref(), &trace(2), &questions)
        .await
        .unwrap();
    let state: Value = serde_json::from_str(server.only().body["input"].as_str().unwrap()).unwrap();
    let shown = names(&state);
    assert!(
        shown.contains(&"chunks") && !shown.contains(&"answer"),
        "{shown:?}"
    );
    assert!(!shown.contains(&"reference_answer"), "{shown:?}");
}

/// R21: a refusal is a failure of its question and no outage of the judge.
#[tokio::test]
async fn r21_a_refused_question_fails_alone() {
    let mut answers = good();
    answers[3] = json!({"type": "refusal", "name": "groundedness"});
    let server = FakeJudge::saying([said(&answers)]).await;
    let judge = judge(Wire::OpenAiDecisions, &server);
    let answer = ask(judge.as_ref(), &trace(1)).await.unwrap();
    let question = Question::about(Dimension::Groundedness);
    assert_eq!(
        failure(&answer.answers, question),
        Some(FailureReason::Refused)
    );
    assert_eq!(
        probability(&answer.answers, Dimension::Contradiction),
        Some(0.75)
    );
    assert_eq!(answer.calls[0].failure, None);
}

#[tokio::test]
async fn an_unknown_or_repeated_name_fails_the_whole_answer() {
    for (more, cause) in [
        (predicate("chunk_1", 0.5), "unknown"),
        (predicate("toxicity", 0.5), "unknown"),
        (
            json!({"type": "predicate", "name": null, "probability": 0.5}),
            "unknown",
        ),
        (json!({"type": "refusal", "name": "toxicity"}), "unknown"),
        (json!(7), "unknown"),
        (predicate("groundedness", 0.75), "duplicate"),
        (
            json!({"type": "refusal", "name": "groundedness"}),
            "duplicate",
        ),
    ] {
        let mut answers = good();
        answers.push(more.clone());
        let server = FakeJudge::saying([said(&answers)]).await;
        let metrics = metrics();
        let judge = judge_with(Wire::OpenAiDecisions, &server, &metrics, |_| {});
        let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
        assert_eq!(error.reason, FailureReason::Protocol, "{more}");
        let counted = format!(
            "judge_cascade_judge_invalid_answers_total{{judge=\"atomic\",cause=\"{cause}\"}}"
        );
        assert_eq!(series(&metrics, &counted), Some(1.0), "{more}");
    }
}

#[tokio::test]
async fn a_missing_answer_is_absent_and_a_bad_number_fails_alone() {
    let mut answers = good();
    answers.remove(5);
    answers[3] = predicate("groundedness", 1.5);
    answers[4] = json!({"type": "choice", "name": "contradiction", "choice": true});
    let server = FakeJudge::saying([said(&answers)]).await;
    let judge = judge(Wire::OpenAiDecisions, &server);
    let answers = ask(judge.as_ref(), &trace(1)).await.unwrap().answers;
    assert_eq!(answers[Question::about(Dimension::Correctness)], None);
    for dimension in [Dimension::Groundedness, Dimension::Contradiction] {
        let reason = failure(&answers, Question::about(dimension));
        assert_eq!(reason, Some(FailureReason::Protocol), "{dimension}");
    }
    assert_eq!(
        probability(&answers, Dimension::ContextConflict),
        Some(0.75)
    );
}
