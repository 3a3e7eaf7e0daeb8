//! Log-probabilities: where they are read, when they are believed, and what a service may refuse.

use std::sync::Arc;

use judge_cascade::domain::dimension::Dimension;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::judgment::JudgmentSource;
use judge_cascade::domain::outcome::DecisionVariant;
use judge_cascade::domain::probability::Probability;
use judge_cascade::domain::question::{Question, QuestionSet};
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::decision::Decision;
use judge_cascade::judge::remote::{Layout, Wire};
use judge_cascade::judge::{Ask, JudgeError};
use serde_json::{Value, json};

use super::speech::{completion, completion_of, lines, slots, token, user_text};
use super::{
    PACKED, PER_QUESTION, ask, context, failure, judge, judge_with, metrics, names, probability,
    speech, trace,
};
use crate::support::fake_judge::{FakeJudge, Said, Script};

/// Seven slots of a trace with one chunk.
const SEVEN: [f64; 7] = [0.9, 0.1, 0.9, 0.8, 0.1, 0.9, 0.7];

fn seven() -> Value {
    completion(&SEVEN)
}

async fn refused(body: &Value) -> JudgeError {
    let server = FakeJudge::saying([Said::json(body)]).await;
    let judge = judge(PACKED, &server);
    let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
    assert_eq!(server.seen().len(), 1);
    error
}

fn groundedness() -> Question {
    Question::about(Dimension::Groundedness)
}

/// What the third slot is judged as when its label has these alternatives.
async fn third(
    written: &str,
    top: &[(&str, f64)],
    min_label_mass: f64,
) -> Result<f64, FailureReason> {
    let mut tokens = lines(&SEVEN);
    tokens[10] = token(written, top);
    let server = FakeJudge::saying([Said::json(&completion_of(&tokens))]).await;
    let wire = Wire::OpenAiLogprobs {
        layout: Layout::Packed,
        min_label_mass: Probability::try_from(min_label_mass).unwrap(),
    };
    let judge = judge(wire, &server);
    let answers = ask(judge.as_ref(), &trace(1)).await.unwrap().answers;
    let other = probability(&answers, Dimension::Contradiction);
    assert_eq!(other, Some(0.1), "the others stand");
    match failure(&answers, groundedness()) {
        Some(reason) => Err(reason),
        None => Ok(probability(&answers, Dimension::Groundedness).unwrap()),
    }
}

#[tokio::test]
async fn all_questions_are_numbered_slots_of_one_request() {
    let script = Script::new(|seen| speech::answer(PACKED, seen, |_| 0.75));
    let server = FakeJudge::start(script).await;
    let judge = judge(PACKED, &server);
    let answer = ask(judge.as_ref(), &trace(5)).await.unwrap();
    let judgment = answer.answers[groundedness()].clone().unwrap();
    let judged = judgment.judged().unwrap();
    assert_eq!(judged.source, JudgmentSource::Logprob);
    assert_eq!(judged.label_mass, Some(Probability::ONE));
    assert_eq!(answer.calls.len(), 1);
    assert_eq!(answer.calls[0].usage.unwrap().output_token_count, Some(21));
    let seen = server.only();
    assert_eq!(seen.path, "/v1/chat/completions");
    let members = [
        "logprobs",
        "max_tokens",
        "messages",
        "model",
        "seed",
        "temperature",
        "top_logprobs",
    ];
    assert_eq!(names(&seen.body), members);
    assert_eq!(seen.body["logprobs"], true);
    assert_eq!(
        (&seen.body["top_logprobs"], &seen.body["temperature"]),
        (&json!(20), &json!(0))
    );
    let asked = slots(&seen);
    assert_eq!(asked.len(), 11);
    assert_eq!(
        (asked[3].as_str(), asked[10].as_str()),
        ("groundedness", "chunk_4")
    );
    // Rules, then the data, then the questions, then the form.
    let text = user_text(&seen);
    let places =
        ["Passage 0", "01 ", "11 ", "exactly one line"].map(|part| text.find(part).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        seen.body["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("no instruction")
    );
    for secret in ["trace-id-7", "chunk-id-", "tag-of-the-caller"] {
        assert!(!seen.text.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn on_its_own_a_question_shows_only_what_it_may_rest_on() {
    let script = Script::new(|seen| speech::answer(PER_QUESTION, seen, |_| 0.75));
    let server = FakeJudge::start(script).await;
    let trace = trace(2);
    let judge = judge(PER_QUESTION, &server);
    let answer = ask(judge.as_ref(), &trace).await.unwrap();
    assert_eq!(answer.calls.len(), 8);
    assert!(
        answer
            .answers
            .iter()
            .all(|(_, judgment)| judgment.as_ref().unwrap().judged().is_some())
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 8);
    let parts = [
        ("asked", trace.question.as_str()),
        ("rewrite", trace.standalone_question.as_deref().unwrap()),
        ("earlier", &trace.history[0].text),
        ("first", &trace.chunks[0].text),
        ("second", &trace.chunks[1].text),
        ("answer", &trace.answer),
        ("reference", trace.reference_answer.as_deref().unwrap()),
    ];
    let mut shown: Vec<_> = seen
        .iter()
        .map(|seen| {
            let held = parts
                .iter()
                .filter(|(_, text)| user_text(seen).contains(text));
            let held: Vec<_> = held.map(|(name, _)| *name).collect();
            format!("{}: {}", slots(seen)[0], held.join(" "))
        })
        .collect();
    shown.sort();
    let expected = [
        "answer_relevance: asked earlier answer",
        "chunk_0: rewrite first",
        "chunk_0: rewrite second",
        "context_conflict: rewrite first second",
        "context_sufficiency: rewrite first second",
        "contradiction: first second answer",
        "correctness: asked answer reference",
        "groundedness: first second answer",
    ];
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn on_its_own_a_failed_question_fails_alone() {
    let script = Script::new(|seen| match slots(seen)[0].as_str() {
        "groundedness" => Said::new(500, "down"),
        "contradiction" => Said::json(
            &json!({"choices": [{"finish_reason": "content_filter"}], "usage": {"prompt_tokens": 9}}),
        ),
        _ => speech::answer(PER_QUESTION, seen, |_| 0.75),
    });
    let server = FakeJudge::start(script).await;
    let judge = judge(PER_QUESTION, &server);
    let answer = ask(judge.as_ref(), &trace(1)).await.unwrap();
    assert_eq!(
        failure(&answer.answers, groundedness()),
        Some(FailureReason::Unavailable)
    );
    let refused = failure(&answer.answers, Question::about(Dimension::Contradiction));
    assert_eq!(refused, Some(FailureReason::Refused));
    assert_eq!(
        probability(&answer.answers, Dimension::Correctness),
        Some(0.75)
    );
    assert_eq!(answer.calls.len(), 7);
    let failed: Vec<_> = answer
        .calls
        .iter()
        .filter_map(|call| call.failure)
        .collect();
    assert_eq!(failed.len(), 2);
    assert_eq!(server.seen().len(), 7);
}

/// R17: the label is read where the answer stands, whatever the reasoning mentions before.
#[tokio::test]
async fn r17_numbers_and_labels_in_reasoning_are_not_read() {
    let decoy = [
        "<think>", "01", " no", "\n", "02", " yes", "\n", "so", " 03", " no", ".", "</think>", "\n",
    ];
    let mut tokens: Vec<_> = decoy
        .iter()
        .map(|text| token(text, &[(*text, 0.5), (" yes", 0.01), (" no", 0.4)]))
        .collect();
    tokens.extend(lines(&SEVEN));
    let in_content = completion_of(&tokens);
    // The same from a service that takes the reasoning out of the text but not out of the tokens.
    let mut apart = in_content.clone();
    apart["choices"][0]["message"]["content"] = seven()["choices"][0]["message"]["content"].clone();
    // A whole block of slots in prose before the answer.
    let mut twice = lines(&SEVEN.map(|p| 1.0 - p));
    twice.push(token("Checked again:\n", &[]));
    twice.extend(lines(&SEVEN));
    for body in [seven(), in_content, apart, completion_of(&twice)] {
        let server = FakeJudge::saying([Said::json(&body)]).await;
        let judge = judge(PACKED, &server);
        let answers = ask(judge.as_ref(), &trace(1)).await.unwrap().answers;
        let expected = [
            (Dimension::ContextSufficiency, 0.9),
            (Dimension::ContextConflict, 0.1),
            (Dimension::Groundedness, 0.8),
            (Dimension::Correctness, 0.9),
        ];
        for (dimension, p) in expected {
            assert_eq!(probability(&answers, dimension), Some(p), "{dimension}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_not_plain_is_not_read() {
    let mut six = lines(&SEVEN);
    six.truncate(18);
    let mut open = vec![token("<think>", &[])];
    open.extend(lines(&SEVEN));
    let mut followed = lines(&SEVEN);
    followed.extend(lines(&[0.9]));
    let mut empty = seven();
    empty["choices"][0]["message"]["content"] = Value::Null;
    let mut other = seven();
    other["choices"][0]["message"]["content"] =
        completion(&SEVEN.map(|p| 1.0 - p))["choices"][0]["message"]["content"].clone();
    let bodies = [
        completion_of(&six),
        completion_of(&open),
        completion_of(&followed),
        completion_of(&[token("yes", &[("yes", 0.9)])]),
        empty,
        other,
        json!({"choices": []}),
        json!({"choices": null}),
        json!([]),
    ];
    for body in bodies {
        assert_eq!(
            refused(&body).await.reason,
            FailureReason::Protocol,
            "{body}"
        );
    }
}

/// R18: every spelling counts, the mass is published, a floor holds, and nothing is ever certain.
#[tokio::test]
async fn r18_the_mass_of_the_labels_decides_what_is_believed() {
    let top = [(" yes", 0.5), ("Yes", 0.2), (" no", 0.2), ("NO", 0.1)];
    assert_eq!(third(" yes", &top, 0.5).await, Ok(0.7));
    let weak = [(" yes", 0.3), ("Sure", 0.5), (" no", 0.1)];
    assert_eq!(
        third(" yes", &weak, 0.5).await,
        Err(FailureReason::LowLabelMass)
    );
    assert_eq!(third(" yes", &weak, 0.4).await, Ok(0.75));
    let one_sided = [(" yes", 0.9), ("Yes", 0.04)];
    let bounded = third(" yes", &one_sided, 0.5).await.unwrap();
    assert!((bounded - 0.94 / 0.98).abs() < 1e-9, "{bounded}");
    for (label, p) in [(" yes", 1.0), (" no", 0.0)] {
        let certain = third(label, &[(label, 1.0)], 0.5).await.unwrap();
        assert!(
            0.0 < certain && certain < 1.0 && (certain - p).abs() < 0.001,
            "{certain}"
        );
    }
}

#[tokio::test]
async fn numbers_that_are_no_log_probabilities_fail_their_own_slot() {
    let protocol = Err(FailureReason::Protocol);
    assert_eq!(
        third(" yes", &[(" yes", 1.5), (" no", 0.1)], 0.5).await,
        protocol
    );
    assert_eq!(
        third(" yes", &[(" yes", 0.8), (" no", 0.4)], 0.5).await,
        protocol
    );
    for broken in [json!(null), json!("-0.1"), json!(0.5)] {
        let mut tokens = lines(&SEVEN);
        tokens[10]["top_logprobs"][1]["logprob"] = broken.clone();
        let server = FakeJudge::saying([Said::json(&completion_of(&tokens))]).await;
        let judge = judge(PACKED, &server);
        let answers = ask(judge.as_ref(), &trace(1)).await.unwrap().answers;
        assert_eq!(
            failure(&answers, groundedness()),
            Some(FailureReason::Protocol),
            "{broken}"
        );
        assert_eq!(probability(&answers, Dimension::Contradiction), Some(0.1));
    }
}

/// R16: words never stand in for log-probabilities.
#[tokio::test]
async fn r16_an_answer_without_log_probabilities_is_a_failure() {
    for logprobs in [
        json!(null),
        json!({}),
        json!({"content": null}),
        json!({"content": []}),
        json!([]),
    ] {
        let mut body = seven();
        body["choices"][0]["logprobs"] = logprobs;
        let error = refused(&body).await;
        assert_eq!(error.reason, FailureReason::LogprobsUnsupported);
        assert_eq!(error.calls[0].usage.unwrap().input_token_count, Some(9000));
    }
}

/// R19: a model that refuses log-probabilities is asked once, at the start if need be, and never again.
#[tokio::test]
async fn r19_a_service_that_refuses_log_probabilities_is_not_asked_again() {
    for (status, body) in [
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'logprobs'","param":"logprobs","code":"unsupported_parameter"}}"#,
        ),
        (
            403,
            r#"{"error":{"message":"You are not allowed to request logprobs from this model"}}"#,
        ),
        (
            422,
            r#"{"detail":[{"loc":["body","top_logprobs"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}"#,
        ),
    ] {
        let server = FakeJudge::saying([Said::new(status, body)]).await;
        let judge = judge(PACKED, &server);
        for _ in 0..3 {
            let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
            assert_eq!(error.reason, FailureReason::LogprobsUnsupported, "{body}");
        }
        assert_eq!(server.seen().len(), 1, "{body}");
    }
}

/// R19: the probe finds it out before any trace.
#[tokio::test]
async fn r19_a_probe_finds_out_at_the_start() {
    let mut silent = completion(&[0.9]);
    silent["choices"][0]["logprobs"] = Value::Null;
    let server = FakeJudge::saying([Said::json(&silent)]).await;
    let judge_of = Arc::clone(&judge(PACKED, &server));
    let error = judge_of.probe(context().deadline).await.unwrap_err();
    assert_eq!(error.reason, FailureReason::LogprobsUnsupported);
    let probe = server.only();
    assert!(probe.text.len() < 2000, "the probe is tiny");
    let error = ask(judge_of.as_ref(), &trace(1)).await.unwrap_err();
    assert_eq!(error.reason, FailureReason::LogprobsUnsupported);
    assert_eq!(server.seen().len(), 1);

    let server = FakeJudge::saying([Said::json(&completion(&[0.9])), Said::json(&seven())]).await;
    let judge = judge(PACKED, &server);
    judge.probe(context().deadline).await.unwrap();
    ask(judge.as_ref(), &trace(1)).await.unwrap();
}

#[tokio::test]
async fn a_parameter_that_is_refused_is_left_out_once_and_for_all() {
    let unsupported = |name: &str| {
        let message = format!("Unsupported parameter: '{name}' is not supported with this model.");
        Said::new(
            400,
            &json!({"error": {"message": message, "param": name, "code": "unsupported_parameter"}})
                .to_string(),
        )
    };
    let script = Script::new(move |seen| {
        let refused = ["temperature", "max_tokens", "seed"];
        match refused.iter().find(|name| seen.body.get(**name).is_some()) {
            Some(name) => unsupported(name),
            None => Said::json(&seven()),
        }
    });
    let server = FakeJudge::start(script).await;
    let judge = judge(PACKED, &server);
    let answer = ask(judge.as_ref(), &trace(1)).await.unwrap();
    assert_eq!(answer.calls.len(), 1);
    assert_eq!(
        (answer.calls[0].attempt_count, answer.calls[0].failure),
        (4, None)
    );
    let last = server.seen().pop().unwrap();
    let members = [
        "logprobs",
        "max_completion_tokens",
        "messages",
        "model",
        "top_logprobs",
    ];
    assert_eq!(names(&last.body), members);
    ask(judge.as_ref(), &trace(1)).await.unwrap();
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn a_parameter_that_the_configuration_insists_on_is_refused_once() {
    let body = r#"{"error":{"message":"'temperature' is not supported","param":"temperature","code":"unsupported_value"}}"#;
    let server = FakeJudge::saying([Said::new(400, body)]).await;
    let judge = judge_with(PACKED, &server, &metrics(), |options| {
        options
            .model
            .extra_body
            .insert("temperature".to_owned(), json!(1));
    });
    let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
    assert_eq!(error.reason, FailureReason::Protocol);
    assert_eq!(server.seen().len(), 2);
}

/// R6: an answer that was cut off says at which limit.
#[tokio::test]
async fn r6_an_answer_that_was_cut_off_names_its_limit() {
    let mut body = seven();
    body["choices"][0]["finish_reason"] = json!("length");
    let error = refused(&body).await;
    assert_eq!(error.reason, FailureReason::OutputTruncated);
    assert!(error.detail.unwrap().contains("`max_tokens` = 88"));
    let server = FakeJudge::saying([Said::json(&body)]).await;
    let judge = judge_with(PACKED, &server, &metrics(), |options| {
        options
            .model
            .extra_body
            .insert("max_completion_tokens".to_owned(), json!(7));
    });
    let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
    assert!(error.detail.unwrap().contains("`max_tokens` = 7"));
    assert!(server.only().body.get("max_tokens").is_none());
}

/// R21: what a filter or the model declines is refused, in whatever shape, and said without its words.
#[tokio::test]
async fn r21_a_refusal_is_told_from_an_outage() {
    let mut filtered = seven();
    filtered["choices"][0]["finish_reason"] = json!("content_filter");
    let mut declined = seven();
    declined["choices"][0]["message"]["refusal"] = json!("I would rather not");
    for body in [filtered, declined] {
        let error = refused(&body).await;
        assert_eq!(error.reason, FailureReason::Refused);
        assert!(!error.to_string().contains("rather"));
    }
    let filter = r#"{"error":{"code":"content_filter","message":"filtered","status":400}}"#;
    let server = FakeJudge::saying([Said::new(400, filter)]).await;
    let judge = judge(PACKED, &server);
    let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
    assert_eq!(error.reason, FailureReason::Refused);
}

#[tokio::test]
async fn a_prompt_that_the_server_cut_is_not_judged() {
    let mut body = seven();
    body["usage"]["prompt_tokens"] = json!(200);
    let error = refused(&body).await;
    assert_eq!(error.reason, FailureReason::TruncatedByJudge);
}

/// R19: where nothing is sent any more, every question fails and no call is made up.
#[tokio::test]
async fn r19_no_question_of_its_own_is_sent_once_the_service_is_known() {
    let body = r#"{"error":{"message":"logprobs are not supported","param":"logprobs"}}"#;
    let server = FakeJudge::saying([Said::new(400, body)]).await;
    let judge = judge(PER_QUESTION, &server);
    let first = ask(judge.as_ref(), &trace(1)).await.unwrap();
    assert_eq!(
        failure(&first.answers, groundedness()),
        Some(FailureReason::LogprobsUnsupported)
    );
    let sent = server.seen().len();
    let error = ask(judge.as_ref(), &trace(1)).await.unwrap_err();
    assert_eq!(error.reason, FailureReason::LogprobsUnsupported);
    assert!(error.calls.is_empty() && error.is_unsent);
    let (trace, questions) = (trace(1), QuestionSet::from_fn(1, |_| true));
    let ask = Ask {
        trace: &trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: false,
    };
    let composite = Composite::of(judge, metrics());
    let calls = composite.judge(&ask, &context()).await.calls;
    assert!(calls.len() == 1 && calls[0].is_unsent());
    assert_eq!(server.seen().len(), sent);
}
